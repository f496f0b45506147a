/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by context and metric; see totals.h. */
#include "totals.h"

#include "base/vec.h"

#include <string.h>

struct place {
	uint32_t context, metric;
};

int sn_totals_add(struct sn_totals *totals, uint32_t context, uint32_t metric, double value)
{
	struct place place = {context, metric};
	uint32_t before = totals->places.count;
	uint32_t number = sn_intern_add(&totals->places, &place, sizeof(place));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&totals->stats, &totals->capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (number == before)
		totals->stats[number] = (struct sonde_db_stat){0};
	struct sonde_db_stat one = {1, value, value, value, value * value};
	sonde_db_stat_merge(totals->stats + number, &one);
	return 0;
}

void sn_totals_flush(struct sn_totals *totals, struct sn_db_builder *builder, uint32_t profile)
{
	for (uint32_t i = 0; i < totals->places.count; i++) {
		struct place place;
		memcpy(&place, sn_intern_at(&totals->places, i, NULL), sizeof(place));
		sn_db_builder_value(builder, profile, place.context, place.metric,
				    totals->stats + i);
	}
	sn_intern_release(&totals->places);
	sn_intern_init(&totals->places);
}

void sn_totals_release(struct sn_totals *totals)
{
	sn_intern_release(&totals->places);
	free(totals->stats);
	*totals = (struct sn_totals){0};
}
