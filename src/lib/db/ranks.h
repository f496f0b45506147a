/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is compared where imbalance is told: the application's ranks, each with all its threads or
 * streams. Launchers, their proxies and other programs have no rank and are left out; a rank's
 * helper threads belong to it. Of one rank alone its profiles are compared, and all profiles where
 * nobody has a rank.
 */
#ifndef SN_LIB_RANKS_H
#define SN_LIB_RANKS_H

#include "sonde/db.h"

struct sn_db_ranks {
	bool are_ranks;	      /* else each is one profile */
	bool are_all;	      /* of the profiles that count, none is left out */
	uint32_t count;	      /* of them that have a profile that counts */
	uint32_t *of_profile; /* [profile]: which it belongs to, SONDE_NONE: it is left out */
	uint32_t *order;      /* the profiles that are compared, each one's together */
	uint32_t order_count;
};

/* profiles[profile]: whether it counts; NULL: all. 0 or SN_ERR_MEMORY; release in either case. */
int sn_db_ranks_init(struct sn_db_ranks *ranks, const struct sonde_db *db, const bool *profiles);
void sn_db_ranks_release(struct sn_db_ranks *ranks);

/* How they differ at a context: the set of their inclusive sums of a metric, of those that have
 * any. */
struct sonde_db_stat sn_db_ranks_at(const struct sn_db_ranks *ranks, const struct sonde_db *db,
				    uint32_t metric, uint32_t context);
/* The same at all contexts: across[context], zero before. 0 or SN_ERR_MEMORY. */
int sn_db_ranks_compare(const struct sn_db_ranks *ranks, const struct sonde_db *db, uint32_t metric,
			struct sonde_db_stat *across);

#endif
