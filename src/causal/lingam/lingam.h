/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The causal order of columns by DirectLiNGAM: where what is not explained of each variable is not normal, is independent of the others, and
 * effects are linear, the residuals of the right direction are independent of the cause, those of the wrong one are not.
 *
 * Source: Shimizu et al., "DirectLiNGAM: a direct method for learning a linear non-Gaussian structural equation model", JMLR 12 (2011), section
 * 3.2, with the measure of Hyvarinen and Smith, "Pairwise likelihood ratios for estimation of non-Gaussian structural equation models", JMLR
 * 14 (2013), section 3: the variable whose differences of mutual information speak least against it comes first. A candidate is no longer
 * looked at once its sum is above that of another one, which changes no result (as ParaLiNGAM of Shahbazinia et al. does).
 *
 * What it assumes is tested, with the false-discovery rate of Benjamini and Hochberg: that residuals are not normal, by the statistic of
 * Anderson and Darling; and that they are independent, by correlations of their sizes and of their bounded values, which a common cause that
 * is not in the table, or an effect that is not linear, makes dependent.
 */
#pragma once

#include "base/error.h"
#include "causal/knowledge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_lingam_options {
	/* Tiers and what is required restrict the order; edges that are forbidden are left out. Or NULL. */
	const struct sn_knowledge *knowledge;
	double discovery_rate; /* false ones among the discoveries of each kind: 0.05 is usual */
	unsigned threads;      /* 0: one for each processor; all give the same result */
};

struct sn_lingam {
	uint32_t count;
	uint32_t *order; /* causes come first */
	/*
	 * Of row `to` and column `from`: the effect of one unit of `from`, with the other causes held, and its standard error; 0 where there is
	 * none. A cause is what comes before and has a coefficient that is not 0 at the rate of false discoveries, and then the
	 * regression is done again with the causes alone.
	 */
	double *effects, *deviations;
	/* Of each variable's residual: the probability of a statistic that large if it were normal; and that it is found not to be. */
	double *normal_probability;
	bool *is_not_normal;
	uint32_t not_normal; /* their number */
	/* Pairs of residuals that are found to be dependent, of all pairs. */
	uint32_t dependent_pairs;
};

/*
 * `values`: `rows` numbers for each of `count` columns, one column after the other, in any unit; none is constant or missing. Fails with
 * SN_ERR_ARGUMENT where there are not more rows than columns, or others determine a column: then nothing is left to be looked at. 0 or a
 * negative enum sn_err; release it in either case.
 */
int sn_lingam(struct sn_lingam *lingam, const double *values, uint32_t count, size_t rows,
	      const struct sn_lingam_options *options, struct sn_error *error);
void sn_lingam_release(struct sn_lingam *lingam);

/* At most one residual may be normal: else some direction is not determined. */
static inline bool sn_lingam_holds(const struct sn_lingam *lingam)
{
	return lingam->not_normal + 1 >= lingam->count;
}

/* The direction between two variables is determined: at least one of their residuals is not normal. */
static inline bool sn_lingam_tells(const struct sn_lingam *lingam, uint32_t a, uint32_t b)
{
	return lingam->is_not_normal[a] || lingam->is_not_normal[b];
}
