/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides the samples of GPU functions among calling contexts.
 *
 * Samples of a GPU's program counter tell the instruction and the kernel, but not the callers. An
 * approximate calling context tree is reconstructed from them as by K. Zhou et al. ("Measurement
 * and analysis of GPU-accelerated applications with HPCToolkit", section 6.3):
 *
 * 1. The static call graph, from the binary's call instructions (gpu_call_graph.h). An edge weighs
 *    what was measured at its call: samples of the instruction, or how often it was executed.
 * 2. A function with samples none of whose calls was measured has all its calls weigh 1, and so
 *    on through its callers, up to a function that has a measured call, or to the kernel.
 * 3. Functions that call each other in cycles (strongly connected components) become one node,
 *    calls among them are dropped, calls into any of them go to the node.
 * 4. What was measured of a function is divided among its contexts: among its calls by their
 *    weights, as gprof does, and again among the contexts of each caller.
 *
 * Two things differ from the paper. Step 3 comes before step 2, so that a recursive function whose
 * only measured call is its own is found too. And nothing is lost: a function with samples but
 * without a known call (because it is called through a pointer) is placed directly below the
 * kernel. A call graph of n functions may have 2^n contexts, so their number is bounded: the rest
 * is distinguished by function only, below one node.
 *
 * The same input gives the same contexts in the same order. Knows nothing of databases or files.
 */
#pragma once

#include "gpu_call_graph.h"

/* Default limit of the contexts of one kernel. */
#define SN_GPU_CONTEXTS_MAX 65536

enum sn_gpu_context_kind {
	SN_GPU_CONTEXT_FUNCTION,
	SN_GPU_CONTEXT_CYCLE,  /* functions that call each other; they are its children */
	SN_GPU_CONTEXT_MERGED, /* holds functions whose contexts were too many */
};

struct sn_gpu_context {
	uint32_t parent;   /* an earlier context; SN_GPU_CONTEXT_NONE: the first, the kernel */
	uint32_t kind;	   /* enum sn_gpu_context_kind */
	uint32_t function; /* of a cycle: the one of it with the lowest number; merged: NONE */
	uint32_t site; /* the call that leads here; NONE: the kernel, members of cycles, and where
			  no call is known */
	double share;  /* of what was measured of `function`; 0 < share <= 1. Over all contexts of
			  kind FUNCTION of one function they sum to 1 */
};

struct sn_gpu_contexts {
	struct sn_gpu_context *contexts;
	uint32_t count;
	/* The contexts of function f: by_function[first[f]] up to by_function[first[f + 1]]. A
	 * function that was not measured and leads to none that was has none. */
	uint32_t *first;
	uint32_t *by_function;
};

/*
 * The contexts below a kernel whose code is the function `kernel`, of a graph by
 * SN_GPU_RECURSION_ALL. measured[function_count] is what was measured of each function,
 * weights[site_count] of each call, in the graph's order; both may be of any unit and are not
 * negative. `limit` is the largest number of contexts; 0: SN_GPU_CONTEXTS_MAX. 0, SN_ERR_MEMORY or
 * SN_ERR_ARGUMENT; release in either case.
 *
 * MT: one graph may be used by several threads at once.
 */
int sn_gpu_contexts_build(const struct sn_gpu_call_graph *graph, uint32_t kernel,
			  const double *measured, const double *weights, uint32_t limit,
			  struct sn_gpu_contexts *contexts);
void sn_gpu_contexts_release(struct sn_gpu_contexts *contexts);

/*
 * The same without a kernel, of a graph by SN_GPU_RECURSION_ROOT, as HPCToolkit's own analysis does
 * it. The first finds a context for each path from a function without callers to a function of
 * which measured[] is not 0; there may be many, see sn_gpu_call_graph_count_paths. All are of kind
 * FUNCTION. The second gives them their shares: is_entered[function_count] are the functions where
 * execution can have begun. Paths that begin elsewhere, or have a call without weight where another
 * one has some, have a share of 0. 0 or SN_ERR_MEMORY.
 */
int sn_gpu_contexts_find(const struct sn_gpu_call_graph *graph, const double *measured,
			 struct sn_gpu_contexts *contexts);
int sn_gpu_contexts_share(const struct sn_gpu_call_graph *graph, const uint8_t *is_entered,
			  const double *weights, struct sn_gpu_contexts *contexts);
