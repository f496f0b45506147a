/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -ldl -lrt */
/*
 * Coroutines on stacks of a few KiB, each with memory of known content below. What a profiler's
 * wrappers and its handler put on the program's stack must fit as well: the sizes are what the
 * plain call takes (as it says on standard error) and 2,048 bytes, rounded up to 512.
 */
#include "../behave.h"

#include <dlfcn.h>
#include <mqueue.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/sem.h>

#define COROUTINES 6
#define TURNS	   12

extern char **environ;

static struct {
	ucontext_t context;
	struct guarded stack;
} coroutines[COROUTINES];
static ucontext_t main_context;
static void (*body)(void);
static int ends[2], other_ends[2];

static void turn(int index)
{
	for (int round = 0; round < TURNS; round++) {
		spin();
		body();
		swapcontext(&coroutines[index].context, &main_context);
	}
}

static void run_coroutines(size_t bytes, void (*what)(void))
{
	size_t overrun = 0, used = 0;
	body = what;
	MUST(pipe(ends));
	MUST(pipe2(other_ends, O_CLOEXEC | O_NONBLOCK));
	what(); /* what is done once only (names that are looked up) is done on the large stack */
	for (int index = 0; index < COROUTINES; index++) {
		ucontext_t *context = &coroutines[index].context;
		coroutines[index].stack = guarded_new(bytes);
		getcontext(context);
		context->uc_stack.ss_sp = coroutines[index].stack.start;
		context->uc_stack.ss_size = bytes;
		context->uc_link = &main_context;
		makecontext(context, (void (*)(void))turn, 1, index);
	}
	for (int round = 0; round < TURNS; round++)
		for (int index = 0; index < COROUTINES; index++)
			swapcontext(&main_context, &coroutines[index].context);
	for (int index = 0; index < COROUTINES; index++) {
		overrun += guarded_overrun(&coroutines[index].stack) != 0;
		if (guarded_used(&coroutines[index].stack) > used)
			used = guarded_used(&coroutines[index].stack);
	}
	fprintf(stderr, "used %zu of %zu\n", used, bytes);
	say("stacks overrun: %zu\n", overrun);
}

static void does_spin(void)
{
	for (int round = 0; round < 8; round++)
		spin();
}
static void does_exec(void)
{
	execl("/nonexistent", "x", (char *)NULL);
}
static void does_execve(void)
{
	char *arguments[] = {"x", NULL};
	execve("/nonexistent", arguments, environ);
}
static void does_fork(void)
{
	pid_t child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}
static void does_vfork(void)
{
	pid_t child = vfork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}
static void does_fork_and_exec(void)
{
	pid_t child = fork();
	if (!child) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
}
static void does_read(void)
{
	char byte;
	if (write(ends[1], "x", 1) == 1)
		(void)!read(ends[0], &byte, 1);
}
static void does_poll(void)
{
	struct pollfd one = {ends[0], POLLIN, 0};
	poll(&one, 1, 1);
}
static void does_ppoll(void)
{
	struct pollfd one = {ends[0], POLLIN, 0};
	ppoll(&one, 1, &(struct timespec){0, 100000}, NULL);
}
static void does_select(void)
{
	select(0, NULL, NULL, NULL, &(struct timeval){0, 100});
}
static void does_epoll(void)
{
	struct epoll_event event;
	int set = epoll_create1(0);
	epoll_wait(set, &event, 1, 1);
	close(set);
}
static void does_usleep(void)
{
	usleep(100);
}
static void does_nanosleep(void)
{
	nanosleep(&(struct timespec){0, 100000}, NULL);
}
static void does_sem_timedwait(void)
{
	static sem_t semaphore;
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	sem_timedwait(&semaphore, &until);
}
static void does_condition(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&condition, &mutex, &until);
	pthread_mutex_unlock(&mutex);
}
static void does_spawn(void)
{
	pid_t child;
	char *arguments[] = {"true", NULL};
	if (!posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ))
		waitpid(child, NULL, 0);
}
static void does_wait(void)
{
	waitpid(-1, NULL, WNOHANG);
	wait4(-1, NULL, WNOHANG, NULL);
	waitid(P_ALL, 0, NULL, WEXITED | WNOHANG);
}
static void *no_work(void *unused)
{
	return unused;
}
static void does_thread(void)
{
	pthread_t thread;
	if (!pthread_create(&thread, NULL, no_work, NULL))
		pthread_join(thread, NULL);
}
static void does_dlopen(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);
	if (library) {
		dlsym(library, "cos");
		dlclose(library);
	}
}
static void nothing(int number)
{
	(void)number;
}
static void does_signals(void)
{
	sigset_t set, old;
	sigfillset(&set);
	signal(SIGUSR1, nothing);
	sigprocmask(SIG_BLOCK, &set, &old);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	signal(SIGUSR1, SIG_DFL);
	sigpending(&set);
}
static void does_sigtimedwait(void)
{
	sigset_t set = set_of(SIGUSR2, SIGURG, 40, 0);
	sigtimedwait(&set, NULL, &(struct timespec){0, 100000});
}
static void does_signalfd(void)
{
	sigset_t set = set_of(SIGUSR2, SIGURG, 0);
	close(signalfd(-1, &set, SFD_NONBLOCK));
}
static void does_descriptors(void)
{
	int copy = dup(ends[0]);
	dup2(ends[0], copy);
	fcntl(copy, F_SETFD, FD_CLOEXEC);
	close_range((unsigned)copy, (unsigned)copy, 0);
}
static void does_alternate_stack(void)
{
	stack_t stack;
	sigaltstack(NULL, &stack);
}
static void does_sockets(void)
{
	char byte;
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return;
	send(pair[0], "x", 1, 0);
	recv(pair[1], &byte, 1, 0);
	close(pair[0]);
	close(pair[1]);
}
static void does_locks(void)
{
	flock(ends[0], LOCK_EX | LOCK_NB);
	fsync(ends[0]);
}
static void does_limit(void)
{
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	setrlimit(RLIMIT_NOFILE, &limit);
	setenv("BEHAVE_COROUTINE", "1", 1);
	prctl(PR_GET_NAME, (char[16]){0});
}

/* The kernel's frame and a handler do not fit on any of them: they must go elsewhere. */
#define ON_STACK(name, bytes)                                                                      \
	CASE(name)                                                                                 \
	{                                                                                          \
		run_coroutines(bytes, does_##name);                                                \
	}

ON_STACK(spin, 1024)
ON_STACK(exec, 2560)
ON_STACK(execve, 2560)
ON_STACK(fork, 2560)
ON_STACK(vfork, 2560)
ON_STACK(fork_and_exec, 2560)
ON_STACK(read, 2560)
ON_STACK(poll, 2560)
ON_STACK(ppoll, 2560)
ON_STACK(select, 2560)
ON_STACK(epoll, 2560)
ON_STACK(usleep, 2560)
ON_STACK(nanosleep, 2560)
ON_STACK(sem_timedwait, 2560)
ON_STACK(condition, 2560)
ON_STACK(spawn, 3072)
ON_STACK(wait, 2560)
ON_STACK(thread, 5632)
ON_STACK(dlopen, 6656)
ON_STACK(signals, 3072)
ON_STACK(sigtimedwait, 2560)
ON_STACK(signalfd, 2560)
ON_STACK(descriptors, 2560)
ON_STACK(alternate_stack, 2560)
ON_STACK(sockets, 2560)
ON_STACK(locks, 2560)
ON_STACK(limit, 2560)

/* ---- contexts that are switched all the time, also out of handlers and over threads ---- */

static volatile long sum;

static void compute(int index)
{
	for (int round = 0; round < 300; round++) {
		sum += index * round;
		for (volatile int step = 0; step < 4000; step++)
			;
		swapcontext(&coroutines[index].context, &main_context);
	}
}

CASE(switches)
{
	for (int index = 0; index < COROUTINES; index++) {
		ucontext_t *context = &coroutines[index].context;
		coroutines[index].stack = guarded_new(4096);
		getcontext(context);
		sigaddset(&context->uc_sigmask, SIGUSR2); /* each with a mask of its own */
		sigaddset(&context->uc_sigmask, SIGURG);
		context->uc_stack.ss_sp = coroutines[index].stack.start;
		context->uc_stack.ss_size = 4096;
		context->uc_link = &main_context;
		makecontext(context, (void (*)(void))compute, 1, index);
	}
	int blocked = 0, overrun = 0;
	for (int round = 0; round < 300; round++)
		for (int index = 0; index < COROUTINES; index++) {
			sigset_t mask;
			swapcontext(&main_context, &coroutines[index].context);
			sigprocmask(SIG_SETMASK, NULL, &mask);
			blocked += sigismember(&mask, SIGUSR2) + sigismember(&mask, SIGURG);
		}
	for (int index = 0; index < COROUTINES; index++)
		overrun += guarded_overrun(&coroutines[index].stack) != 0;
	say("sum %ld, blocked outside %d, overrun %d\n", sum, blocked, overrun);
}

/* A coroutine goes on in another thread, as runtimes with work stealing do. */
static void *resume(void *index)
{
	swapcontext(&main_context, &coroutines[(int)(intptr_t)index].context);
	return NULL;
}

CASE(over_threads)
{
	body = does_poll;
	MUST(pipe(ends));
	for (int index = 0; index < COROUTINES; index++) {
		ucontext_t *context = &coroutines[index].context;
		coroutines[index].stack = guarded_new(8192);
		getcontext(context);
		context->uc_stack.ss_sp = coroutines[index].stack.start;
		context->uc_stack.ss_size = 8192;
		context->uc_link = &main_context;
		makecontext(context, (void (*)(void))turn, 1, index);
	}
	size_t overrun = 0;
	for (int round = 0; round < TURNS; round++)
		for (int index = 0; index < COROUTINES; index++) {
			pthread_t thread;
			pthread_create(&thread, NULL, resume, (void *)(intptr_t)index);
			pthread_join(thread, NULL);
		}
	for (int index = 0; index < COROUTINES; index++)
		overrun += guarded_overrun(&coroutines[index].stack) != 0;
	say("overrun %zu\n", overrun);
}
