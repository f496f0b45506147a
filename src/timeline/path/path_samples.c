/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads were in where the critical path has none of their calls: between two of them, or in
 * a step as such. The samples of the thread in a part of the path share out that part's time; parts
 * without any stay nobody's.
 */
#include "base/vec.h"
#include "critical_path.h"
#include "format/measurement/measurement.h"
#include "frame/context_frame.h"
#include "timeline/node_sums.h"
#include "timeline/track_blocks.h"

#include <stdlib.h>

struct sharing {
	const struct sn_answers *answers;
	const struct sn_critical_path *path;
	uint32_t profile; /* whose samples are read */
	int64_t offset_ns;
	size_t at;	 /* the step that they have come to */
	uint32_t *nodes; /* of the samples in it */
	size_t count, capacity;
	double *values_ns; /* by node */
	struct sonde_event_cursor *reader;
};

static bool is_own(const struct sn_answers *answers, const struct sn_path_step *step)
{
	if (step->context == SONDE_NONE)
		return step->kind == SN_PATH_UNRECORDED;
	return step->kind == SN_PATH_THREAD &&
	       sn_context_frame(answers->db, step->context)->flags & SN_FRAME_ITERATION;
}

/* The samples of the step at hand are all there. */
static void end_step(struct sharing *sharing)
{
	const struct sn_path_step *step = sharing->path->steps + sharing->at++;
	double length = (double)(step->end_ns - step->start_ns);
	for (size_t i = 0; i < sharing->count; i++)
		sharing->values_ns[sharing->nodes[i]] += length / (double)sharing->count;
	sharing->count = 0;
}

static int add_sample(struct sharing *sharing, uint32_t context, uint64_t time_ns)
{
	const struct sn_critical_path *path = sharing->path;
	while (sharing->at < path->step_count && path->steps[sharing->at].end_ns <= time_ns)
		end_step(sharing);
	if (sharing->at == path->step_count)
		return 0;
	const struct sn_path_step *step = path->steps + sharing->at;
	if (time_ns < step->start_ns || step->profile != sharing->profile ||
	    !is_own(sharing->answers, step))
		return 0;
	return sn_vec_push(&sharing->nodes, &sharing->capacity, &sharing->count,
			   sharing->answers->nodes.of_context[context]);
}

/* The samples of a thread during the path. */
static int add_samples(void *data, const struct sonde_track *track,
		       struct sonde_event_cursor *cursor, const struct sonde_event_block *block)
{
	struct sharing *sharing = data;
	int result = 0;
	for (size_t i = 0; i < block->count && !result; i++)
		result = add_sample(sharing, block->contexts[i],
				    block->starts_ns[i] + (uint64_t)sharing->offset_ns);
	return result;
}

static int read_samples(struct sharing *sharing, uint32_t track, struct sn_error *error)
{
	const struct sn_critical_path *path = sharing->path;
	uint64_t offset = (uint64_t)sharing->offset_ns;
	sharing->at = 0;
	struct sn_event_window window = {path->steps[0].start_ns - offset,
					 path->steps[path->step_count - 1].end_ns - offset,
					 SONDE_EVENTS_BRIEF, sharing->reader};
	int result =
	    sn_track_blocks(sharing->answers->trace, track, &window, add_samples, sharing, error);
	if (sharing->at < path->step_count)
		end_step(sharing);
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
	    .reader = sn_event_reader_new(answers->trace),
	};
	int result = sharing.values_ns ? 0 : sn_fail_memory(error);
	for (size_t i = 0; i < path->step_count; i++)
		if (is_own(answers, path->steps + i))
			path->own_ns += (double)(path->steps[i].end_ns - path->steps[i].start_ns);
	for (uint32_t i = 0; i < sonde_trace_track_count(answers->trace) && !result; i++) {
		const struct sonde_track *track = sonde_trace_track(answers->trace, i);
		if (track->kind != SONDE_TRACK_SAMPLES || path->own_ns <= 0)
			continue;
		sharing.profile = track->profile;
		sharing.offset_ns = sn_path_offset(answers, track->profile);
		result = read_samples(&sharing, i, error);
	}
	if (!result && list_sampled(&sharing, path))
		result = sn_fail_memory(error);
	free(sharing.nodes);
	sonde_event_cursor_free(sharing.reader);
	free(sharing.values_ns);
	return result;
}
