/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of observations: rows of numbers and categories, column by column, as a file of separated values has them. A column is numeric if
 * all its fields are numbers or missing; else its fields are categories. It takes 8 bytes a value.
 */
#pragma once

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_table_kind {
	SN_TABLE_PLAIN,
	SN_TABLE_NSIGHT, /* Nsight Compute's pages "raw" and "details" */
	SN_TABLE_ROCPROF,
};

struct sn_causal_column {
	const char *name;
	const char *unit; /* NULL: the file says none */
	double *values;	  /* of each row: a number, or the number of a category; NAN: missing */
	size_t missing;	  /* rows */
	uint32_t levels;  /* categories; 0: the column is numeric */
	const char **level_names; /* of each, in the order of their first rows */
};

struct sn_causal_table {
	struct sn_arena texts;
	enum sn_table_kind kind;
	struct sn_causal_column *columns;
	uint32_t column_count;
	size_t row_count, row_capacity;
	/* Names of what a profiler writes to tell launches apart: process, context, correlation, times. They are no columns, as none is a
	 * cause. */
	const char **apart;
	size_t apart_count;
};

/*
 * Reads a file by what its first rows look like:
 *
 * plain: the first row names the columns; commas, semicolons or tabs, whichever the first row has most of, separate fields, else blanks.
 *
 * Nsight Compute, `--csv --page raw` (a column for each metric, the second row has units) and `--page details` (a row for each metric): a row is
 * a launch. What the program or Nsight printed between is left out. Numbers have commas between thousands; a column's values are brought to one unit
 * (table/unit.h). The sizes of grids and blocks become three columns. Metrics of one name in several sections have the section behind it. The column
 * `launch_order` counts launches.
 *
 * rocprof, rocprofv2 and rocprofv3, with a column for each counter or a row for each: a row is a dispatch, of which several passes may have different
 * counters. Columns `duration_ns`, the mean of the passes, and `start_ns`, since the first dispatch; `launch_order` instead of it where there are
 * several passes. Of a counter that several passes have the first value is taken.
 *
 * Missing are empty fields and what tools write for nothing: NA, N/A, nan, null, none, "-", and numbers that are not finite. Fails where a
 * row has another number of fields, a name is given twice, or there is no row. Release it in either case. 0 or a negative enum sn_err.
 */
int sn_causal_table_read(struct sn_causal_table *table, const char *path, struct sn_error *error);
void sn_causal_table_release(struct sn_causal_table *table);
/* The number of the column with that name, or UINT32_MAX. */
uint32_t sn_causal_table_find(const struct sn_causal_table *table, const char *name);
/* As bytes for another process of this build, and back. A sender without memory packs nothing. 0 or SN_ERR_MEMORY; release it in either case. */
void sn_causal_table_pack(const struct sn_causal_table *table, struct sn_buffer *bytes);
int sn_causal_table_unpack(struct sn_causal_table *table, struct sn_span bytes);
