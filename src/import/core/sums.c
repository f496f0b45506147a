/* SPDX-License-Identifier: Apache-2.0 */
/* See sums.h. */
#include "sums.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

void sn_sums_release(struct sn_sums *sums)
{
	free(sums->entries);
	free(sums->slots);
	*sums = (struct sn_sums){0};
}

void sn_sums_clear(struct sn_sums *sums)
{
	sums->count = 0;
	if (sums->slots)
		memset(sums->slots, 0, sums->slot_count * sizeof(*sums->slots));
}

static uint64_t hash(uint32_t major, uint32_t minor)
{
	uint64_t key = ((uint64_t)major << 32 | minor) * UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 32;
}

/* The slot of the pair, or the free one where it belongs. */
static uint32_t *slot_of(const struct sn_sums *sums, uint32_t major, uint32_t minor)
{
	size_t at = hash(major, minor) & (sums->slot_count - 1);
	for (;; at = (at + 1) & (sums->slot_count - 1)) {
		uint32_t *slot = sums->slots + at;
		if (*slot == 0 || (sums->entries[*slot - 1].major == major &&
				   sums->entries[*slot - 1].minor == minor))
			return slot;
	}
}

static int grow(struct sn_sums *sums)
{
	size_t wanted = sums->slot_count ? sums->slot_count * 2 : 64;
	uint32_t *slots = calloc(wanted, sizeof(*slots));
	if (!slots)
		return -1;
	free(sums->slots);
	sums->slots = slots;
	sums->slot_count = wanted;
	for (size_t i = 0; i < sums->count; i++)
		*slot_of(sums, sums->entries[i].major, sums->entries[i].minor) = (uint32_t)i + 1;
	return 0;
}

int sn_sums_add(struct sn_sums *sums, uint32_t major, uint32_t minor, double value)
{
	if ((sums->count + 1) * 2 > sums->slot_count && grow(sums) < 0)
		return -1;
	uint32_t *slot = slot_of(sums, major, minor);
	if (*slot) {
		sums->entries[*slot - 1].value += value;
		return 0;
	}
	if (sums->count >= UINT32_MAX - 1 ||
	    sn_vec_reserve(&sums->entries, &sums->capacity, sums->count + 1) < 0)
		return -1;
	sums->entries[sums->count++] = (struct sn_sum){major, minor, value};
	*slot = (uint32_t)sums->count;
	return 0;
}

const struct sn_sum *sn_sums_find(const struct sn_sums *sums, uint32_t major, uint32_t minor)
{
	if (sums->slot_count == 0)
		return NULL;
	uint32_t slot = *slot_of(sums, major, minor);
	return slot ? sums->entries + slot - 1 : NULL;
}
