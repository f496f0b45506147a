/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How well a variable's causes explain it: the sum over all variables is a graph's score, and a larger one is better. Two graphs of one
 * class have the same.
 */
#pragma once

#include <stdint.h>

/* MT: one thread for each `context`. */
struct sn_score {
	/* Of a variable with these parents, in any order; fast where the first ones are those of the last call. -INFINITY where they are too many to be judged. */
	double (*of)(void *context, uint32_t variable, const uint32_t *parents, uint32_t count);
	void *context;
	/* The same of many sets at once, into `scores`: with each of `added` behind the parents, and without each of the parents. NULL: `of` is asked for
	 * each. 0 or SN_ERR_MEMORY. */
	int (*with_each)(void *context, uint32_t variable, const uint32_t *parents, uint32_t count,
			 const uint32_t *added, uint32_t added_count, double *scores);
	int (*without_each)(void *context, uint32_t variable, const uint32_t *parents,
			    uint32_t count, double *scores);
};
