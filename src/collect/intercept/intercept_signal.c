/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals. The program sees its dispositions and masks as if the sample signal were not in use, and
 * cannot block it by accident (many programs fill a mask); if it means that signal, the signal is
 * given to it (sample_signal.h). If a signal's default action would end the program, a handler
 * writes the last snapshot and then lets that action happen.
 */
#include "intercept.h"
#include "collect/core/line.h"
#include "collect/sample/interrupted_call.h"
#include "unwind/machine.h"
#include "unwind/memory.h"
#include "collect/unwind/own_stack.h"
#include "collect/sample/program_handler.h"
#include "collect/sample/program_memory.h"
#include "collect/sample/sample.h"
#include "collect/sample/sample_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <stdatomic.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

SN_REAL(int, sigaction, (int, const struct sigaction *, struct sigaction *))
SN_REAL(int, pthread_sigmask, (int, const sigset_t *, sigset_t *))
SN_REAL(int, sigprocmask, (int, const sigset_t *, sigset_t *))
SN_REAL(int, sigpending, (sigset_t *))
SN_REAL(int, sigwait, (const sigset_t *, int *))
SN_REAL(int, sigtimedwait, (const sigset_t *, siginfo_t *, const struct timespec *))
SN_REAL(int, signalfd, (int, const sigset_t *, int))

int sn_real_sigaction(int signal, const struct sigaction *new_action, struct sigaction *old_action)
{
	return real_sigaction_get()(signal, new_action, old_action);
}

/* ---- fatal signals ---- */

static const int fatal_signals[] = {SIGSEGV, SIGBUS,	SIGFPE,	 SIGILL,   SIGABRT, SIGTRAP,
				    SIGSYS,  SIGTERM,	SIGINT,	 SIGHUP,   SIGQUIT, SIGPIPE,
				    SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1,  SIGUSR2, SIGXCPU,
				    SIGXFSZ, SIGIO,	SIGPWR,	 SIGSTKFLT};

/* Apart, for it takes more of a stack than what comes before the own one. */
static void __attribute__((noinline)) describe(int signal, char text[16])
{
	struct sn_line line = {text, 16, 0};
	sn_line_add(&line, "signal ");
	sn_line_add_number(&line, (uint64_t)signal);
}

/*
 * A fault happens again when its instruction is tried again, and then ends the program as it would
 * have. Nothing else does: a terminal's interrupt, a timer, a trap behind its instruction.
 */
static bool happens_again(int signal, int code)
{
	if (code <= 0)
		return false; /* sent by a process */
	return signal == SIGSEGV || signal == SIGFPE || signal == SIGILL ||
	       (signal == SIGBUS && code != BUS_MCEERR_AO);
}

static _Atomic bool ends_in_handler;

bool sn_ends_in_handler(void)
{
	return atomic_load_explicit(&ends_in_handler, memory_order_relaxed);
}

static void write_last(void *text)
{
	atomic_store_explicit(&ends_in_handler, true, memory_order_relaxed);
	sn_stop(text);
}

/* The first process of a namespace does not get signals that it has no handler for. */
static bool is_ignored_by_first(int signal, int code)
{
	return syscall(SYS_getpid) == 1 && !happens_again(signal, code);
}

static void on_fatal(int signal, siginfo_t *info, void *context)
{
	char text[16];
	sn_machine_flags_tame();
	bool is_sample = signal == SIGIO && sn_sampling_is_overflow(info);
	if (is_sample || is_ignored_by_first(signal, info->si_code)) {
		sn_interrupted_call_mend(context);
		if (is_sample)
			sn_drop(NULL, SN_DROP_SAMPLE_BUSY, 1);
		return;
	}
	describe(signal, text);
	sn_in_handler_on_own_stack(write_last, text);
	struct sigaction action = {.sa_handler = SIG_DFL};
	sn_real_sigaction(signal, &action, NULL);
	if (!happens_again(signal, info->si_code))
		syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), signal);
}

void sn_signal_end_program(int signal, void *context)
{
	siginfo_t sent = {.si_code = SI_USER};
	on_fatal(signal, &sent, context);
}

static const struct sigaction *fatal_action(void)
{
	static struct sigaction action;
	action.sa_sigaction = on_fatal;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
	/* nothing of the program's runs on our stack; errors there end the program, as they should
	 */
	sigfillset(&action.sa_mask);
	return &action;
}

static bool is_default(const struct sigaction *action)
{
	return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
}

/* An action that stands for the default one. */
static bool is_ours(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO &&
	       (action->sa_sigaction == on_fatal ||
		action->sa_sigaction == sn_sample_signal_action()->sa_sigaction);
}

void sn_fatal_init(void)
{
	for (size_t index = 0; index < sizeof(fatal_signals) / sizeof(*fatal_signals); index++) {
		int signal = fatal_signals[index];
		struct sigaction old;
		if (!sn_real_sigaction(signal, NULL, &old) && is_default(&old))
			sn_real_sigaction(signal, fatal_action(), NULL);
	}
}

void sn_fatal_release(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL}, old;
	for (size_t index = 0; index < sizeof(fatal_signals) / sizeof(*fatal_signals); index++)
		if (!sn_real_sigaction(fatal_signals[index], NULL, &old) && is_ours(&old))
			sn_real_sigaction(fatal_signals[index], &action, NULL);
}

static bool is_number(int signal)
{
	return signal > 0 && signal < NSIG;
}

static bool is_fatal(int signal)
{
	for (size_t index = 0; index < sizeof(fatal_signals) / sizeof(*fatal_signals); index++)
		if (fatal_signals[index] == signal)
			return true;
	return false;
}

static bool may_change(void)
{
	return sn_measuring() && sn_is_measured_process();
}

/* ---- dispositions ---- */

/* What the kernel gets where the program wants the default action of a signal; NULL: that action.
 */
static const struct sigaction *default_of(int signal)
{
	if (sn_sample_signal_is_served(signal))
		return sn_sample_signal_action();
	return is_fatal(signal) && may_change() ? fatal_action() : NULL;
}

SN_EXPORT int sigaction(int signal, const struct sigaction *new_action,
			struct sigaction *old_action)
{
	struct sigaction old;
	if (!sn_sample_signal_is_chosen())
		return sn_real_sigaction(signal, new_action, old_action);
	bool to_default = new_action && is_default(new_action);
	const struct sigaction *ours = to_default ? default_of(signal) : NULL;
	if (new_action && !to_default && is_number(signal))
		sn_signal_yield(SN_SIGNAL_BIT(signal));
	int status = ours ? sn_real_sigaction(signal, ours, &old)
			  : sn_program_sigaction(signal, new_action, &old);
	if (status)
		return status;
	if (is_ours(&old))
		old = (struct sigaction){.sa_handler = SIG_DFL};
	else if (ours)
		sn_program_action_translate(signal, &old);
	if (old_action)
		*old_action = old;
	return 0;
}

static sighandler_t set_handler(int signal, sighandler_t handler, int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
	if (handler == SIG_ERR) {
		errno = EINVAL;
		return SIG_ERR;
	}
	sigemptyset(&action.sa_mask);
	if (!(flags & SA_RESETHAND) && is_number(signal))
		sigaddset(&action.sa_mask, signal);
	return sigaction(signal, &action, &old) ? SIG_ERR : old.sa_handler;
}

/* Signals that siginterrupt(3) was called for: signal(3) asks for no restart then. */
static _Atomic uint64_t interrupting;

SN_EXPORT sighandler_t signal(int number, sighandler_t handler)
{
	bool interrupts = is_number(number) && interrupting & SN_SIGNAL_BIT(number);
	return set_handler(number, handler, interrupts ? 0 : SA_RESTART);
}

SN_EXPORT int siginterrupt(int number, int interrupts)
{
	struct sigaction action;
	if (sigaction(number, NULL, &action))
		return -1;
	if (interrupts) {
		interrupting |= SN_SIGNAL_BIT(number);
		action.sa_flags &= ~SA_RESTART;
	} else {
		interrupting &= ~SN_SIGNAL_BIT(number);
		action.sa_flags |= SA_RESTART;
	}
	return sigaction(number, &action, NULL);
}

SN_EXPORT sighandler_t ssignal(int number, sighandler_t handler)
{
	return signal(number, handler);
}

sighandler_t bsd_signal(int number, sighandler_t handler);
SN_EXPORT sighandler_t bsd_signal(int number, sighandler_t handler)
{
	return signal(number, handler);
}

SN_EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
{
	return set_handler(number, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

SN_EXPORT sighandler_t sysv_signal(int number, sighandler_t handler)
{
	return __sysv_signal(number, handler);
}

/* ---- System V ---- */

static bool is_blocked(int signal)
{
	sigset_t mask;
	return !sigprocmask(SIG_BLOCK, NULL, &mask) && sigismember(&mask, signal) == 1;
}

SN_EXPORT sighandler_t sigset(int number, sighandler_t handler)
{
	struct sigaction old, action = {.sa_handler = handler};
	sigset_t one;
	sigemptyset(&one);
	sigemptyset(&action.sa_mask);
	if (sigaddset(&one, number))
		return SIG_ERR;
	bool was_held = is_blocked(number), holds = handler == SIG_HOLD;
	if (sigaction(number, holds ? NULL : &action, &old) ||
	    sigprocmask(holds ? SIG_BLOCK : SIG_UNBLOCK, &one, NULL))
		return SIG_ERR;
	return was_held ? SIG_HOLD : old.sa_handler;
}

/* ---- masks ---- */

typedef int mask_function(int how, const sigset_t *new_set, sigset_t *old_set);

/* What the program believes after a change that names `bits`. */
static uint64_t belief_after(int how, uint64_t before, uint64_t bits)
{
	if (how == SIG_BLOCK)
		return before | (bits & sn_sample_signal_bit());
	return how == SIG_UNBLOCK ? before & ~bits : bits & sn_sample_signal_bit();
}

/* What the kernel gets of such a change: samples stay as they are. */
static uint64_t passed_bits(int how, uint64_t bits, uint64_t spared)
{
	if (how == SIG_UNBLOCK)
		return bits & ~spared;
	return (bits & ~sn_sample_signal_bit()) | (how == SIG_SETMASK ? spared : 0);
}

static int change_mask(mask_function *real, int how, const sigset_t *new_set, sigset_t *old_set)
{
	sigset_t old, passed;
	bool is_known = how == SIG_BLOCK || how == SIG_UNBLOCK || how == SIG_SETMASK;
	uint64_t spared = sn_samples_spared();
	/* samples of before that this thread must not find in its way */
	sn_sampling_renew(NULL);
	uint64_t bits = new_set ? sn_signal_bits(new_set) : 0;
	if (new_set && is_known) {
		passed = *new_set;
		sn_signal_set_bits(&passed, passed_bits(how, bits, spared));
	}
	int status = real(how, new_set && is_known ? &passed : new_set, &old);
	if (status)
		return status;
	uint64_t believed = sn_believed_blocked(sn_signal_bits(&old));
	if (old_set) {
		*old_set = old;
		sn_signal_set_bits(old_set, (sn_signal_bits(&old) & ~spared) | believed);
	}
	if (new_set && (believed || bits & sn_sample_signal_bit()))
		sn_believed_set(belief_after(how, believed, bits));
	return 0;
}

/* The child of a vfork changes its own mask, and what it believes is its parent's. */
static int change_mask_of_child(mask_function *real, int how, const sigset_t *new_set,
				sigset_t *old_set)
{
	uint64_t spared = old_set ? sn_samples_spared() : 0;
	int status = real(how, new_set, old_set);
	if (!status && old_set)
		sn_signal_set_bits(old_set, (sn_signal_bits(old_set) & ~spared) |
						sn_believed_blocked(sn_signal_bits(old_set)));
	return status;
}

static int mask(mask_function *real, int how, const sigset_t *new_set, sigset_t *old_set)
{
	if (!sn_thread_self())
		return real(how, new_set, old_set);
	return sn_is_measured_process() ? change_mask(real, how, new_set, old_set)
					: change_mask_of_child(real, how, new_set, old_set);
}

SN_EXPORT int pthread_sigmask(int how, const sigset_t *new_set, sigset_t *old_set)
{
	return mask(real_pthread_sigmask_get(), how, new_set, old_set);
}

SN_EXPORT int sigprocmask(int how, const sigset_t *new_set, sigset_t *old_set)
{
	return mask(real_sigprocmask_get(), how, new_set, old_set);
}

/* A sample that waits until a handler has left a small signal stack is none of the program's. */
SN_EXPORT int sigpending(sigset_t *set)
{
	int status = real_sigpending_get()(set);
	uint64_t spared = status ? 0 : sn_samples_spared();
	if (spared)
		sn_signal_set_bits(set, sn_signal_bits(set) & ~spared);
	return status;
}

/* The C library's own change the mask where no wrapper stands. */
static int hold(int how, int number)
{
	sigset_t one;
	sigemptyset(&one);
	return sigaddset(&one, number) ? -1 : sigprocmask(how, &one, NULL);
}

SN_EXPORT int sighold(int number)
{
	return hold(SIG_BLOCK, number);
}

SN_EXPORT int sigrelse(int number)
{
	return hold(SIG_UNBLOCK, number);
}

SN_EXPORT int sigignore(int number)
{
	struct sigaction action = {.sa_handler = SIG_IGN};
	return sigaction(number, &action, NULL);
}

/* ---- waiting for signals ---- */

/* The program's set, or a copy of its `bits` without the sample signal. The kernel reads no more than those. */
static const sigset_t *without_sample(const sigset_t *set, uint64_t bits, sigset_t *storage)
{
	if (!sn_thread_self() || !(bits & sn_sample_signal_bit()))
		return set;
	sigemptyset(storage);
	sn_signal_set_bits(storage, bits & ~sn_sample_signal_bit());
	return storage;
}

/*
 * A filled set, whose `bits` are set then, names the sample signal and does not mean it. Where the
 * program does, it gets it, blocked in this thread if the program believes so.
 */
static bool is_filled(const sigset_t *set, uint64_t *bits)
{
	if (!set || !sn_sample_signal_is_chosen() || !sn_program_read(set, bits, sizeof(*bits)))
		return false;
	if (sn_sample_signal_in_filled(*bits))
		return true;
	sn_signal_yield(*bits);
	return false;
}

/* ---- calls with a mask of their own ---- */

/* The mask of the call that this thread is in, where the kernel was given another: what it reads each time the call is made is not on the
 * stack, which a handler may leave for good. */
static __thread struct sn_mask_of_call mask_of_call __attribute__((tls_model("initial-exec")));

static void complete_mask_of_call(void)
{
	mask_of_call.passed = (mask_of_call.asked & ~sn_sample_signal_bit()) | mask_of_call.spared;
}

struct sn_mask_of_call sn_mask_of_call_begin(const sigset_t **mask)
{
	struct sn_mask_of_call outer =
	    mask_of_call; /* of what a handler that waits has interrupted */
	uint64_t bits, spared = sn_samples_spared();
	mask_of_call = (struct sn_mask_of_call){0};
	if (!*mask || !sn_thread_self() || !sn_program_read(*mask, &bits, sizeof(bits)) ||
	    (bits & sn_sample_signal_bit()) == spared)
		return outer;
	mask_of_call.asked = bits;
	mask_of_call.spared = spared;
	complete_mask_of_call();
	*mask = (const sigset_t *)&mask_of_call.passed;
	return outer;
}

void sn_mask_of_call_end(struct sn_mask_of_call outer)
{
	uint64_t kept = mask_of_call.kept;
	mask_of_call = outer;
	sn_believed_end(kept); /* lets it in */
}

bool sn_mask_of_call_blocks(int signal, const ucontext_t *context)
{
	const greg_t *registers = context->uc_mcontext.gregs;
	uintptr_t set = (uintptr_t)&mask_of_call.passed, of_pair = 0;
	if (!(mask_of_call.asked & SN_SIGNAL_BIT(signal)))
		return false;
	/* where rt_sigsuspend, ppoll, epoll_pwait have it; pselect6 has the address of a pair */
	return (uintptr_t)registers[REG_RDI] == set || (uintptr_t)registers[REG_R10] == set ||
	       (uintptr_t)registers[REG_R8] == set ||
	       (sn_memory_read((uintptr_t)registers[REG_R9], &of_pair, sizeof(of_pair)) ==
		    sizeof(of_pair) &&
		of_pair == set);
}

void sn_mask_of_call_keep(int signal)
{
	mask_of_call.kept |= SN_SIGNAL_BIT(signal);
	complete_mask_of_call();
}

/* ---- waiting for one of a set ---- */

/*
 * The filled set that this thread waits for, and what the kernel reads instead each time the call
 * is made: it is not on the stack, which a handler may leave for good.
 */
struct wait_set {
	uint64_t asked, passed;
};
static __thread struct wait_set wait_set __attribute__((tls_model("initial-exec")));

static struct wait_set wait_begin(uint64_t asked)
{
	struct wait_set outer = wait_set; /* of what a handler that waits has interrupted */
	wait_set.asked = asked;
	sn_signal_wait_complete(0);
	return outer;
}

/* A signal that becomes the program's before the call, or before it is made again, is waited for:
 * sn_signal_wait_complete. */
static int wait_for(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	uint64_t bits;
	if (!sn_thread_self() || !is_filled(set, &bits))
		return real_sigtimedwait_get()(set, info, timeout);
	struct wait_set outer = wait_begin(bits);
	int ours, found;
	do {
		ours = sn_sample_signal();
		found = real_sigtimedwait_get()((const sigset_t *)&wait_set.passed, info, timeout);
	} while (found < 0 && errno == EINTR && ours != sn_sample_signal());
	wait_set = outer;
	return found;
}

void sn_signal_wait_complete(uint64_t theirs)
{
	wait_set.passed = wait_set.asked & (~sn_sample_signal_bit() | theirs);
	complete_mask_of_call();
}

SN_EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	return wait_for(set, info, NULL);
}

SN_EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	return wait_for(set, info, timeout);
}

SN_EXPORT int sigwait(const sigset_t *set, int *signal)
{
	int saved_errno = errno, found;
	if (!sn_thread_self())
		return real_sigwait_get()(set, signal);
	do
		found = sigwaitinfo(set, NULL);
	while (found < 0 && errno == EINTR);
	int error = found < 0 ? errno : 0;
	if (found > 0)
		*signal = found;
	errno = saved_errno;
	return error;
}

static _Atomic bool has_filled_signalfds;

SN_EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
	sigset_t storage;
	uint64_t bits = 0;
	if (!is_filled(set, &bits))
		return real_signalfd_get()(fd, set, flags);
	atomic_store_explicit(&has_filled_signalfds, true, memory_order_relaxed);
	return real_signalfd_get()(fd, without_sample(set, bits, &storage), flags);
}

/* What a signalfd takes, by /proc/self/fdinfo/NUMBER; 0 for other files. */
static uint64_t set_of_signalfd(int folder, const char *number)
{
	static const char key[] = "sigmask:\t";
	char text[512];
	uint64_t bits = 0;
	sn_read_text(folder, number, text, sizeof(text));
	const char *at = strstr(text, key);
	if (at)
		sn_parse_number(at + sizeof(key) - 1, 16, &bits);
	return bits;
}

/* It was given a filled set without `signal`, which it takes from now on. */
static void complete_signalfd(int folder, const char *number, int signal)
{
	uint64_t bits = set_of_signalfd(folder, number);
	uint64_t all = bits | SN_SIGNAL_BIT(signal), fd;
	if (!bits || all == bits || !sn_sample_signal_in_filled(all))
		return;
	all &= ~sn_sample_signal_bit();
	sn_parse_number(number, 10, &fd);
	syscall(SYS_signalfd4, (int)fd, &all, sizeof(all), 0);
}

void sn_signalfds_complete(void *signal)
{
	struct {
		uint64_t inode, offset;
		unsigned short bytes;
		unsigned char type;
		char name[];
	} * entry; /* linux_dirent64 */
	_Alignas(8) char entries[2048];
	long length;
	bool has_some =
	    atomic_load_explicit(&has_filled_signalfds, memory_order_relaxed) && !sn_confined();
	int folder = has_some ? (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/fdinfo",
					     O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			      : -1;
	while (folder >= 0 &&
	       (length = syscall(SYS_getdents64, folder, entries, sizeof(entries))) > 0)
		for (long at = 0; at < length; at += entry->bytes) {
			entry = (void *)(entries + at);
			if (entry->name[0] != '.')
				complete_signalfd(folder, entry->name, *(int *)signal);
		}
	if (folder >= 0)
		syscall(SYS_close, folder);
}

void sn_signal_yield(uint64_t signals)
{
	int ours = sn_sample_signal(), saved_errno = errno;
	/* no samples come to a child that was made unseen or by vfork, and its handlers are not its
	 * parent's, though our choice may be */
	if (ours && signals & SN_SIGNAL_BIT(ours) && !sn_is_measured_process())
		return;
	sn_sample_signal_yield(signals);
	if (!ours || ours == sn_sample_signal())
		return;
	sn_sampling_renew(NULL);
	sn_on_own_stack(sn_signalfds_complete, &ours);
	errno = saved_errno;
}

/* ---- the same by number ---- */

static int kernel_mask_of(int how, const sigset_t *new_set, sigset_t *old_set)
{
	if (old_set)
		sigemptyset(old_set);
	return (int)syscall(SYS_rt_sigprocmask, how, new_set, old_set, 8);
}

/* The kernel's sets are shorter than the C library's. */
#define KERNEL_SET_BYTES 8u

static long fails_with(int error)
{
	errno = error;
	return -1;
}

static long raw_mask(int how, const void *new_bits, void *old_bits)
{
	sigset_t new_set, old_set;
	sigemptyset(&new_set);
	if (new_bits && !sn_program_read(new_bits, &new_set, KERNEL_SET_BYTES))
		return fails_with(EFAULT);
	long status = mask(kernel_mask_of, how, new_bits ? &new_set : NULL, &old_set);
	if (!status && old_bits)
		status = sn_program_write(old_bits, &old_set, KERNEL_SET_BYTES);
	return status;
}

/* As the kernel has it; the C library puts its own function to return through in between. */
struct kernel_action {
	sighandler_t handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};
#define HAS_RESTORER 0x04000000u

/* The kernel's action returns through the program's own function, as it asked. */
static void set_restorer(int signal, void *restorer)
{
	struct kernel_action kernel;
	if (syscall(SYS_rt_sigaction, signal, NULL, &kernel, KERNEL_SET_BYTES))
		return;
	kernel.flags |= HAS_RESTORER;
	kernel.restorer = restorer;
	syscall(SYS_rt_sigaction, signal, &kernel, NULL, KERNEL_SET_BYTES);
}

static long raw_action(int signal, const struct kernel_action *new_action,
		       struct kernel_action *old_action)
{
	struct kernel_action kernel, asked;
	struct sigaction old, action = {0};
	if (new_action && !sn_program_read(new_action, &asked, sizeof(asked)))
		return fails_with(EFAULT);
	if (syscall(SYS_rt_sigaction, signal, NULL, &kernel, KERNEL_SET_BYTES))
		return -1;
	if (new_action) {
		action.sa_handler = asked.handler;
		action.sa_flags = (int)(asked.flags & ~HAS_RESTORER);
		sn_signal_set_bits(&action.sa_mask, asked.mask);
	}
	if (sigaction(signal, new_action ? &action : NULL, &old))
		return -1;
	if (new_action && asked.flags & HAS_RESTORER && !is_default(&action))
		set_restorer(signal, asked.restorer);
	if (!old_action)
		return 0;
	struct kernel_action told = {0};
	if (!is_default(&old))
		told = (struct kernel_action){
		    old.sa_handler, (kernel.flags & HAS_RESTORER) | (unsigned)old.sa_flags,
		    kernel.restorer, sn_signal_bits(&old.sa_mask)};
	return sn_program_write(old_action, &told, sizeof(told));
}

/* A filled set keeps our signal, which then becomes the program's: few programs fill sets by
 * number. */
static void raw_set(const void *bits)
{
	uint64_t set;
	if (!bits || !sn_program_read(bits, &set, sizeof(set)))
		return;
	sn_signal_yield(sn_sample_signal_in_filled(set) ? sn_sample_signal_bit() : set);
}

bool sn_raw_signal_call(long number, const long arguments[4], long *result)
{
	switch (number) {
	case SYS_rt_sigprocmask:
		if (arguments[3] != KERNEL_SET_BYTES)
			return false;
		*result =
		    raw_mask((int)arguments[0], (const void *)arguments[1], (void *)arguments[2]);
		return true;
	case SYS_sigaltstack:
		*result = sigaltstack((const stack_t *)arguments[0], (stack_t *)arguments[1]);
		return true;
	case SYS_rt_sigaction:
		/* the C library keeps two signals for itself, and refuses them */
		if (!is_number((int)arguments[0]) || arguments[0] == 32 || arguments[0] == 33 ||
		    arguments[3] != KERNEL_SET_BYTES)
			return false;
		*result =
		    raw_action((int)arguments[0], (const void *)arguments[1], (void *)arguments[2]);
		return true;
	case SYS_rt_sigtimedwait:
		raw_set((const void *)arguments[0]);
		return false;
	case SYS_signalfd:
	case SYS_signalfd4:
		raw_set((const void *)arguments[1]);
		return false;
	default:
		return false;
	}
}
