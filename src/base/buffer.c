/* SPDX-License-Identifier: Apache-2.0 */
/* Growing bytes; see buffer.h. */
#include "buffer.h"

#include "vec.h"

#include <stdarg.h>
#include <stdio.h>

void sn_buffer_release(struct sn_buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct sn_buffer){0};
}

unsigned char *sn_buffer_grow(struct sn_buffer *buffer, size_t length)
{
	if (buffer->failed || length >= SIZE_MAX - buffer->count ||
	    sn_vec_reserve(&buffer->bytes, &buffer->capacity, buffer->count + length + 1) < 0) {
		buffer->failed = true;
		return NULL;
	}
	unsigned char *room = buffer->bytes + buffer->count;
	buffer->count += length;
	return room;
}

void sn_buffer_varint(struct sn_buffer *buffer, uint64_t number)
{
	unsigned char bytes[10];
	size_t length = 0;
	for (; number >= 0x80; number >>= 7)
		bytes[length++] = (unsigned char)(number | 0x80);
	bytes[length++] = (unsigned char)number;
	sn_buffer_put(buffer, bytes, length);
}

void sn_buffer_print(struct sn_buffer *buffer, const char *format, ...)
{
	va_list arguments, again;
	va_start(arguments, format);
	va_copy(again, arguments);
	size_t spare = buffer->capacity - buffer->count;
	int length = vsnprintf(spare ? (char *)buffer->bytes + buffer->count : NULL, spare, format,
			       arguments);
	bool is_written = length >= 0 && (size_t)length < spare;
	unsigned char *room = length < 0 ? NULL : sn_buffer_room(buffer, (size_t)length);
	if (room && !is_written)
		vsnprintf((char *)room, (size_t)length + 1, format, again);
	buffer->failed |= length < 0;
	va_end(again);
	va_end(arguments);
}

void sn_buffer_align(struct sn_buffer *buffer, size_t alignment)
{
	size_t length = -buffer->count % alignment;
	unsigned char *room = length ? sn_buffer_room(buffer, length) : NULL;
	if (room)
		memset(room, 0, length);
}

void sn_buffer_patch(struct sn_buffer *buffer, size_t at, uint64_t number, unsigned bytes)
{
	for (unsigned i = 0; i < bytes && at + i < buffer->count; i++)
		buffer->bytes[at + i] = (unsigned char)(number >> 8 * i);
}

const char *sn_buffer_string(struct sn_buffer *buffer)
{
	if (!buffer->bytes)
		return "";
	buffer->bytes[buffer->count] = 0;
	return (const char *)buffer->bytes;
}

char *sn_buffer_detach(struct sn_buffer *buffer)
{
	char *text = NULL;
	sn_buffer_room(buffer, 0);
	if (!buffer->failed) {
		text = (char *)buffer->bytes;
		text[buffer->count] = 0;
		buffer->bytes = NULL;
	}
	sn_buffer_release(buffer);
	return text;
}
