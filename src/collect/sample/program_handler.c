/* SPDX-License-Identifier: Apache-2.0 */
/* The gate before the program's handlers; see program_handler.h. */
#include "program_handler.h"

#include "collect/intercept/intercept.h"
#include "interrupted_call.h"
#include "unwind/machine.h"
#include "collect/unwind/own_stack.h"
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

/*
 * What the kernel was not told of an action: one of several kept of each signal, and the kernel's
 * own copy names it by the gate that it has for a handler. An action that another thread replaces
 * while its signal comes is whole: so many more would have to follow it meanwhile.
 */
#define KEPT_ACTIONS 8
struct kept {
	_Atomic(void *) handler;
	_Atomic uint64_t mask;
	_Atomic uint64_t changed;  /* what the kernel has otherwise of the mask */
	_Atomic bool without_info; /* it did not ask for SA_SIGINFO, as the gate does */
};
static struct kept kept_actions[NSIG][KEPT_ACTIONS];
static _Atomic unsigned kept_count[NSIG]; /* in all; the next one has the place of the oldest */

/* ---- the gate ---- */

/* One for each of a signal's kept actions, GATE_BYTES apart. */
#define GATE_BYTES 16
extern const char sn_gates[KEPT_ACTIONS * GATE_BYTES] __attribute__((visibility("hidden")));

/* Where to go from the gate; `frame` is the kernel's frame moved elsewhere, NULL where it stays. */
struct sn_gate_target {
	void *handler; /* NULL: back to what was interrupted */
	char *frame;
};
struct sn_gate_target sn_gate_enter(int signal, siginfo_t *info, ucontext_t *context, char *frame,
				    unsigned gate) __attribute__((visibility("hidden")));

#if defined(__x86_64__)
/*
 * At a handler's entry the stack pointer is at the kernel's frame: the address to return to, the
 * ucontext, the siginfo. Registers of a handler's arguments: rdi, rsi, rdx.
 */
/* clang-format off */
__asm__(
	".globl sn_gates\n"
	".hidden sn_gates\n"
	".type sn_gates, @function\n"
	".balign " SN_ASM_TEXT(GATE_BYTES) "\n"
	"sn_gates:\n"
	"	.cfi_startproc\n"
	"	.set gate, 0\n"
	"	.rept " SN_ASM_TEXT(KEPT_ACTIONS) "\n"
	"	movl	$gate, %r8d\n"
	"	jmp	1f\n"
	"	.balign " SN_ASM_TEXT(GATE_BYTES) "\n"
	"	.set gate, gate + 1\n"
	"	.endr\n"
	"1:	movq	%rsp, %rcx\n"
	"	pushq	%rdi\n	.cfi_adjust_cfa_offset 8\n"
	"	pushq	%rsi\n	.cfi_adjust_cfa_offset 8\n"
	"	pushq	%rdx\n	.cfi_adjust_cfa_offset 8\n"
	"	call	sn_gate_enter\n"
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
	".size sn_gates, .-sn_gates\n");
/* clang-format on */

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
static void believe(const struct kept *action, const ucontext_t *context)
{
	uint64_t outer = sn_signal_bits(&context->uc_sigmask);
	uint64_t mask = atomic_load_explicit(&action->mask, memory_order_relaxed);
	uint64_t bit = sn_sample_signal_bit();
	uint64_t never = SN_SIGNAL_BIT(SIGKILL) | SN_SIGNAL_BIT(SIGSTOP); /* blocked */
	if (mask & bit && !(sn_believed_blocked(outer) & bit))
		sn_believed_set_with(bit, (outer | mask) & ~bit & ~never);
}

/* The kernel's mask of the handler was made for the sample signal of its time, which may be the program's since. */
static void correct_mask(int signal, const struct kept *action, const ucontext_t *context)
{
	uint64_t outer = sn_signal_bits(&context->uc_sigmask);
	uint64_t mask = atomic_load_explicit(&action->mask, memory_order_relaxed);
	uint64_t given = atomic_load_explicit(&action->changed, memory_order_relaxed) &
			 ~sn_sample_signal_bit() & ~SN_SIGNAL_BIT(signal);
	bool blocks = (mask | outer) & given;
	if (given && !sn_confined())
		syscall(SYS_rt_sigprocmask, blocks ? SIG_BLOCK : SIG_UNBLOCK, &given, NULL,
			sizeof(given));
}

static void open_samples(void)
{
	uint64_t ours = sn_sample_signal_bit();
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

static struct sn_gate_target target_of(int signal, siginfo_t *info, ucontext_t *context,
				       char *frame, const struct kept *action)
{
	struct sn_gate_target target = {
	    atomic_load_explicit(&action->handler, memory_order_relaxed)};
	if (sn_sample_signal_is_served(signal) && sn_sampling_is_sample(info)) {
		sn_interrupted_call_mend(context);
		sn_sampling_renew(context);
		target.handler = NULL;
		return target;
	}
	if (sn_sample_signal_is_served(signal) && sn_sampling_keep_blocked(signal, info, context)) {
		target.handler = NULL;
		return target;
	}
	correct_mask(signal, action, context);
	sn_interrupted_call_handled(context, signal);
	believe(action, context);
	bool has_room = has_room_for_samples(&context->uc_stack, (uintptr_t)frame);
	if (!has_room)
		sn_samples_spare_stack(&context->uc_stack);
	hide_own_stack(&context->uc_stack);
	uintptr_t interrupted = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
	if (sn_own_stack_has((uintptr_t)frame) && !sn_own_stack_has(interrupted))
		target.frame = move_frame(info, context, frame);
	if (has_room)
		open_samples();
	return target;
}

struct sn_gate_target sn_gate_enter(int signal, siginfo_t *info, ucontext_t *context, char *frame,
				    unsigned gate)
{
	uint64_t flags = sn_machine_flags_tame();
	struct sn_gate_target target =
	    target_of(signal, info, context, frame, &kept_actions[signal][gate]);
	sn_machine_flags_restore(flags);
	return target;
}

/* ---- actions ---- */

static bool is_handler(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO ||
	       (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

/* What was kept of the kernel's action; NULL where it has no gate. */
static const struct kept *kept_of(int signal, const struct sigaction *kernel)
{
	uintptr_t at = (uintptr_t)kernel->sa_sigaction - (uintptr_t)sn_gates;
	return at < sizeof(sn_gates) ? &kept_actions[signal][at / GATE_BYTES] : NULL;
}

void sn_program_action_translate(int signal, struct sigaction *action)
{
	const struct kept *kept = kept_of(signal, action);
	if (!kept)
		return;
	action->sa_sigaction = (void (*)(int, siginfo_t *, void *))atomic_load_explicit(
	    &kept->handler, memory_order_relaxed);
	if (atomic_load_explicit(&kept->without_info, memory_order_relaxed))
		action->sa_flags &= ~SA_SIGINFO;
	uint64_t changed = atomic_load_explicit(&kept->changed, memory_order_relaxed);
	uint64_t mask = atomic_load_explicit(&kept->mask, memory_order_relaxed);
	mask = (sn_signal_bits(&action->sa_mask) & ~changed) | (mask & changed);
	sn_signal_set_bits(&action->sa_mask, mask);
}

/* What the kernel gets: no handler blocks samples for as long as it runs, and all have the gate. */
static struct sigaction for_kernel(int signal, const struct sigaction *action)
{
	struct sigaction kernel = *action;
	uint64_t ours = sn_sample_signal_bit();
	uint64_t mask = sn_signal_bits(&action->sa_mask);
	if (!is_handler(action))
		return kernel;
	unsigned gate =
	    atomic_fetch_add_explicit(&kept_count[signal], 1, memory_order_relaxed) % KEPT_ACTIONS;
	struct kept *kept = &kept_actions[signal][gate];
	/* it tells a sample from the program's signal */
	bool adds_info = sn_sample_signal_is_served(signal) && !(action->sa_flags & SA_SIGINFO);
	atomic_store_explicit(&kept->handler, (void *)action->sa_handler, memory_order_relaxed);
	atomic_store_explicit(&kept->mask, mask, memory_order_relaxed);
	atomic_store_explicit(&kept->changed, ours, memory_order_relaxed);
	atomic_store_explicit(&kept->without_info, adds_info, memory_order_relaxed);
	mask = action->sa_flags & SA_ONSTACK ? mask | ours : mask & ~ours;
	sn_signal_set_bits(&kernel.sa_mask, mask);
	kernel.sa_sigaction =
	    (void (*)(int, siginfo_t *, void *))(uintptr_t)(sn_gates + gate * GATE_BYTES);
	kernel.sa_flags |= adds_info ? SA_SIGINFO : 0;
	return kernel;
}

int sn_program_sigaction(int signal, const struct sigaction *new_action,
			 struct sigaction *old_action)
{
	struct sigaction kernel;
	if (signal <= 0 || signal >= NSIG)
		return sn_real_sigaction(signal, new_action, old_action);
	/* a child on its parent's memory has handlers of its own, but not tables: no sample comes
	 * there */
	if (new_action)
		kernel = sn_is_measured_process() ? for_kernel(signal, new_action) : *new_action;
	int status = sn_real_sigaction(signal, new_action ? &kernel : NULL, old_action);
	if (!status && old_action)
		sn_program_action_translate(signal, old_action);
	return status;
}
