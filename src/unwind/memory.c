/* SPDX-License-Identifier: Apache-2.0 */
/* Reads memory of this process through the kernel, which reports what is not mapped. */
#include "memory.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define PAGES_MAX  2u /* copied by one call: as many as a window has */

/*
 * Asks the kernel whether a page can be read, where a sandbox refuses process_vm_readv: it reads
 * the signal set before it looks at the (invalid) operation.
 */
static bool page_is_readable(uintptr_t address)
{
	uintptr_t page = address & ~(uintptr_t)(PAGE_BYTES - 1);
	return syscall(SYS_rt_sigprocmask, ~0, page, NULL, 8) < 0 && errno == EINVAL;
}

__attribute__((no_sanitize("address"))) static size_t
read_by_probing(uintptr_t address, unsigned char *into, size_t bytes)
{
	size_t done = 0;
	while (done < bytes && page_is_readable(address + done)) {
		size_t left = PAGE_BYTES - (address + done) % PAGE_BYTES;
		if (left > bytes - done)
			left = bytes - done;
		const volatile unsigned char *from = (const unsigned char *)address + done;
		for (size_t index = 0; index < left; index++)
			into[done + index] = from[index];
		done += left;
	}
	return done;
}

/* One element a page: the kernel promises to stop between elements, not inside one. */
static size_t read_pages(uintptr_t address, void *into, size_t bytes)
{
	struct iovec local = {into, bytes}, remote[PAGES_MAX + 1];
	unsigned count = 0;
	for (size_t done = 0; done < bytes && count < PAGES_MAX + 1; count++) {
		size_t left = PAGE_BYTES - (address + done) % PAGE_BYTES;
		remote[count] = (struct iovec){(void *)(address + done),
					       left < bytes - done ? left : bytes - done};
		done += remote[count].iov_len;
	}
	long got = syscall(SYS_process_vm_readv, syscall(SYS_getpid), &local, 1, remote, count, 0);
	if (got < 0 && errno != EFAULT)
		return read_by_probing(address, into, bytes);
	return got < 0 ? 0 : (size_t)got;
}

size_t sn_memory_read(uintptr_t address, void *into, size_t bytes)
{
	int saved_errno = errno;
	size_t done = 0;
	if (address + bytes < address)
		return 0;
	while (done < bytes) {
		size_t part =
		    bytes - done < PAGES_MAX * PAGE_BYTES ? bytes - done : PAGES_MAX * PAGE_BYTES;
		size_t got = read_pages(address + done, (unsigned char *)into + done, part);
		done += got;
		if (got < part)
			break;
	}
	errno = saved_errno;
	return done;
}

/*
 * How much of [address, address + bytes) lies on pages that are there, from its start: not more is
 * asked for. A page that the program itself serves (userfaultfd(2)) would keep us waiting for it;
 * that a page was swapped out costs the frames on it.
 */
static size_t resident(uintptr_t address, size_t bytes)
{
	unsigned char is_there[PAGES_MAX + 1];
	uintptr_t page = address & ~(uintptr_t)(PAGE_BYTES - 1), end = address + bytes;
	size_t count = 0, pages = (end - page + PAGE_BYTES - 1) / PAGE_BYTES;
	/* all at once says nothing where one is not mapped */
	if (!syscall(SYS_mincore, page, pages * PAGE_BYTES, is_there)) {
		while (count < pages && is_there[count] & 1)
			count++;
	} else {
		while (count < pages &&
		       !syscall(SYS_mincore, page + count * PAGE_BYTES, PAGE_BYTES, is_there) &&
		       is_there[0] & 1)
			count++;
	}
	uintptr_t there = page + count * PAGE_BYTES;
	return there <= address ? 0 : there < end ? there - address : bytes;
}

bool sn_stack_read_foreign(struct sn_stack *stack, uintptr_t address, uintptr_t *word)
{
	struct sn_window *window = stack->window;
	if (!window)
		return false;
	if (address - window->start >= window->bytes ||
	    window->bytes - (address - window->start) < sizeof(*word)) {
		window->start = address;
		int saved_errno = errno;
		size_t bytes = resident(address, sizeof(window->copy));
		window->bytes = bytes ? sn_memory_read(address, window->copy, bytes) : 0;
		errno = saved_errno;
		if (window->bytes < sizeof(*word))
			return false;
	}
	memcpy(word, window->copy + (address - window->start), sizeof(*word));
	return true;
}
