/* SPDX-License-Identifier: Apache-2.0 */
/* Properties and drops; see provenance.h. */
#include "provenance.h"

#include "base/sort.h"
#include "base/text.h"
#include "base/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How many different answers are spelled out. */
#define ANSWERS_MAX 4

/* Drops that leave out a part of the program, not just some samples of it. */
static const char *const gap_causes[] = {"confined", "stopped", "thread-unmeasured",
					 "sample-memory", "metric-overflow"};

/* Keys taken from the first process, as they are. */
static const char *const first_keys[] = {
    "command", "program", "host", "cwd", "pid", "ppid", "rank", "exit", "start_realtime_ns",
};
/* Keys that are computed from all processes, or mean nothing afterwards. */
static const char *const other_keys[] = {
    "version", "duration_ns", "start_monotonic_ns", "peak_bytes",      "threads",
    "began",   "executed",    "process_cpu_ns",	    "children_cpu_ns", "resident_bytes",
};

void sn_provenance_init(struct sn_provenance *provenance)
{
	*provenance = (struct sn_provenance){.start_ns = UINT64_MAX};
}

void sn_provenance_release(struct sn_provenance *provenance)
{
	free((char *)(uintptr_t)provenance->first.process);
	sn_intern_release(&provenance->answers);
	free(provenance->answer_counts);
	sn_intern_release(&provenance->programs);
	sn_intern_release(&provenance->processes_seen);
	free(provenance->program_cpu_ns);
	sn_missing_release(&provenance->missing);
}

/* Of a property its key. */
static bool is_one_of(const char *property, const char *const *keys, size_t count)
{
	size_t length = strcspn(property, "=");
	for (size_t i = 0; i < count; i++)
		if (strlen(keys[i]) == length && !memcmp(keys[i], property, length))
			return true;
	return false;
}
#define IS_ONE_OF(property, keys) is_one_of(property, keys, sizeof(keys) / sizeof(*(keys)))

static const char *text(const struct sn_measurement *measurement, const char *key)
{
	const char *value = sn_measurement_property(measurement, key);
	return value ? value : "";
}

/* By rank, start, host, process. */
static bool comes_before(const struct sn_measurement *left, const struct sn_measurement *right)
{
	const char *left_rank = text(left, "rank"), *right_rank = text(right, "rank");
	long left_number = *left_rank ? atol(left_rank) : -1;
	long right_number = *right_rank ? atol(right_rank) : -1;
	uint64_t left_start = sn_measurement_number(left, "start_realtime_ns");
	uint64_t right_start = sn_measurement_number(right, "start_realtime_ns");
	int order = SN_ORDER(left_number, right_number) ?: SN_ORDER(left_start, right_start)
			?: strcmp(text(left, "host"), text(right, "host"))
			?: SN_ORDER(sn_measurement_number(left, "pid"),
				    sn_measurement_number(right, "pid"));
	return order < 0;
}

/* Processes before traces. */
static int keep_first(struct sn_provenance *provenance, const struct sn_measurement *measurement)
{
	struct sn_measurement *first = &provenance->first;
	if (first->process &&
	    (measurement->is_trace != first->is_trace ? measurement->is_trace
						      : !comes_before(measurement, first)))
		return 0;
	char *process = malloc(measurement->process_bytes + 1);
	if (!process)
		return SN_ERR_MEMORY;
	if (measurement->process_bytes)
		memcpy(process, measurement->process, measurement->process_bytes);
	free((char *)(uintptr_t)first->process);
	*first = (struct sn_measurement){.process = process,
					 .process_bytes = measurement->process_bytes,
					 .is_trace = measurement->is_trace};
	return 0;
}

static int add_answers(struct sn_provenance *provenance, const struct sn_measurement *measurement)
{
	const char *property = NULL;
	while ((property = sn_measurement_next_property(measurement, property))) {
		if (!strchr(property, '=') || IS_ONE_OF(property, first_keys) ||
		    IS_ONE_OF(property, other_keys))
			continue;
		uint32_t answer =
		    sn_intern_add(&provenance->answers, property, strlen(property) + 1);
		if (answer == SN_INTERN_NONE ||
		    sn_vec_reserve_zeroed(&provenance->answer_counts, &provenance->answer_capacity,
					  answer + 1ull) < 0)
			return SN_ERR_MEMORY;
		provenance->answer_counts[answer]++;
	}
	return 0;
}

const char *sn_provenance_drop_text(const char *cause)
{
	static const char *const causes[][2] = {
#define SN_DROP(id, name, text) {name, text},
#include "collect/core/errors.def"
#undef SN_DROP
	};
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		if (!strcmp(causes[i][0], cause))
			return causes[i][1];
	return "a cause that this version of Sonde does not know";
}

/* Whether they are gaps. */
static bool add_drops(const struct sn_measurement *measurement, struct sn_db_builder *builder)
{
	bool has_gap = false;
	for (uint32_t i = 0; i < measurement->drop_count; i++) {
		const struct sn_drop_record *record = measurement->drops + i;
		size_t length;
		const char *cause =
		    sn_measurement_string(&measurement->strings, record->cause, &length);
		char name[128];
		if (!cause || !record->count)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(length < 127 ? length : 127), cause);
		sn_db_builder_drop(builder, name, sn_provenance_drop_text(name), record->count);
		has_gap |= IS_ONE_OF(name, gap_causes);
	}
	return has_gap;
}

struct sn_process_totals sn_process_totals(const struct sn_measurement *measurement,
					   struct sn_db_builder *builder)
{
	struct sn_process_totals totals = {.threads = measurement->thread_count,
					   .has_gap = add_drops(measurement, builder)};
	for (uint32_t i = 0; i < measurement->thread_count; i++) {
		const struct sn_thread_record *record = measurement->threads[i].record;
		totals.cpu_ns += record->cpu_ns;
		totals.own_ns += record->own_ns;
		totals.samples += record->samples;
	}
	return totals;
}

/* A process is measured once for each program it executes: it counts once, for all of them. */
static int add_program(struct sn_provenance *provenance, const struct sn_measurement *measurement,
		       uint64_t cpu_ns)
{
	char process[512];
	int length = snprintf(process, sizeof(process), "%s %s", text(measurement, "pid"),
			      text(measurement, "host"));
	const char *name = sn_text_base_name(text(measurement, "program"));
	uint32_t number = sn_intern_add(&provenance->programs, name, strlen(name) + 1);
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve_zeroed(&provenance->program_cpu_ns, &provenance->program_capacity,
				  number + 1ull) < 0 ||
	    sn_intern_add(&provenance->processes_seen, process,
			  length < (int)sizeof(process) ? (size_t)length : sizeof(process)) ==
		SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	provenance->program_cpu_ns[number] += cpu_ns;
	return 0;
}

int sn_provenance_add(struct sn_provenance *provenance, const struct sn_measurement *measurement,
		      const struct sn_process_totals *totals, uint32_t run)
{
	provenance->with_gaps += totals->has_gap;
	if (measurement->is_trace) /* tells of processes, but is none */
		return keep_first(provenance, measurement);
	provenance->processes++;
	provenance->unfinished += !measurement->is_final;
	/* a record may stand for several */
	uint64_t met = sn_measurement_number(measurement, "threads");
	provenance->threads += met > totals->threads ? met : totals->threads;
	provenance->own_ns += totals->own_ns;
	provenance->samples += totals->samples;
	uint64_t peak = sn_measurement_number(measurement, "peak_bytes");
	uint64_t start = sn_measurement_number(measurement, "start_realtime_ns");
	uint64_t end = start + sn_measurement_number(measurement, "duration_ns");
	if (peak > provenance->peak_bytes)
		provenance->peak_bytes = peak;
	if (start < provenance->start_ns)
		provenance->start_ns = start;
	if (end > provenance->end_ns)
		provenance->end_ns = end;
	int result = keep_first(provenance, measurement);
	if (!result)
		result = sn_missing_add(&provenance->missing, measurement, run);
	if (!result)
		result = add_program(provenance, measurement, totals->cpu_ns);
	return result ? result : add_answers(provenance, measurement);
}

static void put_start(struct sn_db_builder *builder, uint64_t start_ns)
{
	char date[64];
	time_t seconds = (time_t)(start_ns / 1000000000u);
	struct tm calendar;
	if (gmtime_r(&seconds, &calendar) &&
	    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &calendar))
		sn_db_builder_property(builder, "start", date);
}

static void put_first(const struct sn_provenance *provenance, struct sn_db_builder *builder)
{
	for (size_t i = 0; i < sizeof(first_keys) / sizeof(*first_keys); i++) {
		const char *value = sn_measurement_property(&provenance->first, first_keys[i]);
		if (value)
			sn_db_builder_property(builder, first_keys[i], value);
	}
	const char *version = sn_measurement_property(&provenance->first, "version");
	sn_db_builder_property(builder, "sonde.version", version ? version : "");
}

/* The first process is often a shell or a shim; what the user means is what used the processor. */
static uint32_t main_program(const struct sn_provenance *provenance)
{
	uint32_t best = 0;
	for (uint32_t i = 1; i < provenance->programs.count; i++) {
		uint64_t cpu_ns = provenance->program_cpu_ns[i];
		uint64_t best_ns = provenance->program_cpu_ns[best];
		if (cpu_ns > best_ns ||
		    (cpu_ns == best_ns &&
		     strcmp(sn_intern_at(&provenance->programs, i, NULL),
			    sn_intern_at(&provenance->programs, best, NULL)) < 0))
			best = i;
	}
	return best;
}

static int name_root(const struct sn_provenance *provenance, struct sn_db_builder *builder)
{
	char *name;
	const char *program =
	    provenance->programs.count
		? sn_intern_at(&provenance->programs, main_program(provenance), NULL)
		: sn_text_base_name(text(&provenance->first, "program"));
	uint32_t processes = provenance->processes_seen.count;
	uint32_t others = processes ? processes - 1 : 0;
	int length;
	if (!others)
		length = asprintf(&name, "%s", program);
	else if (provenance->programs.count == 1)
		length = asprintf(&name, "%s, %u processes", program, processes);
	else
		length =
		    asprintf(&name, "%s and %u other%s", program, others, others > 1 ? "s" : "");
	if (length < 0)
		return SN_ERR_MEMORY;
	sn_db_builder_set_root(builder, sn_db_builder_named_frame(builder, SN_FRAME_THREAD, name));
	free(name);
	return 0;
}

/* Why not every process was measured to its end, for people; NULL where all were. */
static const char *why_incomplete(const struct sn_provenance *provenance,
				  const struct sn_missing_found *found)
{
	if (provenance->missing.unreadable)
		return "a process's measurement cannot be read";
	if (provenance->unfinished)
		return "a process was killed or still ran; its data reach to its last checkpoint";
	if (provenance->with_gaps || found->missing)
		return "a part of the program was not measured: the drops say which";
	return NULL;
}

/* Processes without a measurement are drops as well, although no measurement counts them. */
static void put_missing(const struct sn_missing_found *found, struct sn_db_builder *builder)
{
	const struct {
		const char *cause;
		uint64_t count;
	} drops[] = {{"process-unwritable", found->unwritable},
		     {"process-unseen", found->unseen},
		     {"program-unmeasured", found->unmeasured_programs},
		     {"process-unknown", found->unknown}};
	for (size_t i = 0; i < sizeof(drops) / sizeof(*drops); i++)
		if (drops[i].count)
			sn_db_builder_drop(builder, drops[i].cause,
					   sn_provenance_drop_text(drops[i].cause), drops[i].count);
	if (!found->missing)
		return;
	sn_db_builder_property_number(builder, "missing.processes", found->missing);
	sn_db_builder_property_number(builder, "missing.of_processes", found->processes);
	sn_db_builder_property_number(builder, "missing.cpu_ns", found->missing_cpu_ns);
	sn_db_builder_property_number(builder, "missing.of_cpu_ns", found->cpu_ns);
}

struct answer {
	const char *property;
	uint32_t count;
};

/* By key, then the more frequent ones first, then by text. */
static int compare_answers(const void *left, const void *right)
{
	const struct answer *a = left, *b = right;
	size_t a_length = strcspn(a->property, "="), b_length = strcspn(b->property, "=");
	size_t common = a_length < b_length ? a_length : b_length;
	return memcmp(a->property, b->property, common) ?: SN_ORDER(a_length, b_length)
		   ?: SN_ORDER(b->count, a->count) ?: strcmp(a->property, b->property);
}

/* Answers to one key: the one all processes gave, or the most frequent ones with their numbers. */
static int put_answers(const struct answer *answers, size_t count, uint64_t processes,
		       struct sn_db_builder *builder)
{
	size_t key_length = strcspn(answers->property, "=");
	char *key = strndup(answers->property, key_length);
	char *value = NULL;
	size_t size;
	FILE *stream = key ? open_memstream(&value, &size) : NULL;
	if (!stream) {
		free(key);
		return SN_ERR_MEMORY;
	}
	for (size_t i = 0; i < count && i < ANSWERS_MAX; i++) {
		fprintf(stream, "%s%s", i ? "; " : "", answers[i].property + key_length + 1);
		if (answers[i].count != processes)
			fprintf(stream, " (%u of %" PRIu64 " processes)", answers[i].count,
				processes);
	}
	if (count > ANSWERS_MAX)
		fprintf(stream, "; and %zu others", count - ANSWERS_MAX);
	int result = fclose(stream) ? SN_ERR_MEMORY : 0;
	if (!result)
		sn_db_builder_property(builder, key, value);
	free(key);
	free(value);
	return result;
}

static int put_all_answers(const struct sn_provenance *provenance, struct sn_db_builder *builder)
{
	size_t count = provenance->answers.count;
	struct answer *answers = malloc((count + 1) * sizeof(*answers));
	if (!answers)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		answers[i] = (struct answer){sn_intern_at(&provenance->answers, i, NULL),
					     provenance->answer_counts[i]};
	qsort(answers, count, sizeof(*answers), compare_answers);
	int result = 0;
	for (size_t i = 0, next; i < count && !result; i = next) {
		size_t length = strcspn(answers[i].property, "=") + 1;
		for (next = i + 1; next < count; next++)
			if (strncmp(answers[i].property, answers[next].property, length))
				break;
		result = put_answers(answers + i, next - i, provenance->processes, builder);
	}
	free(answers);
	return result;
}

int sn_provenance_finish(struct sn_provenance *provenance, struct sn_db_builder *builder)
{
	struct sn_missing_found found;
	if (sn_missing_find(&provenance->missing, &found))
		return SN_ERR_MEMORY;
	const char *incomplete = why_incomplete(provenance, &found);
	/* only a trace: of a program that cannot be measured otherwise */
	bool has_process = provenance->start_ns <= provenance->end_ns;
	uint64_t start_ns = has_process
				? provenance->start_ns
				: sn_measurement_number(&provenance->first, "start_realtime_ns");
	sn_db_builder_property_number(builder, "processes",
				      provenance->processes ? provenance->processes : 1);
	sn_db_builder_property_number(builder, "processes.unreadable",
				      provenance->missing.unreadable);
	sn_db_builder_property_number(builder, "processes.unfinished", provenance->unfinished);
	sn_db_builder_property_number(builder, "threads", provenance->threads);
	sn_db_builder_property_number(builder, "samples", provenance->samples);
	sn_db_builder_property_number(builder, "own_ns", provenance->own_ns);
	sn_db_builder_property_number(builder, "peak_bytes", provenance->peak_bytes);
	sn_db_builder_property_number(builder, "duration_ns",
				      has_process ? provenance->end_ns - start_ns : 0);
	sn_db_builder_property(builder, "complete", incomplete ? "false" : "true");
	if (incomplete)
		sn_db_builder_property(builder, "incomplete", incomplete);
	put_missing(&found, builder);
	put_start(builder, start_ns);
	put_first(provenance, builder);
	int result = name_root(provenance, builder);
	return result ? result : put_all_answers(provenance, builder);
}
