/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As much of protobuf's encoding as the exporters need: varint, fixed and length-delimited fields
 * into a buffer, whose failure is sticky.
 */
#pragma once

#include "base/buffer.h"

static inline void sn_protobuf_varint_field(struct sn_buffer *to, unsigned field, uint64_t value)
{
	sn_buffer_varint(to, field << 3);
	sn_buffer_varint(to, value);
}

/* The same, but zero, protobuf's default, is left out. */
static inline void sn_protobuf_number(struct sn_buffer *to, unsigned field, uint64_t value)
{
	if (value)
		sn_protobuf_varint_field(to, field, value);
}

static inline void sn_protobuf_fixed64(struct sn_buffer *to, unsigned field, uint64_t value)
{
	sn_buffer_varint(to, field << 3 | 1);
	sn_buffer_number(to, value, 8);
}

static inline void sn_protobuf_text(struct sn_buffer *to, unsigned field, const char *text)
{
	size_t length = strlen(text);
	sn_buffer_varint(to, field << 3 | 2);
	sn_buffer_varint(to, length);
	sn_buffer_put(to, text, length);
}

/* Appends the message and empties it for the next one. */
static inline void sn_protobuf_message(struct sn_buffer *to, unsigned field,
				       struct sn_buffer *message)
{
	to->failed |= message->failed;
	sn_buffer_varint(to, field << 3 | 2);
	sn_buffer_varint(to, message->count);
	sn_buffer_put(to, message->bytes, message->count);
	message->count = 0;
}
