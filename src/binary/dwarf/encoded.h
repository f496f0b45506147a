/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pointers of .eh_frame and of exception tables, with an encoding DW_EH_PE_* (Linux Standard Base,
 * Core, "DWARF Exception Header Encoding"): a format in the low bits, and the base. Supports those
 * that compilers write.
 */
#pragma once

#include "base/cursor.h"

enum {
	SN_ENCODED_OMIT = 0xff,
	SN_ENCODED_FORMAT = 0x0f,
	SN_ENCODED_RELATIVE = 0x70,
	SN_ENCODED_PC_RELATIVE = 0x10,
	SN_ENCODED_DATA_RELATIVE = 0x30,
	SN_ENCODED_INDIRECT = 0x80,
	SN_ENCODED_ULEB = 0x01,
	SN_ENCODED_UDATA4 = 0x03,
	SN_ENCODED_SDATA4 = 0x0b,
};

/* The size of a fixed-size encoding; 0 for others. */
static inline unsigned sn_encoded_bytes(uint8_t encoding)
{
	switch (encoding & SN_ENCODED_FORMAT) {
	case 0x00: /* absptr */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		return 8;
	case SN_ENCODED_UDATA4:
	case SN_ENCODED_SDATA4:
		return 4;
	case 0x02: /* udata2 */
	case 0x0a: /* sdata2 */
		return 2;
	}
	return 0;
}

/* Reads a pointer at the address `at`; sets the cursor to failed if the encoding is unsupported. A
 * 0 is no pointer, relative or not. */
static inline uint64_t sn_encoded_read(struct sn_cursor *cursor, uint8_t encoding, uint64_t at)
{
	unsigned bytes = sn_encoded_bytes(encoding);
	uint8_t relative = encoding & SN_ENCODED_RELATIVE;
	if ((encoding & SN_ENCODED_FORMAT) == SN_ENCODED_ULEB)
		return sn_cursor_uleb(cursor);
	if (bytes == 0 || (encoding & SN_ENCODED_INDIRECT) ||
	    (relative != 0 && relative != SN_ENCODED_PC_RELATIVE)) {
		sn_cursor_fail(cursor);
		return 0;
	}
	uint64_t value = sn_cursor_uint(cursor, bytes);
	if ((encoding & 0x08) && bytes < 8 && value >> (8 * bytes - 1))
		value |= ~(uint64_t)0 << (8 * bytes);
	return value && relative ? value + at : value;
}
