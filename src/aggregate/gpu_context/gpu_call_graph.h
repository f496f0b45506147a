/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of one GPU binary, and which of its functions call each other in cycles: what
 * reconstructing calling contexts starts from (gpu_context.h, steps 1 and 3).
 *
 * Functions that call each other in cycles are one strongly connected component (Tarjan, "Depth-
 * first search and linear graph algorithms", 1972); a function that is in no cycle is one of its
 * own. Calls inside a component are ignored. There are two rules for the targets of calls from
 * outside, because HPCToolkit's own analysis differs from its paper.
 */
#pragma once

#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

#define SN_GPU_CONTEXT_NONE UINT32_MAX

struct sn_gpu_call_site {
	uint32_t caller, callee; /* functions, numbered from 0 */
	uint64_t address;	 /* of the instruction */
};

enum sn_gpu_recursion {
	/* A call to a function of a cycle leads to all of the cycle: the paper's rule. */
	SN_GPU_RECURSION_ALL,
	/* A call to the root of a cycle leads to all of it, a call to another function of it to
	 * that function alone; where no call from outside leads to the root, all lead to all. The
	 * root is met first when callers are followed depth first, in order of their addresses,
	 * from each function in turn. Equal calls are one. HPCToolkit's rule. */
	SN_GPU_RECURSION_ROOT,
};

/*
 * Read only. Components are numbered callees first, so that descending numbers are a topological
 * order, callers first. A target is what a call leads to: all functions of component t, or, from
 * component_count on, the function t - component_count alone.
 */
struct sn_gpu_call_graph {
	struct sn_arena arena; /* of all that follows */
	uint32_t function_count, component_count;
	struct sn_gpu_call_site *sites; /* by caller, then address, then callee */
	size_t site_count;
	size_t *first;		/* by function: its first site; one more than functions */
	uint32_t *targets;	/* by site; SN_GPU_CONTEXT_NONE: it leads nowhere */
	uint32_t *component;	/* by function */
	uint32_t *members;	/* functions by component, ascending in each */
	uint32_t *first_member; /* by component; one more than components */
};

/*
 * `sites` may come in any order and are copied; a call to itself and equal calls are allowed.
 * 0, SN_ERR_MEMORY, or SN_ERR_ARGUMENT if a site names an invalid function.
 */
int sn_gpu_call_graph_new(uint32_t function_count, const struct sn_gpu_call_site *sites,
			  size_t site_count, enum sn_gpu_recursion recursion,
			  struct sn_gpu_call_graph **graph);
void sn_gpu_call_graph_free(struct sn_gpu_call_graph *graph);

/* The functions of a target; *count is how many. */
const uint32_t *sn_gpu_call_graph_members(const struct sn_gpu_call_graph *graph, uint32_t target,
					  uint32_t *count);

/* By function: the number of call paths that lead to it from functions without callers, counted up
 * to `limit` + 1, which also stands for paths of more than `depth` calls. counts[function_count] is
 * filled in. 0 or SN_ERR_MEMORY. */
int sn_gpu_call_graph_count_paths(const struct sn_gpu_call_graph *graph, uint32_t limit,
				  uint32_t depth, uint32_t *counts);
