/* SPDX-License-Identifier: Apache-2.0 */
/* Correlations of columns, of all rows or of a sample of them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sn_error;

/* Loads OpenBLAS, which the others need. 0 or SN_ERR_UNSUPPORTED. MT: yes. */
int sn_correlations_load(struct sn_error *error);

/*
 * `values` has `rows` numbers for each of `dimensions`, with mean 0 and sum of squares 1 over all rows; `times`: how often each row counts, or
 * NULL: once. Writes dimensions x dimensions correlations; one of what is constant is 0. 0 or SN_ERR_MEMORY. MT: yes.
 */
int sn_correlations(const double *values, uint32_t dimensions, size_t rows, const uint32_t *times,
		    double *correlations);

/* The values of a sample of the rows, with mean 0 and sum of squares 1 over the sample, or 0 where constant: the rows that are in it, each by the root of
 * how often it is, *sampled_rows for each dimension. The caller's to free; NULL without memory. MT: yes. */
double *sn_correlations_sample(const double *values, uint32_t dimensions, size_t rows,
			       const uint32_t *times, size_t *sampled_rows);

/* Of each of `count` chosen dimensions its correlations with all: count x dimensions. Values as above. 0 or SN_ERR_MEMORY. MT: yes. */
int sn_correlations_with(const double *values, uint32_t dimensions, size_t rows,
			 const uint32_t *chosen, uint32_t count, double *correlations);

struct sn_correlated_pair {
	uint32_t a, b; /* a < b */
	double correlation;
};

/* The pairs of dimensions whose correlation over all rows is above `least` or below -`least`, by `a`, then `b`; values as above. *pairs is the
 * caller's to free. 0 or SN_ERR_MEMORY. MT: yes. */
int sn_correlated_pairs(const double *values, uint32_t dimensions, size_t rows, double least,
			struct sn_correlated_pair **pairs, size_t *count);
