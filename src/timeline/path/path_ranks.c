/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects the graphs of processes where threads wait for another rank: the rest of the waiting
 * part depends on the other rank's activity.
 */
#include "base/search.h"
#include "base/sort_by.h"
#include "critical_path.h"

#include <stdlib.h>

struct joining {
	const struct sn_answers *answers;
	const struct sn_path_window **windows; /* by process, or NULL */
	struct sn_path_graph *graph;
	uint32_t *order; /* activities of threads, sorted by profile and start */
	size_t count;
	uint32_t *tails; /* by activity: its continuation after a wait; SONDE_NONE */
};

SN_SORT_BY(sort_activities, uint32_t, const struct sn_path_activity *,
	   SN_ORDER(of[*a].profile, of[*b].profile) ?: SN_ORDER(of[*a].start_ns, of[*b].start_ns) ?:
	   SN_ORDER(*a, *b));

static int list_activities(struct joining *joining)
{
	struct sn_path_graph *graph = joining->graph;
	joining->order = malloc((graph->count + 1) * sizeof(uint32_t));
	joining->tails = malloc((graph->count + 1) * sizeof(uint32_t));
	if (!joining->order || !joining->tails)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < graph->count; i++) {
		joining->tails[i] = SONDE_NONE;
		if (graph->activities[i].kind == SN_PATH_THREAD)
			joining->order[joining->count++] = i;
	}
	sort_activities(joining->order, joining->count, graph->activities);
	return 0;
}

/* Converts a thread's time to common time; false if its process has no window. */
static bool to_common(const struct joining *joining, uint32_t profile, uint64_t *time_ns)
{
	const struct sn_path_window *window =
	    joining->windows[joining->answers->processes.of_profile[profile]];
	if (window)
		*time_ns += (uint64_t)window->offset_ns;
	return window;
}

/* The activity of a thread at a time, or the last one before; SONDE_NONE. */
static uint32_t find_activity(const struct joining *joining, uint32_t profile, uint64_t time_ns)
{
	const struct sn_path_activity *all = joining->graph->activities;
	const uint32_t *order = joining->order;
	size_t end =
	    sn_search(i, joining->count,
		      all[order[i]].profile < profile ||
			  (all[order[i]].profile == profile && all[order[i]].start_ns <= time_ns));
	return end && all[order[end - 1]].profile == profile ? order[end - 1] : SONDE_NONE;
}

static int add_edge(struct sn_path_graph *graph, uint32_t from, uint32_t to, bool from_start,
		    enum sn_path_kind kind)
{
	struct sn_path_edge edge = {
	    .from = from, .to = to, .from_start = from_start, .kind = (uint8_t)kind};
	return sn_path_graph_edge(graph, &edge);
}

/* Splits the waiting activity at the time when the other rank was ready; the second part follows
 * from that rank's activity. */
static int join(struct joining *joining, const struct sn_rank_wait *wait)
{
	uint64_t until = wait->until_ns, cause_at = wait->cause_ns;
	if (!to_common(joining, wait->profile, &until) ||
	    !to_common(joining, wait->cause, &cause_at))
		return 0;
	uint32_t waiting = find_activity(joining, wait->profile, until);
	uint32_t cause = find_activity(joining, wait->cause, cause_at);
	if (waiting == SONDE_NONE || cause == SONDE_NONE || joining->tails[waiting] != SONDE_NONE)
		return 0;
	struct sn_path_activity *head = joining->graph->activities + waiting, tail = *head;
	if (head->start_ns >= until || head->end_ns <= until)
		return 0;
	bool is_within = joining->graph->activities[cause].end_ns > cause_at;
	tail.start_ns = until;
	tail.kind = SN_PATH_COMMUNICATION;
	tail.ends = head->ends;
	head->end_ns = until;
	head->ends = SN_PATH_END_WAITS; /* it would have waited less */
	uint32_t added = sn_path_graph_add(joining->graph, &tail);
	if (added == SONDE_NONE)
		return SN_ERR_MEMORY;
	joining->tails[waiting] = added;
	return add_edge(joining->graph, cause, added, is_within, SN_PATH_HELD);
}

/* Moves edges from the end of a split activity to its continuation. */
static int move_edges(struct joining *joining, size_t activity_count)
{
	struct sn_path_graph *graph = joining->graph;
	for (size_t i = 0; i < graph->edge_count; i++) {
		struct sn_path_edge *edge = graph->edges + i;
		if (!edge->from_start && edge->from < activity_count &&
		    joining->tails[edge->from] != SONDE_NONE)
			edge->from = joining->tails[edge->from];
	}
	for (uint32_t i = 0; i < activity_count; i++)
		if (joining->tails[i] != SONDE_NONE &&
		    add_edge(graph, i, joining->tails[i], true, SN_PATH_UNRECORDED))
			return SN_ERR_MEMORY;
	return 0;
}

int sn_path_join_ranks(const struct sn_answers *answers, const struct sn_path_window *windows,
		       size_t count, struct sn_path_graph *graph)
{
	struct joining joining = {.answers = answers, .graph = graph};
	size_t activity_count = graph->count;
	if (!answers->messages.wait_count)
		return 0;
	joining.windows = calloc(answers->processes.count + 1ull, sizeof(*joining.windows));
	for (size_t i = count; i-- && joining.windows;)
		joining.windows[answers->processes.of_profile[windows[i].profile]] = windows + i;
	int result = joining.windows ? list_activities(&joining) : SN_ERR_MEMORY;
	for (size_t i = 0; i < answers->messages.wait_count && !result; i++)
		result = join(&joining, answers->messages.waits + i);
	if (!result)
		result = move_edges(&joining, activity_count);
	free(joining.windows);
	free(joining.order);
	free(joining.tails);
	return result;
}
