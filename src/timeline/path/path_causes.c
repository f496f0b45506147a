/* SPDX-License-Identifier: Apache-2.0 */
/* Sums the steps of a critical path by cause. */
#include "path_causes.h"

#include "base/search.h"
#include "base/text.h"
#include "critical_path.h"
#include "format/measurement/measurement.h"
#include "frame/context_frame.h"
#include "timeline/threads/thread_activity.h"

#include <stdlib.h>

const char *sn_path_cause_name(enum sn_path_cause cause)
{
	static const char *const names[SN_PATH_CAUSES] = {
	    [SN_CAUSE_COMPUTATION] = "computation",
	    [SN_CAUSE_COMMUNICATION] = "communication",
	    [SN_CAUSE_COPIES] = "copies",
	    [SN_CAUSE_LAUNCHING] = "launching",
	    [SN_CAUSE_HOST] = "the host",
	    [SN_CAUSE_WAITING] = "waiting",
	    [SN_CAUSE_RECORDER] = "the profiler itself",
	};
	return names[cause];
}

struct causing {
	const struct sn_answers *answers;
	const struct sn_path_graph *graph;
	struct sn_critical_path *path;
	double *values; /* by cause and frame */
	uint32_t frames;
};

static bool is_collective(const struct sonde_db *db, uint32_t context)
{
	static const char *const names[] = {"MPI_", "mpi:", "gloo:", "nccl:", "c10d::"};
	const char *name = sn_context_name(db, context);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (sn_text_begins(name, names[i]))
			return true;
	return false;
}

static uint64_t count_of(const struct sonde_db *db, uint32_t context, const char *metric,
			 bool is_inclusive)
{
	struct sonde_db_summary summary;
	uint32_t number = sonde_db_metric_by_name(db, metric);
	if (number == SONDE_NONE || !sonde_db_summary(db, context, number, &summary))
		return 0;
	return is_inclusive ? summary.inclusive.count : summary.exclusive.count;
}

uint64_t sn_path_held_up_ns(const struct sonde_db *db, uint32_t context)
{
	/* a node takes 1 to 5 us; of a graph that is recorded as one operation nobody knows them */
	enum { NODE_NS = 10000, GRAPH_NS = 1000000 };
	static const char *const metrics[] = {"kernel-time", "copy-time", "fill-time"};
	uint64_t calls = count_of(db, context, "gpu-api-time", false), operations = 0;
	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
		operations += count_of(db, context, metrics[i], true);
	if (calls && operations > calls)
		return SN_PATH_HELD_UP_NS + (operations / calls - 1) * NODE_NS;
	return count_of(db, context, "graph-time", true) ? GRAPH_NS : SN_PATH_HELD_UP_NS;
}

/* The cause of a thread's step, by its context and length. */
static enum sn_path_cause cause_of_call(const struct sonde_db *db, uint32_t context,
					uint64_t time_ns)
{
	unsigned kind = sn_context_frame(db, context)->kind;
	bool is_call = kind == SN_FRAME_GPU_API;
	if (kind == SN_FRAME_GRAPH_NODE) /* what a device would do runs on a processor */
		return SN_CAUSE_COMPUTATION;
	if (sn_activity_is_recorder(db, context))
		return SN_CAUSE_RECORDER;
	if (sn_activity_is_waiting(db, context) || sn_activity_is_synchronizing(db, context))
		return SN_CAUSE_WAITING;
	if (is_collective(db, context))
		return SN_CAUSE_COMMUNICATION;
	if (time_ns > SN_PATH_HELD_UP_NS && !is_call)
		return SN_CAUSE_HOST;
	if (time_ns > SN_PATH_HELD_UP_NS && time_ns > sn_path_held_up_ns(db, context))
		return SN_CAUSE_WAITING;
	if (sn_activity_is_dispatching(db, context))
		return SN_CAUSE_LAUNCHING;
	return sn_activity_is_asking(db, context) ? SN_CAUSE_WAITING : SN_CAUSE_HOST;
}

static enum sn_path_cause cause_of(const struct sonde_db *db, const struct sn_path_step *step)
{
	switch (step->kind) {
	case SN_PATH_COMPUTE:
		return SN_CAUSE_COMPUTATION;
	case SN_PATH_COMMUNICATION:
		return SN_CAUSE_COMMUNICATION;
	case SN_PATH_COPY:
		return SN_CAUSE_COPIES;
	case SN_PATH_LAUNCH:
		return SN_CAUSE_LAUNCHING;
	case SN_PATH_HELD:
		return SN_CAUSE_WAITING;
	case SN_PATH_THREAD:
		return cause_of_call(db, step->context, step->end_ns - step->start_ns);
	default:
		return SN_CAUSE_HOST;
	}
}

/* A call of the process that covers most of a time in which an operation was held back. */
static uint32_t find_within(const struct causing *causing, const struct sn_path_step *held)
{
	const struct sn_path_graph *graph = causing->graph;
	const uint32_t *process = causing->answers->processes.of_profile;
	uint64_t most = (held->end_ns - held->start_ns) / 2;
	uint32_t found = SONDE_NONE;
	for (size_t i = 0; i < graph->count; i++) {
		const struct sn_path_activity *one = graph->activities + i;
		if (one->kind != SN_PATH_THREAD || one->context == SONDE_NONE ||
		    process[one->profile] != process[held->profile] ||
		    sn_context_frame(causing->answers->db, one->context)->kind != SN_FRAME_GPU_API)
			continue;
		uint64_t within = sn_interval_length_ns(
		    sn_interval_clip(one->start_ns, one->end_ns, held->start_ns, held->end_ns));
		if (within > most) {
			most = within;
			found = one->context;
		}
	}
	return found;
}

static void add_most(struct causing *causing, enum sn_path_cause cause, uint32_t context,
		     double time)
{
	struct sn_path_causes *causes = &causing->path->causes;
	uint32_t frame = sonde_db_context(causing->answers->db, context)->frame;
	double *value = causing->values + (size_t)cause * causing->frames + frame;
	*value += time;
	if (*value <= causes->most_ns[cause])
		return;
	causes->most_ns[cause] = *value;
	causes->most_contexts[cause] = context;
}

static void add_step(struct causing *causing, struct sn_path_step *step)
{
	const struct sonde_db *db = causing->answers->db;
	struct sn_path_causes *causes = &causing->path->causes;
	enum sn_path_cause cause = cause_of(db, step);
	double time = (double)(step->end_ns - step->start_ns);
	struct sn_path_longest *longest = causes->longest + cause;
	causes->time_ns[cause] += time;
	if (step->context != SONDE_NONE)
		add_most(causing, cause, step->context, time);
	if (time <= longest->time_ns)
		return;
	*longest = (struct sn_path_longest){time, step->context, SONDE_NONE};
	if (step->kind == SN_PATH_HELD && time > SN_PATH_HELD_UP_NS)
		longest->within = find_within(causing, step);
}

/* Whether a step continues the one before, because the activity was split where something started
 * from within it. */
static bool continues(const struct sn_path_step *before, const struct sn_path_step *step)
{
	return before->context == step->context && before->profile == step->profile &&
	       before->kind == step->kind && before->end_ns == step->start_ns &&
	       step->kind == SN_PATH_THREAD;
}

/* Counts the launches by threads while they are on the path. */
static void count_launches(struct causing *causing)
{
	const struct sn_critical_path *path = causing->path;
	const struct sn_path_graph *graph = causing->graph;
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct sn_path_edge *edge = graph->edges + i;
		const struct sn_path_activity *call = graph->activities + edge->from;
		if (edge->kind != SN_PATH_LAUNCH || call->kind != SN_PATH_THREAD)
			continue;
		size_t at = sn_search(k, path->step_count, path->steps[k].end_ns <= call->start_ns);
		causing->path->causes.launch_count += at < path->step_count &&
						      path->steps[at].start_ns <= call->start_ns &&
						      path->steps[at].profile == call->profile;
	}
}

int sn_path_find_causes(const struct sn_answers *answers, const struct sn_path_graph *graph,
			struct sn_critical_path *path)
{
	struct causing causing = {answers, graph, path, NULL, sonde_db_frame_count(answers->db)};
	causing.values = calloc(SN_PATH_CAUSES * (causing.frames + 1ull), sizeof(double));
	if (!causing.values)
		return SN_ERR_MEMORY;
	for (unsigned cause = 0; cause < SN_PATH_CAUSES; cause++)
		path->causes.most_contexts[cause] = SONDE_NONE;
	for (size_t i = 0, next; i < path->step_count; i = next) {
		struct sn_path_step step = path->steps[i];
		for (next = i + 1; next < path->step_count && continues(&step, path->steps + next);
		     next++)
			step.end_ns = path->steps[next].end_ns;
		add_step(&causing, &step);
	}
	count_launches(&causing);
	free(causing.values);
	return 0;
}
