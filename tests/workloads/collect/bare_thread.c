/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A third of the work, a thread that clone(2) makes and that ends by exit(2), by number, two thirds
 * of the work. Prints the milliseconds of CPU time that the two parts took: processors do not run two
 * loops of the same instructions equally fast.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int has_run;
static char stack[65536] __attribute__((aligned(16)));
static char variables[8192] __attribute__((aligned(16)));

static int thread(void *nothing)
{
	(void)nothing;
	has_run = 1;
	syscall(SYS_exit, 0);
	return 0;
}

__attribute__((noinline)) static void before(void)
{
	for (volatile long round = 0; round < 200000000; round++)
		;
}

__attribute__((noinline)) static void after(void)
{
	for (volatile long round = 0; round < 400000000; round++)
		;
}

static double cpu_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(void)
{
	void *self = variables + sizeof(variables) / 2;
	int flags = CLONE_THREAD | CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_SETTLS;
	memcpy(self, &self, sizeof(self));
	memcpy((char *)self + 16, &self, sizeof(self));
	double start_ms = cpu_ms();
	before();
	double before_ms = cpu_ms() - start_ms;
	if (clone(thread, stack + sizeof(stack), flags, NULL, NULL, self, NULL) < 0)
		return 1;
	while (!has_run)
		usleep(10);
	usleep(10000);
	start_ms = cpu_ms();
	after();
	printf("%.3f %.3f\n", before_ms, cpu_ms() - start_ms);
	return 0;
}
