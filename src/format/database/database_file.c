/* SPDX-License-Identifier: Apache-2.0 */
/* Placing and writing sections; see database_file.h. */
#include "database_file.h"

#include "base/file_at.h"
#include "format/checksum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sn_db_file_init(struct sn_db_file *file, int fd)
{
	*file = (struct sn_db_file){
	    .fd = fd, .next = sizeof(struct sn_container_header) + sizeof(file->table)};
}

static struct sn_section_entry *place(struct sn_db_file *file, unsigned type, uint64_t length)
{
	struct sn_section_entry *entry = file->table + type - 1;
	*entry = (struct sn_section_entry){
	    .type = type, .version = 1, .offset = file->next, .length = length};
	file->next += (length + SN_SECTION_ALIGN - 1) & ~(uint64_t)(SN_SECTION_ALIGN - 1);
	return entry;
}

uint64_t sn_db_file_place(struct sn_db_file *file, unsigned type, uint64_t length)
{
	struct sn_section_entry *entry = place(file, type, length);
	entry->flags = SN_SECTION_INDEXED;
	return entry->offset;
}

int sn_db_file_write(struct sn_db_file *file, unsigned type, const void *data, size_t length)
{
	struct sn_section_entry *entry = place(file, type, length);
	entry->checksum = sn_checksum(data, length);
	return sn_write_at(file->fd, data, length, entry->offset);
}

/* The strings section, from malloc; NULL without memory. */
static unsigned char *lay_strings(const struct sn_db_builder *builder,
				  const struct sn_db_ordered *ordered, size_t *length)
{
	struct sn_database_strings header = {ordered->numbers.string_count, 0};
	size_t table_bytes = (header.count + 1ull) * sizeof(uint64_t);
	size_t text_bytes = header.count ? builder->strings.ends[header.count - 1] : 0;
	*length = sizeof(header) + table_bytes + text_bytes;
	unsigned char *section = malloc(*length);
	if (!section)
		return NULL;
	memcpy(section, &header, sizeof(header));
	uint64_t *offsets = (uint64_t *)(section + sizeof(header));
	unsigned char *text = section + sizeof(header) + table_bytes;
	uint64_t offset = 0;
	for (uint32_t i = 0; i < header.count; i++) {
		size_t bytes;
		const void *string = sn_intern_at(&builder->strings, ordered->string_at[i], &bytes);
		memcpy(text + offset, string, bytes);
		offsets[i] = offset;
		offset += bytes;
	}
	offsets[header.count] = offset;
	return section;
}

static int write_formulas(struct sn_db_file *file, const struct sn_db_builder *builder)
{
	struct sn_buffer section = {0};
	sn_db_lay_formulas(builder->formulas, (uint32_t)builder->formula_count, &section);
	int failed = section.failed ? ENOMEM
				    : sn_db_file_write(file, SN_DATABASE_FORMULAS, section.bytes,
						       section.count);
	sn_buffer_release(&section);
	return failed;
}

int sn_db_file_describe(struct sn_db_file *file, const struct sn_db_builder *builder,
			const struct sn_db_ordered *ordered)
{
	size_t length;
	unsigned char *strings = lay_strings(builder, ordered, &length);
	int failed =
	    strings ? sn_db_file_write(file, SN_DATABASE_STRINGS, strings, length) : ENOMEM;
	free(strings);
	const struct {
		unsigned type;
		const void *data;
		size_t length;
	} sections[] = {
#define SECTION(type, array, count) {type, ordered->array, (count) * sizeof(*ordered->array)}
	    SECTION(SN_DATABASE_MODULES, modules, ordered->module_count),
	    SECTION(SN_DATABASE_FRAMES, frames, ordered->frame_count),
	    SECTION(SN_DATABASE_CONTEXTS, contexts, ordered->numbers.context_count),
	    SECTION(SN_DATABASE_METRICS, metrics, builder->metric_count),
	    SECTION(SN_DATABASE_PROFILES, profiles, builder->profile_count),
	    SECTION(SN_DATABASE_DROPS, drops, builder->drop_count),
	    SECTION(SN_DATABASE_PROPERTIES, properties, builder->property_count),
#undef SECTION
	};
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections) && !failed; i++)
		failed =
		    sn_db_file_write(file, sections[i].type, sections[i].data, sections[i].length);
	return failed || !builder->formula_count ? failed : write_formulas(file, builder);
}

int sn_db_file_graph(struct sn_db_file *file, const struct sn_db_builder *builder,
		     const struct sn_db_ordered *ordered)
{
	struct sn_graph_layout graph;
	int failed = sn_graph_lay(builder, ordered, &graph) ? ENOMEM : 0;
	for (unsigned i = 0; i < SN_GRAPH_SECTIONS && !failed; i++)
		if (graph.sections[i].length)
			failed = sn_db_file_write(file, SN_DATABASE_GRAPH_MODELS + i,
						  graph.sections[i].data, graph.sections[i].length);
	sn_graph_layout_release(&graph);
	return failed;
}

static int copy_events(struct sn_db_file *file, const struct sn_db_section *section, uint64_t to)
{
	unsigned char buffer[1 << 16];
	const struct sn_db_extract *extract = section->extracts;
	uint64_t end = to + section->length;
	for (int failed; to < end; extract++)
		for (uint64_t done = 0, part; done < extract->length; done += part, to += part) {
			uint64_t left = extract->length - done;
			part = left < sizeof(buffer) ? left : sizeof(buffer);
			failed = sn_read_at(extract->fd, buffer, part, extract->offset + done);
			if (!failed)
				failed = sn_write_at(file->fd, buffer, part, to);
			if (failed)
				return failed;
		}
	return 0;
}

/* Asks for the sections of events, which are empty where the builder has none. */
static int ask_for_events(const struct sn_db_builder *builder, const struct sn_db_ordered *ordered,
			  struct sn_db_section events[SN_DB_EVENT_SECTIONS], struct sn_error *error)
{
	memset(events, 0, SN_DB_EVENT_SECTIONS * sizeof(*events));
	return builder->events ? builder->events->sections(builder->events, &ordered->numbers,
							   builder->threads, events, error)
			       : 0;
}

int sn_db_file_events(struct sn_db_file *file, const struct sn_db_builder *builder,
		      const struct sn_db_ordered *ordered, struct sn_error *error)
{
	struct sn_db_section events[SN_DB_EVENT_SECTIONS];
	int result = ask_for_events(builder, ordered, events, error), failed = 0;
	for (unsigned i = 0; i < SN_DB_EVENT_SECTIONS && !result && !failed; i++) {
		/* blocks have checksums in their entries */
		bool is_large = i == SN_DB_EVENT_DATA || i == SN_DB_EVENT_SUMMARIES;
		unsigned type = SN_DATABASE_EVENT_TRACKS + i;
		if (!events[i].length)
			continue;
		if (!is_large && events[i].data) {
			failed = sn_db_file_write(file, type, events[i].data, events[i].length);
			continue;
		}
		uint64_t at = sn_db_file_place(file, type, events[i].length);
		failed = events[i].data
			     ? sn_write_at(file->fd, events[i].data, events[i].length, at)
			     : copy_events(file, events + i, at);
	}
	return failed ? sn_fail(error, SN_ERR_IO, "cannot write events: %s", strerror(failed))
		      : result;
}

int sn_db_file_finish(struct sn_db_file *file)
{
	struct sn_section_entry table[SN_DATABASE_TYPE_END - 1];
	uint32_t count = 0;
	for (uint32_t i = 0; i < SN_DATABASE_TYPE_END - 1; i++)
		if (file->table[i].offset)
			table[count++] = file->table[i];
	struct sn_container_header header = {
	    .magic = SN_DATABASE_MAGIC,
	    .version_major = SN_DATABASE_VERSION_MAJOR,
	    .version_minor = SN_DATABASE_VERSION_MINOR,
	    .section_count = count,
	    .table_offset = sizeof(header),
	    .length = file->next,
	    .table_checksum = sn_checksum(table, count * sizeof(*table)),
	};
	header.checksum = sn_checksum(&header, offsetof(struct sn_container_header, checksum));
	int failed = sn_write_at(file->fd, table, count * sizeof(*table), sizeof(header));
	/* the last section's padding: the file is as long as its header says */
	if (!failed && ftruncate(file->fd, (off_t)file->next) && errno != EINVAL)
		failed = errno;
	return failed ? failed : sn_write_at(file->fd, &header, sizeof(header), 0);
}
