/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes: how they are made, how they end, what they leave behind, what they hand on, and what
 * one sees of another.
 */
#include "../behave.h"

#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/user.h>

extern char **environ;

/* ---- making them ---- */

static void count_children(const char *how, long (*make)(void))
{
	int right = 0;
	for (int index = 0; index < 20; index++) {
		long child = make();
		if (!child) {
			work(2);
			_exit(index);
		}
		char expected[20];
		snprintf(expected, sizeof(expected), "exit %d", index);
		right += child > 0 && !strcmp(ended((pid_t)child), expected);
	}
	say("%s: %d\n", how, right);
}

static long by_fork(void)
{
	return fork();
}
static long by_fork_raw(void)
{
#ifdef SYS_fork
	return syscall(SYS_fork);
#else
	return fork();
#endif
}
static long by_clone_raw(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}
static long by_clone3_raw(void)
{
	struct clone_args arguments = {.exit_signal = SIGCHLD};
	return syscall(SYS_clone3, &arguments, sizeof(arguments));
}
static long by_plain_fork(void)
{
	return _Fork();
}

CASE(forks)
{
	work(20);
	count_children("fork", by_fork);
	count_children("raw fork", by_fork_raw);
	count_children("raw clone", by_clone_raw);
	count_children("raw clone3", by_clone3_raw);
	count_children("_Fork", by_plain_fork);
}

static int in_clone(void *value)
{
	work(3);
	*(volatile int *)value += 1;
	return 7;
}

CASE(clones)
{
	static char stack[65536] __attribute__((aligned(16)));
	static volatile int shared;
	static const int flags[] = {SIGCHLD, CLONE_VM | SIGCHLD, CLONE_VM | CLONE_VFORK | SIGCHLD,
				    CLONE_FILES | SIGCHLD,
				    CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD};
	work(10);
	for (int index = 0; index < 5; index++) {
		shared = 0;
		pid_t child = clone(in_clone, stack + sizeof(stack), flags[index], (void *)&shared);
		const char *end = ended(child);
		say("%d: %s, shared %d\n", index, end, shared);
	}
}

CASE(vforks)
{
	const char *program = own_program();
	int right = 0;
	for (int index = 0; index < 40; index++) {
		spin();
		pid_t child = vfork();
		if (!child) {
			if (index % 2)
				execl(program, "behave", "exits", "5", (char *)NULL);
			_exit(5);
		}
		right += !strcmp(ended(child), "exit 5");
	}
	say("right: %d\n", right);
}

PART(exits)
{
	work(2);
	exit(argc ? atoi(argv[0]) : 0);
}

static void *fork_in_thread(void *unused)
{
	intptr_t right = 0;
	for (int index = 0; index < 15; index++) {
		pid_t child = fork();
		if (!child) {
			work(1);
			_exit(3);
		}
		int status;
		right += waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3;
	}
	return unused ? unused : (void *)right;
}

CASE(forks_of_threads)
{
	pthread_t threads[4];
	for (int index = 0; index < 4; index++)
		pthread_create(&threads[index], NULL, fork_in_thread, NULL);
	for (int index = 0; index < 4; index++) {
		void *right;
		pthread_join(threads[index], &right);
		say("right: %ld\n", (long)(intptr_t)right);
	}
}

static volatile sig_atomic_t forked;

static void *nothing(void *unused)
{
	return unused;
}

static void *make_threads(void *stop)
{
	while (!*(_Atomic bool *)stop) {
		pthread_t threads[4];
		for (int index = 0; index < 4; index++)
			MUST(pthread_create(&threads[index], NULL, nothing, NULL) ? -1 : 0);
		for (int index = 0; index < 4; index++)
			pthread_join(threads[index], NULL);
	}
	return NULL;
}

static bool is_event(int fd)
{
	char path[32], target[64] = "";
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, "perf_event");
}

/* A child has no perf event that the program did not open. */
#define MAKERS 8
CASE(forks_beside_threads)
{
	static _Atomic bool stop;
	pthread_t makers[MAKERS];
	int bad = 0, lowest = MUST(dup(0));
	close(lowest);
	for (int index = 0; index < MAKERS; index++)
		MUST(pthread_create(&makers[index], NULL, make_threads, &stop) ? -1 : 0);
	for (int count = 0; count < 600; count++) {
		pid_t child = MUST(fork());
		if (!child) {
			bool found = false;
			for (int fd = lowest; fd < lowest + 6; fd++)
				found |= is_event(fd);
			_exit(found);
		}
		bad += strcmp(ended(child), "exit 0") != 0;
	}
	stop = true;
	for (int index = 0; index < MAKERS; index++)
		pthread_join(makers[index], NULL);
	say("%d have others\n", bad);
}

static void fork_in_handler(int number)
{
	(void)number;
	pid_t child = fork();
	if (!child) {
		work(2);
		_exit(0);
	}
	forked += child > 0;
}

CASE(forks_of_handlers)
{
	struct itimerval every = {{0, 10000}, {0, 10000}}, off = {0};
	set_handler(SIGALRM, fork_in_handler, SA_RESTART);
	setitimer(ITIMER_REAL, &every, NULL);
	while (forked < 10)
		spin();
	setitimer(ITIMER_REAL, &off, NULL);
	int reaped = 0;
	while (wait(NULL) > 0)
		reaped++;
	say("reaped all: %d\n", reaped == forked);
}

static int prepared, in_parent, in_child;

static void prepare(void)
{
	prepared++;
}
static void parent_side(void)
{
	in_parent++;
}
static void child_side(void)
{
	in_child++;
}

CASE(fork_handlers)
{
	pthread_atfork(prepare, parent_side, child_side);
	pid_t child = fork();
	if (!child)
		_exit(prepared * 100 + in_parent * 10 + in_child);
	say("%s; %d %d %d\n", ended(child), prepared, in_parent, in_child);
	child = _Fork();
	if (!child)
		_exit(in_child);
	say("%s; %d\n", ended(child), prepared);
	say("%d\n", system("exit 3"));
}

/* A daemon: two forks, a session of its own, nothing left open. */
CASE(daemon)
{
	int ends[2];
	char text[100] = "";
	MUST(pipe(ends));
	work(10);
	pid_t child = fork();
	if (!child) {
		close(ends[0]);
		setsid();
		if (fork())
			_exit(0);
		int out = MUST(dup2(ends[1], 50));
		MUST(chdir("/"));
		umask(0);
		for (int fd = 0; fd < 50; fd++)
			close(fd);
		int first = open("/dev/null", O_RDWR), second = dup(first), third = dup(first);
		work(20);
		int bytes = snprintf(text, sizeof(text), "%d %d %d, leader %d", first, second,
				     third, getsid(0) == getpid());
		MUST(write(out, text, (size_t)bytes));
		_exit(0);
	}
	say("%s\n", ended(child));
	close(ends[1]);
	size_t bytes = 0;
	for (ssize_t got; (got = read(ends[0], text + bytes, sizeof(text) - 1 - bytes)) > 0;)
		bytes += (size_t)got;
	say("%s\n", text);
	close(ends[0]);
}

/* ---- ending ---- */

static void at_exit(void)
{
	say("at exit\n");
}
static void at_quick_exit_of(void)
{
	say("at quick exit\n");
}
static void on_exit_of(int status, void *argument)
{
	say("on exit %d %d\n", status, (int)(intptr_t)argument);
}
__attribute__((destructor)) static void at_unload(void)
{
	if (getenv("BEHAVE_ENDS"))
		say("destructor\n");
}

static void *exit_in_thread(void *unused)
{
	work(2);
	exit(9);
	return unused;
}

static void *exit_raw_in_thread(void *unused)
{
	work(2);
	syscall(SYS_exit_group, 10);
	return unused;
}

PART(ends)
{
	int kind = argc ? atoi(argv[0]) : 0;
	pthread_t thread;
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	atexit(at_exit);
	at_quick_exit(at_quick_exit_of);
	on_exit(on_exit_of, (void *)5);
	printf("kept ");
	work(10);
	switch (kind) {
	case 0:
		return;
	case 1:
		exit(300);
	case 2:
		_exit(4);
	case 3:
		quick_exit(5);
	case 4:
		syscall(SYS_exit_group, 6);
		break;
	case 5:
		syscall(SYS_exit, 7);
		break;
	case 6:
		abort();
	case 7:
		raise(SIGTERM);
		break;
	case 8:
		pthread_create(&thread, NULL, exit_in_thread, NULL);
		pthread_exit(NULL);
	case 9:
		pthread_create(&thread, NULL, exit_raw_in_thread, NULL);
		pthread_join(thread, NULL);
		break;
	case 10:
		pthread_exit(NULL);
	case 11:
		kill(getpid(), SIGKILL);
		break;
	case 12:
		fflush(stdout);
		execl("/bin/sh", "sh", "-c", "exit 12", (char *)NULL);
		break;
	case 13:
		fclose(stdout);
		exit(13);
	case 14:
		_Exit(14);
	case 15:
		raise(SIGHUP);
		break;
	case 16:
		kill(getpid(), SIGINT);
		break;
	case 17:
		raise(SIGRTMIN + 9);
		break;
	case 18:
		alarm(1);
		pause();
		break;
	default:
		close(1);
		exit(19);
	}
}

CASE(endings)
{
	setenv("BEHAVE_ENDS", "1", 1);
	work(10);
	for (int kind = 0; kind < 20; kind++) {
		char text[12];
		snprintf(text, sizeof(text), "%d", kind);
		pid_t child = MUST(fork());
		if (!child)
			become("ends", text);
		say("%d: %s\n", kind, ended(child));
	}
	unsetenv("BEHAVE_ENDS");
}

/* The first process of all, which sonde run itself started. */
CASE(end_by_return)
{
	work(20);
}
CASE(end_by_exit)
{
	work(20);
	exit(77 - 1);
}
CASE(end_by_exit_group)
{
	work(20);
	syscall(SYS_exit_group, 5);
}
CASE(end_by_quick_exit)
{
	work(20);
	quick_exit(6);
}
CASE(end_by_term)
{
	work(20);
	raise(SIGTERM);
}
CASE(end_by_kill)
{
	work(20);
	raise(SIGKILL);
}
CASE(end_by_urgent)
{
	work(20);
	raise(SIGURG);
	say("still there\n");
	raise(SIGRTMIN + 11);
}
CASE(end_by_segv)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	work(20);
	*(volatile int *)8 = 1;
}
CASE(end_by_pipe)
{
	int ends[2];
	MUST(pipe(ends));
	close(ends[0]);
	work(20);
	MUST(write(ends[1], "x", 1));
}
CASE(end_of_thread_first)
{
	pthread_t thread;
	pthread_create(&thread, NULL, exit_in_thread, NULL);
	pthread_exit(NULL);
}

/* A thread that the program makes without the C library, with next to nothing where its variables
 * are, ends itself alone. */
static volatile int bare_has_run;

static int bare_thread(void *nothing)
{
	(void)nothing;
	bare_has_run = 1;
	syscall(SYS_exit, 0);
	return 0;
}

CASE(end_of_bare_thread)
{
	enum { FLAGS = CLONE_THREAD | CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND };
	static char stack[65536] __attribute__((aligned(16)));
	static char variables[8192] __attribute__((aligned(16)));
	void *self = variables + sizeof(variables) / 2;
	memcpy(self, &self, sizeof(self));
	memcpy((char *)self + 16, &self, sizeof(self));
	work(20);
	MUST(clone(bare_thread, stack + sizeof(stack), FLAGS | CLONE_SETTLS, NULL, NULL, self,
		   NULL));
	say("%d\n", SOON(bare_has_run));
	pause_ns(5000000);
	work(20);
}

/* Buffers: what a child has, what is lost. */
CASE(buffers)
{
	static char buffer[1 << 16];
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	printf("twice\n");
	work(20);
	pid_t child = fork();
	if (!child)
		exit(0);
	waitpid(child, NULL, 0);
	child = fork();
	if (!child) {
		printf("lost\n");
		_exit(0);
	}
	waitpid(child, NULL, 0);
	child = vfork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	printf("at the end\n");
	fflush(stdout);
}

/* ---- core files ---- */

CASE(core)
{
	work(10);
	for (int kind = 0; kind < 3; kind++) {
		pid_t child = MUST(fork());
		if (!child) {
			setrlimit(RLIMIT_CORE,
				  &(struct rlimit){kind == 1 ? 0 : RLIM_INFINITY, RLIM_INFINITY});
			if (kind == 2)
				prctl(PR_SET_DUMPABLE, 0);
			work(5);
			abort();
		}
		int status;
		waitpid(child, &status, 0);
		say("%d: signal %d, core %d, file %d\n", kind, WTERMSIG(status),
		    WCOREDUMP(status) != 0, access("core", F_OK));
		unlink("core");
	}
	say("dumpable %d\n", prctl(PR_GET_DUMPABLE));
}

/* ---- the environment ---- */

static int by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* own_environment tells of these. */
static bool is_of_profiler(const char *variable)
{
	static const char *const names[] = {
	    "SONDE_",	      "LD_PRELOAD=",	    "ASAN_OPTIONS=",
	    "NVTX_INJECTION", "INTEL_LIBITTNOTIFY", "CUDA_INJECTION",
	    "OPENCL_LAYERS=", "ZE_ENABLE_TRACING"};
	for (size_t index = 0; index < sizeof(names) / sizeof(*names); index++)
		if (!strncmp(variable, names[index], strlen(names[index])))
			return true;
	return false;
}

PART(environment_report)
{
	int count = 0;
	while (environ && environ[count])
		count++;
	qsort(environ, (size_t)count, sizeof(*environ), by_text);
	for (int index = 0; index < count; index++)
		if (!is_of_profiler(environ[index]))
			say("  %.*s\n", (int)strcspn(environ[index], "="), environ[index]);
	work(3);
	if (argc)
		become("environment_report", NULL);
}

CASE(environment)
{
	work(10);
	char *none[] = {NULL}, *few[] = {"A=1", "B=2", NULL};
	char *arguments[] = {"behave", "environment_report", "again", NULL};
	pid_t child = MUST(fork());
	if (!child)
		execve(own_program(), arguments, few);
	say("few: %s\n", ended(child));
	child = MUST(fork());
	if (!child)
		execve(own_program(), arguments, none);
	say("none: %s\n", ended(child));
	child = MUST(fork());
	if (!child) {
		clearenv();
		work(2);
		setenv("C", "3", 1);
		become("environment_report", "again");
	}
	say("cleared: %s\n", ended(child));
	child = MUST(fork());
	if (!child) {
		environ = NULL;
		work(2);
		execve(own_program(), arguments, environ);
	}
	say("no array: %s\n", ended(child));
	if (posix_spawn(&child, own_program(), NULL, NULL, arguments, few))
		say("not spawned\n");
	say("spawned: %s\n", ended(child));
}

/* What is no program, and a pipe: nobody may read from it to find that out. */
CASE(pipe_as_program)
{
	char path[32], text[8] = "";
	int ends[2];
	pid_t child;
	char *arguments[] = {"pipe", NULL};
	MUST(pipe(ends));
	MUST(write(ends[1], "hello", 5));
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	say("spawned: %d\n", posix_spawn(&child, path, NULL, NULL, arguments, environ));
	say("left: %zd bytes, %s\n", MUST(read(ends[0], text, sizeof(text) - 1)), text);
}

/* What it finds that nobody else gave it. */
CASE(own_environment)
{
	int count = 0;
	for (char **at = environ; *at; at++)
		count += is_of_profiler(*at);
	say("variables of the profiler: %d\n", count != 0);
}

PART(arguments_report)
{
	say("%d %s %s\n", argc, program_invocation_name, argc ? argv[0] : "");
	char text[200] = "";
	int file = MUST(open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
	ssize_t bytes = MUST(read(file, text, sizeof(text)));
	for (ssize_t at = 0; at < bytes; at++)
		text[at] = text[at] ? text[at] : ' ';
	say("%s\n", text);
	close(file);
	char name[17] = "";
	prctl(PR_GET_NAME, name);
	say("%s\n", name);
}

CASE(arguments)
{
	pid_t child = MUST(fork());
	if (!child)
		execl(own_program(), "-another name", "arguments_report", "x y", (char *)NULL);
	say("%s\n", ended(child));
	prctl(PR_SET_NAME, "renamed");
	work(10);
	char name[17] = "";
	prctl(PR_GET_NAME, name);
	say("%s\n", name);
	FILE *file = fopen("/proc/self/comm", "re");
	if (!file || !fgets(name, sizeof(name), file))
		behave_fail("comm");
	fclose(file);
	say("%s", name);
}

/* ---- groups and sessions ---- */

static volatile sig_atomic_t group_signals;

static void count_group(int number)
{
	(void)number;
	group_signals++;
}

CASE(signal_own_group)
{
	static const int signals[] = {SIGUSR1, SIGTERM, SIGINT, SIGHUP, SIGURG, SIGQUIT, 36};
	work(10);
	for (int index = 0; index < 7; index++) {
		set_handler(signals[index], count_group, SA_RESTART);
		kill(0, signals[index]);
		killpg(getpgrp(), signals[index]);
	}
	say("came %d\n", (int)group_signals);
	work(20);
}

CASE(end_of_group)
{
	work(10);
	kill(0, SIGTERM);
	say("not reached\n");
}

CASE(groups)
{
	say("leader of its group %d\n", setpgid(0, 0) == 0 || getpgrp() == getpid());
	pid_t child = MUST(fork());
	if (!child) {
		setpgid(0, 0);
		if (!fork())
			for (;;)
				pause();
		work(5);
		raise(SIGSTOP);
		for (;;)
			pause();
	}
	int status;
	waitpid(child, &status, WUNTRACED);
	say("stopped %d\n", WIFSTOPPED(status));
	kill(-child, SIGCONT);
	waitpid(child, &status, WCONTINUED);
	say("continued %d\n", WIFCONTINUED(status));
	kill(-child, SIGTERM);
	say("%s\n", ended(child));
}

CASE(orphans)
{
	int ends[2];
	MUST(pipe(ends));
	MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));
	pid_t child = MUST(fork());
	if (!child) {
		pid_t mine = getpid();
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGUSR1);
			set_handler(SIGUSR1, count_group, 0);
			char ready = 'r';
			MUST(write(ends[1], &ready, 1));
			if (getppid() == mine && !SOON(group_signals))
				_exit(1);
			work(5);
			_exit(8);
		}
		char byte;
		MUST(read(ends[0], &byte, 1));
		pause_ns(3000000);
		_exit(0);
	}
	say("%s, ", ended(child));
	int status;
	say("adopted %d\n", wait(&status) > 0 ? WEXITSTATUS(status) : -1);
	close(ends[0]);
	close(ends[1]);
}

/* ---- what a debugger sees ---- */

CASE(traced)
{
	pid_t child = MUST(fork());
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		work(60);
		raise(SIGUSR1);
		_exit(4);
	}
	int status, stops[65] = {0};
	for (int left = 3000; left && waitpid(child, &status, 0) == child && WIFSTOPPED(status);
	     left--) {
		int signal = WSTOPSIG(status);
		stops[signal & 63]++;
		ptrace(PTRACE_CONT, child, 0, signal == SIGSTOP || signal == SIGUSR1 ? 0 : signal);
	}
	for (int signal = 1; signal < 65; signal++)
		if (stops[signal])
			say("stops by %d: %d\n", signal, stops[signal]);
	say("exit %d\n", WEXITSTATUS(status));
}

CASE(traced_over_exec)
{
	pid_t child = MUST(fork());
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		become("exits", "3");
	}
	int status, signals = 0, traps = 0;
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		traps += WSTOPSIG(status) == SIGTRAP;
		signals += WSTOPSIG(status) != SIGTRAP;
		ptrace(PTRACE_CONT, child, 0, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
	}
	say("traps %d, signals %d, exit %d\n", traps, signals, WEXITSTATUS(status));
}

CASE(attached)
{
	work(10);
	pid_t child = MUST(fork());
	if (!child)
		for (;;)
			work(5);
	int status, others = 0;
	pause_ns(5000000);
	if (ptrace(PTRACE_SEIZE, child, 0, 0))
		skip("a child cannot be traced here");
	for (int round = 0; round < 20; round++) {
		MUST(ptrace(PTRACE_INTERRUPT, child, 0, 0));
		MUST(waitpid(child, &status, 0));
		while (WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP) {
			others++;
			ptrace(PTRACE_CONT, child, 0, WSTOPSIG(status));
			MUST(waitpid(child, &status, 0));
		}
		ptrace(PTRACE_CONT, child, 0, 0);
		pause_ns(1000000);
	}
	kill(child, SIGKILL);
	say("stops by others %d\n", others);
	ended(child);
}

/* ---- confinement ---- */

static void filter(unsigned action, const int *calls, int count, bool all_threads)
{
	struct sock_filter code[64];
	int length = 0;
	code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						      offsetof(struct seccomp_data, nr));
	for (int index = 0; index < count; index++) {
		code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							      (unsigned)calls[index], 0, 1);
		code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	}
	code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {(unsigned short)length, code};
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (all_threads)
		MUST((int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
				  &program));
	else
		MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* Calls that this program never makes once it works, but that a collector might. */
static const int collector_calls[] = {
    SYS_perf_event_open, SYS_timer_create,    SYS_timer_settime, SYS_prlimit64,	   SYS_getrlimit,
    SYS_setrlimit,	 SYS_sigaltstack,     SYS_tgkill,	 SYS_memfd_create, SYS_fallocate,
    SYS_ftruncate,	 SYS_pwrite64,	      SYS_kcmp,		 SYS_dup3,	   SYS_times,
    SYS_getrusage,	 SYS_process_vm_readv};
#define CALLS (int)(sizeof(collector_calls) / sizeof(*collector_calls))

static void confined(unsigned action)
{
	for (int index = 0; index < CALLS; index++) {
		pid_t child = MUST(fork());
		if (!child) {
			work(4);
			filter(action, &collector_calls[index], 1, false);
			work(8);
			_exit(5);
		}
		say("%d: %s;", collector_calls[index], ended(child));
		child = MUST(fork());
		if (!child) {
			filter(action, &collector_calls[index], 1, false);
			become("confined_part", NULL);
		}
		say(" %s\n", ended(child));
	}
}

/* What a confined program does by itself is what any does: it starts, computes, ends. */
PART(confined_part)
{
	work(8);
	_exit(6);
}

CASE(confined_kill)
{
	confined(SECCOMP_RET_KILL_PROCESS);
}
CASE(confined_error)
{
	confined(SECCOMP_RET_ERRNO | EPERM);
}
CASE(confined_trap)
{
	confined(SECCOMP_RET_TRAP);
}

static void *spin_in_thread(void *unused)
{
	for (int i = 0; i < 4; i++)
		spin();
	return unused;
}

/* All threads at once, of which many wait for a processor, some of them in a handler. */
CASE(confined_threads)
{
	enum { ROUNDS = 4, THREADS = 24 };
	static const int calls[] = {SYS_rt_sigreturn, SYS_ioctl,	 SYS_close,
				    SYS_prlimit64,    SYS_timer_delete,	 SYS_pwrite64,
				    SYS_getrusage,    SYS_clock_gettime, SYS_process_vm_readv};
	for (int round = 0; round < ROUNDS; round++) {
		pid_t child = MUST(fork());
		if (!child) {
			pthread_t threads[THREADS];
			for (int i = 0; i < THREADS; i++)
				pthread_create(threads + i, NULL, spin_in_thread, NULL);
			spin();
			filter(SECCOMP_RET_KILL_PROCESS, calls, sizeof(calls) / sizeof(*calls),
			       true);
			for (int i = 0; i < THREADS; i++)
				pthread_join(threads[i], NULL);
			_exit(5);
		}
		say("%s\n", ended(child));
	}
}

/* Only read, write, exit and sigreturn are left, and not even the processor's counter. */
CASE(confined_strict)
{
	int ends[2];
	char text[4];
	MUST(pipe(ends));
	for (int way = 0; way < 2; way++) {
		pid_t child = MUST(fork());
		if (!child) {
			work(20);
			MUST(way ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL)
				 : prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0));
			spin();
			bool is_whole = write(ends[1], "text", 4) == 4 &&
					read(ends[0], text, sizeof(text)) == 4;
			spin();
			syscall(SYS_exit, is_whole ? 0 : 1);
		}
		say("%s\n", ended(child));
	}
}
