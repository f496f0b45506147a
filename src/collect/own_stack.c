/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's stacks; see own_stack.h. */
#include "own_stack.h"

#include "intercept.h"
#include "sample.h"
#include "sample_signal.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* Where this thread's ends; NULL: it has none. */
static __thread char *top __attribute__((tls_model("initial-exec")));

/* The largest frame that the kernel was seen to make, 0 none yet. */
static _Atomic size_t frame_bytes;

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

bool sn_own_stack_install(void)
{
	int saved_errno = errno;
	if (!top) {
		size_t bytes = guard_bytes() + SN_OWN_STACK_BYTES;
		char *mapping =
		    mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
		if (mapping != MAP_FAILED && !mprotect(mapping, guard_bytes(), PROT_NONE))
			top = mapping + bytes;
		else if (mapping != MAP_FAILED)
			munmap(mapping, bytes);
	}
	stack_t current, made = own();
	if (top && !kernel_sigaltstack(NULL, &current) && current.ss_flags & SS_DISABLE)
		kernel_sigaltstack(&made, NULL);
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
	}
	errno = saved_errno;
}

/* ---- calls ---- */

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
	if (!top || sn_confined() || sn_own_stack_has((uintptr_t)__builtin_frame_address(0))) {
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

/* ---- signal stacks of the program ---- */

void sn_own_stack_learn(uintptr_t frame)
{
	size_t bytes = sn_own_stack_has(frame) ? (size_t)((uintptr_t)top - frame) : 0;
	if (bytes > atomic_load_explicit(&frame_bytes, memory_order_relaxed))
		atomic_store_explicit(&frame_bytes, bytes, memory_order_relaxed);
}

/* The kernel's own figure is for every extension the processor has, also those that this process
 * never asked for (AMX: 8 KiB); a sample tells what its frames really take. */
static bool has_room(size_t bytes)
{
	if (bytes >= getauxval(AT_MINSIGSTKSZ) + SN_HANDLER_BYTES)
		return true;
	if (!atomic_load_explicit(&frame_bytes, memory_order_relaxed))
		sn_sampling_provoke();
	size_t frame = atomic_load_explicit(&frame_bytes, memory_order_relaxed);
	return frame && bytes >= frame + SN_HANDLER_BYTES;
}

static void tell(const stack_t *kernel, stack_t *old_stack)
{
	if (!old_stack)
		return;
	if (kernel->ss_sp == own().ss_sp)
		*old_stack = (stack_t){.ss_flags = SS_DISABLE};
	else
		*old_stack = *kernel;
}

int sn_own_stack_sigaltstack(const stack_t *new_stack, stack_t *old_stack)
{
	stack_t before;
	bool fits = !new_stack || new_stack->ss_flags & SS_DISABLE || has_room(new_stack->ss_size);
	/* before the kernel has it: a frame that does not fit ends the program */
	if (!fits)
		sn_sampling_suspend(true);
	if (kernel_sigaltstack(new_stack, &before)) {
		int error = errno;
		if (!fits)
			sn_sampling_suspend(false);
		errno = error;
		return -1;
	}
	int saved_errno = errno;
	if (new_stack && new_stack->ss_flags & SS_DISABLE)
		sn_own_stack_install();
	if (new_stack && fits)
		sn_sampling_suspend(false);
	tell(&before, old_stack);
	errno = saved_errno;
	return 0;
}
