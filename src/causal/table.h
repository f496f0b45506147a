/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of observations: rows of numbers and categories, column by column, as a file of separated values has them. A column is numeric if
 * all its fields are numbers or missing; else its fields are categories.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_causal_column {
	const char *name;
	double *values;	 /* of each row: a number, or the number of a category; NAN: missing */
	size_t missing;	 /* rows */
	uint32_t levels; /* categories; 0: the column is numeric */
	const char **level_names; /* of each, in the order of their first rows */
};

struct sn_causal_table {
	struct sn_arena texts;
	struct sn_causal_column *columns;
	uint32_t column_count;
	size_t row_count, row_capacity;
};

/*
 * Reads a file whose first row names the columns; commas, semicolons or tabs, whichever the first row has most of, separate fields.
 * Missing are empty fields and what tools write for nothing: NA, N/A, nan, null, none, "-", and numbers that are not finite. Fails where a
 * row has another number of fields, a name is given twice, or there is no row. Release it in either case. 0 or a negative enum sn_err.
 */
int sn_causal_table_read(struct sn_causal_table *table, const char *path, struct sn_error *error);
void sn_causal_table_release(struct sn_causal_table *table);
/* The number of the column with that name, or UINT32_MAX. */
uint32_t sn_causal_table_find(const struct sn_causal_table *table, const char *name);
