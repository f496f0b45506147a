/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In one sample of the rows: which of thousands of variables may say something of a target, and of those that do.
 *
 * If no variable depends on the target at a rate of 5 % of false discoveries, however they depend on each other (Benjamini and Yekutieli, 2001,
 * theorem 1.3), there is none. Else the target's neighbours are added, the best one first, as long as the extended criterion gets better (Chen and
 * Chen, "Extended Bayesian information criteria for model selection with large model spaces", 2008), and those dropped without which it is better; and
 * so the neighbours of each of these; among them those come first on which the target depends beside that one, as it does on what causes both.
 *
 * What was added to a model is taken out of all columns' covariances with what it explains, so that a step costs one row of correlations
 * of the added dimension with all: no more than some hundred of these rows are ever made.
 */
#pragma once

#include "causal/knowledge.h"
#include "causal/prepare.h"

/* Variables that are chosen, beside those that stay. */
#define SN_NEIGHBOURS_MOST 64u

struct sn_neighbours {
	const struct sn_prepared *prepared;
	const struct sn_knowledge *knowledge; /* or NULL */
	uint32_t target;
	const uint32_t *times; /* how often each row counts; NULL: once */
};

/* Adds the bits of those that were chosen, the target among them. 0 or SN_ERR_MEMORY. MT: yes. */
int sn_neighbours_choose(const struct sn_neighbours *of, uint64_t *chosen);
