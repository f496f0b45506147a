/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the events whose call paths a reader cannot derive from the enclosing slices. In formats of
 * slices an interval's caller is the slice around it. In recordings an operator may have callers in
 * Python and C without events, and states and system calls belong to no call. Those are exported
 * with their whole path.
 *
 * Uses the rule and tolerance by which src/import/core/track_thread.c finds the callers of a
 * thread's events, so that exactly the paths that it finds are left out. Single-threaded.
 */
#pragma once

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
