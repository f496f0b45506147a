/* SPDX-License-Identifier: Apache-2.0 */
/* Columns that grow; see build.h. A value is a number as long as its column has numbers alone; "1" and "1.0" are one category. */
#include "build.h"

#include "value.h"

#include <math.h>
#include <stdio.h>

enum { ROWS_FIRST = 256 };

static int make_room(struct sn_causal_table *table)
{
	size_t wanted = table->row_capacity ? table->row_capacity * 2 : ROWS_FIRST;
	for (uint32_t column = 0; column < table->column_count; column++) {
		double *moved = reallocarray(table->columns[column].values, wanted, sizeof(*moved));
		if (!moved)
			return SN_ERR_MEMORY;
		table->columns[column].values = moved;
	}
	table->row_capacity = wanted;
	return 0;
}

int sn_table_add_column(struct sn_table_builder *builder, const char *name, const char *unit,
			bool is_category)
{
	struct sn_causal_table *table = builder->table;
	struct sn_causal_column column = {.name = name, .unit = unit, .levels = is_category};
	if (sn_vec_reserve_zeroed(&builder->levels, &builder->level_capacity,
				  table->column_count + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (table->row_capacity &&
	    !(column.values = reallocarray(NULL, table->row_capacity, sizeof(double))))
		return SN_ERR_MEMORY;
	for (size_t row = 0; row < table->row_count; row++)
		column.values[row] = NAN;
	int result =
	    sn_vec_push(&table->columns, &builder->column_capacity, &table->column_count, column);
	if (result)
		free(column.values);
	return result;
}

int sn_table_add_apart(struct sn_table_builder *builder, const char *name)
{
	struct sn_causal_table *table = builder->table;
	return sn_vec_push(&table->apart, &builder->apart_capacity, &table->apart_count, name);
}

int sn_table_add_full_row(struct sn_table_builder *builder)
{
	struct sn_causal_table *table = builder->table;
	int result = table->row_count == table->row_capacity ? make_room(table) : 0;
	table->row_count += !result;
	return result;
}

int sn_table_add_row(struct sn_table_builder *builder)
{
	struct sn_causal_table *table = builder->table;
	int result = sn_table_add_full_row(builder);
	for (uint32_t column = 0; !result && column < table->column_count; column++)
		table->columns[column].values[table->row_count - 1] = NAN;
	return result;
}

/* ---- values ---- */

/* The number of a category. -1 without memory. */
static double level_of(struct sn_intern *levels, const char *text)
{
	uint32_t level = sn_intern_add_text(levels, text, strlen(text));
	return level == SN_INTERN_NONE ? -1.0 : (double)level;
}

static double level_of_number(struct sn_intern *levels, double number)
{
	char text[32];
	snprintf(text, sizeof(text), "%.17g", number);
	return level_of(levels, text);
}

static int begin_levels(struct sn_causal_column *column, struct sn_intern *levels, size_t rows)
{
	for (size_t row = 0; row < rows; row++) {
		double *value = &column->values[row];
		if (!isnan(*value) && (*value = level_of_number(levels, *value)) < 0)
			return SN_ERR_MEMORY;
	}
	column->levels = 1;
	return 0;
}

static int set_level(struct sn_table_builder *builder, uint32_t number, size_t row,
		     const char *text, bool is_number, double value)
{
	struct sn_causal_column *column = &builder->table->columns[number];
	struct sn_intern *levels = &builder->levels[number];
	int result = column->levels ? 0 : begin_levels(column, levels, builder->table->row_count);
	if (result)
		return result;
	value = is_number ? level_of_number(levels, value) : level_of(levels, text);
	column->values[row] = value;
	return value < 0 ? SN_ERR_MEMORY : 0;
}

int sn_table_set(struct sn_table_builder *builder, uint32_t number, size_t row, const char *field,
		 double scale)
{
	struct sn_causal_column *column = &builder->table->columns[number];
	double value;
	if (!column->levels && sn_value_number(field, &value)) {
		column->values[row] = value * scale;
		return 0;
	}
	column->values[row] = NAN;
	const char *text = sn_value_trim(field);
	bool is_number = sn_value_number(text, &value);
	if (sn_value_is_missing(text) || (is_number && isnan(value)))
		return 0;
	if (!is_number || column->levels)
		return set_level(builder, number, row, text, is_number, value);
	column->values[row] = value * scale;
	return 0;
}

/* ---- the end ---- */

static int keep_levels(struct sn_table_builder *builder, uint32_t number)
{
	struct sn_causal_column *column = &builder->table->columns[number];
	struct sn_arena *texts = &builder->table->texts;
	const struct sn_intern *levels = &builder->levels[number];
	for (size_t row = 0; row < builder->table->row_count; row++)
		column->missing += isnan(column->values[row]);
	if (!column->levels)
		return 0;
	column->levels = levels->count ? levels->count : 1;
	column->level_names = sn_arena_array(texts, const char *, column->levels);
	for (uint32_t level = 0; column->level_names && level < levels->count; level++) {
		size_t length;
		const char *text = sn_intern_at(levels, level, &length);
		column->level_names[level] = sn_arena_copy(texts, text, length);
	}
	if (column->level_names && !levels->count)
		column->level_names[0] = "";
	return texts->failed ? SN_ERR_MEMORY : 0;
}

static int check_names(const struct sn_causal_table *table, struct sn_error *error)
{
	struct sn_intern names = {0};
	int result = 0;
	for (uint32_t column = 0; !result && column < table->column_count; column++) {
		const char *name = table->columns[column].name;
		uint32_t number = sn_intern_add_text(&names, name, strlen(name));
		if (number == SN_INTERN_NONE)
			result = sn_fail_memory(error);
		else if (number != column)
			result =
			    sn_fail(error, SN_ERR_FORMAT, "two columns have the name '%s'", name);
	}
	sn_intern_release(&names);
	return result;
}

int sn_table_finish(struct sn_table_builder *builder, struct sn_error *error)
{
	int result = check_names(builder->table, error);
	for (uint32_t column = 0; !result && column < builder->table->column_count; column++)
		result = sn_fail_code(error, keep_levels(builder, column));
	return result;
}

void sn_table_builder_release(struct sn_table_builder *builder)
{
	for (uint32_t column = 0; builder->levels && column < builder->table->column_count;
	     column++)
		sn_intern_release(&builder->levels[column]);
	free(builder->levels);
	builder->levels = NULL;
}
