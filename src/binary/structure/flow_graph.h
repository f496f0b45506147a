/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control flow of one function, of any machine: basic blocks and the edges between them.
 *
 * flow.c builds it for CPUs, gpu/ for GPUs; loop_forest.h finds loops in it. Calls are no edges: a
 * call that returns is in the middle of its block, one that does not ends its block without an
 * edge, as a return does. A jump to another function is no edge either.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SN_FLOW_NONE UINT32_MAX

struct sn_flow_block {
	uint64_t start, end; /* addresses of code; end is one past the last byte */
	uint64_t last;	     /* of the last instruction: the branch, where the block ends in one */
	bool is_unwinding;   /* reached only by exceptions, and never left to other code */
};

struct sn_flow_edge {
	uint32_t from, to; /* blocks */
	bool is_throw;	   /* taken only by exceptions */
};

/* Blocks ascend by start; edges may come in any order and repeatedly. */
struct sn_flow_graph {
	struct sn_flow_block *blocks;
	struct sn_flow_edge *edges;
	uint32_t block_count, edge_count;
	uint32_t entry; /* the block where the function begins */
};
