/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that are not one block: calls inlined twice into one, a loop that is unrolled four times, a function that begins with its loop. Arguments: how often it does all of that, and how often a library does (the same file, with -DLIBRARY). */
#include <stdint.h>
#include <stdlib.h>

#define APART __attribute__((noinline))

static volatile unsigned sum;
uint64_t numbers[4096]; /* the compiler is not to know that nobody writes them */

static inline __attribute__((always_inline)) uint64_t mixed(uint64_t state)
{
	return (state ^ state >> 29) * 0x9e3779b97f4a7c15u;
}

APART uint64_t twice(uint64_t state)
{
	for (int round = 0; round < 100000; round++)
		state = mixed(mixed(state) + 1);
	return state;
}

/* A part of the line runs in one round of eight. */
APART uint64_t either(uint64_t state)
{
	for (int round = 0; round < 100000; round++)
		state = round % 8 == 3 ? mixed(mixed(mixed(mixed(state)))) + sum
				       : state * 5 + (state >> 3);
	return state;
}

APART uint64_t unrolled(uint64_t state)
{
#pragma clang loop unroll_count(4) vectorize(disable)
	for (int at = 0; at < 4096; at++)
		state = (state + numbers[at]) * 0x9e3779b97f4a7c15u;
	return state;
}

APART void spin(void)
{
	do
		sum = sum * 5 + 1;
	while (sum % 16);
}

#ifndef LIBRARY
uint64_t elsewhere(uint64_t state, int turns);

int main(int argc, char **argv)
{
	uint64_t state = argc > 1 ? (uint64_t)atoi(argv[1]) : 1;
	for (int turn = argc > 1 ? atoi(argv[1]) : 1; turn > 0; turn--) {
		state += twice(state) + either(state);
		for (int again = 0; again < 20; again++)
			state += unrolled(state);
		for (int again = 0; again < 5000; again++)
			spin();
	}
	state = elsewhere(state, argc > 2 ? atoi(argv[2]) : 0);
	return state == 42;
}
#else
uint64_t elsewhere(uint64_t state, int turns);
uint64_t elsewhere(uint64_t state, int turns)
{
	for (; turns > 0; turns--)
		state += twice(state);
	return state;
}
#endif
