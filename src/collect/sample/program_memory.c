/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes memory of the program through the kernel, which reports a bad pointer. */
#include "program_memory.h"

#include "collect/intercept/intercept.h"
#include "unwind/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

/* What lies above this frame on the thread's own stack is surely there; and no call of ours may be
 * made any more where the process has confined itself. */
static bool needs_no_guard(const void *at, size_t bytes)
{
	const struct sn_thread *thread = sn_thread_self();
	uintptr_t address = (uintptr_t)at, frame = (uintptr_t)__builtin_frame_address(0);
	if (sn_confined())
		return true;
	return thread && frame >= thread->stack_low && frame < thread->stack_high &&
	       address >= frame && address < thread->stack_high &&
	       thread->stack_high - address >= bytes;
}

bool sn_program_read(const void *from, void *into, size_t bytes)
{
	if (!needs_no_guard(from, bytes))
		return sn_memory_read((uintptr_t)from, into, bytes) == bytes;
	memcpy(into, from, bytes);
	return true;
}

int sn_program_write(void *to, const void *from, size_t bytes)
{
	struct iovec local = {(void *)from, bytes}, remote = {to, bytes};
	if (!needs_no_guard(to, bytes)) {
		int saved_errno = errno;
		long given =
		    syscall(SYS_process_vm_writev, syscall(SYS_getpid), &local, 1, &remote, 1, 0);
		if (given < 0 && errno == EFAULT)
			return -1;
		errno = saved_errno;
		if (given == (long)bytes)
			return 0;
	}
	memcpy(to, from, bytes);
	return 0;
}

/* ---- texts ---- */

/* Whether a text can be read; *page is the page that was found readable last. */
static bool text_is_readable(const char *text, uintptr_t *page)
{
	for (size_t on_page;; text += on_page) {
		uintptr_t now = (uintptr_t)text / PAGE_BYTES;
		char first;
		if (now != *page && !sn_program_read(text, &first, 1))
			return false;
		*page = now;
		on_page = PAGE_BYTES - (uintptr_t)text % PAGE_BYTES;
		if (memchr(text, 0, on_page))
			return true;
	}
}

bool sn_program_text_is_readable(const char *text)
{
	uintptr_t page = UINTPTR_MAX; /* none */
	return !text || text_is_readable(text, &page);
}

bool sn_program_list_is_readable(char *const *list)
{
	uintptr_t page = UINTPTR_MAX, list_page = UINTPTR_MAX; /* none */
	for (; list; list++) {
		const char *text;
		if ((uintptr_t)list / PAGE_BYTES != list_page ||
		    (uintptr_t)list % PAGE_BYTES > PAGE_BYTES - sizeof(text)) {
			if (!sn_program_read(list, &text, sizeof(text)))
				return false;
			list_page = (uintptr_t)list / PAGE_BYTES;
		}
		text = *list;
		if (!text)
			return true;
		if (!text_is_readable(text, &page))
			return false;
	}
	return true;
}
