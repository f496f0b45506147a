/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thousands of threads, one after the other, each much shorter than the time between two samples:
 * what they do takes "often" three times as long as "seldom". Prints both functions' CPU time.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;
static uint64_t used_ns[2];

static uint64_t cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((noinline)) static void often(uint64_t rounds)
{
	for (uint64_t round = 0; round < rounds; round++)
		sink = sink + round;
}

__attribute__((noinline)) static void seldom(uint64_t rounds)
{
	for (uint64_t round = 0; round < rounds; round++)
		sink = sink ^ round;
}

static void *run(void *argument)
{
	uint64_t rounds = *(uint64_t *)argument, start = cpu_ns();
	often(3 * rounds);
	uint64_t between = cpu_ns();
	seldom(rounds);
	used_ns[0] += between - start;
	used_ns[1] += cpu_ns() - between;
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 4000;
	for (int made = 0; made < threads; made++) {
		uint64_t rounds = 10000 + (uint64_t)made % 7 * 1000;
		pthread_t thread;
		if (pthread_create(&thread, NULL, run, &rounds))
			return 1;
		pthread_join(thread, NULL);
	}
	printf("often %llu\nseldom %llu\n", (unsigned long long)used_ns[0],
	       (unsigned long long)used_ns[1]);
	return 0;
}
