/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The score of categories: the logarithm of the probability of a variable's values given its causes', averaged over all conditional
 * distributions, of which none is more likely than another (BDeu). Heckerman, Geiger and Chickering, "Learning Bayesian networks: the
 * combination of knowledge and statistical data" (1995), equation 28.
 */
#pragma once

#include "score.h"

#include <stddef.h>

struct sn_discrete_table {
	uint32_t columns;
	size_t rows;
	const uint8_t *const *values; /* of each column: 0 .. levels - 1 */
	const uint32_t *levels;	      /* of each column, at least 1 */
	const uint32_t *weights;      /* of each row: how often it counts; NULL: once */
};

static inline uint32_t sn_discrete_weight(const struct sn_discrete_table *table, size_t row)
{
	return table->weights ? table->weights[row] : 1;
}

struct sn_discrete_score {
	const struct sn_discrete_table *table;
	double sample_size; /* that the prior is worth, in rows */
	uint32_t *cells;    /* numbers of rows, by the causes' values and the variable's */
	uint64_t cells_most;
	/* Of each row the values of the first causes of the last call as one number; which these are. */
	uint32_t *places, *known, known_count;
};

/* With the equivalent sample size of 1 row. 0 or SN_ERR_MEMORY; release it in either case. `table` must live as long. */
int sn_discrete_score_init(struct sn_discrete_score *score, const struct sn_discrete_table *table);
void sn_discrete_score_release(struct sn_discrete_score *score);
/* For sn_score: `of` is this function, `context` the score. */
double sn_discrete_score_of(void *score, uint32_t variable, const uint32_t *parents,
			    uint32_t count);
