/* SPDX-License-Identifier: Apache-2.0 */
/* Hands out pieces of shared chunks by an atomic addition; see keep.h. */
#include "keep.h"
#include "arena.h"
#include "hash.h"

#include <string.h>

#define CHUNK_BYTES  65536u
#define NAME_BUCKETS 4096u

struct chunk {
	_Atomic size_t used;
	size_t reserved;
	unsigned char bytes[CHUNK_BYTES - 2 * sizeof(size_t)];
};

static _Atomic(struct chunk *) newest;

void *sn_keep(size_t bytes)
{
	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > sizeof(((struct chunk *)0)->bytes))
		return NULL;
	for (;;) {
		/* acquire: a chunk's `used` was zero before it was published */
		struct chunk *chunk = atomic_load_explicit(&newest, memory_order_acquire);
		/* relaxed: only a place is claimed; what is put there is published by the caller */
		size_t at =
		    chunk ? atomic_fetch_add_explicit(&chunk->used, bytes, memory_order_relaxed)
			  : CHUNK_BYTES;
		if (chunk && at + bytes <= sizeof(chunk->bytes))
			return chunk->bytes + at;
		struct chunk *fresh = sn_pages_map(sizeof(*fresh));
		if (!fresh)
			return NULL;
		/* a thread that loses the race unmaps its own */
		if (!atomic_compare_exchange_strong_explicit(
			&newest, &chunk, fresh, memory_order_release, memory_order_relaxed))
			sn_pages_unmap(fresh, sizeof(*fresh));
	}
}

struct name {
	struct name *next;
	size_t length;
	char text[];
};

const char *sn_keep_name(const char *text, size_t length)
{
	static _Atomic(struct name *) names[NAME_BUCKETS];
	_Atomic(struct name *) *bucket = &names[sn_hash_text(text, length) % NAME_BUCKETS];
	/* acquire: names were complete when they were linked */
	struct name *first = atomic_load_explicit(bucket, memory_order_acquire);
	for (struct name *name = first; name; name = name->next)
		if (name->length == length && !memcmp(name->text, text, length))
			return name->text;
	struct name *name = sn_keep(sizeof(*name) + length + 1);
	if (!name)
		return NULL;
	name->length = length;
	memcpy(name->text, text, length);
	name->next = first;
	/* release: complete before it is linked */
	while (!atomic_compare_exchange_weak_explicit(bucket, &name->next, name,
						      memory_order_release, memory_order_relaxed))
		continue;
	return name->text;
}
