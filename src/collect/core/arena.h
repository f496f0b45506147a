/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for the collector: segmented arrays and bump allocation straight from mmap.
 *
 * Nothing here calls malloc or takes a lock. One thread grows an object; any thread may read what
 * was published. Nothing is ever moved or given back before the owner releases the whole.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#ifndef SN_COLLECT_ARENA_H
#define SN_COLLECT_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pages from the kernel, zeroed; NULL when there are none or the process's limit is reached. */
void *sn_pages_map(size_t bytes);
void sn_pages_unmap(void *pages, size_t bytes);
/* What a pointer points to, mapped if it is NULL; NULL without memory. MT: its owner. */
#define SN_PAGES_ONCE(pointer)                                                                     \
	((pointer) ? (pointer) : ((pointer) = sn_pages_map(sizeof(*(pointer)))))
/* Whether the limits that the process has now (RLIMIT_AS, RLIMIT_DATA) allow us to take so much
 * more: all of ours together is at most one part in SN_PAGES_SHARE of what the program leaves of
 * either. Counts it as ours until sn_pages_unclaim. sn_pages_map asks the same by itself: this is
 * for what is mapped in another way, and not counted as memory of the collector. Two system calls
 * where there is no limit, five where there is one. */
bool sn_pages_claim(size_t bytes);
void sn_pages_unclaim(size_t bytes);
#define SN_PAGES_SHARE 8u
/* Where such limits are set, keeps `bytes` mapped for the moment when nothing is left: they are
 * given back to the process while the reserve is open, and for the thread that has opened it
 * sn_pages_map asks nobody but the kernel. One thread opens it at a time. */
bool sn_pages_keep_reserve(size_t bytes);
void sn_pages_open_reserve(void);
void sn_pages_close_reserve(void);
/* Bytes mapped by sn_pages_map and not unmapped, and the most there ever were. */
size_t sn_pages_bytes(void);
size_t sn_pages_peak_bytes(void);
/* Total after which sn_pages_map fails; 0 is no limit. */
void sn_pages_set_limit(size_t bytes);

#define SN_SEGMENT_COUNT 26

/*
 * A growing array whose elements never move: segment k holds first << k elements. Index to address
 * is two shifts and a load.
 */
struct sn_array {
	uint32_t element_bytes;
	uint32_t first_shift; /* log2 of the elements in segment 0 */
	_Atomic uint32_t count;
	_Atomic(unsigned char *) segments[SN_SEGMENT_COUNT];
};

/* MT: owner. */
void sn_array_init(struct sn_array *array, uint32_t element_bytes, uint32_t first_shift);
/* MT: owner. */
void sn_array_release(struct sn_array *array);
/* Room for one more element at the end; its index, or UINT32_MAX without memory. The element is
 * zeroed. The owner fills it, then publishes it with sn_array_commit. MT: owner. */
uint32_t sn_array_reserve(struct sn_array *array);
void sn_array_commit(struct sn_array *array);
/* The element's address, valid until release; index < count. */
static inline void *sn_array_at(const struct sn_array *array, uint32_t index)
{
	uint32_t biased = (index >> array->first_shift) + 1;
	uint32_t segment = 31u - (uint32_t)__builtin_clz(biased);
	uint32_t start = ((1u << segment) - 1) << array->first_shift;
	unsigned char *base = atomic_load_explicit(&array->segments[segment], memory_order_relaxed);
	return base + (size_t)(index - start) * array->element_bytes;
}
static inline uint32_t sn_array_count(const struct sn_array *array)
{
	/* acquire pairs with the release in sn_array_commit: elements below count are complete */
	return atomic_load_explicit(&array->count, memory_order_acquire);
}

/* Text and other odd-sized things: bump allocation in chunks that are never moved. */
struct sn_bump {
	unsigned char *chunk; /* the newest; its first word links to the one before */
	size_t used, size;
};

/* MT: owner. */
void sn_bump_release(struct sn_bump *bump);
/* `bytes` bytes aligned to 8, or NULL. MT: owner. */
void *sn_bump_alloc(struct sn_bump *bump, size_t bytes);

#endif
