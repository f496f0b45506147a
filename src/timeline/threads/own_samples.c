/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in a thread's own time, outside of calls, with the own time before each. */
#include "own_samples.h"

#include "format/measurement/measurement.h"
#include "frame/context_frame.h"

bool sn_activity_is_background(const struct sonde_db *db, uint32_t context)
{
	return sn_context_frame(db, context)->flags & SN_FRAME_ITERATION;
}

/* Starts counting own time: one period before the first sample, or at a call that began earlier. */
static void begin(struct sn_own_samples *samples, uint64_t time_ns)
{
	bool is_later = samples->has_part && samples->part.start_ns <= time_ns;
	samples->until_ns =
	    is_later ? samples->part.start_ns : time_ns - sn_own_period(time_ns, samples->each_ns);
	samples->has_begun = true;
}

static int next_part(struct sn_own_samples *samples, struct sn_error *error)
{
	int result = sn_activity_parts_next(&samples->parts, &samples->part, error);
	samples->has_part = result > 0;
	return result < 0 ? result : 0;
}

int sn_own_samples_init(struct sn_own_samples *samples, const struct sonde_db *db,
			const struct sonde_trace *trace, const struct sn_activity_lanes *lanes,
			uint64_t each_ns, const struct sn_event_window *window,
			struct sn_error *error)
{
	*samples = (struct sn_own_samples){
	    .db = db,
	    .each_ns = each_ns,
	    .merge = sn_event_merge_new(trace, &lanes->samples, 1, window),
	};
	int result = sn_activity_parts_init(&samples->parts, trace, lanes, window, error);
	if (!samples->merge)
		result = sn_fail_memory(error);
	return result ?: next_part(samples, error);
}

void sn_own_samples_release(struct sn_own_samples *samples)
{
	sn_activity_parts_release(&samples->parts);
	sn_event_merge_free(samples->merge);
	samples->merge = NULL;
}

/* Counts time up to `time_ns`, as the thread's own or not. */
static void pass(struct sn_own_samples *samples, uint64_t time_ns, bool is_own)
{
	if (time_ns <= samples->until_ns)
		return;
	if (is_own)
		samples->own_ns += time_ns - samples->until_ns;
	samples->until_ns = time_ns;
}

/* Moves up to a sample: 1 if it is in own time, 0, or a negative enum sn_err. */
static int pass_until(struct sn_own_samples *samples, uint64_t time_ns, struct sn_error *error)
{
	const struct sn_activity_part *part = &samples->part;
	for (;;) {
		uint64_t start_ns = samples->has_part ? part->start_ns : UINT64_MAX;
		if (time_ns < start_ns) {
			pass(samples, time_ns, true);
			return 1;
		}
		bool is_own = sn_activity_is_background(samples->db, part->context);
		pass(samples, start_ns, true);
		pass(samples, time_ns < part->end_ns ? time_ns : part->end_ns, is_own);
		if (time_ns < part->end_ns)
			return is_own;
		int result = next_part(samples, error);
		if (result)
			return result;
	}
}

int sn_own_samples_next(struct sn_own_samples *samples, struct sn_own_sample *sample,
			struct sn_error *error)
{
	struct sn_merged_event event;
	int result;
	while ((result = sn_event_merge_next(samples->merge, &event, error)) > 0) {
		if (!samples->has_begun)
			begin(samples, event.start_ns);
		result = pass_until(samples, event.start_ns, error);
		if (result < 0)
			return result;
		*sample = (struct sn_own_sample){event.start_ns, samples->own_ns, event.context};
		if (result && event.context)
			return 1;
	}
	return result;
}
