/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads did while they were in no recorded call, by their samples: code of Python between
 * operators above all. A thread in a call says more by that than by a sample.
 *
 * Each sample counts as much as every other: the median distance of samples of one thread. That a
 * sample stood until the next would charge what a thread waits for to what it did before.
 */
#ifndef SN_TIMELINE_ACTIVITY_SAMPLES_H
#define SN_TIMELINE_ACTIVITY_SAMPLES_H

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
 * call. 0 or a negative enum sn_err. */
int sn_activity_times(const struct sn_processes *processes, double *times_ns,
		      struct sn_error *error);

#endif
