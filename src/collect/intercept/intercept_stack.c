/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigaltstack: the program's signal stacks, as without the collector's (own_stack.h). On one that
 * has no room for a signal no samples are taken: the kernel would end the program.
 */
#include "collect/sample/go_program.h"
#include "intercept.h"
#include "collect/unwind/own_stack.h"
#include "collect/sample/program_memory.h"
#include "collect/sample/sample.h"

#include <errno.h>
#include <stdatomic.h>
#include <setjmp.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

SN_REAL(int, sigaltstack, (const stack_t *, stack_t *))

/* The largest frame that the kernel was seen to make, 0 none yet. */
static _Atomic size_t frame_bytes;

void sn_signal_stack_learn(uintptr_t frame)
{
	size_t bytes = sn_own_stack_above(frame);
	if (bytes > atomic_load_explicit(&frame_bytes, memory_order_relaxed))
		atomic_store_explicit(&frame_bytes, bytes, memory_order_relaxed);
}

bool sn_signal_stack_install(void)
{
	/* Go's runtime asks the kernel itself, and would take ours for the one it may use */
	return sn_own_stack_install(sn_go_program() == SN_GO_NONE);
}

/* The kernel's own figure is for every extension the processor has, also those that this process
 * never asked for (AMX: 8 KiB); a sample tells what its frames really take. */
static bool has_room(size_t bytes)
{
	if (bytes >= getauxval(AT_MINSIGSTKSZ) + SN_HANDLER_BYTES)
		return true;
	size_t frame = atomic_load_explicit(&frame_bytes, memory_order_relaxed);
	return frame && bytes >= frame + SN_HANDLER_BYTES;
}

static int tell(const stack_t *kernel, stack_t *old_stack)
{
	stack_t told = {.ss_flags = SS_DISABLE};
	if (!sn_own_stack_is_signal_stack(kernel))
		told = *kernel;
	return sn_program_write(old_stack, &told, sizeof(told));
}

/* Samples are blocked until it is known whether they fit: a frame that does not ends the program.
 */
static int change(const stack_t *new_stack, stack_t *before)
{
	if (!atomic_load_explicit(&frame_bytes, memory_order_relaxed))
		sn_sampling_provoke();
	uint64_t all = ~0ull, mask;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof(mask));
	int status = real_sigaltstack_get()(new_stack, before), error = errno;
	if (!status) { /* the kernel has read new_stack, so it can be read here */
		bool is_none = new_stack->ss_flags & SS_DISABLE;
		sn_sampling_suspend(!is_none && !has_room(new_stack->ss_size));
		if (is_none)
			sn_signal_stack_install();
	}
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	errno = error;
	return status;
}

SN_EXPORT int sigaltstack(const stack_t *new_stack, stack_t *old_stack)
{
	stack_t before;
	if (!sn_thread_self())
		return real_sigaltstack_get()(new_stack, old_stack);
	int status = new_stack && sn_is_measured_process()
			 ? change(new_stack, &before)
			 : real_sigaltstack_get()(new_stack, &before);
	if (!status && old_stack)
		status = tell(&before, old_stack);
	return status;
}

/*
 * A handler on a small signal stack of the program's leaves it by siglongjmp, which sets the mask
 * while it still stands there: no sample may be waiting for that.
 */
static void before_jump(void)
{
	if (sn_thread_self() && sn_is_measured_process())
		sn_sampling_drain();
}

#define JUMP(name)                                                                                 \
	SN_REAL(void, name, (sigjmp_buf, int))                                                     \
	SN_EXPORT __attribute__((noreturn)) void name(sigjmp_buf to, int value)                    \
	{                                                                                          \
		before_jump();                                                                     \
		real_##name##_get()(to, value);                                                    \
		__builtin_unreachable();                                                           \
	}

void __longjmp_chk(sigjmp_buf to, int value) __attribute__((noreturn));
JUMP(siglongjmp)
JUMP(__longjmp_chk)

/* ---- pages of a stack that cannot be read ---- */

SN_REAL(int, mprotect, (void *, size_t, int))

SN_EXPORT int mprotect(void *from, size_t bytes, int protection)
{
	if (!(protection & PROT_READ) && sn_measuring())
		sn_threads_hide_stack((uintptr_t)from, (uintptr_t)from + bytes);
	return real_mprotect_get()(from, bytes, protection);
}
