/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs by orders that are not causal; see baselines.h. */
#include "baselines.h"

#include "base/sort_by.h"
#include "cholesky.h"
#include "search/grow_tree.h"
#include "rows/row_sample.h"

#include <math.h>

struct comparing {
	const struct sn_prepared *prepared;
	const struct sn_causal_table *table;
	const struct sn_knowledge *knowledge;
	const struct sn_pdag *graph;
	struct sn_row_sample rows; /* all */
	double *keys;		   /* of each variable, what the order is by */
	uint32_t *order;
	uint64_t *before; /* the variables before one in the order */
};

SN_SORT_BY(sort_by_key, uint32_t, const double *, SN_ORDER(of[*a], of[*b]) ?: SN_ORDER(*a, *b));

/* ---- orders ---- */

/* Of the numbers that the table has, not of their ranks; of categories, the variance of being of a level. */
static double variance_of(const struct comparing *comparing, uint32_t variable)
{
	const struct sn_prepared *prepared = comparing->prepared;
	const struct sn_causal_column *column =
	    &comparing->table->columns[prepared->columns[variable]];
	double mean = 0, squares = 0;
	for (size_t row = 0; row < prepared->rows; row++) {
		double value = column->values[prepared->kept_rows[row]], from_mean = value - mean;
		mean += from_mean / (double)(row + 1);
		squares += from_mean * (value - mean);
	}
	return squares / (double)prepared->rows;
}

static void key_by_variance(struct comparing *comparing)
{
	for (uint32_t variable = 0; variable < comparing->prepared->count; variable++)
		comparing->keys[variable] = variance_of(comparing, variable);
}

/* The correlations, with some of each dimension's own variance put in addition, so that there is an inverse also of more dimensions than rows. */
static double *with_ridge(const struct comparing *comparing, uint32_t dimensions)
{
	double added = dimensions / (double)comparing->prepared->rows / 10 + 1e-6;
	size_t all = (size_t)dimensions * dimensions;
	double *correlations = malloc(all * sizeof(*correlations) + 1);
	if (!correlations)
		return NULL;
	memcpy(correlations, comparing->rows.correlations, all * sizeof(*correlations));
	for (uint32_t dimension = 0; dimension < dimensions; dimension++)
		correlations[(size_t)dimension * dimensions + dimension] += added;
	return correlations;
}

/* Of the inverse of what the triangle is the factor of; `column` is room for one of the triangle's inverse. */
static double inverse_diagonal(const double *factor, uint32_t dimensions, uint32_t dimension,
			       double *column)
{
	double squares = 0;
	for (uint32_t row = dimension; row < dimensions; row++) {
		double sum = row == dimension;
		for (uint32_t before = dimension; before < row; before++)
			sum -= factor[sn_cholesky_at(row, before)] * column[before];
		column[row] = sum * factor[sn_cholesky_at(row, row)];
		squares += column[row] * column[row];
	}
	return squares;
}

/* R^2 of a dimension by all others is 1 - 1 / the diagonal of the inverse; of a variable its dimensions' mean. */
static int key_by_prediction(struct comparing *comparing)
{
	const struct sn_prepared *prepared = comparing->prepared;
	uint32_t dimensions = prepared->first[prepared->count];
	double *correlations = with_ridge(comparing, dimensions);
	double *factor = malloc((size_t)(dimensions + 1) * dimensions / 2 * sizeof(*factor) + 1);
	double *column = malloc((dimensions + 1) * sizeof(*column));
	uint32_t *chosen = malloc((dimensions + 1) * sizeof(*chosen));
	const struct sn_cholesky cholesky = {correlations, dimensions, chosen, factor};
	int result = correlations && factor && column && chosen ? 0 : SN_ERR_MEMORY;
	for (uint32_t row = 0; !result && row < dimensions; row++)
		chosen[row] = row;
	for (uint32_t row = 0; !result && row < dimensions; row++)
		sn_cholesky_add(&cholesky, row);
	for (uint32_t variable = 0; !result && variable < prepared->count; variable++) {
		uint32_t first = prepared->first[variable], end = prepared->first[variable + 1];
		double left = 0;
		for (uint32_t dimension = first; dimension < end; dimension++)
			left += 1 / inverse_diagonal(factor, dimensions, dimension, column);
		comparing->keys[variable] = 1 - left / (end - first);
	}
	free(correlations);
	free(factor);
	free(column);
	free(chosen);
	return result;
}

/* ---- graphs ---- */

static void compare_edge(const struct comparing *comparing, struct sn_baseline *baseline,
			 uint32_t from, uint32_t to)
{
	baseline->edges++;
	baseline->same_pairs += sn_pdag_is_adjacent(comparing->graph, from, to);
	baseline->same_directions += sn_pdag_is_directed(comparing->graph, from, to);
}

/* Each variable's causes are chosen among those before it, as a search over orders does for its own. */
static int compare_order(struct comparing *comparing, struct sn_baseline *baseline)
{
	uint32_t count = comparing->prepared->count;
	int result = 0;
	for (uint32_t place = 0; place < count; place++)
		comparing->order[place] = place;
	sort_by_key(comparing->order, count, comparing->keys);
	memset(comparing->before, 0, sn_bits_words(count) * sizeof(*comparing->before));
	for (uint32_t place = 0; !result && place < count; place++) {
		uint32_t variable = comparing->order[place], cause_count = 0;
		const uint32_t *causes = NULL;
		struct sn_grow_tree tree;
		sn_grow_tree_init(&tree, variable, count, &comparing->rows.score,
				  comparing->knowledge);
		baseline->score +=
		    sn_grow_tree_ask(&tree, comparing->before, &causes, &cause_count);
		for (uint32_t cause = 0; cause < cause_count; cause++)
			compare_edge(comparing, baseline, causes[cause], variable);
		result = tree.failed ? SN_ERR_MEMORY : 0;
		sn_grow_tree_release(&tree);
		sn_bits_add(comparing->before, variable);
	}
	return result;
}

static void compare_itself(const struct sn_discovery *found, struct sn_baseline *baseline)
{
	const struct sn_pdag *graph = &found->graph;
	baseline->score = found->score;
	for (uint32_t to = 0; to < graph->count; to++)
		for (uint32_t from = 0; from < to; from++)
			baseline->edges += sn_pdag_is_adjacent(graph, from, to);
	baseline->same_pairs = baseline->edges;
	for (uint32_t to = 0; to < graph->count; to++)
		for (uint32_t from = 0; from < graph->count; from++)
			baseline->same_directions += sn_pdag_is_directed(graph, from, to);
}

static void compare_nothing(struct comparing *comparing, struct sn_baseline *baseline)
{
	for (uint32_t variable = 0; variable < comparing->prepared->count; variable++)
		baseline->score +=
		    comparing->rows.score.of(comparing->rows.score.context, variable, NULL, 0);
}

int sn_baselines(struct sn_baseline baselines[SN_BASELINES], const struct sn_prepared *prepared,
		 const struct sn_causal_table *table, const struct sn_knowledge *knowledge,
		 const struct sn_discovery *found)
{
	uint32_t count = prepared->count;
	struct comparing comparing = {.prepared = prepared,
				      .table = table,
				      .knowledge = knowledge,
				      .graph = &found->graph,
				      .keys = malloc((count + 1) * sizeof(double)),
				      .order = malloc((count + 1) * sizeof(uint32_t)),
				      .before =
					  malloc((sn_bits_words(count) + 1) * sizeof(uint64_t))};
	int result = sn_row_sample_draw(&comparing.rows, prepared, 0, 0);
	if (!comparing.keys || !comparing.order || !comparing.before)
		result = SN_ERR_MEMORY;
	memcpy(baselines,
	       (struct sn_baseline[SN_BASELINES]){
		   {"found"}, {"empty"}, {"variance_sort"}, {"r2_sort"}},
	       SN_BASELINES * sizeof(*baselines));
	compare_itself(found, &baselines[0]);
	if (!result)
		compare_nothing(&comparing, &baselines[1]);
	if (!result)
		key_by_variance(&comparing);
	result = result ? result : compare_order(&comparing, &baselines[2]);
	result = result ? result : key_by_prediction(&comparing);
	result = result ? result : compare_order(&comparing, &baselines[3]);
	sn_row_sample_release(&comparing.rows);
	free(comparing.keys);
	free(comparing.order);
	free(comparing.before);
	return result;
}
