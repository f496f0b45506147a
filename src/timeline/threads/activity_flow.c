/* SPDX-License-Identifier: Apache-2.0 */
/* Divides a thread's time into parts by its calls, samples and blocked times, read side by side. */
#include "activity_flow.h"

#include "base/sort.h"
#include "thread_states.h"

#include <stdlib.h>

/* A sample may stand for this many periods beyond its own. */
enum { BUDGET_PERIODS = 8 };

/* ---- samples ---- */

static int next_sample(struct sn_activity_flow *flow, struct sn_error *error)
{
	struct sn_merged_event event;
	int result = sn_event_merge_next(flow->samples, &event, error);
	flow->has_sample = result > 0;
	if (result > 0)
		flow->sample =
		    (struct sn_activity_sample){event.start_ns, sn_blocked_of(&event, SN_BLOCKED)};
	return result < 0 ? result : 0;
}

/* The part of the current sample's budget that the time since the sample before has not used. */
static uint64_t budget_left(const struct sn_activity_flow *flow)
{
	uint64_t before_ns = flow->has_own_last ? flow->own_last.own_ns : 0;
	uint64_t passed_ns = flow->own_next.own_ns - before_ns;
	return flow->budget_ns > passed_ns ? flow->budget_ns - passed_ns : 0;
}

static int next_own(struct sn_activity_flow *flow, struct sn_error *error)
{
	uint64_t left_ns = flow->has_own_next ? budget_left(flow) : 0;
	if (flow->has_own_next) {
		flow->own_last = flow->own_next;
		flow->has_own_last = true;
	}
	if (left_ns > BUDGET_PERIODS * flow->each_ns)
		left_ns = BUDGET_PERIODS * flow->each_ns;
	flow->budget_ns = flow->each_ns + left_ns;
	int result = sn_own_samples_next(&flow->own, &flow->own_next, error);
	flow->has_own_next = result > 0;
	return result < 0 ? result : 0;
}

static int begin_samples(struct sn_activity_flow *flow, struct sn_error *error)
{
	flow->has_begun = true;
	return next_sample(flow, error) ?: next_own(flow, error);
}

/* ---- blocked time ---- */

/* Skips states that have ended. */
static int pass_states(struct sn_activity_flow *flow, struct sn_error *error)
{
	struct sn_merged_event event;
	int result = 1;
	while (flow->states && result && flow->blocked.end_ns <= flow->until_ns) {
		result = sn_event_merge_next(flow->states, &event, error);
		if (result < 0)
			return result;
		flow->blocked = (struct sn_activity_blocked){UINT64_MAX, UINT64_MAX};
		if (result)
			flow->blocked = (struct sn_activity_blocked){event.start_ns, event.end_ns};
		if (result && sn_state_of(flow->db, event.context) != SN_THREAD_BLOCKED)
			flow->blocked.end_ns = 0;
	}
	return 0;
}

/* Shortens the time from until_ns to *end_ns so that it is either blocked or not; returns which.
 * `told_ns`: how long before *end_ns the thread was blocked, by an event there. */
static bool cut_blocked(const struct sn_activity_flow *flow, uint64_t told_ns, uint64_t *end_ns)
{
	struct sn_activity_blocked blocked = flow->blocked;
	uint64_t left_ns = *end_ns - flow->until_ns;
	if (!flow->states)
		blocked = (struct sn_activity_blocked){
		    *end_ns - (told_ns < left_ns ? told_ns : left_ns), *end_ns};
	if (blocked.start_ns >= *end_ns)
		return false;
	if (blocked.start_ns > flow->until_ns) {
		*end_ns = blocked.start_ns;
		return false;
	}
	if (blocked.end_ns < *end_ns)
		*end_ns = blocked.end_ns;
	return true;
}

/* ---- calls ---- */

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
	struct sn_event_window told = *window;
	bool is_sampled = each_ns && lanes->samples != SONDE_NONE;
	bool has_states = each_ns && lanes->states != SONDE_NONE;
	*flow = (struct sn_activity_flow){
	    .db = db, .each_ns = each_ns, .is_told = each_ns && sn_blocked_is_told(db, trace)};
	if (flow->is_told && !has_states) {
		told.flags &= ~SONDE_EVENTS_BRIEF;
		told.wishes = sn_blocked_wishes;
		told.wish_count = SN_BLOCKED_WISHES;
	}
	int result = sn_activity_parts_init(&flow->parts, trace, lanes, &told, error);
	if (!result && is_sampled)
		result = sn_own_samples_init(&flow->own, db, trace, lanes, each_ns, window, error);
	if (is_sampled) {
		flow->samples = sn_event_merge_new(trace, &lanes->samples, 1, &told);
		flow->samples_ns = sonde_trace_track(trace, lanes->samples)->start_ns;
	}
	if (has_states)
		flow->states = sn_event_merge_new(trace, &lanes->states, 1, window);
	if ((is_sampled && !flow->samples) || (has_states && !flow->states))
		result = sn_fail_memory(error);
	return result ?: next_call(flow, error);
}

void sn_activity_flow_release(struct sn_activity_flow *flow)
{
	sn_activity_parts_release(&flow->parts);
	sn_own_samples_release(&flow->own);
	sn_event_merge_free(flow->samples);
	sn_event_merge_free(flow->states);
	flow->samples = flow->states = NULL;
}

/* ---- parts ---- */

/* A time of one kind, from until_ns on. */
struct stretch {
	uint64_t end_ns;
	uint64_t told_ns; /* blocked time before its end, by the event there */
	bool is_in_call;  /* in flow->call; else between calls */
	bool is_own;
	bool is_blocked;
	bool is_known; /* of own time: a sample stands for it */
};

/* Finds the next stretch: up to the end of the call, the begin of the next, or a
 * relevant sample. */
static int find_stretch(struct sn_activity_flow *flow, struct stretch *stretch,
			struct sn_error *error)
{
	const struct sn_activity_part *call = &flow->call;
	bool is_in_call = flow->has_call && call->start_ns <= flow->until_ns;
	*stretch = (struct stretch){
	    .end_ns = is_in_call       ? call->end_ns
		      : flow->has_call ? call->start_ns
				       : UINT64_MAX,
	    .told_ns = is_in_call ? call->blocked_ns : call->blocked_before_ns,
	    .is_in_call = is_in_call,
	    .is_own = !is_in_call || sn_activity_is_background(flow->db, call->context),
	};
	while (flow->has_sample && flow->sample.time_ns < stretch->end_ns) {
		if (flow->sample.time_ns > flow->until_ns &&
		    (stretch->is_own || flow->sample.blocked_ns)) {
			stretch->end_ns = flow->sample.time_ns;
			stretch->told_ns = flow->sample.blocked_ns;
			break;
		}
		int result = next_sample(flow, error);
		if (result)
			return result;
	}
	while (flow->has_own_next && flow->own_next.time_ns <= flow->until_ns) {
		int result = next_own(flow, error);
		if (result)
			return result;
	}
	return 0;
}

/* Divides own time into time for which the next sample stands and time for which none does. */
static void cut_known(const struct sn_activity_flow *flow, struct stretch *stretch)
{
	stretch->is_known = flow->has_own_next || flow->has_own_last;
	if (flow->is_told || flow->states || !stretch->is_known)
		return;
	stretch->is_known = flow->has_own_next;
	uint64_t ahead_ns = flow->has_own_next ? flow->own_next.own_ns - flow->own_ns : 0;
	if (ahead_ns <= flow->budget_ns)
		return;
	uint64_t from_ns = flow->until_ns + (ahead_ns - flow->budget_ns);
	stretch->is_known = false;
	if (from_ns < stretch->end_ns)
		stretch->end_ns = from_ns;
}

static struct sn_activity_part part_of(const struct sn_activity_flow *flow,
				       const struct stretch *stretch)
{
	struct sn_activity_part part = flow->call;
	if (stretch->is_own && stretch->is_known && !stretch->is_blocked) {
		const struct sn_own_sample *sample =
		    flow->has_own_next ? &flow->own_next : &flow->own_last;
		part = (struct sn_activity_part){
		    .call_start_ns = flow->until_ns,
		    .call_end_ns = stretch->end_ns,
		    .context = sample->context,
		    .profile = flow->parts.profile,
		    .is_sampled = true,
		};
	}
	part.start_ns = flow->until_ns;
	part.end_ns = stretch->end_ns;
	part.is_blocked = stretch->is_blocked;
	return part;
}

/* Starts at the first call, or one period before the first sample if that is earlier. */
static int begin(struct sn_activity_flow *flow, struct sn_error *error)
{
	int result = 0;
	if (flow->has_call && (!flow->samples || flow->call.start_ns <= flow->samples_ns)) {
		flow->until_ns = flow->call.start_ns;
	} else if (flow->samples && !flow->has_begun) {
		result = begin_samples(flow, error);
		flow->until_ns = flow->samples_ns - sn_own_period(flow->samples_ns, flow->each_ns);
	}
	return result;
}

/* Moves to the end of a stretch that has been returned. */
static int pass(struct sn_activity_flow *flow, const struct stretch *stretch,
		struct sn_error *error)
{
	if (stretch->is_own)
		flow->own_ns += stretch->end_ns - flow->until_ns;
	flow->until_ns = stretch->end_ns;
	if (!stretch->is_in_call)
		return 0;
	flow->call.start_ns = stretch->end_ns;
	return flow->call.start_ns < flow->call.end_ns ? 0 : next_call(flow, error);
}

/* Finds the next stretch. 1, 0 at the end, or a negative enum sn_err. */
static int next_stretch(struct sn_activity_flow *flow, struct stretch *stretch,
			struct sn_error *error)
{
	int result = find_stretch(flow, stretch, error);
	/* the track knows when its first sample is, so samples are not read before
	 * they are needed */
	if (!result && flow->samples && !flow->has_begun &&
	    (stretch->is_own || stretch->end_ns > flow->samples_ns))
		result = begin_samples(flow, error) ?: find_stretch(flow, stretch, error);
	if (result || stretch->end_ns == UINT64_MAX)
		return result;
	result = pass_states(flow, error);
	stretch->is_blocked = cut_blocked(flow, stretch->told_ns, &stretch->end_ns);
	if (stretch->is_own && !stretch->is_blocked)
		cut_known(flow, stretch);
	return result ?: 1;
}

int sn_activity_flow_next(struct sn_activity_flow *flow, struct sn_activity_part *part,
			  struct sn_error *error)
{
	int result = flow->until_ns ? 0 : begin(flow, error);
	struct stretch stretch = {0};
	while (!result && (result = next_stretch(flow, &stretch, error)) > 0) {
		*part = part_of(flow, &stretch);
		result = pass(flow, &stretch, error);
		if (!result && (stretch.is_in_call || stretch.is_known))
			return 1;
	}
	return result;
}

/* ---- the distance of samples ---- */

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

/* Adds the distances of the samples in a thread's first block. */
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
