/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf's wire format; see protobuf.h. */
#include "protobuf.h"

#include <stdlib.h>
#include <string.h>

void sn_protobuf_release(struct sn_protobuf *buffer)
{
	free(buffer->bytes);
	*buffer = (struct sn_protobuf){0};
}

void sn_protobuf_clear(struct sn_protobuf *buffer)
{
	buffer->length = 0;
}

static void append(struct sn_protobuf *buffer, const void *bytes, size_t length)
{
	if (buffer->length + length > buffer->capacity) {
		size_t capacity = (buffer->length + length) * 2 + 64;
		void *grown = realloc(buffer->bytes, capacity);
		if (!grown) {
			buffer->failed = true;
			return;
		}
		buffer->bytes = grown;
		buffer->capacity = capacity;
	}
	if (length > 0)
		memcpy(buffer->bytes + buffer->length, bytes, length);
	buffer->length += length;
}

void sn_protobuf_varint(struct sn_protobuf *buffer, uint64_t value)
{
	unsigned char bytes[10];
	size_t length = 0;
	while (value >= 0x80) {
		bytes[length++] = (unsigned char)(value | 0x80);
		value >>= 7;
	}
	bytes[length++] = (unsigned char)value;
	append(buffer, bytes, length);
}

void sn_protobuf_varint_field(struct sn_protobuf *buffer, unsigned field, uint64_t value)
{
	sn_protobuf_varint(buffer, field << 3);
	sn_protobuf_varint(buffer, value);
}

void sn_protobuf_fixed64(struct sn_protobuf *buffer, unsigned field, uint64_t value)
{
	unsigned char bytes[8];
	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(value >> (8 * i));
	sn_protobuf_varint(buffer, field << 3 | 1);
	append(buffer, bytes, sizeof(bytes));
}

void sn_protobuf_number(struct sn_protobuf *buffer, unsigned field, uint64_t value)
{
	if (value == 0)
		return;
	sn_protobuf_varint(buffer, field << 3);
	sn_protobuf_varint(buffer, value);
}

void sn_protobuf_bytes(struct sn_protobuf *buffer, unsigned field, const void *bytes, size_t length)
{
	sn_protobuf_varint(buffer, field << 3 | 2);
	sn_protobuf_varint(buffer, length);
	append(buffer, bytes, length);
}

void sn_protobuf_message(struct sn_protobuf *buffer, unsigned field,
			 const struct sn_protobuf *message)
{
	if (message->failed)
		buffer->failed = true;
	sn_protobuf_bytes(buffer, field, message->bytes, message->length);
}
