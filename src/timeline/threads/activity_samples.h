/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The activity of threads outside of recorded calls, by their samples: mainly Python code between
 * operators. In a call, the call is more precise than a sample.
 *
 * Each sample has the same weight: the median distance of samples of one thread. Weighting a sample
 * by the time until the next would charge waiting to the code before it.
 */
#pragma once

#include "base/error.h"
#include "timeline/processes.h"

/* Handles a sample. Each thread in turn gives its samples in order of time. A negative result ends
 * the walk with it. */
typedef int sn_visit_sample(void *data, uint32_t context, uint64_t time_ns);

/* The threads of the process that the profile belongs to; all threads for SONDE_NONE. *each_ns:
 * what a sample counts, 1 where no thread has two. Memory is a block for each lane of one thread. 0
 * or a negative enum sn_err. */
int sn_activity_samples(const struct sn_processes *processes, uint32_t profile,
			sn_visit_sample *visit, void *data, uint64_t *each_ns,
			struct sn_error *error);

/* Adds to times_ns[], of all contexts, the own time of all threads: of calls, and of samples in no
 * call; samples of which no thread has two have no known time. 0 or a negative enum sn_err. */
int sn_activity_times(const struct sn_processes *processes, double *times_ns,
		      struct sn_error *error);
