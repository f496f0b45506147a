/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the parts of one thread one by one, for thread_activity.h.
 *
 * At each moment a thread is in the call that began last of those that have not ended. So a reader
 * that starts in the middle gets the same parts from there on as one that starts at the begin.
 */
#pragma once

#include "timeline/event_merge.h"
#include "thread_activity.h"

/* The tracks of one thread. */
struct sn_activity_lanes {
	uint32_t profile;
	const uint32_t *tracks; /* of calls; of the first thread's array, which all share */
	size_t count;
	uint32_t samples, states; /* the tracks of its samples and of its states, SONDE_NONE */
};

/* Lists the threads of a process, or all for SONDE_NONE, by profile: those that have calls, or,
 * with `or_samples`, samples. NULL without memory. */
struct sn_activity_lanes *sn_activity_lanes(const struct sn_processes *processes, uint32_t profile,
					    bool or_samples, size_t *count);
void sn_activity_lanes_free(struct sn_activity_lanes *lanes);
/* The number of the thread with that profile; SIZE_MAX. */
size_t sn_activity_lanes_find(const struct sn_activity_lanes *lanes, size_t count,
			      uint32_t profile);

struct sn_activity_call {
	uint64_t start_ns, end_ns, link;
	uint64_t blocked_ns, blocked_before_ns;
	uint32_t context;
};
/* The attributes of calls that say how long the thread was blocked, as of a window. */
enum { SN_BLOCKED, SN_BLOCKED_BEFORE, SN_BLOCKED_WISHES };
extern const struct sn_attribute_wish sn_blocked_wishes[SN_BLOCKED_WISHES];
/* Whether who recorded the trace asked the kernel. */
bool sn_blocked_is_told(const struct sonde_db *db, const struct sonde_trace *trace);
/* Of an event of a merge; 0 where it does not say, or they are no wishes of its window. */
uint64_t sn_blocked_of(const struct sn_merged_event *event, unsigned which);

struct sn_activity_parts {
	struct sn_event_merge *merge;
	struct sn_activity_call next; /* to begin, where has_event */
	bool has_event;
	uint64_t now_ns, to_ns; /* time is assigned up to now_ns; the end */
	uint32_t profile;
	struct sn_activity_call *calls; /* that are open */
	size_t depth, capacity;
};

/* 0 or SN_ERR_MEMORY; release in either case. */
int sn_activity_parts_init(struct sn_activity_parts *parts, const struct sonde_trace *trace,
			   const struct sn_activity_lanes *lanes,
			   const struct sn_event_window *window, struct sn_error *error);
void sn_activity_parts_release(struct sn_activity_parts *parts);
/* In order of time. 1, 0 at the end, or a negative enum sn_err. */
int sn_activity_parts_next(struct sn_activity_parts *parts, struct sn_activity_part *part,
			   struct sn_error *error);
