/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk of the trace file that a thread fills in private memory and writes to the file.
 *
 * Because records are stored in private memory, no event of the file (truncation, no space, a
 * quota, a limit) can end the program by a signal; they are copied to the file by pwrite(), which
 * only fails. The file lacks only a thread's latest records; trace.c decides how long those may
 * wait.
 *
 * One thread fills a buffer. Any thread may write it out, one at a time: sn_trace_buffer_lock.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread that fills it or
 * holds its lock.
 */
#pragma once

#include "format/trace_file/trace_encode.h"

#include <stdatomic.h>
#include <stdbool.h>

/* All zeroes: a buffer without a chunk. */
struct sn_trace_buffer {
	struct sn_trace_cursor cursor; /* its chunk lies in private memory */
	uint64_t due_ns;	       /* when its records should be written out */
	_Atomic int is_locked;
	uint32_t written, written_count; /* bytes and number of records in the file */
	struct sn_trace_chunk parked; /* the header, while there is no memory; sequence 0: none */
};

/* False while another thread writes the buffer out; sn_trace_buffer_wait waits for that, with a
 * bound.
 * MT: yes. */
bool sn_trace_buffer_lock(struct sn_trace_buffer *buffer);
bool sn_trace_buffer_wait(struct sn_trace_buffer *buffer);
void sn_trace_buffer_unlock(struct sn_trace_buffer *buffer);

/* ---- for the thread that fills it, or with the lock ---- */

/* Whether it has a chunk, full or not. */
static inline bool sn_trace_buffer_has_chunk(const struct sn_trace_buffer *buffer)
{
	return buffer->cursor.at || buffer->parked.sequence;
}
/* Memory for a chunk. False without. */
bool sn_trace_buffer_reserve(struct sn_trace_buffer *buffer);
/* Begins an empty chunk with this header, at `place` of the file, in the reserved memory. */
void sn_trace_buffer_begin(struct sn_trace_buffer *buffer, const struct sn_trace_chunk *header,
			   uint64_t place);
/* The number of records that are not yet in the file. */
uint32_t sn_trace_buffer_waiting(const struct sn_trace_buffer *buffer);
/* Writes them to the chunk at `offset` of `fd`, then the header that counts them. 0, or a negative
 * errno; then the file counts no more records than before. */
int sn_trace_buffer_write(struct sn_trace_buffer *buffer, int fd, uint64_t offset);
/* Frees the memory of a thread that ends; all records are written or lost. sn_trace_buffer_resume
 * continues the chunk at the same place; it is false without a chunk or without memory. */
void sn_trace_buffer_park(struct sn_trace_buffer *buffer);
bool sn_trace_buffer_resume(struct sn_trace_buffer *buffer);
/* Drops the chunk and keeps its memory for the next one. */
void sn_trace_buffer_drop(struct sn_trace_buffer *buffer);
