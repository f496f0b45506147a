/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that confines itself: `confined ACTION CALL HOW THEN [PROGRAM ARGUMENT...]` installs a
 * filter that answers the system call of that number with ACTION (kill, trap, errno, allow), as HOW
 * says (prctl, call, instruction, threads), and then goes on: burn, execute, start, fork or shell.
 * What it prints and how it ends must not depend on who watches.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

static long instruction(long number, long first, long second, long third)
{
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(first), "S"(second), "d"(third)
			 : "rcx", "r11", "memory");
	return result;
}

static unsigned action_of(const char *name)
{
	return !strcmp(name, "kill")	? SECCOMP_RET_KILL_PROCESS
	       : !strcmp(name, "trap")	? SECCOMP_RET_TRAP
	       : !strcmp(name, "errno") ? SECCOMP_RET_ERRNO | EPERM
					: SECCOMP_RET_ALLOW;
}

static int install(const char *action, int number, const char *how)
{
	struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, action_of(action)),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
	/* what libraries ask before they install anything; it must not count as a filter */
	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) ||
	    !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) ||
	    !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL))
		return 1;
	if (!strcmp(how, "none"))
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 1;
	if (!strcmp(how, "prctl"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
	if (!strcmp(how, "instruction"))
		return (int)instruction(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    !strcmp(how, "threads") ? SECCOMP_FILTER_FLAG_TSYNC : 0, &program);
}

static int wait_for(pid_t child)
{
	int status = 0;
	if (child <= 0 || waitpid(child, &status, 0) != child)
		return 1;
	printf("child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
	return 0;
}

static int go_on(const char *then, char **command)
{
	pid_t child;
	if (!strcmp(then, "execute"))
		return execvp(command[0], command);
	if (!strcmp(then, "start"))
		return posix_spawnp(&child, command[0], NULL, NULL, command, environ) ||
		       wait_for(child);
	if (!strcmp(then, "shell"))
		return system(command[0]);
	if (!strcmp(then, "fork")) {
		child = fork();
		if (!child) {
			burn(100);
			execvp(command[0], command);
			_exit(9);
		}
		return wait_for(child);
	}
	burn(200);
	puts("burned");
	return 3;
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	burn(100);
	if (install(argv[1], atoi(argv[2]), argv[3]))
		return 4;
	fflush(stdout);
	return go_on(argv[4], argv + 5);
}
