/* SPDX-License-Identifier: Apache-2.0 */
/* Strings kept once; see string_pool.h. */
#include "string_pool.h"

#include "base/intern.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

void sn_string_pool_release(struct sn_string_pool *pool)
{
	sn_arena_release(&pool->arena);
	sn_table_release(&pool->numbers);
	free(pool->strings);
	*pool = (struct sn_string_pool){0};
}

void sn_string_pool_clear(struct sn_string_pool *pool)
{
	struct sn_arena arena = pool->arena;
	sn_arena_clear(&arena);
	pool->arena = (struct sn_arena){0};
	sn_string_pool_release(pool);
	pool->arena = arena;
}

void *sn_string_pool_allocate(struct sn_string_pool *pool, size_t bytes)
{
	return sn_arena_allocate(&pool->arena, bytes);
}

struct sn_pooled *sn_string_pool_intern(struct sn_string_pool *pool, const char *text,
					size_t length)
{
	uint32_t number;
	if (length > SN_POOL_STRING_MAX)
		length = SN_POOL_STRING_MAX;
	uint64_t key = sn_intern_hash(text, length);
	/* where another string has the hash, the next number is the key */
	for (; (number = sn_table_find(&pool->numbers, key)) != SN_TABLE_NONE; key++) {
		struct sn_pooled *known = pool->strings[number];
		if (known->length == length && !memcmp(known->text, text, length))
			return known;
	}
	struct sn_pooled *added = sn_string_pool_allocate(pool, sizeof(*added) + length + 1);
	if (!added || sn_vec_reserve(&pool->strings, &pool->capacity, pool->count + 1) < 0 ||
	    sn_table_put(&pool->numbers, key, (uint32_t)pool->count) < 0)
		return NULL;
	added->length = length;
	memcpy(added->text, text, length);
	pool->strings[pool->count++] = added;
	return added;
}

const char *sn_string_pool_string(struct sn_string_pool *pool, const char *text)
{
	struct sn_pooled *pooled = text ? sn_string_pool_intern(pool, text, strlen(text)) : NULL;
	return pooled ? pooled->text : NULL;
}
