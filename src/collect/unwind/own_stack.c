/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the collector's own stack of each thread, and switches to it and back. */
#include "own_stack.h"

#include "collect/core/arena.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where this thread's ends; NULL: it has none. */
static __thread char *top __attribute__((tls_model("initial-exec")));

/* The process may make no system calls of ours any more. */
static _Atomic bool retired;
/* The process whose children may run on its memory beside it; 0: none. */
static _Atomic int sharing;

static int kernel_sigaltstack(const stack_t *new_stack, stack_t *old_stack)
{
	return (int)syscall(SYS_sigaltstack, new_stack, old_stack);
}

static stack_t own(void)
{
	return (stack_t){.ss_sp = top - SN_OWN_STACK_BYTES, .ss_size = SN_OWN_STACK_BYTES};
}

static size_t guard_bytes(void)
{
	return getauxval(AT_PAGESZ);
}

bool sn_own_stack_has(uintptr_t address)
{
	return top && (uintptr_t)top - address < SN_OWN_STACK_BYTES;
}

bool sn_own_stack_install(bool for_signals)
{
	int saved_errno = errno;
	if (!top) {
		size_t bytes = guard_bytes() + SN_OWN_STACK_BYTES;
		if (!sn_pages_claim(bytes))
			return false;
		char *mapping =
		    mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
		if (mapping != MAP_FAILED &&
		    !syscall(SYS_mprotect, mapping, guard_bytes(), PROT_NONE))
			top = mapping + bytes;
		else if (mapping != MAP_FAILED)
			munmap(mapping, bytes);
		if (!top)
			sn_pages_unclaim(bytes);
	}
	stack_t current, stack = own();
	if (top && for_signals && !kernel_sigaltstack(NULL, &current) &&
	    current.ss_flags & SS_DISABLE)
		kernel_sigaltstack(&stack, NULL);
	errno = saved_errno;
	return top != NULL;
}

void sn_own_stack_remove(void)
{
	stack_t current, none = {.ss_flags = SS_DISABLE};
	int saved_errno = errno;
	if (!top || sn_own_stack_has((uintptr_t)__builtin_frame_address(0)))
		return;
	bool is_set = !kernel_sigaltstack(NULL, &current) && current.ss_sp == own().ss_sp;
	char *mapping = (char *)own().ss_sp - guard_bytes();
	if (!is_set || !kernel_sigaltstack(&none, NULL)) {
		top = NULL;
		munmap(mapping, guard_bytes() + SN_OWN_STACK_BYTES);
		sn_pages_unclaim(guard_bytes() + SN_OWN_STACK_BYTES);
	}
	errno = saved_errno;
}

bool sn_own_stack_is_signal_stack(const stack_t *stack)
{
	return top && stack->ss_sp == own().ss_sp;
}

size_t sn_own_stack_above(uintptr_t address)
{
	return sn_own_stack_has(address) ? (size_t)((uintptr_t)top - address) : 0;
}

/* ---- calls ---- */

static bool is_retired(void)
{
	return atomic_load_explicit(&retired, memory_order_relaxed);
}

void sn_own_stacks_share(void)
{
	atomic_store_explicit(&sharing, (int)syscall(SYS_getpid), memory_order_relaxed);
}

bool sn_own_stacks_are_parents(void)
{
	int process = atomic_load_explicit(&sharing, memory_order_relaxed);
	return process && process != (int)syscall(SYS_getpid);
}

void sn_own_stacks_retire(void)
{
	atomic_store_explicit(&retired, true, memory_order_relaxed);
}

/* function(argument) with the stack pointer at `stack`, which is aligned to 16. */
void sn_call_on_stack(void *stack, void (*function)(void *), void *argument)
    __attribute__((visibility("hidden")));

__asm__(".globl sn_call_on_stack\n"
	".hidden sn_call_on_stack\n"
	".type sn_call_on_stack, @function\n"
	"sn_call_on_stack:\n"
	"	.cfi_startproc\n"
	"	pushq	%rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbp, 0\n"
	"	movq	%rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	movq	%rdi, %rsp\n"
	"	movq	%rdx, %rdi\n"
	"	call	*%rsi\n"
	"	movq	%rbp, %rsp\n"
	"	popq	%rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size sn_call_on_stack, .-sn_call_on_stack\n");

void sn_in_handler_on_own_stack(void (*function)(void *argument), void *argument)
{
	if (!top || sn_own_stack_has((uintptr_t)__builtin_frame_address(0)))
		function(argument);
	else
		sn_call_on_stack(top, function, argument);
}

void sn_on_own_stack(void (*function)(void *argument), void *argument)
{
	if (!top || is_retired() || sn_own_stacks_are_parents() ||
	    sn_own_stack_has((uintptr_t)__builtin_frame_address(0))) {
		function(argument);
		return;
	}
	uint64_t all = ~0ull, before;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(before));
	sn_call_on_stack(top, function, argument);
	int saved_errno = errno;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	errno = saved_errno;
}
