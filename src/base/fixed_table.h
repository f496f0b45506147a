/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash tables of a fixed size, for distinct values within small groups: the values of a column, the
 * contexts of a pixel. SN_FIXED_TABLE defines a struct and its functions:
 *
 *	SN_FIXED_TABLE(contexts, uint32_t, uint8_t, 6);
 *
 *	struct contexts table;
 *	contexts_clear(&table);
 *	uint32_t number = contexts_add(&table, context);
 *
 * holds 2^6 contexts at most. Keys are integers, numbered in the order in which they were added.
 *
 * Allocates nothing. Clearing writes only the slots, twice as many as the most keys.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SN_FIXED_TABLE_NONE UINT32_MAX

/* `number_type` holds 0 to 2^bits. */
#define SN_FIXED_TABLE(name, key_type, number_type, bits)                                            \
	struct name {                                                                                \
		uint32_t count;                                                                      \
		key_type keys[1u << (bits)];                                                         \
		number_type slots[2u << (bits)]; /* numbers + 1; 0: free */                          \
	};                                                                                           \
	/* Initialises an empty table. */                                                            \
	static inline void name##_clear(struct name *table)                                          \
	{                                                                                            \
		table->count = 0;                                                                    \
		memset(table->slots, 0, sizeof(table->slots));                                       \
	}                                                                                            \
	/* The key's number; a new key's is the count of keys before it. SN_FIXED_TABLE_NONE: it   \
	 * is new, and the table is full. */ \
	static inline uint32_t name##_add(struct name *table, key_type key)                          \
	{                                                                                            \
		const size_t mask = (2u << (bits)) - 1;                                              \
		size_t slot =                                                                        \
		    (size_t)((uint64_t)key * UINT64_C(0x9e3779b97f4a7c15) >> (63 - (bits)));         \
		for (uint32_t number; (number = table->slots[slot]); slot = (slot + 1) & mask)       \
			if (__builtin_expect(table->keys[number - 1] == key, 1))                     \
				return number - 1;                                                   \
		if (table->count == 1u << (bits))                                                    \
			return SN_FIXED_TABLE_NONE;                                                  \
		table->keys[table->count] = key;                                                     \
		table->slots[slot] = (number_type)++table->count;                                    \
		return table->count - 1;                                                             \
	}                                                                                            \
	_Static_assert((number_type)-1 > 0 && (uint64_t)(number_type)-1 >= 1ull << (bits),           \
		       "a number fits")
