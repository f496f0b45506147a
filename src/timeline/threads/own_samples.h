/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a thread that tell more than its recorded calls: those in no call, or with a step
 * of the program as such (SN_FRAME_ITERATION) as the innermost one. The time of a thread in such
 * places is its own time; each sample comes with the own time before it. Samples at the root are
 * left out: they tell nothing.
 */
#pragma once

#include "activity_parts.h"

struct sn_own_sample {
	uint64_t time_ns;
	uint64_t own_ns; /* the thread's own time before it */
	uint32_t context;
};

/* One reader of a thread's samples and calls. */
struct sn_own_samples {
	const struct sonde_db *db;
	struct sn_activity_parts parts;
	struct sn_activity_part part; /* if has_part: the first that ends after the last sample */
	bool has_part, has_begun;
	struct sn_event_merge *merge;
	uint64_t until_ns, own_ns; /* until when own time is counted, and what it is */
	uint64_t each_ns;
};

/* Of the thread with these lanes, which has samples. Own time begins with the first call, or
 * `each_ns` before a sample that is earlier. 0 or a negative enum sn_err; release in either
 * case. */
int sn_own_samples_init(struct sn_own_samples *samples, const struct sonde_db *db,
			const struct sonde_trace *trace, const struct sn_activity_lanes *lanes,
			uint64_t each_ns, const struct sn_event_window *window,
			struct sn_error *error);
void sn_own_samples_release(struct sn_own_samples *samples);
/* In order of time. 1, 0 at the end, or a negative enum sn_err. */
int sn_own_samples_next(struct sn_own_samples *samples, struct sn_own_sample *sample,
			struct sn_error *error);

/* How much of a period of that length lies before a time: less than all of it near time 0. */
static inline uint64_t sn_own_period(uint64_t time_ns, uint64_t each_ns)
{
	return time_ns < each_ns ? time_ns : each_ns;
}

/* Whether samples say more than a call: it is a step of the program as such. */
bool sn_activity_is_background(const struct sonde_db *db, uint32_t context);
