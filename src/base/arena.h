/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is freed whole: pieces that belong to one loaded object and are never freed one by
 * one. A piece costs its bytes, rounded up to 8, and no search.
 *
 *	struct sn_arena arena = {0};
 *	struct node *nodes = sn_arena_array(&arena, struct node, count);
 *	const char *name = sn_arena_print(&arena, "%s.%u", base, number);
 *	if (arena.failed) ...
 *	sn_arena_release(&arena);
 *
 * Pieces are zeroed and valid until release or clear. Failure is sticky: callers check each piece,
 * or `failed` once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* All zeroes is an empty arena. */
struct sn_arena {
	struct sn_arena_block *blocks;
	bool failed; /* an allocation failed */
};

void sn_arena_release(struct sn_arena *arena);
/* The same, but keeps one block: for an arena that is filled and emptied often. */
void sn_arena_clear(struct sn_arena *arena);

/* Aligned to 8; NULL without memory. */
void *sn_arena_allocate(struct sn_arena *arena, size_t bytes);
void *sn_arena_allocate_array(struct sn_arena *arena, size_t count, size_t item_bytes);
#define sn_arena_array(arena, type, count)                                                         \
	((type *)sn_arena_allocate_array(arena, count, sizeof(type)))
/* A copy of these bytes, followed by a NUL. */
char *sn_arena_copy(struct sn_arena *arena, const char *bytes, size_t length);
/* A copy of the text; NULL also for NULL. */
char *sn_arena_text(struct sn_arena *arena, const char *text);
/* As asprintf. */
char *sn_arena_print(struct sn_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
