/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From trace files to the trace writer; see events.h.
 *
 * Events name streams, nodes of threads, counters and attributes by numbers of their file. A
 * measurement is read once more and merged into tables of its own, whose numbers are then looked up
 * in the common tables: only a number for each node of one process is kept meanwhile.
 */
#include "events.h"

#include "base/arena.h"
#include "base/search.h"
#include "clocks.h"
#include "format/measurement/measurement_trace.h"
#include "trace/writer.h"

#include <stdlib.h>
#include <string.h>

/* Of a thread, by the number that events use. */
struct contexts {
	uint32_t *items; /* the builder's; SONDE_NONE: not there */
	uint32_t count;
};

/* A process whose events are being read. */
struct process {
	const struct sn_unified *unified; /* of all, */
	struct sn_db_builder *builder;	  /* and its builder */
	struct sn_trace_writer *writer;
	const struct sn_measurement *measurement;
	const struct sn_trace_directory *all;
	uint32_t file;
	const struct sn_clocks *clocks;
	uint64_t first_link;	  /* to tell links of processes apart */
	struct sn_arena arena;	  /* of what follows */
	struct contexts *threads; /* [position of the thread] */
	uint32_t thread_count;
	uint32_t measured_count;   /* threads before those that were added for streams */
	uint32_t *stream_profiles; /* [stream] */
	uint32_t *counters, *keys;
	uint32_t *names;	/* [name]: builder's string */
	uint64_t unknown_count; /* events whose context is not known */
};

/* What merge.h calls: keeps each thread's numbers. */
static int keep_nodes(void *context, const struct sn_measurement_thread *thread, uint32_t profile,
		      const uint32_t *nodes, const uint32_t *metrics)
{
	struct process *process = context;
	uint32_t *copy = sn_arena_array(&process->arena, uint32_t, thread->node_count);
	if (!copy)
		return SN_ERR_MEMORY;
	memcpy(copy, nodes, thread->node_count * sizeof(*copy));
	process->threads[process->thread_count++] = (struct contexts){copy, thread->node_count};
	return 0;
}

/* From nodes of the process's own tables; map[node] is that of all. */
static void to_contexts(const struct process *process, const uint32_t *map)
{
	for (uint32_t t = 0; t < process->thread_count; t++)
		for (uint32_t i = 0; i < process->threads[t].count; i++) {
			uint32_t *item = process->threads[t].items + i, node = map[*item];
			*item = node == SONDE_NONE ? SONDE_NONE
						   : process->unified->merge.contexts[node];
		}
}

static int translate(struct process *process)
{
	struct sn_unified own;
	uint32_t *metrics = NULL, *map = NULL;
	int result = sn_unified_init(&own);
	own.merge.on_thread = keep_nodes;
	own.merge.on_thread_context = process;
	process->threads =
	    sn_arena_array(&process->arena, struct contexts, process->measurement->thread_count);
	if (!process->threads)
		result = SN_ERR_MEMORY;
	if (!result)
		result = sn_unified_add(&own, process->measurement, process->file);
	if (!result) {
		map = sn_unified_translate(process->unified, &own, true, &metrics);
		result = map ? 0 : SN_ERR_MEMORY;
	}
	if (!result)
		to_contexts(process, map);
	free(map);
	free(metrics);
	sn_unified_release(&own);
	return result;
}

/* The builder's profile of a thread of this file; SONDE_NONE where it has none. */
static uint32_t profile_of(const struct process *process, uint32_t thread)
{
	const struct sn_input_thread *origins = process->unified->origins;
	size_t count = process->builder->profile_count;
	size_t found =
	    sn_search(i, count,
		      origins[i].file < process->file ||
			  (origins[i].file == process->file && origins[i].thread < thread));
	return found < count && origins[found].file == process->file &&
		       origins[found].thread == thread
		   ? (uint32_t)found
		   : SONDE_NONE;
}

/* The profile of a thread that another file measured: of those that had its number one after the
 * other (a program that executes another) the last. */
static uint32_t profile_elsewhere(const struct process *process,
				  const struct sn_trace_stream *stream)
{
	const struct sn_db_builder *builder = process->builder;
	uint32_t found = SONDE_NONE,
		 host = sn_db_builder_string(process->builder,
					     sn_measurement_property(process->measurement, "host"));
	for (uint32_t i = 0; i < builder->profile_count; i++) {
		const struct sonde_db_profile *profile = builder->profiles + i;
		if (profile->kind == SONDE_PROFILE_THREAD && profile->tid == stream->tid &&
		    profile->pid == stream->pid && profile->host == host &&
		    (found == SONDE_NONE || profile->start_ns > builder->profiles[found].start_ns))
			found = i;
	}
	return found;
}

static uint32_t text_of(const struct process *process, const char *text, uint32_t length)
{
	return sn_db_builder_string_n(process->builder, text, length);
}

static uint32_t profile_of_stream(const struct process *process, uint32_t stream)
{
	uint32_t thread = process->measurement->trace_threads[stream];
	if (thread != SONDE_NONE)
		return profile_of(process, thread);
	return process->all->streams[stream].thread == SN_ID_NONE
		   ? profile_elsewhere(process, process->all->streams + stream)
		   : SONDE_NONE;
}

static int number_all(struct process *process)
{
	const struct sn_trace_directory *all = process->all;
	struct sn_arena *arena = &process->arena;
	process->stream_profiles = sn_arena_array(arena, uint32_t, all->stream_count);
	process->counters = sn_arena_array(arena, uint32_t, all->counter_count);
	process->keys = sn_arena_array(arena, uint32_t, all->key_count);
	process->names = sn_arena_array(arena, uint32_t, all->name_count);
	if (arena->failed)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < all->stream_count; i++)
		process->stream_profiles[i] = profile_of_stream(process, i);
	for (uint32_t i = 0; i < all->counter_count; i++)
		process->counters[i] = sn_db_builder_find_metric(
		    process->builder,
		    text_of(process, all->counters[i].name, all->counters[i].name_length));
	for (uint32_t i = 0; i < all->name_count; i++)
		process->names[i] = text_of(process, all->names[i].text, all->names[i].text_length);
	for (uint32_t i = 0; i < all->key_count; i++) {
		const struct sn_trace_quantity *key = all->keys + i;
		uint32_t unit =
		    key->unit_length ? text_of(process, key->unit, key->unit_length) : SONDE_NONE;
		process->keys[i] = sn_trace_writer_key(
		    process->writer, text_of(process, key->name, key->name_length), unit,
		    (enum sonde_attribute_type)key->type);
	}
	return process->builder->failed;
}

/* ---- events ---- */

/* The position of the measured thread that the event's context is of. A thread that was added for
 * its stream alone has none. */
static uint32_t owner_of(const struct process *process, const struct sn_trace_event *event)
{
	uint32_t thread = sn_measurement_thread_at(process->measurement, event->owner);
	return thread < process->measured_count ? thread : SN_ID_NONE;
}

/* The builder's context; the root where it is not known. */
static uint32_t context_of(struct process *process, const struct sn_trace_event *event)
{
	const struct sn_measurement *m = process->measurement;
	uint32_t thread = m->trace_names, node = event->context + 1;
	if (event->owner != SN_ID_NONE) {
		thread = owner_of(process, event);
		node = thread >= process->thread_count
			   ? SN_ID_NONE
			   : sn_measurement_node_of(m->threads + thread, event->context);
	}
	uint32_t context = SONDE_NONE;
	if (thread < process->thread_count && node < process->threads[thread].count)
		context = process->threads[thread].items[node];
	process->unknown_count += context == SONDE_NONE;
	return context == SONDE_NONE ? 0 : context;
}

static uint32_t put_attributes(const struct process *process, const struct sn_trace_event *event,
			       struct sn_attribute *attributes)
{
	for (uint32_t i = 0; i < event->attribute_count; i++) {
		const struct sn_trace_attribute *from = event->attributes + i;
		bool is_string = process->all->keys[from->key].type == SONDE_ATTRIBUTE_STRING;
		attributes[i] = (struct sn_attribute){
		    .key = process->keys[from->key],
		    .value = is_string ? process->names[from->value]
				       : sn_clocks_group(process->clocks, process->file, from->key,
							 from->value)};
	}
	return event->attribute_count;
}

/* A counter's value: that of a ratio is in millionths. */
static struct sn_attribute value_of(struct process *process, const struct sn_trace_event *event,
				    uint32_t whole_key)
{
	double fraction = (double)event->value / 1e6;
	struct sn_attribute value = {.key = whole_key, .value = (uint64_t)event->value};
	if (process->all->counters[event->counter].type != SN_METRIC_RATIO)
		return value;
	value.key =
	    sn_trace_writer_key(process->writer, sn_db_builder_string(process->builder, "value"),
				SONDE_NONE, SONDE_ATTRIBUTE_REAL);
	memcpy(&value.value, &fraction, sizeof(fraction));
	return value;
}

static void add_event(struct process *process, const struct sn_trace_event *event, uint32_t value)
{
	/* the tag's kinds are those of tracks */
	_Static_assert((int)SN_TRACE_COUNTER == (int)SONDE_TRACK_COUNTER, "kinds are the same");
	struct sn_attribute attributes[SN_TRACE_ATTRIBUTES_MAX + 1];
	uint32_t profile = process->stream_profiles[event->stream];
	if (profile == SONDE_NONE) {
		process->unknown_count++;
		return;
	}
	struct sn_event added = {
	    .start_ns = sn_clocks_convert(process->clocks, process->file, event->start_ns),
	    .end_ns = sn_clocks_convert(process->clocks, process->file, event->end_ns),
	    .link = event->link ? event->link + process->first_link
				: sn_clocks_link(process->clocks, process->file, event),
	    .profile = profile,
	    .context = context_of(process, event),
	    .metric = SONDE_NONE,
	    .kind = event->kind,
	    .attribute_count = (uint16_t)put_attributes(process, event, attributes),
	    .attributes = attributes,
	};
	if (event->kind == SN_TRACE_COUNTER) {
		added.metric = process->counters[event->counter];
		attributes[added.attribute_count++] = value_of(process, event, value);
	}
	if (added.end_ns < added.start_ns)
		return;
	sn_trace_writer_add(process->writer, &added);
}

static int add_events(struct process *process, struct sn_trace_reader *reader,
		      struct sn_error *error)
{
	struct sn_trace_event event;
	uint32_t value =
	    sn_trace_writer_key(process->writer, sn_db_builder_string(process->builder, "value"),
				SONDE_NONE, SONDE_ATTRIBUTE_SIGNED);
	int result;
	while ((result = sn_trace_reader_next(reader, &event, error)) > 0)
		add_event(process, &event, value);
	return result;
}

static void add_drop(struct sn_db_builder *builder, const char *cause, uint64_t count)
{
	if (count)
		sn_db_builder_drop(builder, cause, sn_provenance_drop_text(cause), count);
}

/* Of an analysis. */
struct adding {
	struct sn_pipeline *pipeline;
	struct sn_trace_writer *writer; /* NULL: no input had a trace */
	struct sn_clocks *clocks;
};

static int add_process(const struct adding *adding, uint32_t file,
		       const struct sn_measurement *measurement, struct sn_error *error)
{
	struct process process = {
	    .unified = &adding->pipeline->workers->unified,
	    .builder = adding->pipeline->workers->unified.builder,
	    .writer = adding->writer,
	    .clocks = adding->clocks,
	    .measurement = measurement,
	    .all = sn_trace_reader_directory(measurement->trace),
	    .file = file,
	    .measured_count = measurement->thread_count - measurement->trace_added,
	    .first_link = (uint64_t)file << 43,
	};
	int result = translate(&process);
	if (!result)
		result = number_all(&process);
	result = result ? sn_fail_memory(error) : add_events(&process, measurement->trace, error);
	add_drop(process.builder, "trace-context", process.unknown_count);
	add_drop(process.builder, "trace-damaged", sn_trace_reader_damaged(measurement->trace));
	sn_arena_release(&process.arena);
	return result;
}

static bool has_trace(const struct sn_input *input)
{
	char *path = sn_measurement_trace_path(input->path);
	free(path);
	return path;
}

static int add_input(const struct adding *adding, uint32_t file)
{
	struct sn_pipeline *pipeline = adding->pipeline;
	struct sn_measurement *measurement;
	struct sn_error error = {""};
	/* what could not be read has been reported before */
	if (sn_measurement_open(pipeline->inputs.items[file].path, &measurement, NULL))
		return 0;
	int result = sn_clocks_begin_file(adding->clocks, file, measurement);
	if (result)
		sn_fail_memory(&error);
	else if (measurement->trace)
		result = add_process(adding, file, measurement, &error);
	else
		add_drop(pipeline->workers->unified.builder, "trace-damaged", 1);
	sn_measurement_free(measurement);
	return sn_pipeline_check(pipeline, result, &error);
}

static int begin(struct adding *adding)
{
	struct sn_pipeline *pipeline = adding->pipeline;
	uint64_t memory = pipeline->writer.memory == UINT64_MAX ? 0 : pipeline->writer.memory / 4;
	adding->writer = sn_trace_writer_new(memory, NULL);
	if (!adding->writer || sn_clocks_new(pipeline, &adding->clocks))
		return sn_pipeline_out_of_memory(pipeline);
	sn_clocks_describe(adding->clocks, pipeline);
	return 0;
}

int sn_events_add(struct sn_pipeline *pipeline)
{
	struct adding adding = {.pipeline = pipeline};
	int result = 0;
	for (uint32_t i = 0; i < pipeline->inputs.count && !result; i++) {
		if (!has_trace(pipeline->inputs.items + i))
			continue;
		if (!adding.writer)
			result = begin(&adding);
		if (!result)
			result = add_input(&adding, i);
	}
	sn_clocks_free(adding.clocks);
	if (adding.writer && !result)
		sn_trace_writer_attach(adding.writer, pipeline->workers->unified.builder);
	else
		sn_trace_writer_free(adding.writer);
	return result;
}
