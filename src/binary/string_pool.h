/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is freed whole, and interned strings in it. Each string has a field for one string
 * derived from it (a symbol's readable name), so that it is derived only once.
 */
#pragma once

#include "base/arena.h"
#include "base/table.h"

#include <stddef.h>
#include <stdint.h>

/* Longer strings are truncated: only damaged files have them. */
#define SN_POOL_STRING_MAX (1u << 16)

struct sn_pooled {
	const char *derived; /* the user's; NULL at first */
	size_t length;
	char text[];
};

struct sn_string_pool {
	struct sn_arena arena;
	struct sn_table numbers; /* of strings, by hash */
	struct sn_pooled **strings;
	size_t count, capacity;
};

void sn_string_pool_release(struct sn_string_pool *pool);
/* The same, but keeps one block: for a pool that is filled and emptied often. */
void sn_string_pool_clear(struct sn_string_pool *pool);
/* `bytes` zeroed bytes, aligned to 8; NULL without memory. Valid until release. */
void *sn_string_pool_allocate(struct sn_string_pool *pool, size_t bytes);
/* The pool's copy, or NULL without memory. Valid until release. */
struct sn_pooled *sn_string_pool_intern(struct sn_string_pool *pool, const char *text,
					size_t length);
/* The same for a string that ends with NUL; NULL also for NULL. */
const char *sn_string_pool_string(struct sn_string_pool *pool, const char *text);

/* The result of sn_string_pool_intern, from its text. */
static inline struct sn_pooled *sn_pooled_of(const char *text)
{
	return (struct sn_pooled *)(text - offsetof(struct sn_pooled, text));
}
