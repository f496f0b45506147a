/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes a column of integers as bytes that a general compressor compresses well.
 *
 * Times that advance, numbers that repeat and numbers from a small set all come out as few bytes a
 * value, in planes (first the lowest byte of all values, then the next, ...), because the bytes of
 * one significance are alike and a compressor for bytes sees that. Four encodings, of which the
 * smallest is taken:
 *
 *   constant    one value
 *   plain       the least value, then the differences from it
 *   delta       the first value and the least step, then the steps' differences from that
 *   dictionary  the distinct values, ascending, then each value's place among them
 *
 * Values are 64 bits; arithmetic wraps around, so signed ones and doubles' bits pass unharmed.
 */
#pragma once

#include "base/buffer.h"

#include <stdint.h>

#define SN_COLUMN_MAX 4096 /* values */

/* 1 <= count <= SN_COLUMN_MAX. */
void sn_column_encode(const uint64_t *values, size_t count, struct sn_buffer *buffer);

/* Takes a column of `count` values off the span; false where it is damaged. */
bool sn_column_decode(struct sn_span *span, uint64_t *values, size_t count);
/* Takes it off without decoding it; false where it is cut. */
bool sn_column_skip(struct sn_span *span, size_t count);
