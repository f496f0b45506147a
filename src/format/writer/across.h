/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding up how profiles differ: of each metric and inner context (one that has descendants), how
 * many profiles have a value there, and the least, greatest and sum of squares of their inclusive
 * sums.
 *
 * Profiles come in any order and are added up by many threads, yet the result must be the same. So
 * the squares are added without rounding: a sum becomes a whole number of 128 bits, in units of
 * 2^shift, and its square one of 256. The shift belongs to the metric: 0 if its values are whole
 * and their total has 127 bits at most; else such that the total has 127 bits. A sum then loses
 * bits only if it is below 2^-74 of the largest possible total. The sum itself is not kept: it is
 * the inclusive value. Contexts without descendants are not in here; their rows have the values.
 */
#pragma once

#include "pack.h"

#include <stdint.h>

/* What all sums of a metric together may have, above the bits that are left out. */
#define SN_ACROSS_BITS 127

struct sn_across {
	uint64_t squares[4]; /* the lowest first */
	double min, max;
	uint32_t count;
};

/* The accumulators of one metric. */
struct sn_across_metric {
	uint32_t
	    *slots; /* [inner context]: position in `items`, + 1; NULL: nothing of this metric */
	struct sn_across *items;
	size_t count, capacity;
};

struct sn_across_table {
	struct sn_across_metric *metrics;
	uint32_t metric_count, inner_count;
	uint64_t bytes; /* that the accumulators take */
};

/* 0 or SN_ERR_MEMORY; release in either case. */
int sn_across_init(struct sn_across_table *table, uint32_t metric_count, uint32_t inner_count);
void sn_across_release(struct sn_across_table *table);

/* The accumulators of a metric, with its slots; NULL without memory. */
struct sn_across_metric *sn_across_metric(struct sn_across_table *table, uint32_t metric);
/* One profile's inclusive sum, to a metric of the table. 0 or SN_ERR_MEMORY. */
int sn_across_add(struct sn_across_table *table, struct sn_across_metric *metric, uint32_t inner,
		  double sum, int32_t shift);
int sn_across_absorb(struct sn_across_table *into, const struct sn_across_table *from);
/* What was added up, or NULL. */
const struct sn_across *sn_across_at(const struct sn_across_table *table, uint32_t metric,
				     uint32_t inner);
double sn_across_squares(const struct sn_across *across, int32_t shift);

/* Filled in it is an sn_across_init. */
void sn_across_pack(struct sn_pack *pack, struct sn_across_table *table);
