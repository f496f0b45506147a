/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of variables as rows of bits, of sn_bits_words(count) words each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t sn_bits_words(uint32_t count)
{
	return (count + 63) / 64;
}

static inline bool sn_bits_has(const uint64_t *bits, uint32_t item)
{
	return bits[item / 64] >> item % 64 & 1;
}

static inline void sn_bits_add(uint64_t *bits, uint32_t item)
{
	bits[item / 64] |= UINT64_C(1) << item % 64;
}

static inline void sn_bits_remove(uint64_t *bits, uint32_t item)
{
	bits[item / 64] &= ~(UINT64_C(1) << item % 64);
}

/* For each item: `item` is it. */
#define SN_BITS_EACH(bits, words, item)                                                            \
	for (size_t sn_word = 0; sn_word < (words); sn_word++)                                     \
		for (uint64_t sn_rest = (bits)[sn_word], item = 0;                                 \
		     sn_rest && (item = sn_word * 64 + (uint64_t)__builtin_ctzll(sn_rest), true);  \
		     sn_rest &= sn_rest - 1)
