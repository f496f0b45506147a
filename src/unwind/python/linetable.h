/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython's three encodings of the line of an instruction.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum sn_linetable_format {
	SN_LINETABLE_LNOTAB,   /* co_lnotab, to 3.9 */
	SN_LINETABLE_RANGES,   /* co_linetable of PEP 626, 3.10 */
	SN_LINETABLE_LOCATION, /* co_linetable of PEP 657, from 3.11 */
};

/* The line of the instruction at `offset` bytes from the code's start; `first_line` for an offset
 * below 0 (a frame that has not begun), 0 if the compiler gave the instruction no line or the table
 * ends before it. Any bytes are safe to pass. */
uint32_t sn_linetable_line(enum sn_linetable_format format, const unsigned char *table,
			   size_t bytes, uint32_t first_line, int64_t offset);
