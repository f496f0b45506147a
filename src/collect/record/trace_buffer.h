/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk of the trace file that a thread fills, in memory of its own, and its way into the file.
 *
 * Records are stored in private memory, so nothing that happens to the file (truncated by others,
 * no space, a quota, a limit) can end the program by a signal; they are copied to the file by
 * write(), which only fails. The file has all of a thread's records but the latest; how long those
 * may wait is trace.c's.
 *
 * One thread fills a buffer. Any may write it out, one at a time: sn_trace_buffer_lock.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread that fills it or
 * holds its lock.
 */
#ifndef SN_COLLECT_TRACE_BUFFER_H
#define SN_COLLECT_TRACE_BUFFER_H

#include "format/trace_file/trace_encode.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Zeroes are a buffer without chunk. */
struct sn_trace_buffer {
	struct sn_trace_cursor cursor; /* its chunk lies in private memory */
	uint64_t due_ns;	       /* when its records should be written out */
	_Atomic int is_locked;
	uint32_t written, written_count; /* bytes and number of records that the file has */
	struct sn_trace_chunk parked; /* the header, while there is no memory; sequence 0: none */
};

/* False while another thread writes the buffer out; the second waits for that, with a bound.
 * MT: yes. */
bool sn_trace_buffer_lock(struct sn_trace_buffer *buffer);
bool sn_trace_buffer_wait(struct sn_trace_buffer *buffer);
void sn_trace_buffer_unlock(struct sn_trace_buffer *buffer);

/* ---- of the thread that fills it, or locked ---- */

/* Whether it has a chunk, full or not. */
static inline bool sn_trace_buffer_has_chunk(const struct sn_trace_buffer *buffer)
{
	return buffer->cursor.at || buffer->parked.sequence;
}
/* Memory for a chunk. False without. */
bool sn_trace_buffer_reserve(struct sn_trace_buffer *buffer);
/* An empty chunk with this header, at `place` of the file, in memory that is reserved. */
void sn_trace_buffer_begin(struct sn_trace_buffer *buffer, const struct sn_trace_chunk *header,
			   uint64_t place);
/* Records that the file does not have. */
uint32_t sn_trace_buffer_waiting(const struct sn_trace_buffer *buffer);
/* Writes them to the chunk at `offset` of `fd`, then the header that counts them. 0 or negative
 * errno; then the file has what it had. */
int sn_trace_buffer_write(struct sn_trace_buffer *buffer, int fd, uint64_t offset);
/* Gives the memory back, for a thread that ends; all is written or lost. The chunk goes on where it
 * was after sn_trace_buffer_resume, which is false where there is none or no memory. */
void sn_trace_buffer_park(struct sn_trace_buffer *buffer);
bool sn_trace_buffer_resume(struct sn_trace_buffer *buffer);
/* Forgets the chunk, and keeps its memory for the next one. */
void sn_trace_buffer_drop(struct sn_trace_buffer *buffer);

#endif
