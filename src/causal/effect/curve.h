/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expected change of a target if a numeric cause were set to a value, along a curve: a line, and a spline of the second degree over normal quantiles of its ranks. Target
 * and each part of the curve are predicted from what is held, each row from other folds of the rows, and what is left of the target is regressed on what is left of
 * these parts: the partially linear model of double_ml.h with as many coefficients as the curve has parts.
 *
 * Source: Chernozhukov et al. 2018 (see double_ml.h), section 4.1, with a vector of treatments; bends are as many as keep what they cannot follow below what chance
 * makes of them (series estimation: Newey, "Convergence rates and asymptotic normality for series estimators", Journal of Econometrics 79 (1997)).
 */
#pragma once

#include "double_ml.h"

struct sn_curve_change {
	enum sn_effect_status status;
	double cause_low, cause_high; /* the least and the greatest value that a row has */
	struct sn_estimate change; /* against what it was, in the target's unit; NAN unless found */
};

/* The cause is numeric, and `value` within its values. 0 or a negative enum sn_err; without an answer it is 0, and the status says why. MT: yes. */
int sn_curve_change(struct sn_curve_change *change, const struct sn_effect_question *question,
		    double value, struct sn_error *error);
