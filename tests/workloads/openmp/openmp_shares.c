/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Known answer: first() starts parallel regions that do 30 % of the work, second() such that do
 * 70 %. In first() all threads work alike; in second() each region's body calls inner(). With
 * "nested", each thread of second()'s regions starts one of its own; with "tasks", second()'s work
 * is done in tasks; with "old", first() starts its regions as compilers did before GCC 4.9.
 * Usage: openmp_shares THREADS ROUNDS [nested|tasks|old [UNIT]]. Prints nothing but "done".
 * Compiled as a library it offers run_regions(THREADS, ROUNDS).
 *
 * The unit of work is a dependent chain of integer operations, the same for each thread. Rounds
 * differ in length, for a period of samples that is a multiple of a round would meet the same
 * function for ever.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kept longer than a period of sampling for threads that live for one region only. */
static unsigned long usual_unit = 20000;
static unsigned long unit;

static int threads;
static unsigned long total;

#define WORK(units)                                                                                \
	do {                                                                                       \
		for (unsigned long step = 0; step < (units)*unit; step++) {                        \
			seed = seed * 6364136223846793005ul + 1442695040888963407ul;               \
			__asm__ volatile("" : "+r"(seed));                                         \
		}                                                                                  \
	} while (0)

/* A region started as the last thing a function does would be started by a jump. */
#define KEEP_FRAME() __asm__ volatile("")

__attribute__((noinline)) static unsigned long inner(unsigned long seed)
{
	WORK(7);
	return seed;
}

__attribute__((noinline)) static void first(void)
{
#pragma omp parallel num_threads(threads) reduction(+ : total)
	{
		unsigned long seed = (unsigned long)omp_get_thread_num();
		WORK(3);
		total += seed;
	}
	KEEP_FRAME();
}

#ifdef OLD
void GOMP_parallel_start(void (*function)(void *), void *data, unsigned count);
void GOMP_parallel_end(void);

__attribute__((noinline)) static void old_body(void *data)
{
	unsigned long seed = (unsigned long)omp_get_thread_num();
	WORK(3);
	__atomic_fetch_add((unsigned long *)data, seed, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static void first_as_before(void)
{
	unsigned long sum = 0;
	GOMP_parallel_start(old_body, &sum, (unsigned)threads);
	old_body(&sum);
	GOMP_parallel_end();
	total += sum;
}
#endif

__attribute__((noinline)) static void second(void)
{
#pragma omp parallel num_threads(threads) reduction(+ : total)
	total += inner((unsigned long)omp_get_thread_num());
	KEEP_FRAME();
}

__attribute__((noinline)) static void second_nested(void)
{
#pragma omp parallel num_threads(2)
	{
#pragma omp parallel num_threads(threads / 2) reduction(+ : total)
		total += inner((unsigned long)omp_get_thread_num());
		KEEP_FRAME();
	}
	KEEP_FRAME();
}

__attribute__((noinline)) static void second_tasks(void)
{
#pragma omp parallel num_threads(threads)
#pragma omp single nowait
	for (int task = 0; task < threads; task++)
#pragma omp task firstprivate(task)
		__atomic_fetch_add(&total, inner((unsigned long)task), __ATOMIC_RELAXED);
	KEEP_FRAME();
}

static void run(const char *kind)
{
	static unsigned long chance = 1;
	chance = chance * 6364136223846793005ul + 1442695040888963407ul;
	unit = usual_unit / 2 + (chance >> 33) % usual_unit;
#ifdef OLD
	if (!strcmp(kind, "old"))
		first_as_before();
	else
#endif
		first();
	if (!strcmp(kind, "nested"))
		second_nested();
	else if (!strcmp(kind, "tasks"))
		second_tasks();
	else
		second();
}

int run_regions(int count, int rounds);
int run_regions(int count, int rounds)
{
	threads = count;
	for (int round = 0; round < rounds; round++)
		run("");
	return (int)total;
}

int main(int argc, char **argv)
{
	threads = argc > 1 ? atoi(argv[1]) : 2;
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	if (argc > 4)
		usual_unit = strtoul(argv[4], NULL, 10);
	omp_set_max_active_levels(2);
	for (unsigned long round = 0; round < rounds; round++)
		run(argc > 3 ? argv[3] : "");
	puts("done");
	return 0;
}
