/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose branches, loops and calls run known numbers of times: main ROUNDS calls branchy, indirect and twins. Compiled twice: with -DOTHER it is the second file, which has another static function of the same name.
 *
 * branchy: one round of 16 goes to rare, the others to often, each after the same work; its arithmetic is inlined. indirect: of 8 calls through a pointer 7 go to first, one to second, each of which has a loop of 20 turns.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline))

/* Time that both sides of a branch take: each multiplication waits for the one before. */
#define ONCE(state, step) (((state) + (step)) * 0x9e3779b97f4a7c15u)
#define LONG(state, step)                                                                          \
	ONCE(ONCE(ONCE(ONCE(ONCE(ONCE(ONCE(ONCE(state, step), step), step), step), step), step),   \
		  step),                                                                           \
	     step)

enum { ROUNDS = 20000, TURNS = 20 };

uint64_t twins_here(uint64_t state), twins_there(uint64_t state);

static APART uint64_t twin(uint64_t state)
{
#ifdef OTHER
	for (int turn = 0; turn < TURNS; turn++)
		state = (state ^ state >> 17) * 3202034522624059733u;
#else
	for (int turn = 0; turn < TURNS; turn++)
		state = state * 2862933555777941757u + 3;
#endif
	return state;
}

#ifdef OTHER

uint64_t twins_there(uint64_t state)
{
	for (int round = 0; round < ROUNDS; round++)
		state += twin(state);
	return state;
}

#else

static inline __attribute__((always_inline)) uint64_t mixed(uint64_t state)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state ^ state >> 29;
}

APART uint64_t rare(uint64_t state)
{
	return (state ^ 0x5bd1e995) * 7;
}

APART uint64_t often(uint64_t state)
{
	return (state ^ state >> 31) * 3;
}

APART uint64_t branchy(uint64_t state)
{
	for (int round = 0; round < ROUNDS; round++) {
		state = mixed(state);
		if (round % 16 == 5)
			state += rare(LONG(state, 5));
		else
			state ^= often(LONG(state, 7));
	}
	return state;
}

static APART uint64_t first(uint64_t state)
{
	for (int turn = 0; turn < TURNS; turn++)
		state = state * 6364136223846793005u + 1;
	return state;
}

static APART uint64_t second(uint64_t state)
{
	for (int turn = 0; turn < TURNS; turn++)
		state = state * 3935559000370003845u + 7;
	return state;
}

static uint64_t (*volatile steps[8])(uint64_t) = {first, first, first, first,
						  first, first, first, second};

APART uint64_t indirect(uint64_t state)
{
	for (int round = 0; round < ROUNDS; round++)
		state += steps[round % 8](state);
	return state;
}

uint64_t twins_here(uint64_t state)
{
	for (int round = 0; round < ROUNDS; round++)
		state += twin(state);
	return state;
}

int main(int argc, char **argv)
{
	uint64_t state = 1;
	for (int turn = argc > 1 ? atoi(argv[1]) : 1; turn > 0; turn--)
		state =
		    twins_there(twins_here(indirect(branchy(branchy(branchy(branchy(state)))))));
	printf("%llu\n", (unsigned long long)state);
	return 0;
}

#endif
