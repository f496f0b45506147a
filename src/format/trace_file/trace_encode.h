/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting records into a chunk of a trace file (trace_file.h), in the program that is measured and
 * in the launcher alike: no allocation, no lock, nothing but stores into the chunk.
 *
 * A record is its tag, then, each a varint (LEB128) and only where the tag says so:
 *   stream; owner (thread + 1, 0 for names);
 *   time: of a sample the 1,024 ns since the record before, else the zigzag difference of its end;
 *   of an interval its length; of a counter its number and its value (zigzag);
 *   context: zigzag difference from the record before, itself where the record has an owner;
 *   link: zigzag difference from the record before;
 *   attributes: their number, then key and value of each.
 * Time, context and link begin at the chunk's base time, 0 and 0.
 *
 * All AS-safe: yes. MT: the owner of the chunk.
 */
#pragma once

#include "trace_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct sn_trace_attribute {
	uint32_t key; /* number of the definition */
	uint32_t reserved;
	uint64_t value; /* as the key's type says; of a string the number of a name */
};

struct sn_trace_event {
	uint8_t kind;	   /* SN_TRACE_SAMPLE ... SN_TRACE_SYSTEM */
	bool has_stream;   /* `stream` is not the chunk's */
	bool has_owner;	   /* `context` is of `owner`, not of the chunk's thread */
	uint32_t stream;   /* number of the definition */
	uint32_t owner;	   /* a thread of the measurement, SN_ID_NONE: a name */
	uint32_t context;  /* a node, or a name */
	uint32_t counter;  /* number of the definition */
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t end_ns;   /* of an interval; else the start */
	int64_t value;	   /* of a counter */
	uint64_t link;	   /* 0: none; enum sn_trace_link_space and a number */
	uint32_t attribute_count;
	const struct sn_trace_attribute *attributes;
};

/* A chunk being filled, by one thread. */
struct sn_trace_cursor {
	struct sn_trace_chunk *chunk; /* NULL: none yet */
	unsigned char *at, *end;      /* where the next record goes; the chunk's end */
	uint64_t now_ns, link;
	uint64_t place; /* for the writer: the chunk's number in the file */
	uint32_t context;
};

static inline unsigned char *sn_trace_put(unsigned char *at, uint64_t number)
{
	while (number >= 0x80) {
		*at++ = (unsigned char)(number | 0x80);
		number >>= 7;
	}
	*at++ = (unsigned char)number;
	return at;
}

static inline unsigned char *sn_trace_put_signed(unsigned char *at, int64_t number)
{
	return sn_trace_put(at, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

static inline unsigned char *sn_trace_put_text(unsigned char *at, const char *text, size_t length)
{
	if (length > SN_TRACE_TEXT_MAX)
		length = SN_TRACE_TEXT_MAX;
	at = sn_trace_put(at, length);
	memcpy(at, text, length);
	return at + length;
}

/* True if any record fits; else the chunk is full. */
static inline bool sn_trace_has_room(const struct sn_trace_cursor *cursor)
{
	return cursor->chunk && (size_t)(cursor->end - cursor->at) >= SN_TRACE_RECORD_MAX;
}

/* Takes the chunk over: `bytes` at `chunk`, whose header's other fields are set. */
static inline void sn_trace_cursor_begin(struct sn_trace_cursor *cursor,
					 struct sn_trace_chunk *chunk, size_t bytes)
{
	*cursor = (struct sn_trace_cursor){.chunk = chunk,
					   .at = (unsigned char *)(chunk + 1),
					   .end = (unsigned char *)chunk + bytes,
					   .now_ns = chunk->base_ns};
}

/* What lies before `at` counts from now on. */
static inline void sn_trace_commit(struct sn_trace_cursor *cursor, unsigned char *at)
{
	struct sn_trace_chunk *chunk = cursor->chunk;
	cursor->at = at;
	__atomic_store_n(&chunk->count, chunk->count + 1, __ATOMIC_RELAXED);
	/* release: a reader that sees it sees the record */
	__atomic_store_n(&chunk->used, (uint32_t)(at - (unsigned char *)(chunk + 1)),
			 __ATOMIC_RELEASE);
}

static inline bool sn_trace_lasts(unsigned kind)
{
	return kind == SN_TRACE_INTERVAL || kind == SN_TRACE_STATE || kind == SN_TRACE_SYSTEM;
}

static inline unsigned char *sn_trace_put_time(struct sn_trace_cursor *cursor, unsigned char *at,
					       const struct sn_trace_event *event)
{
	uint64_t end_ns = event->end_ns;
	if (event->kind == SN_TRACE_SAMPLE) {
		uint64_t units = event->start_ns > cursor->now_ns
				     ? (event->start_ns - cursor->now_ns) >> SN_TRACE_SAMPLE_SHIFT
				     : 0;
		cursor->now_ns += units << SN_TRACE_SAMPLE_SHIFT;
		return sn_trace_put(at, units);
	}
	if (!sn_trace_lasts(event->kind))
		end_ns = event->start_ns;
	at = sn_trace_put_signed(at, (int64_t)(end_ns - cursor->now_ns));
	cursor->now_ns = end_ns;
	if (sn_trace_lasts(event->kind))
		at = sn_trace_put(at, end_ns - event->start_ns);
	return at;
}

static inline unsigned char *sn_trace_put_attributes(unsigned char *at,
						     const struct sn_trace_attribute *attributes,
						     uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		at = sn_trace_put(sn_trace_put(at, attributes[i].key), attributes[i].value);
	return at;
}

/* The chunk must have room. `more` are attributes behind the event's own; all are at most
 * SN_TRACE_ATTRIBUTES_MAX. */
static inline void sn_trace_encode(struct sn_trace_cursor *cursor,
				   const struct sn_trace_event *event,
				   const struct sn_trace_attribute *more, uint32_t more_count)
{
	uint32_t attribute_count = event->attribute_count + more_count;
	bool same = !event->has_owner && event->context == cursor->context;
	unsigned char *at = cursor->at + 1;
	*cursor->at = (unsigned char)(event->kind | (event->has_stream ? SN_TRACE_HAS_STREAM : 0) |
				      (event->has_owner ? SN_TRACE_HAS_OWNER : 0) |
				      (same ? SN_TRACE_SAME_CONTEXT : 0) |
				      (event->link ? SN_TRACE_HAS_LINK : 0) |
				      (attribute_count ? SN_TRACE_HAS_ATTRIBUTES : 0));
	if (event->has_stream)
		at = sn_trace_put(at, event->stream);
	if (event->has_owner)
		at = sn_trace_put(at, (uint32_t)(event->owner + 1));
	at = sn_trace_put_time(cursor, at, event);
	if (event->kind == SN_TRACE_COUNTER)
		at = sn_trace_put_signed(sn_trace_put(at, event->counter), event->value);
	if (event->has_owner) {
		at = sn_trace_put(at, event->context);
	} else if (!same) {
		at = sn_trace_put_signed(at, (int64_t)event->context - (int64_t)cursor->context);
		cursor->context = event->context;
	}
	if (event->link) {
		at = sn_trace_put_signed(at, (int64_t)(event->link - cursor->link));
		cursor->link = event->link;
	}
	if (attribute_count)
		at = sn_trace_put(at, attribute_count);
	at = sn_trace_put_attributes(at, event->attributes, event->attribute_count);
	at = sn_trace_put_attributes(at, more, more_count);
	sn_trace_commit(cursor, at);
}

/* ---- definitions, into a chunk of definitions ---- */

/* A line of a timeline. */
struct sn_trace_stream {
	uint32_t kind;	   /* enum sn_trace_stream_kind */
	uint32_t thread;   /* of the measurement: it is that thread's own line. SN_ID_NONE */
	uint64_t pid, tid; /* of a thread; a processor's number is its tid */
	uint32_t device, device_context, queue; /* the runtime's own numbers, SN_ID_NONE: none */
	uint32_t name_length;
	const char *name; /* cut at SN_TRACE_TEXT_MAX; not ended by NUL */
};

static inline void sn_trace_define_stream(struct sn_trace_cursor *cursor, uint32_t number,
					  const struct sn_trace_stream *stream)
{
	unsigned char *at = cursor->at;
	*at++ = SN_TRACE_DEFINE_STREAM;
	at = sn_trace_put(at, number);
	at = sn_trace_put(at, stream->kind);
	at = sn_trace_put(at, (uint32_t)(stream->thread + 1));
	at = sn_trace_put(at, stream->pid);
	at = sn_trace_put(at, stream->tid);
	at = sn_trace_put(at, (uint32_t)(stream->device + 1));
	at = sn_trace_put(at, (uint32_t)(stream->device_context + 1));
	at = sn_trace_put(at, (uint32_t)(stream->queue + 1));
	sn_trace_commit(cursor, sn_trace_put_text(at, stream->name, stream->name_length));
}

/* A context that is no call path: a frame of `frame_kind` (enum sn_frame_kind) under the name
 * `parent`, or under the root for SN_ID_NONE. A parent is defined before. */
static inline void sn_trace_define_name(struct sn_trace_cursor *cursor, uint32_t number,
					uint32_t frame_kind, uint32_t parent, const char *text,
					size_t length)
{
	unsigned char *at = cursor->at;
	*at++ = SN_TRACE_DEFINE_NAME;
	at = sn_trace_put(at, number);
	at = sn_trace_put(at, frame_kind);
	at = sn_trace_put(at, (uint32_t)(parent + 1));
	sn_trace_commit(cursor, sn_trace_put_text(at, text, length));
}

/* A counter (`type` is an enum sn_metric_kind) or an attribute (an enum sonde_attribute_type). */
static inline void sn_trace_define_quantity(struct sn_trace_cursor *cursor,
					    enum sn_trace_definition definition, uint32_t number,
					    uint32_t type, const char *name, const char *unit)
{
	unsigned char *at = cursor->at;
	*at++ = (unsigned char)definition;
	at = sn_trace_put(at, number);
	at = sn_trace_put(at, type);
	at = sn_trace_put_text(at, name, strlen(name));
	sn_trace_commit(cursor, sn_trace_put_text(at, unit, strlen(unit)));
}
