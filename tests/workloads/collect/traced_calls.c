/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child computes while its parent stops it at each system call and signal, as strace does: there
 * a sample takes longer than the time between two. Says how many times it was stopped by a signal.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void compute(void)
{
	volatile double value = 1;
	for (long round = 0; round < 100000000; round++)
		value = value * 1.0000001 + 1e-9;
}

int main(void)
{
	pid_t child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		compute();
		_exit(3);
	}
	int status;
	long signals = 0;
	waitpid(child, &status, 0);
	ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	for (int signal = 0; !ptrace(PTRACE_SYSCALL, child, 0, signal) &&
			     waitpid(child, &status, 0) == child && WIFSTOPPED(status);) {
		int stop = WSTOPSIG(status);
		signal = stop == (SIGTRAP | 0x80) ? 0 : stop;
		signals += signal != 0;
		for (int word = 0; word < 4; word++) /* what strace looks at */
			ptrace(PTRACE_PEEKUSER, child, word * 8, 0);
	}
	printf("%ld\n", signals);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
