/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -rdynamic */
/*
 * Functions of the C library that a program exports itself, with a lock in them, as libraries that
 * play with time do: whoever calls one in a signal handler waits for the thread it interrupted.
 */
#include "../behave.h"

static volatile int lock, clocks, processes, moments;

static void take(void)
{
	while (__sync_lock_test_and_set(&lock, 1))
		;
	for (volatile int turn = 0; turn < 200; turn++)
		;
}

static void give(void)
{
	__sync_lock_release(&lock);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	take();
	clocks++;
	long status = syscall(SYS_clock_gettime, clock, now);
	give();
	return (int)status;
}

pid_t getpid(void)
{
	take();
	processes++;
	long process = syscall(SYS_getpid);
	give();
	return (pid_t)process;
}

int sched_yield(void)
{
	take();
	moments++;
	give();
	return 0;
}

static void *calls(void *nothing)
{
	struct timespec now;
	(void)nothing;
	for (int round = 0; round < 100000; round++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		getpid();
		sched_yield();
	}
	return NULL;
}

CASE(locked_functions)
{
	pthread_t threads[2];
	for (int index = 0; index < 2; index++)
		pthread_create(&threads[index], NULL, calls, NULL);
	for (int index = 0; index < 2; index++)
		pthread_join(threads[index], NULL);
	say("%d %d %d\n", clocks, processes, moments);
}
