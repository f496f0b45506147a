/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by rank; see rank_sums.h. */
#include "rank_sums.h"

#include "base/error.h"
#include "format/database/statistics.h"
#include "tree.h"

#include <stdlib.h>

int sn_rank_sums_init(struct sn_rank_sums *sums, const struct sonde_db *db, const bool *profiles,
		      uint32_t metric_count)
{
	*sums = (struct sn_rank_sums){.metric_count = metric_count};
	if (sn_db_ranks_init(&sums->ranks, db, profiles))
		return SN_ERR_MEMORY;
	size_t cells = (size_t)sums->ranks.count * metric_count + 1;
	sums->sums = calloc(cells, sizeof(*sums->sums));
	sums->has_value = calloc(cells, sizeof(*sums->has_value));
	return sums->sums && sums->has_value ? 0 : SN_ERR_MEMORY;
}

void sn_rank_sums_release(struct sn_rank_sums *sums)
{
	sn_db_ranks_release(&sums->ranks);
	free(sums->sums);
	free(sums->has_value);
	*sums = (struct sn_rank_sums){0};
}

void sn_rank_sums_add(struct sn_rank_sums *sums, uint32_t profile, uint32_t metric,
		      const struct sonde_db_stat *value)
{
	uint32_t rank = sums->ranks.of_profile[profile];
	if (rank == SONDE_NONE || value->count <= 0)
		return;
	sums->sums[(size_t)rank * sums->metric_count + metric] += value->sum;
	sums->has_value[(size_t)rank * sums->metric_count + metric] = true;
}

struct sonde_db_stat sn_rank_sums_set(const struct sn_rank_sums *sums, uint32_t metric)
{
	struct sonde_db_stat set = {0};
	for (uint32_t i = 0; i < sums->ranks.count; i++) {
		size_t at = (size_t)i * sums->metric_count + metric;
		if (sums->has_value[at])
			sn_stat_add(&set, sums->sums[at]);
	}
	return set;
}
