/* SPDX-License-Identifier: Apache-2.0 */
/* Correlations by one product of matrices; see correlations.h. */
#include "correlations.h"

#include "base/error.h"

#include "late_openblas.h"

#include <math.h>
#include <stdlib.h>

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
	double *sampled = times ? malloc(dimensions * rows * sizeof(*sampled) + 1) : NULL;
	if (times && !sampled)
		return SN_ERR_MEMORY;
	for (uint32_t dimension = 0; times && dimension < dimensions; dimension++)
		sample(values + dimension * rows, rows, times, sampled + dimension * rows);
	/* the callers are many threads */
	openblas_set_num_threads(1);
	cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)dimensions, (int)rows, 1,
		    times ? sampled : values, (int)rows, 0, correlations, (int)dimensions);
	for (uint32_t a = 0; a < dimensions; a++)
		for (uint32_t b = 0; b < a; b++)
			correlations[(size_t)b * dimensions + a] =
			    correlations[(size_t)a * dimensions + b];
	free(sampled);
	return 0;
}
