/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table of fixed size from one word to another, for hooks of all threads at once: from a
 * library's object to data about it. Not from `base`, because it must take no lock and no memory of
 * malloc(): a hook may be called anywhere in the program, also in that.
 *
 * A lookup searches all SN_WORD_WINDOW places from the word's hash on, so a removal needs no
 * marker. If the window is full, a word cannot be added. One thread at a time adds or removes a
 * given word; others may look it up meanwhile.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include "arena.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SN_WORD_WINDOW	16u
#define SN_WORD_CLAIMED 1u /* equals no key: objects are aligned */

struct sn_word_slot {
	_Atomic uintptr_t word; /* 0: free */
	_Atomic uintptr_t value;
};

struct sn_word_table {
	/* 1 << bits struct sn_word_slot, zeroes at first; NULL: mapped when the first word is added */
	_Atomic(void *) slots;
	unsigned bits;
};

/* Maps its places before they are needed. False without memory. */
static inline bool sn_word_prepare(struct sn_word_table *table)
{
	return sn_pages_once(&table->slots, sizeof(struct sn_word_slot) << table->bits);
}

/* Removes all. MT: the only thread. */
static inline void sn_word_clear(struct sn_word_table *table)
{
	void *slots = atomic_load_explicit(&table->slots, memory_order_relaxed);
	if (slots)
		memset(slots, 0, sizeof(struct sn_word_slot) << table->bits);
}

static inline struct sn_word_slot *sn_word_slot(const struct sn_word_table *table,
						struct sn_word_slot *slots, uintptr_t word,
						unsigned probe)
{
	uint32_t place = (uint32_t)((word >> 3) * 0x9E3779B97F4A7C15ull >> (64 - table->bits));
	return &slots[(place + probe) & ((1u << table->bits) - 1)];
}

/* The place of a word, or NULL. */
static inline struct sn_word_slot *sn_word_find(const struct sn_word_table *table, uintptr_t word)
{
	struct sn_word_slot *slots = atomic_load_explicit(&table->slots, memory_order_acquire);
	for (unsigned probe = 0; slots && probe < SN_WORD_WINDOW; probe++) {
		struct sn_word_slot *slot = sn_word_slot(table, slots, word, probe);
		/* acquire: its value, and what that points to */
		if (atomic_load_explicit(&slot->word, memory_order_acquire) == word)
			return slot;
	}
	return NULL;
}

/* The value of a word; 0 if it is missing. */
static inline uintptr_t sn_word_get(const struct sn_word_table *table, uintptr_t word)
{
	const struct sn_word_slot *slot = word ? sn_word_find(table, word) : NULL;
	return slot ? atomic_load_explicit(&slot->value, memory_order_acquire) : 0;
}

/* Adds a word that is not in the table. False if the window is full, or without memory. */
static inline bool sn_word_add(struct sn_word_table *table, uintptr_t word, uintptr_t value)
{
	struct sn_word_slot *slots = sn_pages_once(&table->slots, sizeof(*slots) << table->bits);
	for (unsigned probe = 0; slots && probe < SN_WORD_WINDOW; probe++) {
		struct sn_word_slot *slot = sn_word_slot(table, slots, word, probe);
		uintptr_t expected = 0;
		/* acquire: the last user of the place is done with it */
		if (atomic_load_explicit(&slot->word, memory_order_relaxed) ||
		    !atomic_compare_exchange_strong_explicit(&slot->word, &expected,
							     SN_WORD_CLAIMED, memory_order_acquire,
							     memory_order_relaxed))
			continue;
		atomic_store_explicit(&slot->value, value, memory_order_relaxed);
		atomic_store_explicit(&slot->word, word, memory_order_release);
		return true;
	}
	return false;
}

/* Adds a word, or sets its value if it is in the table. */
static inline bool sn_word_set(struct sn_word_table *table, uintptr_t word, uintptr_t value)
{
	struct sn_word_slot *slot = sn_word_find(table, word);
	if (!slot)
		return sn_word_add(table, word, value);
	atomic_store_explicit(&slot->value, value, memory_order_release);
	return true;
}

/* Removes a word and stores its value in *value. False if it is not in the table. */
static inline bool sn_word_remove(const struct sn_word_table *table, uintptr_t word,
				  uintptr_t *value)
{
	struct sn_word_slot *slot = sn_word_find(table, word);
	if (!slot)
		return false;
	*value = atomic_load_explicit(&slot->value, memory_order_relaxed);
	/* release: the value is read before the place is used again */
	atomic_store_explicit(&slot->word, 0, memory_order_release);
	return true;
}
