/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public graph interface of sonde.h: described models, and running nodes. A running node is a
 * frame of every call path below it, like a region (region.c).
 *
 * Numbers that programs get are one more than those of graph.h, so that 0 is none.
 */
#include "collect/record/graph.h"

#define SONDE_TYPES_ONLY
#include "sonde/sonde.h"

#include "collect/intercept/intercept.h"
#include "region.h"
#include "collect/core/hash.h"
#include "collect/core/thread.h"

#include <string.h>

#define ITERATION_DEPTH 16u

static _Atomic uint64_t iteration_starts[ITERATION_DEPTH][2]; /* model + 1, start */

static uint32_t model(const char *name)
{
	if (!sn_measuring() || !name)
		return 0;
	return sn_graph_model(name, strlen(name), "sonde.h", "description") + 1;
}

static uint32_t node(uint32_t number, const struct sonde_node_description *given)
{
	if (!sn_measuring() || !number || !given || !given->name)
		return 0;
	struct sn_graph_new description = {
	    .model = number - 1,
	    .key = sn_hash_text(given->name, strlen(given->name)),
	    .name = given->name,
	    .type = given->type,
	    .module = given->module,
	    .device = given->device,
	    .file = given->file,
	    .line = given->line,
	    .flags = SONDE_NODE_HAS_CONTEXTS,
	    .parent = given->parent - 1, /* 0, none, becomes SN_GRAPH_NONE */
	};
	return sn_graph_node(&description) + 1;
}

static void edge(uint32_t from, uint32_t to, unsigned index, uint64_t bytes)
{
	if (sn_measuring() && from && to)
		sn_graph_edge(from - 1, to - 1, index, SONDE_EDGE_DATA, bytes, 0);
}

static uint32_t begin(uint32_t number, uintptr_t stack, enum sn_region_origin origin)
{
	size_t length;
	if (!number || sn_graph_model_of(number - 1) == SN_GRAPH_NONE)
		return 0;
	const char *label = sn_graph_label(number - 1, &length);
	return SN_REGION_BEGIN(.name = label, .length = length, .stack = stack, .origin = origin,
			       .user = SN_REGION_NODE | (number - 1),
			       .frame_kind = SN_FRAME_GRAPH_NODE);
}

static void node_begin(uint32_t number, const void *frame)
{
	begin(number, (uintptr_t)frame, SN_REGION_NATIVE);
}

static void node_end(uint32_t number)
{
	if (number)
		sn_region_end(SN_REGION_NODE | (number - 1), 0);
}

static void iteration_begin(uint32_t number)
{
	if (!number || !sn_measuring())
		return;
	sn_graph_own_iterations(number - 1);
	for (unsigned i = 0; i < ITERATION_DEPTH; i++) {
		uint64_t expected = 0;
		if (atomic_load(&iteration_starts[i][0]) == number ||
		    atomic_compare_exchange_strong(&iteration_starts[i][0], &expected, number)) {
			atomic_store(&iteration_starts[i][1], sn_now_ns());
			return;
		}
	}
}

static void iteration_end(uint32_t number)
{
	uint64_t end_ns = sn_now_ns();
	for (unsigned i = 0; i < ITERATION_DEPTH && number && sn_measuring(); i++) {
		if (atomic_load(&iteration_starts[i][0]) != number)
			continue;
		sn_graph_iteration(number - 1, atomic_load(&iteration_starts[i][1]), end_ns,
				   "marks of the program");
		atomic_store(&iteration_starts[i][0], 0);
		return;
	}
	if (number)
		sn_drop(NULL, SN_DROP_REGION_UNBALANCED, 1);
}

const struct sonde_graph_hooks sn_graph_hooks = {
    model, node, edge, node_begin, node_end, iteration_begin, iteration_end};

/* For other languages, by dlsym, as in region.c. */
SN_PUBLIC(uint32_t, sonde_model, (const char *name))
{
	return model(name);
}

SN_PUBLIC(uint32_t, sonde_model_node, (uint32_t number, const struct sonde_node_description *given))
{
	return node(number, given);
}

SN_PUBLIC(void, sonde_model_edge, (uint32_t from, uint32_t to, unsigned index, uint64_t bytes))
{
	edge(from, to, index, bytes);
}

SN_PUBLIC(void, sonde_node_begin, (uint32_t number))
{
	begin(number, SN_CALLER_STACK, SN_REGION_EITHER);
}

SN_PUBLIC(void, sonde_node_end, (uint32_t number))
{
	node_end(number);
}

SN_PUBLIC(void, sonde_model_iteration_begin, (uint32_t number))
{
	iteration_begin(number);
}

SN_PUBLIC(void, sonde_model_iteration_end, (uint32_t number))
{
	iteration_end(number);
}

/* For Python: a token, as for regions. */
SN_PUBLIC(uint32_t, sonde_python_node_begin, (uint32_t number))
{
	return begin(number, SN_CALLER_STACK, SN_REGION_PYTHON);
}

SN_PUBLIC(void, sonde_python_node_end, (uint32_t number, uint32_t token))
{
	if (number && token)
		sn_region_end(SN_REGION_NODE | (number - 1), token);
}
