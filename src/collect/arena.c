/* SPDX-License-Identifier: Apache-2.0 */
/* Memory straight from mmap; see arena.h. Counts what it maps, so that a limit can be kept. */
#include "arena.h"

#include <string.h>
#include <sys/mman.h>

static _Atomic size_t mapped_bytes, peak_bytes, limit_bytes;

static void raise_peak(size_t now)
{
	size_t peak = atomic_load_explicit(&peak_bytes, memory_order_relaxed);
	while (now > peak &&
	       !atomic_compare_exchange_weak_explicit(&peak_bytes, &peak, now, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

void *sn_pages_map(size_t bytes)
{
	/* relaxed: the counters order nothing, they only bound a total */
	size_t before = atomic_fetch_add_explicit(&mapped_bytes, bytes, memory_order_relaxed);
	size_t limit = atomic_load_explicit(&limit_bytes, memory_order_relaxed);
	void *pages = MAP_FAILED;
	if (!limit || before + bytes <= limit)
		pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pages == MAP_FAILED) {
		atomic_fetch_sub_explicit(&mapped_bytes, bytes, memory_order_relaxed);
		return NULL;
	}
	raise_peak(before + bytes);
	return pages;
}

void sn_pages_unmap(void *pages, size_t bytes)
{
	if (!pages)
		return;
	munmap(pages, bytes);
	atomic_fetch_sub_explicit(&mapped_bytes, bytes, memory_order_relaxed);
}

size_t sn_pages_bytes(void)
{
	return atomic_load_explicit(&mapped_bytes, memory_order_relaxed);
}

size_t sn_pages_peak_bytes(void)
{
	return atomic_load_explicit(&peak_bytes, memory_order_relaxed);
}

void sn_pages_set_limit(size_t bytes)
{
	atomic_store_explicit(&limit_bytes, bytes, memory_order_relaxed);
}

void sn_array_init(struct sn_array *array, uint32_t element_bytes, uint32_t first_shift)
{
	memset(array, 0, sizeof(*array));
	array->element_bytes = element_bytes;
	array->first_shift = first_shift;
}

static size_t segment_bytes(const struct sn_array *array, uint32_t segment)
{
	return ((size_t)array->element_bytes << array->first_shift) << segment;
}

void sn_array_release(struct sn_array *array)
{
	for (uint32_t segment = 0; segment < SN_SEGMENT_COUNT; segment++)
		sn_pages_unmap(array->segments[segment], segment_bytes(array, segment));
	sn_array_init(array, array->element_bytes, array->first_shift);
}

uint32_t sn_array_reserve(struct sn_array *array)
{
	uint32_t index = atomic_load_explicit(&array->count, memory_order_relaxed);
	uint32_t segment = 31u - (uint32_t)__builtin_clz((index >> array->first_shift) + 1);
	if (segment >= SN_SEGMENT_COUNT)
		return UINT32_MAX;
	if (!atomic_load_explicit(&array->segments[segment], memory_order_relaxed)) {
		unsigned char *pages = sn_pages_map(segment_bytes(array, segment));
		if (!pages)
			return UINT32_MAX;
		/* release: a reader that sees the pointer sees zeroed memory */
		atomic_store_explicit(&array->segments[segment], pages, memory_order_release);
	}
	return index;
}

void sn_array_commit(struct sn_array *array)
{
	uint32_t count = atomic_load_explicit(&array->count, memory_order_relaxed);
	/* release pairs with the acquire in sn_array_count: the element was filled before */
	atomic_store_explicit(&array->count, count + 1, memory_order_release);
}

#define BUMP_CHUNK_BYTES ((size_t)16384)

void sn_bump_release(struct sn_bump *bump)
{
	while (bump->chunk) {
		unsigned char *chunk = bump->chunk;
		memcpy(&bump->chunk, chunk, sizeof(bump->chunk));
		sn_pages_unmap(chunk, BUMP_CHUNK_BYTES);
	}
	*bump = (struct sn_bump){0};
}

void *sn_bump_take(struct sn_bump *bump, size_t bytes)
{
	bytes = (bytes + 7) & ~(size_t)7;
	if (bytes > BUMP_CHUNK_BYTES - 8)
		return NULL;
	if (!bump->chunk || bump->used + bytes > bump->size) {
		unsigned char *chunk = sn_pages_map(BUMP_CHUNK_BYTES);
		if (!chunk)
			return NULL;
		memcpy(chunk, &bump->chunk, sizeof(bump->chunk));
		*bump = (struct sn_bump){chunk, 8, BUMP_CHUNK_BYTES};
	}
	void *place = bump->chunk + bump->used;
	bump->used += bytes;
	return place;
}
