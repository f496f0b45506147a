/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points the stack pointer into a block of the heap while it computes, as generated matrix products
 * do, and looks afterwards whether anything below it was overwritten. Exit status 0: nothing was.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK_BYTES (256u << 10)
#define TOP_BYTES   4096u /* room above where the stack pointer stands */

static double cpu_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void compute_on(unsigned char *stack)
{
	unsigned long steps = 20000000;
	__asm__ volatile("mov %%rsp, %%r12\n\t"
			 "mov %1, %%rsp\n\t"
			 "1: dec %0\n\t"
			 "jnz 1b\n\t"
			 "mov %%r12, %%rsp\n\t"
			 : "+r"(steps)
			 : "r"(stack)
			 : "r12", "memory", "cc");
}

static void *run(void *argument)
{
	unsigned char *block = malloc(BLOCK_BYTES);
	size_t wrong = 0;
	if (!block)
		return (void *)1;
	memset(block, 0xa5, BLOCK_BYTES);
	for (double begin = cpu_seconds(); cpu_seconds() - begin < 0.5;)
		compute_on(block + BLOCK_BYTES - TOP_BYTES);
	for (size_t i = 0; i < BLOCK_BYTES; i++)
		wrong += block[i] != 0xa5;
	free(block);
	if (wrong)
		fprintf(stderr, "%zu bytes were overwritten\n", wrong);
	(void)argument;
	return (void *)(size_t)(wrong != 0);
}

int main(void)
{
	pthread_t thread;
	void *in_thread = NULL;
	if (pthread_create(&thread, NULL, run, NULL))
		return 2;
	size_t in_main = (size_t)run(NULL);
	pthread_join(thread, &in_thread);
	return in_main || in_thread;
}
