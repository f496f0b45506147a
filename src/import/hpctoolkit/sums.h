/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of doubles under a pair of numbers, in the order in which the pairs came first. */
#pragma once

#include "base/table.h"

struct sn_sum {
	uint32_t major, minor;
	double value;
};

/* All zeroes is empty. */
struct sn_sums {
	struct sn_sum *entries;
	size_t count, capacity;
	struct sn_table keys; /* their numbers are those of the entries */
};

void sn_sums_release(struct sn_sums *sums);
/* -1 without memory. */
int sn_sums_add(struct sn_sums *sums, uint32_t major, uint32_t minor, double value);
/* NULL where there is none. Valid until the next addition. */
const struct sn_sum *sn_sums_find(const struct sn_sums *sums, uint32_t major, uint32_t minor);
