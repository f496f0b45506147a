/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The activity of one thread: its calls (activity_parts.h), and its samples between calls or where
 * the innermost call is an iteration (SN_FRAME_ITERATION).
 *
 * A sample is taken when the thread has run for one sampling period. So it stands for one period
 * before it, and for the time until the next call if that is shorter, unless a call or another
 * sample has that time. The rest of the time without calls is not charged: the thread waited.
 */
#ifndef SN_TIMELINE_ACTIVITY_FLOW_H
#define SN_TIMELINE_ACTIVITY_FLOW_H

#include "activity_parts.h"

struct sn_activity_sample {
	uint64_t time_ns;
	uint32_t context;
};

struct sn_activity_flow {
	struct sn_activity_parts parts;
	struct sn_activity_part call; /* the next one, where has_call */
	bool has_call;
	const struct sonde_db *db;
	struct sn_event_merge *samples; /* NULL: none are wanted, or there are none */
	uint64_t samples_ns;		/* when the first is */
	bool has_begun;			/* to read samples */
	struct sn_activity_sample sample,
	    after; /* the next one, where has_sample, and that after it */
	bool has_sample, has_after;
	uint64_t each_ns, until_ns; /* that a sample stands for; end of the last part */
};

/* `each_ns` 0: calls alone. 0 or a negative enum sn_err; release in either case. */
int sn_activity_flow_init(struct sn_activity_flow *flow, const struct sonde_db *db,
			  const struct sonde_trace *trace, const struct sn_activity_lanes *lanes,
			  uint64_t each_ns, const struct sn_event_window *window,
			  struct sn_error *error);
void sn_activity_flow_release(struct sn_activity_flow *flow);
/* In order of time. 1, 0 at the end, or a negative enum sn_err. */
int sn_activity_flow_next(struct sn_activity_flow *flow, struct sn_activity_part *part,
			  struct sn_error *error);

/* The median of distances, which it sorts; 0: there are none. */
uint64_t sn_activity_flow_median(uint64_t *gaps_ns, size_t count);
/* How far samples of these threads are apart: the median in their first blocks; 0: none are. 0 or a
 * negative enum sn_err. */
int sn_activity_flow_distance(const struct sonde_trace *trace,
			      const struct sn_activity_lanes *lanes, size_t count,
			      uint64_t *each_ns, struct sn_error *error);

#endif
