/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf's wire format, read from memory and from files of any size. */
#include "protobuf.h"

#include "base/vec.h"
#include "format/database/database_writer.h"
#include "packed_file.h"

#include <errno.h>
#include <string.h>

#define WINDOW_BYTES	 (1u << 20)
/* The longest tag, and the longest number or length after it. */
#define FIELD_HEAD_BYTES 20u

/* At most ten bytes; bits above the 64th are dropped, as in every decoder. */
static bool parse_varint(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
	const unsigned char *byte = *at;
	if (byte < end && *byte < 0x80) {
		*value = *byte;
		*at = byte + 1;
		return true;
	}
	*value = 0;
	for (unsigned shift = 0; byte < end && shift < 70; shift += 7) {
		*value |= (uint64_t)(*byte & 0x7f) << shift;
		if (*byte++ < 0x80) {
			*at = byte;
			return true;
		}
	}
	return false;
}

static bool parse_fixed(const unsigned char **at, const unsigned char *end, unsigned bytes,
			uint64_t *value)
{
	if ((size_t)(end - *at) < bytes)
		return false;
	*value = 0;
	for (unsigned i = bytes; i--;)
		*value = *value << 8 | (*at)[i];
	*at += bytes;
	return true;
}

/* A field without its bytes, whose length is stored in field->length whether or not
 * they are there. */
static bool parse_head(const unsigned char **at, const unsigned char *end,
		       struct sn_proto_field *field)
{
	uint64_t tag, length;
	*field = (struct sn_proto_field){0};
	if (!parse_varint(at, end, &tag) || tag >> 3 == 0 || tag >> 3 > (1u << 29) - 1)
		return false;
	field->number = (uint32_t)(tag >> 3);
	field->wire = tag & 7;
	switch (field->wire) {
	case SN_PROTO_VARINT:
		return parse_varint(at, end, &field->value);
	case SN_PROTO_FIXED64:
		return parse_fixed(at, end, 8, &field->value);
	case SN_PROTO_FIXED32:
		return parse_fixed(at, end, 4, &field->value);
	case SN_PROTO_BYTES:
		if (!parse_varint(at, end, &length) || length > SIZE_MAX / 4)
			return false;
		field->length = (size_t)length;
		return true;
	default:
		return false;
	}
}

struct sn_proto sn_proto_of(const void *bytes, size_t length)
{
	const unsigned char *at = bytes ? bytes : (const unsigned char *)"";
	return (struct sn_proto){at, at + (bytes ? length : 0), false};
}

struct sn_proto sn_proto_enter(const struct sn_proto_field *field)
{
	return sn_proto_of(field->bytes, field->length);
}

bool sn_proto_next(struct sn_proto *message, struct sn_proto_field *field)
{
	if (message->failed || message->at >= message->end)
		return false;
	message->failed = !parse_head(&message->at, message->end, field) ||
			  field->length > (size_t)(message->end - message->at);
	if (message->failed)
		return false;
	if (field->wire == SN_PROTO_BYTES) {
		field->bytes = message->at;
		message->at += field->length;
	}
	return true;
}

bool sn_proto_fields(struct sn_proto message, struct sn_proto_field *fields, size_t count)
{
	struct sn_proto_field field;
	memset(fields, 0, count * sizeof(*fields));
	while (sn_proto_next(&message, &field))
		if (field.number < count)
			fields[field.number] = field;
	return !message.failed;
}

bool sn_proto_packed(struct sn_proto *numbers, uint64_t *value)
{
	if (numbers->failed || numbers->at >= numbers->end)
		return false;
	numbers->failed = !parse_varint(&numbers->at, numbers->end, value);
	return !numbers->failed;
}

bool sn_proto_number(const struct sn_proto_field *field, struct sn_proto *numbers, uint64_t *value)
{
	bool is_first = !numbers->at;
	if (is_first)
		*numbers = sn_proto_enter(field);
	*value = field->value;
	return field->wire == SN_PROTO_BYTES ? sn_proto_packed(numbers, value) : is_first;
}

uint32_t sn_proto_string(struct sn_db_builder *builder, const struct sn_proto_field *field)
{
	return sn_db_builder_string_n(builder, (const char *)field->bytes,
				      field->bytes ? field->length : 0);
}

double sn_proto_double(uint64_t value)
{
	double real;
	memcpy(&real, &value, sizeof(real));
	return real;
}

/* ---- files ---- */

/* Whether somebody has read the file as text and written it again: what is no character has become
 * U+FFFD. */
static bool was_taken_for_text(const struct sn_proto_stream *stream)
{
	enum { MANY = 8 };
	unsigned found = 0;
	for (size_t at = 0; at + 3 <= stream->end; at++)
		found += !memcmp(stream->buffer + at, "\xef\xbf\xbd", 3);
	return found >= MANY;
}

static int damaged(const struct sn_proto_stream *stream, const char *what, struct sn_error *error)
{
	return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': %s%s at byte %llu", stream->path,
		       was_taken_for_text(stream)
			   ? "it was read and written as if it were text, which destroys it; "
			   : "",
		       what, (unsigned long long)stream->window_at);
}

int sn_proto_stream_open(struct sn_proto_stream *stream, const char *path, struct sn_error *error)
{
	*stream = (struct sn_proto_stream){.path = path};
	stream->file = sn_packed_file_open(path);
	if (!stream->file)
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
	if (sn_vec_reserve(&stream->buffer, &stream->capacity, WINDOW_BYTES) == 0)
		return 0;
	sn_proto_stream_close(stream);
	return sn_fail_memory(error);
}

void sn_proto_stream_close(struct sn_proto_stream *stream)
{
	sn_packed_file_close(stream->file);
	free(stream->buffer);
	*stream = (struct sn_proto_stream){0};
}

int sn_proto_stream_rewind(struct sn_proto_stream *stream, struct sn_error *error)
{
	const char *path = stream->path;
	sn_proto_stream_close(stream);
	return sn_proto_stream_open(stream, path, error);
}

/* Reads on until the window has `wanted` bytes, or all that are left. */
static int fill(struct sn_proto_stream *stream, size_t wanted, struct sn_error *error)
{
	while (stream->end - stream->begin < wanted) {
		const char *why = "";
		if (stream->begin) {
			memmove(stream->buffer, stream->buffer + stream->begin,
				stream->end - stream->begin);
			stream->end -= stream->begin;
			stream->begin = 0;
		}
		if (stream->end == stream->capacity &&
		    sn_vec_reserve(&stream->buffer, &stream->capacity, 2 * stream->capacity) < 0)
			return sn_fail_memory(error);
		int64_t got = sn_packed_file_read(stream->file, stream->buffer + stream->end,
						  stream->capacity - stream->end, &why);
		if (got < 0)
			return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': %s", stream->path,
				       why);
		if (got == 0)
			return 0;
		stream->end += (size_t)got;
	}
	return 0;
}

static void consume(struct sn_proto_stream *stream, size_t length)
{
	stream->begin += length;
	stream->window_at += length;
}

static int skip(struct sn_proto_stream *stream, uint64_t length, struct sn_error *error)
{
	size_t inside = stream->end - stream->begin;
	if (length <= inside) {
		consume(stream, (size_t)length);
		return 0;
	}
	consume(stream, inside);
	/* skips all but the last byte; reading that one shows whether the file is long enough */
	uint64_t rest = length - inside;
	if (sn_packed_file_skip(stream->file, rest - 1) < 0)
		return damaged(stream, "a field leaves the file", error);
	stream->window_at += rest - 1;
	int result = fill(stream, 1, error);
	if (result)
		return result;
	if (stream->begin == stream->end) {
		stream->is_cut = true;
		return damaged(stream, "the file ends within a field", error);
	}
	consume(stream, 1);
	return 0;
}

/* Where the innermost open message ends. */
static uint64_t limit(const struct sn_proto_stream *stream)
{
	return stream->depth ? stream->ends[stream->depth - 1] : UINT64_MAX;
}

int sn_proto_stream_next(struct sn_proto_stream *stream, struct sn_proto_field *field,
			 struct sn_error *error)
{
	uint64_t pending = stream->pending_bytes;
	stream->pending_bytes = 0;
	int result = pending ? skip(stream, pending, error) : 0;
	if (!result && stream->end - stream->begin < FIELD_HEAD_BYTES)
		result = fill(stream, FIELD_HEAD_BYTES, error);
	if (result)
		return result;
	uint64_t left = limit(stream) - stream->window_at;
	size_t there = stream->end - stream->begin;
	if (!left || (!there && !stream->depth))
		return 0;
	const unsigned char *begin = stream->buffer + stream->begin, *at = begin;
	if (!parse_head(&at, begin + (left < there ? left : there), field)) {
		stream->is_cut = there < left && there < FIELD_HEAD_BYTES;
		return damaged(
		    stream, stream->is_cut ? "the file ends within a field" : "there is no field",
		    error);
	}
	if (field->length > left - (uint64_t)(at - begin))
		return damaged(stream, "a field is longer than its message", error);
	consume(stream, (size_t)(at - begin));
	stream->pending_bytes = field->length;
	return 1;
}

int sn_proto_stream_load(struct sn_proto_stream *stream, struct sn_proto_field *field,
			 struct sn_error *error)
{
	int result = fill(stream, field->length, error);
	if (result)
		return result;
	if (stream->end - stream->begin < field->length) {
		stream->is_cut = true;
		return damaged(stream, "the file ends within a field", error);
	}
	field->bytes = stream->buffer + stream->begin;
	consume(stream, field->length);
	stream->pending_bytes = 0;
	return 0;
}

int sn_proto_stream_enter(struct sn_proto_stream *stream, struct sn_error *error)
{
	if (stream->depth == SN_PROTO_DEPTH_MAX)
		return damaged(stream, "messages lie too deep", error);
	stream->ends[stream->depth++] = stream->window_at + stream->pending_bytes;
	stream->pending_bytes = 0;
	return 0;
}

int sn_proto_stream_leave(struct sn_proto_stream *stream, struct sn_error *error)
{
	uint64_t rest = limit(stream) - stream->window_at;
	stream->depth--;
	stream->pending_bytes = 0;
	return rest ? skip(stream, rest, error) : 0;
}

bool sn_proto_probe(const char *path, uint32_t number, unsigned char *head, size_t size,
		    size_t *length)
{
	struct sn_proto_field field;
	const char *why;
	void *file = sn_packed_file_open(path);
	if (!file)
		return false;
	int64_t got = sn_packed_file_read(file, head, size, &why);
	sn_packed_file_close(file);
	*length = got > 0 ? (size_t)got : 0;
	const unsigned char *at = head;
	return got > 0 && parse_head(&at, head + got, &field) && field.number == number &&
	       field.wire == SN_PROTO_BYTES;
}
