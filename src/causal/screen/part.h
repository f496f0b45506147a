/* SPDX-License-Identifier: Apache-2.0 */
/* A stratum of a sample's rows, of thousands of columns: correlations of the few with all that are asked for. See neighbours.h. */
#pragma once

#include "causal/prepare.h"

#define SN_PART_HELD_MOST 128u /* dimensions of one model */

struct sn_part {
	const uint32_t *first; /* dimension of each variable */
	uint32_t count, dimensions;
	double rows;
	double penalty, penalty_marked; /* as of a score: search/gaussian_score.h */
	const bool *is_marked;
	const double *values; /* value_rows for each dimension */
	double *sampled;      /* the same, or NULL: they are the prepared ones */
	size_t value_rows;
	double **with_all; /* of each dimension its correlations with all, or NULL */
	double **blocks;   /* memory of those */
	size_t block_count, block_capacity;
	double **inner; /* of each variable of several dimensions their correlations, else NULL */
	double *small, *factor; /* room for the covariances of two variables */
};

static inline uint32_t sn_part_size(const struct sn_part *part, uint32_t variable)
{
	return part->first[variable + 1] - part->first[variable];
}

/* `times`: how often each row of the table is in the sample; NULL: once. 0 or SN_ERR_MEMORY; end it in either case. */
int sn_part_begin(struct sn_part *part, const struct sn_prepared *prepared, uint32_t number,
		  const uint32_t *times);
void sn_part_end(struct sn_part *part);
/* Makes the correlations of some variables with all that are not there yet, by one product. 0 or SN_ERR_MEMORY. */
int sn_part_fetch(struct sn_part *part, const uint32_t *variables, uint32_t count);
/* Of an edge between two variables. */
double sn_part_penalty(const struct sn_part *part, uint32_t a, uint32_t b);
