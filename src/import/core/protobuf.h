/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading protobuf's wire format (protobuf.dev/programming-guides/encoding) from untrusted bytes.
 * There is no schema here: the caller knows the numbers of the fields.
 *
 * Two readers give the same fields:
 *   sn_proto         a message that lies in memory
 *   sn_proto_stream  a file, packed by gzip or not, of any size through a window: messages are
 * entered and left, loaded whole, or skipped, so that a file of many GB needs no more memory than
 * the largest loaded message
 *
 * Groups (wire types 3 and 4, not written by anybody since 2008) are refused.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_proto_wire {
	SN_PROTO_VARINT = 0,
	SN_PROTO_FIXED64 = 1,
	SN_PROTO_BYTES = 2,
	SN_PROTO_FIXED32 = 5,
};

struct sn_proto_field {
	uint32_t number;
	uint32_t wire;	/* enum sn_proto_wire */
	uint64_t value; /* of a number, whatever its width; else 0 */
	/* Of SN_PROTO_BYTES: a text, bytes, a message, or packed numbers. The bytes are the
	 * reader's; those of a stream are NULL until they are loaded. */
	const unsigned char *bytes;
	size_t length;
};

/* A message in memory. */
struct sn_proto {
	const unsigned char *at, *end;
	bool failed; /* damaged: there is no further field */
};

struct sn_proto sn_proto_of(const void *bytes, size_t length);
/* The message in a field; an empty one if the field is a number. */
struct sn_proto sn_proto_enter(const struct sn_proto_field *field);
/* The next field; false at the end, or if the message is damaged (`failed`). */
bool sn_proto_next(struct sn_proto *message, struct sn_proto_field *field);

/* Stores the last field of each number below `count` in fields[number], or all zeroes. False if the
 * message is damaged; fields before the damage are stored. */
bool sn_proto_fields(struct sn_proto message, struct sn_proto_field *fields, size_t count);
#define SN_PROTO_FIELDS(message, fields)                                                           \
	sn_proto_fields(message, fields, sizeof(fields) / sizeof(*(fields)))

/* A field's number, or `missing` if there is no such field. */
static inline int64_t sn_proto_or(const struct sn_proto_field *field, int64_t missing)
{
	return field->number ? (int64_t)field->value : missing;
}

/* One number of a packed repeated field whose elements are varints; false as above. A repeated
 * field that is not packed comes as one field for each. */
bool sn_proto_packed(struct sn_proto *numbers, uint64_t *value);
/* The same for a field that may be packed or not: begin with all zeroes in *numbers. */
bool sn_proto_number(const struct sn_proto_field *field, struct sn_proto *numbers, uint64_t *value);

struct sn_db_builder;
/* The builder's string of a text, "" if there is no such field. */
uint32_t sn_proto_string(struct sn_db_builder *builder, const struct sn_proto_field *field);

/* A SN_PROTO_FIXED64 number as a double. */
double sn_proto_double(uint64_t value);

/* The most messages within messages that can be open. */
#define SN_PROTO_DEPTH_MAX 16

struct sn_proto_stream {
	const char *path; /* as opened; not owned */
	void *file;
	unsigned char *buffer; /* its bytes begin .. end - 1 are the window */
	size_t begin, end, capacity;
	uint64_t window_at;		   /* the position of `begin` in the unpacked file */
	uint64_t ends[SN_PROTO_DEPTH_MAX]; /* of the open messages, outermost first */
	unsigned depth;
	uint64_t pending_bytes; /* of the last field, not yet taken */
	bool is_cut;		/* the error was that the file is truncated */
};

/* `path` outlives the stream. 0 or a negative enum sn_err; then there is nothing to close. */
int sn_proto_stream_open(struct sn_proto_stream *stream, const char *path, struct sn_error *error);
void sn_proto_stream_close(struct sn_proto_stream *stream); /* all zeroes is closed */
/* Goes back to the begin of the file. */
int sn_proto_stream_rewind(struct sn_proto_stream *stream, struct sn_error *error);

/*
 * The next field of the innermost open message (at first: of the file). 1; 0 at the message's end;
 * or a negative enum sn_err. Of a field of bytes, only field->length is set; if it is neither
 * entered nor loaded before the next call, it is skipped, without reading it if the file is not
 * packed.
 */
int sn_proto_stream_next(struct sn_proto_stream *stream, struct sn_proto_field *field,
			 struct sn_error *error);
/* Reads the last field's bytes; they are valid until the next call of anything here. Memory grows
 * with the bytes in the file, not with the length that the field claims. */
int sn_proto_stream_load(struct sn_proto_stream *stream, struct sn_proto_field *field,
			 struct sn_error *error);
/* Enters the last field, a message. */
int sn_proto_stream_enter(struct sn_proto_stream *stream, struct sn_error *error);
/* Leaves the innermost open message: the next field is the one after it. */
int sn_proto_stream_leave(struct sn_proto_stream *stream, struct sn_error *error);

/* Whether a file, unpacked, begins with a field of that number that is a message. Stores the first
 * bytes in `head`, and *length. False if it cannot be read. */
bool sn_proto_probe(const char *path, uint32_t number, unsigned char *head, size_t size,
		    size_t *length);
