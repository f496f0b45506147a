/* SPDX-License-Identifier: Apache-2.0 */
/* A trace file written by one thread; see trace_file_writer.h. */
#include "trace_file_writer.h"

#include "base/clock.h"
#include "base/file_at.h"
#include "base/vec.h"
#include "format/checksum.h"
#include "format/measurement/measurement.h"
#include "trace_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Fewer would lose all of what led to the last events. */
#define LEAST_CHUNKS 2u

/* A chunk in memory, of which the file has what is written. */
struct chunk {
	struct sn_trace_cursor cursor;
	uint32_t written, written_count;
};

struct sn_trace_file {
	int fd;
	uint64_t bytes; /* how large the file is, unless others have truncated it */
	struct sn_trace_losses losses;
	uint64_t losses_written; /* their sum */
	uint64_t chunk_count, event_chunk_count, oldest, sequence;
	uint64_t event_chunk_limit;
	unsigned char *is_definition; /* [chunk] */
	size_t definition_capacity;
	struct chunk events, definitions;
	uint32_t stream_count, name_count, counter_count, key_count;
};

static void fill_header(struct sn_trace_file_header *header, const char *host, const char *program,
			uint64_t now_ns, uint64_t limit_bytes)
{
	*header = (struct sn_trace_file_header){
	    .version_major = SN_TRACE_FILE_VERSION_MAJOR,
	    .version_minor = SN_TRACE_FILE_VERSION_MINOR,
	    .chunk_bytes = SN_TRACE_CHUNK_BYTES,
	    .pid = (uint64_t)getpid(),
	    .start_monotonic_ns = now_ns,
	    .start_realtime_ns = sn_clock_now_ns(CLOCK_REALTIME),
	    .limit_bytes = limit_bytes,
	};
	memcpy(header->magic, SN_TRACE_FILE_MAGIC, sizeof(header->magic));
	snprintf(header->host, sizeof(header->host), "%.63s", host);
	snprintf(header->program, sizeof(header->program), "%.255s", program);
	header->checksum = sn_checksum(header, offsetof(struct sn_trace_file_header, checksum));
}

static int open_file(struct sn_trace_file *file, int folder, const char *name, mode_t mode,
		     const struct sn_trace_file_header *header)
{
	file->fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (file->fd < 0 || ftruncate(file->fd, SN_TRACE_FILE_PAGE_BYTES) ||
	    sn_write_at(file->fd, header, sizeof(*header), 0))
		return -1;
	struct sn_trace_identity identity = {{0}};
	sn_trace_identify(&identity);
	file->bytes = SN_TRACE_FILE_PAGE_BYTES;
	return sn_write_at(file->fd, &identity, sizeof(identity), SN_TRACE_IDENTITY_OFFSET);
}

int sn_trace_file_create(int folder, mode_t mode, const char *program, uint64_t limit_bytes,
			 struct sn_trace_file **file, struct sn_error *error)
{
	struct utsname host;
	struct sn_trace_file_header header;
	char name[NAME_MAX + 1];
	uint64_t now_ns = sn_clock_now_ns(CLOCK_MONOTONIC);
	struct sn_trace_file *created = calloc(1, sizeof(*created));
	if (!created)
		return sn_fail_memory(error);
	uname(&host);
	fill_header(&header, host.nodename, program, now_ns, limit_bytes);
	snprintf(name, sizeof(name), "%s-%d-%llx" SN_TRACE_FILE_SUFFIX, host.nodename,
		 (int)getpid(), (unsigned long long)now_ns);
	created->event_chunk_limit = limit_bytes ? limit_bytes / SN_TRACE_CHUNK_BYTES : UINT32_MAX;
	if (created->event_chunk_limit < LEAST_CHUNKS)
		created->event_chunk_limit = LEAST_CHUNKS;
	if (open_file(created, folder, name, mode, &header)) {
		int code =
		    sn_fail(error, SN_ERR_IO, "cannot write '%s': %s", name, strerror(errno));
		if (created->fd >= 0)
			unlinkat(folder, name, 0);
		sn_trace_file_close(created);
		return code;
	}
	*file = created;
	return 0;
}

/* ---- writing out ---- */

static bool put(struct sn_trace_file *file, const void *bytes, size_t length, uint64_t offset)
{
	return !sn_write_at(file->fd, bytes, length, offset);
}

static uint64_t offset_of(uint64_t number)
{
	return SN_TRACE_FILE_PAGE_BYTES + number * SN_TRACE_CHUNK_BYTES;
}

static bool is_truncated(const struct sn_trace_file *file)
{
	struct stat status;
	return fstat(file->fd, &status) || (uint64_t)status.st_size < file->bytes;
}

/* Records first, then the header that counts them. What cannot be written is lost, with the chunk.
 */
static void write_chunk(struct sn_trace_file *file, struct chunk *chunk)
{
	const struct sn_trace_chunk *header = chunk->cursor.chunk;
	if (!header || header->used == chunk->written)
		return;
	uint64_t offset = offset_of(chunk->cursor.place);
	bool is_done =
	    !is_truncated(file) &&
	    put(file, (const unsigned char *)(header + 1) + chunk->written,
		header->used - chunk->written, offset + sizeof(*header) + chunk->written) &&
	    put(file, header, sizeof(*header), offset);
	if (!is_done) {
		sn_trace_file_lose(file, SN_TRACE_LOST_SPACE, header->count - chunk->written_count);
		chunk->cursor.at = chunk->cursor.end;
	}
	chunk->written = header->used;
	chunk->written_count = header->count;
}

void sn_trace_file_flush(struct sn_trace_file *file)
{
	uint64_t sum = 0;
	/* events are nothing without their definitions */
	write_chunk(file, &file->definitions);
	write_chunk(file, &file->events);
	for (unsigned cause = 0; cause < SN_TRACE_LOST_COUNT; cause++)
		sum += file->losses.counts[cause];
	if (sum == file->losses_written || is_truncated(file))
		return;
	if (put(file, &file->losses, sizeof(file->losses), SN_TRACE_LOST_OFFSET))
		file->losses_written = sum;
}

void sn_trace_file_close(struct sn_trace_file *file)
{
	if (!file)
		return;
	if (file->bytes)
		sn_trace_file_flush(file);
	free(file->events.cursor.chunk);
	free(file->definitions.cursor.chunk);
	if (file->fd >= 0)
		close(file->fd);
	free(file->is_definition);
	free(file);
}

void sn_trace_file_lose(struct sn_trace_file *file, enum sn_trace_lost cause, uint64_t count)
{
	file->losses.counts[cause] += count;
}

/* ---- chunks ---- */

/* The number of the oldest chunk of events. */
static uint64_t oldest_chunk(struct sn_trace_file *file)
{
	uint64_t number;
	do
		number = file->oldest++ % file->chunk_count;
	while (file->is_definition[number]);
	return number;
}

static bool note_kind(struct sn_trace_file *file, uint64_t number, bool is_definition)
{
	if (sn_vec_reserve(&file->is_definition, &file->definition_capacity, number + 1) < 0)
		return false;
	file->is_definition[number] = is_definition;
	return true;
}

/* Space for it in the file, and what was there counted as overwritten. */
static bool prepare_place(struct sn_trace_file *file, uint64_t number, bool is_new)
{
	struct sn_trace_chunk before = {0}, nothing = {0};
	uint64_t offset = offset_of(number);
	if (is_truncated(file))
		return false;
	if (is_new) {
		if (posix_fallocate(file->fd, (off_t)offset, SN_TRACE_CHUNK_BYTES))
			return false;
		file->bytes = offset + SN_TRACE_CHUNK_BYTES;
		return true;
	}
	if (sn_read_at(file->fd, &before, sizeof(before), offset) ||
	    !put(file, &nothing, sizeof(nothing), offset))
		return false;
	sn_trace_file_lose(file, SN_TRACE_LOST_OVERWRITTEN, before.count);
	return true;
}

static bool begin_chunk(struct sn_trace_file *file, struct chunk *chunk, bool is_definition,
			uint64_t base_ns)
{
	/* definitions may go beyond the limit: events are nothing without them */
	bool is_new = is_definition || file->event_chunk_count < file->event_chunk_limit;
	write_chunk(file, chunk);
	uint64_t number = is_new ? file->chunk_count : oldest_chunk(file);
	struct sn_trace_chunk *memory = chunk->cursor.chunk;
	if (!memory)
		memory = calloc(1, SN_TRACE_CHUNK_BYTES);
	chunk->cursor = (struct sn_trace_cursor){.chunk = memory};
	if (!memory || !note_kind(file, number, is_definition) ||
	    !prepare_place(file, number, is_new))
		return false;
	file->chunk_count += is_new;
	file->event_chunk_count += is_new && !is_definition;
	*memory = (struct sn_trace_chunk){.sequence = ++file->sequence,
					  .base_ns = base_ns,
					  .stream = is_definition ? SN_ID_NONE : 0,
					  .thread = SN_ID_NONE};
	chunk->written = chunk->written_count = 0;
	sn_trace_cursor_begin(&chunk->cursor, memory, SN_TRACE_CHUNK_BYTES);
	chunk->cursor.place = number;
	return true;
}

void sn_trace_file_add(struct sn_trace_file *file, struct sn_trace_event *event)
{
	event->has_stream = true;
	event->has_owner = false;
	event->owner = SN_ID_NONE;
	if (!sn_trace_has_room(&file->events.cursor) &&
	    !begin_chunk(file, &file->events, false, event->start_ns)) {
		sn_trace_file_lose(file, SN_TRACE_LOST_SPACE, 1);
		return;
	}
	sn_trace_encode(&file->events.cursor, event, NULL, 0);
}

/* Whether a definition can be written; where it cannot, numbers go on, and readers pass over what
 * refers to it. */
static bool can_define(struct sn_trace_file *file)
{
	return sn_trace_has_room(&file->definitions.cursor) ||
	       begin_chunk(file, &file->definitions, true, 0);
}

uint32_t sn_trace_file_stream(struct sn_trace_file *file, const struct sn_trace_stream *stream)
{
	if (can_define(file))
		sn_trace_define_stream(&file->definitions.cursor, file->stream_count, stream);
	return file->stream_count++;
}

uint32_t sn_trace_file_name(struct sn_trace_file *file, uint32_t frame_kind, uint32_t parent,
			    const char *text)
{
	if (can_define(file))
		sn_trace_define_name(&file->definitions.cursor, file->name_count, frame_kind,
				     parent, text, strlen(text));
	return file->name_count++;
}

uint32_t sn_trace_file_counter(struct sn_trace_file *file, uint32_t metric_kind, const char *name,
			       const char *unit)
{
	if (can_define(file))
		sn_trace_define_quantity(&file->definitions.cursor, SN_TRACE_DEFINE_COUNTER,
					 file->counter_count, metric_kind, name, unit);
	return file->counter_count++;
}

uint32_t sn_trace_file_key(struct sn_trace_file *file, uint32_t attribute_type, const char *name,
			   const char *unit)
{
	if (can_define(file))
		sn_trace_define_quantity(&file->definitions.cursor, SN_TRACE_DEFINE_KEY,
					 file->key_count, attribute_type, name, unit);
	return file->key_count++;
}
