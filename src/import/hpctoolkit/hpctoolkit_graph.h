/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How execution can have come to an instruction of a kernel: from the kernels that nobody calls,
 * down through calls, as structure has them. Samples of a GPU's program counter have no call stack;
 * hpctoolkit_reconstruct.h shares them out over these ways.
 *
 * Recursion is taken out as HPCToolkit does it: functions that call each other in a circle are one
 * (Tarjan's strongly connected components); calls inside such a circle are no way, and a call to
 * its root, the function met first when callers are followed from each function in the structure's
 * order, leads to all of them; a call to another one leads to that one alone. See
 * docs/design/hpctoolkit.md; HPCToolkit paper, section 6.3.
 */
#ifndef SN_IMPORT_HPCTOOLKIT_GRAPH_H
#define SN_IMPORT_HPCTOOLKIT_GRAPH_H

#include "hpctoolkit_code.h"

#define SN_HPCT_NO_GRAPH UINT32_MAX

/* A way: the function where it begins and the calls on it, outermost first. */
struct sn_hpct_way {
	uint32_t entry;	 /* function of the module's structure */
	uint32_t *calls; /* numbers in the graph's `calls` */
	uint32_t call_count;
};

struct sn_hpct_graph_call {
	uint64_t address;
	uint32_t graph; /* of that instruction itself */
};

struct sn_hpct_graph {
	uint32_t module;
	uint64_t address;	  /* that the ways lead to */
	struct sn_hpct_way *ways; /* ordered by their calls, innermost first; none: not known */
	uint32_t way_count;
	struct sn_hpct_graph_call *calls; /* by address */
	uint32_t call_count;
};

/* Callers of functions, without circles. */
struct sn_hpct_callers {
	bool is_made, is_usable;
	uint32_t *first;		 /* function + 1: where its callers begin */
	struct sn_hpcstruct_call *calls; /* by callee */
};

struct sn_hpct_graphs {
	struct sn_hpct_code *code;
	struct sn_hpct_graph *graphs;
	size_t graph_count, graph_capacity;
	struct sn_intern keys;		 /* number of a graph by module and address */
	struct sn_hpct_callers *callers; /* by module */
	size_t caller_capacity, caller_count;
	uint64_t unresolved; /* addresses with too many ways, or with damaged calls */
};

void sn_hpct_graphs_release(struct sn_hpct_graphs *graphs);
/* The graph of an address of a loaded module; SN_HPCT_NO_GRAPH in *graph where nothing is known of
 * its callers. 0 or SN_ERR_MEMORY. Numbers stay valid, pointers until the next call. */
int sn_hpct_graph_find(struct sn_hpct_graphs *graphs, uint32_t module, uint64_t address,
		       uint32_t *graph);

#endif
