/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals that a program waits for instead of handling: signalfd, sigwait and its kin, sigpending,
 * and the masks that make them possible. Each is tried with SIGURG and all real-time signals, for
 * any of them may be the one that a profiler would like to have.
 */
#include "../behave.h"

#include <semaphore.h>

#define FIRST_LETTERS(code)                                                                        \
	((code) == SI_USER    ? "user"                                                             \
	 : (code) == SI_QUEUE ? "queue"                                                            \
	 : (code) == SI_TKILL ? "tkill"                                                            \
	 : (code) == SI_TIMER ? "timer"                                                            \
			      : "?")

static void block(int how, sigset_t set)
{
	MUST(sigprocmask(how, &set, NULL));
}

static void queue(int signal, int value)
{
	MUST(sigqueue(getpid(), signal, (union sigval){.sival_int = value}));
}

static sigset_t full_set(void)
{
	sigset_t set;
	sigfillset(&set);
	return set;
}

static void say_mask(const char *when)
{
	char text[65] = "";
	sigset_t mask;
	MUST(sigprocmask(SIG_SETMASK, NULL, &mask));
	for (int signal = 1; signal <= 64; signal++)
		text[signal - 1] = sigismember(&mask, signal) == 1 ? '1' : '.';
	say("%-12s %s\n", when, text);
}

/* A child that sends the signal each time it is asked, once this process sleeps. */
struct sender {
	pid_t child;
	int asks;
};

static struct sender sender_new(void)
{
	int ends[2];
	pid_t parent = getpid();
	MUST(pipe2(ends, O_CLOEXEC));
	struct sender sender = {MUST(fork()), ends[1]};
	if (sender.child)
		return close(ends[0]), sender;
	close(ends[1]);
	for (unsigned char signal; read(ends[0], &signal, 1) == 1;) {
		until_asleep(parent, parent);
		kill(parent, signal);
	}
	_exit(0);
}

static void sender_ask(const struct sender *sender, int signal)
{
	unsigned char byte = (unsigned char)signal;
	MUST(write(sender->asks, &byte, 1));
}

static void sender_end(const struct sender *sender)
{
	close(sender->asks);
	say("sender: %s\n", ended(sender->child));
}

/* ---- signalfd ---- */

static void say_read(int fd, const char *how)
{
	struct signalfd_siginfo info;
	ssize_t bytes = read(fd, &info, sizeof(info));
	if (bytes != sizeof(info))
		say("%s: read %zd %s\n", how, bytes, strerror(errno));
	else
		say("%s: %d %s value %d from me %d\n", how, (int)info.ssi_signo,
		    FIRST_LETTERS(info.ssi_code), info.ssi_code == SI_QUEUE ? info.ssi_int : 0,
		    info.ssi_pid == (unsigned)getpid());
}

CASE(signalfd_each)
{
	EACH_SIGNAL(signal)
	{
		sigset_t only = set_of(signal, 0);
		block(SIG_BLOCK, only);
		int fd = MUST(signalfd(-1, &only, SFD_NONBLOCK | SFD_CLOEXEC));
		work(4);
		say_read(fd, "before");
		kill(getpid(), signal);
		struct pollfd waiting = {fd, POLLIN, 0};
		say("readable %d\n", poll(&waiting, 1, 0));
		work(1);
		say_read(fd, "kill");
		queue(signal, signal * 3);
		say_read(fd, "queue");
		raise(signal);
		say_read(fd, "raise");
		close(fd);
	}
}

CASE(signalfd_all)
{
	sigset_t all = full_set();
	block(SIG_BLOCK, all);
	int fd = MUST(signalfd(-1, &all, SFD_NONBLOCK));
	work(50);
	EACH_SIGNAL(signal) queue(signal, signal);
	kill(getpid(), SIGTERM);
	kill(getpid(), SIGCHLD);
	work(50);
	for (int left = 36; left; left--)
		say_read(fd, "all");
}

/* The set grows and shrinks while it is open. */
CASE(signalfd_changed)
{
	sigset_t all = full_set(), one = set_of(SIGUSR1, 0);
	block(SIG_BLOCK, all);
	int fd = MUST(signalfd(-1, &one, SFD_NONBLOCK));
	EACH_SIGNAL(signal)
	{
		sigset_t two = set_of(SIGUSR1, signal, 0);
		queue(signal, 5);
		say_read(fd, "not yet");
		MUST(signalfd(fd, &two, 0));
		work(2);
		say_read(fd, "now");
		MUST(signalfd(fd, &one, 0));
	}
}

CASE(signalfd_wakes_poll)
{
	struct sender sender = sender_new();
	EACH_SIGNAL(signal)
	{
		sigset_t only = set_of(signal, 0);
		block(SIG_BLOCK, only);
		int fd = MUST(signalfd(-1, &only, SFD_CLOEXEC));
		struct pollfd waiting = {fd, POLLIN, 0};
		work(2);
		sender_ask(&sender, signal);
		say("%d: %d ", signal, poll(&waiting, 1, 3000));
		say_read(fd, "woken");
		close(fd);
	}
	sender_end(&sender);
}

CASE(signalfd_wakes_epoll)
{
	struct sender sender = sender_new();
	int set = MUST(epoll_create1(EPOLL_CLOEXEC));
	EACH_SIGNAL(signal)
	{
		sigset_t only = set_of(signal, 0);
		struct epoll_event event = {.events = EPOLLIN | (signal % 2 ? EPOLLET : 0)};
		block(SIG_BLOCK, only);
		int fd = MUST(signalfd(-1, &only, SFD_CLOEXEC | SFD_NONBLOCK));
		event.data.fd = fd;
		MUST(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
		work(2);
		sender_ask(&sender, signal);
		say("%d: %d ", signal, epoll_wait(set, &event, 1, 3000));
		say_read(fd, "woken");
		close(fd);
	}
	sender_end(&sender);
}

CASE(signalfd_blocking_read)
{
	struct sender sender = sender_new();
	EACH_SIGNAL(signal)
	{
		sigset_t two =
		    set_of(signal, SIGALRM, 0); /* the alarm ends what would wait for ever */
		block(SIG_BLOCK, two);
		int fd = MUST(signalfd(-1, &two, SFD_CLOEXEC));
		work(2);
		sender_ask(&sender, signal);
		alarm(3);
		say_read(fd, "blocking");
		alarm(0);
		close(fd);
	}
	sender_end(&sender);
}

CASE(signalfd_raw)
{
	EACH_SIGNAL(signal)
	{
		uint64_t kernel_set = 1ull << (signal - 1);
		MUST(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &kernel_set, NULL, 8));
		int fd = (int)MUST(syscall(SYS_signalfd4, -1, &kernel_set, 8, SFD_NONBLOCK));
		work(4);
		say_read(fd, "before");
		queue(signal, 9);
		say_read(fd, "raw");
		close(fd);
	}
}

/* Read by a child that inherited it: each process reads its own signals. */
CASE(signalfd_after_fork)
{
	sigset_t two = set_of(SIGURG, SIGRTMIN + 5, 0);
	block(SIG_BLOCK, two);
	int fd = MUST(signalfd(-1, &two, SFD_NONBLOCK));
	work(20);
	queue(SIGURG, 1);
	queue(SIGRTMIN + 5, 2);
	pid_t child = fork();
	if (!child) {
		say_read(fd, "child");
		queue(SIGRTMIN + 5, 7);
		work(10);
		say_read(fd, "child");
		_exit(0);
	}
	say("%s\n", ended(child));
	say_read(fd, "parent");
	say_read(fd, "parent");
	say_read(fd, "parent");
}

/* ---- sigwait, sigwaitinfo, sigtimedwait ---- */

CASE(sigwait_pending)
{
	EACH_SIGNAL(signal)
	{
		sigset_t only = set_of(signal, 0);
		siginfo_t info = {0};
		int got = 0;
		block(SIG_BLOCK, only);
		work(3);
		raise(signal);
		work(1);
		int error = sigwait(&only, &got);
		say("%d: sigwait %d %d;", signal, error, got);
		queue(signal, 4);
		int status = sigwaitinfo(&only, &info);
		say(" sigwaitinfo %d %s %d;", status, FIRST_LETTERS(info.si_code),
		    info.si_value.sival_int);
		queue(signal, 6);
		status = sigtimedwait(&only, &info, &(struct timespec){1, 0});
		say(" sigtimedwait %d %s %d;", status, FIRST_LETTERS(info.si_code),
		    info.si_value.sival_int);
		status = sigtimedwait(&only, &info, &(struct timespec){0, 100000});
		say(" none %d %s\n", status, strerror(errno));
	}
}

CASE(sigwait_sleeping)
{
	struct sender sender = sender_new();
	EACH_SIGNAL(signal)
	{
		sigset_t set = set_of(signal, SIGALRM, 0);
		int got = 0;
		block(SIG_BLOCK, set);
		work(2);
		sender_ask(&sender, signal);
		alarm(3);
		int error = sigwait(&set, &got);
		alarm(0);
		say("%d: %d %d\n", signal, error, got);
	}
	sender_end(&sender);
}

CASE(sigtimedwait_sleeping)
{
	struct sender sender = sender_new();
	sigset_t all = full_set();
	block(SIG_BLOCK, all);
	EACH_SIGNAL(signal)
	{
		siginfo_t info = {0};
		work(2);
		sender_ask(&sender, signal);
		int got = sigtimedwait(&all, &info, &(struct timespec){3, 0});
		say("%d %s %d\n", got, FIRST_LETTERS(info.si_code), info.si_pid == sender.child);
	}
	close(sender.asks);
	say("%s %d\n", ended(sender.child), sigtimedwait(&all, NULL, &(struct timespec){1, 0}));
}

/* Nothing that sleeps is woken by a signal that is blocked. */
CASE(blocked_sleeping)
{
	struct sender sender = sender_new();
	sigset_t all = full_set();
	block(SIG_BLOCK, all);
	EACH_SIGNAL(signal)
	{
		work(2);
		sender_ask(&sender, signal);
		int slept = nanosleep(&(struct timespec){0, 20000000}, NULL);
		int polled = poll(NULL, 0, 5);
		say("%d: %d %d %d\n", signal, slept, polled,
		    sigtimedwait(&all, NULL, &(struct timespec){3, 0}));
	}
	close(sender.asks);
	say("%s\n", ended(sender.child));
}

CASE(sigtimedwait_raw)
{
	EACH_SIGNAL(signal)
	{
		uint64_t only = 1ull << (signal - 1);
		siginfo_t info = {0};
		struct timespec soon = {0, 1000000};
		MUST(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &only, NULL, 8));
		work(3);
		queue(signal, 8);
		long got = syscall(SYS_rt_sigtimedwait, &only, &info, &soon, 8);
		say("%ld %d ", got, info.si_value.sival_int);
		got = syscall(SYS_rt_sigtimedwait, &only, &info, &soon, 8);
		say("%ld %s\n", got, strerror(errno));
	}
}

/* One thread takes all signals of the process, as MySQL, PostgreSQL's tools and many daemons have
 * it. */
static volatile int taken[65];
static pthread_barrier_t started;

static void *taker(void *unused)
{
	sigset_t all = full_set();
	pthread_barrier_wait(&started);
	for (int got = 0; !sigwait(&all, &got) && got != SIGTERM;)
		__atomic_fetch_add(&taken[got], 1, __ATOMIC_SEQ_CST);
	return unused;
}

static void *worker(void *unused)
{
	work(60);
	return unused;
}

CASE(sigwait_thread)
{
	pthread_t threads[4];
	sigset_t all = full_set();
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_barrier_init(&started, NULL, 2);
	pthread_create(&threads[0], NULL, taker, NULL);
	for (int index = 1; index < 4; index++)
		pthread_create(&threads[index], NULL, worker, NULL);
	pthread_barrier_wait(&started);
	EACH_SIGNAL(signal) for (int round = 0; round < 3; round++)
	{
		int before = taken[signal];
		kill(getpid(), signal);
		if (!SOON(taken[signal] != before))
			say("%d lost\n", signal);
	}
	kill(getpid(), SIGTERM);
	for (int index = 0; index < 4; index++)
		pthread_join(threads[index], NULL);
	EACH_SIGNAL(signal) say("%d: %d\n", signal, taken[signal]);
	for (int signal = 1; signal < 34; signal++)
		if (taken[signal] && signal != SIGURG)
			say("and %d: %d\n", signal, taken[signal]);
}

/* ---- queues ---- */

CASE(queue_order)
{
	sigset_t all = full_set();
	siginfo_t info;
	block(SIG_BLOCK, all);
	work(30);
	for (int round = 0; round < 5; round++)
		for (int signal = 64; signal >= 34; signal -= 3)
			queue(signal, signal * 100 + round);
	queue(SIGURG, 1);
	queue(SIGURG, 2); /* not queued twice */
	work(30);
	while (sigtimedwait(&all, &info, &(struct timespec){0, 1000000}) > 0)
		say("%d %d\n", info.si_signo, info.si_value.sival_int);
}

/* Signals that wait, and timers, of all processes of this user: what RLIMIT_SIGPENDING is for. */
static rlim_t queued_now(void)
{
	unsigned long count = 0;
	char line[200];
	FILE *status = fopen("/proc/self/status", "r");
	while (status && fgets(line, sizeof(line), status) &&
	       sscanf(line, "SigQ: %lu", &count) != 1)
		;
	if (status)
		fclose(status);
	return count;
}

CASE(queue_limit)
{
	rlim_t most = queued_now() + 300;
	struct rlimit limit = {most, most};
	sigset_t only = set_of(SIGRTMIN + 3, 0);
	block(SIG_BLOCK, only);
	work(20);
	struct rlimit old;
	getrlimit(RLIMIT_SIGPENDING, &old);
	setrlimit(RLIMIT_SIGPENDING, &limit);
	work(20);
	int error = 0;
	for (int round = 0; round < 1000 && !error; round++)
		error = sigqueue(getpid(), SIGRTMIN + 3, (union sigval){0}) ? errno : 0;
	say("%s\n", strerror(error));
	for (int left = 2000; left && sigtimedwait(&only, NULL, &(struct timespec){0, 0}) > 0;
	     left--)
		;
	raise(SIGRTMIN + 3);
	say("%d\n", sigtimedwait(&only, NULL, &(struct timespec){0, 0}) == SIGRTMIN + 3);
}

/* ---- what is pending ---- */

static void say_pending(const char *when)
{
	char text[200];
	int bytes = 0;
	sigset_t pending;
	MUST(sigpending(&pending));
	for (int signal = 1; signal <= 64; signal++)
		if (sigismember(&pending, signal) == 1)
			bytes +=
			    snprintf(text + bytes, sizeof(text) - (size_t)bytes, " %d", signal);
	say("%s:%s\n", when, bytes ? text : " nothing");
}

static volatile sig_atomic_t handled;

static void handle(int number)
{
	handled = number;
}

CASE(pending_each)
{
	EACH_SIGNAL(signal)
	{
		sigset_t only = set_of(signal, 0);
		block(SIG_BLOCK, only);
		work(3);
		say_pending("none");
		raise(signal);
		work(1);
		say_pending("raised");
		set_handler(signal, handle, 0);
		say_pending("handled");
		block(SIG_UNBLOCK, only);
		say("%d ", handled);
		say_pending("open");
		block(SIG_BLOCK, only);
		raise(signal);
		set_handler(signal, SIG_IGN, 0);
		say_pending("ignored");
	}
}

CASE(pending_all)
{
	sigset_t all = full_set();
	block(SIG_BLOCK, all);
	EACH_SIGNAL(signal)
	{
		kill(getpid(), signal);
		pthread_kill(pthread_self(), signal);
	}
	work(100);
	say_pending("all");
	uint64_t raw = 0;
	MUST(syscall(SYS_rt_sigpending, &raw, 8));
	say("raw %llx\n", (unsigned long long)raw);
	if (!fork()) {
		say_pending("child");
		_exit(0);
	}
	wait(NULL);
}

/* ---- masks ---- */

CASE(mask_read_back)
{
	sigset_t all = full_set(), none, old;
	sigemptyset(&none);
	say_mask("at start");
	work(20);
	block(SIG_SETMASK, all);
	say_mask("full");
	work(50);
	say_mask("full, later");
	sigprocmask(SIG_SETMASK, &none, &old);
	say("old has URG %d, 40 %d\n", sigismember(&old, SIGURG), sigismember(&old, 40));
	EACH_SIGNAL(signal)
	{
		block(SIG_BLOCK, set_of(signal, SIGUSR2, 0));
		work(2);
		say_mask("blocked");
		block(SIG_UNBLOCK, set_of(signal, 0));
		say_mask("unblocked");
	}
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	block(SIG_UNBLOCK, set_of(SIGURG, SIGTERM, 64, 0));
	say_mask("but three");
}

static void say_raw_mask(const char *when)
{
	uint64_t mask = 0;
	MUST(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8));
	say("%s: %016llx\n", when, (unsigned long long)mask);
}

/* System V's way to change one signal of the mask. */
CASE(held_and_released)
{
	sigset_t all, now;
	sigfillset(&all);
	EACH_SIGNAL(number)
	{
		work(2);
		MUST(sighold(number));
		work(2);
		MUST(sigprocmask(SIG_SETMASK, &all, &now));
		say("%d: held %d", number, sigismember(&now, number));
		MUST(sigrelse(number));
		work(2);
		MUST(sigprocmask(SIG_SETMASK, NULL, &now));
		say(", then %d", sigismember(&now, number));
		sigemptyset(&now);
		MUST(sigprocmask(SIG_SETMASK, &now, NULL));
		MUST(sigignore(number));
		raise(number);
		say(", ignored %d\n", signal(number, SIG_DFL) == SIG_IGN);
	}
	SAY_RESULT(sighold(0));
	SAY_RESULT(sigrelse(65));
	SAY_RESULT(sigignore(SIGKILL));
}

CASE(mask_raw)
{
	uint64_t full = ~0ull, old = 0;
	say_raw_mask("at start");
	MUST(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &full, &old, 8));
	work(30);
	say_raw_mask("full");
	say_mask("by libc");
	uint64_t none = 0;
	MUST(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, &old, 8));
	say("old %016llx\n", (unsigned long long)old);
	sigset_t all = full_set();
	block(SIG_SETMASK, all);
	say_raw_mask("libc's full");
}

CASE(mask_of_old)
{
	work(10);
	say("sigblock %x\n", (unsigned)sigblock(1 << (SIGUSR1 - 1) | 1 << (SIGURG - 1)));
	say("siggetmask %x\n", (unsigned)siggetmask());
	say("sigsetmask %x\n", (unsigned)sigsetmask(-1));
	say_mask("all");
	say("sigsetmask %x\n", (unsigned)sigsetmask(0));
	sighold(SIGURG);
	sighold(50);
	say_mask("held");
	sigrelse(SIGURG);
	say_mask("let go");
	say("hold: %d\n", sigset(SIGURG, SIG_HOLD) == SIG_DFL);
	say_mask("sigset");
	say("was held: %d\n", sigset(SIGURG, handle) == SIG_HOLD);
	raise(SIGURG);
	say_mask("handled");
	say("%d\n", handled);
}

static void *say_inherited(void *unused)
{
	say_mask("thread");
	return unused;
}

CASE(mask_of_threads)
{
	pthread_t thread;
	pthread_attr_t attributes;
	sigset_t some = set_of(SIGURG, SIGINT, 34, 50, 64, 0);
	work(10);
	block(SIG_BLOCK, some);
	pthread_create(&thread, NULL, say_inherited, NULL);
	pthread_join(thread, NULL);
	sigset_t other = set_of(SIGURG, 63, 0);
	pthread_attr_init(&attributes);
	pthread_attr_setsigmask_np(&attributes, &other);
	pthread_create(&thread, &attributes, say_inherited, NULL);
	pthread_join(thread, NULL);
	say_mask("own");
}

/* sigsuspend lets only what its mask leaves open through. */
CASE(suspend)
{
	struct sender sender = sender_new();
	sigset_t all = full_set();
	block(SIG_BLOCK, all);
	EACH_SIGNAL(signal)
	{
		sigset_t open_to_one = full_set();
		sigdelset(&open_to_one, signal);
		set_handler(signal, handle, 0);
		work(2);
		sender_ask(&sender, signal);
		handled = 0;
		int status = sigsuspend(&open_to_one);
		say("%d: %d %s %d\n", signal, status, strerror(errno), (int)handled);
	}
	say_mask("afterwards");
	sender_end(&sender);
}

/* ppoll, pselect and epoll_pwait change the mask for the time of the call. */
CASE(masks_of_calls)
{
	struct sender sender = sender_new();
	sigset_t all = full_set();
	int set = MUST(epoll_create1(EPOLL_CLOEXEC));
	block(SIG_BLOCK, all);
	EACH_SIGNAL(signal)
	{
		sigset_t open_to_one = full_set();
		struct timespec limit = {3, 0};
		struct epoll_event event;
		sigdelset(&open_to_one, signal);
		set_handler(signal, handle, SA_RESTART);
		work(2);
		sender_ask(&sender, signal);
		handled = 0;
		int status = signal % 3 == 0   ? ppoll(NULL, 0, &limit, &open_to_one)
			     : signal % 3 == 1 ? pselect(0, NULL, NULL, NULL, &limit, &open_to_one)
					       : epoll_pwait(set, &event, 1, 3000, &open_to_one);
		say("%d: %d %s %d\n", signal, status, strerror(errno), (int)handled);
	}
	sender_end(&sender);
}

/* ---- signals that another thread takes while this one waits with a mask of its own ---- */

static sem_t has_begun;
static volatile sig_atomic_t came, freed;
static int waits_by;

static void on_came(int number)
{
	(void)number;
	came++;
}

static void on_freed(int number)
{
	(void)number;
	freed++;
	say("freed, came %d\n", (int)came);
}

static void *wait_masked(void *unused)
{
	struct timespec long_time = {5, 0};
	struct epoll_event event;
	sigset_t mask = full_set();
	int set = MUST(epoll_create1(EPOLL_CLOEXEC)), status = 0;
	sigdelset(&mask, SIGUSR1);
	sem_post(&has_begun);
	if (waits_by == 0)
		status = sigsuspend(&mask);
	else if (waits_by == 1)
		status = ppoll(NULL, 0, &long_time, &mask);
	else if (waits_by == 2)
		status = pselect(0, NULL, NULL, NULL, &long_time, &mask);
	else if (waits_by == 3)
		status = epoll_pwait(set, &event, 1, 5000, &mask);
	else
		status = epoll_pwait2(set, &event, 1, &long_time, &mask);
	say("returned %d: %s, came %d, freed %d\n", status, strerror(errno), (int)came, (int)freed);
	say_mask("afterwards");
	close(set);
	return unused;
}

CASE(taken_while_a_call_blocks_it)
{
	struct sigaction action = {.sa_handler = on_freed};
	MUST(sigaction(SIGUSR1, &action, NULL));
	action.sa_handler = on_came;
	sem_init(&has_begun, 0, 0);
	for (waits_by = 0; waits_by < 5; waits_by++) {
		int number = SIGRTMAX - waits_by;
		pthread_t thread;
		came = freed = 0;
		pthread_create(&thread, NULL, wait_masked, NULL);
		while (sem_wait(&has_begun))
			;
		usleep(20000);
		MUST(sigaction(number, &action, NULL));
		pthread_kill(thread, number);
		usleep(20000);
		say("%d: came %d\n", number, (int)came);
		pthread_kill(thread, SIGUSR1);
		pthread_join(thread, NULL);
	}
}
