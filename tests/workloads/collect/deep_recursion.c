/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spends its time below a recursion, and a third of it half way down again, on a thread with the stack
 * for it. Usage: deep_recursion self|mutual DEPTH MILLISECONDS.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STAY() __asm__ volatile("" ::: "memory")

static bool is_mutual;
static long depth, milliseconds;

__attribute__((noinline)) static void spin(double part)
{
	struct timespec now;
	double end = -1, at;
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		at = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
		end = end < 0 ? at + part * (double)milliseconds : end;
	} while (at < end);
	STAY();
}

__attribute__((noinline)) static void odd(long left);

__attribute__((noinline)) static void down(long left)
{
	if (left && is_mutual)
		odd(left - 1);
	else if (left)
		down(left - 1);
	else
		spin(2.0 / 3);
	if (left == depth / 2)
		spin(1.0 / 3);
	STAY();
}

__attribute__((noinline)) static void odd(long left)
{
	volatile char room[100];
	room[left % 100] = 1;
	down(left);
	STAY();
	room[1] = room[0];
}

static void *run(void *unused)
{
	down(depth);
	STAY();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_attr_t attributes;
	pthread_t thread;
	is_mutual = argc > 3 && !strcmp(argv[1], "mutual");
	depth = atol(argv[2]);
	milliseconds = atol(argv[3]);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64u << 20);
	return pthread_create(&thread, &attributes, run, NULL) || pthread_join(thread, NULL);
}
