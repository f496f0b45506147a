/* SPDX-License-Identifier: Apache-2.0 */
/* The gate before the program's handlers; see program_handler.h. */
#include "program_handler.h"

#include "intercept.h"
#include "interrupted_call.h"
#include "machine.h"
#include "own_stack.h"
#include "sample.h"
#include "sample_signal.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* What the kernel was not told: the handler behind the gate, and which of our signals its mask
 * named. */
static _Atomic(void *) handlers[NSIG];
static _Atomic uint64_t masks[NSIG], changed_masks[NSIG];
static _Atomic uint64_t
    without_info; /* signals whose handler did not ask for SA_SIGINFO, as the gate does */

static uint64_t bits_of(const sigset_t *set)
{
	uint64_t bits;
	memcpy(&bits, set, sizeof(bits));
	return bits;
}

/* ---- the gate ---- */

void sn_gate(int signal, siginfo_t *info, void *context) __attribute__((visibility("hidden")));

/* Where to go from the gate; `frame` is the kernel's frame moved elsewhere, NULL where it stays. */
struct sn_gate_way {
	void *handler; /* NULL: back to what was interrupted */
	char *frame;
};
struct sn_gate_way sn_gate_way(int signal, siginfo_t *info, ucontext_t *context, char *frame)
    __attribute__((visibility("hidden")));

#if defined(__x86_64__)
/*
 * At a handler's entry the stack pointer is at the kernel's frame: the address to return to, the
 * ucontext, the siginfo. Registers of a handler's arguments: rdi, rsi, rdx.
 */
__asm__(".globl sn_gate\n"
	".hidden sn_gate\n"
	".type sn_gate, @function\n"
	"sn_gate:\n"
	"	.cfi_startproc\n"
	"	movq	%rsp, %rcx\n"
	"	pushq	%rdi\n	.cfi_adjust_cfa_offset 8\n"
	"	pushq	%rsi\n	.cfi_adjust_cfa_offset 8\n"
	"	pushq	%rdx\n	.cfi_adjust_cfa_offset 8\n"
	"	call	sn_gate_way\n"
	"	movq	%rdx, %rcx\n"
	"	popq	%rdx\n	.cfi_adjust_cfa_offset -8\n"
	"	popq	%rsi\n	.cfi_adjust_cfa_offset -8\n"
	"	popq	%rdi\n	.cfi_adjust_cfa_offset -8\n"
	"	testq	%rax, %rax\n"
	"	jz	2f\n"
	"	testq	%rcx, %rcx\n"
	"	jz	1f\n"
	"	subq	%rsp, %rsi\n"
	"	subq	%rsp, %rdx\n"
	"	addq	%rcx, %rsi\n"
	"	addq	%rcx, %rdx\n"
	"	movq	%rcx, %rsp\n"
	"1:	jmpq	*%rax\n"
	"2:	ret\n"
	"	.cfi_endproc\n"
	".size sn_gate, .-sn_gate\n");

#define FPSTATE_MAGIC	    0x46505853u /* linux: FP_XSTATE_MAGIC1 */
#define FPSTATE_BYTES	    512u
#define FPSTATE_SOFTWARE_AT 464u /* of struct _fpx_sw_bytes */
#define RED_ZONE_BYTES	    128u

static size_t fpstate_bytes(const char *fpstate)
{
	uint32_t software[2]; /* magic, bytes with the extensions and a closing magic */
	memcpy(software, fpstate + FPSTATE_SOFTWARE_AT, sizeof(software));
	return software[0] == FPSTATE_MAGIC ? software[1] : FPSTATE_BYTES;
}

/*
 * Copies the kernel's frame to the stack that was interrupted, as the kernel would have made it
 * there; on a full stack this faults, and ends the program as the kernel would have.
 */
static char *move_frame(const siginfo_t *info, const ucontext_t *context, const char *frame)
{
	uintptr_t to = (uintptr_t)context->uc_mcontext.gregs[REG_RSP] - RED_ZONE_BYTES;
	const char *fpstate = (const char *)context->uc_mcontext.fpregs;
	if (fpstate) {
		size_t bytes = fpstate_bytes(fpstate);
		to = (to - bytes) & ~(uintptr_t)63;
		memcpy((void *)to, fpstate, bytes);
	}
	uintptr_t new_fpstate = fpstate ? to : 0;
	size_t bytes = (size_t)((const char *)(info + 1) - frame);
	/* 8 bytes off 16, as after a call */
	char *moved = (char *)(((to - bytes) & ~(uintptr_t)15) - 8);
	memcpy(moved, frame, bytes);
	ucontext_t *copy = (ucontext_t *)(moved + ((const char *)context - frame));
	memcpy(&copy->uc_mcontext.fpregs, &new_fpstate, sizeof(new_fpstate));
	return moved;
}
#endif

/*
 * Handlers with SA_ONSTACK begin with samples blocked: another frame of the kernel's might not fit
 * on the program's signal stack below theirs. Where it surely does, or where they stand on another
 * stack, samples are let in.
 */
#define SAMPLED_STACK_BYTES (32u << 10)

static bool has_room_for_samples(const stack_t *stack, uintptr_t frame)
{
	uintptr_t used = frame - (uintptr_t)stack->ss_sp;
	bool is_on_it = !(stack->ss_flags & SS_DISABLE) && used < stack->ss_size;
	return !is_on_it || sn_own_stack_has(frame) || used >= SAMPLED_STACK_BYTES;
}

/* While the handler runs, the signals of its mask are blocked: of ours the program believes so. */
static void believe(int signal, const ucontext_t *context)
{
	uint64_t outer = bits_of(&context->uc_sigmask);
	uint64_t mask = atomic_load_explicit(&masks[signal], memory_order_relaxed);
	uint64_t bit = sn_sample_signal() ? SN_SIGNAL_BIT(sn_sample_signal()) : 0;
	uint64_t never = SN_SIGNAL_BIT(SIGKILL) | SN_SIGNAL_BIT(SIGSTOP); /* blocked */
	if (mask & bit && !(sn_believed_blocked(outer) & bit))
		sn_believed_set_with(bit, (outer | mask) & ~bit & ~never);
}

static void open_samples(void)
{
	uint64_t ours = sn_sample_signal() ? SN_SIGNAL_BIT(sn_sample_signal()) : 0;
	if (ours && !sn_confined())
		syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &ours, NULL, sizeof(ours));
}

/*
 * The frame tells of the signal stack that the program has, none, and not of ours: a handler may be
 * left by swapcontext(3) and its frame return in another thread. The kernel takes the signal stack
 * from there when the handler returns; of none without SS_DISABLE, the state a thread begins with,
 * it takes nothing.
 */
static void hide_own_stack(stack_t *told)
{
	if (sn_own_stack_is_signal_stack(told))
		*told = (stack_t){0};
}

static struct sn_gate_way way_of(int signal, siginfo_t *info, ucontext_t *context, char *frame)
{
	struct sn_gate_way way = {atomic_load_explicit(&handlers[signal], memory_order_relaxed)};
	if (sn_sample_signal_is_served(signal) && sn_sampling_is_sample(info)) {
		sn_interrupted_call_mend(context);
		sn_sampling_renew_in(context);
		way.handler = NULL;
		return way;
	}
	sn_interrupted_call_handled(context, signal);
	believe(signal, context);
	bool has_room = has_room_for_samples(&context->uc_stack, (uintptr_t)frame);
	hide_own_stack(&context->uc_stack);
	uintptr_t interrupted = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
	if (sn_own_stack_has((uintptr_t)frame) && !sn_own_stack_has(interrupted))
		way.frame = move_frame(info, context, frame);
	if (has_room)
		open_samples();
	return way;
}

struct sn_gate_way sn_gate_way(int signal, siginfo_t *info, ucontext_t *context, char *frame)
{
	uint64_t flags = sn_machine_flags_tame();
	struct sn_gate_way way = way_of(signal, info, context, frame);
	sn_machine_flags_restore(flags);
	return way;
}

/* ---- actions ---- */

static bool is_handler(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO ||
	       (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

/* What was kept of a signal. */
struct kept {
	void *handler;
	uint64_t mask;
	uint64_t changed; /* what the kernel has otherwise of it */
	bool without_info;
};

static struct kept kept_of(int signal)
{
	uint64_t no_info = atomic_load_explicit(&without_info, memory_order_relaxed);
	return (struct kept){atomic_load_explicit(&handlers[signal], memory_order_relaxed),
			     atomic_load_explicit(&masks[signal], memory_order_relaxed),
			     atomic_load_explicit(&changed_masks[signal], memory_order_relaxed),
			     (no_info & SN_SIGNAL_BIT(signal)) != 0};
}

/* What the kernel has, as the program gave it. */
static void tell(const struct sigaction *kernel, const struct kept *kept,
		 struct sigaction *old_action)
{
	*old_action = *kernel;
	if (!is_handler(kernel) || kernel->sa_sigaction != sn_gate)
		return;
	old_action->sa_handler = (sighandler_t)kept->handler;
	if (kept->without_info)
		old_action->sa_flags &= ~SA_SIGINFO;
	uint64_t mask = bits_of(&kernel->sa_mask);
	mask = (mask & ~kept->changed) | (kept->mask & kept->changed);
	memcpy(&old_action->sa_mask, &mask, sizeof(mask));
}

/* What the kernel gets: no handler blocks samples for as long as it runs, and some have the gate.
 */
static struct sigaction for_kernel(int signal, const struct sigaction *action)
{
	struct sigaction made = *action;
	uint64_t ours = sn_sample_signal() ? SN_SIGNAL_BIT(sn_sample_signal()) : 0;
	uint64_t mask = bits_of(&action->sa_mask);
	if (!is_handler(action))
		return made;
	atomic_store_explicit(&masks[signal], mask, memory_order_relaxed);
	atomic_store_explicit(&changed_masks[signal], ours, memory_order_relaxed);
	mask = action->sa_flags & SA_ONSTACK ? mask | ours : mask & ~ours;
	memcpy(&made.sa_mask, &mask, sizeof(mask));
	atomic_store_explicit(&handlers[signal], (void *)action->sa_handler, memory_order_relaxed);
	bool was_ours = sn_sample_signal_is_served(signal);
	made.sa_sigaction = sn_gate;
	if (was_ours && !(action->sa_flags & SA_SIGINFO)) {
		made.sa_flags |= SA_SIGINFO; /* it tells a sample from the program's signal */
		atomic_fetch_or_explicit(&without_info, SN_SIGNAL_BIT(signal),
					 memory_order_relaxed);
	} else {
		atomic_fetch_and_explicit(&without_info, ~SN_SIGNAL_BIT(signal),
					  memory_order_relaxed);
	}
	return made;
}

void sn_program_action_tell(int signal, struct sigaction *action)
{
	struct kept kept = kept_of(signal);
	struct sigaction kernel = *action;
	tell(&kernel, &kept, action);
}

int sn_program_sigaction(int signal, const struct sigaction *new_action,
			 struct sigaction *old_action)
{
	struct sigaction before, made;
	if (signal <= 0 || signal >= NSIG)
		return sn_real_sigaction(signal, new_action, old_action);
	struct kept kept = kept_of(signal);
	/* a child on its parent's memory has handlers of its own, but not tables: no sample comes
	 * there */
	if (new_action)
		made = sn_is_measured_process() ? for_kernel(signal, new_action) : *new_action;
	int status = sn_real_sigaction(signal, new_action ? &made : NULL, &before);
	if (!status && old_action)
		tell(&before, &kept, old_action);
	return status;
}
