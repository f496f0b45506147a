/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which events' call paths a reader of a trace cannot tell by what they lie in. Formats of slices
 * show an interval's caller as the slice around it. Recordings know more: an operator has callers
 * in Python and C of which there are no events, states and system calls are of no call at all.
 * Those are exported with their whole path.
 *
 * This repeats how src/import/core/track_thread.c finds the callers of a thread's events, with
 * its tolerance, so that what is left out is what that will find. Single-threaded.
 */
#ifndef SN_EXPORT_SHOWN_CALLERS_H
#define SN_EXPORT_SHOWN_CALLERS_H

#include "event_walk.h"

struct sn_shown_call {
	uint64_t end_ns;
	uint32_t context;
};

/* All zeroes is empty. */
struct sn_shown_callers {
	struct sn_shown_call *open; /* the innermost last */
	size_t count, capacity;
};

/* Called before the events of each profile. */
void sn_shown_callers_begin(struct sn_shown_callers *callers);
/* Called with every event of a profile in order of time: 1 where its path must be written, 0 where
 * not, or SN_ERR_MEMORY. Paths of a device's operations are those of what launched them; samples
 * and counters are left to the caller. */
int sn_shown_callers_needs_path(struct sn_shown_callers *callers, struct sn_trace_export *export,
				const struct sn_walk_event *event, bool is_device);
void sn_shown_callers_release(struct sn_shown_callers *callers);

#endif
