/* SPDX-License-Identifier: Apache-2.0 */
/* The time of an empty parallel region, best of several repeats. Usage: openmp_region THREADS
 * [REGIONS]. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2, regions = argc > 2 ? atoi(argv[2]) : 200000;
	double best = 1e30;
	for (int repeat = 0; repeat < 9; repeat++) {
		double start = now_ns();
		for (int region = 0; region < regions; region++) {
#pragma omp parallel num_threads(threads)
			__asm__ volatile("");
		}
		double each = (now_ns() - start) / regions;
		best = each < best ? each : best;
	}
	printf("%.1f\n", best);
	return 0;
}
