/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing arrays: a typed pointer, its capacity and a count, all kept by the caller.
 *
 * Deliberately no container type: the array is an ordinary C array.
 */
#pragma once

#include "error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Grows *items (an array from malloc, or NULL) to at least `needed` elements; -1 without memory,
 * then nothing has changed. It grows by half, so that appending takes constant time on average. */
static inline int sn_vec_reserve_bytes(void **items, size_t *capacity, size_t needed,
				       size_t item_bytes)
{
	if (needed <= *capacity && *items)
		return 0;
	size_t grown = *capacity + *capacity / 2;
	size_t wanted = needed > grown ? needed : grown;
	if (wanted < 16)
		wanted = 16;
	if (wanted > SIZE_MAX / 2 / item_bytes)
		return -1;
	void *moved = realloc(*items, wanted * item_bytes);
	if (!moved)
		return -1;
	*items = moved;
	*capacity = wanted;
	return 0;
}
#define sn_vec_reserve(items, capacity, needed)                                                    \
	sn_vec_reserve_bytes((void **)(items), capacity, needed, sizeof(**(items)))

/* The same for an array indexed by other objects' numbers: new elements are zeroed. */
static inline int sn_vec_reserve_zeroed_bytes(void **items, size_t *capacity, size_t needed,
					      size_t item_bytes)
{
	size_t before = *items ? *capacity : 0;
	if (sn_vec_reserve_bytes(items, capacity, needed, item_bytes) < 0)
		return -1;
	if (*capacity > before)
		memset((char *)*items + before * item_bytes, 0, (*capacity - before) * item_bytes);
	return 0;
}
#define sn_vec_reserve_zeroed(items, capacity, needed)                                             \
	sn_vec_reserve_zeroed_bytes((void **)(items), capacity, needed, sizeof(**(items)))

/* Appends an item and counts it: sn_vec_push(&items, &capacity, &count, (struct item){a, b}). 0 or
 * SN_ERR_MEMORY. */
#define sn_vec_push(items, capacity, count, ...)                                                   \
	(sn_vec_reserve(items, capacity, (size_t) * (count) + 1) < 0                               \
	     ? SN_ERR_MEMORY                                                                       \
	     : ((*(items))[*(count)] = (__VA_ARGS__), ++*(count), 0))
