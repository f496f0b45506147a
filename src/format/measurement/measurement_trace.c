/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the definitions of the trace file beside a measurement (trace_file.h) to it before any event
 * is read: streams that are no measured thread become threads without values, counters become
 * metrics, and losses become drops. So merging needs to know no traces. Contexts that are names of
 * the trace lie in the first of those threads.
 *
 * A trace that lies alone is a measurement with nothing but that.
 */
#include "measurement_trace.h"

#include "base/search.h"
#include "base/sort_by.h"
#include "base/text.h"
#include "base/vec.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Strings of a table being extended. */
struct texts {
	uint32_t *offsets;
	char *bytes;
	uint32_t count, used;
};

/* A copy with room for `count` more strings of `bytes` bytes. Without memory it has none. */
static struct texts begin_texts(struct sn_measurement *m, const struct sn_measurement_strings *from,
				uint32_t count, uint64_t bytes)
{
	uint32_t used = from->count ? from->offsets[from->count] : 0;
	return (struct texts){sn_measurement_copy(m, from->offsets,
						  from->count ? from->count + 1ull : 0,
						  count + 1ull),
			      sn_measurement_copy(m, from->bytes, used, bytes), from->count, used};
}

static uint32_t add_text(struct texts *texts, const char *text, size_t length)
{
	memcpy(texts->bytes + texts->used, text, length);
	texts->used += (uint32_t)length;
	texts->offsets[++texts->count] = texts->used;
	return texts->count - 1;
}

static struct sn_measurement_strings strings_of(const struct texts *texts)
{
	return (struct sn_measurement_strings){texts->count, texts->offsets, texts->bytes};
}

/* ---- where ---- */

bool sn_measurement_is_trace(const char *path)
{
	return sn_text_ends(path, SN_TRACE_FILE_SUFFIX);
}

char *sn_measurement_trace_path(const char *path)
{
	char *trace = NULL;
	if (sn_measurement_is_trace(path))
		return strdup(path);
	if (!sn_text_ends(path, SN_MEASUREMENT_SUFFIX))
		return NULL;
	int stem = (int)(strlen(path) - strlen(SN_MEASUREMENT_SUFFIX));
	if (asprintf(&trace, "%.*s" SN_TRACE_FILE_SUFFIX, stem, path) < 0)
		return NULL;
	if (!access(trace, F_OK))
		return trace;
	free(trace);
	return NULL;
}

/* ---- the process's tables ---- */

static const struct {
	const char *name;
	enum sn_trace_lost cause;
} losses[] = {
    {"trace-overwritten", SN_TRACE_LOST_OVERWRITTEN},
    {"trace-space", SN_TRACE_LOST_SPACE},
    {"trace-busy", SN_TRACE_LOST_BUSY},
    {"trace-source", SN_TRACE_LOST_SOURCE},
};
#define LOSSES (sizeof(losses) / sizeof(*losses))

static int add_drops(struct sn_measurement *m, const struct sn_trace_directory *all,
		     struct texts *texts)
{
	struct sn_drop_record *drops = sn_measurement_copy(m, m->drops, m->drop_count, LOSSES);
	if (!drops)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < LOSSES; i++) {
		uint64_t count = all->losses.counts[losses[i].cause];
		if (count)
			drops[m->drop_count++] = (struct sn_drop_record){
			    .cause = add_text(texts, losses[i].name, strlen(losses[i].name)),
			    .count = count};
	}
	m->drops = drops;
	return 0;
}

static int add_counters(struct sn_measurement *m, const struct sn_trace_directory *all,
			struct texts *texts)
{
	struct sn_metric_record *metrics =
	    sn_measurement_copy(m, m->metrics, m->metric_count, all->counter_count);
	if (!metrics)
		return SN_ERR_MEMORY;
	uint32_t source = add_text(texts, "trace", 5);
	for (uint32_t i = 0; i < all->counter_count; i++)
		metrics[m->metric_count + i] = (struct sn_metric_record){
		    .name = add_text(texts, all->counters[i].name, all->counters[i].name_length),
		    .unit = add_text(texts, all->counters[i].unit, all->counters[i].unit_length),
		    .source = source,
		    .kind = all->counters[i].type};
	m->metrics = metrics;
	m->metric_count += all->counter_count;
	return 0;
}

static int add_tables(struct sn_measurement *m, const struct sn_trace_directory *all)
{
	uint64_t bytes = 256;
	for (uint32_t i = 0; i < all->counter_count; i++)
		bytes += all->counters[i].name_length + all->counters[i].unit_length;
	struct texts texts =
	    begin_texts(m, &m->strings, 2 * all->counter_count + LOSSES + 1, bytes);
	if (m->arena.failed || add_counters(m, all, &texts) || add_drops(m, all, &texts))
		return SN_ERR_MEMORY;
	m->strings = strings_of(&texts);
	return 0;
}

/* ---- threads ---- */

/* Threads that measurements beside the trace have: struct thread_key, sorted. */
struct known {
	struct thread_key {
		uint64_t pid, tid;
	} * keys;
	size_t count, capacity;
};

SN_SORT_BY(sort_keys, struct thread_key, const void *, SN_ORDER_BY(a, b, pid, tid));

/* Of no measured thread, or of one that came too late for the last checkpoint. */
static bool is_added(const struct sn_measurement *m, const struct known *known,
		     const struct sn_trace_stream *stream)
{
	const struct thread_key key = {stream->pid, stream->tid};
	if (stream->thread != SN_ID_NONE)
		return sn_measurement_thread_at(m, stream->thread) == SN_ID_NONE;
	if (stream->kind != SN_TRACE_STREAM_THREAD)
		return true;
	size_t at = sn_search(i, known->count, sort_keys_order(known->keys + i, &key, NULL) < 0);
	return at == known->count || sort_keys_order(known->keys + at, &key, NULL);
}

struct added {
	struct sn_thread_record record;
	struct sn_stream_record stream;
	struct sn_node_record root;
	uint32_t offsets[2];
};

static void add_thread(const struct sn_trace_directory *all, const struct sn_trace_stream *stream,
		       uint64_t end_ns, struct added *added, struct sn_measurement_thread *thread)
{
	added->record = (struct sn_thread_record){.tid = stream->tid,
						  .start_ns = all->header.start_monotonic_ns,
						  .end_ns = end_ns,
						  .name = 0};
	added->stream = (struct sn_stream_record){.device = stream->device,
						  .device_context = stream->device_context,
						  .stream = stream->queue};
	added->root.frame = (struct sn_frame){.kind = SN_FRAME_THREAD, .id = SN_ID_NONE};
	added->offsets[1] = stream->name_length;
	thread->pid = stream->kind == SN_TRACE_STREAM_THREAD ? stream->pid : 0;
	thread->is_processor = stream->kind == SN_TRACE_STREAM_PROCESSOR;
	thread->record = &added->record;
	thread->stream = stream->kind == SN_TRACE_STREAM_DEVICE ? &added->stream : NULL;
	thread->strings = (struct sn_measurement_strings){1, added->offsets, stream->name};
	thread->nodes = &added->root;
	thread->node_count = 1;
}

/* Gives a thread the names' contexts, and their strings behind its own. */
static int add_names(struct sn_measurement *m, const struct sn_trace_directory *all,
		     struct sn_measurement_thread *thread)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < all->name_count; i++)
		bytes += all->names[i].text_length;
	struct sn_node_record *nodes = sn_measurement_copy(m, thread->nodes, 1, all->name_count);
	struct texts texts = begin_texts(m, &thread->strings, all->name_count, bytes);
	if (m->arena.failed)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < all->name_count; i++) {
		const struct sn_trace_name *name = all->names + i;
		nodes[i + 1] = (struct sn_node_record){
		    .parent = name->parent == SN_ID_NONE ? 0 : name->parent + 1,
		    .own = i + 1,
		    .frame = {.kind = (uint8_t)name->frame_kind,
			      .id = add_text(&texts, name->text, name->text_length)}};
	}
	thread->strings = strings_of(&texts);
	thread->nodes = nodes;
	thread->node_count += all->name_count;
	return 0;
}

static uint64_t end_of(const struct sn_measurement *m, const struct sn_trace_directory *all)
{
	uint64_t end_ns = all->header.start_monotonic_ns;
	for (uint32_t i = 0; i < m->thread_count; i++)
		if (m->threads[i].record && m->threads[i].record->end_ns > end_ns)
			end_ns = m->threads[i].record->end_ns;
	return end_ns;
}

static int add_threads(struct sn_measurement *m, const struct sn_trace_directory *all,
		       const struct known *known)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < all->stream_count; i++)
		count += is_added(m, known, all->streams + i);
	uint64_t end_ns = end_of(m, all);
	struct sn_measurement_thread *threads =
	    sn_measurement_copy(m, m->threads, m->thread_count, count);
	struct added *added = sn_arena_array(&m->arena, struct added, count);
	m->trace_threads = sn_arena_array(&m->arena, uint32_t, all->stream_count);
	if (m->arena.failed)
		return SN_ERR_MEMORY;
	uint32_t first = m->thread_count;
	uint32_t index = first ? threads[first - 1].index + 1 : 0;
	for (uint32_t i = 0; i < all->stream_count; i++) {
		m->trace_threads[i] = SN_ID_NONE;
		if (!is_added(m, known, all->streams + i)) {
			m->trace_threads[i] = sn_measurement_thread_at(m, all->streams[i].thread);
			continue;
		}
		struct sn_measurement_thread *thread = threads + first + m->trace_added;
		thread->index = index++;
		add_thread(all, all->streams + i, end_ns, added++, thread);
		m->trace_threads[i] = first + m->trace_added++;
	}
	m->threads = threads;
	m->thread_count += m->trace_added;
	/* the first that is added, for want of any other */
	m->trace_names = m->trace_added && all->name_count ? first : SN_ID_NONE;
	return m->trace_names == SN_ID_NONE ? 0 : add_names(m, all, threads + first);
}

static int use_trace(struct sn_measurement *m, const char *path, const struct known *known)
{
	char *trace = sn_measurement_trace_path(path);
	if (!trace)
		return 0;
	/* one that cannot be read says so when its events are */
	int result = sn_trace_reader_open(trace, &m->trace, NULL);
	free(trace);
	if (result)
		return result == SN_ERR_MEMORY ? result : 0;
	const struct sn_trace_directory *all = sn_trace_reader_directory(m->trace);
	result = add_tables(m, all);
	return result ? result : add_threads(m, all, known);
}

int sn_measurement_use_trace(struct sn_measurement *m, const char *path)
{
	const struct known no_threads = {0};
	return use_trace(m, path, &no_threads);
}

/* ---- alone ---- */

/* PROCESS of a trace that has no measurement. */
static int describe(struct sn_measurement *m, const struct sn_trace_file_header *header)
{
	size_t bytes = sizeof(header->host) + sizeof(header->program) + 256;
	char *text = malloc(bytes);
	m->bytes = (unsigned char *)text;
	if (!text)
		return SN_ERR_MEMORY;
	int length = snprintf(
	    text, bytes,
	    "host=%s%cprogram=%s%cpid=%llu%cstart_realtime_ns=%llu%cstart_monotonic_ns=%llu",
	    header->host, 0, header->program, 0, (unsigned long long)header->pid, 0,
	    (unsigned long long)header->start_realtime_ns, 0,
	    (unsigned long long)header->start_monotonic_ns);
	m->process = text;
	m->process_bytes = (size_t)length + 1;
	return 0;
}

static int add_known(struct known *known, const char *path)
{
	struct sn_measurement *measurement;
	int result = 0;
	/* one that cannot be read says so when it is read for itself */
	if (sn_measurement_open(path, &measurement, NULL))
		return 0;
	uint64_t pid = sn_measurement_number(measurement, "pid");
	for (uint32_t i = 0; i < measurement->thread_count && !result; i++) {
		const struct sn_measurement_thread *thread = measurement->threads + i;
		if (!thread->stream && thread->record && pid)
			result = sn_vec_push(&known->keys, &known->capacity, &known->count,
					     (struct thread_key){pid, thread->record->tid});
	}
	sn_measurement_free(measurement);
	return result;
}

/* Which threads the measurements beside a trace have: their lines are those threads' own. */
static int find_known(const char *path, struct known *known)
{
	const char *slash = strrchr(path, '/');
	int result = 0;
	char *folder = slash ? strndup(path, (size_t)(slash - path + 1)) : strdup("./");
	DIR *directory = folder ? opendir(folder) : NULL;
	for (struct dirent *entry; directory && !result && (entry = readdir(directory));) {
		char *file;
		if (!sn_text_ends(entry->d_name, SN_MEASUREMENT_SUFFIX))
			continue;
		if (asprintf(&file, "%s%s", folder, entry->d_name) < 0)
			file = NULL;
		result = file ? add_known(known, file) : SN_ERR_MEMORY;
		free(file);
	}
	if (directory)
		closedir(directory);
	if (!folder)
		result = SN_ERR_MEMORY;
	free(folder);
	sort_keys(known->keys, known->count, NULL);
	return result;
}

int sn_measurement_open_trace(const char *path, bool is_process,
			      struct sn_measurement **measurement, struct sn_error *error)
{
	struct sn_trace_reader *reader;
	int result = sn_trace_reader_open(path, &reader, error);
	if (result)
		return result;
	struct sn_measurement *m = calloc(1, sizeof(*m));
	result = m ? describe(m, &sn_trace_reader_directory(reader)->header) : SN_ERR_MEMORY;
	sn_trace_reader_free(reader);
	if (m)
		m->is_final = m->is_trace = !is_process;
	struct known known = {0};
	if (!result && !is_process)
		result = find_known(path, &known);
	if (!result)
		result = use_trace(m, path, &known);
	free(known.keys);
	if (result) {
		sn_measurement_free(m);
		return sn_fail_prefix(error, sn_fail_memory(error), "cannot read '%s'", path);
	}
	*measurement = m;
	return 0;
}

/* ---- what events refer to ---- */

uint32_t sn_measurement_thread_at(const struct sn_measurement *m, uint32_t index)
{
	uint32_t at = sn_search(i, m->thread_count, m->threads[i].index < index);
	return at < m->thread_count && m->threads[at].index == index ? at : SN_ID_NONE;
}

uint32_t sn_measurement_node_of(const struct sn_measurement_thread *thread, uint32_t own)
{
	uint32_t at = sn_search(i, thread->node_count, thread->nodes[i].own < own);
	return at < thread->node_count && thread->nodes[at].own == own ? at : SN_ID_NONE;
}
