/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interning: equal byte sequences get one small number, from 0 in the order of addition.
 *
 * Used for strings, and for any fixed-size key without padding. An insertion costs one hash and, on
 * average, less than two probes, which compare hashes before they compare bytes; a sequence takes
 * its bytes plus some 24. Sequences are never removed.
 */
#pragma once

#include "vec.h"

#include <stddef.h>
#include <stdint.h>

#define SN_INTERN_NONE UINT32_MAX

struct sn_intern_slot {
	uint32_t hash;
	uint32_t number; /* + 1; 0 is free */
};

/* All zeroes is an empty table. */
struct sn_intern {
	unsigned char *bytes;
	uint64_t *ends; /* ends[i] is one past the last byte of sequence i */
	struct sn_intern_slot *slots;
	size_t bytes_capacity;
	uint32_t count, capacity, slot_count;
};

/* A hash of these bytes, all of whose bits are well distributed. A NUL at the end is ignored: a
 * text has the same hash with and without it. */
uint64_t sn_intern_hash(const void *bytes, size_t length);

void sn_intern_release(struct sn_intern *intern);

/* The number of these bytes, added if missing; SN_INTERN_NONE without memory. */
uint32_t sn_intern_add(struct sn_intern *intern, const void *bytes, size_t length);
/* The same for these bytes followed by a NUL, which need not be in memory. */
uint32_t sn_intern_add_text(struct sn_intern *intern, const char *text, size_t length);
/* The number of these bytes, or SN_INTERN_NONE. */
uint32_t sn_intern_find(const struct sn_intern *intern, const void *bytes, size_t length);
/*
 * The number of a key whose item is at that index of a growing array (vec.h) of the caller's; a new
 * key's item is set to the last argument. SN_INTERN_NONE without memory.
 *
 *	number = sn_intern_item(&pids, &pid, sizeof(pid), &processes, &capacity, {.name = "?"});
 */
#define sn_intern_item(intern, key, length, items, capacity, ...)                                  \
	({                                                                                         \
		uint32_t sn_before = (intern)->count, sn_number = SN_INTERN_NONE;                  \
		if (sn_vec_reserve(items, capacity, sn_before + 1ull) == 0)                        \
			sn_number = sn_intern_add(intern, key, length);                            \
		if (sn_number == sn_before)                                                        \
			(*(items))[sn_number] = (__typeof__(**(items)))__VA_ARGS__;                \
		sn_number;                                                                         \
	})
/* The memory of the table. */
static inline uint64_t sn_intern_memory_bytes(const struct sn_intern *intern)
{
	return intern->bytes_capacity + intern->capacity * sizeof(*intern->ends) +
	       intern->slot_count * sizeof(*intern->slots);
}

/* The bytes of a number below count; valid until the next addition. `length` may be NULL. */
static inline const void *sn_intern_at(const struct sn_intern *intern, uint32_t number,
				       size_t *length)
{
	uint64_t start = number ? intern->ends[number - 1] : 0;
	if (length)
		*length = intern->ends[number] - start;
	return intern->bytes + start;
}
