/* SPDX-License-Identifier: Apache-2.0 */
/* Sums the values of profiles by the units that are compared: see lib/db/ranks.h. */
#pragma once

#include "lib/db/ranks.h"

struct sn_rank_sums {
	struct sn_db_ranks ranks;
	uint32_t metric_count;
	double *sums;	 /* [rank * metric_count + metric] */
	bool *has_value; /* likewise */
};

/* profiles: as for sn_db_ranks_init. 0 or SN_ERR_MEMORY; release in either case. */
int sn_rank_sums_init(struct sn_rank_sums *sums, const struct sonde_db *db, const bool *profiles,
		      uint32_t metric_count);
void sn_rank_sums_release(struct sn_rank_sums *sums);
/* A profile's inclusive value, if it has one. */
void sn_rank_sums_add(struct sn_rank_sums *sums, uint32_t profile, uint32_t metric,
		      const struct sonde_db_stat *value);
/* The statistic of the sums of those that have a value. */
struct sonde_db_stat sn_rank_sums_set(const struct sn_rank_sums *sums, uint32_t metric);
