/* SPDX-License-Identifier: Apache-2.0 */
/* Correlations by one product of matrices; see correlations.h. */
#include "correlations.h"

#include "base/sort_by.h"
#include "base/vec.h"

#include "late_openblas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int sn_correlations_load(struct sn_error *error)
{
	if (!sn_late_openblas_load())
		return sn_fail(error, SN_ERR_UNSUPPORTED,
			       "cannot load libopenblas.so.0, which compares columns; Debian's "
			       "package is libopenblas0");
	openblas_set_num_threads(1); /* whoever calls has threads of its own */
	return 0;
}

/* A sample's dimension, with mean 0 and sum of squares 1: each row by the root of how often it counts. */
static void sample(const double *values, size_t rows, const uint32_t *times, double *sampled)
{
	double all = 0, sum = 0, squares = 0;
	for (size_t row = 0; row < rows; row++) {
		all += times[row];
		sum += times[row] * values[row];
	}
	double mean = sum / all;
	for (size_t row = 0; row < rows; row++) {
		double from_mean = values[row] - mean;
		squares += times[row] * from_mean * from_mean;
		sampled[row] = sqrt(times[row]) * from_mean;
	}
	/* of what is constant rounding alone is left */
	double scale = squares > 1e-24 ? 1 / sqrt(squares) : 0;
	for (size_t row = 0; row < rows; row++)
		sampled[row] *= scale;
}

int sn_correlations(const double *values, uint32_t dimensions, size_t rows, const uint32_t *times,
		    double *correlations)
{
	if (!dimensions)
		return 0; /* which BLAS refuses */
	double *sampled = times ? calloc(dimensions * rows + 1, sizeof(*sampled)) : NULL;
	if (times && !sampled)
		return SN_ERR_MEMORY;
	for (uint32_t dimension = 0; times && dimension < dimensions; dimension++)
		sample(values + dimension * rows, rows, times, sampled + dimension * rows);
	cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)dimensions, (int)rows, 1,
		    times ? sampled : values, (int)rows, 0, correlations, (int)dimensions);
	for (uint32_t a = 0; a < dimensions; a++)
		for (uint32_t b = 0; b < a; b++)
			correlations[(size_t)b * dimensions + a] =
			    correlations[(size_t)a * dimensions + b];
	free(sampled);
	return 0;
}

/* ---- of some with all ---- */

double *sn_correlations_sample(const double *values, uint32_t dimensions, size_t rows,
			       const uint32_t *times, size_t *sampled_rows)
{
	size_t kept = 0;
	for (size_t row = 0; row < rows; row++)
		kept += times[row] > 0;
	*sampled_rows = kept;
	double *sampled = malloc(dimensions * kept * sizeof(*sampled) + 1);
	double *one = malloc(rows * sizeof(*one) + 1);
	for (uint32_t dimension = 0; sampled && one && dimension < dimensions; dimension++) {
		double *to = sampled + dimension * kept;
		sample(values + dimension * rows, rows, times, one);
		for (size_t row = 0; row < rows; row++)
			if (times[row])
				*to++ = one[row];
	}
	if (!one) {
		free(sampled);
		sampled = NULL;
	}
	free(one);
	return sampled;
}

int sn_correlations_with(const double *values, uint32_t dimensions, size_t rows,
			 const uint32_t *chosen, uint32_t count, double *correlations)
{
	if (count == 1) {
		cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)dimensions, (int)rows, 1, values,
			    (int)rows, values + chosen[0] * rows, 1, 0, correlations, 1);
		return 0;
	}
	double *gathered = malloc(count * rows * sizeof(*gathered) + 1);
	if (!gathered)
		return SN_ERR_MEMORY;
	for (uint32_t place = 0; place < count; place++)
		memcpy(gathered + place * rows, values + chosen[place] * rows,
		       rows * sizeof(*gathered));
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)count, (int)dimensions, (int)rows,
		    1, gathered, (int)rows, values, (int)rows, 0, correlations, (int)dimensions);
	free(gathered);
	return 0;
}

/* ---- pairs ---- */

#define BLOCK	  256u /* dimensions */
#define TOLERANCE 1e-3 /* of products in single precision, which only choose whom to look at */

struct pairs {
	const double *values;
	const float *narrow; /* the same, in single precision */
	uint32_t dimensions;
	size_t rows, capacity;
	double least;
	struct sn_correlated_pair **items;
	size_t *count;
};

static int add_pair(struct pairs *pairs, uint32_t a, uint32_t b)
{
	const double *left = pairs->values + a * pairs->rows,
		     *right = pairs->values + b * pairs->rows;
	double sum = 0;
	for (size_t row = 0; row < pairs->rows; row++)
		sum += left[row] * right[row];
	if (!(fabs(sum) > pairs->least))
		return 0;
	return sn_vec_push(pairs->items, &pairs->capacity, pairs->count,
			   (struct sn_correlated_pair){a, b, sum});
}

/* Pairs of one block of dimensions with another, or with itself. */
static int look_at_block(struct pairs *pairs, uint32_t left, uint32_t right, float *products)
{
	uint32_t left_end = left + BLOCK < pairs->dimensions ? left + BLOCK : pairs->dimensions,
		 right_end = right + BLOCK < pairs->dimensions ? right + BLOCK : pairs->dimensions;
	int result = 0;
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(left_end - left),
		    (int)(right_end - right), (int)pairs->rows, 1,
		    pairs->narrow + left * pairs->rows, (int)pairs->rows,
		    pairs->narrow + right * pairs->rows, (int)pairs->rows, 0, products, BLOCK);
	for (uint32_t a = left; a < left_end; a++)
		for (uint32_t b = a < right ? right : a + 1; !result && b < right_end; b++)
			if (fabsf(products[(a - left) * BLOCK + b - right]) >
			    pairs->least - TOLERANCE)
				result = add_pair(pairs, a, b);
	return result;
}

SN_SORT_BY(sort_pairs, struct sn_correlated_pair, const void *,
	   SN_ORDER(a->a, b->a) ?: SN_ORDER(a->b, b->b));

int sn_correlated_pairs(const double *values, uint32_t dimensions, size_t rows, double least,
			struct sn_correlated_pair **items, size_t *count)
{
	size_t numbers = dimensions * rows;
	float *narrow = malloc(numbers * sizeof(*narrow) + 1);
	float *products = malloc(BLOCK * BLOCK * sizeof(*products));
	struct pairs pairs = {.values = values,
			      .narrow = narrow,
			      .dimensions = dimensions,
			      .rows = rows,
			      .least = least,
			      .items = items,
			      .count = count};
	int result = narrow && products ? 0 : SN_ERR_MEMORY;
	*items = NULL;
	*count = 0;
	for (size_t number = 0; !result && number < numbers; number++)
		narrow[number] = (float)values[number];
	for (uint32_t left = 0; !result && left < dimensions; left += BLOCK)
		for (uint32_t right = left; !result && right < dimensions; right += BLOCK)
			result = look_at_block(&pairs, left, right, products);
	sort_pairs(*items, *count, NULL);
	free(narrow);
	free(products);
	return result;
}
