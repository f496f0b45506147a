/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charges steps of the path outside of recorded calls, or in an iteration as such, to the nodes
 * that the thread's samples stand for (threads/activity_flow.h). Time in which the thread was
 * blocked is charged to no node.
 */
#include "critical_path.h"
#include "format/measurement/measurement.h"
#include "frame/context_frame.h"
#include "timeline/node_sums.h"
#include "timeline/threads/activity_flow.h"

#include <stdlib.h>

struct sharing {
	const struct sn_answers *answers;
	const struct sn_critical_path *path;
	size_t at;	   /* index of the first step that may overlap the next part */
	double *values_ns; /* by node */
	struct sn_event_window window;
	uint64_t each_ns; /* between samples */
};

/* To wake a thread takes less than a tenth of a millisecond: what takes longer is code of which nothing
 * is recorded. */
static bool is_own(const struct sn_answers *answers, const struct sn_path_step *step)
{
	if (step->context == SONDE_NONE)
		return step->kind == SN_PATH_UNRECORDED ||
		       (step->kind == SN_PATH_HANDOVER &&
			step->end_ns - step->start_ns > SN_PATH_HELD_UP_NS);
	return step->kind == SN_PATH_THREAD &&
	       sn_context_frame(answers->db, step->context)->flags & SN_FRAME_ITERATION;
}

/* Charges a part of the thread to the steps outside of calls that it overlaps. Parts come in
 * order of time. */
static void add_part(struct sharing *sharing, const struct sn_activity_part *part, uint64_t offset)
{
	const struct sn_critical_path *path = sharing->path;
	uint64_t start = part->start_ns + offset, end = part->end_ns + offset;
	uint32_t node = sharing->answers->nodes.of_context[part->context];
	while (sharing->at < path->step_count && path->steps[sharing->at].end_ns <= start)
		sharing->at++;
	for (size_t i = sharing->at; i < path->step_count && path->steps[i].start_ns < end; i++) {
		const struct sn_path_step *step = path->steps + i;
		if (step->profile == part->profile && is_own(sharing->answers, step))
			sharing->values_ns[node] += (double)sn_interval_length_ns(
			    sn_interval_clip(step->start_ns, step->end_ns, start, end));
	}
}

static bool is_on_path(const struct sharing *sharing, uint32_t profile)
{
	const struct sn_critical_path *path = sharing->path;
	for (size_t i = 0; i < path->step_count; i++)
		if (path->steps[i].profile == profile && is_own(sharing->answers, path->steps + i))
			return true;
	return false;
}

static int read_thread(struct sharing *sharing, const struct sn_activity_lanes *lanes,
		       struct sn_error *error)
{
	const struct sn_answers *answers = sharing->answers;
	const struct sn_critical_path *path = sharing->path;
	uint64_t offset = (uint64_t)sn_path_offset(answers, lanes->profile);
	struct sn_event_window window = sharing->window;
	struct sn_activity_flow flow;
	struct sn_activity_part part;
	sharing->at = 0;
	window.from_ns = path->steps[0].start_ns - offset;
	window.to_ns = path->steps[path->step_count - 1].end_ns - offset;
	int result = sn_activity_flow_init(&flow, answers->db, answers->trace, lanes,
					   sharing->each_ns, &window, error);
	while (!result && (result = sn_activity_flow_next(&flow, &part, error)) > 0) {
		result = 0;
		if (part.is_sampled)
			add_part(sharing, &part, offset);
		if (part.start_ns >= window.to_ns)
			break;
	}
	sn_activity_flow_release(&flow);
	return result;
}

static int read_threads(struct sharing *sharing, struct sn_error *error)
{
	const struct sn_answers *answers = sharing->answers;
	size_t count;
	struct sn_activity_lanes *lanes =
	    sn_activity_lanes(&answers->processes, SONDE_NONE, true, &count);
	int result = lanes ? sn_activity_flow_distance(answers->trace, lanes, count,
						       &sharing->each_ns, error)
			   : sn_fail_memory(error);
	for (size_t i = 0; i < count && !result && sharing->each_ns; i++)
		if (lanes[i].samples != SONDE_NONE && is_on_path(sharing, lanes[i].profile))
			result = read_thread(sharing, lanes + i, error);
	sn_activity_lanes_free(lanes);
	return result;
}

static int list_sampled(const struct sharing *sharing, struct sn_critical_path *path)
{
	size_t count;
	struct sn_node_sum *sums =
	    sn_node_sums(&sharing->answers->nodes, sharing->values_ns, &count);
	path->sampled = sums ? calloc(count + 1, sizeof(*path->sampled)) : NULL;
	for (size_t i = 0; path->sampled && i < count; i++)
		path->sampled[path->sampled_count++] =
		    (struct sn_path_sampled){sums[i].node, sums[i].value};
	free(sums);
	return path->sampled ? 0 : SN_ERR_MEMORY;
}

int sn_path_samples(const struct sn_answers *answers, struct sn_critical_path *path,
		    struct sn_error *error)
{
	struct sharing sharing = {
	    .answers = answers,
	    .path = path,
	    .values_ns = calloc(answers->nodes.table.count + 1ull, sizeof(double)),
	    .window = {.flags = SONDE_EVENTS_BRIEF, .reader = sn_event_reader_new(answers->trace)},
	};
	int result = sharing.values_ns && sharing.window.reader ? 0 : sn_fail_memory(error);
	for (size_t i = 0; i < path->step_count; i++)
		if (is_own(answers, path->steps + i))
			path->own_ns += (double)(path->steps[i].end_ns - path->steps[i].start_ns);
	if (!result && path->own_ns > 0)
		result = read_threads(&sharing, error);
	if (!result && list_sampled(&sharing, path))
		result = sn_fail_memory(error);
	sonde_event_cursor_free(sharing.window.reader);
	free(sharing.values_ns);
	return result;
}
