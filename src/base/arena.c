/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that are filled from the front; see arena.h. */
#include "arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (64u << 10)

struct sn_arena_block {
	struct sn_arena_block *next;
	size_t used, size;
	_Alignas(8) char bytes[];
};

void sn_arena_release(struct sn_arena *arena)
{
	while (arena->blocks) {
		struct sn_arena_block *next = arena->blocks->next;
		free(arena->blocks);
		arena->blocks = next;
	}
	arena->failed = false;
}

void sn_arena_clear(struct sn_arena *arena)
{
	struct sn_arena_block *kept = arena->blocks;
	if (kept && kept->size == BLOCK_BYTES) {
		arena->blocks = kept->next;
		memset(kept->bytes, 0, kept->used);
		kept->next = NULL;
		kept->used = 0;
	} else {
		kept = NULL;
	}
	sn_arena_release(arena);
	arena->blocks = kept;
}

/* A block with room for so many bytes, zeroed. */
static struct sn_arena_block *add_block(struct sn_arena *arena, size_t bytes)
{
	struct sn_arena_block *block = arena->blocks;
	size_t size = bytes > BLOCK_BYTES / 4 ? bytes : BLOCK_BYTES;
	struct sn_arena_block *added =
	    size <= SIZE_MAX / 2 ? calloc(1, sizeof(*added) + size) : NULL;
	if (!added)
		return NULL;
	added->size = size;
	/* a large one goes behind the block still being filled */
	if (block && size != BLOCK_BYTES) {
		added->next = block->next;
		block->next = added;
	} else {
		added->next = block;
		arena->blocks = added;
	}
	return added;
}

void *sn_arena_allocate(struct sn_arena *arena, size_t bytes)
{
	struct sn_arena_block *block = arena->blocks;
	size_t rounded = bytes > SIZE_MAX / 2 ? SIZE_MAX / 2 + 1 : (bytes + 7) & ~(size_t)7;
	if (!block || block->size - block->used < rounded)
		block = add_block(arena, rounded);
	if (!block) {
		arena->failed = true;
		return NULL;
	}
	void *place = block->bytes + block->used;
	block->used += rounded;
	return place;
}

void *sn_arena_allocate_array(struct sn_arena *arena, size_t count, size_t item_bytes)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, item_bytes, &bytes))
		bytes = SIZE_MAX;
	return sn_arena_allocate(arena, bytes);
}

char *sn_arena_copy(struct sn_arena *arena, const char *bytes, size_t length)
{
	char *copy = sn_arena_allocate(arena, length + 1);
	if (copy && length)
		memcpy(copy, bytes, length);
	return copy;
}

char *sn_arena_text(struct sn_arena *arena, const char *text)
{
	return text ? sn_arena_copy(arena, text, strlen(text)) : NULL;
}

char *sn_arena_print(struct sn_arena *arena, const char *format, ...)
{
	va_list arguments, again;
	va_start(arguments, format);
	va_copy(again, arguments);
	int length = vsnprintf(NULL, 0, format, arguments);
	char *text = sn_arena_allocate(arena, length < 0 ? SIZE_MAX : (size_t)length + 1);
	if (text)
		vsnprintf(text, (size_t)length + 1, format, again);
	va_end(again);
	va_end(arguments);
	return text;
}
