/* SPDX-License-Identifier: Apache-2.0 */
/* Effects that are curves; see curve.h. */
#include "curve.h"

#include "cross_fit.h"
#include "causal/normal.h"

#include "base/sort_by.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_ROWS     20u
#define LEAST_CLUSTERS 3u
#define BENDS_MOST     15u
#define BASIC_PARTS    3u
#define PARTS_MOST     (BENDS_MOST + BASIC_PARTS)
#define ROWS_A_BEND    40u
/* The part of a part's variance that must be left by what is held, and by the parts before. */
#define LEAST_LEFT     1e-6
#define LEVERAGE_MOST  0.9

SN_SORT_BY(sort_numbers, double, const void *, SN_ORDER(*a, *b));

struct bending {
	const struct sn_effect_question *question;
	struct sn_curve_change *change;
	double value;
	struct sn_cross_fit cross;
	struct sn_features held;
	double *scratch, *target;
	double *sorted; /* values of the cause */
	double *normal; /* of each place */
	double knots[BENDS_MOST];
	uint32_t parts;
	/* of the cause, in standard deviations, less their means, and then less what is held */
	double *columns;
	double at_value[PARTS_MOST]; /* what it would be, against its mean */
};

/* ---- the curve ---- */

/* The values in ascending order, and how many different ones there are. */
static uint32_t sort_values(struct bending *of)
{
	size_t rows = of->cross.rows;
	uint32_t different = 1;
	memcpy(of->sorted, of->question->cause.values, rows * sizeof(double));
	sort_numbers(of->sorted, rows, NULL);
	for (size_t row = 1; row < rows; row++)
		different += of->sorted[row] != of->sorted[row - 1];
	return different;
}

/* The first of the sorted values that is not below, or above, a value. */
static size_t first_from(const struct bending *of, double value, bool is_above)
{
	size_t low = 0, high = of->cross.rows;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (of->sorted[middle] < value || (is_above && of->sorted[middle] == value))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The normal quantile of the middle rank of those that have a value. */
static double normal_at(const struct bending *of, size_t first, size_t end)
{
	return sn_normal_quantile((double)(first + end) / 2 / (double)of->cross.rows);
}

/* A value as if values were normal numbers; between two of them along a line. */
static double as_normal(const struct bending *of, double value)
{
	size_t first = first_from(of, value, false), end = first_from(of, value, true);
	if (first < end || !first || end == of->cross.rows)
		return first < end ? normal_at(of, first, end)
				   : (first ? normal_at(of, of->cross.rows - 1, of->cross.rows)
					    : normal_at(of, 0, 1));
	double below = of->sorted[first - 1], above = of->sorted[end];
	double low = normal_at(of, first_from(of, below, false), first),
	       high = normal_at(of, end, first_from(of, above, true));
	return low + (high - low) * (value - below) / (above - below);
}

/*
 * The parts: the value, so that what is a line is one, and of the value as a normal number the line, the parabola, and one more from each knot on, which lie from -2 to 2 in equal
 * steps. Whatever is spread over decades bends as smoothly there as what is not. There is one less than there are different values, at most.
 */
static void choose_parts(struct bending *of)
{
	uint32_t different = sort_values(of);
	uint32_t bends = (uint32_t)(of->cross.cluster_count / ROWS_A_BEND);
	bends = bends > BENDS_MOST ? BENDS_MOST : bends;
	of->parts = BASIC_PARTS + bends;
	if (of->parts > different - 1)
		of->parts = different - 1;
	bends = of->parts > BASIC_PARTS ? of->parts - BASIC_PARTS : 0;
	for (uint32_t bend = 0; bend < bends; bend++)
		of->knots[bend] = bends > 1 ? -2 + 4 * (double)bend / (bends - 1) : 0;
}

static double part_of(const struct bending *of, uint32_t part, double value, double normal)
{
	double beyond =
	    part < BASIC_PARTS ? normal : fmax(0, normal - of->knots[part - BASIC_PARTS]);
	return !part ? value : part == 1 ? normal : beyond * beyond;
}

/* A part less its mean, in its own standard deviations, in a place among the columns. */
static void make_part(struct bending *of, uint32_t part, uint32_t place)
{
	double *values = of->columns + place * of->cross.rows;
	double mean = 0, squares = 0, rows = (double)of->cross.rows;
	for (size_t at = 0; at < of->cross.rows; at++) {
		values[at] = part_of(of, part, of->question->cause.values[of->cross.order[at]],
				     of->normal[at]);
		mean += values[at] / rows;
	}
	for (size_t at = 0; at < of->cross.rows; at++) {
		values[at] -= mean;
		squares += values[at] * values[at];
	}
	double deviation = sqrt(squares / rows);
	/* a knot beyond all values */
	deviation = deviation > 0 ? deviation : 1;
	for (size_t at = 0; at < of->cross.rows; at++)
		values[at] /= deviation;
	of->at_value[place] =
	    (part_of(of, part, of->value, as_normal(of, of->value)) - mean) / deviation;
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

/* What the parts before leave of a part, in its own standard deviations, and of what it would be; false where that is nothing: values are few, or the parts are one there. */
static bool make_apart(struct bending *of, uint32_t part)
{
	size_t rows = of->cross.rows;
	double *own = of->columns + part * rows, left = 0, before = 0;
	for (size_t at = 0; at < rows; at++)
		before += own[at] * own[at];
	for (uint32_t other = 0; other < part; other++) {
		const double *column = of->columns + other * rows;
		double product = 0;
		for (size_t at = 0; at < rows; at++)
			product += own[at] * column[at];
		for (size_t at = 0; at < rows; at++)
			own[at] -= product * column[at];
		of->at_value[part] -= product * of->at_value[other];
	}
	for (size_t at = 0; at < rows; at++)
		left += own[at] * own[at];
	if (!(left > LEAST_LEFT * before))
		return false;
	for (size_t at = 0; at < rows; at++)
		own[at] /= sqrt(left);
	of->at_value[part] /= sqrt(left);
	return true;
}

/* The sum of the parts at a place, each times its own number. */
static double combine(const struct bending *of, const double *numbers, size_t at)
{
	double sum = 0;
	for (uint32_t part = 0; part < of->parts; part++)
		sum += numbers[part] * of->columns[part * of->cross.rows + at];
	return sum;
}

/* How far the curve follows a row itself: what is left of it is too small by that much (HC3: MacKinnon and White, "Some heteroskedasticity-consistent covariance matrix estimators with
 * improved finite sample properties", Journal of Econometrics 29, 1985). The parts are orthonormal. */
static double leverage(const struct bending *of, size_t at)
{
	double sum = 1 / (double)of->cross.rows;
	for (uint32_t part = 0; part < of->parts; part++) {
		double own = of->columns[part * of->cross.rows + at];
		sum += own * own;
	}
	return fmin(sum, LEVERAGE_MOST);
}

static void find_change(struct bending *of)
{
	double slopes[PARTS_MOST], value = 0;
	size_t rows = of->cross.rows;
	for (uint32_t part = 0; part < of->parts; part++) {
		slopes[part] = 0;
		for (size_t at = 0; at < rows; at++)
			slopes[part] += of->columns[part * rows + at] * of->target[at];
		value += slopes[part] * of->at_value[part];
	}
	for (size_t at = 0; at < rows; at++)
		of->scratch[at] = combine(of, of->at_value, at) *
				  (of->target[at] - combine(of, slopes, at)) /
				  (1 - leverage(of, at));
	of->change->change = sn_cross_fit_estimate(&of->cross, value, of->scratch, 1);
	of->change->status = SN_EFFECT_FOUND;
}

static int bend(struct bending *of)
{
	size_t rows = of->cross.rows;
	double left = 1, mean = 0;
	sn_features_add_all(&of->held, of->question->adjustment, of->question->adjustment_count,
			    of->cross.order, of->scratch);
	choose_parts(of);
	for (size_t at = 0; at < rows; at++)
		of->normal[at] = as_normal(of, of->question->cause.values[of->cross.order[at]]);
	for (size_t at = 0; at < rows; at++) {
		of->target[at] = of->question->target.values[of->cross.order[at]];
		mean += of->target[at] / (double)rows;
	}
	for (size_t at = 0; at < rows; at++)
		of->target[at] -= mean;
	int result = take_held(of, of->target, &left);
	uint32_t wanted = of->parts;
	of->parts = 0;
	for (uint32_t part = 0; !result && part < wanted; part++) {
		make_part(of, part, of->parts);
		result = take_held(of, of->columns + of->parts * rows, &left);
		if (!part && left < LEAST_LEFT)
			of->change->status = SN_EFFECT_DETERMINED;
		of->parts += !result && make_apart(of, of->parts);
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
	of->sorted = malloc(question->rows * sizeof(double));
	of->normal = malloc(question->rows * sizeof(double));
	of->columns = malloc(PARTS_MOST * question->rows * sizeof(double));
	if (!of->scratch || !of->target || !of->columns || !of->sorted || !of->normal)
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
	free(of.sorted);
	free(of.normal);
	free(of.columns);
	return result;
}
