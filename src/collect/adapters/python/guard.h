/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking whether memory can be read before reading it, cheaply enough to ask at every step.
 *
 * A thread is interrupted anywhere, so a frame may be half linked and a pointer in it a leftover. A
 * page that proved readable is remembered; the answer costs a system call once and two loads after
 * that. The memory has sets of four, the latest in front: were it direct-mapped, two pages of one
 * path would, depending on where things happen to lie in this process, push each other out for
 * ever, at a system call each. It is forgotten every SN_GUARD_WALKS walks because pages do get
 * unmapped.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the guard's owner.
 */
#ifndef SN_PYTHON_GUARD_H
#define SN_PYTHON_GUARD_H

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

/* 0, or -ENOSYS where the kernel does not answer as the guard needs; then nothing may be read.
 * MT: yes. */
int sn_guard_test(void);
/* To be called once for each walk. MT: the guard's owner. */
void sn_guard_begin(struct sn_guard *guard);
/* Forgets what is known of [address, address + bytes), so that the kernel is asked again. */
void sn_guard_forget(struct sn_guard *guard, uintptr_t address, size_t bytes);
void sn_guard_forget_all(struct sn_guard *guard);
/* The slow way: looks behind the front, then asks the kernel. */
bool sn_guard_ask(struct sn_guard *guard, uintptr_t address, size_t bytes);

/* True where [address, address + bytes) can be read. MT: the guard's owner. */
static inline bool sn_guard_readable(struct sn_guard *guard, uintptr_t address, size_t bytes)
{
	uintptr_t page = address >> SN_GUARD_PAGE_SHIFT;
	if (__builtin_expect(page == (address + bytes - 1) >> SN_GUARD_PAGE_SHIFT &&
				 guard->pages[page % SN_GUARD_SETS][0] == page && page != 0,
			     1))
		return true;
	return sn_guard_ask(guard, address, bytes);
}

#endif
