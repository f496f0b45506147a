/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scores of sets that differ by one parent; see gaussian_score.h.
 *
 * With one more: what the parents explain of all dimensions at once is a row of numbers for each of their dimensions, so that a candidate costs
 * as many operations as there are parents, and not their square. Without one: with the coefficients b of some columns, and their block P of the inverse
 * of all columns' products, a regression leaves b' P^-1 b more without them, so that all of these cost as much as one.
 */
#include "gaussian_score.h"

#include "base/error.h"
#include "base/vec.h"
#include "base/wide.h"
#include "causal/cholesky.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static uint32_t size_of(const struct sn_gaussian_score *score, uint32_t variable)
{
	return score->first[variable + 1] - score->first[variable];
}

static double product(const double *a, const double *b, size_t stride, uint32_t count)
{
	double sum = 0;
	for (uint32_t place = 0; place < count; place++)
		sum += a[place * stride] * b[place * stride];
	return sum;
}

SN_WIDE static void subtract(double *from, double part, const double *row, uint32_t count)
{
	for (uint32_t place = 0; place < count; place++)
		from[place] -= part * row[place];
}

SN_WIDE static void subtract_squares(double *from, const double *row, uint32_t count)
{
	for (uint32_t place = 0; place < count; place++)
		from[place] -= row[place] * row[place];
}

/* ---- with one more ---- */

/* What the chosen dimensions before this one leave of its covariances with all, over the root of its own: a row as of the factor. */
static void project_next(struct sn_gaussian_score *score, uint32_t row)
{
	struct sn_gaussian_rows *rows = &score->rows_of_all;
	uint32_t all = score->dimensions, dimension = rows->chosen[row];
	double *own = rows->items + (size_t)row * all;
	memcpy(own, score->correlations + (size_t)dimension * all, all * sizeof(*own));
	for (uint32_t before = 0; before < row; before++) {
		const double *other = rows->items + (size_t)before * all;
		subtract(own, other[dimension], other, all);
	}
	double left = own[dimension];
	double scale = left > SN_CHOLESKY_NOTHING ? 1 / sqrt(left) : 0;
	for (uint32_t place = 0; place < all; place++)
		own[place] *= scale;
}

/* The rows of all parents; those stay that are the same as before. 1 where there are too many. */
static int project(struct sn_gaussian_score *score, const uint32_t *parents, uint32_t count,
		   uint32_t *chosen)
{
	struct sn_gaussian_rows *rows = &score->rows_of_all;
	*chosen = 0;
	for (uint32_t parent = 0; parent < count; parent++)
		*chosen += size_of(score, parents[parent]);
	if (*chosen >= SN_GAUSSIAN_CHOSEN_MOST)
		return 1;
	if (sn_vec_reserve(&rows->chosen, &rows->chosen_capacity, *chosen + 1u) < 0 ||
	    sn_vec_reserve(&rows->items, &rows->item_capacity,
			   (size_t)*chosen * score->dimensions + 1) < 0)
		return SN_ERR_MEMORY;
	uint32_t place = 0;
	for (uint32_t parent = 0; parent < count; parent++)
		for (uint32_t dimension = score->first[parents[parent]];
		     dimension < score->first[parents[parent] + 1]; dimension++, place++) {
			if (place < rows->known && rows->chosen[place] != dimension)
				rows->known = place;
			rows->chosen[place] = dimension;
		}
	for (uint32_t row = rows->known; row < *chosen; row++)
		project_next(score, row);
	rows->known = *chosen;
	return 0;
}

/* What the parents leave of the variable's covariances with all, and of the variance of all. */
struct left_over {
	const struct sn_gaussian_score *score;
	uint32_t variable, parents; /* the latter: dimensions */
	double *with;		    /* a row for each dimension of the variable */
	double *variances;
	double *small; /* room for the covariances of two variables, and a factor of these */
	uint32_t *places;
	double penalty; /* of all pairs of the variable and the parents */
};

static int leave(struct left_over *left, uint32_t largest)
{
	const struct sn_gaussian_score *score = left->score;
	uint32_t all = score->dimensions, own = size_of(score, left->variable);
	size_t pair = (size_t)largest + own;
	left->with = malloc((own + 1) * (size_t)all * sizeof(double) + 1);
	left->small = malloc((pair * pair + pair * (pair + 1) / 2) * sizeof(double) + 1);
	left->places = malloc((pair + 1) * sizeof(*left->places));
	if (!left->with || !left->small || !left->places)
		return SN_ERR_MEMORY;
	left->variances = left->with + (size_t)own * all;
	for (uint32_t place = 0; place < pair; place++)
		left->places[place] = place;
	for (uint32_t dimension = 0; dimension < all; dimension++)
		left->variances[dimension] =
		    score->correlations[(size_t)dimension * all + dimension];
	for (uint32_t place = 0; place < own; place++)
		memcpy(left->with + (size_t)place * all,
		       score->correlations + (size_t)(score->first[left->variable] + place) * all,
		       all * sizeof(double));
	for (uint32_t parent = 0; parent < left->parents; parent++) {
		const double *row = score->rows_of_all.items + (size_t)parent * all;
		subtract_squares(left->variances, row, all);
		for (uint32_t place = 0; place < own; place++)
			subtract(left->with + (size_t)place * all,
				 row[score->first[left->variable] + place], row, all);
	}
	return 0;
}

/* The logarithm of the determinant of what a candidate leaves of the variable, where either has several dimensions. */
static double logarithm_with(const struct left_over *left, uint32_t added)
{
	const struct sn_gaussian_score *score = left->score;
	uint32_t all = score->dimensions, others = size_of(score, added),
		 own = size_of(score, left->variable), pair = others + own;
	uint32_t first = score->first[added], own_first = score->first[left->variable];
	const double *rows = score->rows_of_all.items;
	double sum = 0;
	for (uint32_t a = 0; a < pair; a++)
		for (uint32_t b = 0; b <= a; b++) {
			double value;
			if (a >= others)
				value =
				    left->with[(size_t)(a - others) * all +
					       (b < others ? first + b : own_first + b - others)];
			else
				value = a == b ? left->variances[first + a]
					       : score->correlations[(size_t)(first + a) * all +
								     first + b] -
						     product(rows + first + a, rows + first + b,
							     all, left->parents);
			left->small[(size_t)a * pair + b] = left->small[(size_t)b * pair + a] =
			    value;
		}
	const struct sn_cholesky cholesky = {left->small, pair, left->places,
					     left->small + (size_t)pair * pair};
	for (uint32_t row = 0; row < pair; row++) {
		double of_row = sn_cholesky_add(&cholesky, row);
		sum += row < others ? 0 : log(of_row);
	}
	return sum;
}

static double score_with(const struct left_over *left, uint32_t added)
{
	const struct sn_gaussian_score *score = left->score;
	uint32_t others = size_of(score, added), own = size_of(score, left->variable);
	double rows = (double)score->rows, logarithm;
	if (left->parents + others + own > SN_GAUSSIAN_CHOSEN_MOST)
		return -INFINITY;
	if (others == 1 && own == 1) {
		double with = left->with[score->first[added]],
		       of_added = left->variances[score->first[added]],
		       of_own = left->variances[score->first[left->variable]];
		double explained = of_added > SN_CHOLESKY_NOTHING ? with * with / of_added : 0;
		logarithm = log(fmax(of_own - explained, SN_CHOLESKY_NOTHING));
	} else {
		logarithm = logarithm_with(left, added);
	}
	double penalty = left->penalty;
	for (uint32_t dimension = score->first[added]; dimension < score->first[added + 1];
	     dimension++)
		penalty += sn_gaussian_penalty(score, &dimension, 1, left->variable);
	return -rows / 2 * logarithm - penalty;
}

int sn_gaussian_score_with_each(void *context, uint32_t variable, const uint32_t *parents,
				uint32_t count, const uint32_t *added, uint32_t added_count,
				double *scores)
{
	struct sn_gaussian_score *score = context;
	struct left_over left = {.score = score, .variable = variable};
	uint32_t largest = 0;
	for (uint32_t place = 0; place < added_count; place++) {
		uint32_t size = size_of(score, added[place]);
		largest = size > largest ? size : largest;
		scores[place] = -INFINITY;
	}
	int result = project(score, parents, count, &left.parents);
	if (result)
		return result < 0 ? result : 0;
	left.penalty =
	    sn_gaussian_penalty(score, score->rows_of_all.chosen, left.parents, variable);
	result = leave(&left, largest);
	for (uint32_t place = 0; !result && place < added_count; place++)
		scores[place] = score_with(&left, added[place]);
	free(left.with);
	free(left.small);
	free(left.places);
	return result;
}

/* ---- without one ---- */

/* The inverse of the parents' part of the factor, as a packed triangle. */
static void invert(const double *factor, uint32_t count, double *inverse)
{
	for (uint32_t column = 0; column < count; column++)
		for (uint32_t row = column; row < count; row++) {
			double sum = row == column;
			for (uint32_t before = column; before < row; before++)
				sum -= factor[sn_cholesky_at(row, before)] *
				       inverse[sn_cholesky_at(before, column)];
			inverse[sn_cholesky_at(row, column)] =
			    sum * factor[sn_cholesky_at(row, row)];
		}
}

struct leaving_out {
	const struct sn_gaussian_score *score;
	uint32_t parents, own; /* dimensions */
	double *inverse;       /* of the factor of the parents */
	double *small, *factor, *weights;
	uint32_t *places;
};

/* Of the inverse of the parents' products. */
static double inverse_at(const struct leaving_out *out, uint32_t a, uint32_t b)
{
	double sum = 0;
	for (uint32_t row = a > b ? a : b; row < out->parents; row++)
		sum += out->inverse[sn_cholesky_at(row, a)] * out->inverse[sn_cholesky_at(row, b)];
	return sum;
}

/* Of a parent's dimension, in the regression of a dimension of the variable on all. */
static double coefficient(const struct leaving_out *out, uint32_t parent, uint32_t own)
{
	const double *row = out->score->factor + sn_cholesky_at(out->parents + own, 0);
	double sum = 0;
	for (uint32_t place = parent; place < out->parents; place++)
		sum += out->inverse[sn_cholesky_at(place, parent)] * row[place];
	return sum;
}

/* What all parents leave between two dimensions of the variable. */
static double left_between(const struct leaving_out *out, uint32_t a, uint32_t b)
{
	uint32_t until = a < b ? a : b;
	const double *of_a = out->score->factor + sn_cholesky_at(out->parents + a, out->parents);
	const double *of_b = out->score->factor + sn_cholesky_at(out->parents + b, out->parents);
	/* the diagonal has reciprocals */
	double last = (a == until ? 1 / of_a[until] : of_a[until]) *
		      (b == until ? 1 / of_b[until] : of_b[until]);
	return product(of_a, of_b, 1, until) + last;
}

/* The logarithm of the determinant of what is left of the variable without the dimensions from `first` to `end` of the parents. */
static double logarithm_without(const struct leaving_out *out, uint32_t first, uint32_t end)
{
	uint32_t size = end - first, own = out->own;
	double sum = 0;
	for (uint32_t a = 0; a < size; a++)
		for (uint32_t b = 0; b < size; b++)
			out->small[(size_t)a * size + b] = inverse_at(out, first + a, first + b);
	const struct sn_cholesky of_parent = {out->small, size, out->places, out->factor};
	for (uint32_t row = 0; row < size; row++)
		sn_cholesky_add(&of_parent, row);
	/* the coefficients by the factor of the inverse */
	for (uint32_t place = 0; place < own; place++)
		for (uint32_t row = 0; row < size; row++) {
			double *weights = out->weights + (size_t)place * size;
			double value = coefficient(out, first + row, place);
			value -= product(out->factor + sn_cholesky_at(row, 0), weights, 1, row);
			weights[row] = value * out->factor[sn_cholesky_at(row, row)];
		}
	for (uint32_t a = 0; a < own; a++)
		for (uint32_t b = 0; b <= a; b++)
			out->small[(size_t)a * own + b] = out->small[(size_t)b * own + a] =
			    left_between(out, a, b) + product(out->weights + (size_t)a * size,
							      out->weights + (size_t)b * size, 1,
							      size);
	const struct sn_cholesky of_own = {out->small, own, out->places, out->factor};
	for (uint32_t row = 0; row < own; row++)
		sum += log(sn_cholesky_add(&of_own, row));
	return sum;
}

static int make_room(struct leaving_out *out, uint32_t largest)
{
	uint32_t side = largest > out->own ? largest : out->own;
	size_t square = (size_t)side * side, triangle = (size_t)side * (side + 1) / 2;
	size_t inverse = (size_t)out->parents * (out->parents + 1) / 2;
	out->inverse =
	    malloc((inverse + square + triangle + (size_t)largest * out->own + 1) * sizeof(double));
	out->places = malloc((side + 1u) * sizeof(*out->places));
	if (!out->inverse || !out->places)
		return SN_ERR_MEMORY;
	out->small = out->inverse + inverse;
	out->factor = out->small + square;
	out->weights = out->factor + triangle;
	for (uint32_t place = 0; place < side; place++)
		out->places[place] = place;
	return 0;
}

/* Where some dimension is determined by others there is no inverse. */
static bool has_inverse(const struct sn_gaussian_score *score, uint32_t all)
{
	for (uint32_t row = 0; row < all; row++)
		if (!(score->factor[sn_cholesky_at(row, row)] > 0))
			return false;
	return true;
}

/* One set after another. */
static void ask_each(struct sn_gaussian_score *score, uint32_t variable, const uint32_t *parents,
		     uint32_t count, uint32_t *others, double *scores)
{
	for (uint32_t place = 0; place < count; place++) {
		memcpy(others, parents, place * sizeof(*others));
		memcpy(others + place, parents + place + 1, (count - place - 1) * sizeof(*others));
		scores[place] = sn_gaussian_score_of(score, variable, others, count - 1);
	}
}

int sn_gaussian_score_without_each(void *context, uint32_t variable, const uint32_t *parents,
				   uint32_t count, double *scores)
{
	struct sn_gaussian_score *score = context;
	struct leaving_out out = {.score = score, .own = size_of(score, variable)};
	uint32_t largest = 0, first = 0, *others = malloc((count + 1) * sizeof(*others));
	double rows = (double)score->rows;
	for (uint32_t place = 0; place < count; place++) {
		uint32_t size = size_of(score, parents[place]);
		largest = size > largest ? size : largest;
		out.parents += size;
	}
	int result = others ? make_room(&out, largest) : SN_ERR_MEMORY;
	/* all of them, for the factor */
	bool is_known = !result && !isinf(sn_gaussian_score_of(score, variable, parents, count)) &&
			has_inverse(score, out.parents + out.own);
	if (!result && !is_known)
		ask_each(score, variable, parents, count, others, scores);
	if (is_known)
		invert(score->factor, out.parents, out.inverse);
	double all =
	    is_known ? sn_gaussian_penalty(score, score->chosen, out.parents, variable) : 0;
	for (uint32_t place = 0; is_known && place < count; place++) {
		uint32_t end = first + size_of(score, parents[place]);
		double own =
		    sn_gaussian_penalty(score, score->chosen + first, end - first, variable);
		scores[place] = -rows / 2 * logarithm_without(&out, first, end) - (all - own);
		first = end;
	}
	free(others);
	free(out.inverse);
	free(out.places);
	return result;
}
