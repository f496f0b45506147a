/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that others start: computes in busy().
 *
 *	child_work			on its first thread
 *	child_work thread		on another thread
 *	child_work exec PROGRAM ...	in a program that it executes
 *	child_work count		prints how many variables of the profiler's path it finds
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static volatile double result;

__attribute__((noinline)) static void busy(void)
{
	double sum = 0;
	for (int round = 0; round < 120 * 1000 * 1000; round++)
		sum += 1.0 / (round + 1.0);
	result = sum;
}

static void *work(void *unused)
{
	busy();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int count = 0;
	if (argc > 2 && !strcmp(argv[1], "exec")) {
		execv(argv[2], argv + 2);
		return 127;
	}
	if (argc > 1 && !strcmp(argv[1], "count")) {
		for (char **entry = environ; *entry; entry++)
			count += !strncmp(*entry, "SONDE_START_PATH=", 17);
		printf("%d\n", count);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "thread")) {
		pthread_create(&thread, NULL, work, NULL);
		pthread_join(thread, NULL);
		return 0;
	}
	work(NULL);
	return 0;
}
