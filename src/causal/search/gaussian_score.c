/* SPDX-License-Identifier: Apache-2.0 */
/* The information criterion of linear models, from correlations alone; see gaussian_score.h. */
#include "gaussian_score.h"

#include "base/error.h"
#include "causal/cholesky.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

int sn_gaussian_score_init(struct sn_gaussian_score *score, const double *correlations,
			   const uint32_t *first, uint32_t variables, size_t rows)
{
	*score = (struct sn_gaussian_score){.dimensions = first[variables],
					    .correlations = correlations,
					    .first = first,
					    .rows = rows,
					    .penalty = log((double)rows) / 2};
	score->factor = malloc(SN_GAUSSIAN_CHOSEN_MOST * (SN_GAUSSIAN_CHOSEN_MOST + 1) / 2 *
			       sizeof(*score->factor));
	score->chosen = malloc(SN_GAUSSIAN_CHOSEN_MOST * sizeof(*score->chosen));
	return score->factor && score->chosen ? 0 : SN_ERR_MEMORY;
}

void sn_gaussian_score_release(struct sn_gaussian_score *score)
{
	free(score->factor);
	free(score->chosen);
	free(score->rows_of_all.chosen);
	free(score->rows_of_all.items);
	*score = (struct sn_gaussian_score){0};
}

/* Appends the dimensions of a variable to the chosen ones; rows of the factor stay as long as these are the same as before. False where they are
 * too many. */
static bool choose(struct sn_gaussian_score *score, uint32_t variable, uint32_t *count)
{
	for (uint32_t dimension = score->first[variable]; dimension < score->first[variable + 1];
	     dimension++) {
		if (*count == SN_GAUSSIAN_CHOSEN_MOST)
			return false;
		if (*count < score->known && score->chosen[*count] != dimension)
			score->known = *count;
		score->chosen[(*count)++] = dimension;
	}
	return true;
}

/* Summed over all pairs. */
static double dependence_of(const struct sn_gaussian_score *score, const uint32_t *causes,
			    uint32_t count, uint32_t variable)
{
	double sum = 0;
	for (uint32_t own = score->first[variable]; own < score->first[variable + 1]; own++)
		for (uint32_t place = 0; place < count; place++)
			sum += score->dependence[(size_t)own * score->dimensions + causes[place]];
	return sum;
}

double sn_gaussian_penalty(const struct sn_gaussian_score *score, const uint32_t *causes,
			   uint32_t count, uint32_t variable)
{
	double marked_causes = 0, marked = 0,
	       size = score->first[variable + 1] - score->first[variable];
	if (score->dependence)
		return score->penalty * dependence_of(score, causes, count, variable);
	if (!score->is_marked)
		return score->penalty * size * count;
	for (uint32_t place = 0; place < count; place++)
		marked_causes += score->is_marked[causes[place]];
	for (uint32_t own = score->first[variable]; own < score->first[variable + 1]; own++)
		marked += score->is_marked[own];
	return score->penalty * (size * count - marked * marked_causes) +
	       score->penalty_marked * marked * marked_causes;
}

double sn_gaussian_score_of(void *context, uint32_t variable, const uint32_t *parents,
			    uint32_t count)
{
	struct sn_gaussian_score *score = context;
	uint32_t causes = 0, all;
	double sum = 0, rows = (double)score->rows;
	for (uint32_t parent = 0; parent < count; parent++)
		if (!choose(score, parents[parent], &causes))
			return -INFINITY;
	const struct sn_cholesky cholesky = {score->correlations, score->dimensions, score->chosen,
					     score->factor};
	for (uint32_t row = score->known; row < causes; row++)
		sn_cholesky_add(&cholesky, row);
	score->known = all = causes;
	if (!choose(score, variable, &all))
		return -INFINITY;
	for (uint32_t row = causes; row < all; row++)
		sum += log(sn_cholesky_add(&cholesky, row));
	return -rows / 2 * sum - sn_gaussian_penalty(score, score->chosen, causes, variable);
}
