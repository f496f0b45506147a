/* SPDX-License-Identifier: Apache-2.0 */
/* Approximate calling contexts of GPU functions; see gpu_context.h. */
#include "gpu_context.h"

#include "base/error.h"
#include "base/vec.h"

#include <stdbool.h>
#include <string.h>

#define NONE SN_GPU_CONTEXT_NONE

struct building {
	const struct sn_gpu_call_graph *graph;
	struct sn_gpu_contexts *out;
	size_t capacity;
	uint32_t limit, root;		  /* root: the kernel's component, or NONE */
	const double *measured, *weights; /* by function; by site */
	struct sn_arena arena;		  /* of all that follows, which is by target */
	double *sums;	     /* the weights of the calls to it from functions that are reached */
	double *calls;	     /* how many these are */
	double *residual;    /* of components: the share of its contexts that are not told apart */
	uint8_t *is_reached; /* by execution, as far as is known */
	uint8_t *is_active;  /* something measured of it, or of what it calls, is put below it */
	uint8_t *is_loose;   /* no known call leads to it: it is put under the kernel */
};

static int building_init(struct building *b)
{
	size_t targets = (size_t)b->graph->component_count + b->graph->function_count;
	b->sums = sn_arena_array(&b->arena, double, targets);
	b->calls = sn_arena_array(&b->arena, double, targets);
	b->residual = sn_arena_array(&b->arena, double, targets);
	b->is_reached = sn_arena_array(&b->arena, uint8_t, targets);
	b->is_active = sn_arena_array(&b->arena, uint8_t, targets);
	b->is_loose = sn_arena_array(&b->arena, uint8_t, targets);
	return b->arena.failed ? SN_ERR_MEMORY : 0;
}

/* The target that is this function alone. */
static uint32_t alone(const struct building *b, uint32_t function)
{
	return b->graph->component_count + function;
}

/* What a call leads to; calls to the kernel lead nowhere. */
static uint32_t target_of(const struct building *b, size_t site)
{
	uint32_t target = b->graph->targets[site];
	return target == b->root ? NONE : target;
}

static bool is_reached(const struct building *b, uint32_t function)
{
	return b->is_reached[b->graph->component[function]] || b->is_reached[alone(b, function)];
}

/* Whether one of the function's calls leads to what `flags` is set for. */
static bool calls_any(const struct building *b, uint32_t function, const uint8_t *flags)
{
	const struct sn_gpu_call_graph *graph = b->graph;
	for (size_t site = graph->first[function]; site < graph->first[function + 1]; site++)
		if (target_of(b, site) != NONE && flags[target_of(b, site)])
			return true;
	return false;
}

static void reach_callees(struct building *b, uint32_t function)
{
	const struct sn_gpu_call_graph *graph = b->graph;
	if (!is_reached(b, function))
		return;
	for (size_t site = graph->first[function]; site < graph->first[function + 1]; site++)
		if (target_of(b, site) != NONE)
			b->is_reached[target_of(b, site)] = 1;
}

static void sum_calls(struct building *b)
{
	const struct sn_gpu_call_graph *graph = b->graph;
	for (size_t site = 0; site < graph->site_count; site++) {
		uint32_t target = target_of(b, site);
		if (target == NONE || !is_reached(b, graph->sites[site].caller))
			continue;
		b->sums[target] += b->weights[site];
		b->calls[target]++;
	}
}

/* Steps 2 and 4: what part of a function's calls one of them is. Where none of them was measured
 * they are alike. */
static double part_of_calls(const struct building *b, size_t site, uint32_t function)
{
	uint32_t all = b->graph->component[function], one = alone(b, function);
	double sum = b->sums[all] + b->sums[one];
	if (sum > 0)
		return b->weights[site] / sum;
	return b->is_loose[all] ? 0 : 1 / (b->calls[all] + b->calls[one]);
}

/* Of a call that leads to a whole component. */
static double part_of_component(const struct building *b, size_t site)
{
	uint32_t callee = target_of(b, site);
	if (callee == NONE || !b->is_active[callee])
		return 0;
	return part_of_calls(b, site, b->graph->members[b->graph->first_member[callee]]);
}

/* What the kernel leads to; then, of what was measured beyond that and whatever calls it, what
 * nothing leads to is loose. Callers come first in descending order, callees in ascending. */
static void find_reached(struct building *b)
{
	const struct sn_gpu_call_graph *graph = b->graph;
	uint32_t count = graph->function_count;
	b->is_reached[b->root] = 1;
	for (uint32_t i = count; i-- > 0;)
		reach_callees(b, graph->members[i]);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t function = graph->members[i], component = graph->component[function];
		/* what is reached is never active here, so that it is no reason to be loose */
		if (!b->is_reached[component])
			b->is_active[component] |=
			    b->measured[function] > 0 || calls_any(b, function, b->is_active);
	}
	for (uint32_t i = count; i-- > 0;) {
		uint32_t function = graph->members[i], component = graph->component[function];
		if (!b->is_reached[component] && b->is_active[component])
			b->is_reached[component] = b->is_loose[component] = 1;
		reach_callees(b, function);
	}
}

/* A component is active if it was measured, or one of its calls to an active one has a weight.
 * Callees come first, so that what was decided of them is known. */
static void find_active(struct building *b)
{
	const struct sn_gpu_call_graph *graph = b->graph;
	memset(b->is_active, 0, graph->component_count);
	for (uint32_t i = 0; i < graph->function_count; i++) {
		uint32_t function = graph->members[i], component = graph->component[function];
		bool is_active = b->measured[function] > 0;
		if (!b->is_reached[component])
			continue;
		for (size_t site = graph->first[function];
		     site < graph->first[function + 1] && !is_active; site++)
			is_active = part_of_component(b, site) > 0;
		b->is_active[component] |= is_active;
	}
}

static int add(struct building *b, struct sn_gpu_context context)
{
	return sn_vec_push(&b->out->contexts, &b->capacity, &b->out->count, context);
}

static bool is_full(const struct building *b, uint32_t component)
{
	uint32_t members;
	sn_gpu_call_graph_members(b->graph, component, &members);
	return b->out->count + members + 1 > b->limit;
}

/* The functions of a component as contexts of that share. */
static int add_members(struct building *b, uint32_t component, uint32_t parent, uint32_t site,
		       double share)
{
	uint32_t count;
	const uint32_t *members = sn_gpu_call_graph_members(b->graph, component, &count);
	int status = 0;
	for (uint32_t i = 0; i < count && status == 0; i++)
		status = add(b, (struct sn_gpu_context){parent, SN_GPU_CONTEXT_FUNCTION, members[i],
							site, share});
	return status;
}

/* The contexts of a component where a call leads to it: one, or a cycle and its functions. */
static int add_component(struct building *b, uint32_t component, uint32_t parent, uint32_t site,
			 double share)
{
	uint32_t count;
	const uint32_t *members = sn_gpu_call_graph_members(b->graph, component, &count);
	if (count == 1)
		return add_members(b, component, parent, site, share);
	if (add(b, (struct sn_gpu_context){parent, SN_GPU_CONTEXT_CYCLE, members[0], site, share}) <
	    0)
		return SN_ERR_MEMORY;
	return add_members(b, component, b->out->count - 1, NONE, share);
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
		double part = part_of_component(b, site), share = caller.share * part;
		if (part == 0)
			continue;
		if (is_full(b, graph->targets[site]))
			b->residual[graph->targets[site]] += share;
		else if (share > 0)
			status = add_component(b, graph->targets[site], at, (uint32_t)site, share);
	}
	return status;
}

static int expand_loose(struct building *b)
{
	int status = 0;
	for (uint32_t i = b->graph->component_count; i-- > 0 && status == 0;) {
		if (!b->is_loose[i])
			continue;
		if (is_full(b, i))
			b->residual[i] += 1;
		else
			status = add_component(b, i, 0, NONE, 1);
	}
	return status;
}

/* What was not told apart: by function, under one node. Callers first, each passes on its share. */
static int add_residual(struct building *b)
{
	const struct sn_gpu_call_graph *graph = b->graph;
	uint32_t merged = NONE;
	int status = 0;
	for (uint32_t i = graph->component_count; i-- > 0 && status == 0;) {
		uint32_t count;
		const uint32_t *members = sn_gpu_call_graph_members(graph, i, &count);
		double share = b->residual[i];
		if (share == 0)
			continue;
		for (uint32_t j = 0; j < count; j++)
			for (size_t site = graph->first[members[j]];
			     site < graph->first[members[j] + 1]; site++)
				if (target_of(b, site) != NONE)
					b->residual[target_of(b, site)] +=
					    share * part_of_component(b, site);
		if (merged == NONE) {
			merged = b->out->count;
			status = add(
			    b, (struct sn_gpu_context){0, SN_GPU_CONTEXT_MERGED, NONE, NONE, 1});
		}
		if (status == 0)
			status = add_members(b, i, merged, NONE, share);
	}
	return status;
}

static int index_contexts(const struct sn_gpu_call_graph *graph, struct sn_gpu_contexts *out)
{
	out->first = calloc((size_t)graph->function_count + 2, sizeof(*out->first));
	out->by_function = calloc((size_t)out->count + 1, sizeof(*out->by_function));
	if (!out->first || !out->by_function)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < out->count; i++)
		if (out->contexts[i].kind == SN_GPU_CONTEXT_FUNCTION)
			out->first[out->contexts[i].function + 2]++;
	for (uint32_t i = 0; i < graph->function_count; i++)
		out->first[i + 2] += out->first[i + 1];
	for (uint32_t i = 0; i < out->count; i++)
		if (out->contexts[i].kind == SN_GPU_CONTEXT_FUNCTION)
			out->by_function[out->first[out->contexts[i].function + 1]++] = i;
	return 0;
}

/* Contexts from number `from` on and what is below them: breadth first, so that what is cut are the
 * deepest ones. */
static int expand(struct building *b, uint32_t from)
{
	int status = 0;
	for (uint32_t i = from; i < b->out->count && status == 0; i++)
		status = expand_calls(b, i);
	return status;
}

static int build(struct building *b)
{
	int status = building_init(b);
	if (status != 0)
		return status;
	find_reached(b);
	sum_calls(b);
	find_active(b);
	if ((status = add_component(b, b->root, NONE, NONE, 1)) != 0 ||
	    (status = expand(b, 0)) != 0)
		return status;
	uint32_t known = b->out->count;
	if ((status = expand_loose(b)) != 0 || (status = expand(b, known)) != 0 ||
	    (status = add_residual(b)) != 0)
		return status;
	return index_contexts(b->graph, b->out);
}

int sn_gpu_contexts_build(const struct sn_gpu_call_graph *graph, uint32_t kernel,
			  const double *measured, const double *weights, uint32_t limit,
			  struct sn_gpu_contexts *contexts)
{
	struct building b = {.graph = graph,
			     .out = contexts,
			     .limit = limit ? limit : SN_GPU_CONTEXTS_MAX,
			     .measured = measured,
			     .weights = weights};
	*contexts = (struct sn_gpu_contexts){0};
	if (kernel >= graph->function_count)
		return SN_ERR_ARGUMENT;
	b.root = graph->component[kernel];
	int status = build(&b);
	sn_arena_release(&b.arena);
	return status;
}

/* Functions that were measured and whatever leads to them; callees come first. */
static void find_callers(struct building *b)
{
	const struct sn_gpu_call_graph *graph = b->graph;
	for (uint32_t i = 0; i < graph->function_count; i++) {
		uint32_t function = graph->members[i];
		b->is_active[alone(b, function)] =
		    b->measured[function] != 0 || calls_any(b, function, b->is_active);
		b->is_active[graph->component[function]] |= b->is_active[alone(b, function)];
	}
}

static int add_callees(struct building *b, uint32_t at)
{
	uint32_t caller = b->out->contexts[at].function, count;
	int status = 0;
	for (size_t site = b->graph->first[caller]; site < b->graph->first[caller + 1]; site++) {
		uint32_t target = target_of(b, site);
		if (target == NONE)
			continue;
		const uint32_t *callees = sn_gpu_call_graph_members(b->graph, target, &count);
		for (uint32_t i = 0; i < count && status == 0; i++)
			if (b->is_active[alone(b, callees[i])])
				status =
				    add(b, (struct sn_gpu_context){at, SN_GPU_CONTEXT_FUNCTION,
								   callees[i], (uint32_t)site, 0});
	}
	return status;
}

static int find_paths(struct building *b)
{
	const struct sn_gpu_call_graph *graph = b->graph;
	int status = building_init(b);
	if (status != 0)
		return status;
	find_callers(b);
	for (size_t site = 0; site < graph->site_count; site++)
		if (graph->targets[site] != NONE)
			b->is_reached[graph->targets[site]] = 1;
	for (uint32_t i = 0; i < graph->function_count && status == 0; i++)
		if (b->is_active[alone(b, i)] && !is_reached(b, i))
			status = add(
			    b, (struct sn_gpu_context){NONE, SN_GPU_CONTEXT_FUNCTION, i, NONE, 0});
	for (uint32_t i = 0; i < b->out->count && status == 0; i++)
		status = add_callees(b, i);
	return status != 0 ? status : index_contexts(graph, b->out);
}

int sn_gpu_contexts_find(const struct sn_gpu_call_graph *graph, const double *measured,
			 struct sn_gpu_contexts *contexts)
{
	struct building b = {.graph = graph, .out = contexts, .root = NONE, .measured = measured};
	*contexts = (struct sn_gpu_contexts){0};
	int status = find_paths(&b);
	sn_arena_release(&b.arena);
	return status;
}

int sn_gpu_contexts_share(const struct sn_gpu_call_graph *graph, const uint8_t *is_entered,
			  const double *weights, struct sn_gpu_contexts *contexts)
{
	struct building b = {.graph = graph, .root = NONE, .weights = weights};
	if (building_init(&b) != 0) {
		sn_arena_release(&b.arena);
		return SN_ERR_MEMORY;
	}
	for (uint32_t i = graph->function_count; i-- > 0;) {
		uint32_t function = graph->members[i];
		b.is_reached[alone(&b, function)] |= is_entered[function];
		reach_callees(&b, function);
	}
	sum_calls(&b);
	for (uint32_t i = 0; i < contexts->count; i++) {
		struct sn_gpu_context *context = &contexts->contexts[i];
		double above = context->parent == NONE ? is_entered[context->function]
						       : contexts->contexts[context->parent].share;
		/* calls of what is not reached are not among those that were counted */
		context->share = above == 0 || context->parent == NONE
				     ? above
				     : above * part_of_calls(&b, context->site, context->function);
	}
	sn_arena_release(&b.arena);
	return 0;
}

void sn_gpu_contexts_release(struct sn_gpu_contexts *contexts)
{
	free(contexts->contexts);
	free(contexts->first);
	free(contexts->by_function);
	*contexts = (struct sn_gpu_contexts){0};
}
