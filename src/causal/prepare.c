/* SPDX-License-Identifier: Apache-2.0 */
/* Which columns say something, and their values in a form that can be compared; see prepare.h. */
#include "prepare.h"

#include "base/sort_by.h"
#include "base/vec.h"
#include "normal.h"

#include <math.h>

#define SPARSE_PART  0.2
#define LEVELS_MOST  50u
#define ROWS_A_LEVEL 10u
#define WHOLE_MOST   20u /* values of whole numbers that are taken for categories */
#define SAME	     0.999

struct preparing {
	struct sn_prepared *prepared;
	const struct sn_causal_table *table;
	bool *is_left;	    /* out, of each column */
	uint32_t *rows;	    /* the numbers of those that are kept */
	uint32_t *by_value; /* room: places of `rows` in the order of a column */
	size_t left_capacity;
};

void sn_prepared_release(struct sn_prepared *prepared)
{
	for (uint32_t variable = 0; prepared->categories && variable < prepared->count; variable++)
		free(prepared->categories[variable]);
	free(prepared->categories);
	free(prepared->columns);
	free(prepared->levels);
	free(prepared->is_ordered);
	free(prepared->values);
	free(prepared->first);
	free(prepared->left);
	*prepared = (struct sn_prepared){0};
}

static int leave(struct preparing *preparing, struct sn_left_column left)
{
	struct sn_prepared *prepared = preparing->prepared;
	preparing->is_left[left.column] = true;
	return sn_vec_push(&prepared->left, &preparing->left_capacity, &prepared->left_count, left);
}

/* ---- columns that say nothing ---- */

/* Among the rows that are kept. */
static bool is_constant(const struct preparing *preparing, const struct sn_column *column)
{
	double first = NAN;
	for (size_t row = 0; row < preparing->prepared->rows; row++) {
		double value = column->values[preparing->rows[row]];
		if (isnan(first))
			first = value;
		else if (!isnan(value) && value != first)
			return false;
	}
	return true;
}

static bool has_too_many_levels(const struct sn_column *column, size_t rows)
{
	return column->levels > LEVELS_MOST || column->levels > rows / ROWS_A_LEVEL;
}

static int leave_what_says_nothing(struct preparing *preparing)
{
	int result = 0;
	size_t rows = preparing->prepared->rows;
	for (uint32_t number = 0; !result && number < preparing->table->column_count; number++) {
		const struct sn_column *column = &preparing->table->columns[number];
		if (preparing->is_left[number])
			continue;
		if (is_constant(preparing, column))
			result = leave(preparing, (struct sn_left_column){.column = number,
									  .why = SN_LEFT_CONSTANT});
		else if ((double)column->missing >
			 SPARSE_PART * (double)preparing->table->row_count)
			result = leave(preparing, (struct sn_left_column){.column = number,
									  .why = SN_LEFT_SPARSE});
		else if (column->levels && has_too_many_levels(column, rows))
			result = leave(preparing, (struct sn_left_column){.column = number,
									  .why = SN_LEFT_DISTINCT});
	}
	return result;
}

static void keep_whole_rows(struct preparing *preparing)
{
	const struct sn_causal_table *table = preparing->table;
	size_t kept = 0;
	for (size_t row = 0; row < table->row_count; row++) {
		bool is_whole = true;
		for (uint32_t number = 0; is_whole && number < table->column_count; number++)
			is_whole = preparing->is_left[number] ||
				   !isnan(table->columns[number].values[row]);
		if (is_whole)
			preparing->rows[kept++] = (uint32_t)row;
	}
	preparing->prepared->rows = kept;
}

/* ---- categories ---- */

/* The level of a value among up to WHOLE_MOST sorted ones; adds it. Their number if there is no room. */
static uint32_t level_among(double *values, uint32_t *count, double value)
{
	uint32_t place = 0;
	while (place < *count && values[place] < value)
		place++;
	if (place < *count && values[place] == value)
		return place;
	if (*count == WHOLE_MOST)
		return WHOLE_MOST;
	memmove(values + place + 1, values + place, (*count - place) * sizeof(*values));
	values[place] = value;
	++*count;
	return place;
}

/* The sorted values of a numeric column of whole numbers; 0 where it is none, or has more than WHOLE_MOST. */
static uint32_t whole_values(const struct preparing *preparing, const struct sn_column *column,
			     double values[WHOLE_MOST])
{
	uint32_t count = 0;
	for (size_t row = 0; row < preparing->prepared->rows; row++) {
		double value = column->values[preparing->rows[row]];
		if (value != floor(value) || level_among(values, &count, value) == WHOLE_MOST)
			return 0;
	}
	return count;
}

static bool are_categories(const struct preparing *preparing)
{
	double values[WHOLE_MOST];
	for (uint32_t variable = 0; variable < preparing->prepared->count; variable++) {
		const struct sn_column *column =
		    &preparing->table->columns[preparing->prepared->columns[variable]];
		if (!column->levels && !whole_values(preparing, column, values))
			return false;
	}
	return true;
}

static int make_categories(struct preparing *preparing)
{
	struct sn_prepared *prepared = preparing->prepared;
	prepared->categories = calloc(prepared->count + 1, sizeof(*prepared->categories));
	for (uint32_t variable = 0; variable < prepared->count; variable++) {
		const struct sn_column *column =
		    &preparing->table->columns[prepared->columns[variable]];
		double values[WHOLE_MOST];
		uint32_t count = column->levels ? 0 : whole_values(preparing, column, values);
		uint8_t *own = prepared->categories ? malloc(prepared->rows + 1) : NULL;
		if (!own)
			return SN_ERR_MEMORY;
		prepared->categories[variable] = own;
		prepared->levels[variable] = column->levels ? column->levels : count;
		for (size_t row = 0; row < prepared->rows; row++) {
			double value = column->values[preparing->rows[row]];
			own[row] =
			    (uint8_t)(column->levels ? value : level_among(values, &count, value));
		}
	}
	return 0;
}

/* ---- numbers ---- */

struct by_value {
	const double *values;
	const uint32_t *rows;
};

SN_SORT_BY(sort_by_value, uint32_t, const struct by_value *,
	   SN_ORDER(of->values[of->rows[*a]], of->values[of->rows[*b]]) ?: SN_ORDER(*a, *b));

/* Mean 0, and sum of squares 1. */
static void standardize(double *values, size_t rows)
{
	double mean = 0, squares = 0;
	for (size_t row = 0; row < rows; row++)
		mean += values[row] / (double)rows;
	for (size_t row = 0; row < rows; row++) {
		values[row] -= mean;
		squares += values[row] * values[row];
	}
	for (size_t row = 0; squares > 0 && row < rows; row++)
		values[row] /= sqrt(squares);
}

/* The normal quantile of each row's rank; equal values share the mean of their ranks. */
static void rank(struct preparing *preparing, const struct sn_column *column, double *values)
{
	size_t rows = preparing->prepared->rows, end;
	uint32_t *places = preparing->by_value;
	struct by_value by = {column->values, preparing->rows};
	for (size_t row = 0; row < rows; row++)
		places[row] = (uint32_t)row;
	sort_by_value(places, rows, &by);
	for (size_t first = 0; first < rows; first = end) {
		double value = column->values[preparing->rows[places[first]]];
		for (end = first + 1; end < rows; end++)
			if (column->values[preparing->rows[places[end]]] != value)
				break;
		double middle = (double)(first + end) / 2 / (double)rows;
		for (size_t place = first; place < end; place++)
			values[places[place]] = sn_normal_quantile(middle);
	}
}

/* 1 where the row has the level. */
static void indicate(struct preparing *preparing, const struct sn_column *column, uint32_t level,
		     double *values)
{
	for (size_t row = 0; row < preparing->prepared->rows; row++)
		values[row] = column->values[preparing->rows[row]] == level;
}

static uint32_t dimensions_of(const struct sn_column *column)
{
	return column->levels ? column->levels - 1 : 1;
}

static int make_values(struct preparing *preparing)
{
	struct sn_prepared *prepared = preparing->prepared;
	size_t rows = prepared->rows;
	prepared->first = calloc(prepared->count + 1, sizeof(*prepared->first));
	for (uint32_t variable = 0; prepared->first && variable < prepared->count; variable++)
		prepared->first[variable + 1] =
		    prepared->first[variable] +
		    dimensions_of(&preparing->table->columns[prepared->columns[variable]]);
	prepared->values = prepared->first ? calloc(prepared->first[prepared->count] * rows + 1,
						    sizeof(*prepared->values))
					   : NULL;
	if (!prepared->values)
		return SN_ERR_MEMORY;
	for (uint32_t variable = 0; variable < prepared->count; variable++) {
		const struct sn_column *column =
		    &preparing->table->columns[prepared->columns[variable]];
		for (uint32_t dimension = 0; dimension < dimensions_of(column); dimension++) {
			double *values =
			    prepared->values + (prepared->first[variable] + dimension) * rows;
			if (column->levels)
				indicate(preparing, column, dimension, values);
			else
				rank(preparing, column, values);
			standardize(values, rows);
		}
	}
	return 0;
}

/* ---- all of it ---- */

static int take_columns(struct preparing *preparing)
{
	struct sn_prepared *prepared = preparing->prepared;
	uint32_t all = preparing->table->column_count;
	prepared->columns = calloc(all + 1, sizeof(*prepared->columns));
	prepared->levels = calloc(all + 1, sizeof(*prepared->levels));
	prepared->is_ordered = calloc(all + 1, sizeof(*prepared->is_ordered));
	if (!prepared->columns || !prepared->levels || !prepared->is_ordered)
		return SN_ERR_MEMORY;
	for (uint32_t number = 0; number < all; number++)
		if (!preparing->is_left[number]) {
			prepared->is_ordered[prepared->count] =
			    !preparing->table->columns[number].levels;
			prepared->columns[prepared->count++] = number;
		}
	return 0;
}

static int prepare(struct preparing *preparing, struct sn_error *error)
{
	struct sn_prepared *prepared = preparing->prepared;
	prepared->rows = preparing->table->row_count;
	for (size_t row = 0; row < prepared->rows; row++)
		preparing->rows[row] = (uint32_t)row;
	int result = leave_what_says_nothing(preparing);
	keep_whole_rows(preparing);
	/* what varied in the rows that were left out alone */
	result = result ? result : leave_what_says_nothing(preparing);
	result = result ? result : take_columns(preparing);
	if (!result && (prepared->count < 2 || prepared->rows < 10))
		return sn_fail(
		    error, SN_ERR_ARGUMENT,
		    "%u columns of %zu rows are left of %u of %zu: too few to say anything",
		    prepared->count, prepared->rows, preparing->table->column_count,
		    preparing->table->row_count);
	if (!result) {
		prepared->is_discrete = are_categories(preparing);
		result = prepared->is_discrete ? make_categories(preparing) : 0;
		result = result ? result : make_values(preparing);
	}
	return sn_fail_code(error, result);
}

int sn_prepare(struct sn_prepared *prepared, const struct sn_causal_table *table,
	       struct sn_error *error)
{
	struct preparing preparing = {.prepared = prepared, .table = table};
	*prepared = (struct sn_prepared){0};
	preparing.is_left = calloc(table->column_count + 1, sizeof(*preparing.is_left));
	preparing.rows = malloc((table->row_count + 1) * sizeof(*preparing.rows));
	preparing.by_value = malloc((table->row_count + 1) * sizeof(*preparing.by_value));
	int result = preparing.is_left && preparing.rows && preparing.by_value
			 ? prepare(&preparing, error)
			 : sn_fail_memory(error);
	free(preparing.is_left);
	free(preparing.rows);
	free(preparing.by_value);
	return result;
}
