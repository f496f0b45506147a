/* SPDX-License-Identifier: Apache-2.0 */
/* The information criterion of linear models, from correlations alone; see gaussian_score.h. */
#include "gaussian_score.h"

#include "base/error.h"
#include "cholesky.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* What is left of a dimension's variance of 1 where others determine it. */
#define NOTHING	    1e-8
/* Dimensions of a variable and its causes, so that a triangle stays small. */
#define CHOSEN_MOST 512u

int sn_gaussian_score_init(struct sn_gaussian_score *score, const double *correlations,
			   const uint32_t *first, uint32_t variables, size_t rows)
{
	*score = (struct sn_gaussian_score){.dimensions = first[variables],
					    .correlations = correlations,
					    .first = first,
					    .rows = rows,
					    .penalty = 1};
	score->factor = malloc(CHOSEN_MOST * (CHOSEN_MOST + 1) / 2 * sizeof(*score->factor));
	score->chosen = malloc(CHOSEN_MOST * sizeof(*score->chosen));
	return score->factor && score->chosen ? 0 : SN_ERR_MEMORY;
}

void sn_gaussian_score_release(struct sn_gaussian_score *score)
{
	free(score->factor);
	free(score->chosen);
	*score = (struct sn_gaussian_score){0};
}

/* Appends the dimensions of a variable to the chosen ones; false where they are too many. */
static bool choose(struct sn_gaussian_score *score, uint32_t variable, uint32_t *count)
{
	for (uint32_t dimension = score->first[variable]; dimension < score->first[variable + 1];
	     dimension++) {
		if (*count == CHOSEN_MOST)
			return false;
		score->chosen[(*count)++] = dimension;
	}
	return true;
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
	all = causes;
	if (!choose(score, variable, &all))
		return -INFINITY;
	const struct sn_cholesky cholesky = {score->correlations, score->dimensions, score->chosen,
					     score->factor};
	for (uint32_t row = 0; row < causes; row++)
		sn_cholesky_add(&cholesky, row);
	for (uint32_t row = causes; row < all; row++)
		sum += log(sn_cholesky_add(&cholesky, row));
	return -rows / 2 * sum - score->penalty * log(rows) / 2 * (all - causes) * causes;
}
