/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigaltstack: the program's signal stacks, as if there were none of ours (own_stack.h). On one
 * that has no room for a signal nothing is sampled: the kernel would end the program.
 */
#include "go_program.h"
#include "intercept.h"
#include "own_stack.h"
#include "sample.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/auxv.h>

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
	if (!atomic_load_explicit(&frame_bytes, memory_order_relaxed))
		sn_sampling_provoke();
	size_t frame = atomic_load_explicit(&frame_bytes, memory_order_relaxed);
	return frame && bytes >= frame + SN_HANDLER_BYTES;
}

static void tell(const stack_t *kernel, stack_t *old_stack)
{
	if (sn_own_stack_is_signal_stack(kernel))
		*old_stack = (stack_t){.ss_flags = SS_DISABLE};
	else
		*old_stack = *kernel;
}

static int change(const stack_t *new_stack, stack_t *before)
{
	bool fits = new_stack->ss_flags & SS_DISABLE || has_room(new_stack->ss_size);
	/* before the kernel has it: a frame that does not fit ends the program */
	if (!fits)
		sn_sampling_suspend(true);
	int status = real_sigaltstack_get()(new_stack, before), error = errno;
	if (!status && new_stack->ss_flags & SS_DISABLE)
		sn_signal_stack_install();
	if (fits == !status)
		sn_sampling_suspend(false);
	errno = error;
	return status;
}

SN_EXPORT int sigaltstack(const stack_t *new_stack, stack_t *old_stack)
{
	stack_t before;
	if (!sn_thread_self() || !sn_is_measured_process())
		return real_sigaltstack_get()(new_stack, old_stack);
	int status = new_stack ? change(new_stack, &before) : real_sigaltstack_get()(NULL, &before);
	if (!status && old_stack)
		tell(&before, old_stack);
	return status;
}
