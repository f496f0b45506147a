/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Approximate calling contexts of GPU functions; see gpu_context.h.
 *
 * Components are numbered as Tarjan's algorithm finishes them: callees before callers, so that
 * descending numbers are a topological order, callers first.
 */
#include "gpu_context.h"
#include "base/error.h"
#include "base/vec.h"

#include <stdbool.h>
#include <string.h>

#define NONE SN_GPU_CONTEXT_NONE

struct sn_gpu_call_graph {
	uint32_t function_count;
	struct sn_gpu_call_site *sites;
	size_t site_count;
	size_t *first;	     /* by function: its first site; one more than functions */
	uint32_t *component; /* by function */
	uint32_t component_count;
	uint32_t *members;	/* functions by component, ascending in each */
	uint32_t *first_member; /* by component; one more than components */
};

static int by_caller(const void *a, const void *b)
{
	const struct sn_gpu_call_site *x = a, *y = b;
	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->callee > y->callee) - (x->callee < y->callee);
}

struct tarjan {
	struct sn_gpu_call_graph *graph;
	uint32_t *index, *low, *stack, *path;
	size_t *next; /* by function: the site to look at next */
	uint8_t *is_on_stack;
	uint32_t stack_count, path_count, index_count;
};

static void enter(struct tarjan *t, uint32_t function)
{
	t->index[function] = t->low[function] = t->index_count++;
	t->next[function] = t->graph->first[function];
	t->stack[t->stack_count++] = function;
	t->is_on_stack[function] = 1;
	t->path[t->path_count++] = function;
}

static void leave(struct tarjan *t, uint32_t function)
{
	uint32_t member;
	t->path_count--;
	if (t->path_count > 0) {
		uint32_t caller = t->path[t->path_count - 1];
		if (t->low[function] < t->low[caller])
			t->low[caller] = t->low[function];
	}
	if (t->low[function] != t->index[function])
		return;
	do {
		member = t->stack[--t->stack_count];
		t->is_on_stack[member] = 0;
		t->graph->component[member] = t->graph->component_count;
	} while (member != function);
	t->graph->component_count++;
}

/* The path is kept here and not on the machine's stack: call graphs may be deep. */
static void search(struct tarjan *t, uint32_t start)
{
	enter(t, start);
	while (t->path_count > 0) {
		uint32_t function = t->path[t->path_count - 1];
		if (t->next[function] == t->graph->first[function + 1]) {
			leave(t, function);
			continue;
		}
		uint32_t callee = t->graph->sites[t->next[function]++].callee;
		if (t->index[callee] == NONE)
			enter(t, callee);
		else if (t->is_on_stack[callee] && t->index[callee] < t->low[function])
			t->low[function] = t->index[callee];
	}
}

static int find_components(struct sn_gpu_call_graph *graph)
{
	size_t count = (size_t)graph->function_count + 1;
	struct tarjan t = {.graph = graph};
	uint32_t *numbers = malloc(count * 4 * sizeof(*numbers));
	t.next = malloc(count * sizeof(*t.next));
	t.is_on_stack = calloc(count, 1);
	int status = numbers && t.next && t.is_on_stack ? 0 : SN_ERR_MEMORY;
	if (status == 0) {
		t.index = numbers;
		t.low = numbers + count;
		t.stack = numbers + count * 2;
		t.path = numbers + count * 3;
		memset(t.index, 0xff, count * sizeof(*t.index));
		for (uint32_t i = 0; i < graph->function_count; i++)
			if (t.index[i] == NONE)
				search(&t, i);
	}
	free(numbers);
	free(t.next);
	free(t.is_on_stack);
	return status;
}

static int find_members(struct sn_gpu_call_graph *graph)
{
	graph->first_member = calloc((size_t)graph->component_count + 2, sizeof(uint32_t));
	graph->members = calloc((size_t)graph->function_count + 1, sizeof(uint32_t));
	if (!graph->first_member || !graph->members)
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

static int index_sites(struct sn_gpu_call_graph *graph)
{
	graph->first = calloc((size_t)graph->function_count + 1, sizeof(*graph->first));
	graph->component = calloc((size_t)graph->function_count + 1, sizeof(*graph->component));
	if (!graph->first || !graph->component)
		return SN_ERR_MEMORY;
	if (graph->site_count > 0)
		qsort(graph->sites, graph->site_count, sizeof(*graph->sites), by_caller);
	size_t site = 0;
	for (uint32_t i = 0; i <= graph->function_count; i++) {
		while (site < graph->site_count && graph->sites[site].caller < i)
			site++;
		graph->first[i] = site;
	}
	return 0;
}

int sn_gpu_call_graph_new(uint32_t function_count, const struct sn_gpu_call_site *sites,
			  size_t site_count, struct sn_gpu_call_graph **out)
{
	for (size_t i = 0; i < site_count; i++)
		if (sites[i].caller >= function_count || sites[i].callee >= function_count)
			return SN_ERR_ARGUMENT;
	struct sn_gpu_call_graph *graph = calloc(1, sizeof(*graph));
	if (!graph)
		return SN_ERR_MEMORY;
	graph->function_count = function_count;
	graph->site_count = site_count;
	graph->sites = malloc((site_count + 1) * sizeof(*sites));
	int status = graph->sites ? 0 : SN_ERR_MEMORY;
	if (status == 0 && site_count > 0)
		memcpy(graph->sites, sites, site_count * sizeof(*sites));
	if (status == 0)
		status = index_sites(graph);
	if (status == 0)
		status = find_components(graph);
	if (status == 0)
		status = find_members(graph);
	if (status != 0) {
		sn_gpu_call_graph_free(graph);
		return status;
	}
	*out = graph;
	return 0;
}

void sn_gpu_call_graph_free(struct sn_gpu_call_graph *graph)
{
	if (!graph)
		return;
	free(graph->sites);
	free(graph->first);
	free(graph->component);
	free(graph->members);
	free(graph->first_member);
	free(graph);
}

const struct sn_gpu_call_site *sn_gpu_call_graph_sites(const struct sn_gpu_call_graph *graph,
						       size_t *count)
{
	*count = graph->site_count;
	return graph->sites;
}

struct building {
	const struct sn_gpu_call_graph *graph;
	struct sn_gpu_contexts *out;
	size_t capacity;
	uint32_t limit, root; /* component of the kernel */
	const double *measured;
	double *weights; /* by site; 0: not a call between components that are reached */
	/* by component */
	double *entered;     /* the weights of all calls to it */
	double *residual;    /* the share of its contexts that are not told apart */
	uint8_t *is_reached; /* from the kernel */
	uint8_t *is_active;  /* something measured of it, or of what it calls, is put below it */
	uint8_t *is_loose;   /* no known call leads to it: it is put under the kernel */
};

static bool is_outer_call(const struct building *b, size_t site, uint32_t *callee)
{
	const struct sn_gpu_call_site *call = &b->graph->sites[site];
	*callee = b->graph->component[call->callee];
	return *callee != b->graph->component[call->caller] && *callee != b->root;
}

/* Each call out of a component, with the component it goes to. */
#define FOR_EACH_CALL(b, from, site, callee)                                                       \
	for (uint32_t m_ = (b)->graph->first_member[from];                                         \
	     m_ < (b)->graph->first_member[(from) + 1]; m_++)                                      \
		for (size_t site = (b)->graph->first[(b)->graph->members[m_]];                     \
		     site < (b)->graph->first[(b)->graph->members[m_] + 1]; site++)                \
			if (is_outer_call(b, site, &(callee)))

static bool is_measured(const struct building *b, uint32_t component)
{
	for (uint32_t i = b->graph->first_member[component];
	     i < b->graph->first_member[component + 1]; i++)
		if (b->measured[b->graph->members[i]] > 0)
			return true;
	return false;
}

static void reach_callees(struct building *b, uint32_t component)
{
	uint32_t callee;
	if (b->is_reached[component])
		FOR_EACH_CALL(b, component, site, callee)
	b->is_reached[callee] = 1;
}

/* What the kernel leads to; then, of what was measured beyond that and whatever calls it, what
 * nothing leads to is loose. Callers come first in descending order, callees in ascending. */
static void find_reached(struct building *b)
{
	uint32_t callee, count = b->graph->component_count;
	b->is_reached[b->root] = 1;
	for (uint32_t i = b->root + 1; i-- > 0;)
		reach_callees(b, i);
	for (uint32_t i = 0; i < count; i++) {
		if (b->is_reached[i])
			continue;
		b->is_active[i] = is_measured(b, i);
		FOR_EACH_CALL(b, i, site, callee)
		b->is_active[i] |= !b->is_reached[callee] && b->is_active[callee];
	}
	for (uint32_t i = count; i-- > 0;) {
		if (!b->is_reached[i] && b->is_active[i])
			b->is_reached[i] = b->is_loose[i] = 1;
		reach_callees(b, i);
	}
}

/*
 * Steps 1 and 2. A component is active if it was measured, or if one of its calls got a weight;
 * calls to active ones that no measured call enters weigh 1. Callees come first, so that what was
 * decided of them is known.
 */
static void weigh_calls(struct building *b, const double *weights)
{
	uint32_t callee;
	for (uint32_t i = 0; i < b->graph->component_count; i++)
		if (b->is_reached[i])
			FOR_EACH_CALL(b, i, site, callee)
	b->entered[callee] += weights[site];
	for (uint32_t i = 0; i < b->graph->component_count; i++) {
		b->is_active[i] = b->is_reached[i] && is_measured(b, i);
		if (!b->is_reached[i])
			continue;
		FOR_EACH_CALL(b, i, site, callee)
		{
			if (!b->is_active[callee])
				continue;
			if (b->entered[callee] > 0)
				b->weights[site] = weights[site];
			else if (!b->is_loose[callee])
				b->weights[site] = 1;
			b->is_active[i] |= b->weights[site] > 0;
		}
	}
	memset(b->entered, 0, b->graph->component_count * sizeof(*b->entered));
	for (uint32_t i = 0; i < b->graph->component_count; i++)
		if (b->is_reached[i])
			FOR_EACH_CALL(b, i, site, callee)
	b->entered[callee] += b->weights[site];
}

static int add(struct building *b, const struct sn_gpu_context *context)
{
	struct sn_gpu_contexts *out = b->out;
	if (sn_vec_reserve(&out->contexts, &b->capacity, (size_t)out->count + 1) != 0)
		return SN_ERR_MEMORY;
	out->contexts[out->count++] = *context;
	return 0;
}

static uint32_t member_count(const struct building *b, uint32_t component)
{
	return b->graph->first_member[component + 1] - b->graph->first_member[component];
}

/* The contexts of a component where a call leads to it: one, or a cycle and its functions. */
static int add_component(struct building *b, uint32_t component, uint32_t parent, size_t site,
			 double share)
{
	const uint32_t *members = &b->graph->members[b->graph->first_member[component]];
	uint32_t count = member_count(b, component);
	struct sn_gpu_context context = {.parent = parent,
					 .kind = SN_GPU_CONTEXT_FUNCTION,
					 .function = members[0],
					 .site = site == SIZE_MAX ? NONE : (uint32_t)site,
					 .share = share};
	if (count == 1)
		return add(b, &context);
	context.kind = SN_GPU_CONTEXT_CYCLE;
	int status = add(b, &context);
	context.parent = b->out->count - 1;
	context.kind = SN_GPU_CONTEXT_FUNCTION;
	context.site = NONE;
	for (uint32_t i = 0; i < count && status == 0; i++) {
		context.function = members[i];
		status = add(b, &context);
	}
	return status;
}

/* Gives a context's callees contexts, or their shares to the rest where there are too many. */
static int expand_calls(struct building *b, uint32_t at)
{
	struct sn_gpu_context caller = b->out->contexts[at];
	const struct sn_gpu_call_graph *graph = b->graph;
	int status = 0;
	if (caller.kind != SN_GPU_CONTEXT_FUNCTION)
		return 0;
	for (size_t site = graph->first[caller.function];
	     site < graph->first[caller.function + 1] && status == 0; site++) {
		uint32_t callee = graph->component[graph->sites[site].callee];
		if (b->weights[site] == 0)
			continue;
		double share = caller.share * (b->weights[site] / b->entered[callee]);
		if (b->out->count + member_count(b, callee) + 1 > b->limit)
			b->residual[callee] += share;
		else if (share > 0)
			status = add_component(b, callee, at, site, share);
	}
	return status;
}

static int expand_loose(struct building *b)
{
	int status = 0;
	for (uint32_t i = b->graph->component_count; i-- > 0 && status == 0;) {
		if (!b->is_loose[i])
			continue;
		if (b->out->count + member_count(b, i) + 1 > b->limit)
			b->residual[i] += 1;
		else
			status = add_component(b, i, 0, SIZE_MAX, 1);
	}
	return status;
}

/* What was not told apart: by function, under one node. Callers first, each passes on its share. */
static int add_residual(struct building *b)
{
	uint32_t callee, merged = NONE;
	for (uint32_t i = b->graph->component_count; i-- > 0;) {
		double share = b->residual[i];
		if (share == 0)
			continue;
		FOR_EACH_CALL(b, i, site, callee)
		if (b->weights[site] > 0)
			b->residual[callee] += share * (b->weights[site] / b->entered[callee]);
		struct sn_gpu_context context = {.parent = 0,
						 .kind = SN_GPU_CONTEXT_MERGED,
						 .function = NONE,
						 .site = NONE,
						 .share = 1};
		if (merged == NONE && add(b, &context) != 0)
			return SN_ERR_MEMORY;
		if (merged == NONE)
			merged = b->out->count - 1;
		context.parent = merged;
		context.kind = SN_GPU_CONTEXT_FUNCTION;
		context.share = share;
		for (uint32_t j = b->graph->first_member[i]; j < b->graph->first_member[i + 1];
		     j++) {
			context.function = b->graph->members[j];
			if (add(b, &context) != 0)
				return SN_ERR_MEMORY;
		}
	}
	return 0;
}

static int index_contexts(struct building *b)
{
	struct sn_gpu_contexts *out = b->out;
	out->first = calloc((size_t)b->graph->function_count + 2, sizeof(*out->first));
	out->by_function = calloc((size_t)out->count + 1, sizeof(*out->by_function));
	if (!out->first || !out->by_function)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < out->count; i++)
		if (out->contexts[i].kind == SN_GPU_CONTEXT_FUNCTION)
			out->first[out->contexts[i].function + 2]++;
	for (uint32_t i = 0; i < b->graph->function_count; i++)
		out->first[i + 2] += out->first[i + 1];
	for (uint32_t i = 0; i < out->count; i++)
		if (out->contexts[i].kind == SN_GPU_CONTEXT_FUNCTION)
			out->by_function[out->first[out->contexts[i].function + 1]++] = i;
	return 0;
}

static int build(struct building *b, const double *weights)
{
	find_reached(b);
	weigh_calls(b, weights);
	int status = add_component(b, b->root, NONE, SIZE_MAX, 1);
	/* breadth first, so that what is cut are the deepest contexts */
	for (uint32_t i = 0; i < b->out->count && status == 0; i++)
		status = expand_calls(b, i);
	return status;
}

static int build_all(struct building *b, const double *weights)
{
	int status = build(b, weights);
	uint32_t known = b->out->count;
	if (status == 0)
		status = expand_loose(b);
	for (uint32_t i = known; i < b->out->count && status == 0; i++)
		status = expand_calls(b, i);
	if (status == 0)
		status = add_residual(b);
	return status != 0 ? status : index_contexts(b);
}

int sn_gpu_contexts_build(const struct sn_gpu_call_graph *graph, uint32_t kernel,
			  const double *measured, const double *weights, uint32_t limit,
			  struct sn_gpu_contexts *contexts)
{
	*contexts = (struct sn_gpu_contexts){0};
	if (kernel >= graph->function_count)
		return SN_ERR_ARGUMENT;
	size_t components = graph->component_count;
	struct building b = {.graph = graph,
			     .out = contexts,
			     .limit = limit ? limit : SN_GPU_CONTEXTS_MAX,
			     .root = graph->component[kernel],
			     .measured = measured};
	b.weights = calloc(graph->site_count + 1, sizeof(*b.weights));
	b.entered = calloc(components * 2, sizeof(*b.entered));
	b.is_reached = calloc(components * 3, 1);
	int status = b.weights && b.entered && b.is_reached ? 0 : SN_ERR_MEMORY;
	if (status == 0) {
		b.residual = b.entered + components;
		b.is_active = b.is_reached + components;
		b.is_loose = b.is_active + components;
		status = build_all(&b, weights);
	}
	free(b.weights);
	free(b.entered);
	free(b.is_reached);
	return status;
}

void sn_gpu_contexts_release(struct sn_gpu_contexts *contexts)
{
	free(contexts->contexts);
	free(contexts->first);
	free(contexts->by_function);
	*contexts = (struct sn_gpu_contexts){0};
}

void sn_gpu_contexts_divide_count(const struct sn_gpu_contexts *contexts, uint32_t function,
				  uint64_t value, uint64_t *parts)
{
	uint32_t first = contexts->first[function], end = contexts->first[function + 1];
	double sum = 0;
	uint64_t given = 0;
	for (uint32_t i = first; i < end; i++) {
		sum += contexts->contexts[contexts->by_function[i]].share;
		/* up to here, rounded; a rounding of the sum may not give more than there is */
		double exact = (double)value * sum + 0.5;
		uint64_t upto = i + 1 == end || exact >= (double)value ? value : (uint64_t)exact;
		if (upto < given)
			upto = given;
		parts[i - first] = upto - given;
		given = upto;
	}
}

void sn_gpu_contexts_divide(const struct sn_gpu_contexts *contexts, uint32_t function, double value,
			    double *parts)
{
	uint32_t first = contexts->first[function], end = contexts->first[function + 1];
	double left = value;
	for (uint32_t i = first; i < end; i++) {
		double share = contexts->contexts[contexts->by_function[i]].share;
		parts[i - first] = i + 1 == end ? left : value * share;
		left -= parts[i - first];
	}
}
