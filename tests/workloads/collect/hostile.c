/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that profilers break. `hostile NAME` behaves in one awkward way, prints what it observes
 * of its own surroundings, and must print the same and end the same under a profiler. `hostile`
 * alone lists the names. Each burns a little CPU first, so that there is something to measure.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

__attribute__((noinline)) static void burn(unsigned milliseconds)
{
	struct timespec start, now;
	volatile unsigned long work = 1;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do {
		for (int step = 0; step < 10000; step++)
			work = work * 6364136223846793005ul + 1;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
		 (long)milliseconds);
}

/* ---- descriptors, folders, privileges ---- */

static int close_all(void)
{
	int closed = 0;
	for (int fd = 3; fd < 65536; fd++)
		closed += !close(fd);
	closefrom(3);
	close_range(3, ~0u, 0);
	burn(50);
	printf("closed %d, next %d\n", closed, open("/dev/null", O_RDONLY));
	burn(50);
	return 0;
}

static int change_directory(void)
{
	char folder[] = "/tmp/hostile-XXXXXX";
	if (!mkdtemp(folder) || chdir(folder) || rmdir(folder))
		return 1;
	burn(50);
	return 7;
}

static int change_root(void)
{
	if (geteuid() != 0)
		return puts("needs root"), 0;
	if (chroot("/proc/self/fdinfo") || chdir("/"))
		return 1;
	burn(50);
	return 6;
}

static int drop_privileges(void)
{
	if (geteuid() != 0)
		return puts("needs root"), 0;
	burn(50);
	if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		return 1;
	burn(50);
	printf("uid %d, fork %s\n", (int)getuid(), fork() < 0 ? "failed" : "done");
	fflush(stdout);
	while (wait(NULL) > 0)
		;
	return 0;
}

static int new_namespace(void)
{
	/* refused to a process with more than one thread */
	printf("unshare %d\n", unshare(CLONE_NEWNS | CLONE_FS) ? errno == EPERM : 0);
	burn(50);
	return 0;
}

/* ---- ends ---- */

static int raw_exit(void)
{
	burn(50);
	fflush(stdout);
	_exit(9);
}

static int fault(void)
{
	burn(50);
	*(volatile int *)8 = 1;
	return 0;
}

static int terminate(void)
{
	burn(50);
	kill(getpid(), SIGTERM);
	pause();
	return 0;
}

static int abort_now(void)
{
	burn(50);
	abort();
}

static sigjmp_buf after_fault;

static void on_fault(int signal)
{
	siglongjmp(after_fault, signal);
}

static int own_fault_handler(void)
{
	struct sigaction action = {.sa_handler = on_fault}, old;
	sigaction(SIGSEGV, &action, &old);
	printf("before: %s\n", old.sa_handler == SIG_DFL ? "default" : "something else");
	int caught = 0;
	for (volatile int round = 0; round < 100; round++) {
		if (sigsetjmp(after_fault, 1)) {
			caught++;
			burn(1);
			continue;
		}
		*(volatile int *)8 = 1;
	}
	action.sa_handler = SIG_DFL;
	sigaction(SIGSEGV, &action, &old);
	printf("caught %d, mine %d\n", caught, old.sa_handler == on_fault);
	return 0;
}

/* The kernel sends this one, and sends it once. */
static int timer_ends_it(void)
{
	struct itimerval timer = {{0, 0}, {0, 50000}};
	setitimer(ITIMER_VIRTUAL, &timer, NULL);
	burn(400);
	puts("still here");
	return 0;
}

/* ---- limits ---- */

static int small_files(void)
{
	struct rlimit limit = {1000, 1000};
	burn(50);
	setrlimit(RLIMIT_FSIZE, &limit);
	return 3;
}

static int few_descriptors(void)
{
	struct rlimit limit = {6, 6};
	burn(50);
	setrlimit(RLIMIT_NOFILE, &limit);
	execl("/proc/self/exe", "hostile", "use-descriptors", (char *)NULL);
	return 1;
}

static int use_descriptors(void)
{
	int opened = 0;
	burn(50);
	while (open("/dev/null", O_RDONLY) >= 0)
		opened++;
	printf("opened %d\n", opened);
	closefrom(3);
	return 0;
}

/* ---- seccomp ---- */

static int confine_strictly(void)
{
	burn(50);
	puts("confined");
	fflush(stdout);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	for (volatile int step = 0; step < 100000000; step++)
		;
	syscall(SYS_exit, 3);
	return 0;
}

#define ALLOWED(number)                                                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                                       \
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void *count(void *steps)
{
	for (volatile long step = 0; step < (long)steps; step++)
		;
	return NULL;
}

/* What this program itself calls from then on, and no more. */
static int confine_by_filter(void)
{
	struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    ALLOWED(SYS_write),
	    ALLOWED(SYS_exit_group),
	    ALLOWED(SYS_exit),
	    ALLOWED(SYS_futex),
	    ALLOWED(SYS_poll),
	    ALLOWED(SYS_madvise),
	    ALLOWED(SYS_rt_sigprocmask),
	    ALLOWED(SYS_munmap),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
	pthread_t thread;
	pthread_create(&thread, NULL, count, (void *)200000000l);
	burn(50);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		return 1;
	count((void *)100000000l);
	poll(NULL, 0, 10);
	pthread_join(thread, NULL);
	if (write(1, "confined\n", 9) != 9)
		return 1;
	_exit(4);
}

/* ---- signals and timers of the program's own ---- */

static volatile sig_atomic_t ticks;

static void on_tick(int signal)
{
	ticks++;
}

static int own_profiling_timer(void)
{
	struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	struct itimerval timer = {{0, 20000}, {0, 20000}};
	sigaction(SIGPROF, &action, NULL);
	sigaction(SIGURG, &action, NULL);
	setitimer(ITIMER_PROF, &timer, NULL);
	burn(400);
	timer = (struct itimerval){0};
	setitimer(ITIMER_PROF, &timer, NULL);
	printf("ticks %s\n", ticks > 5 && ticks < 40 ? "as asked" : "wrong");
	int before = ticks;
	raise(SIGURG);
	struct sigaction old;
	sigaction(SIGURG, NULL, &old);
	printf("urgent %d, mine %d\n", ticks - before, old.sa_handler == on_tick);
	return 0;
}

static int full_mask(void)
{
	sigset_t all, old;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	burn(100);
	sigprocmask(SIG_SETMASK, NULL, &old);
	printf("blocked: urgent %d, term %d\n", sigismember(&old, SIGURG),
	       sigismember(&old, SIGTERM));
	kill(getpid(), SIGUSR1);
	int signal = 0;
	sigwait(&all, &signal);
	printf("waited for %s\n", strsignal(signal));
	return 0;
}

/* None of these may be cut short by a signal the program did not ask for. */
static int waits(void)
{
	int wrong = 0, fds[2];
	struct timespec start, end, time = {0, 3000000};
	if (pipe(fds))
		return 1;
	int poller = epoll_create1(0);
	struct epoll_event event;
	for (int round = 0; round < 60; round++) {
		burn(2);
		clock_gettime(CLOCK_MONOTONIC, &start);
		struct pollfd poll_fd = {fds[0], POLLIN, 0};
		fd_set set;
		FD_ZERO(&set);
		FD_SET(fds[0], &set);
		struct timeval timeout = {0, 3000};
		wrong += poll(&poll_fd, 1, 3) != 0;
		wrong += select(fds[0] + 1, &set, NULL, NULL, &timeout) != 0;
		wrong += epoll_wait(poller, &event, 1, 3) != 0;
		wrong += nanosleep(&time, NULL) != 0;
		wrong += usleep(3000) != 0;
		clock_gettime(CLOCK_MONOTONIC, &end);
		wrong += (end.tv_sec - start.tv_sec) * 1000000000L + end.tv_nsec - start.tv_nsec <
			 15000000;
	}
	printf("interrupted %d\n", wrong);
	return wrong != 0;
}

/* ---- jumps ---- */

static jmp_buf bottom;

__attribute__((noinline)) static int dive(int depth)
{
	if (!depth)
		longjmp(bottom, 1);
	return dive(depth - 1) + 1;
}

static int long_jumps(void)
{
	int jumps = 0;
	for (volatile int round = 0; round < 20000; round++) {
		if (setjmp(bottom)) {
			jumps++;
			continue;
		}
		dive(100);
	}
	burn(50);
	printf("done %s\n", jumps ? "jumping" : "nothing");
	return 0;
}

/* ---- processes ---- */

static int fork_many(void)
{
	int ended = 0;
	for (int started = 0; started < 1000; started++) {
		pid_t child = fork();
		if (!child)
			_exit(started % 7);
		if (child < 0)
			return 1;
		int status;
		ended += waitpid(child, &status, 0) == child && WIFEXITED(status) &&
			 WEXITSTATUS(status) == started % 7;
	}
	burn(20);
	printf("children %d\n", ended);
	return 0;
}

/* As nginx, PostgreSQL, redis and sendmail do: the workers' title goes where the environment was.
 */
static int process_title(void)
{
	size_t count = 0;
	while (environ[count])
		count++;
	char *start = environ[0], *end = environ[count - 1] + strlen(environ[count - 1]) + 1;
	char **copies = calloc(count + 1, sizeof(*copies));
	for (size_t index = 0; index < count; index++)
		copies[index] = strdup(environ[index]);
	environ = copies;
	memset(start, 0, (size_t)(end - start));
	pid_t child = fork();
	if (!child) {
		memset(start, 't', (size_t)(end - start) / 2);
		burn(60);
		exit(5);
	}
	int status = 0;
	waitpid(child, &status, 0);
	burn(20);
	return WEXITSTATUS(status);
}

static int fork_tree(void)
{
	for (int level = 0; level < 5; level++)
		fork();
	burn(20);
	while (wait(NULL) > 0)
		;
	return 0;
}

static int virtual_forks(void)
{
	int sum = 0;
	for (int round = 0; round < 50; round++) {
		pid_t child = vfork();
		if (!child) {
			execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
			_exit(99);
		}
		int status;
		waitpid(child, &status, 0);
		sum += WEXITSTATUS(status);
		child = vfork();
		if (!child)
			_exit(2);
		waitpid(child, &status, 0);
		sum += WEXITSTATUS(status);
	}
	burn(50);
	printf("sum %d\n", sum);
	return 0;
}

static int spawn(void)
{
	char *arguments[] = {"sh", "-c", "echo spawned; exit 4", NULL}, *none[] = {NULL};
	pid_t child;
	int status;
	burn(50);
	fflush(stdout);
	if (posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, none))
		return 1;
	waitpid(child, &status, 0);
	printf("status %d, system %d\n", WEXITSTATUS(status), WEXITSTATUS(system("exit 5")));
	return 0;
}

static void *execute(void *unused)
{
	burn(50);
	execl("/bin/echo", "echo", "from a thread", (char *)NULL);
	return NULL;
}

static void *spin(void *unused)
{
	for (;;)
		burn(10);
	return NULL;
}

static int exec_from_thread(void)
{
	pthread_t spinner, executor;
	pthread_create(&spinner, NULL, spin, NULL);
	pthread_create(&executor, NULL, execute, NULL);
	pthread_join(executor, NULL);
	return 1;
}

static int failed_exec(void)
{
	burn(50);
	execl("/nonexistent/program", "program", (char *)NULL);
	printf("errno %s\n", strerror(errno));
	burn(50);
	return 0;
}

static int empty_environment(void)
{
	char *arguments[] = {"env", NULL}, *one[] = {"ONLY=this", NULL};
	burn(30);
	execve("/usr/bin/env", arguments, one);
	return 1;
}

/* ---- threads ---- */

static void *short_thread(void *number)
{
	burn(1);
	return number;
}

static int many_threads(void)
{
	static pthread_t threads[2000];
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	long sum = 0;
	for (long thread = 0; thread < 2000; thread++)
		if (pthread_create(&threads[thread], &attributes, short_thread, (void *)thread))
			return 1;
	for (long thread = 0; thread < 2000; thread++) {
		void *result;
		pthread_join(threads[thread], &result);
		sum += (long)result;
	}
	printf("sum %ld\n", sum);
	return 0;
}

static void *ends_by_exit(void *unused)
{
	burn(20);
	pthread_exit(NULL);
}

static void *ends_by_cancel(void *unused)
{
	for (;;) {
		burn(5);
		poll(NULL, 0, 10);
	}
	return NULL;
}

static int thread_ends(void)
{
	pthread_t exits, cancelled, detached;
	void *result;
	pthread_create(&exits, NULL, ends_by_exit, NULL);
	pthread_create(&cancelled, NULL, ends_by_cancel, NULL);
	pthread_create(&detached, NULL, ends_by_exit, NULL);
	pthread_detach(detached);
	burn(30);
	pthread_cancel(cancelled);
	pthread_join(cancelled, &result);
	pthread_join(exits, NULL);
	printf("cancelled %d\n", result == PTHREAD_CANCELED);
	return 0;
}

static int run_long(void)
{
	for (;;)
		burn(100);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} programs[] = {
    {"close-all", close_all},
    {"change-directory", change_directory},
    {"change-root", change_root},
    {"drop-privileges", drop_privileges},
    {"new-namespace", new_namespace},
    {"raw-exit", raw_exit},
    {"fault", fault},
    {"terminate", terminate},
    {"abort", abort_now},
    {"timer-ends-it", timer_ends_it},
    {"small-files", small_files},
    {"few-descriptors", few_descriptors},
    {"use-descriptors", use_descriptors},
    {"confine-strictly", confine_strictly},
    {"confine-by-filter", confine_by_filter},
    {"own-fault-handler", own_fault_handler},
    {"own-profiling-timer", own_profiling_timer},
    {"full-mask", full_mask},
    {"waits", waits},
    {"long-jumps", long_jumps},
    {"fork-many", fork_many},
    {"fork-tree", fork_tree},
    {"process-title", process_title},
    {"virtual-forks", virtual_forks},
    {"spawn", spawn},
    {"exec-from-thread", exec_from_thread},
    {"failed-exec", failed_exec},
    {"empty-environment", empty_environment},
    {"many-threads", many_threads},
    {"thread-ends", thread_ends},
    {"run-long", run_long},
};

int main(int argc, char **argv)
{
	for (size_t index = 0; index < sizeof(programs) / sizeof(*programs); index++) {
		if (argc < 2)
			puts(programs[index].name);
		else if (!strcmp(argv[1], programs[index].name))
			return programs[index].run();
	}
	return argc < 2 ? 0 : 2;
}
