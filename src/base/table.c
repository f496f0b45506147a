/* SPDX-License-Identifier: Apache-2.0 */
/* Growing and removing; see table.h. */
#include "table.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_BITS = 6, MOST_BITS = 31 };

void sn_table_release(struct sn_table *table)
{
	free(table->slots);
	*table = (struct sn_table){0};
}

void sn_table_clear(struct sn_table *table)
{
	if (table->slots)
		memset(table->slots, 0, table->slot_count * sizeof(*table->slots));
	table->room += table->count;
	table->count = 0;
}

int sn_table_grow(struct sn_table *table)
{
	unsigned bits = table->slots ? 64 - table->shift + 1 : LEAST_BITS;
	struct sn_table larger = {.count = table->count, .shift = 64 - bits};
	if (bits > MOST_BITS)
		return -1;
	larger.slot_count = 1u << bits;
	/* at most two thirds full */
	larger.room = larger.slot_count / 3 * 2 - table->count;
	larger.slots = calloc(larger.slot_count, sizeof(*larger.slots));
	if (!larger.slots)
		return -1;
	for (uint32_t i = 0; i < table->slot_count; i++)
		if (table->slots[i].number)
			*sn_table_probe(&larger, table->slots[i].key) = table->slots[i];
	free(table->slots);
	*table = larger;
	return 0;
}

bool sn_table_remove(struct sn_table *table, uint64_t key)
{
	struct sn_table_slot *found = table->slot_count ? sn_table_probe(table, key) : NULL;
	if (!found || !found->number)
		return false;
	uint32_t mask = table->slot_count - 1, hole = (uint32_t)(found - table->slots), next = hole;
	/* what follows moves up, unless its home lies behind the hole (Knuth, The Art of Computer
	 * Programming 3, 6.4, algorithm R) */
	while (table->slots[next = (next + 1) & mask].number) {
		uint32_t home = sn_table_home(table, table->slots[next].key);
		if (((next - home) & mask) < ((next - hole) & mask))
			continue;
		table->slots[hole] = table->slots[next];
		hole = next;
	}
	table->slots[hole].number = 0;
	table->count--;
	table->room++;
	return true;
}
