/* SPDX-License-Identifier: Apache-2.0 */
/* Visits the samples of a process that are outside of calls, and computes exclusive times. */
#include "activity_samples.h"

#include "activity_flow.h"

#include <stdlib.h>

/* The number of distances used for their median. */
enum { GAPS_MAX = 65536 };

struct samples {
	sn_visit_sample *visit;
	void *data;
	uint64_t *gaps_ns; /* of all threads, up to a limit */
	size_t gap_count;
	/* of the current thread */
	struct sn_activity_parts *parts;
	struct sn_activity_part part; /* the first part that ends after the last sample */
	bool has_part, has_before;
	uint64_t before_ns;
	struct sn_event_window window, calls;
	struct sn_error *error;
};

/* Whether the thread was in a call at that time. 1, 0, or a negative enum sn_err. */
static int is_in_call(struct samples *samples, uint64_t time_ns)
{
	while (samples->has_part && samples->part.end_ns <= time_ns) {
		int result = sn_activity_parts_next(samples->parts, &samples->part, samples->error);
		if (result < 0)
			return result;
		samples->has_part = result > 0;
	}
	return samples->has_part && samples->part.start_ns <= time_ns;
}

static int visit_samples(void *data, const struct sonde_track *track,
			 struct sonde_event_cursor *cursor, const struct sonde_event_block *block)
{
	struct samples *samples = data;
	int result = 0;
	for (size_t i = 0; i < block->count && result >= 0; i++) {
		uint64_t start = block->starts_ns[i];
		if (samples->has_before && samples->before_ns < start &&
		    samples->gap_count < GAPS_MAX)
			samples->gaps_ns[samples->gap_count++] = start - samples->before_ns;
		samples->before_ns = start;
		samples->has_before = true;
		result = is_in_call(samples, start);
		if (!result)
			result = samples->visit(samples->data, block->contexts[i], start);
	}
	return result < 0 ? result : 0;
}

/* Visits the samples of a track, side by side with the calls of its thread. */
static int visit_track(const struct sonde_trace *trace, uint32_t track,
		       const struct sn_activity_lanes *lanes, struct samples *samples)
{
	struct sn_activity_parts parts = {0};
	int result = 0;
	samples->parts = &parts;
	samples->has_part = samples->has_before = false;
	if (lanes)
		result =
		    sn_activity_parts_init(&parts, trace, lanes, &samples->calls, samples->error)
			?: sn_activity_parts_next(&parts, &samples->part, samples->error);
	samples->has_part = result > 0;
	if (result >= 0)
		result = sn_track_blocks(trace, track, &samples->window, visit_samples, samples,
					 samples->error);
	sn_activity_parts_release(&parts);
	return result;
}

int sn_activity_samples(const struct sn_processes *processes, uint32_t profile,
			sn_visit_sample *visit, void *data, uint64_t *each_ns,
			struct sn_error *error)
{
	size_t count;
	struct sn_activity_lanes *threads = sn_activity_lanes(processes, profile, false, &count);
	struct sn_event_window all = {.to_ns = UINT64_MAX, .flags = SONDE_EVENTS_BRIEF};
	struct samples samples = {.visit = visit,
				  .data = data,
				  .gaps_ns = calloc(GAPS_MAX, sizeof(uint64_t)),
				  .window = all,
				  .calls = all,
				  .error = error};
	int result = threads && samples.gaps_ns ? 0 : sn_fail_memory(error);
	const uint32_t *tracks;
	samples.window.reader = sn_event_reader_new(processes->trace);
	samples.calls.reader = sn_event_reader_new(processes->trace);
	size_t track_count = sn_processes_tracks(processes, profile, &tracks);
	for (size_t i = 0; i < track_count && !result; i++) {
		const struct sonde_track *track = sonde_trace_track(processes->trace, tracks[i]);
		size_t thread = sn_activity_lanes_find(threads, count, track->profile);
		if (track->kind == SONDE_TRACK_SAMPLES)
			result =
			    visit_track(processes->trace, tracks[i],
					thread == SIZE_MAX ? NULL : threads + thread, &samples);
	}
	*each_ns = result ? 0 : sn_activity_flow_median(samples.gaps_ns, samples.gap_count);
	if (!*each_ns) /* a single sample has no distance */
		*each_ns = 1;
	sn_activity_lanes_free(threads);
	free(samples.gaps_ns);
	sonde_event_cursor_free(samples.window.reader);
	sonde_event_cursor_free(samples.calls.reader);
	return result;
}

/* ---- exclusive times ---- */

static int add_part(void *data, const struct sn_activity_part *part)
{
	double *times_ns = data;
	times_ns[part->context] += (double)(part->end_ns - part->start_ns);
	return 0;
}

static int count_sample(void *data, uint32_t context, uint64_t time_ns)
{
	double *counts = data;
	counts[context]++;
	return 0;
}

int sn_activity_times(const struct sn_processes *processes, double *times_ns,
		      struct sn_error *error)
{
	uint32_t contexts = sonde_db_context_count(processes->db);
	uint64_t each_ns = 0;
	double *counts = calloc(contexts + 1ull, sizeof(*counts));
	int result = counts ? sn_activity_walk(processes, SONDE_NONE, SONDE_EVENTS_BRIEF, add_part,
					       times_ns, error)
			    : sn_fail_memory(error);
	if (!result)
		result = sn_activity_samples(processes, SONDE_NONE, count_sample, counts, &each_ns,
					     error);
	for (uint32_t i = 0; !result && each_ns > 1 && i < contexts; i++)
		times_ns[i] += (double)each_ns * counts[i];
	free(counts);
	return result;
}
