/* SPDX-License-Identifier: Apache-2.0 */
/* See hpctoolkit_graph.h. */
#include "hpctoolkit_graph.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

enum {
	MOST_WAYS = 4096,  /* to one address: real kernels have a handful */
	MOST_DEPTH = 1024, /* of calls on a way */
};

void sn_hpct_graphs_release(struct sn_hpct_graphs *graphs)
{
	for (size_t i = 0; i < graphs->graph_count; i++) {
		for (uint32_t w = 0; w < graphs->graphs[i].way_count; w++)
			free(graphs->graphs[i].ways[w].calls);
		free(graphs->graphs[i].ways);
		free(graphs->graphs[i].calls);
	}
	for (size_t i = 0; i < graphs->caller_count; i++) {
		free(graphs->callers[i].first);
		free(graphs->callers[i].calls);
	}
	free(graphs->graphs);
	free(graphs->callers);
	sn_intern_release(&graphs->keys);
}

static int compare_calls(const void *left, const void *right)
{
	const struct sn_hpcstruct_call *a = left, *b = right;
	if (a->callee != b->callee)
		return a->callee < b->callee ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->caller > b->caller) - (a->caller < b->caller);
}

/* Sorts calls by callee, drops doubles, and notes where each function's callers begin. */
static int index_calls(struct sn_hpcstruct_call *calls, size_t *count, uint32_t *first,
		       size_t function_count)
{
	size_t kept = 0;
	if (*count)
		qsort(calls, *count, sizeof(*calls), compare_calls);
	for (size_t i = 0; i < *count; i++)
		if (kept == 0 || compare_calls(calls + kept - 1, calls + i) != 0)
			calls[kept++] = calls[i];
	*count = kept;
	for (size_t function = 0, call = 0; function <= function_count; function++) {
		while (call < kept && calls[call].callee < function)
			call++;
		first[function] = (uint32_t)call;
	}
	return 0;
}

/* Tarjan's algorithm over "is called by", with a stack of its own: circles[f] is the number of f's
 * circle, roots[c] the function of circle c that was met first. */
struct tarjan {
	const uint32_t *first;
	const struct sn_hpcstruct_call *calls;
	uint32_t *circles, *roots, *order, *low, *next, *active, *path;
	uint32_t active_count, path_count, met, circle_count;
};

static void tarjan_enter(struct tarjan *tarjan, uint32_t function)
{
	tarjan->order[function] = tarjan->low[function] = ++tarjan->met;
	tarjan->next[function] = tarjan->first[function];
	tarjan->active[tarjan->active_count++] = function;
	tarjan->path[tarjan->path_count++] = function;
}

static void tarjan_leave(struct tarjan *tarjan, uint32_t function)
{
	tarjan->path_count--;
	if (tarjan->path_count) {
		uint32_t *low = tarjan->low + tarjan->path[tarjan->path_count - 1];
		*low = tarjan->low[function] < *low ? tarjan->low[function] : *low;
	}
	if (tarjan->low[function] != tarjan->order[function])
		return;
	uint32_t member;
	do {
		member = tarjan->active[--tarjan->active_count];
		tarjan->circles[member] = tarjan->circle_count;
	} while (member != function);
	tarjan->roots[tarjan->circle_count++] = function;
}

static void tarjan_from(struct tarjan *tarjan, uint32_t start)
{
	tarjan_enter(tarjan, start);
	while (tarjan->path_count) {
		uint32_t function = tarjan->path[tarjan->path_count - 1];
		if (tarjan->next[function] == tarjan->first[function + 1]) {
			tarjan_leave(tarjan, function);
			continue;
		}
		uint32_t caller = tarjan->calls[tarjan->next[function]++].caller;
		if (tarjan->order[caller] == 0)
			tarjan_enter(tarjan, caller);
		else if (tarjan->circles[caller] == UINT32_MAX &&
			 tarjan->order[caller] < tarjan->low[function])
			tarjan->low[function] = tarjan->order[caller];
	}
}

/* The number of each function's circle, and behind them, from function_count on, each circle's
 * root; from malloc, or NULL. */
static uint32_t *find_circles(const uint32_t *first, const struct sn_hpcstruct_call *calls,
			      size_t function_count)
{
	uint32_t *circles = malloc(2 * (function_count + 1) * sizeof(*circles));
	uint32_t *work = calloc(5 * (function_count + 1), sizeof(*work));
	struct tarjan tarjan = {.first = first, .calls = calls, .circles = circles};
	if (!circles || !work) {
		free(circles);
		free(work);
		return NULL;
	}
	memset(circles, 0xff, 2 * (function_count + 1) * sizeof(*circles));
	tarjan.roots = circles + function_count;
	tarjan.order = work;
	tarjan.low = work + (function_count + 1);
	tarjan.next = work + 2 * (function_count + 1);
	tarjan.active = work + 3 * (function_count + 1);
	tarjan.path = work + 4 * (function_count + 1);
	for (uint32_t function = 0; function < function_count; function++)
		if (tarjan.order[function] == 0)
			tarjan_from(&tarjan, function);
	free(work);
	return circles;
}

/* The functions of each circle, one circle after the other: circle c has first[c] .. first[c + 1] -
 * 1 of members. Both from one malloc, which first begins; NULL without memory. */
static uint32_t *list_circles(const uint32_t *circles, size_t count, uint32_t **members)
{
	uint32_t *first = calloc(2 * count + 2, sizeof(*first));
	if (!first)
		return NULL;
	*members = first + count + 2;
	for (size_t f = 0; f < count; f++)
		first[circles[f] + 1]++;
	for (size_t c = 0; c < count; c++)
		first[c + 1] += first[c];
	for (size_t f = count; f-- > 0;)
		(*members)[--first[circles[f] + 1]] = (uint32_t)f;
	/* each start has moved into the place of the one before it */
	memmove(first, first + 1, count * sizeof(*first));
	first[count] = (uint32_t)count;
	return first;
}

/* Whether a call comes from outside to the root of its circle, by circle; from malloc, or NULL. */
static bool *find_called_roots(const uint32_t *circles, size_t function_count,
			       const struct sn_hpcstruct_call *calls, size_t count)
{
	const uint32_t *roots = circles + function_count;
	bool *called = calloc(function_count + 1, sizeof(*called));
	for (size_t i = 0; called && i < count; i++) {
		uint32_t circle = circles[calls[i].callee];
		if (circles[calls[i].caller] != circle && calls[i].callee == roots[circle])
			called[circle] = true;
	}
	return called;
}

struct call_list {
	struct sn_hpcstruct_call *calls;
	size_t count, capacity;
};

static int add_call(struct call_list *list, struct sn_hpcstruct_call call, uint32_t callee)
{
	if (sn_vec_reserve(&list->calls, &list->capacity, list->count + 1) < 0)
		return -1;
	call.callee = callee;
	list->calls[list->count++] = call;
	return 0;
}

/* Calls inside circles are left out. A call to a circle's root leads to every function in it, one
 * to another function to that alone; where the root has no call from outside, all calls lead to
 * all, so that no function of a circle is without a way. */
static int without_circles(const uint32_t *circles, size_t function_count,
			   struct sn_hpcstruct_call **calls, size_t *count)
{
	struct call_list made = {NULL, 0, 0};
	uint32_t *members = NULL, *first = list_circles(circles, function_count, &members);
	bool *called_roots = find_called_roots(circles, function_count, *calls, *count);
	int code = first && called_roots ? 0 : -1;
	for (size_t i = 0; i < *count && code == 0; i++) {
		struct sn_hpcstruct_call call = (*calls)[i];
		uint32_t circle = circles[call.callee];
		if (circles[call.caller] == circle)
			continue;
		if (called_roots[circle] && call.callee != circles[function_count + circle]) {
			code = add_call(&made, call, call.callee);
			continue;
		}
		for (uint32_t m = first[circle]; m < first[circle + 1] && code == 0; m++)
			code = add_call(&made, call, members[m]);
	}
	free(first);
	free(called_roots);
	if (code < 0) {
		free(made.calls);
		return -1;
	}
	free(*calls);
	*calls = made.calls;
	*count = made.count;
	return 0;
}

static int make_callers(const struct sn_hpcstruct *structure, struct sn_hpct_callers *callers)
{
	size_t count = structure->call_count;
	callers->is_made = true;
	callers->is_usable = (structure->has_calls || count) && !structure->calls_damaged;
	if (!callers->is_usable)
		return 0;
	callers->first = malloc((structure->function_count + 1) * sizeof(*callers->first));
	callers->calls = malloc((count + 1) * sizeof(*callers->calls));
	if (!callers->first || !callers->calls)
		return -1;
	if (count)
		memcpy(callers->calls, structure->calls, count * sizeof(*callers->calls));
	index_calls(callers->calls, &count, callers->first, structure->function_count);
	uint32_t *circles = find_circles(callers->first, callers->calls, structure->function_count);
	if (!circles ||
	    without_circles(circles, structure->function_count, &callers->calls, &count) < 0) {
		free(circles);
		return -1;
	}
	free(circles);
	return index_calls(callers->calls, &count, callers->first, structure->function_count);
}

static struct sn_hpct_callers *callers_of(struct sn_hpct_graphs *graphs, uint32_t module)
{
	if (sn_vec_reserve(&graphs->callers, &graphs->caller_capacity, (size_t)module + 1) < 0)
		return NULL;
	for (; graphs->caller_count <= module; graphs->caller_count++)
		graphs->callers[graphs->caller_count] = (struct sn_hpct_callers){0};
	struct sn_hpct_callers *callers = graphs->callers + module;
	if (!callers->is_made &&
	    make_callers(&graphs->code->modules[module].structure, callers) < 0)
		return NULL;
	return callers;
}

/* Ways as they are found: the calls of each are addresses, innermost first. */
struct found_way {
	uint32_t entry, call_count;
	uint64_t *calls;
};
struct search {
	const struct sn_hpct_callers *callers;
	struct found_way *ways;
	size_t way_count, way_capacity;
	uint64_t calls[MOST_DEPTH];
	uint32_t depth;
	bool is_too_much, has_no_memory;
};

static void keep_way(struct search *search, uint32_t entry)
{
	struct found_way way = {entry, search->depth,
				malloc((search->depth + 1) * sizeof(uint64_t))};
	if (search->way_count == MOST_WAYS) {
		search->is_too_much = true;
		free(way.calls);
		return;
	}
	if (!way.calls ||
	    sn_vec_reserve(&search->ways, &search->way_capacity, search->way_count + 1) < 0) {
		search->has_no_memory = true;
		free(way.calls);
		return;
	}
	memcpy(way.calls, search->calls, search->depth * sizeof(uint64_t));
	search->ways[search->way_count++] = way;
}

/* Depth first through callers; the depth is bounded, and there are no circles. */
static void search_from(struct search *search, uint32_t function)
{
	uint32_t first = search->callers->first[function],
		 end = search->callers->first[function + 1];
	if (first == end)
		keep_way(search, function);
	for (uint32_t i = first; i < end && !search->is_too_much && !search->has_no_memory; i++) {
		if (search->depth == MOST_DEPTH) {
			search->is_too_much = true;
			return;
		}
		search->calls[search->depth++] = search->callers->calls[i].address;
		search_from(search, search->callers->calls[i].caller);
		search->depth--;
	}
}

static int compare_ways(const void *left, const void *right)
{
	const struct found_way *a = left, *b = right;
	for (uint32_t i = 0; i < a->call_count && i < b->call_count; i++)
		if (a->calls[i] != b->calls[i])
			return a->calls[i] < b->calls[i] ? -1 : 1;
	return (a->call_count > b->call_count) - (a->call_count < b->call_count);
}

static int compare_graph_calls(const void *left, const void *right)
{
	const struct sn_hpct_graph_call *a = left, *b = right;
	return (a->address > b->address) - (a->address < b->address);
}

static int list_calls(struct sn_hpct_graph *graph, const struct search *search)
{
	size_t count = 0, kept = 0;
	for (size_t i = 0; i < search->way_count; i++)
		count += search->ways[i].call_count;
	graph->calls = calloc(count + 1, sizeof(*graph->calls));
	if (!graph->calls)
		return -1;
	count = 0;
	for (size_t i = 0; i < search->way_count; i++)
		for (uint32_t c = 0; c < search->ways[i].call_count; c++)
			graph->calls[count++].address = search->ways[i].calls[c];
	if (count)
		qsort(graph->calls, count, sizeof(*graph->calls), compare_graph_calls);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || graph->calls[kept - 1].address != graph->calls[i].address)
			graph->calls[kept++] = graph->calls[i];
	graph->call_count = (uint32_t)kept;
	return 0;
}

static uint32_t call_number(const struct sn_hpct_graph *graph, uint64_t address)
{
	struct sn_hpct_graph_call key = {address, 0};
	const struct sn_hpct_graph_call *call =
	    bsearch(&key, graph->calls, graph->call_count, sizeof(key), compare_graph_calls);
	return (uint32_t)(call - graph->calls);
}

/* Turns the ways around, so that their calls are outermost first. */
static int keep_ways(struct sn_hpct_graph *graph, struct search *search)
{
	if (search->way_count)
		qsort(search->ways, search->way_count, sizeof(*search->ways), compare_ways);
	graph->ways = calloc(search->way_count + 1, sizeof(*graph->ways));
	if (!graph->ways || list_calls(graph, search) < 0)
		return -1;
	for (size_t i = 0; i < search->way_count; i++) {
		const struct found_way *found = search->ways + i;
		struct sn_hpct_way *way = graph->ways + graph->way_count;
		*way = (struct sn_hpct_way){found->entry,
					    calloc(found->call_count + 1, sizeof(*way->calls)),
					    found->call_count};
		if (!way->calls)
			return -1;
		for (uint32_t c = 0; c < found->call_count; c++)
			way->calls[found->call_count - 1 - c] = call_number(graph, found->calls[c]);
		graph->way_count++;
	}
	return 0;
}

/* Fills in the graph's ways; none where they cannot be told. */
static int find_ways(struct sn_hpct_graphs *graphs, struct sn_hpct_graph *graph)
{
	const struct sn_hpct_module *module = graphs->code->modules + graph->module;
	const struct sn_hpcstruct_leaf *leaf =
	    sn_hpcstruct_find(&module->structure, graph->address);
	if (!leaf)
		return 0;
	const struct sn_hpct_callers *callers = callers_of(graphs, graph->module);
	struct search *search = calloc(1, sizeof(*search));
	int code = callers && search ? 0 : -1;
	if (code == 0 && callers->is_usable) {
		search->callers = callers;
		search_from(search, leaf->function);
		code = search->has_no_memory ? -1 : 0;
		if (search->is_too_much)
			graphs->unresolved++;
		else if (code == 0)
			code = keep_ways(graph, search);
	} else if (code == 0 && module->structure.calls_damaged) {
		graphs->unresolved++;
	}
	for (size_t i = 0; search && i < search->way_count; i++)
		free(search->ways[i].calls);
	if (search)
		free(search->ways);
	free(search);
	return code;
}

static void forget_ways(struct sn_hpct_graph *graph)
{
	for (uint32_t i = 0; i < graph->way_count; i++)
		free(graph->ways[i].calls);
	graph->way_count = 0;
}

/* 1 where the graph is new. */
static int find_or_add(struct sn_hpct_graphs *graphs, uint32_t module, uint64_t address,
		       uint32_t *number)
{
	uint64_t key[2] = {module, address};
	*number = sn_intern_add(&graphs->keys, key, sizeof(key));
	if (*number == SN_INTERN_NONE ||
	    sn_vec_reserve(&graphs->graphs, &graphs->graph_capacity, (size_t)*number + 1) < 0)
		return SN_ERR_MEMORY;
	if (*number < graphs->graph_count)
		return 0;
	graphs->graphs[graphs->graph_count] =
	    (struct sn_hpct_graph){.module = module, .address = address};
	return find_ways(graphs, graphs->graphs + graphs->graph_count++) < 0 ? SN_ERR_MEMORY : 1;
}

/* The calls' own graphs are added behind, and theirs in turn: a list of work instead of recursion.
 */
int sn_hpct_graph_find(struct sn_hpct_graphs *graphs, uint32_t module, uint64_t address,
		       uint32_t *number)
{
	uint32_t found, first = (uint32_t)graphs->graph_count;
	int code = find_or_add(graphs, module, address, &found);
	*number = SN_HPCT_NO_GRAPH;
	for (uint32_t i = first; code >= 0 && i < graphs->graph_count; i++) {
		for (uint32_t c = 0; code >= 0 && c < graphs->graphs[i].call_count; c++) {
			uint32_t call;
			code =
			    find_or_add(graphs, module, graphs->graphs[i].calls[c].address, &call);
			graphs->graphs[i].calls[c].graph = call;
			if (code >= 0 && graphs->graphs[call].way_count == 0) {
				forget_ways(graphs->graphs + i);
				graphs->unresolved++;
				break;
			}
		}
	}
	if (code < 0)
		return SN_ERR_MEMORY;
	*number = graphs->graphs[found].way_count ? found : SN_HPCT_NO_GRAPH;
	return 0;
}
