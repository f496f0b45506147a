/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items by key: an array that grows with a table of keys, in which the item of the n-th key is the
 * n-th. For sums over what comes in any order:
 *
 *	struct key key = {process, frame};
 *	struct sum *sum = sn_keyed(&keys, &key, &sums, &capacity);
 *	if (!sum)
 *		return SN_ERR_MEMORY;
 *	sum->count++;
 *
 * There are keys.count items.
 */
#ifndef SN_BASE_KEYED_H
#define SN_BASE_KEYED_H

#include "intern.h"
#include "vec.h"

#include <string.h>

static inline void *sn_keyed_bytes(struct sn_intern *keys, const void *key, size_t key_bytes,
				   void **items, size_t *capacity, size_t item_bytes)
{
	uint32_t known = keys->count, number = sn_intern_add(keys, key, key_bytes);
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve_bytes(items, capacity, number + 1ull, item_bytes) < 0)
		return NULL;
	void *item = (char *)*items + number * item_bytes;
	return number < known ? item : memset(item, 0, item_bytes);
}

/* The item of *key, zeroed where the key is new; valid until the next one is asked for. NULL
 * without memory: then no more may be asked for. */
#define sn_keyed(keys, key, items, capacity)                                                       \
	((__typeof__(*(items)))sn_keyed_bytes(keys, key, sizeof(*(key)), (void **)(items),         \
					      capacity, sizeof(**(items))))

#endif
