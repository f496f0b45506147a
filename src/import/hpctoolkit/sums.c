/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of doubles by a pair of numbers. */
#include "sums.h"

#include "base/vec.h"

void sn_sums_release(struct sn_sums *sums)
{
	sn_table_release(&sums->keys);
	free(sums->entries);
	*sums = (struct sn_sums){0};
}

int sn_sums_add(struct sn_sums *sums, uint32_t major, uint32_t minor, double value)
{
	if (sn_vec_reserve(&sums->entries, &sums->capacity, sums->count + 1) < 0)
		return -1;
	uint32_t number = sn_table_add(&sums->keys, sn_table_pair(major, minor));
	if (number == SN_TABLE_NONE)
		return -1;
	if (number == sums->count)
		sums->entries[sums->count++] = (struct sn_sum){major, minor, 0};
	sums->entries[number].value += value;
	return 0;
}

const struct sn_sum *sn_sums_find(const struct sn_sums *sums, uint32_t major, uint32_t minor)
{
	uint32_t number = sn_table_find(&sums->keys, sn_table_pair(major, minor));
	return number == SN_TABLE_NONE ? NULL : sums->entries + number;
}
