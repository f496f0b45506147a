/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes memory with rt_sigprocmask and an operation that does not exist. The kernel copies the new
 * mask before it checks the operation, so the result is EFAULT for memory that cannot be read and
 * EINVAL otherwise, and nothing changes. Unlike process_vm_readv it is allowed in every sandbox.
 */
#include "guard.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES   ((uintptr_t)1 << SN_GUARD_PAGE_SHIFT)
#define ADDRESS_END  ((uintptr_t)1 << 47)
#define NO_OPERATION 0x5a5a

static int probe_errno(uintptr_t address)
{
	int saved = errno;
	long result = syscall(SYS_rt_sigprocmask, NO_OPERATION, address & ~(uintptr_t)7, NULL, 8);
	int error = result == 0 ? 0 : errno;
	errno = saved;
	return error;
}

int sn_guard_test(void)
{
	void *page = mmap(NULL, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -ENOMEM;
	int closed = probe_errno((uintptr_t)page);
	munmap(page, PAGE_BYTES);
	return closed == EFAULT && probe_errno((uintptr_t)&page) == EINVAL ? 0 : -ENOSYS;
}

void sn_guard_begin(struct sn_guard *guard)
{
	if (++guard->walks < SN_GUARD_WALKS)
		return;
	sn_guard_forget_all(guard);
}

void sn_guard_forget_all(struct sn_guard *guard)
{
	guard->walks = 0;
	memset(guard->pages, 0, sizeof(guard->pages));
}

void sn_guard_forget(struct sn_guard *guard, uintptr_t address, size_t bytes)
{
	uintptr_t last = (address + bytes) >> SN_GUARD_PAGE_SHIFT;
	for (uintptr_t page = address >> SN_GUARD_PAGE_SHIFT; page <= last; page++)
		for (uint32_t way = 0; way < SN_GUARD_WAYS; way++)
			if (guard->pages[page % SN_GUARD_SETS][way] == page)
				guard->pages[page % SN_GUARD_SETS][way] = 0;
}

/* Moves a page to the front of its set, replacing the least recently used one if it was not there;
 * returns whether it was. */
static bool bring_forward(uintptr_t *set, uintptr_t page)
{
	uint32_t way = 0;
	while (way < SN_GUARD_WAYS - 1 && set[way] != page)
		way++;
	bool known = set[way] == page;
	for (; way; way--)
		set[way] = set[way - 1];
	set[0] = page;
	return known;
}

bool sn_guard_ask(struct sn_guard *guard, uintptr_t address, size_t bytes)
{
	if (bytes == 0)
		return true;
	if (address < PAGE_BYTES || address >= ADDRESS_END || bytes > ADDRESS_END - address)
		return false;
	uintptr_t last = (address + bytes - 1) >> SN_GUARD_PAGE_SHIFT;
	for (uintptr_t page = address >> SN_GUARD_PAGE_SHIFT; page <= last; page++) {
		uintptr_t *set = guard->pages[page % SN_GUARD_SETS];
		if (bring_forward(set, page))
			continue;
		guard->probes++;
		if (probe_errno(page << SN_GUARD_PAGE_SHIFT) != EINVAL) {
			set[0] = 0;
			return false;
		}
	}
	return true;
}
