/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for the collector: segmented arrays and bump allocation straight from mmap.
 *
 * Nothing here calls malloc or takes a lock. One thread grows an object; any thread may read
 * published elements. Elements never move and are only freed when the owner releases the whole
 * object.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed pages from the kernel; NULL if there are none or the limit is reached. */
void *sn_pages_map(size_t bytes);
void sn_pages_unmap(void *pages, size_t bytes);
/* The value of `pointer`, after mapping its target if it was NULL; NULL without memory. MT: its
 * owner. */
#define SN_PAGES_ONCE(pointer)                                                                     \
	((pointer) ? (pointer) : ((pointer) = sn_pages_map(sizeof(*(pointer)))))
/* The same for threads of which several may be the first: the pages at `place`, mapped when they are first asked for; NULL without
 * memory. For tables that few programs need: a large static one counts in every program, as soon as it locks its memory. MT: yes. */
void *sn_pages_once(_Atomic(void *) *place, size_t bytes);
/* True if the present limits of the process (RLIMIT_AS, RLIMIT_DATA) allow `bytes` more: the
 * collector's mappings together take at most one part in SN_PAGES_SHARE of what the program leaves
 * of either limit. Counts the bytes as the collector's until sn_pages_unclaim. sn_pages_map does
 * this check itself; this function is for memory that is mapped in another way and not counted by
 * sn_pages_bytes. Two system calls without a limit, five with one. */
bool sn_pages_claim(size_t bytes);
void sn_pages_unclaim(size_t bytes);
#define SN_PAGES_SHARE 8u
/* If such a limit is set, keeps `bytes` mapped as a reserve for the time when the limit is reached.
 * Opening the reserve unmaps it; until it is closed, sn_pages_map checks no limits for the thread
 * that opened it. One thread opens it at a time. */
bool sn_pages_keep_reserve(size_t bytes);
void sn_pages_open_reserve(void);
void sn_pages_close_reserve(void);
/* Bytes mapped by sn_pages_map and not unmapped, and their maximum so far. */
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
/* Reserves one more element at the end; returns its index, or UINT32_MAX without memory. The
 * element is zeroed. The owner fills it, then publishes it with sn_array_commit. MT: owner. */
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

/* Bump allocation, for text and other objects of varying size, in chunks that never move. */
struct sn_bump {
	unsigned char *chunk; /* the newest; its first word points to the previous one */
	size_t used, size;
};

/* MT: owner. */
void sn_bump_release(struct sn_bump *bump);
/* `bytes` bytes aligned to 8, or NULL. MT: owner. */
void *sn_bump_alloc(struct sn_bump *bump, size_t bytes);
