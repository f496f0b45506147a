/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regressions that predict rows from the other rows: rows are in folds, and a fold is predicted from the others. Coefficients are shrunk, those
 * of bends more than those of lines; by how much is what predicts best. All sizes share the products of columns, which are summed once a
 * fold.
 *
 * Source: Hoerl and Kennard, "Ridge regression: biased estimation for nonorthogonal problems", Technometrics 12 (1970).
 */
#pragma once

#include "basis.h"

#define SN_FOLDS_MOST 10u

struct sn_folds {
	uint32_t count;
	size_t starts[SN_FOLDS_MOST + 1]; /* of the rows, and behind the last one their number */
};

struct sn_ridge {
	const struct sn_features *features;
	const struct sn_folds *folds;
	const double *outcome;
	double *products;	       /* of each fold, then of all: features and the outcome */
	double *system, *coefficients; /* room for one regression */
};

/* 0 or SN_ERR_MEMORY; release it in either case. Features and outcome are used as long as it is. */
int sn_ridge_init(struct sn_ridge *ridge, const struct sn_features *features,
		  const struct sn_folds *folds, const double *outcome);
void sn_ridge_release(struct sn_ridge *ridge);

/* The predictions of all rows from the first `used` features; their sum of squared errors in *squares. The coefficients of each fold are in
 * coefficients[fold * used ..] unless that is NULL. */
void sn_ridge_predict(struct sn_ridge *ridge, uint32_t used, double *predictions, double *squares,
		      double *coefficients);

/* Solves (products + penalties) x = right for a symmetric matrix, which is overwritten by its factor. The penalties keep it definite. */
void sn_ridge_solve(double *matrix, uint32_t count, double *right);
