/* SPDX-License-Identifier: Apache-2.0 */
/* Call graphs of GPU functions, their cycles and paths; see gpu_call_graph.h. */
#include "gpu_call_graph.h"

#include "base/error.h"
#include "base/search.h"
#include "base/sort_by.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NONE SN_GPU_CONTEXT_NONE

SN_SORT_BY(sort_by_caller, struct sn_gpu_call_site, const void *,
	   SN_ORDER_BY(a, b, caller, address, callee));

SN_SORT_BY(sort_by_callee, struct sn_gpu_call_site, const void *,
	   SN_ORDER_BY(a, b, callee, address, caller));

/* Calls as edges from callers to callees, or the other way round, by where they start. */
struct edges {
	struct sn_gpu_call_site *sites;
	size_t *first; /* by function; one more than functions */
	uint32_t function_count;
	bool is_reversed;
};

static uint32_t edge_start(const struct edges *edges, size_t site)
{
	return edges->is_reversed ? edges->sites[site].callee : edges->sites[site].caller;
}

static uint32_t edge_end(const struct edges *edges, size_t site)
{
	return edges->is_reversed ? edges->sites[site].caller : edges->sites[site].callee;
}

/* A copy of the sites, sorted. Without memory the arena has failed. */
static struct edges make_edges(struct sn_arena *arena, uint32_t function_count,
			       const struct sn_gpu_call_site *sites, size_t count, bool is_reversed)
{
	struct edges edges = {sn_arena_array(arena, struct sn_gpu_call_site, count),
			      sn_arena_array(arena, size_t, (size_t)function_count + 1),
			      function_count, is_reversed};
	if (!edges.sites || !edges.first || count == 0)
		return edges;
	memcpy(edges.sites, sites, count * sizeof(*sites));
	if (is_reversed)
		sort_by_callee(edges.sites, count, NULL);
	else
		sort_by_caller(edges.sites, count, NULL);
	size_t site = 0;
	for (uint32_t i = 0; i <= function_count; i++) {
		while (site < count && edge_start(&edges, site) < i)
			site++;
		edges.first[i] = site;
	}
	return edges;
}

struct tarjan {
	const struct edges *edges;
	uint32_t *component; /* by function; NONE: not yet known */
	uint32_t *roots;     /* by component: the function of it that was met first */
	uint32_t *index, *low, *stack, *path;
	size_t *next; /* by function: the edge to look at next */
	uint32_t stack_count, path_count, index_count, component_count;
};

static void enter(struct tarjan *t, uint32_t function)
{
	t->index[function] = t->low[function] = t->index_count++;
	t->next[function] = t->edges->first[function];
	t->stack[t->stack_count++] = function;
	t->path[t->path_count++] = function;
}

static void leave(struct tarjan *t, uint32_t function)
{
	uint32_t member;
	t->path_count--;
	if (t->path_count > 0) {
		uint32_t above = t->path[t->path_count - 1];
		if (t->low[function] < t->low[above])
			t->low[above] = t->low[function];
	}
	if (t->low[function] != t->index[function])
		return;
	do {
		member = t->stack[--t->stack_count];
		t->component[member] = t->component_count;
	} while (member != function);
	t->roots[t->component_count++] = function;
}

/* The path is kept here and not on the machine's stack: call graphs may be deep. */
static void search(struct tarjan *t, uint32_t start)
{
	enter(t, start);
	while (t->path_count > 0) {
		uint32_t function = t->path[t->path_count - 1];
		if (t->next[function] == t->edges->first[function + 1]) {
			leave(t, function);
			continue;
		}
		uint32_t end = edge_end(t->edges, t->next[function]++);
		if (t->index[end] == NONE)
			enter(t, end);
		else if (t->component[end] == NONE && t->index[end] < t->low[function])
			t->low[function] = t->index[end];
	}
}

/* The components' count, and their roots; 0 without memory as well. */
static uint32_t find_components(struct sn_arena *arena, const struct edges *edges,
				uint32_t *component, uint32_t **roots)
{
	size_t count = edges->function_count;
	uint32_t *numbers = sn_arena_array(arena, uint32_t, 5 * count);
	struct tarjan t = {
	    .edges = edges, .component = component, .next = sn_arena_array(arena, size_t, count)};
	if (arena->failed)
		return 0;
	t.roots = *roots = numbers;
	t.index = numbers + count;
	t.low = numbers + count * 2;
	t.stack = numbers + count * 3;
	t.path = numbers + count * 4;
	memset(t.index, 0xff, count * sizeof(*t.index));
	memset(component, 0xff, count * sizeof(*component));
	for (uint32_t i = 0; i < count; i++)
		if (t.index[i] == NONE)
			search(&t, i);
	return t.component_count;
}

static int find_members(struct sn_gpu_call_graph *graph)
{
	graph->first_member =
	    sn_arena_array(&graph->arena, uint32_t, (size_t)graph->component_count + 2);
	graph->members = sn_arena_array(&graph->arena, uint32_t, graph->function_count);
	if (graph->arena.failed)
		return SN_ERR_MEMORY;
	/* counted one place to the right of where they will be, filled in, which moves them left */
	for (uint32_t i = 0; i < graph->function_count; i++)
		graph->first_member[graph->component[i] + 2]++;
	for (uint32_t i = 0; i < graph->component_count; i++)
		graph->first_member[i + 2] += graph->first_member[i + 1];
	for (uint32_t i = 0; i < graph->function_count; i++)
		graph->members[graph->first_member[graph->component[i] + 1]++] = i;
	return 0;
}

static void find_targets(struct sn_gpu_call_graph *graph)
{
	for (size_t i = 0; i < graph->site_count; i++) {
		uint32_t target = graph->component[graph->sites[i].callee];
		graph->targets[i] =
		    target == graph->component[graph->sites[i].caller] ? NONE : target;
	}
}

/* HPCToolkit's rule; see enum sn_gpu_recursion. */
static void lead_by_roots(struct sn_gpu_call_graph *graph, struct sn_arena *scratch)
{
	struct edges callers =
	    make_edges(scratch, graph->function_count, graph->sites, graph->site_count, true);
	uint32_t *component = sn_arena_array(scratch, uint32_t, graph->function_count);
	uint32_t *roots = NULL;
	bool *is_called = sn_arena_array(scratch, bool, graph->function_count);
	if (scratch->failed)
		return;
	find_components(scratch, &callers, component, &roots);
	for (size_t i = 0; i < graph->site_count && !scratch->failed; i++)
		if (graph->targets[i] != NONE)
			is_called[graph->sites[i].callee] = true;
	for (size_t i = 0; i < graph->site_count && !scratch->failed; i++) {
		uint32_t callee = graph->sites[i].callee, root = roots[component[callee]];
		if (i > 0 && !sort_by_caller_order(&graph->sites[i - 1], &graph->sites[i], NULL))
			graph->targets[i] = NONE;
		else if (graph->targets[i] != NONE && is_called[root] && callee != root)
			graph->targets[i] = graph->component_count + callee;
	}
}

static int build(struct sn_gpu_call_graph *graph, const struct sn_gpu_call_site *sites,
		 enum sn_gpu_recursion recursion, struct sn_arena *scratch)
{
	struct edges calls =
	    make_edges(&graph->arena, graph->function_count, sites, graph->site_count, false);
	uint32_t *roots = NULL;
	graph->sites = calls.sites;
	graph->first = calls.first;
	graph->targets = sn_arena_array(&graph->arena, uint32_t, graph->site_count);
	graph->component = sn_arena_array(&graph->arena, uint32_t, graph->function_count);
	if (graph->arena.failed)
		return SN_ERR_MEMORY;
	graph->component_count = find_components(scratch, &calls, graph->component, &roots);
	if (scratch->failed || find_members(graph) != 0)
		return SN_ERR_MEMORY;
	find_targets(graph);
	if (recursion == SN_GPU_RECURSION_ROOT)
		lead_by_roots(graph, scratch);
	return scratch->failed ? SN_ERR_MEMORY : 0;
}

int sn_gpu_call_graph_new(uint32_t function_count, const struct sn_gpu_call_site *sites,
			  size_t site_count, enum sn_gpu_recursion recursion,
			  struct sn_gpu_call_graph **out)
{
	for (size_t i = 0; i < site_count; i++)
		if (sites[i].caller >= function_count || sites[i].callee >= function_count)
			return SN_ERR_ARGUMENT;
	struct sn_gpu_call_graph *graph = calloc(1, sizeof(*graph));
	if (!graph)
		return SN_ERR_MEMORY;
	graph->function_count = function_count;
	graph->site_count = site_count;
	struct sn_arena scratch = {0};
	int result = build(graph, sites, recursion, &scratch);
	sn_arena_release(&scratch);
	if (result == 0)
		*out = graph;
	else
		sn_gpu_call_graph_free(graph);
	return result;
}

void sn_gpu_call_graph_free(struct sn_gpu_call_graph *graph)
{
	if (graph)
		sn_arena_release(&graph->arena);
	free(graph);
}

const uint32_t *sn_gpu_call_graph_members(const struct sn_gpu_call_graph *graph, uint32_t target,
					  uint32_t *count)
{
	bool is_one = target >= graph->component_count;
	uint32_t function = target - graph->component_count;
	uint32_t component = is_one ? graph->component[function] : target;
	const uint32_t *members = graph->members + graph->first_member[component];
	*count = graph->first_member[component + 1] - graph->first_member[component];
	if (!is_one)
		return members;
	uint32_t all = *count;
	*count = 1;
	return members + sn_search(i, all, members[i] < function);
}

int sn_gpu_call_graph_count_paths(const struct sn_gpu_call_graph *graph, uint32_t limit,
				  uint32_t depth, uint32_t *counts)
{
	size_t targets = (size_t)graph->component_count + graph->function_count;
	uint64_t *paths = calloc(2 * targets + 1, sizeof(*paths)), *depths = paths + targets;
	if (!paths)
		return SN_ERR_MEMORY;
	for (uint32_t i = graph->function_count; i-- > 0;) { /* callers first */
		uint32_t function = graph->members[i], component = graph->component[function];
		uint32_t alone = graph->component_count + function;
		uint64_t count = paths[component] + paths[alone];
		uint64_t calls =
		    depths[component] > depths[alone] ? depths[component] : depths[alone];
		if (calls > depth || count > limit)
			count = (uint64_t)limit + 1;
		counts[function] = count ? (uint32_t)count : 1;
		for (size_t site = graph->first[function]; site < graph->first[function + 1];
		     site++) {
			uint32_t target = graph->targets[site];
			if (target == NONE)
				continue;
			paths[target] += counts[function];
			if (depths[target] <= calls)
				depths[target] = calls + 1;
		}
	}
	free(paths);
	return 0;
}
