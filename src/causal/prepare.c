/* SPDX-License-Identifier: Apache-2.0 */
/* Which columns say something, and their values in a form that can be compared; see prepare.h. */
#include "prepare.h"

#include "base/intern.h"
#include "base/sort_by.h"
#include "columns/aliases.h"
#include "base/vec.h"
#include "bits.h"
#include "correlations.h"
#include "normal.h"
#include "columns/standard.h"
#include "columns/value_order.h"

#include <math.h>

#define SPARSE_PART  0.2
#define LEVELS_MOST  50u
#define ROWS_A_LEVEL 10u
#define ROWS_LEAST   10u
#define WHOLE_MOST   20u  /* values of whole numbers that are taken for categories */
#define WHOLE_PART   0.3  /* of the rows, that are to be left where columns have gaps; */
#define WHOLE_LEAST  100u /* but not if these are fewer, and */
#define WHOLE_ENOUGH 0.7  /* of them would be enough */

struct preparing {
	struct sn_prepared *prepared;
	const struct sn_causal_table *table;
	const struct sn_prepare_options *options;
	size_t asked;	 /* rows that have the target, or all */
	size_t *missing; /* among these, of each column */
	bool *is_left;	 /* out, of each column */
	size_t left_capacity;
};

void sn_prepared_release(struct sn_prepared *prepared)
{
	for (uint32_t variable = 0; prepared->categories && variable < prepared->count; variable++)
		free(prepared->categories[variable]);
	free(prepared->categories);
	free(prepared->distinct_of);
	free(prepared->columns);
	free(prepared->kept_rows);
	free(prepared->levels);
	free(prepared->is_ordered);
	free(prepared->values);
	free(prepared->first);
	free(prepared->left);
	sn_strata_release(&prepared->strata);
	sn_clusters_release(&prepared->clusters);
	sn_clusters_release(&prepared->repeats);
	*prepared = (struct sn_prepared){0};
}

static int leave(struct preparing *preparing, struct sn_left_column left)
{
	struct sn_prepared *prepared = preparing->prepared;
	preparing->is_left[left.column] = true;
	return sn_vec_push(&prepared->left, &preparing->left_capacity, &prepared->left_count, left);
}

/* ---- rows that say nothing of the target ---- */

static bool has_target(const struct preparing *preparing, size_t row)
{
	uint32_t target = preparing->options->target;
	return target == UINT32_MAX || !isnan(preparing->table->columns[target].values[row]);
}

static int keep_asked(struct preparing *preparing, struct sn_error *error)
{
	const struct sn_causal_table *table = preparing->table;
	for (size_t row = 0; row < table->row_count; row++)
		if (has_target(preparing, row))
			preparing->prepared->kept_rows[preparing->asked++] = (uint32_t)row;
	preparing->prepared->rows = preparing->asked;
	if (!preparing->asked && table->row_count)
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "'%s' has no value in any row: there is nothing to explain",
			       table->columns[preparing->options->target].name);
	for (uint32_t number = 0; number < table->column_count; number++) {
		const struct sn_causal_column *column = &table->columns[number];
		for (size_t row = 0; column->missing && row < preparing->asked; row++)
			preparing->missing[number] +=
			    isnan(column->values[preparing->prepared->kept_rows[row]]);
	}
	return 0;
}

/* ---- columns that say nothing ---- */

/* Among the rows that are kept. */
static bool is_constant(const struct preparing *preparing, const struct sn_causal_column *column)
{
	double first = NAN;
	for (size_t row = 0; row < preparing->prepared->rows; row++) {
		double value = column->values[preparing->prepared->kept_rows[row]];
		if (isnan(first))
			first = value;
		else if (!isnan(value) && value != first)
			return false;
	}
	return true;
}

static bool has_too_many_levels(const struct sn_causal_column *column, size_t rows)
{
	return column->levels > LEVELS_MOST || column->levels > rows / ROWS_A_LEVEL;
}

/* Why a column says nothing among the rows that are kept, or -1. */
static int why_left(const struct preparing *preparing, uint32_t number)
{
	const struct sn_causal_column *column = &preparing->table->columns[number];
	if (is_constant(preparing, column))
		return SN_LEFT_CONSTANT;
	if ((double)preparing->missing[number] > SPARSE_PART * (double)preparing->asked)
		return SN_LEFT_SPARSE;
	if (column->levels && has_too_many_levels(column, preparing->prepared->rows))
		return SN_LEFT_DISTINCT;
	return -1;
}

static int refuse_target(const struct sn_causal_column *target, int why, struct sn_error *error)
{
	static const char *const whys[] = {[SN_LEFT_CONSTANT] = "has one value in all rows",
					   [SN_LEFT_DISTINCT] =
					       "is text that differs in most rows"};
	return sn_fail(error, SN_ERR_ARGUMENT, "'%s' %s: there is nothing to explain", target->name,
		       whys[why]);
}

static int leave_what_says_nothing(struct preparing *preparing, struct sn_error *error)
{
	int result = 0;
	for (uint32_t number = 0; !result && number < preparing->table->column_count; number++) {
		const struct sn_causal_column *column = &preparing->table->columns[number];
		int why = preparing->is_left[number] ? -1 : why_left(preparing, number);
		if (why < 0)
			continue;
		if (number == preparing->options->target)
			return refuse_target(column, why, error);
		result = sn_fail_code(
		    error, leave(preparing, (struct sn_left_column){.column = number, .why = why}));
	}
	return result;
}

/* ---- ranks ---- */

/* The normal quantile of each row's rank; equal values share the mean of their ranks. */
static int rank(struct preparing *preparing, const struct sn_causal_column *column, double *values)
{
	size_t rows = preparing->prepared->rows, end;
	uint32_t *places = sn_value_order(column->values, preparing->prepared->kept_rows, rows);
	if (!places)
		return SN_ERR_MEMORY;
	for (size_t first = 0; first < rows; first = end) {
		double value = column->values[preparing->prepared->kept_rows[places[first]]];
		for (end = first + 1; end < rows; end++)
			if (column->values[preparing->prepared->kept_rows[places[end]]] != value)
				break;
		double middle = (double)(first + end) / 2 / (double)rows;
		for (size_t place = first; place < end; place++)
			values[places[place]] = sn_normal_quantile(middle);
	}
	free(places);
	return 0;
}

/* ---- what few identities determine ---- */

/* Whether all rows of a level that have a value have the same. `first` has room for a number of each level. */
static bool is_determined(const struct preparing *preparing, const struct sn_causal_column *column,
			  const struct sn_causal_column *by, double *first)
{
	for (uint32_t level = 0; level < by->levels; level++)
		first[level] = NAN;
	for (size_t row = 0; row < preparing->prepared->rows; row++) {
		uint32_t at = preparing->prepared->kept_rows[row];
		if (isnan(by->values[at]) || isnan(column->values[at]))
			continue;
		double *known = &first[(size_t)by->values[at]];
		if (!isnan(*known) && *known != column->values[at])
			return false;
		*known = column->values[at];
	}
	return true;
}

/* Of few kernels with one configuration each nobody can tell what a part of it does from what the kernel does: the kernel stands for all of it. */
static int leave_determined(struct preparing *preparing)
{
	const struct sn_causal_table *table = preparing->table;
	uint32_t identity = preparing->options->identity;
	double first[SN_CLUSTERS_LEAST];
	int result = 0;
	if (identity == UINT32_MAX || preparing->is_left[identity] ||
	    table->columns[identity].levels < 2 ||
	    table->columns[identity].levels >= SN_CLUSTERS_LEAST)
		return 0;
	for (uint32_t column = 0; !result && column < table->column_count; column++)
		if (column != identity && column != preparing->options->target &&
		    !preparing->is_left[column] && preparing->options->tiers &&
		    !preparing->options->tiers[column] &&
		    is_determined(preparing, &table->columns[column], &table->columns[identity],
				  first))
			result = leave(preparing, (struct sn_left_column){.column = column,
									  .why = SN_LEFT_IDENTITY});
	return result;
}

/* ---- rows that lack a value ---- */

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
			preparing->prepared->kept_rows[kept++] = (uint32_t)row;
	}
	preparing->prepared->rows = kept;
}

/* The correlation of ranks with the target's over the rows that have both, without its sign; 0 without a target, or of categories. */
static int associate(const struct preparing *preparing, uint32_t number, double *correlation)
{
	const struct sn_causal_table *table = preparing->table;
	uint32_t target = preparing->options->target;
	*correlation = 0;
	if (target == UINT32_MAX || table->columns[target].levels || table->columns[number].levels)
		return 0;
	struct sn_prepared rows = {.kept_rows = malloc((preparing->asked + 1) * sizeof(uint32_t))};
	double *ranks = malloc((2 * preparing->asked + 1) * sizeof(double));
	int result = rows.kept_rows && ranks ? 0 : SN_ERR_MEMORY;
	for (size_t row = 0; !result && row < table->row_count; row++)
		if (!isnan(table->columns[target].values[row]) &&
		    !isnan(table->columns[number].values[row]))
			rows.kept_rows[rows.rows++] = (uint32_t)row;
	struct preparing both = {.prepared = &rows, .table = table, .options = preparing->options};
	double *other = ranks ? ranks + rows.rows : NULL;
	result = result ? result : rank(&both, &table->columns[target], ranks);
	result = result ? result : rank(&both, &table->columns[number], other);
	if (!result && sn_standardize(ranks, rows.rows) && sn_standardize(other, rows.rows))
		for (size_t row = 0; row < rows.rows; row++)
			*correlation += ranks[row] * other[row];
	*correlation = fabs(*correlation);
	free(rows.kept_rows);
	free(ranks);
	return result;
}

/* How much a column with gaps costs for what it may say: its gaps, and the less the more it goes with the target. */
static int weigh_gaps(const struct preparing *preparing, double *costs)
{
	int result = 0;
	for (uint32_t number = 0; !result && number < preparing->table->column_count; number++) {
		double correlation, gaps = (double)preparing->missing[number];
		costs[number] = 0;
		if (preparing->is_left[number] || number == preparing->options->target || !gaps)
			continue;
		result = associate(preparing, number, &correlation);
		costs[number] = gaps * (1 - correlation) * (1 - correlation);
	}
	return result;
}

/* The column that costs the most of those that may be left out, or UINT32_MAX. */
static uint32_t find_most(const struct preparing *preparing, const double *costs)
{
	uint32_t most = UINT32_MAX;
	for (uint32_t number = 0; number < preparing->table->column_count; number++)
		if (!preparing->is_left[number] && costs[number] > 0 &&
		    (most == UINT32_MAX || costs[number] > costs[most]))
			most = number;
	return most;
}

/* Rows without a gap say all, and those that are lost so leave out chance alone; a column that is left out may be the cause. So columns go only where few rows are whole. */
static int leave_gaps(struct preparing *preparing, struct sn_error *error)
{
	double asked = (double)preparing->asked, wanted = WHOLE_PART * asked;
	wanted = fmin(fmax(wanted, WHOLE_LEAST), WHOLE_ENOUGH * asked);
	keep_whole_rows(preparing);
	if ((double)preparing->prepared->rows >= wanted)
		return 0;
	double *costs = malloc((preparing->table->column_count + 1) * sizeof(*costs));
	int result = costs ? weigh_gaps(preparing, costs) : SN_ERR_MEMORY;
	uint32_t most;
	while (!result && (double)preparing->prepared->rows < wanted &&
	       (most = find_most(preparing, costs)) != UINT32_MAX) {
		result = leave(preparing,
			       (struct sn_left_column){.column = most, .why = SN_LEFT_SPARSE});
		keep_whole_rows(preparing);
	}
	free(costs);
	return sn_fail_code(error, result);
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
static uint32_t whole_values(const struct preparing *preparing,
			     const struct sn_causal_column *column, double values[WHOLE_MOST])
{
	uint32_t count = 0;
	for (size_t row = 0; row < preparing->prepared->rows; row++) {
		double value = column->values[preparing->prepared->kept_rows[row]];
		if (value != floor(value) || level_among(values, &count, value) == WHOLE_MOST)
			return 0;
	}
	return count;
}

static bool are_categories(const struct preparing *preparing)
{
	double values[WHOLE_MOST];
	for (uint32_t variable = 0; variable < preparing->prepared->count; variable++) {
		const struct sn_causal_column *column =
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
		const struct sn_causal_column *column =
		    &preparing->table->columns[prepared->columns[variable]];
		double values[WHOLE_MOST];
		uint32_t count = column->levels ? 0 : whole_values(preparing, column, values);
		uint8_t *own = prepared->categories ? malloc(prepared->rows + 1) : NULL;
		if (!own)
			return SN_ERR_MEMORY;
		prepared->categories[variable] = own;
		prepared->levels[variable] = column->levels ? column->levels : count;
		for (size_t row = 0; row < prepared->rows; row++) {
			double value = column->values[preparing->prepared->kept_rows[row]];
			own[row] =
			    (uint8_t)(column->levels ? value : level_among(values, &count, value));
		}
	}
	return 0;
}

/* Rows whose variables are all equal become one, in the order in which they first come. */
static int merge_rows(struct sn_prepared *prepared)
{
	struct sn_intern seen = {0};
	uint8_t *levels = malloc(prepared->count + 1);
	prepared->distinct_of = malloc((prepared->rows + 1) * sizeof(*prepared->distinct_of));
	int result = levels && prepared->distinct_of ? 0 : SN_ERR_MEMORY;
	for (size_t row = 0; !result && row < prepared->rows; row++) {
		for (uint32_t variable = 0; variable < prepared->count; variable++)
			levels[variable] = prepared->categories[variable][row];
		uint32_t number = sn_intern_add(&seen, levels, prepared->count);
		if (number == SN_INTERN_NONE)
			result = SN_ERR_MEMORY;
		prepared->distinct_of[row] = number;
		for (uint32_t variable = 0; !result && variable < prepared->count; variable++)
			prepared->categories[variable][number] = levels[variable];
	}
	prepared->distinct = seen.count;
	sn_intern_release(&seen);
	free(levels);
	return result;
}

/* ---- numbers ---- */

/* 1 where the row has the level. */
static void indicate(struct preparing *preparing, const struct sn_causal_column *column,
		     uint32_t level, double *values)
{
	for (size_t row = 0; row < preparing->prepared->rows; row++)
		values[row] = column->values[preparing->prepared->kept_rows[row]] == level;
}

static uint32_t dimensions_of(const struct sn_causal_column *column)
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
	int result = 0;
	for (uint32_t variable = 0; !result && variable < prepared->count; variable++) {
		const struct sn_causal_column *column =
		    &preparing->table->columns[prepared->columns[variable]];
		for (uint32_t dimension = 0; dimension < dimensions_of(column); dimension++) {
			double *values =
			    prepared->values + (prepared->first[variable] + dimension) * rows;
			if (column->levels)
				indicate(preparing, column, dimension, values);
			else
				result = rank(preparing, column, values);
			sn_standardize(values, rows);
		}
	}
	return result;
}

/* ---- columns that are one ---- */

/* The variables in the order in which they may stand for others. */
struct by_rank {
	const struct sn_prepared *prepared;
	const struct sn_prepare_options *options;
};

static uint32_t rank_of(const struct by_rank *by, uint32_t variable)
{
	uint32_t column = by->prepared->columns[variable];
	if (column == by->options->target)
		return 0;
	return by->options->tiers ? 1u + by->options->tiers[column] : 1;
}

SN_SORT_BY(sort_by_rank, uint32_t, const struct by_rank *,
	   SN_ORDER(rank_of(of, *a), rank_of(of, *b)) ?: SN_ORDER(*a, *b));

/* Closes the gap that a variable leaves. */
static void move_variable(struct sn_prepared *prepared, uint32_t from, uint32_t to)
{
	uint32_t dimensions = prepared->first[from + 1] - prepared->first[from];
	size_t bytes = dimensions * prepared->rows * sizeof(*prepared->values);
	memmove(prepared->values + prepared->first[to] * prepared->rows,
		prepared->values + prepared->first[from] * prepared->rows, bytes);
	prepared->columns[to] = prepared->columns[from];
	prepared->is_ordered[to] = prepared->is_ordered[from];
	prepared->first[to + 1] = prepared->first[to] + dimensions;
}

static int merge_aliases(struct preparing *preparing)
{
	struct sn_prepared *prepared = preparing->prepared;
	struct by_rank by = {prepared, preparing->options};
	struct sn_alias *aliases = calloc(prepared->count + 1, sizeof(*aliases));
	uint32_t *order = malloc((prepared->count + 1) * sizeof(*order)), kept = 0;
	int result = aliases && order ? 0 : SN_ERR_MEMORY;
	for (uint32_t variable = 0; !result && variable < prepared->count; variable++)
		order[variable] = variable;
	if (!result)
		sort_by_rank(order, prepared->count, &by);
	result = result ? result : sn_aliases_find(prepared, preparing->table, order, aliases);
	for (uint32_t variable = 0; !result && variable < prepared->count; variable++)
		if (aliases[variable].of != variable)
			result =
			    leave(preparing, (struct sn_left_column){
						 .column = prepared->columns[variable],
						 .why = SN_LEFT_SAME,
						 .same_as = prepared->columns[aliases[variable].of],
						 .correlation = aliases[variable].correlation});
	/* the representatives' columns are read above, so nothing moves before */
	for (uint32_t variable = 0; !result && variable < prepared->count; variable++)
		if (aliases[variable].of == variable)
			move_variable(prepared, variable, kept++);
	if (!result)
		prepared->count = kept;
	free(aliases);
	free(order);
	return result;
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

/* "1,5": a number as some write it, which is text in a table. */
static bool is_decimal_comma(const char *text)
{
	size_t digits = strspn(text + (*text == '-'), "0123456789") + (*text == '-');
	return digits && text[digits] == ',' && text[digits + 1] &&
	       text[digits + 1 + strspn(text + digits + 1, "0123456789")] == 0;
}

static int refuse_few(const struct preparing *preparing, struct sn_error *error)
{
	const struct sn_prepared *prepared = preparing->prepared;
	const char *why = "";
	for (uint32_t number = 0; number < prepared->left_count; number++) {
		const struct sn_left_column *left = &prepared->left[number];
		const struct sn_causal_column *column = &preparing->table->columns[left->column];
		if (left->why == SN_LEFT_DISTINCT && is_decimal_comma(column->level_names[0]))
			why = ": numbers have decimal commas, and are taken as text";
	}
	return sn_fail(
	    error, SN_ERR_ARGUMENT,
	    "only %u of %u columns and %zu of %zu rows can be compared, which is too few to "
	    "say anything%s",
	    prepared->count, preparing->table->column_count, prepared->rows,
	    preparing->table->row_count, why);
}

/* ---- rows that belong together ---- */

static int leave_cluster(struct preparing *preparing)
{
	uint32_t cluster = preparing->options->cluster;
	if (cluster == UINT32_MAX)
		return 0;
	preparing->is_left[cluster] = true;
	/* stretches are no column of the user's */
	return preparing->options->are_stretches
		   ? 0
		   : leave(preparing,
			   (struct sn_left_column){.column = cluster, .why = SN_LEFT_CLUSTER});
}

static int make_given(struct preparing *preparing, struct sn_error *error)
{
	struct sn_prepared *prepared = preparing->prepared;
	const struct sn_causal_column *column =
	    &preparing->table->columns[preparing->options->cluster];
	if (sn_clusters_init(&prepared->clusters, column->values, prepared->kept_rows,
			     prepared->rows))
		return sn_fail_memory(error);
	prepared->clusters.has_means = !preparing->options->are_stretches;
	if (preparing->options->are_stretches)
		prepared->clusters.kind = SN_CLUSTERS_STRETCHES;
	if (prepared->clusters.count < SN_CLUSTERS_LEAST)
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "the rows are of %u clusters by '%s': at least %u are needed to say "
			       "what is chance",
			       prepared->clusters.count, column->name, SN_CLUSTERS_LEAST);
	return 0;
}

/* Whether each level of a text that was set is of some configurations: of as many levels as these nobody can tell what is a level's and what a configuration's. */
static bool are_levels_few(const struct preparing *preparing, uint32_t configurations)
{
	const struct sn_causal_table *table = preparing->table;
	for (uint32_t column = 0; column < table->column_count; column++)
		if (!preparing->is_left[column] && preparing->options->tiers &&
		    !preparing->options->tiers[column] &&
		    table->columns[column].levels * SN_SETTINGS_A_LEVEL > configurations)
			return false;
	return true;
}

/* None where no two rows are of one configuration. Of few ones rows are independent: what differs between them is what was set. But kernels differ by more than their configurations. */
static int make_repeats(struct preparing *preparing, struct sn_clusters *repeats)
{
	struct sn_prepared *prepared = preparing->prepared;
	bool are_launches = preparing->options->are_stretches;
	uint32_t least = are_launches ? SN_CLUSTERS_LEAST : SN_MEANS_LEAST;
	if (!preparing->options->configurations)
		return 0;
	int result = sn_clusters_init(repeats, preparing->options->configurations,
				      prepared->kept_rows, prepared->rows);
	repeats->kind = SN_CLUSTERS_REPEATS;
	repeats->has_means = !are_launches;
	if (result || repeats->are_single || repeats->count < least ||
	    (!are_launches && !are_levels_few(preparing, repeats->count)))
		sn_clusters_release(repeats);
	return result;
}

/* By what the user says, else by repeats; by stretches and repeats both. */
static int make_clusters(struct preparing *preparing, struct sn_error *error)
{
	struct sn_prepared *prepared = preparing->prepared;
	const struct sn_prepare_options *options = preparing->options;
	uint32_t target = options->target;
	bool is_of_text = target == UINT32_MAX || preparing->table->columns[target].levels;
	if (options->cluster == UINT32_MAX)
		return prepared->is_discrete && is_of_text
			   ? 0
			   : sn_fail_code(error, make_repeats(preparing, &prepared->clusters));
	int result = make_given(preparing, error);
	if (!result && options->are_stretches)
		result = sn_fail_code(error, make_repeats(preparing, &prepared->repeats));
	return result;
}

static int prepare(struct preparing *preparing, struct sn_error *error)
{
	struct sn_prepared *prepared = preparing->prepared;
	int result = sn_correlations_load(error);
	result = result ? result : keep_asked(preparing, error);
	result = result ? result : sn_fail_code(error, leave_cluster(preparing));
	result = result ? result : leave_what_says_nothing(preparing, error);
	result = result ? result : sn_fail_code(error, leave_determined(preparing));
	result = result ? result : leave_gaps(preparing, error);
	/* what varied in the rows that were left out alone */
	result = result ? result : leave_what_says_nothing(preparing, error);
	if (result)
		return result;
	result = take_columns(preparing);
	if (!result && (prepared->count < 2 || prepared->rows < ROWS_LEAST))
		return refuse_few(preparing, error);
	prepared->is_discrete = !result && are_categories(preparing);
	result = result ? result : make_clusters(preparing, error);
	prepared->is_discrete &= sn_rows_are_independent(&prepared->clusters);
	result = result ? result : make_values(preparing);
	result = result ? result : merge_aliases(preparing);
	if (!result && prepared->count < 2)
		return refuse_few(preparing, error);
	prepared->candidates = prepared->count;
	if (prepared->is_discrete)
		result = result ? result : make_categories(preparing);
	if (prepared->is_discrete)
		result = result ? result : merge_rows(prepared);
	return sn_fail_code(error, result);
}

/* A category's levels move with its variable. */
static void move_categories(struct sn_prepared *prepared, uint32_t from, uint32_t to)
{
	if (!prepared->is_discrete || from == to)
		return;
	free(prepared->categories[to]);
	prepared->categories[to] = prepared->categories[from];
	prepared->categories[from] = NULL;
	prepared->levels[to] = prepared->levels[from];
}

int sn_prepared_keep(struct sn_prepared *prepared, const uint64_t *kept)
{
	size_t capacity = prepared->left_count;
	uint32_t count = 0, all = prepared->count;
	for (uint32_t variable = 0; variable < all; variable++)
		if (!sn_bits_has(kept, variable) &&
		    sn_vec_push(&prepared->left, &capacity, &prepared->left_count,
				(struct sn_left_column){.column = prepared->columns[variable],
							.why = SN_LEFT_SCREENED}))
			return SN_ERR_MEMORY;
	for (uint32_t variable = 0; variable < all; variable++)
		if (sn_bits_has(kept, variable)) {
			move_variable(prepared, variable, count);
			move_categories(prepared, variable, count++);
		}
	for (uint32_t variable = count; prepared->is_discrete && variable < all; variable++) {
		free(prepared->categories[variable]);
		prepared->categories[variable] = NULL;
	}
	prepared->count = count;
	return 0;
}

int sn_prepared_stratify(struct sn_prepared *prepared)
{
	sn_strata_release(&prepared->strata);
	const struct sn_clusters *clusters[] = {&prepared->clusters, &prepared->repeats};
	const struct sn_dimensions dimensions = {prepared->count, prepared->values, prepared->first,
						 prepared->is_ordered};
	uint32_t identity = prepared->identity == UINT32_MAX
				? UINT32_MAX
				: sn_prepared_find(prepared, prepared->identity);
	return sn_strata_init(&prepared->strata, clusters, &dimensions, prepared->rows, identity);
}

double sn_prepared_penalty(const struct sn_prepared *prepared)
{
	return log(prepared->candidates);
}

uint32_t sn_prepared_find(const struct sn_prepared *prepared, uint32_t column)
{
	for (uint32_t variable = 0; variable < prepared->count; variable++)
		if (prepared->columns[variable] == column)
			return variable;
	return UINT32_MAX;
}

int sn_prepare(struct sn_prepared *prepared, const struct sn_causal_table *table,
	       const struct sn_prepare_options *options, struct sn_error *error)
{
	struct preparing preparing = {.prepared = prepared, .table = table, .options = options};
	*prepared = (struct sn_prepared){.identity = options->identity};
	if (table->row_count > UINT32_MAX)
		return sn_fail(error, SN_ERR_ARGUMENT, "more than 4,294,967,295 rows");
	preparing.is_left = calloc(table->column_count + 1, sizeof(*preparing.is_left));
	preparing.missing = calloc(table->column_count + 1, sizeof(*preparing.missing));
	prepared->kept_rows = malloc((table->row_count + 1) * sizeof(*prepared->kept_rows));
	bool has_room = preparing.is_left && preparing.missing && prepared->kept_rows;
	int result = has_room ? prepare(&preparing, error) : sn_fail_memory(error);
	free(preparing.is_left);
	free(preparing.missing);
	return result;
}
