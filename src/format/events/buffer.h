/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing run of bytes to encode into, and a bounded one to decode from.
 */
#ifndef SN_FORMAT_BUFFER_H
#define SN_FORMAT_BUFFER_H

#include "base/vec.h"

#include <stdbool.h>
#include <string.h>

struct sn_buffer {
	unsigned char *bytes; /* from malloc */
	size_t count, capacity;
	bool failed; /* for lack of memory; what was put since is lost */
};

/* Room for `length` more bytes, which the caller fills and which count as put. NULL on failure. */
static inline unsigned char *sn_buffer_room(struct sn_buffer *buffer, size_t length)
{
	if (buffer->failed ||
	    sn_vec_reserve(&buffer->bytes, &buffer->capacity, buffer->count + length) < 0) {
		buffer->failed = true;
		return NULL;
	}
	unsigned char *room = buffer->bytes + buffer->count;
	buffer->count += length;
	return room;
}

static inline void sn_buffer_put(struct sn_buffer *buffer, const void *bytes, size_t length)
{
	unsigned char *room = sn_buffer_room(buffer, length);
	if (room && length)
		memcpy(room, bytes, length);
}

static inline void sn_buffer_release(struct sn_buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct sn_buffer){0};
}

/* What is left to decode. */
struct sn_span {
	const unsigned char *bytes;
	size_t count;
};

/* The next `length` bytes, or NULL where there are fewer. */
static inline const unsigned char *sn_span_take(struct sn_span *span, size_t length)
{
	if (length > span->count)
		return NULL;
	const unsigned char *taken = span->bytes;
	span->bytes += length;
	span->count -= length;
	return taken;
}

static inline bool sn_span_get(struct sn_span *span, void *to, size_t length)
{
	const unsigned char *taken = sn_span_take(span, length);
	if (taken)
		memcpy(to, taken, length);
	return taken != NULL;
}

#endif
