/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one thread did: its calls (activity_parts.h), and what its samples saw in its own time:
 * between calls, or if the innermost call is a step of the program as such (SN_FRAME_ITERATION).
 *
 * A sample is taken when the thread has used CPU time for one period. So it stands for the own time
 * since the own sample before it, however many calls lie between the two. How much of that time
 * the thread was blocked is what the operating system says, never a guess from the distance of
 * samples:
 * 1. the thread's states, if they are recorded;
 * 2. else what the recorder asked the kernel at begins and ends of calls and at samples (attributes
 *    "blocked" and "blocked-before"); the blocked time is taken to lie right before the event;
 * 3. else nothing is known, and each sample stands for `each_ns` of own time right before it. If
 *    calls took a part of a sample's period, the rest of its `each_ns` goes to the next sample.
 * A thread that could run and had no processor works: the device waits for what it does.
 */
#pragma once

#include "own_samples.h"

struct sn_activity_sample {
	uint64_t time_ns, blocked_ns;
};

/* An interval, or none where end_ns is 0. */
struct sn_activity_blocked {
	uint64_t start_ns, end_ns;
};

struct sn_activity_flow {
	const struct sonde_db *db;
	struct sn_activity_parts parts;
	struct sn_activity_part call; /* if has_call: the next one, or what is left of it */
	bool has_call;
	struct sn_event_merge *samples; /* NULL: none are wanted, or there are none */
	uint64_t samples_ns;		/* when the first is */
	bool has_begun;			/* to read samples */
	struct sn_activity_sample sample;
	bool has_sample;
	struct sn_own_samples own;
	struct sn_own_sample own_next,
	    own_last; /* the first that is not used up, and the one before */
	bool has_own_next, has_own_last;
	uint64_t budget_ns;	       /* of case 3: what the next own sample stands for */
	struct sn_event_merge *states; /* NULL: not recorded */
	struct sn_activity_blocked blocked;
	bool is_told;		    /* case 2 */
	uint64_t each_ns, until_ns; /* of case 3; until when parts have been returned, */
	uint64_t own_ns;	    /* and how much of that was own time */
};

/* `each_ns` 0: calls alone. 0 or a negative enum sn_err; release in either case. */
int sn_activity_flow_init(struct sn_activity_flow *flow, const struct sonde_db *db,
			  const struct sonde_trace *trace, const struct sn_activity_lanes *lanes,
			  uint64_t each_ns, const struct sn_event_window *window,
			  struct sn_error *error);
void sn_activity_flow_release(struct sn_activity_flow *flow);
/* In order of time; own time in which the thread is blocked, or of which nothing is known, is in no
 * part. 1, 0 at the end, or a negative enum sn_err. */
int sn_activity_flow_next(struct sn_activity_flow *flow, struct sn_activity_part *part,
			  struct sn_error *error);

/* The median of distances, which it sorts; 0: there are none. */
uint64_t sn_activity_flow_median(uint64_t *gaps_ns, size_t count);
/* How far samples of these threads are apart: the median in their first blocks; 0: none are. 0 or a
 * negative enum sn_err. */
int sn_activity_flow_distance(const struct sonde_trace *trace,
			      const struct sn_activity_lanes *lanes, size_t count,
			      uint64_t *each_ns, struct sn_error *error);
