/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests whether memory can be read, at a cost that allows a test at every step.
 *
 * A thread is interrupted anywhere, so a frame may be half linked and contain stale pointers.
 * Readable pages are cached: the first test costs a system call, later ones two loads. The cache
 * has sets of four, the latest page in front: in a direct-mapped one, two pages of a path could,
 * depending on addresses, evict each other again and again, at a system call each. It is cleared
 * every SN_GUARD_WALKS walks because pages may be unmapped.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the guard's owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_GUARD_SETS	    128
#define SN_GUARD_WAYS	    4
#define SN_GUARD_PAGE_SHIFT 12
#define SN_GUARD_WALKS	    4096

struct sn_guard {
	uint32_t walks;
	uint32_t probes; /* system calls made, for tests and benchmarks */
	uintptr_t pages[SN_GUARD_SETS][SN_GUARD_WAYS];
};

/* 0, or -ENOSYS if the kernel's answer is not usable; then nothing may be read.
 * MT: yes. */
int sn_guard_test(void);
/* To be called once for each walk. MT: the guard's owner. */
void sn_guard_begin(struct sn_guard *guard);
/* Removes [address, address + bytes) from the cache, so that the kernel is asked again. */
void sn_guard_forget(struct sn_guard *guard, uintptr_t address, size_t bytes);
void sn_guard_forget_all(struct sn_guard *guard);
/* The slow path: searches the rest of the set, then asks the kernel. */
bool sn_guard_ask(struct sn_guard *guard, uintptr_t address, size_t bytes);

/* True if [address, address + bytes) can be read. MT: the guard's owner. */
static inline bool sn_guard_readable(struct sn_guard *guard, uintptr_t address, size_t bytes)
{
	uintptr_t page = address >> SN_GUARD_PAGE_SHIFT;
	if (__builtin_expect(page == (address + bytes - 1) >> SN_GUARD_PAGE_SHIFT &&
				 guard->pages[page % SN_GUARD_SETS][0] == page && page != 0,
			     1))
		return true;
	return sn_guard_ask(guard, address, bytes);
}
