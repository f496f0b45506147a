/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes CPython's line tables. Only lines are read; columns and end lines are skipped. Formats:
 * Objects/lnotab_notes.txt of CPython 3.9 and 3.10, Objects/locations.md of 3.11.
 */
#include "linetable.h"

#define CODE_UNIT_BYTES 2

static uint32_t as_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Pairs (bytes to advance, signed lines to advance); a pair takes effect at the
 * address it reaches. */
static int64_t lnotab_line(const unsigned char *table, size_t bytes, int64_t line, int64_t offset)
{
	int64_t address = 0;
	for (size_t i = 0; i + 1 < bytes; i += 2) {
		address += table[i];
		if (address > offset)
			break;
		line += (signed char)table[i + 1];
	}
	return line;
}

/* Pairs (length in bytes, signed line delta); -128 means that the range has no line. */
static int64_t ranges_line(const unsigned char *table, size_t bytes, int64_t line, int64_t offset)
{
	int64_t end = 0;
	for (size_t i = 0; i + 1 < bytes; i += 2) {
		int delta = (signed char)table[i + 1];
		if (delta != -128)
			line += delta;
		end += table[i];
		if (offset < end)
			return delta == -128 ? 0 : line;
	}
	return 0;
}

/* A varint of 6-bit groups, least significant first, continued while bit 6 is set; zigzag, with the
 * sign in bit 0. */
static int64_t signed_varint(const unsigned char *table, size_t bytes, size_t at)
{
	uint64_t value = 0;
	for (unsigned shift = 0; at < bytes && shift < 36; at++, shift += 6) {
		value |= (uint64_t)(table[at] & 63) << shift;
		if (!(table[at] & 64))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Kinds of entry that are not "same line, short form". */
enum { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NO_LOCATION = 15 };

/* Entries start with a byte whose top bit is set: 1, kind (4 bits), length in code
 * units - 1 (3). */
static int64_t location_line(const unsigned char *table, size_t bytes, int64_t line, int64_t offset)
{
	int64_t end = 0;
	for (size_t i = 0; i < bytes;) {
		unsigned kind = table[i] >> 3 & 15;
		end += ((table[i] & 7) + 1) * CODE_UNIT_BYTES;
		if (kind == NO_COLUMNS || kind == LONG)
			line += signed_varint(table, bytes, i + 1);
		else if (kind >= ONE_LINE_0 && kind <= ONE_LINE_2)
			line += kind - ONE_LINE_0;
		if (offset < end)
			return kind == NO_LOCATION ? 0 : line;
		do
			i++;
		while (i < bytes && !(table[i] & 0x80));
	}
	return 0;
}

uint32_t sn_linetable_line(enum sn_linetable_format format, const unsigned char *table,
			   size_t bytes, uint32_t first_line, int64_t offset)
{
	if (offset < 0)
		return as_line(first_line);
	switch (format) {
	case SN_LINETABLE_LNOTAB:
		return as_line(lnotab_line(table, bytes, first_line, offset));
	case SN_LINETABLE_RANGES:
		return as_line(ranges_line(table, bytes, first_line, offset));
	case SN_LINETABLE_LOCATION:
		return as_line(location_line(table, bytes, first_line, offset));
	}
	return 0;
}
