/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of which a profiler loses a part: `losses NAME [ARGUMENT]` uses a known CPU time, where
 * it or its children can no longer be seen. What it prints and how it ends must not change.
 * `losses` alone lists the names. SHARE is the part of all CPU time that is used out of sight.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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

/* A system call that no wrapper sees. */
static long instruction(long number, long first)
{
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(first)
			 : "rcx", "r11", "memory");
	return result;
}

static int told(int status)
{
	printf("child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
	fflush(stdout);
	return 0;
}

static int wait_for(pid_t child)
{
	int status = 0;
	return child > 0 && waitpid(child, &status, 0) == child ? told(status) : 1;
}

static int children(pid_t (*make)(void), void (*end)(int), int count)
{
	for (int number = 0; number < count; number++) {
		pid_t child = make();
		if (!child) {
			burn(100);
			end(number);
		}
		if (wait_for(child))
			return 1;
	}
	return 0;
}

/* ---- children that cannot write ---- */

static int change_user(const char *unused)
{
	burn(100);
	if (setgroups(0, NULL) || setresgid(65533, 65533, 65533) || setresuid(65533, 65533, 65533))
		return 1;
	return children(fork, _exit, 3);
}

static int change_root(const char *folder)
{
	burn(100);
	if (chroot(folder) || chdir("/"))
		return 1;
	return children(fork, _exit, 3);
}

static int few_descriptors(const char *unused)
{
	burn(100);
	if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3}))
		return 1;
	return children(fork, _exit, 3);
}

static int many_children(const char *unused)
{
	burn(100);
	return children(fork, _exit, 3);
}

/* ---- forks that nobody announces ---- */

static pid_t by_call(void)
{
	return (pid_t)syscall(SYS_fork);
}

static pid_t by_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static pid_t by_instruction(void)
{
	return (pid_t)instruction(SYS_fork, 0);
}

static void end_by_instruction(int status)
{
	instruction(SYS_exit_group, status);
}

static int fork_by_call(const char *unused)
{
	burn(100);
	return children(by_call, exit, 3);
}

static int fork_by_clone(const char *unused)
{
	burn(100);
	return children(by_clone, _exit, 3);
}

static int fork_without_handlers(const char *unused)
{
	burn(100);
	return children(_Fork, _exit, 3);
}

static int fork_by_instruction(const char *unused)
{
	burn(100);
	return children(by_instruction, _exit, 3);
}

static int fork_in_silence(const char *unused)
{
	burn(100);
	return children(by_instruction, end_by_instruction, 3);
}

/* What such a child executes is a process as any other. */
static int execute_in_child(const char *self)
{
	burn(100);
	pid_t child = by_call();
	if (!child) {
		execl(self, self, "burn", (char *)NULL);
		_exit(9);
	}
	return wait_for(child);
}

/* ---- ends ---- */

static int end_by_call(const char *unused)
{
	burn(200);
	syscall(SYS_exit_group, 5);
	return 1;
}

static int end_last_thread(const char *unused)
{
	burn(200);
	syscall(SYS_exit, 8);
	return 1;
}

static void last_words(void)
{
	if (write(1, "last words\n", 11) != 11)
		abort();
	burn(50);
}

static int end_quickly(const char *unused)
{
	at_quick_exit(last_words);
	burn(200);
	quick_exit(6);
}

static int end_in_silence(const char *unused)
{
	burn(200);
	end_by_instruction(7);
	return 1;
}

static int be_killed(const char *milliseconds)
{
	burn((unsigned)atoi(milliseconds));
	kill(getpid(), SIGKILL);
	return 1;
}

/* A child is killed, its parent goes on. */
static int child_killed(const char *unused)
{
	pid_t child = fork();
	if (!child)
		be_killed("150");
	burn(150);
	return wait_for(child);
}

/* The C library ends the parent, which is what its own parent waits for. */
static int become_daemon(const char *unused)
{
	pid_t child = fork();
	if (!child) {
		burn(100);
		if (daemon(1, 1))
			_exit(9);
		burn(100);
		_exit(0);
	}
	int status = wait_for(child);
	usleep(400000); /* it ends before us */
	return status;
}

/* ---- programs that start without us ---- */

static int execute(const char *program)
{
	burn(100);
	fflush(stdout);
	execl(program, program, (char *)NULL);
	return 1;
}

static int execute_by_call(const char *program)
{
	const char *const arguments[] = {program, "burn", NULL};
	burn(100);
	return (int)syscall(SYS_execve, program, arguments, environ);
}

static int execute_nothing(const char *unused)
{
	burn(100);
	errno = 0;
	execl("/nonexistent/program", "program", (char *)NULL);
	printf("%s\n", strerror(errno));
	pid_t child = vfork();
	if (!child) {
		execl("/nonexistent/program", "program", (char *)NULL);
		_exit(errno == ENOENT);
	}
	return wait_for(child);
}

static int start(const char *program)
{
	char *arguments[] = {(char *)program, NULL};
	pid_t child;
	burn(100);
	if (posix_spawn(&child, program, NULL, NULL, arguments, environ) || wait_for(child))
		return 1;
	child = vfork();
	if (!child) {
		execv(program, arguments);
		_exit(9);
	}
	return wait_for(child);
}

static int start_by_shell(const char *program)
{
	burn(100);
	told(system(program));
	FILE *stream = popen(program, "r");
	return stream ? told(pclose(stream)) : 1;
}

static int only_burn(const char *unused)
{
	burn(100);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(const char *argument);
} programs[] = {
    {"change-user", change_user},
    {"change-root", change_root},
    {"few-descriptors", few_descriptors},
    {"many-children", many_children},
    {"fork-by-call", fork_by_call},
    {"fork-by-clone", fork_by_clone},
    {"fork-without-handlers", fork_without_handlers},
    {"fork-by-instruction", fork_by_instruction},
    {"fork-in-silence", fork_in_silence},
    {"execute-in-child", execute_in_child},
    {"end-by-call", end_by_call},
    {"end-last-thread", end_last_thread},
    {"end-quickly", end_quickly},
    {"end-in-silence", end_in_silence},
    {"be-killed", be_killed},
    {"child-killed", child_killed},
    {"become-daemon", become_daemon},
    {"execute", execute},
    {"execute-by-call", execute_by_call},
    {"execute-nothing", execute_nothing},
    {"start", start},
    {"start-by-shell", start_by_shell},
    {"burn", only_burn},
};

int main(int argc, char **argv)
{
	const char *argument = argc > 2 ? argv[2] : argv[0];
	if (argc < 2)
		return only_burn(NULL);
	for (size_t index = 0; index < sizeof(programs) / sizeof(*programs); index++)
		if (!strcmp(argv[1], programs[index].name))
			return programs[index].run(argument);
	return 2;
}
