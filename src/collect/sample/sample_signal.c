/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing and giving up real-time signals, and the program's view of its mask; see
 * sample_signal.h. */
#include "sample_signal.h"

#include "go_program.h"
#include "collect/intercept/intercept.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The C library keeps 32 and 33 for itself; SIGRTMIN, 34, is what some runtimes take first. */
#define LOWEST_SIGNAL  35
#define HIGHEST_SIGNAL 64
#define GO_SIGNAL      34

static _Atomic int current;
static _Atomic uint64_t served;
static _Atomic uint64_t wanted; /* by the program */
static _Atomic uint64_t believed_anywhere;
static struct sigaction action;

/* What the program believes blocked, and the mask that it set with it: where the kernel's mask has
 * lost that (siglongjmp, setcontext), the belief is over too. */
static __thread uint64_t believed __attribute__((tls_model("initial-exec")));
static __thread uint64_t companions __attribute__((tls_model("initial-exec")));

int sn_sample_signal(void)
{
	return atomic_load_explicit(&current, memory_order_relaxed);
}

uint64_t sn_sample_signal_bit(void)
{
	int signal = sn_sample_signal();
	return signal ? SN_SIGNAL_BIT(signal) : 0;
}

bool sn_sample_signal_is_chosen(void)
{
	return atomic_load_explicit(&served, memory_order_relaxed) != 0;
}

bool sn_sample_signal_is_served(int signal)
{
	return signal >= GO_SIGNAL && signal <= HIGHEST_SIGNAL &&
	       atomic_load_explicit(&served, memory_order_relaxed) & SN_SIGNAL_BIT(signal);
}

const struct sigaction *sn_sample_signal_action(void)
{
	return &action;
}

static uint64_t kernel_mask(void)
{
	uint64_t mask = 0;
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof(mask));
	return mask;
}

/* ---- choosing ---- */

/* Blocked or pending signals of the calling thread; a filled mask is ignored. */
static uint64_t blocked_or_pending(void)
{
	uint64_t pending = 0, mask = kernel_mask();
	syscall(SYS_rt_sigpending, &pending, sizeof(pending));
	return pending | (sn_sample_signal_in_filled(mask | atomic_load(&served)) ? 0 : mask);
}

static bool is_free(int signal)
{
	struct sigaction old;
	return !(atomic_load_explicit(&wanted, memory_order_relaxed) & SN_SIGNAL_BIT(signal)) &&
	       !sn_sample_signal_is_served(signal) && !sn_real_sigaction(signal, NULL, &old) &&
	       !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL;
}

/* A free signal with our handler on it; 0: none. Two threads may both take one: the loser's stays
 * served and is never sent. */
static int claim_signal(int highest, int lowest)
{
	uint64_t in_use = blocked_or_pending();
	for (int signal = highest; signal >= lowest; signal--) {
		if (in_use & SN_SIGNAL_BIT(signal) || !is_free(signal))
			continue;
		/* first served, then handled: no thread may see the handler without this mark */
		atomic_fetch_or_explicit(&served, SN_SIGNAL_BIT(signal), memory_order_relaxed);
		if (!sn_real_sigaction(signal, &action, NULL))
			return signal;
	}
	return 0;
}

int sn_sample_signal_init(void (*handler)(int, siginfo_t *, void *))
{
	action.sa_sigaction = handler;
	action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
	sigfillset(&action.sa_mask);
	/* errors in the handler must surface as they would in the program */
	static const int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
	for (size_t index = 0; index < sizeof(synchronous) / sizeof(*synchronous); index++)
		sigdelset(&action.sa_mask, synchronous[index]);
	/* Go's runtime handles all signals but one, by system calls that cannot be intercepted */
	bool is_go = sn_go_program() == SN_GO_CGO;
	int signal = is_go ? claim_signal(GO_SIGNAL, GO_SIGNAL)
			   : claim_signal(HIGHEST_SIGNAL, LOWEST_SIGNAL);
	atomic_store_explicit(&current, signal, memory_order_relaxed);
	return signal ? 0 : -EBUSY;
}

void sn_sample_signal_yield(uint64_t signals)
{
	int signal = sn_sample_signal(), expected = signal;
	atomic_fetch_or_explicit(&wanted, signals, memory_order_relaxed);
	if (!signal || !(signals & SN_SIGNAL_BIT(signal)))
		return;
	int next = claim_signal(signal - 1, LOWEST_SIGNAL);
	/* of two threads the second finds the first one's choice */
	atomic_compare_exchange_strong_explicit(&current, &expected, next, memory_order_relaxed,
						memory_order_relaxed);
}

bool sn_sample_signal_in_filled(uint64_t set)
{
	uint64_t all = ~0ull << (LOWEST_SIGNAL - 1);
	return (set & all) == all;
}

/* ---- masks ---- */

uint64_t sn_believed_blocked(uint64_t mask)
{
	return (mask & companions) == companions ? believed : 0;
}

void sn_believed_set_with(uint64_t bits, uint64_t with)
{
	if (bits & ~atomic_load_explicit(&believed_anywhere, memory_order_relaxed))
		atomic_fetch_or_explicit(&believed_anywhere, bits, memory_order_relaxed);
	believed = bits;
	companions = with;
}

uint64_t sn_believed_anywhere(void)
{
	return atomic_load_explicit(&believed_anywhere, memory_order_relaxed);
}

void sn_believed_set(uint64_t bits)
{
	/* all that is blocked beside ours was blocked with it or before */
	sn_believed_set_with(bits, bits ? kernel_mask() & ~bits : 0);
}

struct sn_belief sn_believed_get(void)
{
	return (struct sn_belief){believed ? sn_believed_blocked(kernel_mask()) : 0};
}

void sn_believed_inherit(struct sn_belief belief)
{
	believed = companions = 0;
	if (belief.blocked)
		sn_believed_set(belief.blocked);
}

uint64_t sn_believed_begin(void)
{
	uint64_t blocked = sn_believed_get().blocked;
	if (blocked)
		syscall(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, NULL, sizeof(blocked));
	return blocked;
}

void sn_believed_end(uint64_t blocked)
{
	int saved_errno = errno;
	if (blocked)
		syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &blocked, NULL, sizeof(blocked));
	errno = saved_errno;
}

uint64_t sn_samples_hold(void)
{
	int saved_errno = errno;
	uint64_t held = sn_sample_signal_bit(), before = 0;
	if (!held || sn_confined() || !sn_thread_self())
		return 0;
	if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, &held, &before, sizeof(held)))
		held = 0;
	errno = saved_errno;
	return held & ~before;
}

void sn_samples_release(uint64_t held)
{
	sn_believed_end(held);
}

static __thread uintptr_t spared_low __attribute__((tls_model("initial-exec")));
static __thread size_t spared_bytes __attribute__((tls_model("initial-exec")));

void sn_samples_spare_stack(const stack_t *stack)
{
	spared_low = (uintptr_t)stack->ss_sp;
	spared_bytes = stack->ss_size;
}

uint64_t sn_samples_spared(void)
{
	uint64_t bit = sn_sample_signal_bit();
	/* memory that was a signal stack once may be another stack now */
	if ((uintptr_t)__builtin_frame_address(0) - spared_low >= spared_bytes || !bit ||
	    sn_confined())
		return 0;
	return kernel_mask() & bit;
}
