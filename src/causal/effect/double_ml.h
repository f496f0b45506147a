/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The total effect of a cause on a target, given what has to be held (adjustment.h finds that), by double machine learning: target and cause
 * are predicted from what is held, each row from other folds of the rows, and what is left of the target is regressed on what is left of
 * the cause. Errors of the predictions then matter by their product alone. Folds and standard errors are by cluster: rows of one kernel or run
 * are not independent.
 *
 * Predictions are ridge regressions on lines, bends and products (basis.h): their products of columns are shared by all folds, sizes of
 * penalty and outcomes, which makes an effect cost milliseconds, and where relations are smooth they are more accurate than boosted trees of
 * the same cost, which are stairs.
 *
 * Source: Chernozhukov et al., "Double/debiased machine learning for treatment and structural parameters", Econometrics Journal 21 (2018),
 * section 4.1 (partially linear model), section 5.1 (interactive model), definition 3.2 (the folds together). The share of variance is the
 * measure of Williamson et al., "Nonparametric variable importance assessment using machine learning techniques", Biometrics 77 (2021),
 * section 2.2.
 */
#pragma once

#include "basis.h"

#include <stdbool.h>

struct sn_effect_question {
	size_t rows;
	struct sn_effect_column cause;
	/* Numbers, or a category of two levels, which counts as 0 and 1. */
	struct sn_effect_column target;
	const struct sn_effect_column *adjustment;
	uint32_t adjustment_count;
	/* Of each row the number of its cluster, any number; NULL: rows are independent. */
	const uint32_t *clusters;
	uint64_t seed; /* of the folds: the same gives the same */
};

enum sn_effect_status {
	SN_EFFECT_FOUND,
	SN_EFFECT_FEW, /* rows or clusters: under 20 rows or 3 clusters; of a level: under 10 rows or 3 clusters */
	SN_EFFECT_CONSTANT,   /* cause or target */
	SN_EFFECT_DETERMINED, /* what is held determines the cause: it cannot be identified */
	SN_EFFECT_NO_OVERLAP, /* what is held leaves a level (nearly) no chance in some rows: it cannot be identified */
};

struct sn_estimate {
	double value, deviation; /* its standard error */
	double low,
	    high; /* of the 95 % interval, by Student's distribution with as many degrees as clusters less one */
};

struct sn_adjusted_effect {
	enum sn_effect_status status; /* what follows is NAN unless it is found */
	uint32_t clusters;
	double cause_mean, cause_deviation, target_mean, target_deviation;
	/* In units of the target for one standard deviation of the cause, the line that is nearest; NAN for a category of more than two
	 * levels. A cause that first raises and then lowers has none, but a share. */
	struct sn_estimate slope;
	/* Of the target's variance: what the cause explains in any form beyond what is held; may be below 0 by chance. */
	struct sn_estimate share;
	double share_probability; /* of one that large if it explained nothing */
	double cause_left;	  /* the part of the cause's variance that what is held leaves */
};

/* 0 or a negative enum sn_err; without an answer it is 0, and the status says why. MT: yes. */
int sn_adjusted_effect_estimate(struct sn_adjusted_effect *effect,
				const struct sn_effect_question *question, struct sn_error *error);

/* What is expected if all rows had a level. */
struct sn_what_if_level {
	enum sn_effect_status status;
	size_t rows; /* that have it */
	struct sn_estimate expected,
	    change;		/* of the target; against what it was; NAN unless found */
	double smallest_chance; /* of any row, to have the level given what is held */
};

/*
 * For each level of a cause (which has at least two) what would be expected if all rows had it, by augmented inverse probability weighting: right
 * if either the prediction of the target or that of the level's chance is. `levels` has room for all. 0 or a negative enum sn_err. MT: yes.
 */
int sn_what_if(struct sn_what_if_level *levels, const struct sn_effect_question *question,
	       struct sn_error *error);
