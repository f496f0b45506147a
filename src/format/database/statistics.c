/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of struct sonde_db_stat, shared by the writer and the readers; see sonde/db.h,
 * statistics.h. */
#include "statistics.h"

#include <float.h>
#include <math.h>

double sonde_db_stat_mean(const struct sonde_db_stat *stat)
{
	return stat->count > 0 ? stat->sum / stat->count : 0;
}

double sonde_db_stat_deviation(const struct sonde_db_stat *stat)
{
	if (!(stat->count > 0))
		return 0;
	double mean = stat->sum / stat->count;
	double variance = stat->sum_squares / stat->count - mean * mean;
	/* rounding can leave a tiny negative number where all values are alike */
	return variance > 0 ? sqrt(variance) : 0;
}

void sonde_db_stat_merge(struct sonde_db_stat *stat, const struct sonde_db_stat *other)
{
	if (!(other->count > 0))
		return;
	if (!(stat->count > 0)) {
		*stat = *other;
		return;
	}
	stat->count += other->count;
	stat->sum += other->sum;
	stat->min = other->min < stat->min ? other->min : stat->min;
	stat->max = other->max > stat->max ? other->max : stat->max;
	stat->sum_squares += other->sum_squares;
}

bool sn_stat_is_finite(const struct sonde_db_stat *stat)
{
	return isfinite(stat->count) && isfinite(stat->sum) && isfinite(stat->min) &&
	       isfinite(stat->max) && isfinite(stat->sum_squares);
}

bool sn_stat_bound(struct sonde_db_stat *stat)
{
	double *numbers[] = {&stat->count, &stat->sum, &stat->min, &stat->max, &stat->sum_squares};
	bool is_number = true;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		is_number &= !isnan(*numbers[i]);
		if (!isfinite(*numbers[i]))
			*numbers[i] = *numbers[i] < 0 ? -DBL_MAX : DBL_MAX;
	}
	return is_number;
}
