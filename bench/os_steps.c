/* SPDX-License-Identifier: Apache-2.0 */
/*
 * os_steps calls|switches|compute COUNT: prints "STEP NS", the time of one system call, of one
 * round trip between two threads over pipes, or of a millisecond's computation. For
 * bench/os_recording.py.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int pipes[2][2];
static long count;

static void *answer(void *unused)
{
	char byte;
	while (read(pipes[0][0], &byte, 1) == 1)
		if (write(pipes[1][1], &byte, 1) != 1)
			break;
	return unused;
}

static void calls(void)
{
	for (long i = 0; i < count; i++)
		syscall(SYS_getppid);
}

static void switches(void)
{
	char byte = 0;
	for (long i = 0; i < count; i++)
		if (write(pipes[0][1], &byte, 1) != 1 || read(pipes[1][0], &byte, 1) != 1)
			abort();
}

static void compute(void)
{
	for (volatile long i = 0; i < count * 1000000; i++)
		;
}

int main(int argc, char **argv)
{
	struct timespec begin, end;
	pthread_t thread;
	const char *mode = argc > 2 ? argv[1] : "";
	count = argc > 2 ? atol(argv[2]) : 1;
	if (pipe(pipes[0]) || pipe(pipes[1]))
		return 1;
	if (!strcmp(mode, "switches"))
		pthread_create(&thread, NULL, answer, NULL);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (!strcmp(mode, "calls"))
		calls();
	else if (!strcmp(mode, "switches"))
		switches();
	else
		compute();
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("STEP %.1f\n", ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)end.tv_nsec -
			       (double)begin.tv_nsec) /
				  (double)count);
	return 0;
}
