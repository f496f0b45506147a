/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a snapshot; see snapshot.h.
 *
 * Other threads continue measuring meanwhile. The amount of data of each thread is fixed at the
 * beginning: first the number of values, then of contexts, codes and strings. Each of these is
 * published after the data to which it refers, so every written reference is valid. Contexts
 * without values at or below them are left out, and the rest is renumbered.
 */
#include "snapshot.h"
#include "graph.h"
#include "collect/unwind/module_list.h"
#include "property.h"
#include "collect/core/thread.h"
#include "trace.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES	     ((size_t)65536)
/* Metrics, drops and their names, and what is loaded between the bound and the write. */
#define PROCESS_MARGIN_BYTES 16384u
#define SECTIONS_PER_THREAD  5u
#define SECTIONS_PER_PROCESS 6u

struct sn_thread_extent {
	uint32_t values, nodes, codes, strings;
	uint64_t text_bytes;
	uint32_t *number; /* of each node in the file, SN_ID_NONE where it is left out */
};

/* ---- output ---- */

static void flush(struct sn_snapshot *out)
{
	size_t written = 0;
	while (written < out->buffered && !out->status) {
		ssize_t got =
		    pwrite(out->fd, out->buffer + written, out->buffered - written,
			   (off_t)(out->file_offset + out->position - out->buffered + written));
		if (got > 0)
			written += (size_t)got;
		else if (got == 0 || errno != EINTR)
			out->status = got == 0 ? -EIO : -errno;
	}
	out->buffered = 0;
}

static void put_raw(struct sn_snapshot *out, const void *data, size_t length)
{
	const unsigned char *bytes = data;
	while (length) {
		size_t room = BUFFER_BYTES - out->buffered;
		size_t part = length < room ? length : room;
		memcpy(out->buffer + out->buffered, bytes, part);
		out->buffered += part;
		out->position += part;
		bytes += part;
		length -= part;
		if (out->buffered == BUFFER_BYTES)
			flush(out);
	}
}

static void put(struct sn_snapshot *out, const void *data, size_t length)
{
	sn_checksum_update(&out->checksum, data, length);
	put_raw(out, data, length);
}

static void section_begin(struct sn_snapshot *out, uint32_t type, uint32_t index)
{
	static const unsigned char zeroes[SN_SECTION_ALIGN];
	put_raw(out, zeroes, -out->position & (SN_SECTION_ALIGN - 1));
	sn_checksum_init(&out->checksum);
	out->entries[out->entry_count] = (struct sn_section_entry){
	    .type = type, .version = 1, .index = index, .offset = out->position};
}

static void section_end(struct sn_snapshot *out)
{
	struct sn_section_entry *entry = &out->entries[out->entry_count++];
	entry->length = out->position - entry->offset;
	entry->checksum = sn_checksum_final(&out->checksum);
}

/* ---- a thread's sections ---- */

/* `extra` (NULL: none) is written after the array's strings, with the number `count`. */
static void put_string_offsets(struct sn_snapshot *out, const struct sn_array *strings,
			       uint32_t count, const char *extra)
{
	struct sn_strings_record record = {.count = count + (extra != NULL)};
	put(out, &record, sizeof(record));
	uint32_t offset = 0;
	for (uint32_t index = 0; index < count; index++) {
		put(out, &offset, sizeof(offset));
		offset += ((struct sn_cct_string *)sn_array_at(strings, index))->length;
	}
	put(out, &offset, sizeof(offset));
	if (extra) {
		offset += (uint32_t)strlen(extra);
		put(out, &offset, sizeof(offset));
	}
	/* the text starts at a multiple of 8 */
	if ((record.count + 1) % 2)
		put(out, &(uint32_t){0}, sizeof(uint32_t));
}

static void write_strings(struct sn_snapshot *out, uint32_t owner, const struct sn_array *strings,
			  uint32_t count, const char *extra)
{
	section_begin(out, SN_SNAPSHOT_STRINGS, owner);
	put_string_offsets(out, strings, count, extra);
	for (uint32_t index = 0; index < count; index++) {
		const struct sn_cct_string *string = sn_array_at(strings, index);
		put(out, string->text, string->length);
	}
	if (extra)
		put(out, extra, strlen(extra));
	section_end(out);
}

static void write_codes(struct sn_snapshot *out, const struct sn_thread *thread,
			const struct sn_thread_extent *extent)
{
	section_begin(out, SN_SNAPSHOT_CODES, thread->index);
	for (uint32_t index = 0; index < extent->codes; index++) {
		const struct sn_cct_code *code = sn_array_at(&thread->cct.codes, index);
		put(out, &code->record, sizeof(code->record));
	}
	section_end(out);
}

/* Keeps a context and those that it is under. */
static void keep_path(const struct sn_cct *cct, struct sn_thread_extent *extent, uint32_t node)
{
	while (extent->number[node] == SN_ID_NONE) {
		extent->number[node] = 0;
		node = ((struct sn_cct_node *)sn_array_at(&cct->nodes, node))->record.parent;
	}
}

/* Numbers the contexts that have a value or an event, or a descendant with one; the root always. */
static void number_nodes(const struct sn_thread *thread, struct sn_thread_extent *extent)
{
	const struct sn_cct *cct = &thread->cct;
	memset(extent->number, 0xff, extent->nodes * sizeof(uint32_t));
	extent->number[SN_NODE_ROOT] = 0;
	for (uint32_t index = cct->first_live_value; index < extent->values; index++) {
		const struct sn_cct_value *value = sn_array_at(&cct->values, index);
		keep_path(cct, extent, value->record.node);
	}
	uint32_t trace = sn_trace_sources() ? sn_trace_generation() : 0;
	for (uint32_t node = 0; trace && node < extent->nodes; node++) {
		struct sn_cct_node *element = sn_array_at(&cct->nodes, node);
		if (__atomic_load_n(&element->record.own, __ATOMIC_RELAXED) == trace)
			keep_path(cct, extent, node);
	}
	uint32_t next = 0;
	for (uint32_t node = 0; node < extent->nodes; node++)
		if (extent->number[node] != SN_ID_NONE)
			extent->number[node] = next++;
}

static void write_nodes(struct sn_snapshot *out, const struct sn_thread *thread,
			const struct sn_thread_extent *extent)
{
	section_begin(out, SN_SNAPSHOT_NODES, thread->index);
	for (uint32_t index = 0; index < extent->nodes; index++) {
		if (extent->number[index] == SN_ID_NONE)
			continue;
		struct sn_node_record record =
		    ((struct sn_cct_node *)sn_array_at(&thread->cct.nodes, index))->record;
		record.parent = extent->number[record.parent];
		record.own = index;
		put(out, &record, sizeof(record));
	}
	section_end(out);
}

static void write_values(struct sn_snapshot *out, const struct sn_thread *thread,
			 const struct sn_thread_extent *extent)
{
	section_begin(out, SN_SNAPSHOT_VALUES, thread->index);
	for (uint32_t index = thread->cct.first_live_value; index < extent->values; index++) {
		const struct sn_cct_value *value = sn_array_at(&thread->cct.values, index);
		struct sn_value_record record;
		sn_cct_value_read(value, &record);
		record.node = extent->number[record.node];
		if (record.count)
			put(out, &record, sizeof(record));
	}
	section_end(out);
}

static void write_thread(struct sn_snapshot *out, const struct sn_thread *thread,
			 struct sn_thread_extent *extent)
{
	bool ended = atomic_load_explicit(&thread->ended, memory_order_acquire);
	struct sn_thread_record record = {
	    .tid = (uint64_t)thread->tid,
	    .start_ns = thread->start_ns,
	    .end_ns = ended ? thread->end_ns : sn_now_ns(),
	    .cpu_ns = thread->cpu_ns,
	    .name = extent->strings, /* written after the thread's own strings */
	    .flags = thread->flags | (ended ? SN_THREAD_ENDED : 0),
	    .samples = thread->samples,
	    .own_ns = thread->own_ns,
	};
	section_begin(out, SN_SNAPSHOT_THREAD, thread->index);
	put(out, &record, sizeof(record));
	section_end(out);
	write_strings(out, thread->index, &thread->cct.strings, extent->strings, thread->name);
	write_codes(out, thread, extent);
	number_nodes(thread, extent);
	write_nodes(out, thread, extent);
	write_values(out, thread, extent);
}

/* ---- the process's sections ---- */

/* The process's strings are few: they are collected here, in the order in which they are used. */
struct process_strings {
	struct sn_array strings;
};

static uint32_t process_string(struct process_strings *strings, const char *text)
{
	uint32_t index = sn_array_reserve(&strings->strings);
	if (index == UINT32_MAX)
		return SN_ID_NONE;
	struct sn_cct_string *string = sn_array_at(&strings->strings, index);
	*string = (struct sn_cct_string){.text = text, .length = (uint32_t)strlen(text)};
	sn_array_commit(&strings->strings);
	return index;
}

static void write_modules(struct sn_snapshot *out, struct process_strings *strings)
{
	section_begin(out, SN_SNAPSHOT_MODULES, 0);
	uint32_t count = sn_module_count();
	for (uint32_t index = 0; index < count; index++) {
		const struct sn_module *module = sn_module_at(index);
		struct sn_module_record record = {
		    .start = module->start,
		    .end = module->end,
		    .bias = module->bias,
		    .path = process_string(strings, module->path),
		    .flags = module->flags,
		    .build_id_bytes = module->build_id_bytes,
		};
		if (atomic_load_explicit(&module->dead, memory_order_relaxed))
			record.flags |= SN_MODULE_UNLOADED;
		memcpy(record.build_id, module->build_id, sizeof(record.build_id));
		put(out, &record, sizeof(record));
	}
	section_end(out);
}

static void write_metrics(struct sn_snapshot *out, struct process_strings *strings)
{
	section_begin(out, SN_SNAPSHOT_METRICS, 0);
	uint32_t count = sn_metric_count();
	for (uint32_t index = 0; index < count; index++) {
		const struct sn_metric_info *info = sn_metric_at(index);
		struct sn_metric_record record = {
		    .name = process_string(strings, info->name),
		    .unit = process_string(strings, info->unit),
		    .source = process_string(strings, info->source),
		    .kind = info->kind,
		    .period = info->period,
		};
		put(out, &record, sizeof(record));
	}
	section_end(out);
}

static void write_drops(struct sn_snapshot *out, struct process_strings *strings)
{
	section_begin(out, SN_SNAPSHOT_DROPS, 0);
	for (enum sn_drop cause = 0; cause < SN_DROP_COUNT; cause++) {
		struct sn_drop_record record = {.cause =
						    process_string(strings, sn_drop_name(cause)),
						.count = sn_drops(cause)};
		if (record.count)
			put(out, &record, sizeof(record));
	}
	section_end(out);
}

static void put_graph(void *out, const void *bytes, size_t length)
{
	put(out, bytes, length);
}

static void write_process(struct sn_snapshot *out)
{
	struct process_strings strings;
	sn_array_init(&strings.strings, sizeof(struct sn_cct_string), 6);
	section_begin(out, SN_SNAPSHOT_PROCESS, 0);
	char line[SN_PROPERTY_LINE_BYTES];
	for (uint32_t index = 0;; index++) {
		size_t length = sn_property_line(index, out->exit_text, line);
		if (!length)
			break;
		put(out, line, length);
	}
	section_end(out);
	write_modules(out, &strings);
	write_metrics(out, &strings);
	write_drops(out, &strings);
	write_strings(out, SN_ID_NONE, &strings.strings, sn_array_count(&strings.strings), NULL);
	sn_array_release(&strings.strings);
	if (out->has_graph) {
		section_begin(out, SN_SNAPSHOT_GRAPH, 0);
		sn_graph_write(put_graph, out);
		section_end(out);
	}
}

/* ---- the whole ---- */

static uint64_t fix_extent(const struct sn_thread *thread, struct sn_thread_extent *extent)
{
	const struct sn_cct *cct = &thread->cct;
	extent->values = sn_array_count(&cct->values);
	extent->nodes = sn_array_count(&cct->nodes);
	extent->codes = sn_array_count(&cct->codes);
	extent->strings = sn_array_count(&cct->strings);
	for (uint32_t index = 0; index < extent->strings; index++)
		extent->text_bytes +=
		    ((struct sn_cct_string *)sn_array_at(&cct->strings, index))->length;
	return extent->values * sizeof(struct sn_value_record) +
	       extent->nodes * sizeof(struct sn_node_record) +
	       extent->codes * sizeof(struct sn_code_record) + extent->strings * 4ull +
	       extent->text_bytes + 1024;
}

static void *carve(unsigned char **free_space, size_t bytes)
{
	unsigned char *place = *free_space;
	*free_space += (bytes + 63) & ~(size_t)63;
	return place;
}

/* What the process's sections take, and a margin. */
static uint64_t process_bound(void)
{
	uint64_t bytes = PROCESS_MARGIN_BYTES;
	char line[SN_PROPERTY_LINE_BYTES];
	uint32_t modules = sn_module_count();
	for (uint32_t index = 0; index < modules; index++)
		bytes += sizeof(struct sn_module_record) + 4 + strlen(sn_module_at(index)->path);
	for (uint32_t index = 0;; index++) {
		size_t length = sn_property_line(index, "", line);
		if (!length)
			return bytes;
		bytes += length;
	}
}

int sn_snapshot_begin(struct sn_snapshot *out, const char *exit_text)
{
	memset(out, 0, sizeof(*out));
	out->exit_text = exit_text;
	out->thread_count = sn_thread_count();
	uint32_t entries = SECTIONS_PER_PROCESS + SECTIONS_PER_THREAD * out->thread_count;
	size_t fixed = BUFFER_BYTES + entries * sizeof(struct sn_section_entry) +
		       out->thread_count * sizeof(struct sn_thread_extent) + 256;
	size_t nodes = 0;
	for (uint32_t index = 0; index < out->thread_count; index++)
		nodes += sn_array_count(&sn_thread_at(index)->cct.nodes) + 4096u;
	out->scratch_bytes = fixed + nodes * sizeof(uint32_t) + 64 * out->thread_count;
	out->scratch = sn_pages_map(out->scratch_bytes);
	if (!out->scratch)
		return -ENOMEM;
	unsigned char *free_space = out->scratch;
	out->buffer = carve(&free_space, BUFFER_BYTES);
	out->entries = carve(&free_space, entries * sizeof(struct sn_section_entry));
	out->extents = carve(&free_space, out->thread_count * sizeof(struct sn_thread_extent));
	out->bound_bytes = process_bound() + entries * (sizeof(struct sn_section_entry) + 8ull);
	uint64_t graph_bytes = sn_graph_bound();
	out->has_graph = graph_bytes > 0;
	out->bound_bytes += graph_bytes;
	unsigned char *end = (unsigned char *)out->scratch + out->scratch_bytes;
	for (uint32_t index = 0; index < out->thread_count; index++) {
		struct sn_thread_extent *extent = &out->extents[index];
		out->bound_bytes += fix_extent(sn_thread_at(index), extent);
		size_t bytes = extent->nodes * sizeof(uint32_t);
		if (bytes > (size_t)(end - free_space)) { /* grew by more than the margin */
			sn_snapshot_end(out);
			return -EAGAIN;
		}
		extent->number = carve(&free_space, bytes);
	}
	return 0;
}

int sn_snapshot_write(struct sn_snapshot *out, int fd, uint64_t offset)
{
	struct sn_container_header header = {.version_major = SN_MEASUREMENT_VERSION_MAJOR,
					     .version_minor = SN_MEASUREMENT_VERSION_MINOR};
	out->fd = fd;
	out->file_offset = offset;
	put_raw(out, &header, sizeof(header));
	write_process(out);
	for (uint32_t index = 0; index < out->thread_count; index++)
		write_thread(out, sn_thread_at(index), &out->extents[index]);
	put_raw(out, &(uint64_t){0}, -out->position & (SN_SECTION_ALIGN - 1));
	size_t table_bytes = out->entry_count * sizeof(struct sn_section_entry);
	memcpy(header.magic, SN_SNAPSHOT_MAGIC, sizeof(header.magic));
	header.section_count = out->entry_count;
	header.table_offset = out->position;
	header.table_checksum = sn_checksum(out->entries, table_bytes);
	put_raw(out, out->entries, table_bytes);
	header.length = out->length = out->position;
	header.checksum = sn_checksum(&header, offsetof(struct sn_container_header, checksum));
	flush(out);
	if (!out->status && pwrite(fd, &header, sizeof(header), (off_t)offset) != sizeof(header))
		out->status = -EIO;
	return out->status;
}

void sn_snapshot_end(struct sn_snapshot *out)
{
	sn_pages_unmap(out->scratch, out->scratch_bytes);
	out->scratch = NULL;
}
