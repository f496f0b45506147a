/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of cells of one size that threads take and give back without a lock: for what a hook hands to another library,
 * which hands it back later, on any thread. A cell begins with a number of the pool's, while it is free.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include "arena.h"

#include <stdatomic.h>

struct sn_cells {
	uint32_t bytes, count; /* of a cell, at least 4; of cells */
	_Atomic(void *) at;    /* mapped when the first is taken */
	_Atomic uint32_t used; /* cells that were ever taken */
	/* The number + 1 of the first free cell, below a count of changes: a cell that was taken and given back meanwhile is not
	 * mistaken for itself. */
	_Atomic uint64_t free;
};

static inline char *sn_cells_there(struct sn_cells *cells)
{
	return sn_pages_once(&cells->at, (size_t)cells->bytes * cells->count);
}

/* NULL where all are taken, or without memory. */
static inline void *sn_cells_take(struct sn_cells *cells)
{
	char *there = sn_cells_there(cells);
	uint64_t head = atomic_load_explicit(&cells->free, memory_order_acquire);
	while (there && (uint32_t)head) {
		char *cell = there + (size_t)((uint32_t)head - 1) * cells->bytes;
		uint64_t next =
		    ((head >> 32) + 1) << 32 |
		    atomic_load_explicit((_Atomic uint32_t *)cell, memory_order_relaxed);
		if (atomic_compare_exchange_weak_explicit(
			&cells->free, &head, next, memory_order_acquire, memory_order_acquire))
			return cell;
	}
	if (!there || atomic_load_explicit(&cells->used, memory_order_relaxed) >= cells->count)
		return NULL;
	uint32_t number = atomic_fetch_add_explicit(&cells->used, 1, memory_order_relaxed);
	return number < cells->count ? there + (size_t)number * cells->bytes : NULL;
}

static inline void sn_cells_give(struct sn_cells *cells, void *cell)
{
	size_t from =
	    (size_t)((char *)cell - (char *)atomic_load_explicit(&cells->at, memory_order_relaxed));
	uint64_t head = atomic_load_explicit(&cells->free, memory_order_relaxed), next;
	do {
		atomic_store_explicit((_Atomic uint32_t *)cell, (uint32_t)head,
				      memory_order_relaxed);
		next = ((head >> 32) + 1) << 32 | (from / cells->bytes + 1);
	} while (!atomic_compare_exchange_weak_explicit(
	    &cells->free, &head, next, memory_order_release, memory_order_relaxed));
}
