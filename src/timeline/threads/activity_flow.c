/* SPDX-License-Identifier: Apache-2.0 */
/* Calls, and samples between them; see activity_flow.h. */
#include "activity_flow.h"

#include "base/sort.h"
#include "format/measurement/measurement.h"
#include "frame/context_frame.h"

#include <stdlib.h>

/* ---- samples ---- */

static int next_sample(struct sn_activity_flow *flow, struct sn_error *error)
{
	struct sn_merged_event event;
	int result = sn_event_merge_next(flow->samples, &event, error);
	flow->has_begun = true;
	flow->sample = flow->after;
	flow->has_sample = flow->has_after;
	flow->has_after = result > 0;
	if (result > 0)
		flow->after = (struct sn_activity_sample){event.start_ns, event.context};
	return result < 0 ? result : 0;
}

/* ---- parts ---- */

static int next_call(struct sn_activity_flow *flow, struct sn_error *error)
{
	int result = sn_activity_parts_next(&flow->parts, &flow->call, error);
	flow->has_call = result > 0;
	return result < 0 ? result : 0;
}

int sn_activity_flow_init(struct sn_activity_flow *flow, const struct sonde_db *db,
			  const struct sonde_trace *trace, const struct sn_activity_lanes *lanes,
			  uint64_t each_ns, const struct sn_event_window *window,
			  struct sn_error *error)
{
	struct sn_event_window all = {0, UINT64_MAX, SONDE_EVENTS_BRIEF, window->reader};
	bool is_sampled = each_ns && lanes->samples != SONDE_NONE;
	*flow = (struct sn_activity_flow){.db = db, .each_ns = each_ns};
	if (is_sampled) {
		flow->samples = sn_event_merge_new(trace, &lanes->samples, 1, &all);
		flow->samples_ns = sonde_trace_track(trace, lanes->samples)->start_ns;
	}
	int result = sn_activity_parts_init(&flow->parts, trace, lanes, window, error);
	if (is_sampled && !flow->samples)
		result = sn_fail_memory(error);
	return result ?: next_call(flow, error);
}

void sn_activity_flow_release(struct sn_activity_flow *flow)
{
	sn_activity_parts_release(&flow->parts);
	sn_event_merge_free(flow->samples);
	flow->samples = NULL;
}

/* Whether samples say more than the call: it is a step of the program as such. */
static bool is_background(const struct sn_activity_flow *flow)
{
	return sn_context_frame(flow->db, flow->call.context)->flags & SN_FRAME_ITERATION;
}

/* What the sample at hand stands for, not before `from_ns`; nobody else has the time up to `to_ns`.
 * Perhaps of no length. */
static struct sn_activity_part part_of_sample(const struct sn_activity_flow *flow, uint64_t from_ns,
					      uint64_t to_ns)
{
	uint64_t time = flow->sample.time_ns, start = from_ns, end = time;
	if (time > flow->each_ns && time - flow->each_ns > start)
		start = time - flow->each_ns;
	bool is_last = !flow->has_after || flow->after.time_ns >= to_ns;
	if (is_last && to_ns - time < flow->each_ns)
		end = to_ns;
	return (struct sn_activity_part){
	    .start_ns = start,
	    .end_ns = end,
	    .call_start_ns = start,
	    .call_end_ns = end,
	    .context = flow->sample.context,
	    .profile = flow->parts.profile,
	};
}

/* The call, or what is left of it. */
static int give_call(struct sn_activity_flow *flow, struct sn_activity_part *part,
		     struct sn_error *error)
{
	*part = flow->call;
	flow->until_ns = part->end_ns;
	int result = next_call(flow, error);
	return result ?: 1;
}

/* Gives the part of a call before its next sample, or what that sample stands for. 0: there is
 * neither. */
static int give_background(struct sn_activity_flow *flow, struct sn_activity_part *part,
			   struct sn_error *error)
{
	struct sn_activity_part *call = &flow->call;
	while (flow->has_sample && flow->sample.time_ns < call->end_ns) {
		struct sn_activity_part sampled =
		    part_of_sample(flow, call->start_ns, call->end_ns);
		bool is_before = flow->sample.time_ns < call->start_ns;
		if (!is_before && sampled.start_ns > call->start_ns) {
			*part = *call;
			part->end_ns = call->start_ns = flow->until_ns = sampled.start_ns;
			return 1;
		}
		int result = next_sample(flow, error);
		if (result)
			return result;
		if (is_before || sampled.end_ns <= sampled.start_ns)
			continue;
		*part = sampled;
		call->start_ns = flow->until_ns = sampled.end_ns;
		result = call->start_ns >= call->end_ns ? next_call(flow, error) : 0;
		return result ?: 1;
	}
	return 0;
}

/* Samples before the next call. 0: none of them stands for anything. */
static int give_silence(struct sn_activity_flow *flow, struct sn_activity_part *part,
			struct sn_error *error)
{
	uint64_t to_ns = flow->has_call ? flow->call.start_ns : UINT64_MAX;
	while (flow->has_sample && flow->sample.time_ns < to_ns) {
		*part = part_of_sample(flow, flow->until_ns, to_ns);
		bool is_part =
		    flow->sample.time_ns >= flow->until_ns && part->end_ns > part->start_ns;
		int result = next_sample(flow, error);
		if (result)
			return result;
		if (!is_part)
			continue;
		flow->until_ns = part->end_ns;
		return 1;
	}
	return 0;
}

int sn_activity_flow_next(struct sn_activity_flow *flow, struct sn_activity_part *part,
			  struct sn_error *error)
{
	bool is_begun = flow->has_begun || !flow->samples;
	/* a track says when its first sample is: until then it need not be read */
	if (!is_begun && flow->has_call && flow->call.end_ns <= flow->samples_ns)
		return give_call(flow, part, error);
	int result = is_begun ? 0 : next_sample(flow, error) ?: next_sample(flow, error);
	result = result ?: give_silence(flow, part, error);
	if (!result && flow->has_call && flow->has_sample && is_background(flow))
		result = give_background(flow, part, error);
	return result || !flow->has_call ? result : give_call(flow, part, error);
}

/* ---- how far they are apart ---- */

enum { GAPS_MAX = 65536 };

uint64_t sn_activity_flow_median(uint64_t *gaps_ns, size_t count)
{
	sn_sort_u64(gaps_ns, count);
	return count ? gaps_ns[count / 2] : 0;
}

struct gaps {
	uint64_t *items;
	size_t count;
};

/* Adds the gaps of a thread's first block. */
static int add_gaps(void *data, const struct sonde_track *track, struct sonde_event_cursor *cursor,
		    const struct sonde_event_block *block)
{
	struct gaps *gaps = data;
	for (size_t i = 1; i < block->count && gaps->count < GAPS_MAX; i++)
		if (block->starts_ns[i] > block->starts_ns[i - 1])
			gaps->items[gaps->count++] = block->starts_ns[i] - block->starts_ns[i - 1];
	return 1;
}

int sn_activity_flow_distance(const struct sonde_trace *trace,
			      const struct sn_activity_lanes *lanes, size_t count,
			      uint64_t *each_ns, struct sn_error *error)
{
	struct gaps gaps = {.items = malloc(GAPS_MAX * sizeof(*gaps.items))};
	struct sn_event_window window = {0, UINT64_MAX, SONDE_EVENTS_BRIEF,
					 .reader = sn_event_reader_new(trace)};
	int result = gaps.items ? 0 : sn_fail_memory(error);
	for (size_t i = 0; i < count && !result && gaps.count < GAPS_MAX; i++)
		if (lanes[i].samples != SONDE_NONE)
			result = sn_track_blocks(trace, lanes[i].samples, &window, add_gaps, &gaps,
						 error);
	*each_ns = sn_activity_flow_median(gaps.items, gaps.count);
	free(gaps.items);
	sonde_event_cursor_free(window.reader);
	return result;
}
