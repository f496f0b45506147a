/* SPDX-License-Identifier: Apache-2.0 */
/* Own time of all threads by context: from calls, and of what is in no call from samples
 * (activity_samples.h). */
#ifndef SN_TIMELINE_ACTIVITY_TIMES_H
#define SN_TIMELINE_ACTIVITY_TIMES_H

#include "base/error.h"
#include "timeline/processes.h"

/* Adds to times_ns[], of all contexts. 0 or a negative enum sn_err. */
int sn_activity_times(const struct sn_processes *processes, double *times_ns,
		      struct sn_error *error);

#endif
