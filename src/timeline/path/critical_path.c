/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the window, walks back from its end, and computes what shorter nodes would gain. */
#include "critical_path.h"

#include "base/vec.h"
#include "path_occupied.h"
#include "timeline/node_sums.h"

#include <math.h>

/* In a trace without iterations the window ends after this many events, of about 200 bytes each. */
#define MOST_EVENTS 2000000.0

const char *sn_path_kind_name(enum sn_path_kind kind)
{
	static const char *const names[SN_PATH_KINDS] = {
	    [SN_PATH_THREAD] = "threads",
	    [SN_PATH_COMPUTE] = "computation",
	    [SN_PATH_COMMUNICATION] = "communication",
	    [SN_PATH_COPY] = "copies",
	    [SN_PATH_LAUNCH] = "from call to start",
	    [SN_PATH_HELD] = "held back",
	    [SN_PATH_UNRECORDED] = "between recorded calls",
	    [SN_PATH_HANDOVER] = "from thread to thread",
	};
	return names[kind];
}

/* ---- windows ---- */

struct windows {
	struct sn_path_window *items;
	size_t count, capacity;
	bool *has_process; /* by process */
};

int64_t sn_path_offset(const struct sn_answers *answers, uint32_t profile)
{
	return answers->offsets_ns ? answers->offsets_ns[answers->processes.of_profile[profile]]
				   : 0;
}

static int add_window(const struct sn_answers *answers, struct windows *windows, uint32_t profile,
		      uint64_t from_ns, uint64_t to_ns, bool is_marked)
{
	uint32_t process = answers->processes.of_profile[profile];
	struct sn_path_window window = {profile, from_ns, to_ns, sn_path_offset(answers, profile),
					is_marked};
	if (windows->has_process[process])
		return 0;
	windows->has_process[process] = true;
	return sn_vec_push(&windows->items, &windows->capacity, &windows->count, window);
}

/* The iteration with that number in [first, end), or SIZE_MAX. */
static size_t find_number(const struct sn_iteration *items, size_t first, size_t end,
			  uint64_t number)
{
	for (size_t i = first; i < end; i++)
		if (items[i].number == number)
			return i;
	return SIZE_MAX;
}

static int refuse_number(const struct sn_iteration *items, size_t count, uint64_t number,
			 struct sn_error *error)
{
	return sn_fail(error, SN_ERR_ARGUMENT,
		       "there is no iteration %llu: there are %zu, from %llu on",
		       (unsigned long long)number, count, (unsigned long long)items->number);
}

/* Chooses the same iteration of each process. 1; 0: there are none; or a negative enum sn_err. */
static int choose_iteration(const struct sn_answers *answers, struct windows *windows,
			    struct sn_critical_path *path, struct sn_error *error)
{
	const struct sn_iteration *items = answers->iterations.items;
	size_t first, end;
	sn_iterations_most(&answers->iterations, &first, &end);
	if (first == end)
		return 0;
	size_t next = sn_iterations_end_of_thread(&answers->iterations, first);
	uint64_t number =
	    answers->iteration
		? answers->iteration - 1
		: items[first + sn_iterations_usual(items + first, next - first)].number;
	if (find_number(items, first, next, number) == SIZE_MAX)
		return refuse_number(items + first, next - first, number, error);
	for (size_t from = first; from < end; from = next) {
		next = sn_iterations_end_of_thread(&answers->iterations, from);
		size_t at = find_number(items, from, next, number);
		if (at != SIZE_MAX && add_window(answers, windows, items[at].profile,
						 items[at].start_ns, items[at].end_ns, true))
			return sn_fail_memory(error);
	}
	path->extent = (struct sn_path_extent){items[first].context, number, false};
	return 1;
}

static int choose_all(const struct sn_answers *answers, struct windows *windows,
		      struct sn_critical_path *path)
{
	double events = (double)sonde_trace_event_count(answers->trace);
	uint64_t to = answers->end_ns + 1;
	if (events > MOST_EVENTS) {
		path->extent.is_cut = true;
		to = answers->start_ns +
		     (uint64_t)((double)(to - answers->start_ns) * (MOST_EVENTS / events));
	}
	for (uint32_t i = 0; i < sonde_trace_track_count(answers->trace); i++) {
		const struct sonde_track *track = sonde_trace_track(answers->trace, i);
		if (track->kind == SONDE_TRACK_INTERVALS &&
		    add_window(answers, windows, track->profile, answers->start_ns, to, false))
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* ---- the path ---- */

static int add_step(struct sn_critical_path *path, size_t *capacity, struct sn_path_step step)
{
	if (step.end_ns <= step.start_ns)
		return 0;
	path->kinds_ns[step.kind] += (double)(step.end_ns - step.start_ns);
	return sn_vec_push(&path->steps, capacity, &path->step_count, step);
}

struct walk {
	const struct sn_path_graph *graph;
	struct sn_critical_path *path;
	struct sn_path_occupied occupied;
	size_t capacity;
	double *values; /* by node */
};

static int add_activity(struct walk *walk, uint32_t number, uint64_t from_ns, uint64_t until_ns)
{
	const struct sn_path_activity *one = walk->graph->activities + number;
	struct sn_path_step step = {from_ns, until_ns, one->context, one->profile, one->kind};
	if (until_ns > from_ns && one->node != SONDE_NONE)
		walk->values[one->node] += (double)(until_ns - from_ns);
	return add_step(walk->path, &walk->capacity, step);
}

/* Adds a time in which nothing recorded kept the operation from starting: the operations that
 * occupied the device then, and steps of kind "held" for the rest. */
static int add_held(struct walk *walk, uint64_t from_ns, uint64_t until_ns, uint32_t profile)
{
	while (until_ns > from_ns) {
		uint64_t ended, from = from_ns;
		uint32_t by = sn_path_occupied_by(&walk->occupied, profile, until_ns, &ended);
		if (by != SONDE_NONE) {
			uint64_t begun = walk->graph->activities[by].begun_ns;
			from = begun > from_ns ? begun : from_ns;
			if (add_activity(walk, by, from, until_ns))
				return SN_ERR_MEMORY;
		} else {
			from = ended > from_ns && ended < until_ns ? ended : from_ns;
			struct sn_path_step held = {from, until_ns, SONDE_NONE, profile,
						    SN_PATH_HELD};
			if (add_step(walk->path, &walk->capacity, held))
				return SN_ERR_MEMORY;
		}
		until_ns = from;
	}
	return 0;
}

/* Adds the time between the end of what was waited for and the start of the activity that waited. A
 * launch's latency beyond the usual is time held. */
static int add_lag(struct walk *walk, const struct sn_path_edge *edge, uint64_t base_ns,
		   uint64_t until_ns)
{
	uint32_t profile = walk->graph->activities[edge->to].profile;
	uint64_t usual = base_ns;
	if (edge->kind == SN_PATH_LAUNCH)
		usual += (uint64_t)edge->least_ns;
	else if (edge->kind != SN_PATH_HELD)
		usual = until_ns;
	usual = usual < until_ns ? usual : until_ns;
	struct sn_path_step lag = {base_ns, usual, SONDE_NONE, profile, edge->kind};
	return add_held(walk, usual, until_ns, profile)
		   ?: add_step(walk->path, &walk->capacity, lag);
}

static void reverse_steps(struct sn_critical_path *path)
{
	for (size_t i = 0; i < path->step_count / 2; i++) {
		struct sn_path_step swapped = path->steps[i];
		path->steps[i] = path->steps[path->step_count - 1 - i];
		path->steps[path->step_count - 1 - i] = swapped;
	}
}

/* Walks from the last activity back to one that waited for nothing. */
static int walk_back(struct walk *walk)
{
	const struct sn_path_graph *graph = walk->graph;
	uint32_t at = graph->last;
	uint64_t until = graph->activities[at].end_ns;
	for (;;) {
		const struct sn_path_activity *one = graph->activities + at;
		if (add_activity(walk, at, one->start_ns, until))
			return SN_ERR_MEMORY;
		until = until < one->start_ns ? until : one->start_ns;
		walk->path->start_ns = until;
		if (graph->binding[at] == SONDE_NONE)
			break;
		const struct sn_path_edge *edge = graph->edges + graph->binding[at];
		const struct sn_path_activity *from = graph->activities + edge->from;
		uint64_t base = edge->from_start ? from->start_ns : from->end_ns;
		if (base < until && add_lag(walk, edge, base, until))
			return SN_ERR_MEMORY;
		until = base < until ? base : until;
		/* if the activity started something from within, only the part before that
		 * is on the path */
		if (edge->from_start)
			until = until < from->start_ns ? until : from->start_ns;
		at = edge->from;
	}
	reverse_steps(walk->path);
	return 0;
}

static int find_shares(const struct sn_answers *answers, const struct sn_path_graph *graph,
		       const double *values, struct sn_critical_path *path)
{
	size_t count;
	struct sn_node_sum *sums = sn_node_sums(&answers->nodes, values, &count);
	double *starts = malloc((graph->count + 1) * sizeof(*starts));
	double *ends = malloc((graph->count + 1) * sizeof(*ends));
	path->shares = calloc(count + 1, sizeof(*path->shares));
	bool has_memory = sums && starts && ends && path->shares;
	double whole =
	    has_memory ? sn_path_graph_play(graph, SONDE_NONE, SN_PATH_KINDS, 1, starts, ends) : 0;
	for (size_t i = 0; i < count && has_memory; i++) {
		struct sn_path_share *share = path->shares + path->share_count++;
		*share = (struct sn_path_share){sums[i].node, sums[i].value, NAN, NAN};
		if (i >= SN_PATH_SHARES)
			continue;
		share->gain_ns = whole - sn_path_graph_play(graph, sums[i].node, SN_PATH_KINDS, 0.9,
							    starts, ends);
		share->gain_all_ns =
		    whole - sn_path_graph_play(graph, sums[i].node, SN_PATH_KINDS, 0, starts, ends);
	}
	for (unsigned kind = SN_PATH_LAUNCH; kind < SN_PATH_KINDS && has_memory; kind++)
		if (path->kinds_ns[kind] > 0)
			path->kind_gains_ns[kind] =
			    whole - sn_path_graph_play(graph, SONDE_NONE, kind, 0.9, starts, ends);
	free(sums);
	free(starts);
	free(ends);
	return has_memory ? 0 : SN_ERR_MEMORY;
}

static int find_path(const struct sn_answers *answers, struct sn_path_graph *graph,
		     struct sn_critical_path *path)
{
	double *values = calloc(answers->nodes.table.count + 1ull, sizeof(*values));
	int result = values ? sn_path_graph_settle(graph) : SN_ERR_MEMORY;
	if (!result && graph->count) {
		struct walk walk = {.graph = graph, .path = path, .values = values};
		result = sn_path_occupied(answers, graph, &walk.occupied) ?: walk_back(&walk);
		sn_path_occupied_release(&walk.occupied);
		path->length_ns = (double)(graph->activities[graph->last].end_ns - path->start_ns);
		result = result ?: find_shares(answers, graph, values, path) ?:
			 sn_path_find_causes(answers, graph, path);
	}
	free(values);
	return result;
}

int sn_critical_path(const struct sn_answers *answers, struct sn_critical_path *path,
		     struct sn_error *error)
{
	struct windows windows = {.has_process =
				      calloc(answers->processes.count + 1ull, sizeof(bool))};
	struct sn_path_graph graph = {0};
	*path = (struct sn_critical_path){.extent.context = SONDE_NONE};
	int result =
	    windows.has_process ? choose_iteration(answers, &windows, path, error) : SN_ERR_MEMORY;
	if (!result)
		result = choose_all(answers, &windows, path);
	if (result >= 0)
		result = sn_path_build(answers, windows.items, windows.count, &graph, error) ?:
			 sn_path_join_ranks(answers, windows.items, windows.count, &graph) ?:
			 find_path(answers, &graph, path) ?: sn_path_samples(answers, path, error);
	sn_path_graph_release(&graph);
	free(windows.items);
	free(windows.has_process);
	return sn_fail_code(error, result);
}

void sn_critical_path_release(struct sn_critical_path *path)
{
	free(path->shares);
	free(path->steps);
	free(path->sampled);
	*path = (struct sn_critical_path){.length_ns = 0};
}
