/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often each value occurs among any number of whole numbers: durations in nanoseconds, of which most kernels have few different ones.
 *
 * All different values are kept up to a limit, and every result is exact. Beyond it values are rounded to so many leading bits that no
 * more than the limit are different; then quantiles carry a relative error of at most sn_value_counts_error. Count, sum, sum of squares,
 * least and greatest are always exact: they are sums of whole numbers.
 *
 * The result depends neither on the order of addition nor on how values were divided among merged sets: whether values are rounded, and to
 * how many bits, follows from the set of all values alone.
 */
#pragma once

#include "base/buffer.h"

#include <stddef.h>
#include <stdint.h>

/* A value, or the lower end of the range that is rounded to it. */
struct sn_value_count {
	uint64_t value, count;
};

/* All zeroes, and `limit`, is an empty set. */
struct sn_value_counts {
	struct sn_value_count *items; /* ascending, after sn_value_counts_settle */
	size_t count, capacity;
	uint64_t *pending; /* added, and not yet among the items */
	size_t pending_count, pending_capacity;
	struct sn_value_count *waiting; /* of other sets, likewise */
	size_t waiting_count, waiting_capacity;
	size_t limit;  /* different values; at least 64 */
	unsigned bits; /* leading ones that are kept; 0: all */
	uint64_t total, least, greatest;
	unsigned __int128 sum, sum_squares; /* of values below 2^48, which is three days */
};

void sn_value_counts_release(struct sn_value_counts *counts);
/* 0 or SN_ERR_MEMORY. */
int sn_value_counts_add(struct sn_value_counts *counts, const uint64_t *values, size_t count);
/* The limit from now on, which may be less than before. */
void sn_value_counts_set_limit(struct sn_value_counts *counts, size_t limit);
/* Adds all of another set, which is settled; this one is to be settled again. 0 or SN_ERR_MEMORY. */
int sn_value_counts_merge(struct sn_value_counts *counts, const struct sn_value_counts *other);
/* After the last value, before all that follows. 0 or SN_ERR_MEMORY. */
int sn_value_counts_settle(struct sn_value_counts *counts);

/* A settled set as bytes for another process of the same program, and such bytes as a set, to be released in either case: false where
 * there are too few of them or is too little memory. */
void sn_value_counts_pack(const struct sn_value_counts *counts, struct sn_buffer *bytes);
bool sn_value_counts_unpack(struct sn_value_counts *counts, struct sn_span *bytes);

/* 0 of exact ones, else the largest relative error of a quantile. */
double sn_value_counts_error(const struct sn_value_counts *counts);
/* Of the population. 0 without values. */
double sn_value_counts_mean(const struct sn_value_counts *counts);
double sn_value_counts_deviation(const struct sn_value_counts *counts);
/* The quantile for a share from 0 to 1, between two values by linear interpolation (Hyndman and Fan's type 7, as numpy's); 0 without values. */
double sn_value_counts_quantile(const struct sn_value_counts *counts, double share);
/* The value that stands for an item: the middle of its range. */
double sn_value_counts_at(const struct sn_value_counts *counts, size_t item);

/* Of the logarithms of values (0 counts as 1), as the variation of durations is a matter of ratios. */
struct sn_log_spread {
	double median; /* of the logarithms */
	double mad;    /* median of the absolute differences from it */
	/* 1.4826 times that, or where it is 0 since most values are equal, 1.2533 times the mean difference (Iglewicz and Hoaglin, 1993);
	 * 0 where all are equal */
	double scale;
};
struct sn_log_spread sn_value_counts_log_spread(const struct sn_value_counts *counts);

/* Values whose logarithm is further from the median than SN_OUTLIER_SCALES times the scale. */
#define SN_OUTLIER_SCALES 3.5
struct sn_outliers {
	uint64_t above, below;
	double above_sum; /* of those above */
};
struct sn_outliers sn_value_counts_outliers(const struct sn_value_counts *counts,
					    const struct sn_log_spread *spread);
/* Mean of the absolute differences of values from their mean: the paper's run-to-run variation (section 2.2) over all executions. */
double sn_value_counts_mean_difference(const struct sn_value_counts *counts);
