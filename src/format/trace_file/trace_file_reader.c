/* SPDX-License-Identifier: Apache-2.0 */
/* Finding, checking and decoding the chunks of a trace file; see trace_file_reader.h. */
#include "trace_file_reader.h"

#include "base/sort_by.h"
#include "base/arena.h"
#include "base/cursor.h"
#include "base/file_at.h"
#include "base/vec.h"
#include "format/checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
	uint64_t sequence, number;
};

struct sn_trace_reader {
	struct sn_trace_directory directory;
	int fd;
	uint64_t damaged;
	struct place *places; /* of chunks with events, in order */
	size_t place_count, place_capacity, next_place;
	struct place *definitions;
	size_t definition_count, definition_capacity;
	struct sn_trace_stream *streams;
	struct sn_trace_name *names;
	struct sn_trace_quantity *counters, *keys;
	size_t stream_capacity, name_capacity, counter_capacity, key_capacity;
	struct sn_arena texts;
	/* the chunk that is being read */
	unsigned char *chunk;
	struct sn_trace_chunk header;
	struct sn_cursor rest;
	uint64_t now_ns, link;
	uint32_t context, read_count;
	struct sn_trace_attribute attributes[SN_TRACE_ATTRIBUTES_MAX];
};

/* ---- bytes ---- */

/* A writer needs ten bytes at most: what is longer is damage, and so is all behind it. */
static uint64_t get(struct sn_cursor *cursor)
{
	const unsigned char *first = cursor->at;
	uint64_t number = sn_cursor_uleb(cursor);
	cursor->failed |= cursor->at - first > 10;
	return number;
}

static int64_t get_signed(struct sn_cursor *cursor)
{
	uint64_t number = get(cursor);
	return (int64_t)(number >> 1 ^ (0 - (number & 1)));
}

/* A number that was written plus one, so that there can be none. */
static uint32_t get_id(struct sn_cursor *cursor)
{
	return (uint32_t)get(cursor) - 1;
}

/* A copy that lives as long as the reader. */
static const char *get_text(struct sn_trace_reader *reader, struct sn_cursor *cursor,
			    uint32_t *length)
{
	struct sn_cursor text = sn_cursor_slice(cursor, get(cursor));
	*length = (uint32_t)sn_cursor_left(&text);
	return sn_arena_copy(&reader->texts, (const char *)text.at, *length);
}

/* ---- definitions ---- */

static int read_stream(struct sn_trace_reader *reader, struct sn_cursor *cursor, uint64_t number)
{
	struct sn_trace_directory *all = &reader->directory;
	struct sn_trace_stream stream = {.kind = (uint32_t)get(cursor)};
	stream.thread = get_id(cursor);
	stream.pid = get(cursor);
	stream.tid = get(cursor);
	stream.device = get_id(cursor);
	stream.device_context = get_id(cursor);
	stream.queue = get_id(cursor);
	stream.name = get_text(reader, cursor, &stream.name_length);
	if (cursor->failed || number != all->stream_count)
		return 1;
	return sn_vec_push(&reader->streams, &reader->stream_capacity, &all->stream_count, stream);
}

/* A name's frame has a text for its number; these have a module, or code of Python's. */
static bool can_be_named(uint32_t frame_kind)
{
	return frame_kind && frame_kind < SN_FRAME_KIND_COUNT && frame_kind != SN_FRAME_NATIVE &&
	       frame_kind != SN_FRAME_GPU_INSTRUCTION && frame_kind != SN_FRAME_PYTHON;
}

static int read_name(struct sn_trace_reader *reader, struct sn_cursor *cursor, uint64_t number)
{
	struct sn_trace_directory *all = &reader->directory;
	struct sn_trace_name name = {.frame_kind = (uint32_t)get(cursor)};
	name.parent = get_id(cursor);
	name.text = get_text(reader, cursor, &name.text_length);
	if (cursor->failed || number != all->name_count || !can_be_named(name.frame_kind) ||
	    (name.parent != SN_ID_NONE && name.parent >= number))
		return 1;
	return sn_vec_push(&reader->names, &reader->name_capacity, &all->name_count, name);
}

static int read_quantity(struct sn_trace_reader *reader, struct sn_cursor *cursor, uint64_t number,
			 bool is_counter)
{
	struct sn_trace_directory *all = &reader->directory;
	struct sn_trace_quantity quantity = {.type = (uint32_t)get(cursor)};
	quantity.name = get_text(reader, cursor, &quantity.name_length);
	quantity.unit = get_text(reader, cursor, &quantity.unit_length);
	/* both enumerations have four values, from 1 */
	if (cursor->failed || number != (is_counter ? all->counter_count : all->key_count) ||
	    quantity.type < 1 || quantity.type > 4)
		return 1;
	return is_counter
		   ? sn_vec_push(&reader->counters, &reader->counter_capacity, &all->counter_count,
				 quantity)
		   : sn_vec_push(&reader->keys, &reader->key_capacity, &all->key_count, quantity);
}

/* 0, 1 where the record makes no sense, or -1 without memory. */
static int read_definition(struct sn_trace_reader *reader, struct sn_cursor *cursor)
{
	unsigned kind = sn_cursor_u8(cursor);
	uint64_t number = get(cursor);
	switch (kind) {
	case SN_TRACE_DEFINE_STREAM:
		return read_stream(reader, cursor, number);
	case SN_TRACE_DEFINE_NAME:
		return read_name(reader, cursor, number);
	case SN_TRACE_DEFINE_COUNTER:
	case SN_TRACE_DEFINE_KEY:
		return read_quantity(reader, cursor, number, kind == SN_TRACE_DEFINE_COUNTER);
	default:
		return 1;
	}
}

/* ---- chunks ---- */

static uint64_t offset_of(const struct sn_trace_reader *reader, uint64_t number)
{
	return SN_TRACE_FILE_PAGE_BYTES + number * reader->directory.header.chunk_bytes;
}

/* Reads a chunk and sets about its records. A chunk that was taken for newer events since it was
 * found has none. */
static int open_chunk(struct sn_trace_reader *reader, const struct place *place)
{
	uint32_t chunk_bytes = reader->directory.header.chunk_bytes;
	struct sn_trace_chunk *header = &reader->header;
	reader->rest = (struct sn_cursor){0};
	if (sn_read_at(reader->fd, reader->chunk, chunk_bytes, offset_of(reader, place->number)))
		return SN_ERR_IO;
	memcpy(header, reader->chunk, sizeof(*header));
	const unsigned char *first = reader->chunk + sizeof(*header);
	uint32_t used = header->used;
	if (header->sequence != place->sequence)
		used = header->count = 0;
	if (used > chunk_bytes - sizeof(*header))
		used = chunk_bytes - (uint32_t)sizeof(*header);
	reader->rest = (struct sn_cursor){first, first + used, false};
	reader->now_ns = header->base_ns;
	reader->link = 0;
	reader->context = reader->read_count = 0;
	return 0;
}

SN_SORT_BY(sort_places, struct place, const void *, SN_ORDER_BY(a, b, sequence, number));

static int note_chunk(struct sn_trace_reader *reader, uint64_t number)
{
	struct sn_trace_chunk header;
	struct sn_trace_directory *all = &reader->directory;
	if (sn_read_at(reader->fd, &header, sizeof(header), offset_of(reader, number)))
		return SN_ERR_IO;
	if (!header.sequence || !header.used)
		return 0;
	struct place place = {header.sequence, number};
	if (header.stream == SN_ID_NONE)
		return sn_vec_push(&reader->definitions, &reader->definition_capacity,
				   &reader->definition_count, place)
			   ? SN_ERR_MEMORY
			   : 0;
	all->event_count += header.count;
	return sn_vec_push(&reader->places, &reader->place_capacity, &reader->place_count, place)
		   ? SN_ERR_MEMORY
		   : 0;
}

static int find_chunks(struct sn_trace_reader *reader, uint64_t file_bytes)
{
	uint32_t chunk_bytes = reader->directory.header.chunk_bytes;
	uint64_t count = (file_bytes - SN_TRACE_FILE_PAGE_BYTES) / chunk_bytes;
	for (uint64_t i = 0; i < count; i++) {
		int result = note_chunk(reader, i);
		if (result)
			return result;
	}
	sort_places(reader->places, reader->place_count, NULL);
	sort_places(reader->definitions, reader->definition_count, NULL);
	return 0;
}

static int read_definitions(struct sn_trace_reader *reader)
{
	for (size_t i = 0; i < reader->definition_count; i++) {
		int result = open_chunk(reader, reader->definitions + i);
		if (result)
			return result;
		while (!result && sn_cursor_left(&reader->rest))
			result = read_definition(reader, &reader->rest);
		if (result < 0 || reader->texts.failed)
			return SN_ERR_MEMORY;
		if (result > 0)
			break; /* numbers after a gap would mean something else */
	}
	struct sn_trace_directory *all = &reader->directory;
	all->streams = reader->streams;
	all->names = reader->names;
	all->counters = reader->counters;
	all->keys = reader->keys;
	reader->rest = (struct sn_cursor){0};
	return 0;
}

/* ---- open ---- */

static int check_header(const struct sn_trace_file_header *header, struct sn_error *error)
{
	if (memcmp(header->magic, SN_TRACE_FILE_MAGIC, sizeof(header->magic)))
		return sn_fail(error, SN_ERR_FORMAT, "not a Sonde trace (bad magic)");
	if (header->checksum !=
	    sn_checksum(header, offsetof(struct sn_trace_file_header, checksum)))
		return sn_fail(error, SN_ERR_FORMAT, "damaged (header checksum)");
	if (header->version_major != SN_TRACE_FILE_VERSION_MAJOR)
		return sn_fail(error, SN_ERR_VERSION,
			       "written in version %u of the format, this program reads version %u",
			       header->version_major, SN_TRACE_FILE_VERSION_MAJOR);
	if (header->chunk_bytes < SN_TRACE_CHUNK_LEAST_BYTES ||
	    header->chunk_bytes > SN_TRACE_CHUNK_MOST_BYTES || header->chunk_bytes % 8 ||
	    header->host[sizeof(header->host) - 1] || header->program[sizeof(header->program) - 1])
		return sn_fail(error, SN_ERR_FORMAT, "damaged (header)");
	return 0;
}

static int read_file(struct sn_trace_reader *reader, struct sn_error *error)
{
	struct sn_trace_directory *all = &reader->directory;
	struct stat status;
	if (fstat(reader->fd, &status))
		return sn_fail(error, SN_ERR_IO, "%s", strerror(errno));
	if (!S_ISREG(status.st_mode) || status.st_size < SN_TRACE_FILE_PAGE_BYTES ||
	    sn_read_at(reader->fd, &all->header, sizeof(all->header), 0) ||
	    sn_read_at(reader->fd, &all->identity, sizeof(all->identity),
		       SN_TRACE_IDENTITY_OFFSET) ||
	    sn_read_at(reader->fd, &all->losses, sizeof(all->losses), SN_TRACE_LOST_OFFSET))
		return sn_fail(error, SN_ERR_FORMAT, "not a Sonde trace (too short)");
	int result = check_header(&all->header, error);
	if (result)
		return result;
	reader->chunk = malloc(all->header.chunk_bytes);
	result = reader->chunk ? find_chunks(reader, (uint64_t)status.st_size) : SN_ERR_MEMORY;
	if (!result)
		result = read_definitions(reader);
	return result ? sn_fail(error, result,
				result == SN_ERR_MEMORY ? "out of memory" : "it became shorter")
		      : 0;
}

int sn_trace_reader_open(const char *path, struct sn_trace_reader **reader, struct sn_error *error)
{
	struct sn_error why = {""};
	struct sn_trace_reader *opened = calloc(1, sizeof(*opened));
	if (!opened)
		return sn_fail_prefix(error, sn_fail_memory(error), "cannot read '%s'", path);
	/* a pipe would block */
	opened->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	int result = opened->fd < 0 ? sn_fail(&why, SN_ERR_IO, "%s", strerror(errno))
				    : read_file(opened, &why);
	if (result) {
		sn_trace_reader_free(opened);
		return sn_fail(error, result, "cannot read '%s': %s", path, why.text);
	}
	*reader = opened;
	return 0;
}

void sn_trace_reader_free(struct sn_trace_reader *reader)
{
	if (!reader)
		return;
	sn_arena_release(&reader->texts);
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader->places);
	free(reader->definitions);
	free(reader->streams);
	free(reader->names);
	free(reader->counters);
	free(reader->keys);
	free(reader->chunk);
	free(reader);
}

const struct sn_trace_directory *sn_trace_reader_directory(const struct sn_trace_reader *reader)
{
	return &reader->directory;
}

uint64_t sn_trace_reader_damaged(const struct sn_trace_reader *reader)
{
	return reader->damaged;
}

/* ---- events ---- */

static void decode_time(struct sn_trace_reader *reader, struct sn_trace_event *event)
{
	struct sn_cursor *cursor = &reader->rest;
	if (event->kind == SN_TRACE_SAMPLE)
		reader->now_ns += get(cursor) << SN_TRACE_SAMPLE_SHIFT;
	else
		reader->now_ns += (uint64_t)get_signed(cursor);
	event->start_ns = event->end_ns = reader->now_ns;
	if (sn_trace_lasts(event->kind)) {
		uint64_t length_ns = get(cursor);
		cursor->failed |= length_ns > event->end_ns;
		event->start_ns -= length_ns;
	}
}

static void decode_context(struct sn_trace_reader *reader, struct sn_trace_event *event,
			   unsigned tag)
{
	const struct sn_trace_directory *all = &reader->directory;
	struct sn_cursor *cursor = &reader->rest;
	if (event->has_owner) {
		event->context = (uint32_t)get(cursor);
	} else {
		if (!(tag & SN_TRACE_SAME_CONTEXT))
			reader->context += (uint32_t)get_signed(cursor);
		event->context = reader->context;
	}
	cursor->failed |= event->owner == SN_ID_NONE && event->context >= all->name_count;
}

static void decode_attributes(struct sn_trace_reader *reader, struct sn_trace_event *event)
{
	const struct sn_trace_directory *all = &reader->directory;
	struct sn_cursor *cursor = &reader->rest;
	uint64_t count = get(cursor);
	if (count > SN_TRACE_ATTRIBUTES_MAX) {
		cursor->failed = true;
		return;
	}
	for (uint64_t i = 0; i < count; i++) {
		uint64_t key = get(cursor), value = get(cursor);
		if (key >= all->key_count ||
		    (all->keys[key].type == 4 && value >= all->name_count)) {
			cursor->failed = true;
			return;
		}
		reader->attributes[i] = (struct sn_trace_attribute){(uint32_t)key, 0, value};
	}
	event->attribute_count = (uint32_t)count;
	event->attributes = reader->attributes;
}

static bool decode(struct sn_trace_reader *reader, struct sn_trace_event *event)
{
	const struct sn_trace_directory *all = &reader->directory;
	struct sn_cursor *cursor = &reader->rest;
	unsigned tag = sn_cursor_u8(cursor);
	*event = (struct sn_trace_event){.kind = tag & SN_TRACE_KIND_MASK,
					 .has_stream = tag & SN_TRACE_HAS_STREAM,
					 .has_owner = tag & SN_TRACE_HAS_OWNER,
					 .stream = reader->header.stream,
					 .owner = reader->header.thread};
	if (event->kind < SN_TRACE_SAMPLE || event->kind > SN_TRACE_SYSTEM)
		return false;
	if (event->has_stream)
		event->stream = (uint32_t)get(cursor);
	if (event->has_owner)
		event->owner = get_id(cursor);
	decode_time(reader, event);
	if (event->kind == SN_TRACE_COUNTER) {
		event->counter = (uint32_t)get(cursor);
		event->value = get_signed(cursor);
		cursor->failed |= event->counter >= all->counter_count;
	}
	decode_context(reader, event, tag);
	if (tag & SN_TRACE_HAS_LINK) {
		reader->link += (uint64_t)get_signed(cursor);
		event->link = reader->link;
	}
	if (tag & SN_TRACE_HAS_ATTRIBUTES)
		decode_attributes(reader, event);
	return !cursor->failed && event->stream < all->stream_count;
}

int sn_trace_reader_next(struct sn_trace_reader *reader, struct sn_trace_event *event,
			 struct sn_error *error)
{
	for (;;) {
		if (sn_cursor_left(&reader->rest)) {
			if (decode(reader, event)) {
				reader->read_count++;
				return 1;
			}
			uint32_t count = reader->header.count;
			reader->damaged +=
			    count > reader->read_count ? count - reader->read_count : 1;
			reader->rest = (struct sn_cursor){0};
		}
		if (reader->next_place == reader->place_count)
			return 0;
		if (open_chunk(reader, reader->places + reader->next_place++))
			return sn_fail(error, SN_ERR_IO,
				       "a trace became shorter while it was read");
	}
}
