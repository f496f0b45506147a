/* SPDX-License-Identifier: Apache-2.0 */
/* What parallel.c counts in, for show/causal/parallel_json.c; the contract is in parallel.h. */
#pragma once

#include "parallel.h"

#include "base/table.h"

#include <stdbool.h>

/* Codes of bins and groups, a byte each. Of a number: the lower bits of floor(value / 2^k), which
 * tell 64 bins that follow one another apart. */
enum {
	SN_PARALLEL_ZERO = SN_PARALLEL_BINS, /* of a logarithmic axis: 0 or less */
	SN_PARALLEL_MISSING = 255,
	SN_PARALLEL_OTHER = SN_PARALLEL_CATEGORIES,
	SN_PARALLEL_CODES = 256,
	SN_PARALLEL_PAIRS = SN_PARALLEL_CODES * SN_PARALLEL_CODES,
};

struct sn_parallel_scale_state {
	struct sn_parallel_axis axis;
	bool has_range;
	double least, greatest; /* numbers that were met */
	int shift;		/* k of its bins */
	int more;      /* k of its groups is shift + more; of categories: see sn_parallel_limit */
	double factor; /* 2^-shift of a linear axis; 0: it overflows */
	unsigned char groups[256]; /* by code of a bin */
	/* Different numbers that were met, ascending; SN_PARALLEL_VALUES + 1: there are more, and none is kept. */
	unsigned value_count;
	double values[SN_PARALLEL_VALUES];
};

/* How many rows have these groups: the codes as a key, a byte an axis from the lowest on. */
struct sn_parallel_cell {
	uint64_t key, rows;
};

struct sn_parallel {
	unsigned count;
	struct sn_parallel_scale_state axes[SN_PARALLEL_AXES];
	uint64_t rows;
	uint64_t
	    *pairs; /* SN_PARALLEL_PAIRS for each two axes, by the first code, then the second */
	struct sn_table cells;	       /* numbers of combinations, by their keys, mixed */
	struct sn_parallel_cell *cell; /* by number */
	uint64_t *spare;	       /* for one pair */
	bool has_failed;
};

/* floor(value / 2^shift), of a logarithmic axis that of its bits; within the axis's range. */
int64_t sn_parallel_place(enum sn_parallel_scale scale, double value, int shift);
/* The place that a code stands for: the first with this code from that of the least number on. */
static inline int64_t sn_parallel_decode(int64_t least, unsigned code)
{
	return least + (int64_t)((code - (uint64_t)least) & (SN_PARALLEL_BINS - 1));
}
/* Categories below it are groups of their own. */
static inline unsigned sn_parallel_limit(const struct sn_parallel_scale_state *axis)
{
	return SN_PARALLEL_CATEGORIES >> axis->more;
}
