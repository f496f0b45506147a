/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table from 64-bit keys, or two 32-bit ones, to 32-bit numbers. A key's data is in an array
 * of the caller's, at its number.
 *
 *	uint32_t number = sn_table_add(&table, sn_table_pair(parent, frame));
 *	if (number == table.count - 1) ... it may be new: fill in items[number]
 *
 * Open addressing with the keys in the slots: a search costs a multiplication and mostly one cache
 * miss, a key takes 18 to 36 bytes. For texts and longer keys use intern.h.
 *
 * MT: any number of threads may search while no thread changes the table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_TABLE_NONE UINT32_MAX

struct sn_table_slot {
	uint64_t key;
	uint32_t number; /* + 1; 0: free */
} __attribute__((packed, aligned(4)));

/* All zeroes is an empty table. */
struct sn_table {
	struct sn_table_slot *slots;
	uint32_t slot_count, count;
	uint32_t room;	/* keys that can be added before it grows */
	uint32_t shift; /* of a hash, to get the number of a slot */
};

static inline uint64_t sn_table_pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

void sn_table_release(struct sn_table *table);
/* Removes all keys and keeps the memory. */
void sn_table_clear(struct sn_table *table);
/* Removes the key; true if it was in the table. */
bool sn_table_remove(struct sn_table *table, uint64_t key);
/* Only for the functions below: doubles the slots; -1 without memory, then nothing has changed.
 */
int sn_table_grow(struct sn_table *table);

static inline uint32_t sn_table_home(const struct sn_table *table, uint64_t key)
{
	return (uint32_t)(key * UINT64_C(0x9fb21c651e98df25) >> table->shift);
}

/* The slot of the key, or the free one for it. There must be slots. */
static inline struct sn_table_slot *sn_table_probe(const struct sn_table *table, uint64_t key)
{
	uint32_t mask = table->slot_count - 1;
	for (uint32_t place = sn_table_home(table, key);; place = (place + 1) & mask) {
		struct sn_table_slot *slot = table->slots + place;
		if (!slot->number || slot->key == key)
			return slot;
	}
}

/* The key's number, or SN_TABLE_NONE. */
static inline uint32_t sn_table_find(const struct sn_table *table, uint64_t key)
{
	/* 0 - 1 is SN_TABLE_NONE */
	return table->slot_count ? sn_table_probe(table, key)->number - 1 : SN_TABLE_NONE;
}

/* The key's number; a new key's is the count of keys before it. SN_TABLE_NONE without memory. Not
 * for a table from which keys are removed: use sn_table_put there. */
static inline uint32_t sn_table_add(struct sn_table *table, uint64_t key)
{
	if (!table->room && sn_table_grow(table) < 0)
		return SN_TABLE_NONE;
	struct sn_table_slot *slot = sn_table_probe(table, key);
	if (!slot->number) {
		*slot = (struct sn_table_slot){key, ++table->count};
		table->room--;
	}
	return slot->number - 1;
}

/* Sets the number of a new or existing key (not SN_TABLE_NONE). -1 without memory. */
static inline int sn_table_put(struct sn_table *table, uint64_t key, uint32_t number)
{
	if (!table->room && sn_table_grow(table) < 0)
		return -1;
	struct sn_table_slot *slot = sn_table_probe(table, key);
	table->count += !slot->number;
	table->room -= !slot->number;
	*slot = (struct sn_table_slot){key, number + 1};
	return 0;
}
