/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of values by context and metric, for one profile at a time. */
#include "totals.h"

#include "base/vec.h"
#include "format/database/statistics.h"

int sn_totals_add(struct sn_totals *totals, uint32_t context, uint32_t metric, double value)
{
	uint32_t before = totals->keys.count;
	if (sn_vec_reserve(&totals->sums, &totals->capacity, before + 1ull) < 0)
		return SN_ERR_MEMORY;
	uint32_t number = sn_table_add(&totals->keys, sn_table_pair(metric, context));
	if (number == SN_TABLE_NONE)
		return SN_ERR_MEMORY;
	if (number == before)
		totals->sums[number] = (struct sn_total){.context = context, .metric = metric};
	sn_stat_add(&totals->sums[number].stat, value);
	return 0;
}

void sn_totals_flush(struct sn_totals *totals, struct sn_db_builder *builder, uint32_t profile)
{
	for (uint32_t i = 0; i < totals->keys.count; i++)
		sn_db_builder_value(builder, profile, totals->sums[i].context,
				    totals->sums[i].metric, &totals->sums[i].stat);
	/* the array of a large thread is freed, because clearing it for many small threads would
	 * take long */
	sn_table_release(&totals->keys);
}

void sn_totals_release(struct sn_totals *totals)
{
	sn_table_release(&totals->keys);
	free(totals->sums);
	*totals = (struct sn_totals){0};
}
