/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How well a variable's causes explain it: the sum over all variables is a graph's score, and a larger one is better. Two graphs of one
 * class have the same.
 */
#pragma once

#include <stdint.h>

struct sn_score {
	/* Of a variable with these parents, in any order; fast where the first ones are those of the last call. -INFINITY where they are too many to be judged. MT: one thread for each
	 * `context`. */
	double (*of)(void *context, uint32_t variable, const uint32_t *parents, uint32_t count);
	void *context;
};
