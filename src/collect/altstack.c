/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks for signal handlers; see altstack.h. */
#include "altstack.h"
#include "arena.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

/* Mostly never touched. Handlers of the program that ask for such a stack run on it too. */
#define STACK_BYTES (256u << 10)
#define GUARD_BYTES (64u << 10) /* a page of any size */

void *sn_altstack_install(void)
{
	stack_t current;
	int saved = errno;
	if (sigaltstack(NULL, &current) || !(current.ss_flags & SS_DISABLE)) {
		errno = saved;
		return NULL;
	}
	if (!sn_pages_may_map(GUARD_BYTES + STACK_BYTES)) {
		errno = saved;
		return NULL;
	}
	char *mapping = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	stack_t made = {.ss_sp = mapping + GUARD_BYTES, .ss_size = STACK_BYTES};
	if (mapping == MAP_FAILED) {
		mapping = NULL;
	} else if (mprotect(made.ss_sp, STACK_BYTES, PROT_READ | PROT_WRITE) ||
		   sigaltstack(&made, NULL)) {
		munmap(mapping, GUARD_BYTES + STACK_BYTES);
		mapping = NULL;
	}
	errno = saved;
	return mapping;
}

void sn_altstack_remove(void *stack)
{
	stack_t current, none = {.ss_flags = SS_DISABLE};
	int saved = errno;
	if (!stack)
		return;
	bool is_ours =
	    !sigaltstack(NULL, &current) && current.ss_sp == (void *)((char *)stack + GUARD_BYTES);
	/* a thread that ends within a handler stands on it */
	if (!is_ours || (!(current.ss_flags & SS_ONSTACK) && !sigaltstack(&none, NULL)))
		munmap(stack, GUARD_BYTES + STACK_BYTES);
	errno = saved;
}
