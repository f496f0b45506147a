/* SPDX-License-Identifier: Apache-2.0 */
/* See host_times.h. */
#include "host_times.h"

#include "host.h"
#include "track_blocks.h"

#include <stdlib.h>

static int take_part(void *data, const struct sn_host_part *part)
{
	double *times_ns = data;
	times_ns[part->context] += (double)(part->end_ns - part->start_ns);
	return 0;
}

/* Enough distances for their median. */
enum { GAPS_MAX = 65536 };

struct samples {
	double *counts; /* by context */
	uint64_t *gaps_ns;
	size_t gap_count;
	uint64_t before_ns; /* of the track being read, UINT64_MAX: none */
};

static int take_samples(void *data, const struct sonde_track *track,
			struct sonde_event_cursor *cursor, const struct sonde_event_block *block)
{
	struct samples *samples = data;
	(void)track;
	(void)cursor;
	for (size_t i = 0; i < block->count; i++) {
		uint64_t start = block->starts_ns[i];
		samples->counts[block->contexts[i]]++;
		if (samples->before_ns < start && samples->gap_count < GAPS_MAX)
			samples->gaps_ns[samples->gap_count++] = start - samples->before_ns;
		samples->before_ns = start;
	}
	return 0;
}

static int by_length(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

static void add_samples(struct samples *samples, uint32_t contexts, double *times_ns)
{
	if (samples->gap_count)
		qsort(samples->gaps_ns, samples->gap_count, sizeof(*samples->gaps_ns), by_length);
	/* a sample alone has no length that anybody knows */
	double each_ns = samples->gap_count ? (double)samples->gaps_ns[samples->gap_count / 2] : 1;
	for (uint32_t i = 0; i < contexts; i++)
		times_ns[i] += each_ns * samples->counts[i];
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
	uint32_t contexts = sonde_db_context_count(db);
	struct samples samples = {.counts = calloc(contexts + 1ull, sizeof(double)),
				  .gaps_ns = calloc(GAPS_MAX, sizeof(uint64_t))};
	int result = samples.counts && samples.gaps_ns
			 ? sn_host_walk(db, trace, SONDE_NONE, SONDE_EVENTS_BRIEF, take_part,
					times_ns, error)
			 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < sonde_trace_track_count(trace) && !result; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		if (track->kind != SONDE_TRACK_SAMPLES || has_intervals(trace, track->profile))
			continue;
		samples.before_ns = UINT64_MAX;
		result =
		    sn_track_blocks(trace, i, SONDE_EVENTS_BRIEF, take_samples, &samples, error);
	}
	if (!result)
		add_samples(&samples, contexts, times_ns);
	free(samples.counts);
	free(samples.gaps_ns);
	return result;
}
