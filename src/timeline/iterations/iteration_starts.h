/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of each iteration: the time from its begin to the first work of the process's device,
 * and what threads do in that time, which overlaps with nothing. It is 0 if the device is still
 * busy with earlier work.
 */
#pragma once

#include "timeline/answers.h"

/* A node's time before a device's first work, in all iterations of one context and thread. */
struct sn_iteration_start {
	size_t device;
	uint32_t context, node;
	double count;		    /* iterations in which the device works */
	double before_ns, whole_ns; /* of these iterations: before it works; in all */
	double time_ns;		    /* of threads in the node, before the device */
};

struct sn_iteration_starts {
	struct sn_iteration_start *items; /* of each device and context a few, the longest first */
	size_t count, capacity;
};

/* Empty without iterations or devices. 0 or a negative enum sn_err; free the items in either case.
 */
int sn_iteration_starts(const struct sn_answers *answers, struct sn_iteration_starts *starts,
			struct sn_error *error);
