/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the numbers of a statistic are such as a database may hold: all are finite. */
#pragma once

#include "sonde/db.h"

bool sn_stat_is_finite(const struct sonde_db_stat *stat);
/* Sums, above all of squares, that exceed the range of a double become the largest double. False if
 * a field is NaN, which is replaced likewise. */
bool sn_stat_bound(struct sonde_db_stat *stat);
