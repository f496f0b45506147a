/* SPDX-License-Identifier: Apache-2.0 */
/* One table below another; see counted.h. */
#include "counted.h"

#include "base/intern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sn_causal_column *sn_counted_add_column(struct sn_causal_table *table, const char *name)
{
	struct sn_causal_column *columns =
	    reallocarray(table->columns, table->column_count + 1, sizeof(*columns));
	if (!columns)
		return NULL;
	table->columns = columns;
	columns[table->column_count] =
	    (struct sn_causal_column){.name = sn_arena_text(&table->texts, name),
				      .values = malloc((table->row_count + 1) * sizeof(double))};
	if (!columns[table->column_count].values || !columns[table->column_count].name) {
		free(columns[table->column_count].values);
		return NULL;
	}
	return &columns[table->column_count++];
}

static int grow(struct sn_causal_table *table, size_t rows)
{
	for (uint32_t number = 0; number < table->column_count; number++) {
		struct sn_causal_column *column = &table->columns[number];
		double *values = reallocarray(column->values, rows + 1, sizeof(*values));
		if (!values)
			return SN_ERR_MEMORY;
		column->values = values;
		for (size_t row = table->row_count; row < rows; row++)
			values[row] = NAN;
	}
	return 0;
}

static bool is_empty(const struct sn_causal_column *column, size_t rows)
{
	return column->missing == rows;
}

/* The numbers that levels of another column have in this one, which gets those that it lacks. From malloc; NULL without memory. */
static double *map_levels(struct sn_causal_table *table, struct sn_causal_column *column,
			  const struct sn_causal_column *more)
{
	struct sn_intern names = {0};
	double *map = malloc((more->levels + 1ull) * sizeof(*map));
	const char **all =
	    sn_arena_array(&table->texts, const char *, column->levels + more->levels + 1ull);
	bool has_memory = map && all;
	for (uint32_t level = 0; has_memory && level < column->levels; level++) {
		all[level] = column->level_names[level];
		has_memory = sn_intern_add_text(&names, all[level], strlen(all[level])) == level;
	}
	for (uint32_t level = 0; has_memory && level < more->levels; level++) {
		const char *name = more->level_names[level];
		uint32_t before = names.count,
			 number = sn_intern_add_text(&names, name, strlen(name));
		has_memory = number != SN_INTERN_NONE;
		if (has_memory && number == before)
			has_memory = (all[number] = sn_arena_text(&table->texts, name));
		map[level] = number;
	}
	column->levels = names.count;
	column->level_names = all;
	sn_intern_release(&names);
	if (!has_memory) {
		free(map);
		map = NULL;
	}
	return map;
}

static int append_column(struct sn_causal_table *table, size_t rows_before,
			 struct sn_causal_column *column, const struct sn_causal_column *more,
			 size_t more_rows, struct sn_error *error)
{
	double *map = NULL;
	if (is_empty(more, more_rows))
		return 0;
	if (!column->levels != !more->levels && !is_empty(column, rows_before))
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "column '%s' is of numbers in one of the tables, and of text in "
			       "another one",
			       column->name);
	if (!column->unit)
		column->unit = more->unit ? sn_arena_text(&table->texts, more->unit) : NULL;
	else if (more->unit && strcmp(column->unit, more->unit) != 0)
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "column '%s' is in %s in one of the tables, "
			       "and in %s in another one",
			       column->name, column->unit, more->unit);
	if (more->levels && !(map = map_levels(table, column, more)))
		return sn_fail_memory(error);
	for (size_t row = 0; row < more_rows; row++) {
		double value = more->values[row];
		column->values[rows_before + row] =
		    map && !isnan(value) ? map[(size_t)value] : value;
	}
	free(map);
	return 0;
}

/* Launches of one file come after those of the one before. */
static void shift_order(struct sn_causal_table *table, size_t before)
{
	uint32_t order = sn_causal_table_find(table, "launch_order");
	if (order == UINT32_MAX || table->columns[order].levels)
		return;
	for (size_t row = before; row < table->row_count; row++)
		table->columns[order].values[row] += (double)before;
}

static void count_missing(struct sn_causal_table *table)
{
	for (uint32_t number = 0; number < table->column_count; number++) {
		struct sn_causal_column *column = &table->columns[number];
		column->missing = 0;
		for (size_t row = 0; row < table->row_count; row++)
			column->missing += isnan(column->values[row]);
	}
}

int sn_counted_append(struct sn_causal_table *table, const struct sn_causal_table *more,
		      struct sn_error *error)
{
	size_t before = table->row_count;
	int result = grow(table, before + more->row_count);
	table->row_count = table->row_capacity = before + more->row_count;
	for (uint32_t number = 0; !result && number < more->column_count; number++) {
		const struct sn_causal_column *from = &more->columns[number];
		uint32_t found = sn_causal_table_find(table, from->name);
		struct sn_causal_column *column = found == UINT32_MAX
						      ? sn_counted_add_column(table, from->name)
						      : &table->columns[found];
		if (!column)
			return sn_fail_memory(error);
		for (size_t row = 0; found == UINT32_MAX && row < table->row_count; row++)
			column->values[row] = NAN;
		if (found == UINT32_MAX)
			column->missing = before;
		result = append_column(table, before, column, from, more->row_count, error);
	}
	shift_order(table, before);
	count_missing(table);
	return sn_fail_code(error, result);
}
