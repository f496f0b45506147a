/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test of numbers: Fisher's z of a partial correlation r with k variables held in n rows, sqrt(n - k - 3) atanh r, is about standard
 * normal where there is none (Fisher, "The distribution of the partial correlation coefficient", 1924). causal-learn and pcalg test
 * so as well. Where the held variables determine a tested or another held one, nothing is tested.
 *
 * All sets of a size share their work: holding one more variable changes the covariances of the rest by one elimination step, and for the
 * last one held a few operations give the partial correlation. So a set costs the same at any size.
 */
#pragma once

#include "independence.h"

struct sn_fisher_node;

struct sn_fisher {
	const double *correlations; /* variables x variables */
	uint32_t variables;
	size_t rows;
	/* What was asked last, and the square of the correlation that has that probability. */
	double alpha, critical;
	uint32_t size;
	struct sn_fisher_node *nodes; /* one for each held variable */
	uint32_t node_count;
};

/* The array must live as long. Costs no memory before a test. */
void sn_fisher_init(struct sn_fisher *fisher, const double *correlations, uint32_t variables,
		    size_t rows);
void sn_fisher_release(struct sn_fisher *fisher);
struct sn_independence sn_fisher_test(struct sn_fisher *fisher);
