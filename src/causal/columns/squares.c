/* SPDX-License-Identifier: Apache-2.0 */
/* Second dimensions of numbers; see squares.h. */
#include "squares.h"

#include "causal/normal.h"
#include "standard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROBABILITY 0.01 /* of a square where there should be none */
#define LEAST_LEFT                                                                                 \
	0.001 /* of a square's variance that the rank does not explain: two values have none */

static double product(const double *a, const double *b, size_t rows)
{
	double sum = 0;
	for (size_t row = 0; row < rows; row++)
		sum += a[row] * b[row];
	return sum;
}

/* Writes what the rank does not explain of its square, with mean 0 and sum of squares 1. False where that is nothing. */
static bool square(const double *rank, size_t rows, double *squared)
{
	for (size_t row = 0; row < rows; row++)
		squared[row] = rank[row] * rank[row];
	if (!sn_standardize(squared, rows))
		return false;
	double explained = product(rank, squared, rows);
	for (size_t row = 0; row < rows; row++)
		squared[row] -= explained * rank[row];
	return 1 - explained * explained > LEAST_LEFT && sn_standardize(squared, rows);
}

/* What one dimension says, beside its rank, of another one. */
struct asking {
	const struct sn_prepared *prepared;
	double *squared;     /* of the dimension that is asked; room for the rows */
	double *of_clusters; /* room for a number of each cluster */
};

/* A sum over the root of its squares, of `count` numbers, is at most the root of that. As a normal deviate (Wallace, "Bounds on normal approximations to Student's
 * and the chi-square distributions", Annals of Mathematical Statistics 30, 1959). */
static double of_few(double deviate, double count)
{
	double degrees = count - 1, left = 1 - deviate * deviate / count;
	return left <= 0 ? INFINITY
			 : sqrt(-degrees * log(left)) * (8 * degrees + 1) / (8 * degrees + 3);
}

/* How far from chance it is that a square goes with what its rank leaves of another dimension, as a normal deviate: of rows, or of clusters. */
static double deviate(const struct asking *asking, const double *rank, const double *other)
{
	const struct sn_clusters *clusters = &asking->prepared->clusters;
	size_t rows = asking->prepared->rows;
	double explained = product(rank, other, rows), sum = 0, squares = 0;
	memset(asking->of_clusters, 0, clusters->count * sizeof(*asking->of_clusters));
	for (size_t row = 0; row < rows; row++) {
		double both = asking->squared[row] * (other[row] - explained * rank[row]);
		sum += both;
		if (clusters->of)
			asking->of_clusters[clusters->of[row]] += both;
		else
			squares += both * both;
	}
	for (uint32_t cluster = 0; cluster < clusters->count; cluster++)
		squares += asking->of_clusters[cluster] * asking->of_clusters[cluster];
	double deviate = squares > 0 ? fabs(sum) / sqrt(squares) : 0;
	return clusters->of ? of_few(deviate, clusters->count) : deviate;
}

/* The dimensions of which a square may say something. */
struct others {
	uint32_t first, end;
};

static bool says_something(const struct asking *asking, uint32_t variable,
			   const struct others *others, double least)
{
	uint32_t own = asking->prepared->first[variable];
	const double *values = asking->prepared->values;
	size_t rows = asking->prepared->rows;
	for (uint32_t other = others->first; other < others->end; other++)
		if (other != own &&
		    deviate(asking, values + own * rows, values + other * rows) > least)
			return true;
	return false;
}

/* A number without a square. */
static bool may_have_square(const struct sn_prepared *prepared, uint32_t variable)
{
	return prepared->is_ordered[variable] &&
	       prepared->first[variable + 1] - prepared->first[variable] == 1;
}

/* The variables whose square says something. Their number. */
static uint32_t find(const struct asking *asking, const struct others *others, bool *has_square)
{
	const struct sn_prepared *prepared = asking->prepared;
	double pairs = (double)prepared->count * (others->end - others->first);
	double least = sn_normal_quantile(1 - PROBABILITY / 2 / pairs);
	uint32_t count = 0;
	for (uint32_t variable = 0; variable < prepared->count; variable++) {
		const double *rank = prepared->values + prepared->first[variable] * prepared->rows;
		has_square[variable] = may_have_square(prepared, variable) &&
				       square(rank, prepared->rows, asking->squared) &&
				       says_something(asking, variable, others, least);
		count += has_square[variable];
	}
	return count;
}

/* Makes room behind each of these variables, from the last one on, and fills it. */
static int insert(struct sn_prepared *prepared, const bool *has_square, uint32_t count)
{
	size_t rows = prepared->rows;
	uint32_t end = prepared->first[prepared->count], to = end + count;
	double *values = reallocarray(prepared->values, to * rows + 1, sizeof(*values));
	if (!values)
		return SN_ERR_MEMORY;
	prepared->values = values;
	for (uint32_t variable = prepared->count; variable-- > 0;) {
		uint32_t first = prepared->first[variable], own = end - first;
		prepared->first[variable + 1] = to;
		to -= own + has_square[variable];
		memmove(values + to * rows, values + first * rows, own * rows * sizeof(*values));
		if (has_square[variable])
			square(values + to * rows, rows, values + (to + own) * rows);
		end = first;
	}
	return 0;
}

static int add(struct sn_prepared *prepared, const struct others *others, uint32_t most)
{
	size_t clusters = prepared->clusters.count;
	struct asking asking = {.prepared = prepared,
				.squared = malloc(prepared->rows * sizeof(double) + 1),
				.of_clusters = malloc(clusters * sizeof(double) + 1)};
	bool *has_square = malloc(prepared->count + 1);
	int result = asking.squared && asking.of_clusters && has_square ? 0 : SN_ERR_MEMORY;
	uint32_t count = result ? 0 : find(&asking, others, has_square);
	if (count && prepared->first[prepared->count] + count <= most)
		result = insert(prepared, has_square, count);
	free(asking.squared);
	free(asking.of_clusters);
	free(has_square);
	return result;
}

int sn_squares_add(struct sn_prepared *prepared, uint32_t most)
{
	uint32_t dimensions = prepared->first[prepared->count];
	if (prepared->is_discrete || dimensions >= most)
		return 0;
	return add(prepared, &(struct others){0, dimensions}, most);
}

int sn_squares_add_of(struct sn_prepared *prepared, uint32_t target)
{
	if (prepared->is_discrete)
		return 0;
	return add(prepared, &(struct others){prepared->first[target], prepared->first[target + 1]},
		   UINT32_MAX);
}
