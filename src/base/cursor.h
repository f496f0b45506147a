/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded cursor over untrusted bytes, for readers of binary formats.
 *
 * Every read checks the bound; a read past the end returns 0, moves to the end and sets `failed`,
 * so a reader checks once per record instead of once per field. Little endian.
 *
 *	struct sn_cursor cursor = sn_cursor_at(section, offset);
 *	uint32_t version = sn_cursor_u32(&cursor);
 *	struct sn_cursor record = sn_cursor_slice(&cursor, sn_cursor_uleb(&cursor));
 *	const char *name = sn_cursor_string(&record);
 *	if (record.failed) ...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sn_bytes {
	const uint8_t *data;
	size_t size;
};

struct sn_cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

/* `size` bytes at an offset; none if they do not all lie in `bytes`. */
static inline struct sn_bytes sn_bytes_slice(struct sn_bytes bytes, uint64_t offset, uint64_t size)
{
	if (!bytes.data || offset > bytes.size || size > bytes.size - offset)
		return (struct sn_bytes){0};
	return (struct sn_bytes){bytes.data + offset, (size_t)size};
}

static inline struct sn_cursor sn_cursor_at(struct sn_bytes bytes, uint64_t offset)
{
	static const uint8_t nothing;
	struct sn_cursor cursor = {&nothing, &nothing, true};
	if (bytes.data && offset <= bytes.size)
		cursor = (struct sn_cursor){bytes.data + offset, bytes.data + bytes.size, false};
	return cursor;
}

static inline size_t sn_cursor_left(const struct sn_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

static inline void sn_cursor_fail(struct sn_cursor *cursor)
{
	cursor->at = cursor->end;
	cursor->failed = true;
}

static inline void sn_cursor_skip(struct sn_cursor *cursor, uint64_t bytes)
{
	if (bytes > sn_cursor_left(cursor))
		sn_cursor_fail(cursor);
	else
		cursor->at += bytes;
}

/* A cursor over the next bytes; this one moves past them. If there are fewer, both fail.
 */
static inline struct sn_cursor sn_cursor_slice(struct sn_cursor *cursor, uint64_t bytes)
{
	struct sn_cursor slice = *cursor;
	sn_cursor_skip(cursor, bytes);
	slice.failed |= cursor->failed;
	slice.end = cursor->at;
	if (cursor->failed)
		slice.at = slice.end;
	return slice;
}

/* An unsigned integer of 1 to 8 bytes. */
static inline uint64_t sn_cursor_uint(struct sn_cursor *cursor, unsigned bytes)
{
	uint64_t value = 0;
	if (bytes > 8 || sn_cursor_left(cursor) < bytes) {
		sn_cursor_fail(cursor);
		return 0;
	}
	memcpy(&value, cursor->at, bytes);
	cursor->at += bytes;
	return value;
}

static inline uint8_t sn_cursor_u8(struct sn_cursor *cursor)
{
	if (cursor->at == cursor->end) {
		cursor->failed = true;
		return 0;
	}
	return *cursor->at++;
}

static inline uint16_t sn_cursor_u16(struct sn_cursor *cursor)
{
	return (uint16_t)sn_cursor_uint(cursor, 2);
}

static inline uint32_t sn_cursor_u32(struct sn_cursor *cursor)
{
	return (uint32_t)sn_cursor_uint(cursor, 4);
}

static inline uint64_t sn_cursor_u64(struct sn_cursor *cursor)
{
	return sn_cursor_uint(cursor, 8);
}

static inline uint64_t sn_cursor_uleb(struct sn_cursor *cursor)
{
	uint64_t value = 0;
	for (unsigned shift = 0; cursor->at < cursor->end; shift += 7) {
		uint8_t byte = *cursor->at++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	cursor->failed = true;
	return value;
}

static inline int64_t sn_cursor_sleb(struct sn_cursor *cursor)
{
	uint64_t value = 0;
	for (unsigned shift = 0; cursor->at < cursor->end;) {
		uint8_t byte = *cursor->at++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80)) {
			if (shift < 64 && (byte & 0x40))
				value |= ~(uint64_t)0 << shift;
			return (int64_t)value;
		}
	}
	cursor->failed = true;
	return (int64_t)value;
}

/* A string that ends with NUL inside the bytes, or NULL. */
static inline const char *sn_cursor_string(struct sn_cursor *cursor)
{
	const char *string = (const char *)cursor->at;
	const uint8_t *end =
	    cursor->at < cursor->end ? memchr(cursor->at, 0, sn_cursor_left(cursor)) : NULL;
	if (!end) {
		sn_cursor_fail(cursor);
		return NULL;
	}
	cursor->at = end + 1;
	return string;
}

/* The string at `offset` of a table whose last byte is NUL, or NULL. */
static inline const char *sn_bytes_string(struct sn_bytes table, uint64_t offset)
{
	return offset < table.size ? (const char *)table.data + offset : NULL;
}
