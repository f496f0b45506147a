/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What differs between two sides, each of one set or several (repeats): of each row its value, its share of all and its time by measured time, and how likely chance alone makes these differ so far.
 *
 * Of one set a side the chance is that of sampling alone: of shares by Fisher's exact test of the counts, of time by measured time by the split of the counts of two Poisson processes (chance.h). It says nothing
 * of how runs differ from each other. With several sets of a side it is Welch's test of the sides' means ("The generalization of 'Student's' problem", 1947), whose variance is that between the sets, of one set that of
 * the other side, and never less than that of sampling: two repeats that agree by chance prove nothing. Rates of false discoveries are those of Benjamini and Hochberg (1995) over all rows.
 */
#pragma once

#include "rows.h"
#include "variation.h"

/* Of a side; means over its sets. */
struct sn_side {
	double value;
	double share; /* of the side's total */
	double pace;  /* of the metric by nanosecond of measured time; NAN unknown */
	double count,
	    samples; /* of all its sets: as they were taken, and of equal weight (rows.h) */
};

/* How sure a difference is: NAN where it cannot be told. */
struct sn_sureness {
	double chance, rate; /* the rate of false discoveries at which it is one */
	bool is_sure;
};

struct sn_difference {
	uint32_t row; /* SONDE_NONE: the total */
	struct sn_side before, after;
	struct sn_sureness share, pace;
};

/* The caller frees `rows`. */
struct sn_differences {
	struct sn_difference *rows; /* sure ones first, each by how much the share changed */
	size_t count, sure;
	struct sn_difference all;
	bool has_repeats; /* of a side at least */
};

/* The first `before` sets are one side, the others the other. 0 or SN_ERR_MEMORY. */
int sn_compare_differ(const struct sn_compare_rows *rows, size_t before,
		      struct sn_differences *differences);
