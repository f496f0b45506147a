/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much each row varies across sets, and whether that is more than sampling explains (dcpistats of Anderson et al., "Continuous profiling: where have all the cycles gone?", TOCS 15(4), 1997).
 *
 * A row's number of each set is its value as it is, by measured second, or by the set's total. Counts of samples are Poisson, with expectations in proportion to 1, the second, or the total: Pearson's chi-square
 * test of homogeneity (of the total: of shares), where each expectation is at least 1 and their mean at least 5 (Cochran, "Some methods for strengthening the common chi-square tests", 1954). Of all rows that
 * are tested those vary whose rate of false discoveries is at most 5 % (Benjamini and Hochberg, 1995).
 */
#pragma once

#include "rows.h"

enum sn_compare_per { SN_PER_SET, SN_PER_SECOND, SN_PER_TOTAL };

#define SN_COMPARE_FALSE_RATE 0.05

struct sn_variation {
	uint32_t row;	   /* SONDE_NONE: the total */
	double sum, share; /* of the values; of those of all rows */
	uint32_t sets;	   /* in which it has values */
	double mean, deviation, least,
	    greatest; /* over all sets; the deviation is that of a sample */
	double noise; /* the deviation that sampling alone would give; NAN unknown */
	double
	    excess; /* the deviation without what is noise: the root of the difference of their squares; 0 where noise is more, NAN unknown */
	double range; /* greatest - least, by the sum over all sets */
	double chance,
	    rate; /* of the test, NAN: not tested; the rate of false discoveries at which it varies */
	bool varies;
};

/* The caller frees `rows`. */
struct sn_variations {
	struct sn_variation *rows; /* those that vary first, by excess; then the others, by sum */
	size_t count;
	struct sn_variation all;     /* the total */
	size_t tested, few, varying; /* rows; few: with too few samples for a test */
};

/* Of at least two sets. SN_ERR_ARGUMENT: a set has no duration, or no total, by which it is asked for. */
int sn_compare_vary(const struct sn_compare_rows *rows, enum sn_compare_per per,
		    struct sn_variations *variations);
