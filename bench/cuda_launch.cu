/* SPDX-License-Identifier: Apache-2.0 */
/* cuda-launch COUNT DEPTH [stop]: launches an empty kernel COUNT times, DEPTH functions below main, waiting after each 1,000; with "stop", after
 * Sonde has ended measuring.
 * Prints nanoseconds a launch: the launching thread's CPU time, and wall time. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sonde/sonde.h>

__global__ void nothing(void)
{
}

static double now_ns(clockid_t clock)
{
	timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void __attribute__((noinline)) launch(int count)
{
	for (int i = 0; i < count; i++)
		nothing<<<1, 32>>>();
}

static void __attribute__((noinline)) descend(int depth, int count)
{
	if (depth)
		descend(depth - 1, count);
	else
		launch(count);
	asm volatile("" ::: "memory"); // no tail call
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 50000, depth = argc > 2 ? atoi(argv[2]) : 0;
	double cpu_ns = 0, wall_ns = 0;
	cudaFree(nullptr); // initialises the driver
	descend(depth, 1000);
	cudaDeviceSynchronize();
	if (argc > 3 && !strcmp(argv[3], "stop"))
		sonde_stop();
	for (int left = count; left > 0; left -= 1000) {
		double cpu = now_ns(CLOCK_THREAD_CPUTIME_ID), wall = now_ns(CLOCK_MONOTONIC);
		descend(depth, 1000);
		cpu_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
		wall_ns += now_ns(CLOCK_MONOTONIC) - wall;
		cudaDeviceSynchronize();
	}
	printf("%.0f %.0f\n", cpu_ns / count, wall_ns / count);
}
