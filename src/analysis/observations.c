/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that a program fills, or reads; see sonde/analysis.h. */
#include "observations.h"

#include "base/intern.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct sonde_analysis_error) == sizeof(struct sn_error), "one is the other");

struct sonde_table *sonde_table_new(size_t rows)
{
	struct sonde_table *table = calloc(1, sizeof(*table));
	if (table)
		table->table.row_count = rows;
	return table;
}

int sonde_table_read(const char *path, struct sonde_table **table,
		     struct sonde_analysis_error *error)
{
	struct sonde_table *made = sonde_table_new(0);
	if (!made)
		return sn_fail_memory((struct sn_error *)error);
	made->is_read = true;
	int result = sn_causal_table_read(&made->table, path, (struct sn_error *)error);
	if (result)
		sonde_table_free(made);
	else
		*table = made;
	return result;
}

void sonde_table_free(struct sonde_table *table)
{
	if (table)
		sn_causal_table_release(&table->table);
	free(table);
}

size_t sonde_table_row_count(const struct sonde_table *table)
{
	return table->table.row_count;
}

uint32_t sonde_table_column_count(const struct sonde_table *table)
{
	return table->table.column_count;
}

const char *sonde_table_column_name(const struct sonde_table *table, uint32_t column)
{
	return column < table->table.column_count ? table->table.columns[column].name : NULL;
}

/* ---- columns ---- */

/* A column with room for its values, or NULL. */
static struct sn_causal_column *add(struct sonde_table *table, const char *name,
				    struct sn_error *error, int *result)
{
	struct sn_causal_table *to = &table->table;
	if (table->is_read)
		*result = sn_fail(error, SN_ERR_ARGUMENT,
				  "cannot add '%s' to a table that was read from a file", name);
	else if (sn_causal_table_find(to, name) != UINT32_MAX)
		*result = sn_fail(error, SN_ERR_ARGUMENT, "two columns have the name '%s'", name);
	if (*result)
		return NULL;
	struct sn_causal_column column = {.name = sn_arena_text(&to->texts, name),
					  .values = malloc(to->row_count * sizeof(double) + 1)};
	if (column.name && column.values &&
	    !sn_vec_push(&to->columns, &table->column_capacity, &to->column_count, column))
		return &to->columns[to->column_count - 1];
	free(column.values);
	*result = sn_fail_memory(error);
	return NULL;
}

/* Takes the last column away again, and returns `result`. */
static int take_back(struct sn_causal_table *table, int result)
{
	free(table->columns[--table->column_count].values);
	return result;
}

int sonde_table_add_numbers(struct sonde_table *table, const char *name, const double *values,
			    struct sonde_analysis_error *error)
{
	int result = 0;
	struct sn_causal_column *column = add(table, name, (struct sn_error *)error, &result);
	for (size_t row = 0; column && row < table->table.row_count; row++) {
		column->values[row] = isfinite(values[row]) ? values[row] : NAN;
		column->missing += !isfinite(values[row]);
	}
	return result;
}

static int name_levels(struct sn_causal_column *column, struct sn_arena *texts,
		       const struct sn_intern *levels)
{
	/* one where all are missing: it is a category still */
	column->levels = levels->count ? levels->count : 1;
	column->level_names = sn_arena_array(texts, const char *, column->levels);
	if (!column->level_names)
		return SN_ERR_MEMORY;
	*column->level_names = "";
	for (uint32_t level = 0; level < levels->count; level++) {
		size_t length;
		const char *text = sn_intern_at(levels, level, &length);
		column->level_names[level] = sn_arena_copy(texts, text, length);
	}
	return texts->failed ? SN_ERR_MEMORY : 0;
}

static int set_levels(struct sn_causal_column *column, size_t rows, const char *const *values,
		      struct sn_intern *levels)
{
	for (size_t row = 0; row < rows; row++) {
		column->values[row] = NAN;
		column->missing += !values[row];
		if (!values[row])
			continue;
		uint32_t level = sn_intern_add_text(levels, values[row], strlen(values[row]));
		if (level == SN_INTERN_NONE)
			return SN_ERR_MEMORY;
		column->values[row] = level;
	}
	return 0;
}

int sonde_table_add_categories(struct sonde_table *table, const char *name,
			       const char *const *values, struct sonde_analysis_error *error)
{
	struct sn_intern levels = {0};
	int result = 0;
	struct sn_causal_column *column = add(table, name, (struct sn_error *)error, &result);
	if (!column)
		return result;
	result = set_levels(column, table->table.row_count, values, &levels);
	result = result ? result : name_levels(column, &table->table.texts, &levels);
	sn_intern_release(&levels);
	return result ? take_back(&table->table, sn_fail_code((struct sn_error *)error, result))
		      : 0;
}
