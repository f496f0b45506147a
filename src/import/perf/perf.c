/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importer of perf.data, which `perf record` writes. A sample's value is its period, with its event
 * as the metric. Samples are on the track of their thread; tracepoints are instants with the fields
 * that the file describes.
 *
 * The file is read twice, first for memory mappings, because records of different processors are
 * out of order.
 */
#include "perf.h"

#include "aggregate/unify/expand.h"
#include "base/pool.h"
#include "base/text.h"
#include "import/core/track_sink.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint32_t sn_perf_thread(struct sn_perf *perf, uint32_t pid, uint32_t tid)
{
	struct sn_track_place place = {0, pid, tid, 0, 0};
	return sn_track_sink_track(perf->sink, &place);
}

static uint32_t name_of(const struct sn_perf *perf, uint32_t track)
{
	return sn_track_sink_at(perf->sink, track)->name;
}

/* ---- threads ---- */

static int note_pid(struct sn_perf *perf, uint32_t pid, uint32_t tid)
{
	bool is_new = pid != UINT32_MAX && sn_table_find(&perf->pids, tid) == SN_TABLE_NONE;
	return is_new && sn_table_put(&perf->pids, tid, pid) ? SN_ERR_MEMORY : 0;
}

/* COMM: u32 pid, tid; the name. */
static int read_name(struct sn_perf *perf, const struct sn_perf_raw *record)
{
	uint32_t ids[2];
	if (record->length <= sizeof(ids))
		return 0;
	memcpy(ids, record->bytes, sizeof(ids));
	const char *text = (const char *)record->bytes + sizeof(ids);
	uint32_t track = sn_perf_thread(perf, ids[0], ids[1]);
	if (track == SONDE_NONE || note_pid(perf, ids[0], ids[1]))
		return SN_ERR_MEMORY;
	sn_track_sink_name_track(
	    perf->sink, track,
	    sn_db_builder_string_n(perf->builder, text,
				   strnlen(text, record->length - sizeof(ids))));
	return 0;
}

/* FORK: u32 pid, ppid, tid, ptid. A new thread has its parent's name until it gets another. */
static int read_fork(struct sn_perf *perf, const struct sn_perf_raw *record)
{
	uint32_t ids[4];
	if (record->length < sizeof(ids))
		return 0;
	memcpy(ids, record->bytes, sizeof(ids));
	uint32_t parent = sn_perf_thread(perf, ids[1], ids[3]);
	uint32_t track = sn_perf_thread(perf, ids[0], ids[2]);
	if (parent == SONDE_NONE || track == SONDE_NONE || note_pid(perf, ids[0], ids[2]))
		return SN_ERR_MEMORY;
	if (name_of(perf, track) == SONDE_NONE)
		sn_track_sink_name_track(perf->sink, track, name_of(perf, parent));
	return 0;
}

/* First pass: names of threads, and mappings of memory. */
static int read_space(void *context, const struct sn_perf_raw *record)
{
	struct sn_perf *perf = context;
	struct sn_perf_sample id;
	int result = 0;
	perf->order++;
	if (record->header.type == PERF_RECORD_SAMPLE)
		return 0;
	perf->is_told_machine |= record->header.type == SN_PERF_SONDE_MACHINE;
	if (record->header.type >= PERF_RECORD_MAX)
		return sn_perf_python_add(&perf->python, record);
	sn_perf_sample_id(perf->file, record, &id);
	if (record->header.type == PERF_RECORD_COMM)
		result = read_name(perf, record);
	else if (record->header.type == PERF_RECORD_FORK)
		result = read_fork(perf, record);
	return result ? result
		      : sn_perf_space_add(&perf->space, record,
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
	    .name = perf->event_names[event],
	    .unit = sn_db_builder_string(perf->builder, is_time(&found->attr) ? "ns" : "1"),
	    .source = sn_db_builder_string(perf->builder, "perf"),
	    .kind = is_time(&found->attr) ? SN_METRIC_TIME : SN_METRIC_COUNT,
	    .period = found->attr.freq ? 0 : found->attr.sample_period,
	};
	return perf->metrics[event] = sn_db_builder_metric(perf->builder, &metric);
}

static void put_fields(struct sn_perf *perf, const struct sn_perf_tracepoint *tracepoint,
		       const struct sn_perf_sample *sample, struct sn_track_attributes *attributes)
{
	const unsigned char *raw = sample->raw.data;
	for (size_t i = 0; i < tracepoint->format.field_count; i++) {
		const struct sn_tracepoint_field *field = tracepoint->format.fields + i;
		enum sonde_attribute_type type = field->is_text	    ? SONDE_ATTRIBUTE_STRING
						 : field->is_signed ? SONDE_ATTRIBUTE_SIGNED
								    : SONDE_ATTRIBUTE_UNSIGNED;
		bool is_number = !field->is_elsewhere && field->bytes <= sizeof(uint64_t);
		if (sn_text_begins(field->name, "common_") || !(field->is_text || is_number) ||
		    !sn_tracepoint_holds(field, sample->raw.size))
			continue; /* common to all tracepoints, or an array of numbers */
		size_t length;
		uint64_t value;
		if (field->is_text) {
			const char *text =
			    sn_tracepoint_text(field, raw, sample->raw.size, &length);
			value = sn_db_builder_string_n(perf->builder, text, length);
		} else {
			value = (uint64_t)sn_tracepoint_number(field, raw, sample->raw.size);
		}
		sn_track_attributes_put(
		    attributes,
		    sn_track_sink_key(perf->sink, field->name, strlen(field->name), type), value);
	}
}

/* Adds an instant below the call path; the sample's period counts at the path itself. */
static int add_tracepoint(struct sn_perf *perf, const struct sn_perf_sample *sample,
			  struct sn_track_event *event, struct sn_track_attributes *attributes)
{
	const struct sn_perf_event *of = perf->file->events + sample->event;
	const struct sn_perf_tracepoint *tracepoint =
	    sn_perf_tracepoint_find(&perf->tracepoints, of->attr.config);
	event->name = sn_perf_named_node(perf, event->name, SN_FRAME_OS, of->name);
	if (tracepoint && sample->raw.data) {
		put_fields(perf, tracepoint, sample, attributes);
		if (sn_perf_state_sample(perf, tracepoint, sample))
			return SN_ERR_MEMORY;
	}
	event->attributes = attributes->items;
	event->attribute_count = attributes->count;
	if (event->name == SN_NODE_NONE)
		return SN_ERR_MEMORY;
	sn_track_sink_instant(perf->sink, event);
	return 0;
}

/* Adds a sample's value: as a sample of its call path, or for a tracepoint as an instant. */
static int add_value(struct sn_perf *perf, const struct sn_perf_sample *sample, uint32_t track,
		     uint32_t node)
{
	uint32_t metric = metric_of(perf, sample->event);
	double value = (double)sample->period;
	struct sn_track_attributes attributes;
	struct sn_track_event event = {.track = track,
				       .name = node,
				       .start_ns = (int64_t)sample->time_ns,
				       .end_ns = (int64_t)sample->time_ns};
	bool is_tracepoint = perf->file->events[sample->event].attr.type == PERF_TYPE_TRACEPOINT;
	if (is_tracepoint || !sample->has_time)
		sn_track_sink_cost(perf->sink, track, node, metric, value);
	if (!sample->has_time)
		return 0;
	attributes.count = 0;
	if (sample->has_cpu)
		sn_track_attributes_put(&attributes, perf->key_cpu, sample->cpu);
	if (is_tracepoint)
		return add_tracepoint(perf, sample, &event, &attributes);
	if (perf->file->event_count > 1) {
		sn_track_attributes_put(&attributes, perf->key_event,
					perf->event_names[sample->event]);
		sn_track_attributes_put(&attributes, perf->key_period, sample->period);
	}
	event.attributes = attributes.items;
	event.attribute_count = attributes.count;
	sn_track_sink_weighted_sample(perf->sink, &event, metric, value);
	return 0;
}

/* Makes a sample of an event that was read with the group's leader: its period is the count since
 * the last reading. Inherited events count separately in each thread. */
static int make_count(struct sn_perf *perf, uint64_t number, struct sn_perf_sample *sample)
{
	uint64_t count[2];
	memcpy(count, sample->counts + 8 * number * sample->count_words, sizeof(count));
	uint32_t event = sn_perf_file_event(perf->file, count[1]);
	sample->period = 0;
	if (event >= perf->file->event_count)
		return 0;
	if (event != sample->event)
		sample->raw = (struct sn_bytes){0};
	sample->event = event;
	uint64_t key[2] = {count[1], perf->file->events[event].attr.inherit ? sample->tid : 0};
	uint32_t at = sn_intern_item(&perf->counts, key, sizeof(key), &perf->last_counts,
				     &perf->count_capacity, {0});
	if (at == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	sample->period = count[0] - perf->last_counts[at];
	perf->last_counts[at] = count[0];
	return 0;
}

/* Only the leader of a group ({cycles,instructions}:S) interrupts; the other events
 * are read then. */
static int add_group(struct sn_perf *perf, const struct sn_perf_sample *sample, uint32_t track,
		     uint32_t node)
{
	int result = 0;
	for (uint64_t i = 0; i < sample->count_count && !result; i++) {
		struct sn_perf_sample one = *sample;
		result = make_count(perf, i, &one);
		if (!result && one.period)
			result = add_value(perf, &one, track, node);
	}
	return result;
}

static int read_sample(struct sn_perf *perf, const struct sn_perf_raw *record)
{
	struct sn_perf_sample sample;
	if (!sn_perf_sample_read(perf->file, record, &sample)) {
		perf->damaged++;
		return 0;
	}
	uint32_t track = sn_perf_thread(perf, sample.pid, sample.tid);
	uint32_t node = sn_perf_path(perf, record, &sample);
	if (track == SONDE_NONE || node == SN_NODE_NONE || note_pid(perf, sample.pid, sample.tid))
		return SN_ERR_MEMORY;
	if (sample.has_time)
		sn_track_sink_touch(perf->sink, track, (int64_t)sample.time_ns);
	return sample.counts ? add_group(perf, &sample, track, node)
			     : add_value(perf, &sample, track, node);
}

/* LOST: u64 id, count; LOST_SAMPLES: u64 count. */
static void count_lost(struct sn_perf *perf, const struct sn_perf_raw *record)
{
	bool is_samples = record->header.type == PERF_RECORD_LOST_SAMPLES;
	uint64_t count = 0;
	size_t at = is_samples ? 0 : 8;
	if (record->length >= at + 8)
		memcpy(&count, record->bytes + at, 8);
	*(is_samples ? &perf->lost_samples : &perf->lost) += count;
}

/* Second pass: samples, losses, switches. */
static int read_record(void *context, const struct sn_perf_raw *record)
{
	struct sn_perf *perf = context;
	struct sn_perf_sample id;
	perf->order++;
	switch (record->header.type) {
	case PERF_RECORD_SAMPLE:
		return read_sample(perf, record);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		count_lost(perf, record);
		return 0;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		sn_perf_sample_id(perf->file, record, &id);
		return sn_perf_state_switch(perf, record, &id);
	case PERF_RECORD_AUX:
	case SN_PERF_AUXTRACE:
		perf->unread++;
		return 0;
	default:
		return 0;
	}
}

/* ---- files ---- */

static int open_file(struct sn_perf *perf, const char *path, struct sn_error *error)
{
	const struct sn_perf_file *file = perf->file;
	size_t count = file->event_count;
	int result = sn_track_sink_open(perf->sink, path, error);
	if (result)
		return result;
	sn_track_sink_set_base(perf->sink, file->epoch_ns);
	perf->metrics = malloc((count + 1) * sizeof(*perf->metrics));
	perf->event_names = malloc((count + 1) * sizeof(*perf->event_names));
	perf->has_switches = false;
	perf->is_told_machine = false;
	perf->order = 0;
	if (!perf->metrics || !perf->event_names || sn_merge_init(&perf->merge, perf->builder) ||
	    sn_perf_tracepoints_read(&perf->tracepoints, file))
		return sn_fail_memory(error);
	for (size_t i = 0; i < count; i++) {
		perf->metrics[i] = SONDE_NONE;
		perf->event_names[i] = sn_db_builder_string(perf->builder, file->events[i].name);
		perf->has_switches |= !strcmp(file->events[i].name, "sched:sched_switch");
	}
	sn_perf_space_init(&perf->space, &perf->merge, file);
	sn_perf_python_init(&perf->python, &perf->merge, &perf->space);
	return 0;
}

static void put_properties(struct sn_perf *perf)
{
	const struct sn_perf_file *file = perf->file;
	const struct {
		const char *key, *value;
	} properties[] = {{"command", file->command},
			  {"host", file->host},
			  {"perf.version", file->version},
			  {"perf.kernel", file->release},
			  {"perf.processor", file->processor}};
	for (size_t i = 0; i < sizeof(properties) / sizeof(*properties); i++)
		if (properties[i].value && *properties[i].value)
			sn_db_builder_property(perf->builder, properties[i].key,
					       properties[i].value);
	if (file->host)
		sn_track_sink_set_host(perf->sink, sn_db_builder_string(perf->builder, file->host));
}

/* Whether the command line "perf record -a ..." has the option -a, alone or with others ("-ag"),
 * before the program. */
static bool has_all_option(const char *command)
{
	static const char with_value[] = "FecptoCmurjGkDWIsx";
	const char *at = command ? strstr(command, " record ") : NULL;
	for (at = at ? at + strlen(" record ") : NULL; at && *at == '-' && at[1] != ' ';) {
		bool takes_next = false;
		size_t length = strcspn(at, " ");
		if (length == 10 && !memcmp(at, "--all-cpus", 10))
			return true;
		for (size_t i = 1; i < length && at[1] != '-' && !takes_next; i++) {
			if (at[i] == 'a')
				return true;
			if (strchr(with_value, at[i])) {
				takes_next = i + 1 == length;
				break;
			}
		}
		at += length + strspn(at + length, " ");
		if (takes_next)
			at += strcspn(at, " ") + strspn(at + strcspn(at, " "), " ");
	}
	return false;
}

/* Whether all processors were recorded: by the command line, or because the idle thread, which
 * belongs to no program, was sampled. */
static bool is_of_machine(struct sn_perf *perf)
{
	for (uint32_t i = 0; i < sn_track_sink_count(perf->sink); i++) {
		const struct sn_track *track = sn_track_sink_at(perf->sink, i);
		if (!track->is_processor && !track->tid && !track->pid && track->sample_count)
			return true;
	}
	return perf->is_told_machine || has_all_option(perf->file->command);
}

static void name_machine(struct sn_perf *perf)
{
	const char *host = perf->file->host;
	perf->is_of_machine = true;
	sn_track_sink_set_program(
	    perf->sink, sn_db_builder_string(perf->builder, host && *host ? host : "machine"));
}

/* The program of a thread is the name of its process's first thread; the program of the recording
 * is that of the thread with most samples, or the machine. */
static void name_programs(struct sn_perf *perf)
{
	if (is_of_machine(perf))
		name_machine(perf);
	for (uint32_t i = 0; i < sn_track_sink_count(perf->sink); i++) {
		const struct sn_track *track = sn_track_sink_at(perf->sink, i);
		struct sn_track_place place = {0, track->pid, track->pid, 0, 0};
		uint32_t first = sn_track_sink_find(perf->sink, &place);
		uint32_t program = first == SONDE_NONE ? SONDE_NONE : name_of(perf, first);
		if (!perf->is_of_machine && track->sample_count > perf->most_samples &&
		    track->name != SONDE_NONE) {
			perf->most_samples = track->sample_count;
			sn_track_sink_set_program(perf->sink, track->name);
		}
		if (track->is_processor)
			program = sn_db_builder_string(perf->builder, "kernel");
		else if (program == SONDE_NONE)
			program = sn_db_builder_string(perf->builder, "perf");
		sn_track_sink_set_track_program(perf->sink, i, program);
	}
}

static void close_file(struct sn_perf *perf, struct sn_perf_file *file)
{
	sn_merge_release(&perf->merge);
	sn_perf_space_release(&perf->space);
	sn_perf_python_release(&perf->python);
	sn_kallsyms_release(&perf->kernel);
	sn_perf_tracepoints_release(&perf->tracepoints);
	sn_sorter_free(perf->scheduler);
	sn_table_release(&perf->pids);
	sn_intern_release(&perf->counts);
	free(perf->metrics);
	free(perf->event_names);
	perf->scheduler = NULL;
	perf->metrics = perf->event_names = NULL;
	perf->merge = (struct sn_merge){0};
	perf->kernel = (struct sn_kallsyms){0};
	perf->tracepoints = (struct sn_perf_tracepoints){0};
	perf->space = (struct sn_perf_space){0};
	sn_perf_file_close(file);
}

/* perf writes the length of the records when it ends. */
static bool is_unfinished(const struct sn_perf_file *file)
{
	return !file->is_pipe && !file->data_length;
}

/* Notes for the user how much is there of the first file that ends too early. */
static void note_cut(struct sn_perf *perf)
{
	const struct sn_perf_file *file = perf->file;
	struct sn_import_notes *notes = perf->notes;
	uint64_t there = file->data_end - file->data;
	if (*notes->cut)
		return;
	if (file->is_short)
		snprintf(notes->cut, sizeof(notes->cut),
			 "'%.400s' is truncated: %" PRIu64 " of %" PRIu64
			 " bytes of its records are there",
			 file->path, there, file->data_length);
	else if (is_unfinished(file))
		snprintf(notes->cut, sizeof(notes->cut),
			 "'%.400s' is unfinished: perf was stopped before all was written",
			 file->path);
	else
		snprintf(notes->cut, sizeof(notes->cut),
			 "'%.400s' is truncated: it ends within a record", file->path);
}

static int read_records(struct sn_perf *perf, struct sn_error *error)
{
	bool is_cut;
	int result = sn_perf_file_each(perf->file, &is_cut, read_space, perf, error);
	sn_perf_space_sort(&perf->space);
	if (!result && sn_perf_kernel_load(&perf->kernel, &perf->space))
		result = sn_fail_memory(error);
	perf->order = 0;
	if (!result)
		result = sn_perf_file_each(perf->file, &is_cut, read_record, perf, error);
	perf->cut += !result && is_cut;
	if (!result && (is_cut || is_unfinished(perf->file)))
		note_cut(perf);
	return result ? result : sn_perf_state_finish(perf, error);
}

/* Resolves the nodes of samples to contexts. */
static int resolve(struct sn_perf *perf, struct sn_error *error)
{
	struct sn_resolved resolved;
	int result = sn_resolve(&perf->merge, perf->symbolizer, perf->jobs, &resolved);
	if (!result)
		result = sn_expand(&perf->merge, &resolved);
	sn_resolved_release(&resolved);
	sn_track_sink_set_contexts(perf->sink, perf->merge.contexts);
	if (result && result != SN_ERR_MEMORY)
		return sn_fail(error, result, "cannot look up symbols");
	return sn_fail_code(error, result);
}

static int read_file(struct sn_perf *perf, const char *path, size_t path_count,
		     struct sn_error *error)
{
	struct sn_perf_file file;
	int result = sn_perf_file_open(&file, path, error);
	perf->file = &file;
	if (!result)
		result = open_file(perf, path, error);
	if (!result)
		result = read_records(perf, error);
	if (!result)
		result = resolve(perf, error);
	if (!result) {
		put_properties(perf);
		name_programs(perf);
		result = sn_track_sink_build(perf->sink, path_count, error);
	}
	close_file(perf, &file);
	return result;
}

/* ---- the importer ---- */

static void put_losses(const struct sn_perf *perf)
{
	const struct {
		const char *cause, *text;
		uint64_t count;
	} losses[] = {
	    {"perf-lost", "records that perf had no room for", perf->lost},
	    {"perf-lost-samples", "samples that the processor had no room for", perf->lost_samples},
	    {"import-unread", "records of a kind that is not read", perf->unread},
	    {"import-damaged", "samples that do not hold what their event says", perf->damaged},
	    {"import-cut", "files that end before their records do", perf->cut},
	    {"unwind-truncated", "call paths whose outermost callers are unknown",
	     perf->unwound_not},
	    {"too-deep", "call paths longer than is kept", perf->too_deep},
	};
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		sn_track_sink_lost(perf->sink, losses[i].cause, losses[i].text, losses[i].count);
}

static uint32_t make_key(struct sn_perf *perf, const char *name, enum sonde_attribute_type type)
{
	return sn_track_sink_key(perf->sink, name, strlen(name), type);
}

static int begin(struct sn_perf *perf, const struct sn_import_request *request,
		 struct sn_db_builder *builder, struct sn_error *error)
{
	perf->builder = builder;
	perf->sink = sn_track_sink_new("perf", builder, request);
	perf->jobs = sn_pool_threads(request->jobs);
	perf->notes = request->notes;
	if (!perf->sink)
		return sn_fail_memory(error);
	perf->key_event = make_key(perf, "event", SONDE_ATTRIBUTE_STRING);
	perf->key_period = make_key(perf, "period", SONDE_ATTRIBUTE_UNSIGNED);
	perf->key_cpu = make_key(perf, "cpu", SONDE_ATTRIBUTE_UNSIGNED);
	return sn_symbolizer_new(NULL, &perf->symbolizer, error);
}

static int read_all(const struct sn_import_request *request, struct sn_db_builder *builder,
		    struct sn_error *error)
{
	struct sn_perf *perf = calloc(1, sizeof(*perf));
	if (!perf)
		return sn_fail_memory(error);
	int result = begin(perf, request, builder, error);
	for (size_t i = 0; i < request->path_count && !result; i++)
		result = read_file(perf, request->paths[i], request->path_count, error);
	if (!result) {
		sn_track_sink_finish(perf->sink);
		put_losses(perf);
	}
	sn_symbolizer_free(perf->symbolizer);
	sn_track_sink_free(perf->sink);
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
    .probe = probe,
    .read = read_all,
};
