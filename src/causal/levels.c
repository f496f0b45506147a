/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of rows by value; see levels.h. */
#include "levels.h"

#include "base/error.h"
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

double sn_levels_share(const uint8_t *levels, uint32_t count, const double *values, size_t rows,
		       const uint32_t *times)
{
	double sums[SN_LEVELS_VALUES] = {0}, weights[SN_LEVELS_VALUES] = {0};
	double all = 0, sum = 0, squares = 0, between = 0, groups = 0;
	for (size_t row = 0; row < rows; row++) {
		double weight = times ? times[row] : 1;
		sums[levels[row]] += weight * values[row];
		weights[levels[row]] += weight;
		squares += weight * values[row] * values[row];
		sum += weight * values[row];
		all += weight;
	}
	for (uint32_t level = 0; level < count; level++) {
		between += weights[level] > 0 ? sums[level] * sums[level] / weights[level] : 0;
		groups += weights[level] > 0;
	}
	squares -= sum * sum / all;
	between -= sum * sum / all;
	if (!(squares > 0) || all <= groups)
		return 0;
	return fmax(0, (between - (groups - 1) * (squares - between) / (all - groups)) / squares);
}
