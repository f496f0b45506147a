/* SPDX-License-Identifier: Apache-2.0 */
/* Measurement files from known numbers; see measurement_fixture.h. */
#include "measurement_fixture.h"

#include "base/intern.h"
#include "format/checksum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Bytes that grow. */
struct bytes {
	unsigned char *at;
	size_t length;
};

struct thread {
	struct sn_thread_record record;
	struct sn_stream_record stream;
	bool is_stream;
	struct sn_intern strings;
	struct bytes codes, nodes, values;
};

struct measurement_fixture {
	struct sn_intern strings;
	struct bytes process, modules, metrics, drops;
	struct thread threads[64];
	uint32_t thread_count;
	uint64_t sequence;
	struct bytes snapshot, table; /* while committing */
};

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static uint32_t append(struct bytes *bytes, const void *data, size_t length)
{
	uint32_t position = (uint32_t)(length ? bytes->length / length : 0);
	bytes->at = must(realloc(bytes->at, bytes->length + length + 1));
	memcpy(bytes->at + bytes->length, data, length);
	bytes->length += length;
	return position;
}

static uint32_t string(struct sn_intern *strings, const char *text)
{
	return text ? sn_intern_add(strings, text, strlen(text)) : SN_ID_NONE;
}

struct measurement_fixture *measurement_fixture_new(void)
{
	return must(calloc(1, sizeof(struct measurement_fixture)));
}

void measurement_fixture_free(struct measurement_fixture *fixture)
{
	for (uint32_t i = 0; i < fixture->thread_count; i++) {
		sn_intern_release(&fixture->threads[i].strings);
		free(fixture->threads[i].codes.at);
		free(fixture->threads[i].nodes.at);
		free(fixture->threads[i].values.at);
	}
	sn_intern_release(&fixture->strings);
	free(fixture->process.at);
	free(fixture->modules.at);
	free(fixture->metrics.at);
	free(fixture->drops.at);
	free(fixture->snapshot.at);
	free(fixture->table.at);
	free(fixture);
}

void measurement_fixture_property(struct measurement_fixture *fixture, const char *line)
{
	append(&fixture->process, line, strlen(line) + 1);
}

uint32_t measurement_fixture_module(struct measurement_fixture *fixture, const char *path,
				    uint64_t bias, const char *build_id, size_t build_id_bytes)
{
	struct sn_module_record record = {
	    .start = bias + 0x1000,
	    .end = bias + 0x100000,
	    .bias = bias,
	    .path = string(&fixture->strings, path),
	    .build_id_bytes = (uint32_t)build_id_bytes,
	};
	memcpy(record.build_id, build_id, build_id_bytes);
	/* every second one has been unloaded, which must not matter */
	if (fixture->modules.length / sizeof(record) % 2)
		record.flags = SN_MODULE_UNLOADED;
	return append(&fixture->modules, &record, sizeof(record));
}

uint32_t measurement_fixture_metric(struct measurement_fixture *fixture, const char *name,
				    const char *unit, enum sn_metric_kind kind, uint64_t period)
{
	struct sn_metric_record record = {
	    .name = string(&fixture->strings, name),
	    .unit = string(&fixture->strings, unit),
	    .source = string(&fixture->strings, "fixture"),
	    .kind = kind,
	    .period = period,
	};
	return append(&fixture->metrics, &record, sizeof(record));
}

void measurement_fixture_drop(struct measurement_fixture *fixture, const char *cause,
			      uint64_t count)
{
	struct sn_drop_record record = {string(&fixture->strings, cause), 0, count};
	append(&fixture->drops, &record, sizeof(record));
}

uint32_t measurement_fixture_thread(struct measurement_fixture *fixture, const char *name,
				    struct sn_thread_record record)
{
	struct thread *thread = fixture->threads + fixture->thread_count;
	if (fixture->thread_count == sizeof(fixture->threads) / sizeof(*fixture->threads))
		abort();
	thread->record = record;
	thread->record.name = string(&thread->strings, name);
	struct sn_node_record root = {.frame = {.kind = SN_FRAME_THREAD}};
	append(&thread->nodes, &root, sizeof(root));
	return fixture->thread_count++;
}

void measurement_fixture_stream(struct measurement_fixture *fixture, uint32_t thread,
				struct sn_stream_record record)
{
	fixture->threads[thread].stream = record;
	fixture->threads[thread].is_stream = true;
}

uint32_t measurement_fixture_code(struct measurement_fixture *fixture, uint32_t thread,
				  const char *file, const char *name, uint32_t first_line)
{
	struct sn_intern *strings = &fixture->threads[thread].strings;
	struct sn_code_record record = {string(strings, file), string(strings, name), first_line,
					0};
	return append(&fixture->threads[thread].codes, &record, sizeof(record));
}

uint32_t measurement_fixture_node(struct measurement_fixture *fixture, uint32_t thread,
				  uint32_t parent, struct sn_frame frame)
{
	struct sn_node_record record = {.parent = parent, .frame = frame};
	return append(&fixture->threads[thread].nodes, &record, sizeof(record));
}

uint32_t measurement_fixture_named(struct measurement_fixture *fixture, uint32_t thread,
				   uint32_t parent, unsigned kind, unsigned flags, const char *name)
{
	struct sn_frame frame = {
	    .kind = (uint8_t)kind,
	    .flags = (uint8_t)flags,
	    .id = string(&fixture->threads[thread].strings, name),
	};
	return measurement_fixture_node(fixture, thread, parent, frame);
}

void measurement_fixture_value(struct measurement_fixture *fixture, uint32_t thread, uint32_t node,
			       uint32_t metric, uint64_t count, uint64_t each)
{
	struct sn_value_record record = {
	    .node = node,
	    .metric = metric,
	    .count = count,
	    .sum = count * each,
	    .min = each,
	    .max = each,
	    .sum_squares = (double)count * (double)each * (double)each,
	};
	append(&fixture->threads[thread].values, &record, sizeof(record));
}

void measurement_fixture_two_values(struct measurement_fixture *fixture, uint32_t thread,
				    uint32_t node, uint32_t metric, uint64_t low, uint64_t high)
{
	struct sn_value_record record = {
	    .node = node,
	    .metric = metric,
	    .count = 2,
	    .sum = low + high,
	    .min = low,
	    .max = high,
	    .sum_squares = (double)low * (double)low + (double)high * (double)high,
	};
	append(&fixture->threads[thread].values, &record, sizeof(record));
}

static void pad(struct bytes *bytes)
{
	while (bytes->length % SN_SECTION_ALIGN)
		append(bytes, "", 1);
}

static void put_section(struct measurement_fixture *fixture, uint32_t type, uint32_t index,
			const void *data, size_t length)
{
	pad(&fixture->snapshot);
	struct sn_section_entry entry = {
	    .type = type,
	    .version = 1,
	    .index = index,
	    .offset = fixture->snapshot.length,
	    .length = length,
	    .checksum = sn_checksum(data, length),
	};
	append(&fixture->table, &entry, sizeof(entry));
	if (length)
		append(&fixture->snapshot, data, length);
}

static void put_strings(struct measurement_fixture *fixture, uint32_t index,
			const struct sn_intern *strings)
{
	struct bytes section = {0};
	struct sn_strings_record record = {strings->count, 0};
	append(&section, &record, sizeof(record));
	for (uint32_t i = 0; i <= strings->count; i++) {
		uint32_t offset = i ? (uint32_t)strings->ends[i - 1] : 0;
		append(&section, &offset, sizeof(offset));
	}
	pad(&section);
	for (uint32_t i = 0; i < strings->count; i++) {
		size_t length;
		const void *text = sn_intern_at(strings, i, &length);
		if (length)
			append(&section, text, length);
	}
	put_section(fixture, SN_SNAPSHOT_STRINGS, index, section.at, section.length);
	free(section.at);
}

static void put_thread(struct measurement_fixture *fixture, uint32_t index)
{
	const struct thread *thread = fixture->threads + index;
	put_section(fixture, SN_SNAPSHOT_THREAD, index, &thread->record, sizeof(thread->record));
	if (thread->is_stream)
		put_section(fixture, SN_SNAPSHOT_STREAM, index, &thread->stream,
			    sizeof(thread->stream));
	put_strings(fixture, index, &thread->strings);
	put_section(fixture, SN_SNAPSHOT_CODES, index, thread->codes.at, thread->codes.length);
	put_section(fixture, SN_SNAPSHOT_NODES, index, thread->nodes.at, thread->nodes.length);
	put_section(fixture, SN_SNAPSHOT_VALUES, index, thread->values.at, thread->values.length);
}

static void put_snapshot(struct measurement_fixture *fixture)
{
	struct sn_container_header header = {
	    .version_major = SN_MEASUREMENT_VERSION_MAJOR,
	    .version_minor = SN_MEASUREMENT_VERSION_MINOR,
	};
	memcpy(header.magic, SN_SNAPSHOT_MAGIC, sizeof(header.magic));
	fixture->snapshot.length = fixture->table.length = 0;
	append(&fixture->snapshot, &header, sizeof(header));
	put_section(fixture, SN_SNAPSHOT_PROCESS, 0, fixture->process.at, fixture->process.length);
	put_section(fixture, SN_SNAPSHOT_MODULES, 0, fixture->modules.at, fixture->modules.length);
	put_section(fixture, SN_SNAPSHOT_METRICS, 0, fixture->metrics.at, fixture->metrics.length);
	put_section(fixture, SN_SNAPSHOT_DROPS, 0, fixture->drops.at, fixture->drops.length);
	put_strings(fixture, SN_ID_NONE, &fixture->strings);
	for (uint32_t i = 0; i < fixture->thread_count; i++)
		put_thread(fixture, i);
	pad(&fixture->snapshot);
	header.section_count = (uint32_t)(fixture->table.length / sizeof(struct sn_section_entry));
	header.table_offset = fixture->snapshot.length;
	header.table_checksum = sn_checksum(fixture->table.at, fixture->table.length);
	append(&fixture->snapshot, fixture->table.at, fixture->table.length);
	header.length = fixture->snapshot.length;
	header.checksum = sn_checksum(&header, offsetof(struct sn_container_header, checksum));
	memcpy(fixture->snapshot.at, &header, sizeof(header));
}

static void put_page(FILE *file)
{
	unsigned char page[SN_MEASUREMENT_PAGE_BYTES] = {0};
	struct sn_measurement_header header = {
	    .version_major = SN_MEASUREMENT_VERSION_MAJOR,
	    .version_minor = SN_MEASUREMENT_VERSION_MINOR,
	    .page_bytes = SN_MEASUREMENT_PAGE_BYTES,
	};
	memcpy(header.magic, SN_MEASUREMENT_MAGIC, sizeof(header.magic));
	header.checksum = sn_checksum(&header, offsetof(struct sn_measurement_header, checksum));
	memcpy(page, &header, sizeof(header));
	fwrite(page, 1, sizeof(page), file);
}

uint64_t measurement_fixture_commit(struct measurement_fixture *fixture, const char *path,
				    bool is_final)
{
	FILE *file = must(fixture->sequence ? fopen(path, "r+b") : fopen(path, "w+b"));
	if (!fixture->sequence)
		put_page(file);
	put_snapshot(fixture);
	fseek(file, 0, SEEK_END);
	while (ftell(file) % SN_SECTION_ALIGN)
		fputc(0, file);
	struct sn_commit_slot slot = {
	    .sequence = ++fixture->sequence,
	    .offset = (uint64_t)ftell(file),
	    .length = fixture->snapshot.length,
	    .is_final = is_final,
	};
	slot.checksum = sn_checksum(&slot, offsetof(struct sn_commit_slot, checksum));
	fwrite(fixture->snapshot.at, 1, fixture->snapshot.length, file);
	fseek(file, (long)SN_COMMIT_SLOT_OFFSET(slot.sequence % 2), SEEK_SET);
	fwrite(&slot, 1, sizeof(slot), file);
	if (fclose(file))
		abort();
	return slot.offset;
}
