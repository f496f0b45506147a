/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What language runtimes, servers and garbage collectors do with signals, in the shape in which
 * they do it: a profiler meets these programs first.
 */
#include "../behave.h"

#include <dlfcn.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/timerfd.h>

#define THREADS 4

static volatile bool over;

/* ---- libuv: a handler that writes into a pipe of the loop ---- */

static int self_pipe[2];

static void write_to_pipe(int number)
{
	int saved = errno;
	unsigned char byte = (unsigned char)number;
	while (write(self_pipe[1], &byte, 1) < 0 && errno == EINTR)
		;
	errno = saved;
}

static void pipe_handler(int signal)
{
	struct sigaction action = {.sa_handler = write_to_pipe, .sa_flags = SA_RESTART};
	sigfillset(&action.sa_mask);
	MUST(sigaction(signal, &action, NULL));
}

CASE(self_pipe)
{
	int set = MUST(epoll_create1(EPOLL_CLOEXEC)), counts[65] = {0}, children = 0;
	MUST(pipe2(self_pipe, O_CLOEXEC | O_NONBLOCK));
	struct epoll_event event = {.events = EPOLLIN};
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, self_pipe[0], &event));
	EACH_SIGNAL(signal) pipe_handler(signal);
	pipe_handler(SIGCHLD);
	pid_t parent = getpid();
	for (int index = 0; index < 10; index++)
		if (!fork()) {
			work(3);
			EACH_SIGNAL(signal) if (signal % 10 == index) kill(parent, signal);
			_exit(index);
		}
	for (int idle = 0; idle < 2 || children < 10;) {
		int status;
		unsigned char byte;
		idle = epoll_wait(set, &event, 1, 300) == 0 ? idle + 1 : 0;
		while (read(self_pipe[0], &byte, 1) == 1)
			counts[byte]++;
		while (waitpid(-1, &status, WNOHANG) > 0)
			children++;
		if (idle > 10)
			break;
	}
	say("children %d, told of some %d\n", children, counts[SIGCHLD] > 0);
	EACH_SIGNAL(signal) say("%d: %d\n", signal, counts[signal]);
}

/* ---- systemd: every signal blocked, each a source of the loop ---- */

CASE(event_loop)
{
	sigset_t all, source;
	int set = MUST(epoll_create1(EPOLL_CLOEXEC)), fds[65] = {0}, got[65] = {0}, children = 0;
	int timer = MUST(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (int signal = 1; signal <= 64; signal++) {
		/* those of job control take back each other */
		if (signal == 32 || signal == 33 || signal == SIGKILL ||
		    (signal >= SIGCONT && signal <= SIGTTOU))
			continue;
		source = set_of(signal, 0);
		fds[signal] = MUST(signalfd(-1, &source, SFD_CLOEXEC | SFD_NONBLOCK));
		MUST(epoll_ctl(set, EPOLL_CTL_ADD, fds[signal],
			       &(struct epoll_event){.events = EPOLLIN, .data.fd = signal}));
	}
	MUST(timerfd_settime(
	    timer, 0, &(struct itimerspec){.it_value = {0, 1000000}, .it_interval = {0, 1000000}},
	    NULL));
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, timer,
		       &(struct epoll_event){.events = EPOLLIN, .data.fd = 0}));
	pid_t parent = getpid();
	for (int index = 0; index < 6; index++)
		if (!fork()) {
			for (int signal = 1; signal <= 64; signal++)
				if (signal % 6 == index && fds[signal]) {
					kill(parent, signal);
					spin();
				}
			_exit(0);
		}
	for (int ticks = 0; ticks < 250;) {
		struct epoll_event events[8];
		int count = epoll_wait(set, events, 8, 2000);
		if (count < 0)
			say("epoll_wait: %s\n", strerror(errno));
		for (int index = 0; index < count; index++) {
			struct signalfd_siginfo info;
			uint64_t expired;
			int signal = events[index].data.fd;
			if (!signal) {
				ticks += read(timer, &expired, 8) == 8;
				spin();
			} else if (read(fds[signal], &info, sizeof(info)) == sizeof(info)) {
				got[signal] += (int)info.ssi_signo == signal;
			}
		}
		siginfo_t info = {0};
		while (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG) && info.si_pid) {
			children++;
			info.si_pid = 0;
		}
	}
	say("children %d\n", children);
	for (int signal = 1; signal <= 64; signal++)
		if (signal != SIGCHLD)
			say("%d%c", got[signal], signal == 64 ? '\n' : ' ');
}

/* ---- PostgreSQL: latches set by SIGURG and read by signalfd; before 14, by SIGUSR1 and a pipe
 * ---- */

struct latch {
	volatile int is_set, maybe_sleeping;
	pid_t owner;
};
static struct latch *latches;
static int latch_set, latch_fd;

static void latch_wake(struct latch *latch)
{
	__sync_synchronize();
	if (latch->is_set)
		return;
	latch->is_set = 1;
	__sync_synchronize();
	if (latch->maybe_sleeping)
		kill(latch->owner, SIGURG);
}

/* Whether it was set before the time was over. */
static bool latch_wait(struct latch *latch)
{
	struct epoll_event event;
	struct signalfd_siginfo info;
	while (!latch->is_set) {
		latch->maybe_sleeping = 1;
		__sync_synchronize();
		if (!latch->is_set && epoll_wait(latch_set, &event, 1, 1500) == 0)
			return false; /* nothing came: as good as never */
		while (read(latch_fd, &info, sizeof(info)) == sizeof(info))
			;
	}
	latch->maybe_sleeping = 0;
	latch->is_set = 0;
	return true;
}

static void latch_begin(void)
{
	sigset_t urgent = set_of(SIGURG, 0);
	sigprocmask(SIG_BLOCK, &urgent, NULL);
	latch_set = MUST(epoll_create1(EPOLL_CLOEXEC));
	latch_fd = MUST(signalfd(-1, &urgent, SFD_NONBLOCK | SFD_CLOEXEC));
	MUST(epoll_ctl(latch_set, EPOLL_CTL_ADD, latch_fd,
		       &(struct epoll_event){.events = EPOLLIN}));
}

static void set_own_latch(int number)
{
	(void)number;
	latch_wake(&latches[0]);
}

CASE(latch)
{
	latches = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	latches[0].owner = getpid();
	pid_t child = MUST(fork());
	if (!child) {
		latches[1].owner = getpid();
		latch_begin();
		for (int round = 0; round < 200; round++) {
			if (!latch_wait(&latches[1]))
				_exit(1);
			spin();
			if (round % 4)
				latch_wake(&latches[0]);
			else
				kill(latches[0].owner, SIGUSR1); /* a signal for the procedure */
		}
		_exit(0);
	}
	latch_begin();
	set_handler(SIGUSR1, set_own_latch, SA_RESTART);
	if (!SOON(latches[1].owner))
		say("no child\n");
	int lost = 0;
	for (int round = 0; round < 200 && !lost; round++) {
		work(1);
		latch_wake(&latches[1]);
		lost += !latch_wait(&latches[0]);
	}
	say("wake-ups lost: %d, %s\n", lost, ended(child));
	close(latch_set);
	close(latch_fd);
}

/* ---- garbage collectors: SIGPWR and SIGXCPU stop and start the world; .NET and Mono: real-time
 * ---- */

static sem_t acknowledged;
static volatile int world_stopped, stopped_count;
static int stop_signal, start_signal;
static volatile long progress[THREADS];

static void on_stop(int number)
{
	int saved = errno;
	sigset_t mask;
	(void)number;
	sigfillset(&mask);
	sigdelset(&mask, start_signal);
	sigdelset(&mask, SIGINT);
	sigdelset(&mask, SIGTERM);
	__atomic_fetch_add(&stopped_count, 1, __ATOMIC_SEQ_CST);
	sem_post(&acknowledged);
	do
		sigsuspend(&mask);
	while (world_stopped);
	sem_post(&acknowledged);
	errno = saved;
}

static void on_start(int number)
{
	(void)number;
}

static void *mutator(void *index)
{
	volatile long *own = &progress[(int)(intptr_t)index];
	while (!over) {
		spin();
		(*own)++;
		if (*own % 16 == 0)
			usleep(200);
		if (*own % 16 == 8)
			poll(NULL, 0, 1);
	}
	return NULL;
}

static void wait_for_all(int *lost)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 5;
	for (int left = THREADS; left; left--)
		while (sem_timedwait(&acknowledged, &until))
			if (errno != EINTR) {
				++*lost;
				break;
			}
}

static void stop_the_world(int stop, int start)
{
	pthread_t threads[THREADS];
	int moved = 0, lost = 0;
	stop_signal = stop;
	start_signal = start;
	over = false;
	sem_init(&acknowledged, 0, 0);
	struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
	sigfillset(&action.sa_mask);
	sigdelset(&action.sa_mask, SIGINT);
	MUST(sigaction(stop, &action, NULL));
	action.sa_handler = on_start;
	MUST(sigaction(start, &action, NULL));
	for (int index = 0; index < THREADS; index++)
		pthread_create(&threads[index], NULL, mutator, (void *)(intptr_t)index);
	for (int round = 0; round < 20 && !lost; round++) {
		long before[THREADS];
		work(1);
		world_stopped = 1;
		for (int index = 0; index < THREADS; index++)
			pthread_kill(threads[index], stop);
		wait_for_all(&lost);
		memcpy(before, (void *)progress, sizeof(before));
		work(2);
		moved += memcmp(before, (void *)progress, sizeof(before)) != 0;
		world_stopped = 0;
		for (int index = 0; index < THREADS; index++)
			pthread_kill(threads[index], start);
		wait_for_all(&lost);
	}
	over = true;
	if (lost)
		_exit((say("acknowledgements lost\n"), 1));
	for (int index = 0; index < THREADS; index++)
		pthread_join(threads[index], NULL);
	say("%d and %d: ran while stopped %d\n", stop, start, moved);
}

CASE(stop_the_world)
{
	stop_the_world(SIGPWR, SIGXCPU);
}
CASE(stop_the_world_urgent)
{
	stop_the_world(SIGURG, SIGUSR2);
}
CASE(stop_the_world_real_time)
{
	stop_the_world(SIGRTMIN, SIGRTMIN + 1);
	stop_the_world(SIGRTMAX, SIGRTMAX - 1);
	stop_the_world(SIGRTMAX - 2, SIGUSR2);
	stop_the_world(50, 49);
}

/* ---- a thread that is stopped while it has the loader's lock: others make calls that they have not made before ---- */

static _Atomic bool is_held, is_let_go;
static _Atomic long searches;

static void on_hold(int number)
{
	(void)number;
	is_held = true;
	while (!is_let_go)
		;
	is_held = false;
}

static void *search_for_ever(void *unused)
{
	for (; !over; searches++)
		dlopen("libhas.nobody.so.9", RTLD_NOW);
	return unused;
}

static void hold(pthread_t thread)
{
	long before = searches;
	while (searches < before + 3)
		sched_yield();
	is_let_go = false;
	MUST(pthread_kill(thread, SIGURG));
	while (!is_held)
		sched_yield();
}

static void let_go(void)
{
	is_let_go = true;
	while (is_held)
		sched_yield();
}

CASE(stopped_in_the_loader)
{
	struct timespec past = {0, 1};
	struct timeval no_time = {0, 0};
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	struct sigaction action = {.sa_handler = on_hold, .sa_flags = SA_RESTART};
	struct epoll_event event;
	pthread_t thread;
	sem_t semaphore;
	char text[32];
	int calls = 0;
	sem_init(&semaphore, 0, 0);
	pthread_mutex_lock(&mutex);
	MUST(sigaction(SIGURG, &action, NULL));
	over = false;
	pthread_create(&thread, NULL, search_for_ever, NULL);
#define WHILE_HELD(call)                                                                           \
	hold(thread);                                                                              \
	(void)!(call);                                                                             \
	calls++;                                                                                   \
	let_go();
	WHILE_HELD(poll(NULL, 0, 0))
	WHILE_HELD(select(0, NULL, NULL, NULL, &no_time))
	WHILE_HELD(pselect(0, NULL, NULL, NULL, &past, NULL))
	WHILE_HELD(nanosleep(&past, NULL))
	WHILE_HELD(epoll_wait(-1, &event, 1, 0))
	WHILE_HELD(epoll_pwait(-1, &event, 1, 0, NULL))
	WHILE_HELD(sem_timedwait(&semaphore, &past))
	WHILE_HELD(pthread_cond_timedwait(&condition, &mutex, &past))
	WHILE_HELD(read(-1, text, 1))
	WHILE_HELD(recv(-1, text, 1, 0))
	WHILE_HELD(accept(-1, NULL, NULL))
	WHILE_HELD(waitpid(-1, NULL, WNOHANG))
	WHILE_HELD(fsync(-1))
	WHILE_HELD(msgrcv(-1, text, 8, 0, 0))
	WHILE_HELD(semop(-1, &(struct sembuf){0}, 1))
	over = true;
	pthread_join(thread, NULL);
	say("%d calls\n", calls);
}

/* ---- the JVM: threads read a page that is protected when all shall stop ---- */

static volatile char *poll_page;
static volatile int at_safepoint, polls;
static sem_t resume;

static void on_poll(int number, siginfo_t *info, void *context)
{
	(void)number;
	if ((char *)info->si_addr == poll_page) {
		__atomic_fetch_add(&at_safepoint, 1, __ATOMIC_SEQ_CST);
		while (sem_wait(&resume))
			;
		return;
	}
	if (!info->si_addr) { /* an implicit null check: behind the instruction, which has 7 bytes
			       */
#ifdef __x86_64__
		((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 7;
		((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = 77;
#endif
		return;
	}
	_exit(66);
}

static int null_check(void)
{
#ifdef __x86_64__
	long value;
	__asm__ volatile("xorl %%ecx, %%ecx\n\t"
			 ".byte 0x48, 0x8b, 0x81, 0, 0, 0, 0" /* movq 0(%rcx), %rax */
			 : "=a"(value)
			 :
			 : "rcx", "memory");
	return (int)value;
#else
	return 77;
#endif
}

static void *polling(void *unused)
{
	static __thread char stack[65536];
	sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL);
	intptr_t wrong = 0;
	while (!over) {
		for (int step = 0; step < 50; step++) {
			spin();
			(void)*poll_page;
		}
		wrong += null_check() != 77;
		__atomic_fetch_add(&polls, 1, __ATOMIC_SEQ_CST);
	}
	return unused ? (void *)wrong : NULL;
}

CASE(safepoints)
{
	pthread_t threads[THREADS];
	poll_page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sem_init(&resume, 0, 0);
	set_info_handler(SIGSEGV, on_poll, SA_ONSTACK | SA_RESTART);
	for (int index = 0; index < THREADS; index++)
		pthread_create(&threads[index], NULL, polling, (void *)1);
	int missed = 0, wrong = 0;
	for (int round = 0; round < 15; round++) {
		work(1);
		at_safepoint = 0;
		MUST(mprotect((void *)poll_page, 4096, PROT_NONE));
		missed += !SOON(at_safepoint == THREADS);
		MUST(mprotect((void *)poll_page, 4096, PROT_READ));
		for (int index = 0; index < THREADS; index++)
			sem_post(&resume);
	}
	over = true;
	for (int index = 0; index < THREADS; index++) {
		void *result;
		pthread_join(threads[index], &result);
		wrong += (int)(intptr_t)result;
	}
	say("safepoints missed %d, null checks wrong %d\n", missed, wrong);
}

/* ---- Go: SIGURG to a thread makes it call a function where it stands ---- */

#ifdef __x86_64__
static volatile long preempted, unasked, sent;
static volatile int preempt_wanted;

void behave_preempted(void);
void behave_count_preempted(void);
void behave_count_preempted(void)
{
	preempted++;
}

/* Below the red zone, with all registers and flags kept, as runtime.asyncPreempt does. */
__asm__(".pushsection .text\n"
	".globl behave_preempted\n"
	".type behave_preempted, @function\n"
	"behave_preempted:\n\t"
	"pushq %rbp\n\tmovq %rsp, %rbp\n\tpushfq\n\t"
	"pushq %rax\n\tpushq %rcx\n\tpushq %rdx\n\tpushq %rbx\n\tpushq %rsi\n\tpushq %rdi\n\t"
	"pushq %r8\n\tpushq %r9\n\tpushq %r10\n\tpushq %r11\n\t"
	"cld\n\tandq $-16, %rsp\n\tsubq $512, %rsp\n\tfxsave (%rsp)\n\t"
	"call behave_count_preempted\n\t"
	"fxrstor (%rsp)\n\t"
	"leaq -88(%rbp), %rsp\n\t"
	"popq %r11\n\tpopq %r10\n\tpopq %r9\n\tpopq %r8\n\t"
	"popq %rdi\n\tpopq %rsi\n\tpopq %rbx\n\tpopq %rdx\n\tpopq %rcx\n\tpopq %rax\n\t"
	"popfq\n\tpopq %rbp\n\t"
	"ret $128\n"
	".popsection");

static void on_preempt(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;
	(void)number;
	if (info->si_code != SI_TKILL)
		unasked++;
	if (!__atomic_exchange_n(&preempt_wanted, 0, __ATOMIC_SEQ_CST))
		return;
	at->uc_mcontext.gregs[REG_RSP] -= 128 + 8; /* past the red zone; ret $128 takes it back */
	*(long long *)at->uc_mcontext.gregs[REG_RSP] = at->uc_mcontext.gregs[REG_RIP];
	at->uc_mcontext.gregs[REG_RIP] = (long long)(uintptr_t)behave_preempted;
}

static void *goroutine(void *unused)
{
	static __thread char stack[32768];
	sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL);
	unsigned long sum = 1;
	for (long step = 0; step < 60000000; step++)
		sum = sum * 6364136223846793005ul + 1442695040888963407ul;
	over = true;
	*(unsigned long *)unused = sum;
	return NULL;
}

static void preempt(int signal)
{
	pthread_t thread;
	unsigned long sum = 0;
	over = false;
	preempted = unasked = sent = 0;
	pthread_create(&thread, NULL, goroutine, &sum);
	while (!over) {
		if (!__atomic_exchange_n(&preempt_wanted, 1, __ATOMIC_SEQ_CST)) {
			pthread_kill(thread, signal);
			sent++;
		}
		pause_ns(500000);
	}
	pthread_join(thread, NULL);
	preempt_wanted = 0;
	say("sum %016lx, preempted as asked %d, unasked %ld\n", sum,
	    preempted > 5 && sent - preempted <= 1, unasked);
}

CASE(preempt)
{
	set_info_handler(SIGURG, on_preempt, SA_ONSTACK | SA_RESTART);
	preempt(SIGURG);
	set_info_handler(40, on_preempt, SA_ONSTACK | SA_RESTART);
	preempt(40);
}

/* The same by system calls alone, as Go makes them. */
static __attribute__((naked)) void restorer(void)
{
	__asm__("movq $15, %rax\n\tsyscall");
}

static void raw_handler(int signal)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} action = {(void *)on_preempt, SA_ONSTACK | SA_RESTART | SA_SIGINFO | 0x04000000,
		    (void *)restorer, ~0ull};
	MUST(syscall(SYS_rt_sigaction, signal, &action, NULL, 8));
}

CASE(preempt_raw)
{
	raw_handler(SIGURG);
	preempt(SIGURG);
	for (int signal = 34; signal <= 64; signal++)
		raw_handler(signal);
	work(50);
	preempt(64);
	preempt(34);
}
#endif

/* ---- Wine: faults and suspension change the context that goes on ---- */

#ifdef __x86_64__
static volatile int raised;
static __thread volatile int recovered;

__attribute__((noinline, noreturn)) static void exception_dispatcher(void)
{
	recovered++;
	extern __thread sigjmp_buf exception_return;
	siglongjmp(exception_return, 1);
}
__thread sigjmp_buf exception_return;

static void on_exception(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;
	(void)number;
	(void)info;
	raised++;
	at->uc_mcontext.gregs[REG_RSP] = (at->uc_mcontext.gregs[REG_RSP] - 4096) & ~15ll;
	at->uc_mcontext.gregs[REG_RSP] -= 8;
	at->uc_mcontext.gregs[REG_RIP] = (long long)(uintptr_t)exception_dispatcher;
}

static void *wine_thread(void *unused)
{
	struct guarded stack = guarded_new(16384);
	sigaltstack(&(stack_t){.ss_sp = stack.start, .ss_size = stack.bytes}, NULL);
	for (volatile int round = 0; round < 30; round++)
		if (!sigsetjmp(exception_return, 1)) {
			work(1);
			if (round % 2)
				*(volatile int *)16 = 1;
			else
				__builtin_trap();
		}
	intptr_t result = recovered * 1000 + !guarded_overrun(&stack);
	return unused ? (void *)result : NULL;
}

CASE(exceptions)
{
	pthread_t threads[THREADS];
	set_info_handler(SIGSEGV, on_exception, SA_ONSTACK | SA_RESTART);
	set_info_handler(SIGILL, on_exception, SA_ONSTACK | SA_RESTART);
	for (int index = 0; index < THREADS; index++)
		pthread_create(&threads[index], NULL, wine_thread, (void *)1);
	for (int index = 0; index < THREADS; index++) {
		void *result;
		pthread_join(threads[index], &result);
		say("thread: %ld\n", (long)result);
	}
}
#endif

/* ---- a thread that ticks, as those of Ruby and OCaml; QEMU's kicks ---- */

static volatile sig_atomic_t ticks;
static pthread_t main_thread;

static void on_tick(int number)
{
	(void)number;
	ticks++;
}

static void *ticker(void *signal)
{
	for (int round = 0; round < 100; round++) {
		pause_ns(1000000);
		pthread_kill(main_thread, (int)(intptr_t)signal);
	}
	over = true;
	return NULL;
}

CASE(tick_thread)
{
	static const int signals[] = {SIGVTALRM, SIGURG, 41};
	main_thread = pthread_self();
	for (int index = 0; index < 3; index++) {
		pthread_t thread;
		int lines[2], other_errors = 0;
		char byte;
		MUST(pipe(lines));
		over = false;
		ticks = 0;
		set_handler(signals[index], on_tick, 0);
		pthread_create(&thread, NULL, ticker, (void *)(intptr_t)signals[index]);
		fcntl(lines[0], F_SETFL, 0);
		while (!over) {
			struct pollfd one = {lines[0], POLLIN, 0};
			spin();
			int status = poll(&one, 1, 20);
			other_errors += status < 0 && errno != EINTR;
			status = usleep(5000);
			other_errors += status < 0 && errno != EINTR;
		}
		pthread_join(thread, NULL);
		close(lines[1]);
		say("ticks: some %d, most %d, end %zd, errors %d\n", ticks > 20, ticks <= 100,
		    read(lines[0], &byte, 1), other_errors);
		close(lines[0]);
	}
}

static void *kicked(void *signal)
{
	sigset_t only = set_of((int)(intptr_t)signal, 0), waiting;
	intptr_t kicks = 0;
	pthread_sigmask(SIG_BLOCK, &only, NULL);
	sem_post(&acknowledged);
	while (kicks < 40) {
		siginfo_t info;
		spin();
		int got = sigtimedwait(&only, &info, &(struct timespec){3, 0});
		if (got < 0)
			break;
		kicks += got == (int)(intptr_t)signal;
		sigpending(&waiting);
		sem_post(&acknowledged);
	}
	return (void *)kicks;
}

CASE(kicks)
{
	static const int signals[] = {SIGUSR1, SIGURG, 34, 45, 64};
	for (int index = 0; index < 5; index++) {
		pthread_t thread;
		void *kicks;
		sem_init(&acknowledged, 0, 0);
		pthread_create(&thread, NULL, kicked, (void *)(intptr_t)signals[index]);
		for (int round = 0; round < 40; round++) {
			struct timespec until;
			clock_gettime(CLOCK_REALTIME, &until);
			until.tv_sec += 4;
			if (sem_timedwait(&acknowledged, &until))
				break;
			pthread_kill(thread, signals[index]);
		}
		pthread_join(thread, &kicks);
		say("%d: kicks %ld\n", signals[index], (long)kicks);
	}
}

/* ---- all threads answer, as userspace RCU and membarriers by signal have it ---- */

static volatile int barriers;

static void on_barrier(int number)
{
	(void)number;
	__atomic_fetch_add(&barriers, 1, __ATOMIC_SEQ_CST);
}

static void *reader(void *unused)
{
	while (!over)
		spin();
	return unused;
}

CASE(barrier_by_signal)
{
	pthread_t threads[THREADS];
	int missed = 0;
	EACH_SIGNAL(signal) set_handler(signal, on_barrier, SA_RESTART);
	for (int index = 0; index < THREADS; index++)
		pthread_create(&threads[index], NULL, reader, NULL);
	EACH_SIGNAL(signal)
	{
		barriers = 0;
		for (int index = 0; index < THREADS; index++)
			pthread_kill(threads[index], signal);
		missed += !SOON(barriers == THREADS);
	}
	over = true;
	for (int index = 0; index < THREADS; index++)
		pthread_join(threads[index], NULL);
	say("missed %d\n", missed);
}

/* ---- crash reporters: report in a child, then end as without them ---- */

static struct sigaction before_crash;

static void on_crash(int number, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	pid_t child = fork();
	if (!child) {
		int file = open("crash", O_CREAT | O_WRONLY, 0600);
		if (write(file, "crashed\n", 8) != 8)
			_exit(1);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	sigaction(number, &before_crash, NULL);
	if (number == SIGABRT)
		raise(number);
}

CASE(crash_reporter)
{
	static const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGTERM};
	static char stack[65536];
	sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL);
	for (int index = 0; index < 4; index++) {
		pid_t child = MUST(fork());
		if (!child) {
			setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
			struct sigaction action = {.sa_sigaction = on_crash,
						   .sa_flags = SA_SIGINFO | SA_ONSTACK};
			sigaction(signals[index], &action, &before_crash);
			work(10);
			if (index == 0)
				*(volatile int *)8 = 1;
			else if (index == 1)
				abort();
			for (int round = 0; round < 3; round++)
				raise(signals[index]);
			_exit(5);
		}
		say("%d: %s\n", signals[index], ended(child));
	}
}

/* ---- glibc's own signals: cancellation and setuid of all threads ---- */

static volatile int cleaned;

static void clean_up(void *unused)
{
	(void)unused;
	__atomic_fetch_add(&cleaned, 1, __ATOMIC_SEQ_CST);
}

static int cancel_pipe[2];

static void *cancelled(void *kind)
{
	static sem_t never;
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	char byte;
	pthread_cleanup_push(clean_up, NULL);
	work(1);
	switch ((int)(intptr_t)kind) {
	case 0:
		(void)!read(cancel_pipe[0], &byte, 1);
		break;
	case 1:
		poll(NULL, 0, -1);
		break;
	case 2:
		select(0, NULL, NULL, NULL, NULL);
		break;
	case 3:
		nanosleep(&(struct timespec){100, 0}, NULL);
		break;
	case 4:
		sem_wait(&never);
		break;
	case 5:
		pthread_mutex_lock(&mutex);
		pthread_cond_wait(&condition, &mutex);
		break;
	case 6:
		pause();
		break;
	case 7:
		sleep(100);
		break;
	case 8:
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
		for (;;)
			spin();
		break;
	case 9:
		recv(cancel_pipe[0], &byte, 1, 0);
		pause();
		break;
	case 10: {
		int got;
		sigset_t set = set_of(SIGUSR2, 0);
		sigwait(&set, &got);
		break;
	}
	case 11: {
		struct epoll_event event;
		epoll_wait(epoll_create1(0), &event, 1, -1);
		break;
	}
	default:
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){100, 0}, NULL);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

CASE(cancel)
{
	MUST(pipe(cancel_pipe));
	for (int kind = 0; kind < 13; kind++) {
		pthread_t thread;
		void *result = NULL;
		cleaned = 0;
		pthread_create(&thread, NULL, cancelled, (void *)(intptr_t)kind);
		pause_ns(6000000);
		pthread_cancel(thread);
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 5;
		int error = pthread_timedjoin_np(thread, &result, &until);
		say("%d: error %d, cancelled %d, cleaned %d\n", kind, error,
		    result == PTHREAD_CANCELED, cleaned);
	}
	close(cancel_pipe[0]);
	close(cancel_pipe[1]);
}

static void *say_identity(void *unused)
{
	pthread_barrier_t *barrier = unused;
	pthread_barrier_wait(barrier);
	spin();
	pthread_barrier_wait(barrier);
	return (void *)(intptr_t)geteuid();
}

CASE(identity_of_threads)
{
	pthread_t threads[THREADS];
	pthread_barrier_t barrier;
	if (geteuid())
		skip("only root can change its user");
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int index = 0; index < THREADS; index++)
		pthread_create(&threads[index], NULL, say_identity, &barrier);
	pthread_barrier_wait(&barrier);
	work(5);
	MUST(setresuid(65534, 65534, 0));
	pthread_barrier_wait(&barrier);
	for (int index = 0; index < THREADS; index++) {
		void *result;
		pthread_join(threads[index], &result);
		say("user %ld\n", (long)(intptr_t)result);
	}
	MUST(setresuid(0, 0, 0));
}

/* ---- profilers of others ---- */

static volatile sig_atomic_t profile_ticks;

static void on_profile(int number)
{
	(void)number;
	profile_ticks++;
}

static int ticks_of(int timer, int signal, unsigned ms)
{
	struct itimerval every = {{0, 10000}, {0, 10000}}, off = {0};
	profile_ticks = 0;
	set_handler(signal, on_profile, SA_RESTART);
	MUST(setitimer(timer, &every, NULL));
	work(ms);
	MUST(setitimer(timer, &off, NULL));
	return profile_ticks;
}

/* A tick of 10 ms over 200 ms of computing: about 20, of which half are in the program's own code.
 */
CASE(interval_timers)
{
	int profile = ticks_of(ITIMER_PROF, SIGPROF, 200);
	say("prof: %d\n", profile >= 10 && profile <= 45);
	struct itimerval now;
	MUST(getitimer(ITIMER_PROF, &now));
	say("left %ld %ld\n", (long)now.it_value.tv_usec, (long)now.it_interval.tv_usec);
	int virtual = ticks_of(ITIMER_VIRTUAL, SIGVTALRM, 200);
	fprintf(stderr, "ticks: prof %d, virtual %d\n", profile, virtual);
	say("virtual: %d\n", virtual >= 2 && virtual <= 45);
}
