/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing buffer of bytes to encode into, and a bounded span to decode from.
 *
 * Failure for lack of memory is sticky: writers need no checks, the user of the bytes tests
 * `failed` once. Appending takes constant time on average.
 *
 *	struct sn_buffer buffer = {0};
 *	sn_buffer_varint(&buffer, count);
 *	sn_buffer_print(&buffer, "%s:%u", name, line);
 *	if (buffer.failed) ...
 *	sn_buffer_release(&buffer);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* All zeroes is an empty buffer. */
struct sn_buffer {
	unsigned char *bytes; /* from malloc */
	size_t count, capacity;
	bool failed; /* some appended bytes are missing */
};

void sn_buffer_release(struct sn_buffer *buffer);
/* Only for sn_buffer_room: the same if the buffer must grow. */
unsigned char *sn_buffer_grow(struct sn_buffer *buffer, size_t length);

/* Appends `length` bytes, which the caller fills. NULL on failure. */
static inline unsigned char *sn_buffer_room(struct sn_buffer *buffer, size_t length)
{
	/* one byte is kept for the NUL of sn_buffer_string */
	if (__builtin_expect(length >= buffer->capacity - buffer->count, 0))
		return sn_buffer_grow(buffer, length);
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

static inline void sn_buffer_byte(struct sn_buffer *buffer, unsigned char byte)
{
	unsigned char *room = sn_buffer_room(buffer, 1);
	if (room)
		*room = byte;
}

/* Without its NUL. */
static inline void sn_buffer_text(struct sn_buffer *buffer, const char *text)
{
	sn_buffer_put(buffer, text, strlen(text));
}

/* The lower `bytes` bytes of a number, the lowest first. */
static inline void sn_buffer_number(struct sn_buffer *buffer, uint64_t number, unsigned bytes)
{
	unsigned char *room = sn_buffer_room(buffer, bytes);
	for (unsigned i = 0; room && i < bytes; i++)
		room[i] = (unsigned char)(number >> 8 * i);
}

/* LEB128: seven bits a byte, the lowest first; the upper bit means that more follow. */
void sn_buffer_varint(struct sn_buffer *buffer, uint64_t number);
/* As printf, of any length. */
void sn_buffer_print(struct sn_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Zeroes up to a multiple of `alignment`, a power of two. */
void sn_buffer_align(struct sn_buffer *buffer, size_t alignment);
/* Overwrites existing bytes, as sn_buffer_number writes them. */
void sn_buffer_patch(struct sn_buffer *buffer, size_t at, uint64_t number, unsigned bytes);

/* Keeps the first `count` bytes, and the memory. */
static inline void sn_buffer_cut(struct sn_buffer *buffer, size_t count)
{
	if (count < buffer->count)
		buffer->count = count;
}

/* The bytes as a text, valid until more are appended: they are followed by a NUL, which is not
 * counted. "" for an empty buffer. */
const char *sn_buffer_string(struct sn_buffer *buffer);
/* The same as a text from malloc that the caller owns; empties the buffer. NULL if it has failed.
 * */
char *sn_buffer_detach(struct sn_buffer *buffer);

/* The bytes left to decode. */
struct sn_span {
	const unsigned char *bytes;
	size_t count;
};

/* The next `length` bytes, or NULL if there are fewer. */
static inline const unsigned char *sn_span_next(struct sn_span *span, size_t length)
{
	if (length > span->count)
		return NULL;
	const unsigned char *next = span->bytes;
	span->bytes += length;
	span->count -= length;
	return next;
}

static inline bool sn_span_get(struct sn_span *span, void *to, size_t length)
{
	const unsigned char *next = sn_span_next(span, length);
	if (next)
		memcpy(to, next, length);
	return next != NULL;
}
