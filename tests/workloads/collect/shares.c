/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Known answer: of the work, alpha does 10 %, beta 20 %, gamma 30 % and delta 40 %, each half by
 * way of left() and half by way of right(). Usage: shares [THREADS [ROUNDS]]. Prints nothing but
 * "done".
 *
 * The unit of work is a dependent chain of integer operations of fixed length, so that its time
 * depends on nothing but the processor's frequency; rounds are short, so that a change of frequency
 * meets all. Rounds differ in length, for a period of samples that is a multiple of a round would
 * meet the same function for ever; left() chooses, and right() takes the same.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define UNIT 20000ul

static unsigned long rounds = 1500;
static __thread unsigned long unit = UNIT;

/* In each function its own, so that no call hides the cost; the loop is not vectorisable. */
#define WORK(units)                                                                                \
	do {                                                                                       \
		for (unsigned long steps = (units)*unit; steps > 0; steps--) {                     \
			seed = seed * 6364136223846793005ul + 1442695040888963407ul;               \
			__asm__ volatile("" : "+r"(seed));                                         \
		}                                                                                  \
	} while (0)

__attribute__((noinline)) unsigned long alpha(unsigned long seed)
{
	WORK(1);
	return seed;
}

__attribute__((noinline)) unsigned long beta(unsigned long seed)
{
	WORK(2);
	return seed ^ 1;
}

__attribute__((noinline)) unsigned long gamma_(unsigned long seed)
{
	WORK(3);
	return seed ^ 2;
}

__attribute__((noinline)) unsigned long delta(unsigned long seed)
{
	WORK(4);
	return seed ^ 3;
}

__attribute__((noinline)) unsigned long left(unsigned long seed)
{
	unit = UNIT / 2 + (seed >> 33) % UNIT;
	return alpha(beta(gamma_(delta(seed)))) + 1;
}

__attribute__((noinline)) unsigned long right(unsigned long seed)
{
	return delta(gamma_(beta(alpha(seed)))) + 2;
}

static void *work(void *result)
{
	unsigned long seed = 1;
	for (unsigned long round = 0; round < rounds; round++)
		seed = right(left(seed));
	*(unsigned long *)result = seed;
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, results[64];
	pthread_t others[64];
	if (argc > 2)
		rounds = strtoul(argv[2], NULL, 10);
	for (unsigned long thread = 1; thread < threads; thread++)
		pthread_create(&others[thread], NULL, work, &results[thread]);
	work(&results[0]);
	for (unsigned long thread = 1; thread < threads; thread++)
		pthread_join(others[thread], NULL);
	puts("done");
	return 0;
}
