/* SPDX-License-Identifier: Apache-2.0 */
/* callers DEPTH TURNS: launches from one line, DEPTH functions below two callers in turn, of which the first calls twice. Both lie at the
 * same place of the stack. */
#include <cstdlib>

__global__ void counted(void)
{
}

static void __attribute__((noinline)) descend(int depth)
{
	if (depth)
		descend(depth - 1);
	else
		counted<<<1, 32>>>();
	asm volatile("" ::: "memory"); // no tail call
}

static void __attribute__((noinline)) often(int depth)
{
	descend(depth); // often
	asm volatile("" ::: "memory");
}

static void __attribute__((noinline)) seldom(int depth)
{
	descend(depth); // seldom
	asm volatile("" ::: "memory");
}

int main(int, char **argv)
{
	int depth = atoi(argv[1]), turns = atoi(argv[2]);
	cudaFree(nullptr); // initialises the driver: what comes before is not heard
	void (*const callers[])(int) = {often, often, seldom};
	for (int turn = 0; turn < 3 * turns; turn++)
		callers[turn % 3](depth);
	cudaDeviceSynchronize();
}
