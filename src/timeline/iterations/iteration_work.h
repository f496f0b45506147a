/* SPDX-License-Identifier: Apache-2.0 */
/* What a device did during iterations: one pass over its operations, whatever their number. */
#pragma once

#include "timeline/answers.h"

struct sn_iteration_work {
	uint64_t
	    first_ns; /* from the begin on, when the device first does anything; else the end */
	uint64_t times_ns[1 << SN_WORK_KINDS]; /* by which kinds of work ran, as bits */
};

/* Finds the work in iterations of the device's process. works[count] is the caller's. 0 or a
 * negative enum sn_err. */
int sn_iteration_work(const struct sn_answers *answers, size_t device,
		      const struct sn_iteration *items, size_t count,
		      struct sn_iteration_work *works, struct sn_error *error);

/* A device of the process that an iteration is of; SIZE_MAX without one. */
size_t sn_iteration_device(const struct sn_answers *answers, const struct sn_iteration *iteration);
/* works[] of all iterations that have one, the caller's. 0 or a negative enum sn_err. */
int sn_iteration_works(const struct sn_answers *answers, struct sn_iteration_work *works,
		       struct sn_error *error);
