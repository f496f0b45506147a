/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second opinion on a graph, by tests in place of a score: PC over all rows (pc/pc.h), with Fisher's z for numbers, chi-square where all are
 * categories, and the likelihood ratio of the degenerate Gaussian where there are both, and where rows are of clusters or stretches. Edges that both have do not hang on one method.
 */
#pragma once

#include "pc/pc.h"
#include "prepare.h"

#define SN_SECOND_ALPHA 0.01
/* Variables that are held at once, at most. */
#define SN_SECOND_DEPTH 2u

/* `threads`: 0: one for each processor; all give the same. 0 or SN_ERR_MEMORY; release it by sn_pc_release in either case. */
int sn_second_opinion(struct sn_pc *pc, const struct sn_prepared *prepared,
		      const struct sn_knowledge *knowledge, unsigned threads);

/* The edge between two variables, or NULL. */
const struct sn_pc_edge *sn_pc_edge_between(const struct sn_pc *pc, uint32_t a, uint32_t b);
