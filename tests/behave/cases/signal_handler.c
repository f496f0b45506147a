/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -lm */
/*
 * Signals that a program handles: its handlers have the flags, the mask and the information that it
 * asked for, and find what it told the system when it looks. Each with SIGURG, SIGUSR1 and all
 * real-time signals.
 */
#include "../behave.h"

#include <aio.h>
#include <fenv.h>
#include <math.h>
#include <netinet/in.h>
#include <semaphore.h>

void (*bsd_signal(int signal, void (*handler)(int)))(int);

#define EACH(name)                                                                                 \
	for (int name = SIGUSR1; name <= 64; name = name == SIGUSR1  ? SIGURG                      \
						    : name == SIGURG ? 34                          \
								     : name + 1)

static volatile sig_atomic_t calls, depth, deepest, last;
static sigset_t seen_mask;
static siginfo_t seen;

static void count(int number)
{
	calls++;
	last = number;
}

static void look(int number, siginfo_t *info, void *context)
{
	(void)context;
	count(number);
	if (++depth > deepest)
		deepest = depth;
	sigprocmask(SIG_SETMASK, NULL, &seen_mask);
	seen = *info;
	spin();
	depth--;
}

static void say_set(const char *what, const sigset_t *set)
{
	char text[300] = "";
	int bytes = 0;
	for (int signal = 1; signal <= 64; signal++)
		if (sigismember(set, signal) == 1)
			bytes +=
			    snprintf(text + bytes, sizeof(text) - (size_t)bytes, " %d", signal);
	say("%s:%s\n", what, text);
}

/* ---- what is read back ---- */

CASE(read_back)
{
	static const int flags[] = {
	    0,		SA_RESTART,   SA_NODEFER, (int)SA_RESETHAND,
	    SA_ONSTACK, SA_NOCLDSTOP, SA_SIGINFO, SA_NOCLDWAIT | SA_RESTART};
	work(20);
	EACH(signal) for (size_t index = 0; index < 8; index++)
	{
		struct sigaction action = {.sa_flags = flags[index]}, old;
		if (flags[index] & SA_SIGINFO)
			action.sa_sigaction = look;
		else
			action.sa_handler = count;
		action.sa_mask = set_of(SIGTERM, SIGURG, 40, 64, 0);
		MUST(sigaction(signal, &action, NULL));
		spin();
		MUST(sigaction(signal, NULL, &old));
		say("%d: %x %d;", signal, (unsigned)old.sa_flags & ~0x04000000u,
		    old.sa_handler == action.sa_handler);
		say_set("", &old.sa_mask);
	}
}

CASE(read_back_raw)
{
	EACH(signal)
	{
		struct {
			void *handler;
			unsigned long flags;
			void *restorer;
			uint64_t mask;
		} kernel;
		struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
		action.sa_mask = set_of(SIGURG, 50, 0);
		MUST(sigaction(signal, &action, NULL));
		MUST(syscall(SYS_rt_sigaction, signal, NULL, &kernel, 8));
		say("%d: %d %lx %llx\n", signal, kernel.handler == (void *)count, kernel.flags,
		    (unsigned long long)kernel.mask);
	}
}

CASE(old_is_told)
{
	work(20);
	for (int signal = 1; signal <= 64; signal++) {
		struct sigaction old = {.sa_flags = 77};
		int status = sigaction(signal, NULL, &old);
		say("%d: %d %s %x", signal, status,
		    status			? strerror(errno)
		    : old.sa_handler == SIG_DFL ? "default"
		    : old.sa_handler == SIG_IGN ? "ignored"
						: "HANDLED",
		    status ? 0 : (unsigned)old.sa_flags);
		if (!status && signal != SIGKILL && signal != SIGSTOP) {
			void (*before)(int) = sysv_signal(signal, count);
			void (*then)(int) = sigset(signal, SIG_IGN);
			void (*finally)(int) = bsd_signal(signal, SIG_DFL);
			say(" %d %d %d", before == SIG_DFL, then == count, finally == SIG_IGN);
		}
		say("\n");
	}
	say("signal of KILL: %d\n", signal(SIGKILL, count) == SIG_ERR && errno == EINVAL);
}

/* ---- flags ---- */

static pid_t sleeper;
static int ends[2];

/* The byte comes well after the signal, so only the signal can have cut the read. */
static void *interrupt_then_write(void *signal)
{
	until_asleep(getpid(), sleeper);
	MUST(syscall(SYS_tgkill, getpid(), sleeper, (int)(intptr_t)signal));
	if (!SOON(calls))
		say("no signal\n");
	until_asleep(getpid(), sleeper);
	MUST(write(ends[1], "x", 1));
	return NULL;
}

CASE(restart)
{
	sleeper = getpid();
	MUST(pipe(ends));
	EACH(signal) for (int flags = 0; flags <= (int)SA_RESTART; flags += SA_RESTART)
	{
		pthread_t thread;
		char byte;
		set_handler(signal, count, flags);
		calls = 0;
		spin();
		pthread_create(&thread, NULL, interrupt_then_write, (void *)(intptr_t)signal);
		ssize_t got = read(ends[0], &byte, 1);
		int error = got < 0 ? errno : 0;
		say("%d %s: %zd %s, calls %d\n", signal, flags ? "restart" : "cut", got,
		    strerror(error), (int)calls);
		pthread_join(thread, NULL);
		if (got < 0)
			MUST(read(ends[0], &byte, 1));
	}
}

CASE(interrupt_flag)
{
	work(10);
	EACH(signal)
	{
		struct sigaction old;
		sysv_signal(signal, count);
		sigaction(signal, NULL, &old);
		say("%d: %x", signal, (unsigned)old.sa_flags & ~0x04000000u);
		bsd_signal(signal, count);
		siginterrupt(signal, 1);
		sigaction(signal, NULL, &old);
		say(" %x\n", (unsigned)old.sa_flags & ~0x04000000u);
	}
}

CASE(reset_hand)
{
	EACH(signal)
	{
		struct sigaction old;
		set_handler(signal, count, (int)SA_RESETHAND);
		calls = 0;
		work(2);
		raise(signal);
		sigaction(signal, NULL, &old);
		say("%d: %d default %d\n", signal, (int)calls, old.sa_handler == SIG_DFL);
	}
}

static void nest(int number, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	calls++;
	if (++depth > deepest)
		deepest = depth;
	if (calls < 4)
		raise(number);
	spin();
	depth--;
}

CASE(no_defer)
{
	EACH(signal) for (int flags = 0; flags <= (int)SA_NODEFER; flags += SA_NODEFER)
	{
		set_info_handler(signal, nest, flags);
		calls = deepest = 0;
		work(1);
		raise(signal);
		say("%d %x: calls %d deepest %d\n", signal, (unsigned)flags, (int)calls,
		    (int)deepest);
	}
}

CASE(mask_in_handler)
{
	EACH(signal)
	{
		struct sigaction action = {.sa_sigaction = look, .sa_flags = SA_SIGINFO};
		action.sa_mask = set_of(SIGTERM, 35, 0);
		MUST(sigaction(signal, &action, NULL));
		work(1);
		raise(signal);
		say_set("some", &seen_mask);
		sigfillset(&action.sa_mask);
		action.sa_flags |= SA_NODEFER;
		MUST(sigaction(signal, &action, NULL));
		raise(signal);
		say_set("all", &seen_mask);
		sigemptyset(&action.sa_mask);
		MUST(sigaction(signal, &action, NULL));
		raise(signal);
		say_set("none", &seen_mask);
		sigprocmask(SIG_SETMASK, NULL, &seen_mask);
		say_set("afterwards", &seen_mask);
	}
}

/* Handlers of every other signal are there before the program takes the signal below it, which the first one blocks or not. */
static volatile sig_atomic_t inside;

static void raise_below(int number)
{
	int before = calls;
	raise(number - 1);
	inside = calls - before;
}

static void take_in_pairs(bool blocks, int flags)
{
	for (int number = SIGRTMAX; number > SIGRTMIN; number -= 2) {
		struct sigaction above = {.sa_handler = raise_below, .sa_flags = flags},
				 below = {.sa_handler = count};
		(blocks ? sigfillset : sigemptyset)(&above.sa_mask);
		MUST(sigaction(number, &above, NULL));
		MUST(sigaction(number - 1, &below, NULL));
		calls = 0;
		raise(number);
		say("%d, blocks %d, flags %x: %d inside, %d in all\n", number, blocks, flags,
		    (int)inside, (int)calls);
	}
}

CASE(mask_of_an_earlier_handler)
{
	for (int how = 0; how < 4; how++) {
		if (!fork()) { /* in which no signal is taken yet */
			take_in_pairs(how & 1, how & 2 ? SA_ONSTACK : 0);
			_exit(0);
		}
		wait(NULL);
	}
}

/* A thread has blocked all signals, and waits, before another one takes this signal and sends it to the thread. */
struct blocking {
	int number;
	sem_t has_blocked, goes_on;
};

static void *block_all_and_wait(void *argument)
{
	struct blocking *blocking = argument;
	sigset_t set;
	sigfillset(&set);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	sem_post(&blocking->has_blocked);
	while (sem_wait(&blocking->goes_on))
		;
	sigpending(&set);
	say("%d: pending %d, %d calls\n", blocking->number, sigismember(&set, blocking->number),
	    (int)calls);
	sigemptyset(&set);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	say("%d: %d calls, code %d\n", blocking->number, (int)calls, seen.si_code);
	return NULL;
}

CASE(blocked_before_it_was_taken)
{
	for (int number = SIGRTMAX; number > SIGRTMAX - 6; number--) {
		struct sigaction action = {.sa_sigaction = look, .sa_flags = SA_SIGINFO};
		struct blocking blocking = {.number = number};
		pthread_t thread;
		calls = 0;
		sem_init(&blocking.has_blocked, 0, 0);
		sem_init(&blocking.goes_on, 0, 0);
		pthread_create(&thread, NULL, block_all_and_wait, &blocking);
		while (sem_wait(&blocking.has_blocked))
			;
		MUST(sigaction(number, &action, NULL));
		pthread_kill(thread, number);
		usleep(20000);
		say("%d: %d calls while it waits\n", number, (int)calls);
		sem_post(&blocking.goes_on);
		pthread_join(thread, NULL);
	}
}

static void open_context(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;
	(void)info;
	count(number);
	say_set("interrupted with", &at->uc_sigmask);
	sigaddset(&at->uc_sigmask, SIGUSR2);
	sigaddset(&at->uc_sigmask, number);
}

CASE(mask_of_context)
{
	sigset_t none;
	sigemptyset(&none);
	EACH(signal)
	{
		set_info_handler(signal, open_context, 0);
		work(1);
		raise(signal);
		sigprocmask(SIG_SETMASK, NULL, &seen_mask);
		say_set("left with", &seen_mask);
		sigprocmask(SIG_SETMASK, &none, NULL);
	}
}

/* ---- information ---- */

CASE(information)
{
	EACH(signal)
	{
		set_info_handler(signal, look, 0);
		work(1);
		MUST(sigqueue(getpid(), signal, (union sigval){.sival_int = 1000 + signal}));
		say("%d: %d value %d me %d uid %d;", signal, seen.si_code, seen.si_value.sival_int,
		    seen.si_pid == getpid(), seen.si_uid == getuid());
		kill(getpid(), signal);
		say(" %d;", seen.si_code);
		raise(signal);
		say(" %d;", seen.si_code);
		pthread_sigqueue(pthread_self(), signal, (union sigval){.sival_int = 5});
		say(" %d %d;", seen.si_code, seen.si_value.sival_int);
		siginfo_t own = {.si_code = -77, .si_value.sival_int = 12};
		own.si_signo = signal;
		own.si_pid = 4321;
		MUST(syscall(SYS_rt_sigqueueinfo, getpid(), signal, &own));
		say(" %d %d %d\n", seen.si_code, seen.si_pid, seen.si_value.sival_int);
	}
}

/* A burst is delivered whole and in order, for real-time signals. */
static int order[600];
static volatile sig_atomic_t ordered;

static void keep_order(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	order[ordered++ % 600] = info->si_value.sival_int;
}

CASE(burst)
{
	sigset_t all;
	work(10);
	for (int signal = 34; signal <= 64; signal++)
		set_info_handler(signal, keep_order, 0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (int round = 0; round < 10; round++)
		for (int signal = 34; signal <= 64; signal++)
			sigqueue(getpid(), signal,
				 (union sigval){.sival_int = signal * 100 + round});
	work(10);
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* delivered from the highest of the frames back: the sequence of the handlers */
	unsigned sum = 0;
	for (int index = 0; index < ordered; index++)
		sum = sum * 31 + (unsigned)order[index];
	say("delivered %d, order %08x\n", (int)ordered, sum);
}

static void other(int number)
{
	say("  %d within, depth %d\n", number, (int)depth);
}

static void raise_other(int number, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	depth++;
	spin();
	raise(SIGUSR2);
	say("%d after\n", number);
	depth--;
}

CASE(nested)
{
	set_handler(SIGUSR2, other, 0);
	EACH(signal)
	{
		set_info_handler(signal, raise_other, 0);
		raise(signal);
		struct sigaction action = {.sa_sigaction = raise_other, .sa_flags = SA_SIGINFO};
		action.sa_mask = set_of(SIGUSR2, 0);
		MUST(sigaction(signal, &action, NULL));
		raise(signal);
	}
}

/* ---- default and ignored ---- */

CASE(default_actions)
{
	work(20);
	for (int signal = 1; signal <= 64; signal++) {
		if (signal == 32 || signal == 33 || signal == SIGSTOP || signal == SIGTSTP ||
		    signal == SIGTTIN || signal == SIGTTOU)
			continue;
		pid_t child = MUST(fork());
		if (!child) {
			setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
			spin();
			kill(getpid(), signal);
			_exit(3);
		}
		say("%d: %s;", signal, ended(child));
		child = MUST(fork());
		if (!child) {
			bsd_signal(signal, SIG_IGN);
			spin();
			raise(signal);
			_exit(3);
		}
		say(" %s\n", ended(child));
	}
}

CASE(stopped)
{
	int turn[2]; /* what stops again, or ends, is not seen to continue */
	char byte = 0;
	work(10);
	MUST(pipe(turn));
	pid_t child = MUST(fork());
	if (!child) {
		/* a group whose parent is of another: SIGTSTP does not stop those that are alone */
		MUST(setpgid(0, 0));
		for (int round = 0; round < 5; round++) {
			MUST(read(turn[0], &byte, 1));
			work(2);
			raise(round % 2 ? SIGTSTP : SIGSTOP);
		}
		MUST(read(turn[0], &byte, 1));
		_exit(4);
	}
	for (int round = 0, status; round < 5; round++) {
		MUST(write(turn[1], &byte, 1));
		MUST(waitpid(child, &status, WUNTRACED));
		say("stopped %d by %d,", WIFSTOPPED(status), WSTOPSIG(status));
		kill(child, SIGCONT);
		MUST(waitpid(child, &status, WCONTINUED));
		say(" continued %d\n", WIFCONTINUED(status));
	}
	MUST(write(turn[1], &byte, 1));
	say("%s\n", ended(child));
}

CASE(child_signals)
{
	set_info_handler(SIGCHLD, look, 0);
	for (int round = 0; round < 4; round++) {
		pid_t child = MUST(fork());
		if (!child) {
			work(2);
			if (round % 2)
				raise(SIGTERM);
			_exit(round);
		}
		if (!SOON(calls > round))
			say("no signal\n");
		say("code %d status %d of it %d\n", seen.si_code, seen.si_status,
		    seen.si_pid == child);
		say("%s\n", ended(child));
	}
	bsd_signal(SIGCHLD, SIG_IGN);
	pid_t child = MUST(fork());
	if (!child)
		_exit(0);
	say("ignored: %s\n", ended(child));
}

/* ---- faults ---- */

static sigjmp_buf out;
static volatile char *expected;

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)context;
	say("signal %d code %d address %d\n", number, info->si_code, info->si_addr == expected);
	siglongjmp(out, 1);
}

static void fault(int kind)
{
	volatile int zero = 0;
	switch (kind) {
	case 0:
		expected = NULL;
		*expected = 1;
		break;
	case 1:
		expected = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		expected += 100;
		*expected = 1;
		break;
	case 2: {
		int file = MUST(memfd_create("empty", MFD_CLOEXEC));
		expected = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
		close(file);
		zero = *expected;
		break;
	}
	case 3:
		expected = NULL;
		zero = 1 / zero;
		break;
	default:
		__builtin_trap();
	}
}

CASE(faults)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	for (int index = 0; index < 4; index++)
		set_info_handler(signals[index], on_fault, 0);
	for (volatile int round = 0; round < 12; round++) {
		work(3);
		if (round % 5 > 2) /* where the instruction is cannot be said beforehand */
			continue;
		if (!sigsetjmp(out, 1))
			fault(round % 5);
	}
}

CASE(fault_exits)
{
	work(10);
	for (int kind = 0; kind < 5; kind++) {
		pid_t child = MUST(fork());
		if (!child) {
			setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
			spin();
			fault(kind);
			_exit(0);
		}
		say("%d: %s\n", kind, ended(child));
	}
	pid_t child = MUST(fork());
	if (!child) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		abort();
	}
	say("abort: %s\n", ended(child));
}

/* ---- timers, files and queues that send signals ---- */

CASE(timers)
{
	EACH(signal)
	{
		timer_t timer;
		struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal};
		event.sigev_value.sival_int = 60 + signal;
		set_info_handler(signal, look, SA_RESTART);
		calls = 0;
		MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
		MUST(timer_settime(timer, 0, &(struct itimerspec){.it_value = {0, 1000000}}, NULL));
		if (!SOON(calls))
			say("never came\n");
		say("%d: code %d value %d overrun %d\n", signal, seen.si_code,
		    seen.si_value.sival_int, seen.si_overrun);
		timer_delete(timer);
	}
}

CASE(timer_of_thread)
{
	timer_t timer;
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 2};
	event._sigev_un._tid = gettid();
	set_info_handler(SIGRTMIN + 2, look, SA_RESTART);
	MUST(timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer));
	MUST(timer_settime(
	    timer, 0, &(struct itimerspec){.it_value = {0, 4000000}, .it_interval = {0, 20000000}},
	    NULL));
	while (calls < 5)
		spin();
	struct itimerspec left;
	MUST(timer_gettime(timer, &left));
	say("came, interval %ld, code %d\n", left.it_interval.tv_nsec, seen.si_code);
	timer_delete(timer);
}

static volatile int notified;

static void notify(union sigval value)
{
	spin();
	__atomic_fetch_add(&notified, value.sival_int, __ATOMIC_SEQ_CST);
}

CASE(timer_by_thread)
{
	timer_t timer;
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notify};
	event.sigev_value.sival_int = 1;
	MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
	for (int round = 1; round <= 20; round++) {
		MUST(timer_settime(timer, 0, &(struct itimerspec){.it_value = {0, 500000}}, NULL));
		if (!SOON(notified == round))
			say("never came\n");
	}
	say("notified %d\n", notified);
	timer_delete(timer);
}

CASE(urgent_data)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int listener = MUST(socket(AF_INET, SOCK_STREAM, 0)),
	    mine = MUST(socket(AF_INET, SOCK_STREAM, 0));
	MUST(bind(listener, (struct sockaddr *)&address, sizeof(address)));
	MUST(listen(listener, 1));
	MUST(getsockname(listener, (struct sockaddr *)&address, &length));
	MUST(connect(mine, (struct sockaddr *)&address, sizeof(address)));
	int theirs = MUST(accept(listener, NULL, NULL));
	set_info_handler(SIGURG, look, 0);
	fcntl(theirs, F_SETOWN, getpid());
	for (int round = 1; round <= 20; round++) {
		char byte;
		work(2);
		MUST(send(mine, "!", 1, MSG_OOB));
		if (!SOON(calls == round))
			say("no signal\n");
		say("%d %zd\n", (int)calls, recv(theirs, &byte, 1, MSG_OOB));
	}
}

CASE(signal_driven_io)
{
	int pair[2];
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	fcntl(pair[0], F_SETOWN, getpid());
	EACH(signal)
	{
		char byte;
		set_info_handler(signal, look, SA_RESTART);
		calls = 0;
		fcntl(pair[0], F_SETSIG, signal);
		fcntl(pair[0], F_SETFL, O_ASYNC | O_NONBLOCK);
		spin();
		MUST(write(pair[1], "x", 1));
		if (!SOON(calls))
			say("no signal\n");
		say("%d: %d fd %d band %lx\n", signal, seen.si_code, seen.si_fd == pair[0],
		    (unsigned long)seen.si_band);
		fcntl(pair[0], F_SETFL, O_NONBLOCK);
		MUST(read(pair[0], &byte, 1));
	}
}

CASE(io_by_queue_signal)
{
	static char bytes[4096];
	int file = MUST(open("file", O_RDWR | O_CREAT, 0600));
	EACH(signal)
	{
		struct aiocb request = {.aio_fildes = file, .aio_buf = bytes, .aio_nbytes = 4096};
		request.aio_sigevent =
		    (struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal};
		request.aio_sigevent.sigev_value.sival_int = 3;
		set_info_handler(signal, look, SA_RESTART);
		calls = 0;
		MUST(aio_write(&request));
		if (!SOON(calls))
			say("no signal\n");
		say("%d: %d %d %zd\n", signal, seen.si_code, seen.si_value.sival_int,
		    aio_return(&request));
	}
	close(file);
	unlink("file");
}

/* ---- what a handler must leave as it was: of samples as well ---- */

CASE(errno_stays)
{
	int changed = 0;
	for (int round = 0; round < 400; round++) {
		errno = 12345;
		for (volatile int step = 0; step < 300000; step++)
			;
		changed += errno != 12345;
	}
	say("changed: %d\n", changed);
}

CASE(rounding_stays)
{
	static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
	uint64_t sum = 0;
	int changed = 0;
	for (int round = 0; round < 40; round++) {
		fesetround(modes[round % 4]);
		feclearexcept(FE_ALL_EXCEPT);
		volatile double value = 1;
		volatile long double other = 1;
		for (int step = 0; step < 200000; step++) {
			value = value / 3 + 0.7;
			other = other / 3 + 0.7L;
		}
		double kept = value + (double)other;
		uint64_t bits;
		memcpy(&bits, &kept, 8);
		sum = sum * 31 + bits;
		changed +=
		    fegetround() != modes[round % 4] || fetestexcept(FE_DIVBYZERO | FE_INVALID);
	}
	fesetround(FE_TONEAREST);
	say("sum %016llx, changed %d\n", (unsigned long long)sum, changed);
}

typedef float wide __attribute__((vector_size(32)));

#ifdef __x86_64__
__attribute__((target("avx")))
#endif
__attribute__((noinline)) static void
vectors(wide *result, const wide *factor, int steps)
{
	wide first = *factor, second = first + 1, third = first + 2, fourth = first + 3;
	for (int step = 0; step < steps; step++) {
		first = first * *factor + 0.25f;
		second = second * *factor + first;
		third = third * *factor + second;
		fourth = fourth * *factor + third;
	}
	*result = first + second + third + fourth;
}

CASE(vectors_stay)
{
	wide factor = {0.5f, 0.25f, 0.125f, 0.75f, 0.1f, 0.2f, 0.3f, 0.4f}, first, now;
#ifdef __x86_64__
	if (!__builtin_cpu_supports("avx"))
		skip("a processor without AVX");
#endif
	vectors(&first, &factor, 50000);
	int changed = 0;
	for (int round = 0; round < 150; round++) {
		vectors(&now, &factor, 50000);
		changed += memcmp(&first, &now, sizeof(now)) != 0;
	}
	say("changed: %d\n", changed);
}

static volatile bool changes_end;
static long mixed[2];

static bool is_blocked(int number)
{
	sigset_t set;
	pthread_sigmask(SIG_BLOCK, NULL, &set);
	return sigismember(&set, number);
}

static void blocks_usr2(int number)
{
	(void)number;
	mixed[0] += !is_blocked(SIGUSR2);
}

static void blocks_nothing(int number)
{
	(void)number;
	mixed[1] += is_blocked(SIGUSR2);
}

static void *raise_usr1(void *unused)
{
	while (!changes_end)
		raise(SIGUSR1);
	return unused;
}

/* One thread changes the action of a signal back and forth while it comes to another one. */
CASE(changed_meanwhile)
{
	struct sigaction first = {.sa_handler = blocks_usr2},
			 second = {.sa_handler = blocks_nothing}, old;
	long wrong = 0;
	pthread_t thread;
	sigaddset(&first.sa_mask, SIGUSR2);
	MUST(sigaction(SIGUSR1, &first, NULL));
	pthread_create(&thread, NULL, raise_usr1, NULL);
	for (int round = 0; round < 200000; round++) {
		MUST(sigaction(SIGUSR1, round % 2 ? &first : &second, &old));
		wrong += old.sa_handler != (round % 2 ? blocks_nothing : blocks_usr2) ||
			 sigismember(&old.sa_mask, SIGUSR2) == round % 2;
	}
	changes_end = true;
	pthread_join(thread, NULL);
	say("%ld %ld %ld\n", mixed[0], mixed[1], wrong);
}

#ifdef __x86_64__
static volatile long returned __attribute__((used));
void return_by_own(void);
__asm__("return_by_own:\n"
	"	lock incq returned(%rip)\n"
	"	movl	$15, %eax\n" /* rt_sigreturn */
	"	syscall\n");
#endif

/* Handlers may return by a function of the program's. */
CASE(own_restorer)
{
#ifdef __x86_64__
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = {count, 0x04000000, return_by_own, 0}, told = {0};
	EACH(number)
	{
		MUST(syscall(SYS_rt_sigaction, number, &action, NULL, 8));
		for (int round = 0; round < 10; round++) {
			raise(number);
			work(1);
		}
		MUST(syscall(SYS_rt_sigaction, number, NULL, &told, 8));
		say("%d handled, %ld returned, told %d %d %lx %lx\n", calls, returned,
		    told.handler == count, told.restorer == return_by_own, told.flags, told.mask);
	}
#else
	skip("x86-64 only");
#endif
}

/* Flags that the kernel's frame must bring back: direction and the arithmetic ones. */
CASE(flags_stay)
{
#ifdef __x86_64__
	long changed = 0;
	for (int round = 0; round < 30000; round++) {
		unsigned char carry, direction;
		__asm__ volatile("movq $2000, %%rcx\n\t"
				 "std\n\t"
				 "stc\n"
				 "1: decq %%rcx\n\t" /* leaves the carry */
				 "jnz 1b\n\t"
				 "setc %0\n\t"
				 "pushfq\n\t"
				 "popq %%rax\n\t"
				 "shrq $10, %%rax\n\t"
				 "andb $1, %%al\n\t"
				 "movb %%al, %1\n\t"
				 "cld"
				 : "=&r"(carry), "=r"(direction)
				 :
				 : "rcx", "rax", "cc", "memory");
		changed += !carry + !direction;
	}
	say("changed: %ld\n", changed);
#else
	skip("x86-64 only");
#endif
}
