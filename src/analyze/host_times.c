/* SPDX-License-Identifier: Apache-2.0 */
/* See host_times.h. */
#include "host_times.h"

#include "host.h"

static int take_part(void *data, const struct sn_host_part *part)
{
	double *times_ns = data;
	times_ns[part->context] += (double)(part->end_ns - part->start_ns);
	return 0;
}

/* A sample stands until the next one. */
static int take_samples(const struct sonde_trace *trace, uint32_t track, double *times_ns,
			struct sn_error *error)
{
	struct sonde_event_cursor *cursor =
	    sonde_event_cursor_new(trace, track, 0, UINT64_MAX, SONDE_EVENTS_BRIEF);
	struct sonde_event_block block;
	struct sonde_db_error why;
	uint64_t before = 0;
	uint32_t context = SONDE_NONE;
	int result = cursor ? 1 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	while (result > 0 && (result = sonde_event_cursor_next(cursor, &block, &why)) > 0)
		for (size_t i = 0; i < block.count; i++) {
			if (context != SONDE_NONE)
				times_ns[context] += (double)(block.starts_ns[i] - before);
			before = block.starts_ns[i];
			context = block.contexts[i];
		}
	if (cursor && result < 0)
		sn_fail(error, SN_ERR_FORMAT, "%s", why.text);
	sonde_event_cursor_free(cursor);
	return result;
}

/* A thread that has calls says more by them than by samples of itself. */
static bool has_intervals(const struct sonde_trace *trace, uint32_t profile)
{
	uint32_t first = sonde_trace_first_track(trace, profile);
	for (uint32_t i = first; i < sonde_trace_track_count(trace); i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		if (track->profile != profile)
			break;
		if (track->kind == SONDE_TRACK_INTERVALS)
			return true;
	}
	return false;
}

int sn_host_times(const struct sonde_db *db, const struct sonde_trace *trace, double *times_ns,
		  struct sn_error *error)
{
	int result =
	    sn_host_walk(db, trace, SONDE_NONE, SONDE_EVENTS_BRIEF, take_part, times_ns, error);
	for (uint32_t i = 0; i < sonde_trace_track_count(trace) && !result; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		if (track->kind == SONDE_TRACK_SAMPLES && !has_intervals(trace, track->profile))
			result = take_samples(trace, i, times_ns, error);
	}
	return result;
}
