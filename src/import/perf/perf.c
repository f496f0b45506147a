/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importer of perf.data, what `perf record` writes. A sample's value is its period, under the name
 * of its event; samples of a thread make its line of the trace, tracepoints are instants with the
 * fields that the file itself describes.
 *
 * The file is read twice: mappings of memory first, because records of different processors come
 * out of order.
 */
#include "perf.h"

#include "aggregate/unify/expand.h"
#include "base/vec.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SORTER_BYTES (128u << 20)
#define JOBS_MAX     16

uint64_t sn_perf_time(const struct sn_perf *perf, uint64_t time_ns)
{
	return time_ns + (uint64_t)perf->file->epoch_ns;
}

uint32_t sn_perf_line(struct sn_perf *perf, uint32_t is_processor, uint32_t pid, uint32_t tid)
{
	struct sn_perf_who who = {perf->run, is_processor, pid, tid};
	uint32_t before = perf->whos.count;
	uint32_t number = sn_intern_add(&perf->whos, &who, sizeof(who));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&perf->lines, &perf->line_capacity, number + 1ull) < 0)
		return SN_INTERN_NONE;
	if (number == before)
		perf->lines[number] = (struct sn_perf_line){
		    .start_ns = UINT64_MAX, .name = SONDE_NONE, .profile = SONDE_NONE};
	return number;
}

void sn_perf_line_touch(struct sn_perf *perf, uint32_t line, uint64_t time_ns)
{
	struct sn_perf_line *found = perf->lines + line;
	uint64_t time = sn_perf_time(perf, time_ns);
	found->start_ns = time < found->start_ns ? time : found->start_ns;
	found->end_ns = time > found->end_ns ? time : found->end_ns;
	perf->start_ns = time < perf->start_ns ? time : perf->start_ns;
	perf->end_ns = time > perf->end_ns ? time : perf->end_ns;
}

int sn_perf_value(struct sn_perf *perf, uint32_t line, uint32_t node, uint32_t metric, double value)
{
	struct sn_merge *merge = &perf->merge;
	uint32_t key[3] = {line, node, metric};
	uint32_t number = sn_intern_add(&perf->value_keys, key, sizeof(key));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&merge->values, &merge->value_capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (number == merge->value_count) /* the profile is made later */
		merge->values[merge->value_count++] =
		    (struct sn_merged_value){line, metric, node, {0}};
	struct sonde_db_stat one = {1, value, value, value, value * value};
	sonde_db_stat_merge(&merge->values[number].stat, &one);
	return 0;
}

/* ---- threads ---- */

static int note_thread(struct sn_perf *perf, uint32_t pid, uint32_t tid)
{
	uint32_t before = perf->tids.count;
	uint32_t number = sn_intern_add(&perf->tids, &tid, sizeof(tid));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&perf->pids, &perf->pid_capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (number == before || perf->pids[number] == UINT32_MAX)
		perf->pids[number] = pid;
	return 0;
}

/* COMM: u32 pid, tid; the name. */
static int take_name(struct sn_perf *perf, const struct sn_perf_raw *record)
{
	uint32_t ids[2];
	if (record->length <= sizeof(ids))
		return 0;
	memcpy(ids, record->bytes, sizeof(ids));
	const char *text = (const char *)record->bytes + sizeof(ids);
	uint32_t line = sn_perf_line(perf, 0, ids[0], ids[1]);
	if (line == SN_INTERN_NONE || note_thread(perf, ids[0], ids[1]))
		return SN_ERR_MEMORY;
	perf->lines[line].name = sn_db_builder_string_n(
	    perf->builder, text, strnlen(text, record->length - sizeof(ids)));
	return 0;
}

/* FORK: u32 pid, ppid, tid, ptid. A new thread is called as the one that made it. */
static int take_fork(struct sn_perf *perf, const struct sn_perf_raw *record)
{
	uint32_t ids[4];
	if (record->length < sizeof(ids))
		return 0;
	memcpy(ids, record->bytes, sizeof(ids));
	uint32_t parent = sn_perf_line(perf, 0, ids[1], ids[3]);
	uint32_t name = parent == SN_INTERN_NONE ? SONDE_NONE : perf->lines[parent].name;
	uint32_t line = sn_perf_line(perf, 0, ids[0], ids[2]);
	if (line == SN_INTERN_NONE || note_thread(perf, ids[0], ids[2]))
		return SN_ERR_MEMORY;
	if (perf->lines[line].name == SONDE_NONE)
		perf->lines[line].name = name;
	return 0;
}

/* The first reading: who there is, and what lay where. */
static int take_space(void *context, const struct sn_perf_raw *record)
{
	struct sn_perf *perf = context;
	struct sn_perf_sample id;
	int result = 0;
	perf->order++;
	if (record->header.type == PERF_RECORD_SAMPLE || record->header.type >= PERF_RECORD_MAX)
		return 0;
	sn_perf_sample_id(perf->file, record, &id);
	if (record->header.type == PERF_RECORD_COMM)
		result = take_name(perf, record);
	else if (record->header.type == PERF_RECORD_FORK)
		result = take_fork(perf, record);
	return result ? result
		      : sn_perf_space_take(&perf->space, record,
					   (struct sn_perf_moment){id.time_ns, perf->order});
}

/* ---- samples ---- */

static bool is_time(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
						    attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

static uint32_t metric_of(struct sn_perf *perf, uint32_t event)
{
	const struct sn_perf_event *found = perf->file->events + event;
	if (perf->metrics[event] != SONDE_NONE)
		return perf->metrics[event];
	struct sonde_db_metric metric = {
	    .name = sn_db_builder_string(perf->builder, found->name),
	    .unit = sn_db_builder_string(perf->builder, is_time(&found->attr) ? "ns" : "1"),
	    .source = sn_db_builder_string(perf->builder, "perf"),
	    .kind = is_time(&found->attr) ? SN_METRIC_TIME : SN_METRIC_COUNT,
	    .period = found->attr.freq ? 0 : found->attr.sample_period,
	};
	return perf->metrics[event] = sn_db_builder_metric(perf->builder, &metric);
}

#define ATTRIBUTES_MAX (SN_TRACEPOINT_FIELDS + 3)

struct attributes {
	struct sn_attribute items[ATTRIBUTES_MAX];
	uint16_t count;
};

static void put(struct attributes *attributes, uint32_t key, uint64_t value)
{
	if (attributes->count < ATTRIBUTES_MAX)
		attributes->items[attributes->count++] = (struct sn_attribute){key, 0, value};
}

static void put_fields(struct sn_perf *perf, const struct sn_perf_tracepoint *tracepoint,
		       const struct sn_perf_sample *sample, struct attributes *attributes)
{
	const unsigned char *raw = sample->raw.bytes;
	for (size_t i = 0; i < tracepoint->format.field_count; i++) {
		const struct sn_tracepoint_field *field = tracepoint->format.fields + i;
		enum sonde_attribute_type type = field->is_text	    ? SONDE_ATTRIBUTE_STRING
						 : field->is_signed ? SONDE_ATTRIBUTE_SIGNED
								    : SONDE_ATTRIBUTE_UNSIGNED;
		bool is_number = !field->is_elsewhere && field->bytes <= sizeof(uint64_t);
		if (!strncmp(field->name, "common_", 7) || !(field->is_text || is_number) ||
		    !sn_tracepoint_holds(field, sample->raw.length))
			continue; /* what all have; arrays of numbers */
		size_t length;
		const char *text;
		uint64_t value;
		if (field->is_text) {
			text = sn_tracepoint_text(field, raw, sample->raw.length, &length);
			value = sn_db_builder_string_n(perf->builder, text, length);
		} else {
			value = (uint64_t)sn_tracepoint_number(field, raw, sample->raw.length);
		}
		uint32_t name = sn_db_builder_string(perf->builder, field->name);
		put(attributes, sn_trace_writer_key(perf->writer, name, SONDE_NONE, type), value);
	}
}

/* The event of a sample: where its thread was, or for a tracepoint what happened there. */
static int add_event(struct sn_perf *perf, const struct sn_perf_sample *sample, uint32_t line,
		     uint32_t node)
{
	const struct sn_perf_event *of = perf->file->events + sample->event;
	struct attributes attributes;
	attributes.count = 0;
	bool is_tracepoint = of->attr.type == PERF_TYPE_TRACEPOINT;
	if (sample->has_cpu)
		put(&attributes, perf->key_cpu, sample->cpu);
	if (is_tracepoint) {
		const struct sn_perf_tracepoint *tracepoint =
		    sn_perf_tracepoint_find(&perf->tracepoints, of->attr.config);
		node = sn_perf_named_node(perf, node, SN_FRAME_OS, of->name);
		if (tracepoint && sample->raw.bytes) {
			put_fields(perf, tracepoint, sample, &attributes);
			if (sn_perf_state_sample(perf, tracepoint, sample))
				return SN_ERR_MEMORY;
		}
	} else if (perf->file->event_count > 1) {
		put(&attributes, perf->key_event, perf->event_names[sample->event]);
		put(&attributes, perf->key_period, sample->period);
	}
	struct sn_event event = {
	    .start_ns = sn_perf_time(perf, sample->time_ns),
	    .end_ns = sn_perf_time(perf, sample->time_ns),
	    .profile = line,
	    .context = node,
	    .metric = SONDE_NONE,
	    .kind = is_tracepoint ? SONDE_TRACK_INSTANTS : SONDE_TRACK_SAMPLES,
	    .attribute_count = attributes.count,
	    .attributes = attributes.items,
	};
	if (node == SN_NODE_NONE)
		return SN_ERR_MEMORY;
	sn_sorter_add(perf->events, &event);
	return 0;
}

static int take_value(struct sn_perf *perf, const struct sn_perf_sample *sample, uint32_t line,
		      uint32_t node)
{
	perf->lines[line].sample_count++;
	if (sn_perf_value(perf, line, node, metric_of(perf, sample->event), (double)sample->period))
		return SN_ERR_MEMORY;
	return sample->has_time ? add_event(perf, sample, line, node) : 0;
}

/* Makes of a sample that of an event that was read with it: what it counted since then. A copy of
 * a thread's parent counts by itself. */
static int make_count(struct sn_perf *perf, uint64_t number, struct sn_perf_sample *sample)
{
	uint64_t count[2];
	memcpy(count, sample->counts + 8 * number * sample->count_words, sizeof(count));
	uint32_t event = sn_perf_file_event(perf->file, count[1]);
	sample->period = 0;
	if (event >= perf->file->event_count)
		return 0;
	if (event != sample->event)
		sample->raw = (struct sn_perf_bytes){NULL, 0};
	sample->event = event;
	uint64_t key[2] = {count[1], perf->file->events[event].attr.inherit ? sample->tid : 0};
	uint32_t before = perf->counts.count;
	uint32_t at = sn_intern_add(&perf->counts, key, sizeof(key));
	if (at == SN_INTERN_NONE ||
	    sn_vec_reserve(&perf->last_counts, &perf->count_capacity, at + 1ull) < 0)
		return SN_ERR_MEMORY;
	sample->period = count[0] - (at == before ? 0 : perf->last_counts[at]);
	perf->last_counts[at] = count[0];
	return 0;
}

/* Only the first event of a group ({cycles,instructions}:S) interrupts; the others are read. */
static int take_group(struct sn_perf *perf, const struct sn_perf_sample *sample, uint32_t line,
		      uint32_t node)
{
	int result = 0;
	for (uint64_t i = 0; i < sample->count_count && !result; i++) {
		struct sn_perf_sample one = *sample;
		result = make_count(perf, i, &one);
		if (!result && one.period)
			result = take_value(perf, &one, line, node);
	}
	return result;
}

static int take_sample(struct sn_perf *perf, const struct sn_perf_raw *record)
{
	struct sn_perf_sample sample;
	if (!sn_perf_sample_read(perf->file, record, &sample)) {
		perf->damaged++;
		return 0;
	}
	uint32_t line = sn_perf_line(perf, 0, sample.pid, sample.tid);
	uint32_t node = sn_perf_path(perf, record, &sample);
	if (line == SN_INTERN_NONE || node == SN_NODE_NONE ||
	    note_thread(perf, sample.pid, sample.tid))
		return SN_ERR_MEMORY;
	if (sample.has_time)
		sn_perf_line_touch(perf, line, sample.time_ns);
	return sample.counts ? take_group(perf, &sample, line, node)
			     : take_value(perf, &sample, line, node);
}

/* LOST: u64 id, count; LOST_SAMPLES: u64 count. */
static void take_lost(struct sn_perf *perf, const struct sn_perf_raw *record)
{
	bool is_samples = record->header.type == PERF_RECORD_LOST_SAMPLES;
	uint64_t count = 0;
	size_t at = is_samples ? 0 : 8;
	if (record->length >= at + 8)
		memcpy(&count, record->bytes + at, 8);
	*(is_samples ? &perf->lost_samples : &perf->lost) += count;
}

static int take_switch(struct sn_perf *perf, const struct sn_perf_raw *record)
{
	struct sn_perf_sample id;
	sn_perf_sample_id(perf->file, record, &id);
	return sn_perf_state_switch(perf, record, &id);
}

/* The second reading. */
static int take(void *context, const struct sn_perf_raw *record)
{
	struct sn_perf *perf = context;
	perf->order++;
	switch (record->header.type) {
	case PERF_RECORD_SAMPLE:
		return take_sample(perf, record);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		take_lost(perf, record);
		return 0;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return take_switch(perf, record);
	case PERF_RECORD_AUX:
	case SN_PERF_AUXTRACE:
		perf->unread++;
		return 0;
	default:
		return 0;
	}
}

/* ---- files ---- */

static int prepare(struct sn_perf *perf, struct sn_error *error)
{
	const struct sn_perf_file *file = perf->file;
	size_t count = file->event_count;
	perf->metrics = malloc((count + 1) * sizeof(*perf->metrics));
	perf->event_names = malloc((count + 1) * sizeof(*perf->event_names));
	perf->scheduler = sn_sorter_new(SORTER_BYTES / 4, NULL);
	perf->has_switches = false;
	perf->order = 0;
	if (!perf->metrics || !perf->event_names || !perf->scheduler ||
	    sn_perf_tracepoints_read(&perf->tracepoints, file))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < count; i++) {
		perf->metrics[i] = SONDE_NONE;
		perf->event_names[i] = sn_db_builder_string(perf->builder, file->events[i].name);
		perf->has_switches |= !strcmp(file->events[i].name, "sched:sched_switch");
	}
	sn_perf_space_init(&perf->space, &perf->merge, file);
	if (file->host)
		perf->host = sn_db_builder_string(perf->builder, file->host);
	return 0;
}

static void put_property(struct sn_perf *perf, const char *key, const char *value)
{
	if (value && *value)
		sn_db_builder_property(perf->builder, key, value);
}

static void name_file(struct sn_perf *perf, size_t path_count)
{
	const struct sn_perf_file *file = perf->file;
	const char *slash = strrchr(file->path, '/');
	char key[32];
	put_property(perf, "command", file->command);
	put_property(perf, "host", file->host);
	put_property(perf, "perf.version", file->version);
	put_property(perf, "perf.kernel", file->release);
	put_property(perf, "perf.processor", file->processor);
	snprintf(key, sizeof(key), "run.%u", perf->run);
	if (path_count > 1)
		put_property(perf, key, slash ? slash + 1 : file->path);
}

/* The program of a thread is what its process's first thread is called. */
static uint32_t program_of(struct sn_perf *perf, uint32_t pid)
{
	struct sn_perf_who who = {perf->run, 0, pid, pid};
	uint32_t line = sn_intern_find(&perf->whos, &who, sizeof(who));
	uint32_t name = line == SN_INTERN_NONE ? SONDE_NONE : perf->lines[line].name;
	return name == SONDE_NONE ? sn_db_builder_string(perf->builder, "perf") : name;
}

/* Lines that only have a name were running when perf began, and are of no interest. */
static void make_profiles(struct sn_perf *perf, uint32_t first)
{
	for (uint32_t i = first; i < perf->whos.count; i++) {
		struct sn_perf_line *line = perf->lines + i;
		struct sn_perf_who who;
		char name[32];
		memcpy(&who, sn_intern_at(&perf->whos, i, NULL), sizeof(who));
		bool has_time = line->start_ns != UINT64_MAX;
		if (!has_time && !line->sample_count)
			continue;
		snprintf(name, sizeof(name), "CPU %u", who.tid);
		struct sonde_db_profile profile = {
		    .host = perf->host,
		    .program = who.is_processor ? sn_db_builder_string(perf->builder, "kernel")
						: program_of(perf, who.pid),
		    .thread =
			who.is_processor ? sn_db_builder_string(perf->builder, name) : line->name,
		    .rank = -1,
		    .kind = who.is_processor ? SONDE_PROFILE_PROCESSOR : SONDE_PROFILE_THREAD,
		    .pid = who.pid,
		    .tid = who.tid,
		    .device = SONDE_NONE,
		    .device_context = SONDE_NONE,
		    .stream = SONDE_NONE,
		    .start_ns = has_time ? line->start_ns : 0,
		    .end_ns = line->end_ns,
		    .samples = line->sample_count,
		    .run = who.run,
		};
		line->profile = sn_db_builder_profile(perf->builder, &profile);
	}
}

static void close_file(struct sn_perf *perf, struct sn_perf_file *file)
{
	sn_perf_space_release(&perf->space);
	sn_perf_kernel_release(&perf->kernel);
	sn_perf_tracepoints_release(&perf->tracepoints);
	sn_sorter_free(perf->scheduler);
	perf->scheduler = NULL;
	sn_intern_release(&perf->tids);
	sn_intern_release(&perf->counts);
	free(perf->metrics);
	free(perf->event_names);
	perf->metrics = perf->event_names = NULL;
	perf->kernel = (struct sn_perf_kernel){0};
	perf->tracepoints = (struct sn_perf_tracepoints){0};
	perf->space = (struct sn_perf_space){0};
	sn_perf_file_close(file);
}

static int read_records(struct sn_perf *perf, struct sn_error *error)
{
	bool is_cut;
	int result = sn_perf_file_each(perf->file, &is_cut, take_space, perf, error);
	sn_perf_space_sort(&perf->space);
	if (!result && sn_perf_kernel_load(&perf->kernel, &perf->space))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	perf->order = 0;
	if (!result)
		result = sn_perf_file_each(perf->file, &is_cut, take, perf, error);
	perf->cut += !result && is_cut;
	return result ? result : sn_perf_state_finish(perf, error);
}

static int read_file(struct sn_perf *perf, const char *path, size_t path_count,
		     struct sn_error *error)
{
	struct sn_perf_file file;
	uint32_t first = perf->whos.count;
	int result = sn_perf_file_open(&file, path, error);
	perf->file = &file;
	if (!result)
		result = prepare(perf, error);
	if (!result)
		result = read_records(perf, error);
	if (!result) {
		name_file(perf, path_count);
		make_profiles(perf, first);
	}
	close_file(perf, &file);
	perf->run++;
	return result;
}

/* ---- the whole ---- */

static int resolve(struct sn_perf *perf, struct sn_error *error)
{
	struct sn_symbolizer *symbolizer;
	struct sn_resolved resolved;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned jobs = processors < 1		? 1
			: processors > JOBS_MAX ? JOBS_MAX
						: (unsigned)processors;
	int result = sn_symbolizer_new(NULL, &symbolizer, error);
	if (result)
		return result;
	for (size_t i = 0; i < perf->merge.value_count; i++) {
		struct sn_merged_value *value = perf->merge.values + i;
		value->profile = perf->lines[value->profile].profile;
	}
	result = sn_resolve(&perf->merge, symbolizer, jobs, &resolved);
	if (!result)
		result = sn_expand(&perf->merge, &resolved);
	sn_resolved_release(&resolved);
	sn_symbolizer_free(symbolizer);
	return result
		   ? sn_fail(error, result,
			     result == SN_ERR_MEMORY ? "out of memory" : "cannot look up symbols")
		   : 0;
}

static int write_events(struct sn_perf *perf, struct sn_error *error)
{
	int result = sn_sorter_finish(perf->events, error);
	for (uint32_t line = 0; line < perf->whos.count && !result; line++) {
		struct sn_event event;
		result = sn_sorter_begin(perf->events, line, error);
		while (!result && (result = sn_sorter_next(perf->events, &event, error)) > 0) {
			event.profile = perf->lines[line].profile;
			event.context = perf->merge.contexts[event.context];
			sn_trace_writer_add(perf->writer, &event);
			result = 0;
		}
	}
	return result;
}

/* The program is that of the thread with most samples. */
static void name_program(struct sn_perf *perf)
{
	uint64_t most = 0;
	uint32_t best = 0;
	for (uint32_t i = 0; i < perf->whos.count; i++) {
		if (perf->lines[i].sample_count <= most || perf->lines[i].name == SONDE_NONE)
			continue;
		most = perf->lines[i].sample_count;
		best = i;
	}
	char program[256] = "perf", text[32];
	if (most)
		snprintf(program, sizeof(program), "%s",
			 sn_db_builder_text(perf->builder, perf->lines[best].name));
	sn_db_builder_set_root(perf->builder,
			       sn_db_builder_named_frame(perf->builder, SN_FRAME_THREAD, program));
	sn_db_builder_property(perf->builder, "program", program);
	if (perf->end_ns) {
		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)(perf->end_ns - perf->start_ns));
		sn_db_builder_property(perf->builder, "duration_ns", text);
	}
}

static void note_drops(struct sn_perf *perf)
{
	const struct {
		const char *cause, *text;
		uint64_t count;
	} drops[] = {
	    {"perf-lost", "records that perf had no room for", perf->lost},
	    {"perf-lost-samples", "samples that the processor had no room for", perf->lost_samples},
	    {"import-unread", "records of a kind that is not read", perf->unread},
	    {"import-damaged", "samples that do not hold what their event says", perf->damaged},
	    {"import-cut", "files that end before their records do", perf->cut},
	    {"unwind-truncated", "call paths whose outermost callers are unknown",
	     perf->unwound_not},
	    {"too-deep", "call paths longer than is kept", perf->too_deep},
	};
	for (size_t i = 0; i < sizeof(drops) / sizeof(*drops); i++)
		if (drops[i].count)
			sn_db_builder_drop(perf->builder, drops[i].cause, drops[i].text,
					   drops[i].count);
}

static uint32_t make_key(struct sn_perf *perf, const char *name, enum sonde_attribute_type type)
{
	return sn_trace_writer_key(perf->writer, sn_db_builder_string(perf->builder, name),
				   SONDE_NONE, type);
}

static int begin(struct sn_perf *perf, const struct sn_import_request *request,
		 struct sn_db_builder *builder, struct sn_error *error)
{
	perf->builder = builder;
	perf->writer = request->events;
	perf->start_ns = UINT64_MAX;
	perf->events = sn_sorter_new(SORTER_BYTES, NULL);
	perf->host = sn_db_builder_string(builder, "");
	perf->key_event = make_key(perf, "event", SONDE_ATTRIBUTE_STRING);
	perf->key_period = make_key(perf, "period", SONDE_ATTRIBUTE_UNSIGNED);
	perf->key_cpu = make_key(perf, "cpu", SONDE_ATTRIBUTE_UNSIGNED);
	if (sn_merge_init(&perf->merge, builder) || !perf->events)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	return 0;
}

static int read_all(const struct sn_import_request *request, struct sn_db_builder *builder,
		    struct sn_error *error)
{
	struct sn_perf *perf = calloc(1, sizeof(*perf));
	if (!perf)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	int result = begin(perf, request, builder, error);
	for (size_t i = 0; i < request->path_count && !result; i++)
		result = read_file(perf, request->paths[i], request->path_count, error);
	if (!result)
		result = resolve(perf, error);
	if (!result)
		result = write_events(perf, error);
	if (!result) {
		name_program(perf);
		note_drops(perf);
	}
	sn_merge_release(&perf->merge);
	sn_sorter_free(perf->events);
	sn_intern_release(&perf->whos);
	sn_intern_release(&perf->value_keys);
	free(perf->lines);
	free(perf->pids);
	free(perf->last_counts);
	free(perf);
	return result;
}

static bool probe(const struct sn_import_input *input)
{
	return !input->is_folder && sn_perf_is_file(input->head, input->head_bytes);
}

const struct sn_importer sn_importer_perf = {
    .name = "perf",
    .summary = "files of perf record: samples with call paths, tracepoints, scheduling",
    .probe = probe,
    .read = read_all,
};
