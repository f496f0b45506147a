/* SPDX-License-Identifier: Apache-2.0 */
/* Effects by double machine learning; see double_ml.h. */
#include "double_ml.h"

#include "cross_fit.h"
#include "causal/normal.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_ROWS     20u
#define LEAST_CLUSTERS 3u
#define CAUSE_BENDS    7u
/* The part of the cause's variance that must be left. */
#define LEAST_LEFT     1e-6

struct estimating {
	const struct sn_effect_question *question;
	struct sn_adjusted_effect *effect;
	struct sn_cross_fit cross;
	struct sn_features features; /* of what is held, then of the cause */
	uint32_t held;		     /* features of what is held, with the constant */
	double *target, *cause;	     /* of each place, with mean 0 and variance 1 */
	double *left_of_target, *left_of_cause, *predicted, *scores;
};

/* Mean 0 and variance 1, in the order of places. False: it is constant. */
static bool standardize(const struct sn_effect_column *column, const struct sn_cross_fit *cross,
			double *values, double *mean, double *deviation)
{
	double squares = 0, largest = 0, count = (double)cross->rows;
	*mean = 0;
	for (size_t at = 0; at < cross->rows; at++) {
		values[at] = column->values[cross->order[at]];
		*mean += values[at] / count;
		largest = fmax(largest, fabs(values[at]));
	}
	for (size_t at = 0; at < cross->rows; at++) {
		values[at] -= *mean;
		squares += values[at] * values[at];
	}
	*deviation = sqrt(squares / count);
	for (size_t at = 0; at < cross->rows; at++)
		values[at] /= *deviation;
	/* of what is constant rounding alone is left */
	return *deviation > 1e-12 * largest;
}

static void make_features(struct estimating *of)
{
	const struct sn_effect_question *question = of->question;
	struct sn_features *features = &of->features;
	size_t rows = question->rows;
	sn_features_add_all(features, question->adjustment, question->adjustment_count,
			    of->cross.order, of->scores);
	of->held = features->count;
	uint32_t lines = features->line_count;
	sn_features_add_column(features, &question->cause, of->cross.order, CAUSE_BENDS,
			       of->scores);
	if (question->cause.levels || lines * 4 > rows || lines > 40)
		return;
	for (uint32_t line = 0; line < lines; line++)
		sn_features_add_product(features, of->cause,
					features->columns + features->lines[line] * rows);
}

static int predict(struct estimating *of, const double *outcome, uint32_t used, double *left)
{
	struct sn_ridge ridge;
	double squares;
	int result = sn_ridge_init(&ridge, &of->features, &of->cross.folds, outcome);
	if (!result)
		sn_ridge_predict(&ridge, used, of->predicted, &squares, NULL);
	for (size_t at = 0; !result && at < of->cross.rows; at++)
		left[at] = outcome[at] - of->predicted[at];
	sn_ridge_release(&ridge);
	return result;
}

/* What is left of the target on what is left of the cause. */
static void find_slope(struct estimating *of)
{
	double product = 0, squares = 0;
	for (size_t at = 0; at < of->cross.rows; at++) {
		product += of->left_of_cause[at] * of->left_of_target[at];
		squares += of->left_of_cause[at] * of->left_of_cause[at];
	}
	double slope = product / squares;
	for (size_t at = 0; at < of->cross.rows; at++)
		of->scores[at] = of->left_of_cause[at] *
				 (of->left_of_target[at] - slope * of->left_of_cause[at]);
	of->effect->slope =
	    sn_estimate_times(sn_cross_fit_estimate(&of->cross, slope, of->scores, squares),
			      of->effect->target_deviation);
}

/* What the cause takes from the squared error; `left` is what is left of the target with the cause. */
static void find_share(struct estimating *of, const double *left)
{
	double rows = (double)of->cross.rows, share = 0;
	for (size_t at = 0; at < of->cross.rows; at++) {
		double before = of->left_of_target[at];
		of->scores[at] = before * before - left[at] * left[at];
		share += of->scores[at] / rows;
	}
	for (size_t at = 0; at < of->cross.rows; at++)
		of->scores[at] -= share * of->target[at] * of->target[at];
	struct sn_estimate estimate = sn_cross_fit_estimate(&of->cross, share, of->scores, rows);
	double two_sided = sn_normal_two_sided(share / estimate.deviation);
	of->effect->share = estimate;
	of->effect->share_probability = !(estimate.deviation > 0) ? 1
					: share > 0		  ? two_sided / 2
								  : 1 - two_sided / 2;
}

static int estimate(struct estimating *of)
{
	struct sn_adjusted_effect *effect = of->effect;
	size_t rows = of->cross.rows;
	bool has_slope = of->question->cause.levels <= 2;
	make_features(of);
	int result = predict(of, of->target, of->held, of->left_of_target);
	if (!result && has_slope) {
		result = predict(of, of->cause, of->held, of->left_of_cause);
		effect->cause_left = 0;
		for (size_t at = 0; at < rows; at++)
			effect->cause_left +=
			    of->left_of_cause[at] * of->left_of_cause[at] / (double)rows;
		if (!result && effect->cause_left < LEAST_LEFT) {
			effect->status = SN_EFFECT_DETERMINED;
			return 0;
		}
	}
	if (!result && has_slope)
		find_slope(of);
	/* the cause itself is no longer needed */
	result = result ? result : predict(of, of->target, of->features.count, of->cause);
	if (!result)
		find_share(of, of->cause);
	effect->status = SN_EFFECT_FOUND;
	return result;
}

static int make_room(struct estimating *of, struct sn_error *error)
{
	const struct sn_effect_question *question = of->question;
	uint32_t levels = question->cause.levels;
	size_t bytes = question->rows * sizeof(double) + 1;
	of->target = malloc(bytes);
	of->cause = malloc(bytes);
	of->left_of_target = malloc(bytes);
	of->left_of_cause = malloc(bytes);
	of->predicted = malloc(bytes);
	of->scores = malloc(bytes);
	if (!of->target || !of->cause || !of->left_of_target || !of->left_of_cause ||
	    !of->predicted || !of->scores)
		return sn_fail_memory(error);
	return sn_features_init(&of->features, question->adjustment, question->adjustment_count,
				question->rows, levels ? levels : CAUSE_BENDS + 1 + 40, error);
}

static void release(struct estimating *of)
{
	sn_cross_fit_release(&of->cross);
	sn_features_release(&of->features);
	free(of->target);
	free(of->cause);
	free(of->left_of_target);
	free(of->left_of_cause);
	free(of->predicted);
	free(of->scores);
}

int sn_adjusted_effect_estimate(struct sn_adjusted_effect *effect,
				const struct sn_effect_question *question, struct sn_error *error)
{
	struct estimating of = {.question = question, .effect = effect};
	*effect = (struct sn_adjusted_effect){.status = SN_EFFECT_FEW,
					      .slope = sn_no_estimate,
					      .share = sn_no_estimate,
					      .share_probability = NAN,
					      .cause_left = NAN};
	if (question->target.levels > 2)
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "an effect on a category of %u levels has no size",
			       question->target.levels);
	if (question->rows < LEAST_ROWS)
		return 0;
	int result = sn_fail_code(error, sn_cross_fit_init(&of.cross, question));
	effect->clusters = of.cross.cluster_count;
	if (!result && effect->clusters >= LEAST_CLUSTERS) {
		result = make_room(&of, error);
		bool varies = !result &&
			      standardize(&question->cause, &of.cross, of.cause,
					  &effect->cause_mean, &effect->cause_deviation) &&
			      standardize(&question->target, &of.cross, of.target,
					  &effect->target_mean, &effect->target_deviation);
		effect->status = SN_EFFECT_CONSTANT;
		if (varies)
			result = sn_fail_code(error, estimate(&of));
	}
	release(&of);
	return result;
}
