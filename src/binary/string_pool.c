/* SPDX-License-Identifier: Apache-2.0 */
/* Strings kept once; see string_pool.h. */
#include "string_pool.h"

#include <stdlib.h>
#include <string.h>

void sn_string_pool_release(struct sn_string_pool *pool)
{
	sn_arena_release(&pool->arena);
	free(pool->slots);
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

static uint32_t hash_of(const char *text, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (; length >= 8; text += 8, length -= 8) {
		uint64_t word;
		memcpy(&word, text, 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	return (uint32_t)(hash ^ hash >> 32);
}

static int grow(struct sn_string_pool *pool)
{
	uint32_t slot_count = pool->slot_count ? pool->slot_count * 2 : 256;
	struct sn_pooled **slots = calloc(slot_count, sizeof(struct sn_pooled *));
	if (!slots)
		return -1;
	for (uint32_t i = 0; i < pool->slot_count; i++) {
		if (!pool->slots[i])
			continue;
		uint32_t at = pool->slots[i]->hash & (slot_count - 1);
		while (slots[at])
			at = (at + 1) & (slot_count - 1);
		slots[at] = pool->slots[i];
	}
	free(pool->slots);
	pool->slots = slots;
	pool->slot_count = slot_count;
	return 0;
}

struct sn_pooled *sn_string_pool_intern(struct sn_string_pool *pool, const char *text,
					size_t length)
{
	if (length > SN_POOL_STRING_MAX)
		length = SN_POOL_STRING_MAX;
	if (pool->count >= pool->slot_count / 2 && grow(pool) < 0)
		return NULL;
	uint32_t hash = hash_of(text, length);
	uint32_t at = hash & (pool->slot_count - 1);
	for (; pool->slots[at]; at = (at + 1) & (pool->slot_count - 1))
		if (pool->slots[at]->hash == hash && pool->slots[at]->length == length &&
		    memcmp(pool->slots[at]->text, text, length) == 0)
			return pool->slots[at];
	struct sn_pooled *added = sn_string_pool_allocate(pool, sizeof(*added) + length + 1);
	if (!added)
		return NULL;
	added->hash = hash;
	added->length = (uint32_t)length;
	memcpy(added->text, text, length);
	pool->slots[at] = added;
	pool->count++;
	return added;
}

const char *sn_string_pool_string(struct sn_string_pool *pool, const char *text)
{
	struct sn_pooled *pooled = text ? sn_string_pool_intern(pool, text, strlen(text)) : NULL;
	return pooled ? pooled->text : NULL;
}
