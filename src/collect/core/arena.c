/* SPDX-License-Identifier: Apache-2.0 */
/* Maps memory for the collector, counts it, and keeps it below the limits of user and process. */
#include "arena.h"
#include "line.h"
#include "collect/unwind/own_stack.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic size_t claimed_bytes; /* mapped by others of ours */
static _Atomic size_t mapped_bytes, peak_bytes, limit_bytes;

static void raise_peak(size_t now)
{
	size_t peak = atomic_load_explicit(&peak_bytes, memory_order_relaxed);
	while (now > peak &&
	       !atomic_compare_exchange_weak_explicit(&peak_bytes, &peak, now, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

/* ---- the process's own limits ---- */

struct usage {
	size_t mapped, data; /* bytes */
};

/* The third-last and last but one numbers of /proc/self/statm, both in pages. */
static bool read_usage(struct usage *usage)
{
	char text[128];
	uint64_t numbers[6] = {0};
	size_t length = sn_read_text(AT_FDCWD, "/proc/self/statm", text, sizeof(text));
	for (size_t at = 0, field = 0; at < length && field < 6; at++)
		if (text[at] >= '0' && text[at] <= '9')
			numbers[field] = numbers[field] * 10 + (uint64_t)(text[at] - '0');
		else
			field++;
	size_t page = 4096;
	*usage = (struct usage){numbers[0] * page, numbers[5] * page};
	return numbers[0];
}

static size_t limit_of(int resource)
{
	struct rlimit limit;
	/* libc-free: the program may replace getrlimit */
	return syscall(SYS_prlimit64, 0, resource, NULL, &limit) || limit.rlim_cur > SIZE_MAX / 2
		   ? SIZE_MAX
		   : limit.rlim_cur;
}

static bool leaves_enough(size_t limit, size_t used, size_t ours, size_t bytes)
{
	size_t program = used > ours ? used - ours : 0;
	return limit == SIZE_MAX ||
	       (program < limit && ours + bytes <= (limit - program) / SN_PAGES_SHARE);
}

static bool may_map(size_t bytes)
{
	size_t space = limit_of(RLIMIT_AS), data = limit_of(RLIMIT_DATA);
	size_t ours = atomic_load_explicit(&mapped_bytes, memory_order_relaxed) +
		      atomic_load_explicit(&claimed_bytes, memory_order_relaxed);
	struct usage usage;
	if (space == SIZE_MAX && data == SIZE_MAX)
		return true;
	/* where it cannot be known the program is taken to use half */
	if (!read_usage(&usage))
		usage = (struct usage){space / 2, data / 2};
	return leaves_enough(space, usage.mapped, ours, bytes) &&
	       leaves_enough(data, usage.data, ours, bytes);
}

bool sn_pages_claim(size_t bytes)
{
	if (!may_map(bytes))
		return false;
	atomic_fetch_add_explicit(&claimed_bytes, bytes, memory_order_relaxed);
	return true;
}

void sn_pages_unclaim(size_t bytes)
{
	atomic_fetch_sub_explicit(&claimed_bytes, bytes, memory_order_relaxed);
}

/* ---- a reserve ---- */

struct reserve {
	size_t bytes; /* of this mapping: threads that come at the same time differ about it */
};

static _Atomic(struct reserve *) reserve;
static _Atomic size_t reserve_bytes; /* as kept last */
static __thread bool has_open_reserve __attribute__((tls_model("initial-exec")));

static void unmap_reserve(struct reserve *old)
{
	sn_pages_unmap(old, old ? old->bytes : 0);
}

static bool map_reserve(size_t bytes)
{
	struct reserve *fresh = bytes ? sn_pages_map(bytes) : NULL;
	if (!fresh)
		return false;
	fresh->bytes = bytes;
	unmap_reserve(atomic_exchange(&reserve, fresh));
	return true;
}

bool sn_pages_keep_reserve(size_t bytes)
{
	size_t before = atomic_load_explicit(&reserve_bytes, memory_order_relaxed);
	if (limit_of(RLIMIT_AS) == SIZE_MAX && limit_of(RLIMIT_DATA) == SIZE_MAX)
		return true;
	unmap_reserve(atomic_exchange(&reserve, NULL));
	if (!map_reserve(bytes)) {
		map_reserve(before);
		return false;
	}
	atomic_store_explicit(&reserve_bytes, bytes, memory_order_relaxed);
	return true;
}

void sn_pages_open_reserve(void)
{
	has_open_reserve = true;
	unmap_reserve(atomic_exchange(&reserve, NULL));
}

void sn_pages_close_reserve(void)
{
	has_open_reserve = false;
	map_reserve(atomic_load_explicit(&reserve_bytes, memory_order_relaxed));
}

static bool is_allowed(size_t bytes)
{
	return has_open_reserve || may_map(bytes);
}

static void *map_pages(size_t bytes)
{
	/* relaxed: the counters order nothing, they only bound a total */
	size_t before = atomic_fetch_add_explicit(&mapped_bytes, bytes, memory_order_relaxed);
	size_t limit = atomic_load_explicit(&limit_bytes, memory_order_relaxed);
	void *pages = MAP_FAILED;
	if ((!limit || before + bytes <= limit) && is_allowed(bytes))
		pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pages == MAP_FAILED) {
		atomic_fetch_sub_explicit(&mapped_bytes, bytes, memory_order_relaxed);
		return NULL;
	}
	raise_peak(before + bytes);
	return pages;
}

struct mapping {
	size_t bytes;
	void *pages;
};

static void map_these(void *argument)
{
	struct mapping *it = argument;
	it->pages = map_pages(it->bytes);
}

/* What may be mapped is asked of the kernel, in more than a hook may use of the program's stack. */
void *sn_pages_map(size_t bytes)
{
	struct mapping it = {.bytes = bytes};
	sn_on_own_stack(map_these, &it);
	return it.pages;
}

void *sn_pages_once(_Atomic(void *) *place, size_t bytes)
{
	void *there = atomic_load_explicit(place, memory_order_acquire), *made;
	if (there || !(made = sn_pages_map(bytes)))
		return there;
	if (atomic_compare_exchange_strong(place, &there, made))
		return made;
	sn_pages_unmap(made, bytes);
	return there;
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

void *sn_bump_alloc(struct sn_bump *bump, size_t bytes)
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
