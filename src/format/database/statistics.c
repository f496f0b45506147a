/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of struct sonde_db_stat, shared by the writer and the readers; see sonde/db.h. */
#include "sonde/db.h"

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
