/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of rows by value; see levels.h. */
#include "levels.h"

#include "base/error.h"
#include "cholesky.h"
#include "columns/value_order.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

int sn_levels(const double *values, size_t rows, uint8_t *levels, uint32_t *count)
{
	uint32_t *order = sn_value_order(values, NULL, rows), distinct = 0;
	if (!order)
		return SN_ERR_MEMORY;
	for (size_t place = 0; place < rows; place++)
		distinct += !place || values[order[place]] != values[order[place - 1]];
	*count = 0;
	for (size_t place = 0; place < rows; place++) {
		bool is_next = place && values[order[place]] != values[order[place - 1]];
		/* equal values stay together, also where that makes groups uneven */
		if (is_next &&
		    (distinct <= SN_LEVELS_VALUES || place * SN_LEVELS_GROUPS / rows > *count))
			++*count;
		levels[order[place]] = (uint8_t)*count;
	}
	*count += rows > 0;
	free(order);
	return 0;
}

/* Sums by level of a dimension with mean 0 and variance 1. False: it is constant. */
static bool sum_levels(const struct sn_levels_question *of, const double *weights, double all,
		       const double *values, double *sums)
{
	double sum = 0, squares = 0;
	for (uint32_t level = 0; level < of->level_count; level++)
		sums[level] = 0;
	for (size_t row = 0; row < of->rows; row++) {
		double weight = of->times ? of->times[row] : 1;
		sums[of->levels[row]] += weight * values[row];
		squares += weight * values[row] * values[row];
	}
	for (uint32_t level = 0; level < of->level_count; level++)
		sum += sums[level];
	double mean = sum / all, variance = squares / all - mean * mean;
	for (uint32_t level = 0; level < of->level_count; level++)
		sums[level] =
		    variance > 0 ? (sums[level] - weights[level] * mean) / sqrt(variance) : 0;
	return variance > 0;
}

/* What the dimensions before the last leave of it; *used: how many of them say something. The matrix is overwritten. */
static double left_of(double *matrix, uint32_t count, double *used)
{
	double *last = matrix + (size_t)(count - 1) * count;
	*used = 0;
	for (uint32_t own = 0; own + 1 < count; own++) {
		const double *row = matrix + (size_t)own * count;
		if (!(row[own] > SN_CHOLESKY_NOTHING))
			continue;
		++*used;
		for (uint32_t later = own + 1; later < count; later++)
			for (uint32_t place = own + 1; place < count; place++)
				matrix[(size_t)later * count + place] -=
				    row[later] * row[place] / row[own];
	}
	return fmax(0, last[count - 1]);
}

static void copy_correlations(const struct sn_levels_question *of, double *matrix)
{
	for (uint32_t a = 0; a < of->count; a++)
		for (uint32_t b = 0; b < of->count; b++)
			matrix[a * of->count + b] =
			    of->correlations[(size_t)of->chosen[a] * of->dimensions +
					     of->chosen[b]];
}

double sn_levels_share(const struct sn_levels_question *of)
{
	double weights[SN_LEVELS_VALUES] = {0}, all = 0, groups = 0, lines, lines_within;
	for (size_t row = 0; row < of->rows; row++)
		weights[of->levels[row]] += of->times ? of->times[row] : 1;
	for (uint32_t level = 0; level < of->level_count; level++) {
		all += weights[level];
		groups += weights[level] > 0;
	}
	for (uint32_t place = 0; place < of->count; place++)
		if (!sum_levels(of, weights, all, of->values + of->chosen[place] * of->rows,
				of->sums + place * of->level_count) &&
		    place + 1 == of->count)
			return 0;
	copy_correlations(of, of->within);
	double left = left_of(of->within, of->count, &lines);
	copy_correlations(of, of->within);
	for (uint32_t a = 0; a < of->count; a++)
		for (uint32_t b = 0; b < of->count; b++)
			for (uint32_t level = 0; level < of->level_count; level++)
				if (weights[level] > 0)
					of->within[a * of->count + b] -=
					    of->sums[a * of->level_count + level] *
					    of->sums[b * of->level_count + level] / weights[level] /
					    all;
	double left_within = left_of(of->within, of->count, &lines_within);
	double said = all * of->part, degrees = said - groups - lines_within;
	return degrees > 0 ? fmax(0, left - left_within * (said - 1 - lines) / degrees) : 0;
}
