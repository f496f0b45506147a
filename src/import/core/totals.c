/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by context and metric; see totals.h. */
#include "totals.h"

#include "base/vec.h"

#include <stdlib.h>

#define SLOTS_LEAST 64u

/* Open addressing, at most half full: a sum costs a multiplication and mostly one comparison. */
static size_t place_of(const struct sn_totals *totals, uint64_t key)
{
	size_t mask = totals->slot_count - 1;
	size_t place = (key * 0x9e3779b97f4a7c15u >> 32) & mask;
	while (totals->slots[place] && totals->sums[totals->slots[place] - 1].key != key)
		place = (place + 1) & mask;
	return place;
}

static int grow_slots(struct sn_totals *totals)
{
	size_t count = totals->slot_count ? 2 * totals->slot_count : SLOTS_LEAST;
	uint32_t *slots = calloc(count, sizeof(*slots));
	if (!slots)
		return SN_ERR_MEMORY;
	free(totals->slots);
	totals->slots = slots;
	totals->slot_count = count;
	for (size_t i = 0; i < totals->count; i++)
		slots[place_of(totals, totals->sums[i].key)] = (uint32_t)i + 1;
	return 0;
}

int sn_totals_add(struct sn_totals *totals, uint32_t context, uint32_t metric, double value)
{
	uint64_t key = (uint64_t)metric << 32 | context;
	if (totals->count >= totals->slot_count / 2 && grow_slots(totals))
		return SN_ERR_MEMORY;
	uint32_t *slot = totals->slots + place_of(totals, key);
	if (!*slot) {
		if (sn_vec_reserve(&totals->sums, &totals->capacity, totals->count + 1) < 0)
			return SN_ERR_MEMORY;
		totals->sums[totals->count] = (struct sn_total){.key = key};
		*slot = (uint32_t)++totals->count;
	}
	struct sonde_db_stat one = {1, value, value, value, value * value};
	sonde_db_stat_merge(&totals->sums[*slot - 1].stat, &one);
	return 0;
}

void sn_totals_flush(struct sn_totals *totals, struct sn_db_builder *builder, uint32_t profile)
{
	for (size_t i = 0; i < totals->count; i++)
		sn_db_builder_value(builder, profile, (uint32_t)totals->sums[i].key,
				    (uint32_t)(totals->sums[i].key >> 32), &totals->sums[i].stat);
	/* threads may be many and small: the room of a large one is not cleared for each */
	free(totals->slots);
	totals->slots = NULL;
	totals->slot_count = totals->count = 0;
}

void sn_totals_release(struct sn_totals *totals)
{
	free(totals->slots);
	free(totals->sums);
	*totals = (struct sn_totals){0};
}
