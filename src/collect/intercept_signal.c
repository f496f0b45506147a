/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals. The program sees its dispositions and masks as if the sample signal were not in use, and
 * cannot block it by accident (many programs fill a mask). Where a signal's default action would
 * end the program, a handler writes the last snapshot and then lets that action happen.
 */
#include "adapters.h"
#include "intercept.h"
#include "sample.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

SN_REAL(int, sigaction, (int, const struct sigaction *, struct sigaction *))
SN_REAL(int, pthread_sigmask, (int, const sigset_t *, sigset_t *))
SN_REAL(int, sigprocmask, (int, const sigset_t *, sigset_t *))
SN_REAL(int, sigwait, (const sigset_t *, int *))
SN_REAL(int, sigwaitinfo, (const sigset_t *, siginfo_t *))
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
static _Atomic bool fatal_is_ours[NSIG];

static void describe(int signal, char text[16])
{
	memcpy(text, "signal ", 8);
	char *digit = text + 7;
	if (signal >= 10)
		*digit++ = (char)('0' + signal / 10);
	*digit++ = (char)('0' + signal % 10);
	*digit = 0;
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

static void on_fatal(int signal, siginfo_t *info, void *context)
{
	char text[16];
	describe(signal, text);
	sn_stop(text);
	struct sigaction action = {.sa_handler = SIG_DFL};
	sn_real_sigaction(signal, &action, NULL);
	if (!happens_again(signal, info->si_code))
		syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), signal);
}

static const struct sigaction *fatal_action(void)
{
	static struct sigaction action;
	action.sa_sigaction = on_fatal;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigemptyset(&action.sa_mask);
	return &action;
}

void sn_fatal_init(void)
{
	for (size_t index = 0; index < sizeof(fatal_signals) / sizeof(*fatal_signals); index++) {
		int signal = fatal_signals[index];
		struct sigaction old;
		if (sn_real_sigaction(signal, NULL, &old) || old.sa_handler != SIG_DFL)
			continue;
		fatal_is_ours[signal] = !sn_real_sigaction(signal, fatal_action(), NULL);
	}
}

void sn_fatal_release(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	for (size_t index = 0; index < sizeof(fatal_signals) / sizeof(*fatal_signals); index++)
		if (fatal_is_ours[fatal_signals[index]])
			sn_real_sigaction(fatal_signals[index], &action, NULL);
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

static int fatal_sigaction(int signal, const struct sigaction *new_action,
			   struct sigaction *old_action)
{
	struct sigaction old;
	bool to_default = new_action && !(new_action->sa_flags & SA_SIGINFO) &&
			  new_action->sa_handler == SIG_DFL && may_change();
	int status = sn_real_sigaction(signal, to_default ? fatal_action() : new_action, &old);
	if (status)
		return status;
	if (fatal_is_ours[signal] && (old.sa_flags & SA_SIGINFO) && old.sa_sigaction == on_fatal)
		old = (struct sigaction){.sa_handler = SIG_DFL};
	if (old_action)
		*old_action = old;
	if (new_action)
		fatal_is_ours[signal] = to_default;
	return 0;
}

/* ---- dispositions ---- */

SN_EXPORT int sigaction(int signal, const struct sigaction *new_action,
			struct sigaction *old_action)
{
	if (!sn_measuring())
		return sn_real_sigaction(signal, new_action, old_action);
	if (signal == sn_sample_signal && sn_is_measured_process())
		return sn_sampling_sigaction(new_action, old_action);
	struct sigaction unmasked;
	if (new_action) {
		unmasked = *new_action;
		sigdelset(&unmasked.sa_mask, sn_sample_signal);
		new_action = &unmasked;
	}
	if (is_fatal(signal))
		return fatal_sigaction(signal, new_action, old_action);
	return sn_real_sigaction(signal, new_action, old_action);
}

static sighandler_t set_handler(int signal, sighandler_t handler, int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
	sigemptyset(&action.sa_mask);
	if (!(flags & SA_RESETHAND) && signal > 0 && signal < NSIG)
		sigaddset(&action.sa_mask, signal);
	return sigaction(signal, &action, &old) ? SIG_ERR : old.sa_handler;
}

SN_EXPORT sighandler_t signal(int number, sighandler_t handler)
{
	return set_handler(number, handler, SA_RESTART);
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

/* ---- masks ---- */

/* What the program believes of the sample signal in this thread. */
static __thread bool believed_blocked __attribute__((tls_model("initial-exec")));

static int change_mask(int (*real)(int, const sigset_t *, sigset_t *), int how,
		       const sigset_t *new_set, sigset_t *old_set)
{
	sigset_t open_set;
	bool was_blocked = believed_blocked;
	bool names_ours = new_set && sigismember(new_set, sn_sample_signal) == 1;
	const sigset_t *passed = new_set;
	if (names_ours && how != SIG_UNBLOCK) {
		open_set = *new_set;
		sigdelset(&open_set, sn_sample_signal);
		passed = &open_set;
	}
	int status = real(how, passed, old_set);
	if (status)
		return status;
	if (new_set && (names_ours || how == SIG_SETMASK))
		believed_blocked = names_ours && how != SIG_UNBLOCK;
	if (old_set && was_blocked)
		sigaddset(old_set, sn_sample_signal);
	return 0;
}

SN_EXPORT int pthread_sigmask(int how, const sigset_t *new_set, sigset_t *old_set)
{
	if (!sn_thread_self())
		return real_pthread_sigmask_get()(how, new_set, old_set);
	return change_mask(real_pthread_sigmask_get(), how, new_set, old_set);
}

SN_EXPORT int sigprocmask(int how, const sigset_t *new_set, sigset_t *old_set)
{
	if (!sn_thread_self())
		return real_sigprocmask_get()(how, new_set, old_set);
	return change_mask(real_sigprocmask_get(), how, new_set, old_set);
}

/* ---- waiting for signals: a filled set must not take our samples ---- */

static const sigset_t *without_ours(const sigset_t *set, sigset_t *storage)
{
	sigset_t only_ours;
	sigemptyset(&only_ours);
	sigaddset(&only_ours, sn_sample_signal);
	if (!set || !sn_thread_self() || !memcmp(set, &only_ours, sizeof(only_ours)))
		return set;
	*storage = *set;
	sigdelset(storage, sn_sample_signal);
	return storage;
}

SN_EXPORT int sigwait(const sigset_t *set, int *signal)
{
	sigset_t storage;
	return real_sigwait_get()(without_ours(set, &storage), signal);
}

SN_EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	sigset_t storage;
	return real_sigwaitinfo_get()(without_ours(set, &storage), info);
}

SN_EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	sigset_t storage;
	return real_sigtimedwait_get()(without_ours(set, &storage), info, timeout);
}

SN_EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
	sigset_t storage;
	return real_signalfd_get()(fd, without_ours(set, &storage), flags);
}
