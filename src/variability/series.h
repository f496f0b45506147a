/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value over time as means of equal steps: drift, changes, and a mean with its uncertainty. Values near each other are alike for many
 * reasons (clocks, caches, neighbours), so the uncertainty comes from how the means of steps vary, and from how alike successive ones are,
 * and not from the number of values.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values that began in a step. */
struct sn_series_step {
	double count, mean;
	double
	    plain_mean; /* as they are, where `mean` is of values that were limited against outliers; tells the size of a change */
};

struct sn_estimate {
	double value, low, high; /* 95 % interval */
	double p;		 /* two-sided, of no difference from 0 */
	bool is_known;
};

/* Of logarithms: the slope by least squares, weighted by counts, over all steps. */
struct sn_drift {
	struct sn_estimate
	    whole; /* of the time from the first to the last of the steps with values, in ln */
};
/* Needs values in at least SN_STEPS_LEAST steps. */
enum { SN_STEPS_LEAST = 8 };
struct sn_drift sn_steps_drift(const struct sn_series_step *steps, size_t count);
/* The mean of the steps' means, weighted by counts. */
struct sn_estimate sn_steps_mean(const struct sn_series_step *steps, size_t count);

/* From `step` on, until the next change, values are greater by `difference` (of plain means) than since the change before. */
struct sn_change {
	size_t step;
	double difference;
};
enum { SN_CHANGES = 16 };
struct sn_changes {
	struct sn_change items[SN_CHANGES]; /* by time */
	size_t count;
};
/*
 * Changes of the mean by optimal partitioning (Jackson et al., An algorithm for optimal partitioning of data on an interval, 2005): the
 * division into parts with the least sum of weighted squares and penalties. Each change costs 4 ln(steps) times the long-run variance of the
 * steps' means, which is twice what the Bayesian information criterion has for the two parameters of a change. The variance is that
 * of an autoregressive process whose differences at distance one and two have the observed squares, without the twentieth that is
 * greatest, so that changes do not count into it. Parts have at least SN_CHANGE_STEPS steps with values, and means that differ by at least `least`. There are no
 * changes where a straight line explains the means as well, or more than SN_CHANGES would be needed. The square of the number of steps
 * is what it costs. 0 or SN_ERR_MEMORY.
 */
enum { SN_CHANGE_STEPS = 3 };
int sn_steps_changes(const struct sn_series_step *steps, size_t count, double least,
		     struct sn_changes *changes);

/* Which of `count` p values are significant so that at most a share of `rate` of those is expected to be by chance (Benjamini and
 * Hochberg, 1995): p is not above the result. */
double sn_false_discovery_limit(const double *p, size_t count, double rate);
