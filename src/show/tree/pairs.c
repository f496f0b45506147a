/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing, at most half full; see pairs.h. */
#include "pairs.h"

#include <stdlib.h>

void sn_pairs_init(struct sn_pairs *pairs)
{
	*pairs = (struct sn_pairs){0};
}

void sn_pairs_release(struct sn_pairs *pairs)
{
	free(pairs->keys);
	free(pairs->ids);
	*pairs = (struct sn_pairs){0};
}

static uint32_t find_slot(const struct sn_pairs *pairs, uint64_t key)
{
	uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t slot = (uint32_t)(hash >> 32) & (pairs->capacity - 1);
	while (pairs->ids[slot] != 0 && pairs->keys[slot] != key)
		slot = (slot + 1) & (pairs->capacity - 1);
	return slot;
}

static int grow(struct sn_pairs *pairs)
{
	struct sn_pairs larger = {.capacity = pairs->capacity ? pairs->capacity * 2 : 1024,
				  .count = pairs->count};
	larger.keys = malloc(larger.capacity * sizeof(*larger.keys));
	larger.ids = calloc(larger.capacity, sizeof(*larger.ids));
	if (!larger.keys || !larger.ids) {
		sn_pairs_release(&larger);
		return -1;
	}
	for (uint32_t i = 0; i < pairs->capacity; i++) {
		if (pairs->ids[i] == 0)
			continue;
		uint32_t slot = find_slot(&larger, pairs->keys[i]);
		larger.keys[slot] = pairs->keys[i];
		larger.ids[slot] = pairs->ids[i];
	}
	free(pairs->keys);
	free(pairs->ids);
	*pairs = larger;
	return 0;
}

uint32_t sn_pairs_intern(struct sn_pairs *pairs, uint32_t a, uint32_t b)
{
	if (pairs->count >= pairs->capacity / 2 && grow(pairs) != 0)
		return 0;
	uint64_t key = (uint64_t)a << 32 | b;
	uint32_t slot = find_slot(pairs, key);
	if (pairs->ids[slot] == 0) {
		pairs->keys[slot] = key;
		pairs->ids[slot] = ++pairs->count;
	}
	return pairs->ids[slot];
}
