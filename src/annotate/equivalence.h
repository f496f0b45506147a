/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks and edges of a control-flow graph that run equally often, whatever the input: those that each cycle has all of or none, when what leaves the function returns to its entry. All that
 * is known of one of a class is known of the others.
 *
 * Source: Johnson, Pearson and Pingali, "The program structure tree: computing control regions in linear time", PLDI 1994, section 3 (cycle equivalence by bracket lists), over the graph
 * whose blocks are edges too. Blocks that cannot be reached are taken as entered from outside, and those that never end as left to there.
 *
 * Edges of exceptions are left out: their class is SN_EQUIVALENCE_NONE.
 */
#pragma once

#include "binary/structure/flow_graph.h"

#include <stdint.h>

#define SN_EQUIVALENCE_NONE UINT32_MAX

struct sn_equivalence {
	uint32_t *block_class; /* of each block */
	uint32_t *edge_class;  /* of each edge of the graph, in its order */
	uint32_t class_count;
};

/* 0 or SN_ERR_MEMORY; release it in either case. */
int sn_equivalence_find(struct sn_equivalence *equivalence, const struct sn_flow_graph *graph);
void sn_equivalence_release(struct sn_equivalence *equivalence);
