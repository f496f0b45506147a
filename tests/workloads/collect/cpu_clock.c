/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_clock N: uses N seconds of CPU time by its own clock, which it reads all the time. Where other
 * programs want the processor a thread that does so loses it between two ticks of the kernel, seldom
 * at one: reading the clock tells the scheduler that the thread's slice is over.
 */
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	volatile unsigned long sum = 0;
	struct timespec used;
	do {
		for (unsigned long i = 0; i < 50000; i++)
			sum += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	} while (used.tv_sec < (argc > 1 ? atol(argv[1]) : 1));
	return 0;
}
