/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing, copying and checking a snapshot; see measurement_reader.h. */
#include "measurement_reader.h"
#include "measurement_graph.h"

#include "base/file_at.h"
#include "format/checksum.h"
#include "format/database/database.h"
#include "measurement_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A running program may overwrite both snapshots while they are being copied; then they are tried
 * anew. */
#define ATTEMPTS 4

/* Where bytes come from: a file, or memory. */
struct source {
	int fd; /* -1: memory */
	const unsigned char *memory;
	uint64_t length;
};

static int read_at(const struct source *source, uint64_t offset, void *bytes, size_t length)
{
	if (offset > source->length || length > source->length - offset)
		return -1;
	if (source->fd < 0) {
		memcpy(bytes, source->memory + offset, length);
		return 0;
	}
	return sn_read_at(source->fd, bytes, length, offset);
}

static int damaged(struct sn_error *error, const char *part)
{
	return sn_fail(error, SN_ERR_FORMAT, "damaged (%s)", part);
}

static int check_container(const struct sn_measurement *m, struct sn_error *error)
{
	const struct sn_container_header *header = (const void *)m->bytes;
	if (m->length < sizeof(*header) ||
	    memcmp(header->magic, SN_SNAPSHOT_MAGIC, sizeof(header->magic)))
		return damaged(error, "no snapshot where one should be");
	if (header->checksum != sn_checksum(header, offsetof(struct sn_container_header, checksum)))
		return damaged(error, "snapshot header checksum");
	if (header->version_major != SN_MEASUREMENT_VERSION_MAJOR)
		return sn_fail(error, SN_ERR_VERSION,
			       "written in version %u of the format, this program reads version %u",
			       header->version_major, SN_MEASUREMENT_VERSION_MAJOR);
	uint64_t table_bytes = header->section_count * (uint64_t)sizeof(struct sn_section_entry);
	if (header->length > m->length || header->table_offset % SN_SECTION_ALIGN ||
	    header->table_offset > header->length ||
	    table_bytes > header->length - header->table_offset)
		return damaged(error, "section table outside the snapshot");
	if (header->table_checksum != sn_checksum(m->bytes + header->table_offset, table_bytes))
		return damaged(error, "section table checksum");
	return 0;
}

static const struct sn_section_entry *section_table(const struct sn_measurement *m, uint32_t *count)
{
	const struct sn_container_header *header = (const void *)m->bytes;
	*count = header->section_count;
	return (const void *)(m->bytes + header->table_offset);
}

static bool is_known(const struct sn_section_entry *entry)
{
	return (entry->type >= SN_SNAPSHOT_PROCESS && entry->type <= SN_SNAPSHOT_VALUES) ||
	       entry->type == SN_SNAPSHOT_GRAPH || entry->type == SN_SNAPSHOT_STREAM;
}

static int check_section(const struct sn_measurement *m, const struct sn_section_entry *entry,
			 struct sn_error *error)
{
	if (!is_known(entry))
		return 0;
	if (entry->offset % SN_SECTION_ALIGN || entry->offset > m->length ||
	    entry->length > m->length - entry->offset)
		return damaged(error, "section outside the snapshot");
	if (entry->version != 1)
		return sn_fail(error, SN_ERR_VERSION,
			       "section %u has version %u, this program reads version 1",
			       entry->type, entry->version);
	if (entry->checksum != sn_checksum(m->bytes + entry->offset, entry->length))
		return damaged(error, "section checksum");
	return 0;
}

/* Counts the threads and makes room for them. */
static int list_threads(struct sn_measurement *m, struct sn_error *error)
{
	uint32_t count, listed = 0;
	const struct sn_section_entry *table = section_table(m, &count);
	for (uint32_t i = 0; i < count; i++)
		m->thread_count += table[i].type == SN_SNAPSHOT_THREAD;
	m->threads = sn_arena_array(&m->arena, struct sn_measurement_thread, m->thread_count);
	if (!m->threads)
		return sn_fail_memory(error);
	for (uint32_t i = 0; i < count; i++) {
		if (table[i].type != SN_SNAPSHOT_THREAD)
			continue;
		if (listed && table[i].index <= m->threads[listed - 1].index)
			return damaged(error, "threads out of order");
		m->threads[listed++].index = table[i].index;
	}
	return 0;
}

/* The records of a section; false where there are too many, part of one, or the section came
 * before. */
static bool records(const struct sn_measurement *m, const struct sn_section_entry *entry,
		    size_t record_bytes, const void *array_pointer, size_t *count)
{
	const void **array = (const void **)(uintptr_t)array_pointer;
	bool is_first = !*array;
	*array = m->bytes + entry->offset;
	*count = entry->length / record_bytes;
	return is_first && entry->length % record_bytes == 0 && *count < SN_ID_NONE;
}

/* The same into an array and its count, of any type. */
#define RECORDS(array, count)                                                                      \
	({                                                                                         \
		size_t sn_count;                                                                   \
		bool sn_is_whole = records(m, entry, sizeof(*(array)), &(array), &sn_count);       \
		(count) = (__typeof__(count))sn_count;                                             \
		sn_is_whole;                                                                       \
	})

static bool read_strings(const struct sn_measurement *m, const struct sn_section_entry *entry,
			 struct sn_measurement_strings *strings)
{
	const struct sn_strings_record *record = (const void *)(m->bytes + entry->offset);
	if (strings->offsets || entry->length < sizeof(*record) || record->count == SN_ID_NONE)
		return false;
	uint64_t table_bytes = ((record->count + 2ull) & ~1ull) * sizeof(uint32_t);
	if (table_bytes > entry->length - sizeof(*record))
		return false;
	uint64_t text_bytes = entry->length - sizeof(*record) - table_bytes;
	strings->count = record->count;
	strings->offsets = (const void *)(record + 1);
	strings->bytes = (const char *)(record + 1) + table_bytes;
	for (uint32_t i = 0; i < record->count; i++)
		if (strings->offsets[i + 1] < strings->offsets[i])
			return false;
	return strings->offsets[0] == 0 && strings->offsets[record->count] <= text_bytes;
}

static bool read_thread_section(struct sn_measurement *m, const struct sn_section_entry *entry)
{
	uint32_t at = sn_measurement_thread_at(m, entry->index);
	struct sn_measurement_thread *thread = m->threads + at;
	size_t count;
	if (at == SN_ID_NONE)
		return false;
	switch (entry->type) {
	case SN_SNAPSHOT_STRINGS:
		return read_strings(m, entry, &thread->strings);
	case SN_SNAPSHOT_THREAD:
		return RECORDS(thread->record, count) && count == 1;
	case SN_SNAPSHOT_STREAM:
		return RECORDS(thread->stream, count) && count == 1;
	case SN_SNAPSHOT_CODES:
		return RECORDS(thread->codes, thread->code_count);
	case SN_SNAPSHOT_NODES:
		return RECORDS(thread->nodes, thread->node_count);
	default:
		return RECORDS(thread->values, thread->value_count);
	}
}

static bool read_section(struct sn_measurement *m, const struct sn_section_entry *entry)
{
	switch (entry->type) {
	case SN_SNAPSHOT_PROCESS:
		return RECORDS(m->process, m->process_bytes) &&
		       (!m->process_bytes || !m->process[m->process_bytes - 1]);
	case SN_SNAPSHOT_MODULES:
		return RECORDS(m->modules, m->module_count);
	case SN_SNAPSHOT_METRICS:
		return RECORDS(m->metrics, m->metric_count);
	case SN_SNAPSHOT_DROPS:
		return RECORDS(m->drops, m->drop_count);
	case SN_SNAPSHOT_GRAPH:
		return RECORDS(m->graph, m->graph_bytes) &&
		       sn_measurement_graph_parse(m->graph, m->graph_bytes,
						  &(struct sn_measurement_graph){0});
	case SN_SNAPSHOT_STRINGS:
		if (entry->index == SN_ID_NONE)
			return read_strings(m, entry, &m->strings);
	}
	return read_thread_section(m, entry);
}

static bool has_string(const struct sn_measurement_strings *strings, uint32_t id)
{
	return id < strings->count || id == SN_ID_NONE;
}

static bool check_process(const struct sn_measurement *m)
{
	/* only the map beside the file is one (measurement_perf_map.c): a path in it is no map.
	 * They lie in the copy of the file that the measurement owns. */
	for (uint32_t i = 0; i < m->module_count; i++)
		((struct sn_module_record *)m->modules)[i].flags &= ~(uint32_t)SN_MODULE_PERF_MAP;
	for (uint32_t i = 0; i < m->module_count; i++)
		if (!has_string(&m->strings, m->modules[i].path) ||
		    m->modules[i].build_id_bytes > sizeof(m->modules[i].build_id))
			return false;
	for (uint32_t i = 0; i < m->metric_count; i++)
		if (!has_string(&m->strings, m->metrics[i].name) ||
		    !has_string(&m->strings, m->metrics[i].unit) ||
		    !has_string(&m->strings, m->metrics[i].source))
			return false;
	for (uint32_t i = 0; i < m->drop_count; i++)
		if (!has_string(&m->strings, m->drops[i].cause))
			return false;
	return true;
}

static bool check_frame(const struct sn_measurement *m, const struct sn_measurement_thread *thread,
			const struct sn_frame *frame)
{
	if (frame->id == SN_ID_NONE)
		return true;
	switch (frame->kind) {
	case SN_FRAME_NATIVE:
	case SN_FRAME_GPU_INSTRUCTION:
		return frame->id < m->module_count;
	case SN_FRAME_PYTHON:
		return frame->id < thread->code_count;
	case SN_FRAME_THREAD:
		return true; /* means nothing */
	default:
		/* a kind this program does not know: its id is not looked at */
		return frame->kind >= SN_FRAME_KIND_COUNT || frame->id < thread->strings.count;
	}
}

static bool check_thread(const struct sn_measurement *m, const struct sn_measurement_thread *thread)
{
	if (!thread->record || !has_string(&thread->strings, thread->record->name))
		return false;
	for (uint32_t i = 0; i < thread->code_count; i++)
		if (!has_string(&thread->strings, thread->codes[i].file) ||
		    !has_string(&thread->strings, thread->codes[i].name))
			return false;
	for (uint32_t i = 0; i < thread->node_count; i++) {
		const struct sn_node_record *node = thread->nodes + i;
		if ((i ? node->parent >= i : node->parent) || !check_frame(m, thread, &node->frame))
			return false;
	}
	for (size_t i = 0; i < thread->value_count; i++)
		if (thread->values[i].node >= thread->node_count ||
		    thread->values[i].metric >= m->metric_count ||
		    !isfinite(thread->values[i].sum_squares))
			return false;
	return true;
}

static int check_snapshot(struct sn_measurement *m, struct sn_error *error)
{
	int result = check_container(m, error);
	if (!result)
		result = list_threads(m, error);
	if (result)
		return result;
	uint32_t count;
	const struct sn_section_entry *table = section_table(m, &count);
	for (uint32_t i = 0; i < count; i++) {
		result = check_section(m, table + i, error);
		if (result)
			return result;
		if (is_known(table + i) && !read_section(m, table + i))
			return damaged(error, "inconsistent section");
	}
	if (!check_process(m))
		return damaged(error, "inconsistent modules, metrics or drops");
	for (uint32_t i = 0; i < m->thread_count; i++)
		if (!check_thread(m, m->threads + i))
			return damaged(error, "inconsistent thread");
	return 0;
}

static int read_snapshot(const struct source *source, const struct sn_commit_slot *slot,
			 struct sn_measurement **measurement, struct sn_error *error)
{
	if (slot->offset < SN_MEASUREMENT_PAGE_BYTES || slot->offset > source->length ||
	    slot->length > source->length - slot->offset)
		return sn_fail(error, SN_ERR_FORMAT, "truncated");
	struct sn_measurement *m = calloc(1, sizeof(*m));
	/* one byte more: malloc(0) may be NULL */
	unsigned char *bytes = m ? malloc(slot->length + 1) : NULL;
	if (!bytes) {
		free(m);
		return sn_fail_memory(error);
	}
	m->bytes = bytes;
	m->length = slot->length;
	m->sequence = slot->sequence;
	m->is_final = slot->is_final == 1;
	int result = read_at(source, slot->offset, bytes, slot->length)
			 ? sn_fail(error, SN_ERR_FORMAT, "the file shrank while it was read")
			 : check_snapshot(m, error);
	if (result)
		sn_measurement_free(m);
	else
		*measurement = m;
	return result;
}

/* The header page's two slots, the newer one first; an invalid one has sequence 0. */
static int read_slots(const struct source *source, struct sn_commit_slot *slots,
		      struct sn_losses_record *losses, struct sn_error *error)
{
	struct sn_measurement_header header;
	unsigned char page[SN_MEASUREMENT_PAGE_BYTES];
	if (!source->length)
		return sn_fail(error, SN_ERR_FORMAT, "not a Sonde measurement (empty file)");
	bool is_short = read_at(source, 0, &header, sizeof(header));
	if (!is_short && !memcmp(header.magic, SN_DATABASE_MAGIC, sizeof(header.magic)))
		return sn_fail(error, SN_ERR_FORMAT,
			       "a Sonde database already ('sonde report' reads it)");
	if (is_short || memcmp(header.magic, SN_MEASUREMENT_MAGIC, sizeof(header.magic)))
		return sn_fail(error, SN_ERR_FORMAT, "not a Sonde measurement (bad magic)");
	if (header.version_major != SN_MEASUREMENT_VERSION_MAJOR)
		return sn_fail(error, SN_ERR_VERSION,
			       "written in version %u of the format, this program reads version %u",
			       header.version_major, SN_MEASUREMENT_VERSION_MAJOR);
	if (header.checksum !=
	    sn_checksum(&header, offsetof(struct sn_measurement_header, checksum)))
		return damaged(error, "header checksum");
	if (read_at(source, 0, page, sizeof(page)))
		return sn_fail(error, SN_ERR_FORMAT, "truncated (no complete header)");
	memcpy(losses, page + SN_LOSSES_OFFSET, sizeof(*losses));
	for (unsigned i = 0; i < 2; i++) {
		memcpy(slots + i, page + SN_COMMIT_SLOT_OFFSET(i), sizeof(*slots));
		if (slots[i].checksum !=
		    sn_checksum(slots + i, offsetof(struct sn_commit_slot, checksum)))
			slots[i].sequence = 0;
	}
	if (slots[1].sequence > slots[0].sequence) {
		struct sn_commit_slot newer = slots[1];
		slots[1] = slots[0];
		slots[0] = newer;
	}
	if (!slots[0].sequence)
		return sn_fail(error, SN_ERR_MISSING,
			       "nothing was recorded before the program ended");
	return 0;
}

static int read_newest(const struct source *source, struct sn_measurement **measurement,
		       struct sn_error *error)
{
	struct sn_commit_slot slots[2];
	struct sn_losses_record losses;
	int result = read_slots(source, slots, &losses, error);
	if (result)
		return result;
	struct sn_error older_error;
	result = read_snapshot(source, slots, measurement, error);
	bool is_fallback = result && slots[1].sequence &&
			   !read_snapshot(source, slots + 1, measurement, &older_error);
	if (result && !is_fallback)
		return result; /* what is wrong with the newer one tells more */
	(*measurement)->is_fallback = is_fallback;
	(*measurement)->losses = losses;
	return 0;
}

int sn_measurement_parse(const void *bytes, size_t length, const char *name,
			 struct sn_measurement **measurement, struct sn_error *error)
{
	struct source source = {-1, bytes, length};
	int result = read_newest(&source, measurement, error);
	return result ? sn_fail_prefix(error, result, "cannot read '%s'", name) : 0;
}

static int open_file(const char *path, struct source *source, struct sn_error *error)
{
	/* O_NONBLOCK: opening a pipe must not wait for its writer. O_NOFOLLOW: who made the folder
	 * does not choose what else is read */
	source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	struct stat status;
	if (source->fd < 0 || fstat(source->fd, &status) < 0)
		return sn_fail(error, SN_ERR_IO, "%s", strerror(errno));
	if (!S_ISREG(status.st_mode))
		return sn_fail(error, SN_ERR_FORMAT, "not a regular file");
	source->length = (uint64_t)status.st_size;
	return 0;
}

int sn_measurement_open(const char *path, struct sn_measurement **measurement,
			struct sn_error *error)
{
	int result = SN_ERR_IO;
	if (sn_measurement_is_trace(path))
		return sn_measurement_open_trace(path, false, measurement, error);
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct source source = {.fd = -1};
		bool is_fallback = false;
		result = open_file(path, &source, error);
		if (!result) {
			result = read_newest(&source, measurement, error);
			is_fallback = !result && (*measurement)->is_fallback;
		}
		if (source.fd >= 0)
			close(source.fd);
		bool is_last = attempt == ATTEMPTS - 1;
		if (result ? result != SN_ERR_FORMAT : !is_fallback || is_last)
			break;
		if (!result)
			sn_measurement_free(*measurement);
	}
	if (!result && (sn_measurement_use_perf_map(*measurement, path) < 0 ||
			sn_measurement_use_device_code(*measurement, path) < 0 ||
			sn_measurement_use_trace(*measurement, path) < 0)) {
		sn_measurement_free(*measurement);
		result = sn_fail_memory(error);
	}
	/* killed before its first checkpoint: the trace is all there is */
	char *trace = result == SN_ERR_MISSING ? sn_measurement_trace_path(path) : NULL;
	if (trace && !sn_measurement_open_trace(trace, true, measurement, NULL))
		result = 0;
	free(trace);
	return result ? sn_fail_prefix(error, result, "cannot read '%s'", path) : 0;
}

void sn_measurement_free(struct sn_measurement *measurement)
{
	if (!measurement)
		return;
	sn_trace_reader_free(measurement->trace);
	sn_arena_release(&measurement->arena);
	free(measurement->bytes);
	free(measurement);
}

void *sn_measurement_copy_bytes(struct sn_measurement *measurement, const void *table, size_t bytes,
				size_t more)
{
	void *copy = sn_arena_allocate(&measurement->arena, bytes + more);
	if (copy && bytes)
		memcpy(copy, table, bytes);
	return copy;
}

const char *sn_measurement_string(const struct sn_measurement_strings *strings, uint32_t id,
				  size_t *length)
{
	*length = 0;
	if (id >= strings->count)
		return NULL;
	*length = strings->offsets[id + 1] - strings->offsets[id];
	return strings->bytes + strings->offsets[id];
}

const char *sn_measurement_next_property(const struct sn_measurement *measurement,
					 const char *property)
{
	if (!measurement->process_bytes)
		return NULL;
	const char *next = property ? property + strlen(property) + 1 : measurement->process;
	return next < measurement->process + measurement->process_bytes ? next : NULL;
}

const char *sn_measurement_property(const struct sn_measurement *measurement, const char *key)
{
	size_t length = strlen(key);
	const char *property = NULL;
	while ((property = sn_measurement_next_property(measurement, property)))
		if (!strncmp(property, key, length) && property[length] == '=')
			return property + length + 1;
	return NULL;
}

uint64_t sn_measurement_number(const struct sn_measurement *measurement, const char *key)
{
	const char *text = sn_measurement_property(measurement, key);
	return text ? strtoull(text, NULL, 10) : 0;
}
