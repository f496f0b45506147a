/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plane of values as bytes: which form each column of numbers takes, writing and reading it.
 *
 * A statistic has five columns: count, sum, min, max and sum of squares. Most of what is measured
 * needs fewer: a sampled metric's values are multiples of its period, an event that happened once
 * has one value, counts are small. So each column of a plane has its own form, the smallest that
 * gives every number back bit by bit:
 *
 *   F64               8 bytes each
 *   U8, U16, U32      whole numbers in 1, 2, 4 bytes
 *   U8P, U16P, U32P   the same, to be multiplied by the metric's period
 *   IMPLIED           nothing: count = sum / period; min = sum / count, or 0; max = min;
 *                     sum of squares = count * min * min (in this order)
 *   ONE               nothing: 1
 *
 * Columns follow each other in the order of enum sonde_db_part, but for the sum, which is first;
 * after the last one there are zeroes up to a multiple of 4 bytes. `forms` has 4 bits for each
 * column, of enum sonde_db_part, from the lowest.
 */
#pragma once

#include "sonde/db.h"

enum sn_column_form {
	SN_COLUMN_F64,
	SN_COLUMN_U8,
	SN_COLUMN_U16,
	SN_COLUMN_U32,
	SN_COLUMN_U8P,
	SN_COLUMN_U16P,
	SN_COLUMN_U32P,
	SN_COLUMN_IMPLIED,
	SN_COLUMN_ONE,
	SN_COLUMN_FORMS
};

/* Bytes of `count` elements' columns, without padding; UINT64_MAX if `forms` is none. */
uint64_t sn_plane_bytes(uint32_t forms, uint64_t count);

/* The forms of `count` statistics, the first at `numbers`, each `stride` doubles after the one
 * before. */
uint32_t sn_plane_choose(const double *numbers, size_t stride, size_t count, double period);
/* Writes the columns, sn_plane_bytes in all, and returns one past them. */
unsigned char *sn_plane_encode(const double *numbers, size_t stride, size_t count, double period,
			       uint32_t forms, unsigned char *bytes);

/* Of `count` elements' columns at `bytes`, those of `taken` elements from `first`, to `out`;
 * returns one past them there. */
unsigned char *sn_plane_slice(const unsigned char *bytes, uint32_t forms, uint64_t count,
			      uint64_t first, uint64_t taken, unsigned char *out);
/* Finds the columns of `count` elements in the bytes, which must be as many as sn_plane_bytes says;
 * returns one past them. */
const unsigned char *sn_plane_find_columns(const unsigned char *bytes, uint32_t forms,
					   uint64_t count, double period,
					   struct sonde_db_columns *columns);
/* Always finite: what is not, in a damaged file, reads as 0. */
void sn_columns_stat(const struct sonde_db_columns *columns, size_t position,
		     struct sonde_db_stat *stat);
double sn_columns_sum(const struct sonde_db_columns *columns, size_t position);
void sn_columns_numbers(const struct sonde_db_columns *columns, enum sonde_db_part part,
			size_t first, size_t count, double *numbers);
