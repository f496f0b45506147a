/* SPDX-License-Identifier: Apache-2.0 */
/* Own time of all threads by context: from calls, and of what is in no call from samples
 * (host_samples.h). */
#ifndef SN_TIMELINE_HOST_TIMES_H
#define SN_TIMELINE_HOST_TIMES_H

#include "base/error.h"
#include "timeline/processes.h"

/* Adds to times_ns[], of all contexts. 0 or a negative enum sn_err. */
int sn_host_times(const struct sn_processes *processes, double *times_ns, struct sn_error *error);

#endif
