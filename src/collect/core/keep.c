/* SPDX-License-Identifier: Apache-2.0 */
/* Hands out pieces of shared chunks by an atomic addition; see keep.h. */
#include "keep.h"
#include "arena.h"

#define CHUNK_BYTES 65536u

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
