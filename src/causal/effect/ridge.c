/* SPDX-License-Identifier: Apache-2.0 */
/* Cross-fitted ridge regression; see ridge.h. */
#include "ridge.h"

#include "base/wide.h"
#include "causal/products.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Of the rows, added to a feature's variance of 1. */
struct penalty {
	double line, bend;
};

static const struct penalty penalties[] = {
    {1e-6, 1e-5},
    {1e-6, 1e-4},
    {1e-6, 1e-3},
    {1e-6, 1e-2},
    {1e-6, 1e-1},
    {1e-6, 1e1},
    /* where there are many lines for the rows */
    {1e-2, 1e-2},
    {1e-2, 1e-1},
    {1e-2, 1e1},
    {1e-1, 1e-1},
    {1e-1, 1e1},
    {1, 1},
    {1e1, 1e1},
};
#define FEW_PENALTIES 6u
/* What is shrunk is biased, and the errors of two predictions multiply: so the smallest penalty is taken whose error is that near to the
 * least. */
#define TOLERATED     1.01
#define ALL_PENALTIES (sizeof(penalties) / sizeof(*penalties))

static size_t width_of(const struct sn_ridge *ridge)
{
	return ridge->features->count + 1;
}

/* The products of the rows of a fold, each column's part being where the fold begins. */
static void sum_fold(struct sn_ridge *ridge, uint32_t fold, double *columns)
{
	size_t rows = ridge->features->rows, width = width_of(ridge);
	size_t first = ridge->folds->starts[fold], count = ridge->folds->starts[fold + 1] - first;
	for (size_t column = 0; column + 1 < width; column++)
		memcpy(columns + column * count, ridge->features->columns + column * rows + first,
		       count * sizeof(double));
	memcpy(columns + (width - 1) * count, ridge->outcome + first, count * sizeof(double));
	sn_products(columns, count, (uint32_t)width, count, ridge->products + fold * width * width);
}

int sn_ridge_init(struct sn_ridge *ridge, const struct sn_features *features,
		  const struct sn_folds *folds, const double *outcome)
{
	*ridge = (struct sn_ridge){.features = features, .folds = folds, .outcome = outcome};
	size_t width = width_of(ridge), cells = width * width, most = 0;
	for (uint32_t fold = 0; fold < folds->count; fold++)
		if (most < folds->starts[fold + 1] - folds->starts[fold])
			most = folds->starts[fold + 1] - folds->starts[fold];
	ridge->products = calloc((folds->count + 1) * cells, sizeof(double));
	ridge->system = malloc(cells * sizeof(double));
	ridge->coefficients = malloc(folds->count * width * sizeof(double));
	double *columns = malloc(width * most * sizeof(double) + 1);
	int result =
	    ridge->products && ridge->system && ridge->coefficients && columns ? 0 : SN_ERR_MEMORY;
	for (uint32_t fold = 0; !result && fold < folds->count; fold++) {
		sum_fold(ridge, fold, columns);
		for (size_t cell = 0; cell < cells; cell++)
			ridge->products[folds->count * cells + cell] +=
			    ridge->products[fold * cells + cell];
	}
	free(columns);
	return result;
}

void sn_ridge_release(struct sn_ridge *ridge)
{
	free(ridge->products);
	free(ridge->system);
	free(ridge->coefficients);
	*ridge = (struct sn_ridge){0};
}

/* `later` less what is in line with the column. */
SN_WIDE static void reduce(double *later, const double *column, double factor, uint32_t count)
{
	for (uint32_t place = 0; place < count; place++)
		later[place] -= factor * column[place];
}

/* By columns of the lower triangle, which are rows of a symmetric matrix's upper one: each is eliminated from those after it. */
void sn_ridge_solve(double *matrix, uint32_t count, double *right)
{
	for (uint32_t own = 0; own < count; own++) {
		double *row = matrix + (size_t)own * count;
		for (uint32_t later = own + 1; later < count; later++) {
			double factor = row[later] / row[own];
			if (factor == 0)
				continue;
			reduce(matrix + (size_t)later * count + later, row + later, factor,
			       count - later);
			right[later] -= factor * right[own];
		}
	}
	for (uint32_t own = count; own-- > 0;) {
		const double *row = matrix + (size_t)own * count;
		for (uint32_t later = own + 1; later < count; later++)
			right[own] -= row[later] * right[later];
		right[own] /= row[own];
	}
}

/* The coefficients of the rows outside a fold. */
static void fit(const struct sn_ridge *ridge, uint32_t fold, uint32_t used,
		const struct penalty *penalty, double *coefficients)
{
	size_t width = width_of(ridge), cells = width * width;
	const double *of_fold = ridge->products + fold * cells,
		     *of_all = ridge->products + ridge->folds->count * cells;
	double rows = of_all[0] - of_fold[0];
	for (uint32_t a = 0; a < used; a++) {
		const double *all = of_all + a * width, *own = of_fold + a * width;
		double *row = ridge->system + (size_t)a * used;
		enum sn_feature_kind kind = ridge->features->kinds[a];
		for (uint32_t b = a; b < used; b++)
			row[b] = all[b] - own[b];
		if (kind != SN_FEATURE_CONSTANT)
			row[a] += rows * (kind == SN_FEATURE_LINE ? penalty->line : penalty->bend);
		coefficients[a] = all[width - 1] - own[width - 1];
	}
	sn_ridge_solve(ridge->system, used, coefficients);
}

/* The sum of squared errors in a fold, by the products alone. */
static double error_of(const struct sn_ridge *ridge, uint32_t fold, uint32_t used,
		       const double *coefficients)
{
	size_t width = width_of(ridge);
	const double *of_fold = ridge->products + fold * width * width;
	double sum = of_fold[width * width - 1];
	for (uint32_t a = 0; a < used; a++) {
		const double *row = of_fold + a * width;
		double product = -2 * row[width - 1];
		for (uint32_t b = 0; b < used; b++)
			product += row[b] * coefficients[b];
		sum += coefficients[a] * product;
	}
	return sum;
}

static const struct penalty *choose_penalty(const struct sn_ridge *ridge, uint32_t used)
{
	const struct sn_features *features = ridge->features;
	uint32_t lines = 0, bends = 0;
	double sums[ALL_PENALTIES], least = INFINITY;
	for (uint32_t feature = 0; feature < used; feature++) {
		lines += features->kinds[feature] == SN_FEATURE_LINE;
		bends += features->kinds[feature] == SN_FEATURE_BEND;
	}
	bool is_few = (uint64_t)lines * 20 <= features->rows;
	if (is_few && !bends)
		return &penalties[0];
	for (size_t place = 0; place < (is_few ? FEW_PENALTIES : ALL_PENALTIES); place++) {
		sums[place] = 0;
		for (uint32_t fold = 0; fold < ridge->folds->count; fold++) {
			fit(ridge, fold, used, &penalties[place], ridge->coefficients);
			sums[place] += error_of(ridge, fold, used, ridge->coefficients);
		}
		least = fmin(least, sums[place]);
	}
	/* NAN where a sum is: the last one is taken */
	const struct penalty *chosen = penalties;
	for (size_t place = 0; !(sums[place] <= TOLERATED * least) && place + 1 < ALL_PENALTIES;
	     place++)
		chosen = &penalties[place + 1];
	return chosen;
}

void sn_ridge_predict(struct sn_ridge *ridge, uint32_t used, double *predictions, double *squares,
		      double *coefficients)
{
	const struct sn_features *features = ridge->features;
	const struct penalty *penalty = choose_penalty(ridge, used);
	*squares = 0;
	memset(predictions, 0, features->rows * sizeof(*predictions));
	for (uint32_t fold = 0; fold < ridge->folds->count; fold++) {
		size_t first = ridge->folds->starts[fold], end = ridge->folds->starts[fold + 1];
		double *own =
		    coefficients ? coefficients + (size_t)fold * used : ridge->coefficients;
		fit(ridge, fold, used, penalty, own);
		for (uint32_t feature = 0; feature < used; feature++)
			reduce(predictions + first,
			       features->columns + feature * features->rows + first, -own[feature],
			       (uint32_t)(end - first));
		for (size_t row = first; row < end; row++)
			*squares += (ridge->outcome[row] - predictions[row]) *
				    (ridge->outcome[row] - predictions[row]);
	}
}
