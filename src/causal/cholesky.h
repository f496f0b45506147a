/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Cholesky factor of some dimensions' correlations, row by row, as a packed triangle. In it the square of an element is the part of its row's
 * variance that its column explains beyond the columns before; where nothing is left of a dimension, it explains nothing.
 * The diagonal has reciprocals, or 0 where nothing is left.
 */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* What is left of a dimension's variance of 1 where others determine it. */
#define SN_CHOLESKY_NOTHING 1e-8

struct sn_cholesky {
	const double *correlations; /* dimensions x dimensions */
	uint32_t dimensions;
	const uint32_t *chosen; /* dimensions */
	double *factor;		/* room for a triangle of the chosen ones */
};

static inline size_t sn_cholesky_at(uint32_t row, uint32_t column)
{
	return (size_t)row * (row + 1) / 2 + column;
}

/* Computes a row, those before it being there. What is left of its dimension's variance, at least SN_CHOLESKY_NOTHING. */
static inline double sn_cholesky_add(const struct sn_cholesky *of, uint32_t row)
{
	double *own = of->factor + sn_cholesky_at(row, 0);
	const double *correlations = of->correlations + (size_t)of->chosen[row] * of->dimensions;
	double left = correlations[of->chosen[row]];
	for (uint32_t column = 0; column < row; column++) {
		const double *other = of->factor + sn_cholesky_at(column, 0);
		double sum = correlations[of->chosen[column]];
		for (uint32_t place = 0; place < column; place++)
			sum -= own[place] * other[place];
		own[column] = sum * other[column];
		left -= own[column] * own[column];
	}
	own[row] = left > SN_CHOLESKY_NOTHING ? 1 / sqrt(left) : 0;
	return left > SN_CHOLESKY_NOTHING ? left : SN_CHOLESKY_NOTHING;
}
