/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that a seed alone determines: xoshiro256** of Blackman and Vigna, "Scrambled linear pseudorandom number generators" (2021),
 * begun by splitmix64. */
#pragma once

#include <stdint.h>

struct sn_random {
	uint64_t state[4];
};

static inline uint64_t sn_random_mix(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* `number`: of the stream: those of one seed are independent of each other. */
static inline void sn_random_begin(struct sn_random *random, uint64_t seed, uint64_t number)
{
	uint64_t state = seed;
	state = sn_random_mix(&state) ^ number;
	for (int i = 0; i < 4; i++)
		random->state[i] = sn_random_mix(&state);
}

static inline uint64_t sn_random_next(struct sn_random *random)
{
	uint64_t *s = random->state, scrambled = s[1] * 5, shifted = s[1] << 17;
	scrambled = (scrambled << 7 | scrambled >> 57) * 9;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = s[3] << 45 | s[3] >> 19;
	return scrambled;
}

/* 0 .. end - 1. The error of the multiplication is below end / 2^64. */
static inline uint32_t sn_random_below(struct sn_random *random, uint32_t end)
{
	return (uint32_t)((unsigned __int128)sn_random_next(random) * end >> 64);
}
