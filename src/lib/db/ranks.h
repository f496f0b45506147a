/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The units whose imbalance is reported: the application's ranks, each with all its threads or
 * streams. Launchers, their proxies and other programs have no rank and are left out; a rank's
 * helper threads belong to it. With only one rank its profiles are compared; with none, all
 * profiles.
 */
#pragma once

#include "sonde/db.h"

struct sn_db_ranks {
	bool are_ranks;	      /* else each is one profile */
	bool are_all;	      /* none of the selected profiles is left out */
	uint32_t count;	      /* of units with a selected profile */
	uint32_t *of_profile; /* [profile]: its unit, SONDE_NONE: it is left out */
	uint32_t *order;      /* the compared profiles, by unit */
	uint32_t order_count;
};

/* profiles[profile]: whether it is selected; NULL: all. 0 or SN_ERR_MEMORY; release in either case.
 * */
int sn_db_ranks_init(struct sn_db_ranks *ranks, const struct sonde_db *db, const bool *profiles);
void sn_db_ranks_release(struct sn_db_ranks *ranks);

/* The statistic of the units' inclusive sums of a metric at a context, of those that have a value.
 * */
struct sonde_db_stat sn_db_ranks_at(const struct sn_db_ranks *ranks, const struct sonde_db *db,
				    uint32_t metric, uint32_t context);
/* The same at all contexts: across[context], zero before. 0 or SN_ERR_MEMORY. */
int sn_db_ranks_compare(const struct sn_db_ranks *ranks, const struct sonde_db *db, uint32_t metric,
			struct sonde_db_stat *across);
