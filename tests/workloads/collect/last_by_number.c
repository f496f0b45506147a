/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main thread ends by exit(2), by number, and then its last thread does so, after much more
 * work. Prints the milliseconds of CPU time that it has used at the end.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void *last(void *nothing)
{
	struct timespec used;
	(void)nothing;
	for (volatile long round = 0; round < 700000000; round++)
		;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	printf("%ld\n", used.tv_sec * 1000 + used.tv_nsec / 1000000);
	fflush(stdout);
	syscall(SYS_exit, 0);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, last, NULL))
		return 1;
	syscall(SYS_exit, 0);
	return 0;
}
