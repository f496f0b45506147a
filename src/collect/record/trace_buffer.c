/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a chunk of the trace file in private memory and writes it to the file. */
#include "trace_buffer.h"

#include "collect/core/arena.h"
#include "collect/core/lock.h"

#include <errno.h>
#include <unistd.h>

bool sn_trace_buffer_lock(struct sn_trace_buffer *buffer)
{
	return sn_lock_try_one(SN_LOCK_TRACE_BUFFER, &buffer->is_locked);
}

bool sn_trace_buffer_wait(struct sn_trace_buffer *buffer)
{
	return sn_lock_wait_one(SN_LOCK_TRACE_BUFFER, &buffer->is_locked);
}

void sn_trace_buffer_unlock(struct sn_trace_buffer *buffer)
{
	sn_lock_release_one(SN_LOCK_TRACE_BUFFER, &buffer->is_locked);
}

bool sn_trace_buffer_reserve(struct sn_trace_buffer *buffer)
{
	if (!buffer->cursor.chunk)
		buffer->cursor.chunk = sn_pages_map(SN_TRACE_CHUNK_BYTES);
	return buffer->cursor.chunk;
}

void sn_trace_buffer_begin(struct sn_trace_buffer *buffer, const struct sn_trace_chunk *header,
			   uint64_t place)
{
	buffer->parked.sequence = 0;
	*buffer->cursor.chunk = *header;
	sn_trace_cursor_begin(&buffer->cursor, buffer->cursor.chunk, SN_TRACE_CHUNK_BYTES);
	buffer->cursor.place = place;
	buffer->written = buffer->written_count = 0;
}

uint32_t sn_trace_buffer_waiting(const struct sn_trace_buffer *buffer)
{
	const struct sn_trace_chunk *chunk = buffer->cursor.chunk;
	return chunk ? __atomic_load_n(&chunk->count, __ATOMIC_RELAXED) - buffer->written_count : 0;
}

static int write_all(int fd, const void *bytes, size_t length, uint64_t offset)
{
	const unsigned char *at = bytes;
	while (length) {
		ssize_t done = pwrite(fd, at, length, (off_t)offset);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -ENOSPC;
		at += done;
		length -= (size_t)done;
		offset += (uint64_t)done;
	}
	return 0;
}

int sn_trace_buffer_write(struct sn_trace_buffer *buffer, int fd, uint64_t offset)
{
	const struct sn_trace_chunk *chunk = buffer->cursor.chunk;
	struct sn_trace_chunk header = *chunk;
	/* acquire: the thread may be adding; what `used` covers is whole */
	header.used = __atomic_load_n(&chunk->used, __ATOMIC_ACQUIRE);
	header.count = __atomic_load_n(&chunk->count, __ATOMIC_RELAXED);
	uint32_t written = buffer->written;
	int error = write_all(fd, (const unsigned char *)(chunk + 1) + written,
			      header.used - written, offset + sizeof(header) + written);
	/* a reader, also after a kill, finds the records before the header counts them
	 */
	if (!error)
		error = write_all(fd, &header, sizeof(header), offset);
	if (error)
		return error;
	buffer->written = header.used;
	buffer->written_count = header.count;
	return 0;
}

void sn_trace_buffer_park(struct sn_trace_buffer *buffer)
{
	struct sn_trace_chunk *chunk = buffer->cursor.chunk;
	if (!chunk)
		return;
	if (buffer->cursor.at)
		buffer->parked = *chunk;
	buffer->cursor.chunk = NULL;
	buffer->cursor.at = buffer->cursor.end = NULL;
	sn_pages_unmap(chunk, SN_TRACE_CHUNK_BYTES);
}

bool sn_trace_buffer_resume(struct sn_trace_buffer *buffer)
{
	if (!buffer->parked.sequence || !sn_trace_buffer_reserve(buffer))
		return false;
	struct sn_trace_chunk *chunk = buffer->cursor.chunk;
	*chunk = buffer->parked;
	buffer->parked.sequence = 0;
	buffer->cursor.at = (unsigned char *)(chunk + 1) + chunk->used;
	buffer->cursor.end = (unsigned char *)chunk + SN_TRACE_CHUNK_BYTES;
	return true;
}

void sn_trace_buffer_drop(struct sn_trace_buffer *buffer)
{
	buffer->parked.sequence = 0;
	/* no room: the next record asks for a chunk */
	buffer->cursor.at = buffer->cursor.end = NULL;
	if (buffer->cursor.chunk)
		buffer->written = buffer->written_count = buffer->cursor.chunk->count =
		    buffer->cursor.chunk->used = 0;
}
