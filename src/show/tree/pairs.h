/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers pairs of numbers: the same pair gives the same id, ids count up from 1. A key of several
 * fields is numbered exactly, without comparing structs, by folding it pair by pair.
 */
#ifndef SN_SHOW_PAIRS_H
#define SN_SHOW_PAIRS_H

#include <stdint.h>

struct sn_pairs {
	uint64_t *keys;
	uint32_t *ids; /* 0: the slot is free */
	uint32_t capacity;
	uint32_t count;
};

void sn_pairs_init(struct sn_pairs *pairs);
void sn_pairs_release(struct sn_pairs *pairs);
/* The pair's id, or 0 where memory ran out. */
uint32_t sn_pairs_intern(struct sn_pairs *pairs, uint32_t a, uint32_t b);

#endif
