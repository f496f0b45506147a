/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of a function and their nesting, including irreducible ones (entered at several
 * places).
 *
 * The forest is that of P. Havlak, "Nesting of reducible and irreducible loops" (TOPLAS 19(4),
 * 1997), found in almost linear time as G. Ramalingam shows ("Identifying loops in almost linear
 * time", TOPLAS 21(2), 1999, section 5): a depth-first search; then headers innermost first, each
 * collapsing its loop's body into itself; an edge that is neither a tree edge nor a back edge is
 * inserted when the least common ancestor of its ends is reached. All back edges to one block form
 * one loop. The header of an irreducible loop is the entry that the search reaches first.
 *
 * Afterwards the search continues from blocks that are not reached from the entry (landing pads of
 * exceptions, targets of unresolved jumps): first those without predecessors, then the rest, each
 * in ascending order. Their edges into loops of reached blocks make no loop irreducible. The same
 * graph always gives the same forest.
 */
#pragma once

#include "flow_graph.h"

#include <stdbool.h>
#include <stddef.h>

struct sn_loop {
	uint32_t header; /* block */
	uint32_t parent; /* loop around it, with a smaller number; SN_FLOW_NONE: none */
	uint32_t depth;	 /* 1: outermost */
	bool is_irreducible;
};

/* Zeroed at first; may be built repeatedly, which reuses its memory. */
struct sn_loop_forest {
	struct sn_loop *loops; /* outer before inner */
	uint32_t *block_loops; /* by block: the innermost loop, or SN_FLOW_NONE */
	uint32_t loop_count;
	size_t loop_capacity, block_capacity, scratch_capacity;
	uint32_t *scratch;
};

/* 0, SN_ERR_MEMORY, or SN_ERR_ARGUMENT if an edge or the entry is no block. */
int sn_loop_forest_build(struct sn_loop_forest *forest, const struct sn_flow_graph *graph);
void sn_loop_forest_release(struct sn_loop_forest *forest);
