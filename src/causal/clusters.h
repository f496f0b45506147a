/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that are not independent, since they are of one cluster: of one kernel, run or stretch of time.
 *
 * Where two columns are alike within clusters, their correlation scatters by chance as that of fewer rows does: if the cluster of a row has m rows on
 * average, and the columns have the intraclass correlations p and q, as that of 1 + (m - 1) p q times fewer (Moulton, "Random group effects and the
 * precision of regression estimates", Journal of Econometrics 32, 1986). Penalties of scores are multiplied, and rows of tests divided, by that. It is
 * the same for both ends of an edge, so that graphs that no data can tell apart have the same score still.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How much less rows say; all zeroes: they are independent. */
struct sn_design {
	double rows; /* m */
	/* Of each dimension its intraclass correlation, 0 to 1; NULL: rows are independent. */
	const double *alike;
};

static inline double sn_design_effect(const struct sn_design *design, uint32_t a, uint32_t b)
{
	return design->alike ? 1 + (design->rows - 1) * design->alike[a] * design->alike[b] : 1;
}

/* Summed over pairs of the dimensions from a to a_end and from b to b_end. */
double sn_design_sum(const struct sn_design *design, uint32_t a, uint32_t a_end, uint32_t b,
		     uint32_t b_end);

struct sn_clusters {
	uint32_t *of; /* of each row, 0 .. count - 1; NULL: rows are independent */
	uint32_t count;
	double *alike; /* of each dimension */
	struct sn_design design;
};

/* From the values of the rows that are kept: equal ones are one cluster, and each row without a value is one by itself. 0 or SN_ERR_MEMORY; release it
 * in either case. */
int sn_clusters_init(struct sn_clusters *clusters, const double *values, const uint32_t *kept_rows,
		     size_t rows);
/* The intraclass correlations of dimensions with mean 0 and sum of squares 1, by the analysis of variance. Nothing where rows are independent. Again
 * whenever dimensions have changed. 0 or SN_ERR_MEMORY. */
int sn_clusters_measure(struct sn_clusters *clusters, const double *values, uint32_t dimensions,
			size_t rows);
void sn_clusters_release(struct sn_clusters *clusters);
