/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a thread's time a profiler takes: a loop that only reads the processor's time-stamp
 * counter, DEPTH frames deep, and adds up the gaps between two readings. A sample (interrupt,
 * signal, handler) is a gap of microseconds; being scheduled away is one of a millisecond, and is
 * left out. Usage: gaps SECONDS [DEPTH]. Prints the share of time lost in gaps of 0.4 to 100 us,
 * and their number a second: what remains without a profiler are the kernel's own interrupts.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#define GAP_LEAST_NS 400.0
#define GAP_MOST_NS  100000.0

static double ns_per_tick;

static void calibrate(void)
{
	struct timespec start, now;
	clock_gettime(CLOCK_MONOTONIC, &start);
	uint64_t first = __rdtsc();
	double ns;
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		ns = (double)(now.tv_sec - start.tv_sec) * 1e9 +
		     (double)(now.tv_nsec - start.tv_nsec);
	} while (ns < 50e6);
	ns_per_tick = ns / (double)(__rdtsc() - first);
}

__attribute__((noinline)) static double measure(double seconds, double *gaps)
{
	uint64_t start = __rdtsc(), last = start,
		 end = start + (uint64_t)(seconds * 1e9 / ns_per_tick);
	uint64_t least = (uint64_t)(GAP_LEAST_NS / ns_per_tick),
		 most = (uint64_t)(GAP_MOST_NS / ns_per_tick);
	uint64_t lost = 0, away = 0, count = 0;
	while (last < end) {
		uint64_t now = __rdtsc(), gap = now - last;
		if (gap > least) {
			if (gap > most) {
				away += gap;
			} else {
				lost += gap;
				count++;
			}
		}
		last = now;
	}
	double running = (double)(last - start - away) * ns_per_tick;
	*gaps = (double)count / (running / 1e9);
	return (double)lost * ns_per_tick / running;
}

__attribute__((noinline)) static double dive(int depth, double seconds, double *gaps)
{
	double share = depth > 0 ? dive(depth - 1, seconds, gaps) : measure(seconds, gaps);
	__asm__ volatile("" : : : "memory"); /* not a tail call */
	return share;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1, gaps;
	calibrate();
	double share = dive(argc > 2 ? atoi(argv[2]) : 36, seconds, &gaps);
	printf("%.6f %.1f\n", share, gaps);
	return 0;
}
