/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the parts of the answers in the order of their dependencies. */
#include "answers.h"

#include "base/progress/progress.h"
#include "format/measurement/measurement.h"
#include "timeline/findings/finding_store.h"
#include "track_blocks.h"

static int load_devices(struct sn_answers *answers, struct sn_error *error)
{
	size_t count = answers->times.count;
	answers->waits = calloc(count + 1, sizeof(*answers->waits));
	answers->blames = calloc(count + 1, sizeof(*answers->blames));
	int result = answers->waits && answers->blames ? 0 : SN_ERR_MEMORY;
	for (size_t i = 0; i < count && !result; i++)
		result = sn_waits(answers, i, answers->waits + i, answers->blames + i, error);
	return result;
}

/* ---- calls ---- */

struct calls {
	struct sn_answers *answers;
	struct sn_attributes numbers; /* of iterations: their attributes */
	struct sn_error *error;
};

static int add_calls(void *data, const struct sonde_track *track, struct sonde_event_cursor *cursor,
		     const struct sonde_event_block *block)
{
	struct calls *calls = data;
	struct sn_answers *answers = calls->answers;
	/* intervals on a stream that repeat an annotation show when its kernels ran, and are
	 * not iterations */
	bool is_thread =
	    sonde_db_profile(answers->db, track->profile)->kind == SONDE_PROFILE_THREAD;
	return (is_thread ? sn_iterations_add(&answers->iterations, answers->db, track->profile,
					      cursor, block, &calls->numbers)
			  : 0)
		   ?: sn_launches_add(answers->launches, track->profile, block, calls->error);
}

static bool has_iterations(const struct sonde_db *db)
{
	for (uint32_t i = 0; i < sonde_db_frame_count(db); i++)
		if (sonde_db_frame(db, i)->flags & SN_FRAME_ITERATION)
			return true;
	return false;
}

/* Loads iterations and, if there are devices, the launching calls, in one pass over threads. */
static int load_calls(struct sn_answers *answers, struct sn_error *error)
{
	const struct sonde_trace *trace = answers->trace;
	bool is_brief = !sn_has_devices(answers->db, trace) && !has_iterations(answers->db);
	unsigned flags = is_brief ? SONDE_EVENTS_BRIEF : 0;
	struct sn_event_window window = {0, UINT64_MAX, flags,
					 .reader = sn_event_reader_new(trace)};
	static const struct sn_attribute_wish numbers[] = {SN_ITERATION_NUMBERS};
	struct calls calls = {.answers = answers, .error = error};
	answers->launches = calloc(1, sizeof(*answers->launches));
	if (answers->launches)
		sn_launches_init(answers->launches, 3 * sn_answers_sorting(answers));
	int result = answers->launches
			 ? sn_attributes_init(&calls.numbers, answers->db, trace, numbers,
					      sizeof(numbers) / sizeof(*numbers))
			 : SN_ERR_MEMORY;
	for (uint32_t i = 0; i < sonde_trace_track_count(trace) && !result; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		if (track->kind == SONDE_TRACK_INTERVALS &&
		    sonde_db_profile(answers->db, track->profile)->kind != SONDE_PROFILE_STREAM)
			result = sn_track_blocks(trace, i, &window, add_calls, &calls, error);
	}
	sonde_event_cursor_free(window.reader);
	sn_attributes_release(&calls.numbers);
	return result ?: sn_iterations_settle(&answers->iterations)
		      ?: sn_launches_finish(answers->launches, error);
}

size_t sn_answers_sorting(const struct sn_answers *answers)
{
	return (size_t)((answers->memory_bytes ? answers->memory_bytes : SN_ANSWERS_MEMORY) / 6);
}

static void find_span(struct sn_answers *answers)
{
	answers->start_ns = UINT64_MAX;
	for (uint32_t i = 0; i < sonde_trace_track_count(answers->trace); i++) {
		const struct sonde_track *track = sonde_trace_track(answers->trace, i);
		if (track->start_ns < answers->start_ns)
			answers->start_ns = track->start_ns;
		if (track->end_ns > answers->end_ns)
			answers->end_ns = track->end_ns;
	}
}

static int find_offsets(struct sn_answers *answers)
{
	const struct sn_collectives *collectives = &answers->collectives;
	answers->offsets_ns = calloc(answers->processes.count + 1ull, sizeof(int64_t));
	/* backwards, so that of several participants of a process the first one's offset remains */
	for (size_t i = collectives->participant_count; i-- && answers->offsets_ns;)
		answers->offsets_ns[answers->processes
					.of_profile[collectives->participants[i].profile]] =
		    answers->ranks.sums[i].offset_ns;
	return answers->offsets_ns ? 0 : SN_ERR_MEMORY;
}

static int load_ranks(struct sn_answers *answers, struct sn_error *error)
{
	const struct sn_processes *processes = &answers->processes;
	struct sn_collectives *collectives = &answers->collectives;
	return sn_collectives(processes, &answers->times, collectives, error)
	    ?: sn_ranks(collectives, &answers->ranks, error)
	    ?: find_offsets(answers)
	    ?: sn_message_matching(processes, collectives, &answers->ranks, &answers->messages,
				   error);
}

static uint32_t run_of(const struct sn_answers *answers, uint32_t track)
{
	return sonde_db_profile(answers->db, sonde_trace_track(answers->trace, track)->profile)
	    ->run;
}

static int load_nodes(struct sn_answers *answers, struct sn_error *error)
{
	find_span(answers);
	uint32_t tracks = sonde_trace_track_count(answers->trace);
	for (uint32_t i = 1; i < tracks; i++)
		answers->has_runs |= run_of(answers, i) != run_of(answers, 0);
	return sn_node_map(answers->db, &answers->nodes)
		   ?: sn_processes_init(&answers->processes, answers->db, answers->trace);
}

/* The time from each process's first iteration to its last, of the context with the most
 * iterations; the caller frees it. NULL without memory. */
static struct sn_interval *span_iterations(const struct sn_answers *answers)
{
	struct sn_interval *spans = calloc(answers->processes.count + 1ull, sizeof(*spans));
	size_t first, end;
	sn_iterations_most(&answers->iterations, &first, &end);
	for (size_t i = first; i < end && spans; i++) {
		const struct sn_iteration *one = answers->iterations.items + i;
		struct sn_interval *span = spans + answers->processes.of_profile[one->profile];
		if (!span->end_ns || one->start_ns < span->start_ns)
			span->start_ns = one->start_ns;
		if (one->end_ns > span->end_ns)
			span->end_ns = one->end_ns;
	}
	return spans;
}

/* With launched_only the result is compared with tools that do not know iterations, so
 * all time counts. */
static int load_times(struct sn_answers *answers, struct sn_error *error)
{
	struct sn_interval *items = span_iterations(answers);
	struct sn_device_spans spans = {items, answers->processes.of_profile};
	int result =
	    items ? sn_device_times(answers->db, answers->trace, answers->launched_only,
				    answers->launches, answers->launched_only ? NULL : &spans,
				    sn_answers_sorting(answers), &answers->times, error)
		  : SN_ERR_MEMORY;
	free(items);
	return result ?: sn_processes_set_devices(&answers->processes, &answers->times);
}

/* Stored findings are those of the whole trace, without options. */
static bool are_stored(struct sn_answers *answers)
{
	return !answers->launched_only && !answers->iteration &&
	       sn_findings_load(answers->db, &answers->findings);
}

static int load_findings(struct sn_answers *answers, struct sn_error *error)
{
	return (sn_threads_are_known(answers->trace)
		    ? sn_thread_times(answers->db, answers->trace, &answers->threads, error)
		    : 0)
		   ?: (are_stored(answers) ? 0 : sn_findings(answers, &answers->findings, error));
}

int sn_answers(struct sn_answers *answers, enum sn_answers_part needed, struct sn_error *error)
{
	static int (*const loads[])(struct sn_answers * answers, struct sn_error * error) = {
	    [SN_ANSWERS_NODES] = load_nodes,   [SN_ANSWERS_ITERATIONS] = load_calls,
	    [SN_ANSWERS_DEVICES] = load_times, [SN_ANSWERS_RANKS] = load_ranks,
	    [SN_ANSWERS_WAITS] = load_devices, [SN_ANSWERS_FINDINGS] = load_findings,
	};
	static const char *const steps[] = {
	    [SN_ANSWERS_NODES] = "reading names",
	    [SN_ANSWERS_ITERATIONS] = "finding iterations and launches",
	    [SN_ANSWERS_DEVICES] = "adding up what devices did",
	    [SN_ANSWERS_RANKS] = "comparing ranks",
	    [SN_ANSWERS_WAITS] = "finding what devices waited for",
	    [SN_ANSWERS_FINDINGS] = "finding what limits the program",
	};
	int result = 0;
	for (unsigned part = 0; part <= needed && !result; part++) {
		sn_progress_begin(steps[part], 0);
		result = loads[part](answers, error);
	}
	return sn_fail_code(error, result);
}

void sn_answers_release(struct sn_answers *answers)
{
	for (size_t i = 0; i < answers->times.count; i++) {
		if (answers->waits)
			sn_waits_release(answers->waits + i);
		if (answers->blames)
			sn_blame_release(answers->blames + i);
	}
	free(answers->waits);
	free(answers->blames);
	sn_findings_release(&answers->findings);
	sn_thread_times_release(&answers->threads);
	free(answers->offsets_ns);
	sn_message_matching_release(&answers->messages);
	sn_ranks_release(&answers->ranks);
	sn_collectives_release(&answers->collectives);
	sn_node_map_release(&answers->nodes);
	sn_processes_release(&answers->processes);
	sn_device_times_release(&answers->times);
	sn_iterations_release(&answers->iterations);
	if (answers->launches)
		sn_launches_release(answers->launches);
	free(answers->launches);
}
