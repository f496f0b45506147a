/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of struct sonde_db_stat beyond sonde/db.h. */
#pragma once

#include "sonde/db.h"

/* The statistic of one value. */
static inline struct sonde_db_stat sn_stat_of(double value)
{
	return (struct sonde_db_stat){1, value, value, value, value * value};
}

/* Adds a value. */
static inline void sn_stat_add(struct sonde_db_stat *stat, double value)
{
	struct sonde_db_stat one = sn_stat_of(value);
	sonde_db_stat_merge(stat, &one);
}

/* Whether all numbers of the statistic are finite, as a database requires. */
bool sn_stat_is_finite(const struct sonde_db_stat *stat);
/* Sums, above all of squares, that exceed the range of a double become the largest double. False if
 * a field is NaN, which is replaced likewise. */
bool sn_stat_bound(struct sonde_db_stat *stat);
