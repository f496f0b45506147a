/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the node of a critical path that a finding names. */
#include "path_choice.h"

#include "format/measurement/measurement.h"
#include "frame/user_frame.h"
#include "timeline/threads/thread_activity.h"

#include <string.h>

/* A node with less gain is not named. */
#define LEAST_GAIN 0.01

/* An iteration itself; its node has only time in which nothing else was recorded. */
static bool is_step(const struct sn_answers *answers, uint32_t node)
{
	uint32_t frame = sn_node_map_at(&answers->nodes, node).frame;
	return sonde_db_frame(answers->db, frame)->flags & SN_FRAME_ITERATION;
}

/* Nodes that cannot be made faster: calls that wait, calls of a module as such, the recorder's own
 * work, and generated code on a path that mostly launches. */
static bool is_passing(const struct sn_rule_input *input, uint32_t node)
{
	const struct sn_answers *answers = input->answers;
	const double *times = input->path->causes.time_ns;
	uint32_t context = sn_node_map_context(&answers->nodes, node);
	const struct sonde_db_frame *frame =
	    sonde_db_frame(answers->db, sn_node_map_at(&answers->nodes, node).frame);
	return sn_activity_is_waiting(answers->db, context) ||
	       sn_activity_is_synchronizing(answers->db, context) ||
	       sn_node_is_wrapper(answers->db, frame) ||
	       sn_activity_is_recorder(answers->db, context) ||
	       (times[SN_CAUSE_LAUNCHING] > times[SN_CAUSE_HOST] &&
		sn_frame_is_generated(answers->db, frame));
}

/* The node that gains most: among iterations as such, or among all other nodes. */
static const struct sn_path_share *best_of(const struct sn_rule_input *input, bool are_steps)
{
	const struct sn_critical_path *path = input->path;
	const struct sn_path_share *best = NULL;
	for (size_t i = 0; i < path->share_count && i < SN_PATH_SHARES; i++)
		if (is_step(input->answers, path->shares[i].node) == are_steps &&
		    !is_passing(input, path->shares[i].node) &&
		    (!best || path->shares[i].gain_ns > best->gain_ns))
			best = path->shares + i;
	return best;
}

/* Whether the node's time on the path is mostly a single call that waits, which would not become
 * shorter by a tenth. */
static bool is_one_wait(const struct sn_rule_input *input, const struct sn_path_share *share)
{
	const struct sn_path_longest *longest = input->path->causes.longest + SN_CAUSE_WAITING;
	return longest->context != SONDE_NONE &&
	       input->answers->nodes.of_context[longest->context] == share->node &&
	       longest->time_ns > 0.5 * share->time_ns;
}

struct sn_path_choice sn_path_choose(const struct sn_rule_input *input)
{
	const struct sn_critical_path *path = input->path;
	double whole = (double)(input->answers->end_ns - input->answers->start_ns);
	const struct sn_path_share *best = best_of(input, false), *step = best_of(input, true);
	struct sn_path_choice choice = {.best = best};
	choice.is_too_short = path->extent.context == SONDE_NONE && path->length_ns < 0.1 * whole;
	choice.gains =
	    best && best->gain_ns >= LEAST_GAIN * path->length_ns && !is_one_wait(input, best);
	choice.is_mostly_own =
	    path->own_ns > 0.2 * path->length_ns &&
	    (!best || best->time_ns < path->own_ns || (step && step->gain_ns > best->gain_ns));
	choice.is_mostly_sampled = choice.is_mostly_own && path->sampled_count &&
				   (!best || best->time_ns < path->sampled[0].time_ns);
	return choice;
}

bool sn_path_tells_best(const struct sn_path_choice *choice)
{
	return choice->best && choice->gains && !choice->is_too_short && !choice->is_mostly_sampled;
}

void sn_path_put_extent(const struct sn_critical_path *path, struct sn_finding *finding)
{
	sn_finding_put(finding, "path", "ns", path->length_ns);
	if (path->extent.context != SONDE_NONE) {
		sn_finding_put(finding, "iteration_of", "context", path->extent.context);
		sn_finding_put(finding, "iteration", "count", (double)path->extent.iteration);
	}
	if (path->extent.is_cut)
		sn_finding_put(finding, "is_cut", "count", 1);
}
