/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the numbers of a statistic are such as a database may hold: all are finite. */
#ifndef SN_FORMAT_STATISTICS_H
#define SN_FORMAT_STATISTICS_H

#include "sonde/db.h"

bool sn_stat_is_finite(const struct sonde_db_stat *stat);
/* Sums, and squares first of all, may be beyond what a double holds: they become the largest one.
 * False where something is no number at all, which becomes that as well. */
bool sn_stat_bound(struct sonde_db_stat *stat);

#endif
