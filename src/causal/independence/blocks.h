/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test of numbers and categories together, each variable a block of dimensions (see search/gaussian_score.h): with n rows, p and q dimensions of
 * a and b, and s held, the likelihood ratio L of a linear model without b's effect to one with it gives about a chi-square number
 * of p q degrees, -(n - 1 - s - (p + q + 1) / 2) log L.
 *
 * Sources: the degenerate Gaussian of Andrews, Ramsey and Cooper, "Learning high-dimensional directed acyclic graphs with mixed data-types"
 * (2019); the factor is Bartlett's, "Further aspects of the theory of multiple regression" (1938), without which few rows give too
 * many dependences. Dimensions that others determine are not counted; where nothing is left of a or b, nothing is tested.
 * The numbers of strata (causal/rows/strata.h) and their degrees add up; variables that vary in none together are independent.
 */
#pragma once

#include "independence.h"

struct sn_blocks {
	uint32_t dimensions;
	const double *correlations; /* dimensions x dimensions */
	const uint32_t
	    *first; /* dimension of each variable, and behind the last one `dimensions` */
	size_t rows;
	double *factor; /* room for a triangle */
	uint32_t *chosen;
	struct sn_blocks *also; /* of the same variables in another stratum, or NULL */
	const double *
	    dependence; /* by whose mean over a and b the rows are divided, dimensions x dimensions; NULL: 1 */
};

/* Of one stratum. The arrays must live as long. 0 or SN_ERR_MEMORY; release it in either case. */
int sn_blocks_init(struct sn_blocks *blocks, const double *correlations, const uint32_t *first,
		   uint32_t variables, size_t rows);
void sn_blocks_release(struct sn_blocks *blocks);
struct sn_independence sn_blocks_test(struct sn_blocks *blocks);
