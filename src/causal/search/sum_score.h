/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of scores of the same variables, as those of strata are (causal/rows/strata.h). */
#pragma once

#include "score.h"

#include <stddef.h>

#define SN_SUMMED_MOST 2u

struct sn_sum_score {
	struct sn_score of[SN_SUMMED_MOST]; /* each with `with_each` and `without_each` */
	uint32_t count;
	double *room; /* of these functions */
	size_t capacity;
};

/* Of one score that itself. The sum must live, and stay where it is, as long. */
struct sn_score sn_sum_score(struct sn_sum_score *sum);
void sn_sum_score_release(struct sn_sum_score *sum);
