/* SPDX-License-Identifier: Apache-2.0 */
/* The information criterion of linear models, from correlations alone; see gaussian_score.h. */
#include "gaussian_score.h"

#include "base/error.h"

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

/* The next row of the Cholesky factor of the chosen dimensions' correlations, at `row`. What is left of the dimension's variance;
 * where that is nothing, it explains nothing of those after it either. */
static double add_row(struct sn_gaussian_score *score, uint32_t row)
{
	double *own = score->factor + (size_t)row * (row + 1) / 2;
	const double *correlations =
	    score->correlations + (size_t)score->chosen[row] * score->dimensions;
	double left = correlations[score->chosen[row]];
	for (uint32_t column = 0; column < row; column++) {
		const double *other = score->factor + (size_t)column * (column + 1) / 2;
		double sum = correlations[score->chosen[column]];
		for (uint32_t place = 0; place < column; place++)
			sum -= own[place] * other[place];
		own[column] = other[column] > 0 ? sum / other[column] : 0;
		left -= own[column] * own[column];
	}
	own[row] = left > NOTHING ? sqrt(left) : 0;
	return left > NOTHING ? left : NOTHING;
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
	for (uint32_t row = 0; row < causes; row++)
		add_row(score, row);
	for (uint32_t row = causes; row < all; row++)
		sum += log(add_row(score, row));
	return -rows / 2 * sum - score->penalty * log(rows) / 2 * (all - causes) * causes;
}
