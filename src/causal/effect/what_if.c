/* SPDX-License-Identifier: Apache-2.0 */
/* What is expected at each level of a cause, by augmented inverse probability weighting; see double_ml.h. */
#include "base/wide.h"
#include "cross_fit.h"
#include "causal/products.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_ROWS     10u
#define LEAST_CLUSTERS 3u
/* Chances below this one carry no weight that can be relied on; this part of the rows may have one. */
#define LEAST_CHANCE   0.01
#define LOW_CHANCES    0.05
#define ITERATIONS     25
/* Of the rows, added to a feature's variance of 1 in the regression of chances. */
#define LINE_PENALTY   1e-5
#define BEND_PENALTY   1e-3
static const double bend_penalties[] = {1, 1e-1, 1e-2, 1e-3};
#define BEND_PENALTIES (sizeof(bend_penalties) / sizeof(*bend_penalties))
#define CHANCE_MOST    60u /* features: more are left to the lines alone */

struct asking {
	const struct sn_effect_question *question;
	uint32_t levels;
	struct sn_cross_fit cross;
	struct sn_features features; /* of what is held, of levels, of levels times lines */
	uint32_t held, lines;
	uint32_t *level;      /* of each place */
	double *target;	      /* of each place, with mean 0 and variance 1 */
	double *coefficients; /* of each fold, of all features */
	double *chances;      /* levels x rows */
	double *scores, *predicted;
	double target_mean, target_deviation;
	/* of the regression of chances */
	uint32_t *used, used_count;
	double *weighted, *products, *gradient, *chance_coefficients;
};

/* ---- the target ---- */

static void make_target(struct asking *of)
{
	double squares = 0, rows = (double)of->cross.rows;
	for (size_t at = 0; at < of->cross.rows; at++) {
		of->level[at] = (uint32_t)of->question->cause.values[of->cross.order[at]];
		of->target[at] = of->question->target.values[of->cross.order[at]];
		of->target_mean += of->target[at] / rows;
	}
	for (size_t at = 0; at < of->cross.rows; at++) {
		of->target[at] -= of->target_mean;
		squares += of->target[at] * of->target[at];
	}
	of->target_deviation = squares > 0 ? sqrt(squares / rows) : 1;
	for (size_t at = 0; at < of->cross.rows; at++)
		of->target[at] /= of->target_deviation;
}

/* An indicator of each level but the first, and its products with the lines. They stay 0 and 1, so that a level can be set. */
static void add_levels(struct asking *of)
{
	size_t rows = of->cross.rows;
	for (uint32_t level = 1; level < of->levels; level++) {
		double *values = sn_features_add(&of->features, SN_FEATURE_LINE);
		for (size_t at = 0; at < rows; at++)
			values[at] = of->level[at] == level;
	}
	for (uint32_t level = 1; level < of->levels; level++)
		for (uint32_t line = 0; line < of->lines; line++) {
			const double *from = of->features.columns + of->features.lines[line] * rows;
			double *values = sn_features_add(&of->features, SN_FEATURE_BEND);
			for (size_t at = 0; at < rows; at++)
				values[at] = of->level[at] == level ? from[at] : 0;
		}
}

/* The target of a place if it had a level. */
static double predict(const struct asking *of, uint32_t fold, size_t at, uint32_t level)
{
	const double *own = of->coefficients + (size_t)fold * of->features.count;
	size_t rows = of->cross.rows;
	double sum = 0;
	for (uint32_t feature = 0; feature < of->held; feature++)
		sum += own[feature] * of->features.columns[feature * rows + at];
	if (!level)
		return sum;
	sum += own[of->held + level - 1];
	own += of->held + (of->levels - 1) + (level - 1) * of->lines;
	for (uint32_t line = 0; line < of->lines; line++)
		sum += own[line] * of->features.columns[of->features.lines[line] * rows + at];
	return sum;
}

/* ---- chances ---- */

SN_WIDE static void add_scaled(double *sums, const double *column, double factor, size_t rows)
{
	for (size_t at = 0; at < rows; at++)
		sums[at] += factor * column[at];
}

SN_WIDE static void multiply(double *products, const double *a, const double *b, size_t rows)
{
	for (size_t at = 0; at < rows; at++)
		products[at] = a[at] * b[at];
}

/* The chance of the level at each place, by the coefficients as they are. */
static void set_chances(const struct asking *of, const double *coefficients, double *chances)
{
	size_t rows = of->cross.rows;
	memset(chances, 0, rows * sizeof(*chances));
	for (uint32_t number = 0; number < of->used_count; number++)
		add_scaled(chances, of->features.columns + of->used[number] * rows,
			   coefficients[number], rows);
	for (size_t at = 0; at < rows; at++)
		chances[at] = 1 / (1 + exp(-chances[at]));
}

/* One step of Newton's for the logistic regression of having the level, on the rows outside a fold. The largest change. */
static double improve(struct asking *of, uint32_t fold, uint32_t level, double bend_penalty,
		      double *coefficients)
{
	size_t rows = of->cross.rows, first = of->cross.folds.starts[fold],
	       end = of->cross.folds.starts[fold + 1], width = of->used_count + 1;
	double *last = of->weighted + of->used_count * rows, *weights = of->scores;
	double *gradient = of->gradient, largest = 0;
	set_chances(of, coefficients, weights);
	for (size_t at = 0; at < rows; at++) {
		double chance = weights[at];
		weights[at] = at >= first && at < end ? 0 : sqrt(fmax(chance * (1 - chance), 1e-9));
		last[at] = weights[at] > 0 ? ((of->level[at] == level) - chance) / weights[at] : 0;
	}
	for (uint32_t number = 0; number < of->used_count; number++)
		multiply(of->weighted + number * rows,
			 of->features.columns + of->used[number] * rows, weights, rows);
	sn_products(of->weighted, rows, (uint32_t)width, rows, of->products);
	for (uint32_t number = 0; number < of->used_count; number++) {
		enum sn_feature_kind kind = of->features.kinds[of->used[number]];
		double penalty = kind == SN_FEATURE_CONSTANT ? 0
				 : kind == SN_FEATURE_LINE   ? LINE_PENALTY
							     : bend_penalty;
		penalty *= (double)(rows - (end - first));
		gradient[number] =
		    of->products[number * width + of->used_count] - penalty * coefficients[number];
		/* the matrix moves to its place without the last column */
		memmove(of->products + number * of->used_count, of->products + number * width,
			of->used_count * sizeof(double));
		of->products[(size_t)number * of->used_count + number] += penalty;
	}
	sn_ridge_solve(of->products, of->used_count, gradient);
	for (uint32_t number = 0; number < of->used_count; number++)
		largest = fmax(largest, fabs(gradient[number]));
	/* long steps are cut: where a level is certain, the way goes on for ever */
	double scale = largest > 4 ? 4 / largest : 1;
	for (uint32_t number = 0; number < of->used_count; number++)
		coefficients[number] += scale * gradient[number];
	return largest;
}

/*
 * The chances of a level in all rows, each from the other folds. What was observed has a logarithmic loss with them. Coefficients of each fold
 * begin where they are.
 */
static double find_chances_of(struct asking *of, uint32_t level, double bend_penalty,
			      double *chances)
{
	double loss = 0;
	for (uint32_t fold = 0; fold < of->cross.folds.count; fold++) {
		double *own = of->chance_coefficients + fold * of->used_count;
		for (int step = 0; step < ITERATIONS; step++)
			if (improve(of, fold, level, bend_penalty, own) < 1e-3)
				break;
		set_chances(of, own, of->scores);
		for (size_t at = of->cross.folds.starts[fold];
		     at < of->cross.folds.starts[fold + 1]; at++) {
			chances[at] = of->scores[at];
			double observed = of->level[at] == level ? chances[at] : 1 - chances[at];
			loss -= log(fmax(observed, 1e-12));
		}
	}
	return loss;
}

/* Each level was found beside all others; together they are certain. */
static void make_certain(struct asking *of)
{
	size_t rows = of->cross.rows;
	for (size_t at = 0; at < rows; at++) {
		double sum = 0;
		for (uint32_t level = 0; level < of->levels; level++)
			sum += of->chances[level * rows + at];
		for (uint32_t level = 0; level < of->levels; level++)
			of->chances[level * rows + at] /= sum;
	}
}

static int find_chances(struct asking *of)
{
	size_t rows = of->cross.rows;
	bool has_bends = false;
	for (uint32_t feature = 0; feature < of->held; feature++)
		if (of->held <= CHANCE_MOST || of->features.kinds[feature] != SN_FEATURE_BEND) {
			of->used[of->used_count++] = feature;
			has_bends = has_bends || of->features.kinds[feature] == SN_FEATURE_BEND;
		}
	size_t width = of->used_count + 1, coefficients = of->used_count * of->cross.folds.count;
	of->weighted = malloc(width * rows * sizeof(double));
	of->products = malloc(width * width * sizeof(double));
	of->chance_coefficients = malloc(coefficients * sizeof(double));
	if (!of->weighted || !of->products || !of->chance_coefficients)
		return SN_ERR_MEMORY;
	for (uint32_t level = 0; level < of->levels; level++) {
		double least = INFINITY, *own = of->chances + level * rows;
		memset(of->chance_coefficients, 0, coefficients * sizeof(double));
		for (size_t place = 0; place < (has_bends ? BEND_PENALTIES : 1); place++) {
			double loss =
			    find_chances_of(of, level, bend_penalties[place], of->predicted);
			if (loss < least) {
				least = loss;
				memcpy(own, of->predicted, rows * sizeof(*own));
			}
		}
	}
	make_certain(of);
	return 0;
}

/* ---- levels ---- */

/* Whether there are enough rows and clusters of it, and whether each row could have it. */
static enum sn_effect_status judge(struct asking *of, uint32_t level,
				   struct sn_what_if_level *result)
{
	size_t low = 0, rows = of->cross.rows;
	uint32_t clusters = 0;
	for (uint32_t cluster = 0; cluster < of->cross.cluster_count; cluster++)
		of->cross.sums[cluster] = 0;
	result->smallest_chance = 1;
	for (size_t at = 0; at < rows; at++) {
		double chance = of->chances[level * rows + at];
		result->smallest_chance = fmin(result->smallest_chance, chance);
		low += chance < LEAST_CHANCE;
		if (of->level[at] == level) {
			result->rows++;
			clusters += of->cross.sums[of->cross.clusters[at]]++ == 0;
		}
	}
	if (result->rows < LEAST_ROWS || clusters < LEAST_CLUSTERS)
		return SN_EFFECT_FEW;
	/* a rare level has a low chance in all rows, and its own mean tells it if nothing is held */
	if (of->held > 1 && (double)low > LOW_CHANCES * (double)rows)
		return SN_EFFECT_NO_OVERLAP;
	return SN_EFFECT_FOUND;
}

static void estimate(struct asking *of, uint32_t level, struct sn_what_if_level *result)
{
	size_t rows = of->cross.rows;
	double count = (double)rows, mean = 0;
	for (uint32_t fold = 0; fold < of->cross.folds.count; fold++)
		for (size_t at = of->cross.folds.starts[fold];
		     at < of->cross.folds.starts[fold + 1]; at++) {
			double score = predict(of, fold, at, level);
			if (of->level[at] == level)
				score += (of->target[at] - score) /
					 fmax(of->chances[level * rows + at], LEAST_CHANCE);
			of->scores[at] = score;
			mean += score / count;
		}
	for (size_t at = 0; at < rows; at++)
		of->scores[at] -= mean;
	struct sn_estimate expected = sn_estimate_times(
	    sn_cross_fit_estimate(&of->cross, mean, of->scores, count), of->target_deviation);
	expected.value += of->target_mean;
	expected.low += of->target_mean;
	expected.high += of->target_mean;
	result->expected = expected;
	/* the target's mean is 0 */
	for (size_t at = 0; at < rows; at++)
		of->scores[at] -= of->target[at];
	result->change = sn_estimate_times(
	    sn_cross_fit_estimate(&of->cross, mean, of->scores, count), of->target_deviation);
}

static int answer(struct asking *of, struct sn_what_if_level *levels)
{
	const struct sn_effect_question *question = of->question;
	struct sn_ridge ridge;
	double squares;
	make_target(of);
	sn_features_add_all(&of->features, question->adjustment, question->adjustment_count,
			    of->cross.order, of->scores);
	of->held = of->features.count;
	of->lines = of->features.line_count < 20 ? of->features.line_count : 20;
	int result = find_chances(of);
	if (result)
		return result;
	add_levels(of);
	result = sn_ridge_init(&ridge, &of->features, &of->cross.folds, of->target);
	of->coefficients =
	    calloc((size_t)of->features.count * of->cross.folds.count, sizeof(*of->coefficients));
	result = of->coefficients ? result : SN_ERR_MEMORY;
	if (!result)
		sn_ridge_predict(&ridge, of->features.count, of->predicted, &squares,
				 of->coefficients);
	for (uint32_t level = 0; !result && level < of->levels; level++) {
		levels[level].status = judge(of, level, &levels[level]);
		if (levels[level].status == SN_EFFECT_FOUND)
			estimate(of, level, &levels[level]);
	}
	sn_ridge_release(&ridge);
	return result;
}

static int make_room(struct asking *of, struct sn_error *error)
{
	const struct sn_effect_question *question = of->question;
	size_t rows = question->rows;
	int result = sn_features_init(&of->features, question->adjustment,
				      question->adjustment_count, rows, of->levels * 21, error);
	if (result)
		return result;
	uint32_t room = of->features.room;
	of->level = malloc(rows * sizeof(uint32_t));
	of->target = malloc(rows * sizeof(double));
	of->chances = malloc(of->levels * rows * sizeof(double));
	of->scores = malloc(rows * sizeof(double));
	of->predicted = malloc(rows * sizeof(double));
	of->used = malloc(room * sizeof(uint32_t));
	of->gradient = malloc(room * sizeof(double));
	return of->level && of->target && of->chances && of->scores && of->predicted && of->used &&
		       of->gradient
		   ? 0
		   : sn_fail_memory(error);
}

static void release(struct asking *of)
{
	sn_cross_fit_release(&of->cross);
	sn_features_release(&of->features);
	free(of->level);
	free(of->target);
	free(of->coefficients);
	free(of->chances);
	free(of->scores);
	free(of->predicted);
	free(of->used);
	free(of->weighted);
	free(of->products);
	free(of->gradient);
	free(of->chance_coefficients);
}

int sn_what_if(struct sn_what_if_level *levels, const struct sn_effect_question *question,
	       struct sn_error *error)
{
	struct asking of = {.question = question, .levels = question->cause.levels};
	for (uint32_t level = 0; level < of.levels; level++)
		levels[level] = (struct sn_what_if_level){.status = SN_EFFECT_FEW,
							  .expected = sn_no_estimate,
							  .change = sn_no_estimate,
							  .smallest_chance = NAN};
	if (question->target.levels > 2)
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "a category of %u levels has no mean to be expected",
			       question->target.levels);
	if (of.levels < 2 || question->rows < LEAST_ROWS)
		return 0;
	int result = sn_fail_code(error, sn_cross_fit_init(&of.cross, question));
	if (!result && of.cross.cluster_count >= LEAST_CLUSTERS) {
		result = make_room(&of, error);
		result = result ? result : sn_fail_code(error, answer(&of, levels));
	}
	release(&of);
	return result;
}
