/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The score of numbers, and of numbers and categories together: the Bayesian information criterion of a linear model. A numeric variable is
 * one dimension; a category of n levels is n - 1, which are 1 where it has that level (degenerate Gaussian: Andrews, Ramsey and
 * Cooper, "Learning high-dimensional directed acyclic graphs with mixed data-types", 2019, section 3).
 */
#pragma once

#include "score.h"

#include <stdbool.h>
#include <stddef.h>

/* Dimensions of a variable and its causes, so that a triangle stays small. */
#define SN_GAUSSIAN_CHOSEN_MOST 512u

/* Of parents, for all dimensions at once: rows as the factor has them for those that were chosen. */
struct sn_gaussian_rows {
	uint32_t *chosen, known; /* dimensions, and how many of these have their row */
	double *items;		 /* known x dimensions */
	size_t chosen_capacity, item_capacity;
};

struct sn_gaussian_score {
	uint32_t dimensions;
	const double *correlations; /* dimensions x dimensions */
	const uint32_t
	    *first; /* dimension of each variable, and behind the last one `dimensions` */
	size_t rows;
	double penalty; /* of each pair of a dimension of a cause and one of its effect */
	/* The same of a pair whose dimensions are both marked; NULL: none is. */
	double penalty_marked;
	const bool *is_marked;
	const double *
	    dependence; /* by which that of each pair is multiplied, dimensions x dimensions; NULL: 1 */
	/* Of the last parents: their dimensions, how many of these have their row of the factor, and that. */
	uint32_t *chosen, known;
	double *factor;
	struct sn_gaussian_rows rows_of_all; /* of those of gaussian_each.c */
};

/* With half the logarithm of the rows as penalty. The arrays must live as long. 0 or SN_ERR_MEMORY; release it in either case. */
int sn_gaussian_score_init(struct sn_gaussian_score *score, const double *correlations,
			   const uint32_t *first, uint32_t variables, size_t rows);
void sn_gaussian_score_release(struct sn_gaussian_score *score);
/* Of a variable and the dimensions of its causes. */
double sn_gaussian_penalty(const struct sn_gaussian_score *score, const uint32_t *causes,
			   uint32_t count, uint32_t variable);
/* For sn_score: `of` is this function, `context` the score. */
double sn_gaussian_score_of(void *score, uint32_t variable, const uint32_t *parents,
			    uint32_t count);
/* gaussian_each.c: `with_each` and `without_each`, but for rounding the same as one after the other. */
int sn_gaussian_score_with_each(void *score, uint32_t variable, const uint32_t *parents,
				uint32_t count, const uint32_t *added, uint32_t added_count,
				double *scores);
int sn_gaussian_score_without_each(void *score, uint32_t variable, const uint32_t *parents,
				   uint32_t count, double *scores);
