/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rows vary by, in parts that are independent of each other: its strata (Nelder, "The analysis of randomized experiments with orthogonal block
 * structure", Proceedings of the Royal Society A 283, 1965). Independent rows and stretches have one. Rows of other clusters have two: the means of clusters, of which
 * there are as many as clusters, and how rows differ from the mean of theirs, which says as much as there are rows less clusters.
 *
 * A score is the sum of those in each stratum, with coefficients of its own, and so is the statistic of a test. So what few runs have in common by
 * chance is judged as that of few runs is, and an effect within runs by all rows. Means of unequal clusters scatter unequally: each is divided by what it
 * scatters by, so that all count alike.
 *
 * Means of less than SN_MEANS_LEAST clusters are left out, as a few columns explain any numbers that are so few; so is what differs within clusters where that
 * are less than SN_WITHIN_LEAST rows. A category of more levels than a tenth of the clusters is not among the means, of settings than a third.
 */
#pragma once

#include "causal/search/sum_score.h"
#include "clusters.h"

#include <stdbool.h>

#define SN_STRATA_MOST	    SN_SUMMED_MOST
#define SN_MEANS_LEAST	    30u
#define SN_WITHIN_LEAST	    10u
#define SN_CLUSTERS_A_LEVEL 10u
#define SN_SETTINGS_A_LEVEL 3u /* where clusters are repeats of settings */

struct sn_stratum {
	size_t rows;
	const uint32_t *
	    row_of; /* of each row, the row of the table that it is drawn with; NULL: that of its number */
	const struct sn_clusters
	    *within; /* the mean of each was taken out: so many rows less say something; or NULL */
	/* Of each dimension that varies here its value in each row, with mean 0 and sum of squares 1; and of each variable its first dimension, behind the last
	 * one their number. */
	double *values;
	uint32_t *first;
	bool *
	    varies_before; /* of each of these dimensions: it varies in the stratum before as well; NULL: there is none */
};

struct sn_strata {
	struct sn_stratum of[SN_STRATA_MOST];
	uint32_t count;
	bool are_shared; /* values and dimensions are those of the table, the only stratum */
	/* Of stretches and repeats, of up to SN_DEPENDENCE_MOST dimensions: how much less rows say of each pair (dependence.h); else NULL. */
	double *dependence;
};

/* The columns of a table: of each dimension its value in each row, with mean 0 and sum of squares 1. */
struct sn_dimensions {
	uint32_t variables;
	double *values;
	uint32_t
	    *first; /* of each variable its first dimension; behind the last one their number */
	const bool *is_ordered; /* of each variable: it is a number */
};

/* `identity`: a variable that says which cluster a row is of, of which repeats tell as much as rows; UINT32_MAX: there is none. All that is given must live as long. The second clusters are repeats in stretches, or none. Each stratum has a dimension, unless none varies in any. 0 or SN_ERR_MEMORY; release them in either case. */
int sn_strata_init(struct sn_strata *strata, const struct sn_clusters *const clusters[2],
		   const struct sn_dimensions *dimensions, size_t rows, uint32_t identity);
void sn_strata_release(struct sn_strata *strata);

/* How often each row of a stratum is in a sample which has the table's rows so often; the caller's to free. NULL without memory. */
uint32_t *sn_stratum_times(const struct sn_stratum *stratum, const uint32_t *times);
/* So many rows of a sample say something in a stratum, at least 1; `times` may be NULL: each row of the table once. */
size_t sn_stratum_count(const struct sn_stratum *stratum, const uint32_t *times);
