/* SPDX-License-Identifier: Apache-2.0 */
/* Effects that are curves; see curve.h. */
#include "curve.h"

#include "cross_fit.h"

#include "base/sort_by.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_ROWS     20u
#define LEAST_CLUSTERS 3u
#define BENDS_MOST     15u
#define PARTS_MOST     (BENDS_MOST + 2)
#define ROWS_A_BEND    40u
/* The part of a part's variance that must be left by what is held, or else it is determined; and what keeps the regression solvable. */
#define LEAST_LEFT     1e-6
#define PENALTY	       1e-9

SN_SORT_BY(sort_numbers, double, const void *, SN_ORDER(*a, *b));

struct bending {
	const struct sn_effect_question *question;
	struct sn_curve_change *change;
	double value;
	struct sn_cross_fit cross;
	struct sn_features held;
	double *scratch, *target;
	/* of the cause: the line, the parabola, then one more from each knot on; of each place, in standard deviations, less its mean, and then less what is held */
	double middle, knots[BENDS_MOST];
	uint32_t parts;
	double *columns;
	double at_value[PARTS_MOST]; /* what it would be, against its mean */
};

/* ---- the curve ---- */

/* A spline of the second degree, with knots where bends of basis.c are: as if the values were normal numbers, from -2 to 2 in equal steps. */
static void place_knots(struct bending *of)
{
	size_t rows = of->cross.rows;
	uint32_t bends = (uint32_t)(of->cross.cluster_count / ROWS_A_BEND), knots = 0;
	bends = bends < 1 ? 1 : bends > BENDS_MOST ? BENDS_MOST : bends;
	memcpy(of->scratch, of->question->cause.values, rows * sizeof(double));
	sort_numbers(of->scratch, rows, NULL);
	double before = of->scratch[0], last = of->scratch[rows - 1];
	for (uint32_t bend = 0; bend < bends; bend++) {
		double normal = bends > 1 ? -2 + 4 * (double)bend / (bends - 1) : 0;
		double knot = of->scratch[(size_t)((double)rows * erfc(-normal / sqrt(2)) / 2)];
		if (knot > before && knot < last)
			of->knots[knots++] = before = knot;
	}
	of->middle = of->scratch[rows / 2];
	of->parts = knots + 2;
}

static double part_of(const struct bending *of, uint32_t part, double value)
{
	double beyond = !part	    ? value
			: part == 1 ? value - of->middle
				    : fmax(0, value - of->knots[part - 2]);
	return part ? beyond * beyond : value;
}

/* A part less its mean, in its own standard deviations. */
static void make_part(struct bending *of, uint32_t part, double *values)
{
	double mean = 0, squares = 0, rows = (double)of->cross.rows;
	for (size_t at = 0; at < of->cross.rows; at++) {
		values[at] = part_of(of, part, of->question->cause.values[of->cross.order[at]]);
		mean += values[at] / rows;
	}
	for (size_t at = 0; at < of->cross.rows; at++) {
		values[at] -= mean;
		squares += values[at] * values[at];
	}
	double deviation = sqrt(squares / rows);
	for (size_t at = 0; at < of->cross.rows; at++)
		values[at] /= deviation;
	of->at_value[part] = (part_of(of, part, of->value) - mean) / deviation;
}

/* What those that are held leave of a column, in its place; the part of its variance that is. */
static int take_held(struct bending *of, double *values, double *left)
{
	struct sn_ridge ridge;
	double squares, before = 0;
	int result = sn_ridge_init(&ridge, &of->held, &of->cross.folds, values);
	for (size_t at = 0; at < of->cross.rows; at++)
		before += values[at] * values[at];
	if (!result) {
		sn_ridge_predict(&ridge, of->held.count, of->scratch, &squares, NULL);
		for (size_t at = 0; at < of->cross.rows; at++)
			values[at] -= of->scratch[at];
		*left = squares / before;
	}
	sn_ridge_release(&ridge);
	return result;
}

/* ---- the change ---- */

/* Solves for `right` and for what is asked at once: products of parts, which are overwritten. */
static void solve(const struct bending *of, double *right)
{
	double products[PARTS_MOST * PARTS_MOST];
	size_t rows = of->cross.rows;
	for (uint32_t a = 0; a < of->parts; a++)
		for (uint32_t b = 0; b < of->parts; b++) {
			double sum = a == b ? PENALTY * (double)rows : 0;
			for (size_t at = 0; at < rows; at++)
				sum += of->columns[a * rows + at] * of->columns[b * rows + at];
			products[a * of->parts + b] = sum;
		}
	sn_ridge_solve(products, of->parts, right);
}

/* The sum of the parts at a place, each times its own number. */
static double combine(const struct bending *of, const double *numbers, size_t at)
{
	double sum = 0;
	for (uint32_t part = 0; part < of->parts; part++)
		sum += numbers[part] * of->columns[part * of->cross.rows + at];
	return sum;
}

static void find_change(struct bending *of)
{
	double slopes[PARTS_MOST], weights[PARTS_MOST], value = 0;
	size_t rows = of->cross.rows;
	for (uint32_t part = 0; part < of->parts; part++) {
		slopes[part] = 0;
		for (size_t at = 0; at < rows; at++)
			slopes[part] += of->columns[part * rows + at] * of->target[at];
		weights[part] = of->at_value[part];
	}
	solve(of, slopes);
	solve(of, weights);
	for (uint32_t part = 0; part < of->parts; part++)
		value += slopes[part] * of->at_value[part];
	for (size_t at = 0; at < rows; at++)
		of->scratch[at] =
		    combine(of, weights, at) * (of->target[at] - combine(of, slopes, at));
	of->change->change = sn_cross_fit_estimate(&of->cross, value, of->scratch, 1);
	of->change->status = SN_EFFECT_FOUND;
}

static int bend(struct bending *of)
{
	size_t rows = of->cross.rows;
	double left = 1, mean = 0;
	sn_features_add_all(&of->held, of->question->adjustment, of->question->adjustment_count,
			    of->cross.order, of->scratch);
	place_knots(of);
	for (size_t at = 0; at < rows; at++) {
		of->target[at] = of->question->target.values[of->cross.order[at]];
		mean += of->target[at] / (double)rows;
	}
	for (size_t at = 0; at < rows; at++)
		of->target[at] -= mean;
	int result = take_held(of, of->target, &left);
	for (uint32_t part = 0; !result && part < of->parts; part++) {
		make_part(of, part, of->columns + part * rows);
		result = take_held(of, of->columns + part * rows, &left);
		of->change->status =
		    !part && left < LEAST_LEFT ? SN_EFFECT_DETERMINED : of->change->status;
	}
	if (!result && of->change->status != SN_EFFECT_DETERMINED)
		find_change(of);
	return result;
}

static int make_room(struct bending *of, struct sn_error *error)
{
	const struct sn_effect_question *question = of->question;
	of->scratch = malloc(question->rows * sizeof(double));
	of->target = malloc(question->rows * sizeof(double));
	of->columns = malloc(PARTS_MOST * question->rows * sizeof(double));
	if (!of->scratch || !of->target || !of->columns)
		return sn_fail_memory(error);
	return sn_features_init(&of->held, question->adjustment, question->adjustment_count,
				question->rows, 0, error);
}

static bool find_range(struct bending *of)
{
	const double *values = of->question->cause.values;
	of->change->cause_low = of->change->cause_high = values[0];
	for (size_t row = 1; row < of->question->rows; row++) {
		of->change->cause_low = fmin(of->change->cause_low, values[row]);
		of->change->cause_high = fmax(of->change->cause_high, values[row]);
	}
	return of->change->cause_low < of->change->cause_high;
}

int sn_curve_change(struct sn_curve_change *change, const struct sn_effect_question *question,
		    double value, struct sn_error *error)
{
	struct bending of = {.question = question, .change = change, .value = value};
	*change = (struct sn_curve_change){.status = SN_EFFECT_FEW, .change = sn_no_estimate};
	if (question->rows < LEAST_ROWS)
		return 0;
	if (!find_range(&of)) {
		change->status = SN_EFFECT_CONSTANT;
		return 0;
	}
	int result = sn_fail_code(error, sn_cross_fit_init(&of.cross, question));
	if (!result && of.cross.cluster_count >= LEAST_CLUSTERS) {
		result = make_room(&of, error);
		result = result ? result : sn_fail_code(error, bend(&of));
	}
	sn_cross_fit_release(&of.cross);
	sn_features_release(&of.held);
	free(of.scratch);
	free(of.target);
	free(of.columns);
	return result;
}
