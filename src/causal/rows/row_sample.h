/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample of prepared rows, or all of them; and how graphs are scored by it. Independent rows are drawn with replacement, as many as there are. Of clusters
 * half are drawn, each once: what is estimated scatters as much among halves as among samples with replacement, but a cluster that is there several times would
 * count as several, and of few clusters a score would take that for a dependence.
 */
#pragma once

#include "causal/search/discrete_score.h"
#include "causal/search/gaussian_score.h"
#include "causal/search/sum_score.h"
#include "causal/prepare.h"

/* A stratum of the rows that were drawn. */
struct sn_sampled_stratum {
	double *correlations; /* dimensions of the stratum x dimensions */
	size_t rows;	      /* that say something in it */
	struct sn_gaussian_score gaussian;
};

struct sn_row_sample {
	const struct sn_prepared *prepared;
	uint32_t *times;      /* how often each row is in it; NULL: once */
	uint32_t *weights;    /* of each distinct row where all are categories, else NULL */
	double *correlations; /* of all that rows vary by; dimensions x dimensions */
	struct sn_sampled_stratum strata[SN_STRATA_MOST];
	struct sn_discrete_table table;
	struct sn_discrete_score discrete;
	struct sn_sum_score sum;
	struct sn_score
	    score; /* BDeu where all are categories and rows independent, else the extended information criterion */
};

/* Sample `number` of a seed; 0 is all rows. The prepared table must live, and the sample stay where it is, as long. 0 or SN_ERR_MEMORY; release
 * it in either case. */
int sn_row_sample_draw(struct sn_row_sample *sample, const struct sn_prepared *prepared,
		       uint64_t seed, size_t number);
/* How often each row is in sample `number`, above 0, of a seed: rows are drawn, or clusters with all of their rows. The caller's to free. 0 or
 * SN_ERR_MEMORY. */
int sn_row_sample_times(uint32_t **times, const struct sn_prepared *prepared, uint64_t seed,
			size_t number);
void sn_row_sample_release(struct sn_row_sample *sample);
