/* SPDX-License-Identifier: Apache-2.0 */
/* Calling contexts of GPU functions, worked out by hand, and properties of random call graphs. */
#include "aggregate/gpu_context/gpu_context.h"
#include "base/error.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define NONE SN_GPU_CONTEXT_NONE

enum { A, B, C, D, E, F };

struct call {
	uint32_t caller, callee;
	double weight;
};

/* Prints "A 1|B 1|B>D 0.25": each context as its path, letters and shares, sorted by appearance. */
static void describe(const struct sn_gpu_contexts *contexts, char *text, size_t size)
{
	size_t at = 0;
	text[0] = '\0';
	for (uint32_t i = 0; i < contexts->count; i++) {
		char path[64];
		size_t begin = sizeof(path) - 1;
		path[begin] = '\0';
		for (uint32_t j = i; j != NONE; j = contexts->contexts[j].parent) {
			const struct sn_gpu_context *context = &contexts->contexts[j];
			path[--begin] = context->kind == SN_GPU_CONTEXT_FUNCTION
					    ? (char)('A' + context->function)
					: context->kind == SN_GPU_CONTEXT_CYCLE ? '('
										: '*';
		}
		at += (size_t)snprintf(text + at, size - at, "%s%s=%g", i ? " " : "", path + begin,
				       contexts->contexts[i].share);
	}
}

static void check(const struct call *calls, size_t count, const double *measured,
		  uint32_t functions, uint32_t limit, const char *expected)
{
	struct sn_gpu_call_site sites[64];
	double weights[64];
	struct sn_gpu_call_graph *graph;
	struct sn_gpu_contexts contexts;
	char text[1024];
	for (size_t i = 0; i < count; i++)
		sites[i] = (struct sn_gpu_call_site){calls[i].caller, calls[i].callee, i * 16};
	assert_int_equal(
	    sn_gpu_call_graph_new(functions, sites, count, SN_GPU_RECURSION_ALL, &graph), 0);
	assert_int_equal(graph->site_count, count);
	for (size_t i = 0; i < count; i++)
		weights[i] = calls[graph->sites[i].address / 16].weight;
	assert_int_equal(sn_gpu_contexts_build(graph, A, measured, weights, limit, &contexts), 0);
	describe(&contexts, text, sizeof(text));
	assert_string_equal(text, expected);
	sn_gpu_contexts_release(&contexts);
	sn_gpu_call_graph_free(graph);
}

#define CHECK(calls, measured, limit, expected)                                                    \
	check(calls, sizeof(calls) / sizeof((calls)[0]), measured,                                 \
	      sizeof(measured) / sizeof((measured)[0]), limit, expected)

/* As in the paper's figure 5: A to B has no sampled call and gets one; D and E are a component. */
static void the_figure_of_the_paper(void **state)
{
	static const struct call calls[] = {{A, B, 0}, {A, C, 2}, {B, D, 1},
					    {C, D, 3}, {D, E, 1}, {E, D, 1}};
	static const double measured[] = {10, 4, 6, 8, 2};
	CHECK(calls, measured, 0,
	      "A=1 AB=1 AC=1 AB(=0.25 AB(D=0.25 AB(E=0.25 AC(=0.75 AC(D=0.75 AC(E=0.75");
}

static void calls_share_by_their_weights(void **state)
{
	static const struct call calls[] = {{A, B, 6}, {A, B, 2}, {A, C, 1}, {B, C, 3}};
	static const double measured[] = {1, 1, 1};
	CHECK(calls, measured, 0, "A=1 AB=0.75 AB=0.25 AC=0.25 ABC=0.5625 ABC=0.1875");
}

/* C was measured, no call on the way to it: all calls on the way weigh 1, those of B too. */
static void weights_propagate_to_the_kernel(void **state)
{
	static const struct call calls[] = {{A, B, 0}, {B, C, 0}, {A, C, 0}, {A, D, 0}};
	static const double measured[] = {0, 0, 5, 0};
	CHECK(calls, measured, 0, "A=1 AB=1 AC=0.5 ABC=0.5");
}

/* D is called by B and C; only C's call was measured. B leads to nothing and is not there. */
static void a_measured_call_excludes_the_others(void **state)
{
	static const struct call calls[] = {{A, B, 0}, {A, C, 0}, {B, D, 0}, {C, D, 2}};
	static const double measured[] = {1, 0, 3, 4};
	CHECK(calls, measured, 0, "A=1 AC=1 ACD=1");
}

static void recursion(void **state)
{
	/* the only measured call of B is its own: A's weighs 1 nevertheless */
	static const struct call calls[] = {{A, B, 0}, {B, B, 7}, {B, C, 1}};
	static const double measured[] = {1, 9, 2};
	CHECK(calls, measured, 0, "A=1 AB=1 ABC=1");
	/* entered at both functions, by calls of different weight */
	static const struct call mutual[] = {{A, B, 1}, {A, C, 3}, {B, C, 5}, {C, B, 5}, {C, D, 2}};
	static const double values[] = {1, 2, 2, 2};
	CHECK(mutual, values, 0,
	      "A=1 A(=0.25 A(B=0.25 A(C=0.25 A(=0.75 A(B=0.75 A(C=0.75 A(CD=0.25 A(CD=0.75");
	/* the kernel itself in a circle */
	static const struct call around[] = {{A, B, 1}, {B, A, 1}};
	static const double both[] = {1, 1};
	CHECK(around, both, 0, "(=1 (A=1 (B=1");
}

static void functions_that_no_known_call_leads_to(void **state)
{
	/* D calls E and nobody calls D; C was not measured */
	static const struct call calls[] = {{A, B, 1}, {D, E, 0}, {C, D, 0}};
	static const double measured[] = {1, 1, 0, 1, 1};
	CHECK(calls, measured, 0, "A=1 AB=1 AC=1 ACD=1 ACDE=1");
	/* a caller that was not measured is no reason where the kernel calls it too */
	static const struct call known[] = {{A, B, 0}, {C, B, 0}};
	static const double one[] = {1, 1, 0};
	CHECK(known, one, 0, "A=1 AB=1");
}

static void too_many_contexts_are_merged(void **state)
{
	static const struct call calls[] = {{A, B, 1}, {A, B, 1}, {B, C, 1}, {B, C, 1}};
	static const double measured[] = {1, 1, 1};
	CHECK(calls, measured, 5, "A=1 AB=0.5 AB=0.5 ABC=0.25 A*=1 A*C=0.75");
	CHECK(calls, measured, 2, "A=1 A*=1 A*B=1 A*C=1");
}

static void nothing_measured(void **state)
{
	static const struct call calls[] = {{A, B, 0}};
	static const double measured[] = {0, 0};
	CHECK(calls, measured, 0, "A=1");
}

static void wrong_numbers(void **state)
{
	struct sn_gpu_call_graph *graph;
	struct sn_gpu_contexts contexts;
	static const struct sn_gpu_call_site site = {0, 2, 0};
	static const double measured[2];
	assert_int_equal(sn_gpu_call_graph_new(2, &site, 1, SN_GPU_RECURSION_ALL, &graph),
			 SN_ERR_ARGUMENT);
	assert_int_equal(sn_gpu_call_graph_new(2, NULL, 0, SN_GPU_RECURSION_ALL, &graph), 0);
	assert_int_equal(sn_gpu_contexts_build(graph, 2, measured, measured, 0, &contexts),
			 SN_ERR_ARGUMENT);
	sn_gpu_call_graph_free(graph);
}

/* The same by HPCToolkit's rule: all paths, of which those count that begin where `entered` says.
 */
static void check_paths(const struct call *calls, size_t count, const double *measured,
			const uint8_t *entered, uint32_t functions, const char *expected)
{
	struct sn_gpu_call_site sites[64];
	double weights[64];
	struct sn_gpu_call_graph *graph;
	struct sn_gpu_contexts contexts;
	uint32_t paths[8];
	char text[1024];
	for (size_t i = 0; i < count; i++)
		sites[i] = (struct sn_gpu_call_site){calls[i].caller, calls[i].callee, i * 16};
	assert_int_equal(
	    sn_gpu_call_graph_new(functions, sites, count, SN_GPU_RECURSION_ROOT, &graph), 0);
	for (size_t i = 0; i < count; i++)
		weights[i] = calls[graph->sites[i].address / 16].weight;
	assert_int_equal(sn_gpu_contexts_find(graph, measured, &contexts), 0);
	assert_int_equal(sn_gpu_contexts_share(graph, entered, weights, &contexts), 0);
	describe(&contexts, text, sizeof(text));
	assert_string_equal(text, expected);
	assert_int_equal(sn_gpu_call_graph_count_paths(graph, 100, 100, paths), 0);
	for (uint32_t i = 0; i < functions; i++)
		if (measured[i] > 0)
			assert_int_equal(paths[i], contexts.first[i + 1] - contexts.first[i]);
	sn_gpu_contexts_release(&contexts);
	sn_gpu_call_graph_free(graph);
}

#define CHECK_PATHS(calls, measured, entered, expected)                                            \
	check_paths(calls, sizeof(calls) / sizeof((calls)[0]), measured, entered,                  \
		    sizeof(measured) / sizeof((measured)[0]), expected)

/* B is the root of the cycle: a call to it leads to B and C, one to C to C alone. */
static void calls_to_the_root_of_a_cycle_lead_to_all(void **state)
{
	static const struct call calls[] = {{A, B, 30}, {A, C, 10}, {B, C, 5}, {C, B, 5}};
	static const double measured[] = {0, 1, 1};
	static const uint8_t entered[] = {1, 0, 0}, nowhere[] = {0, 0, 0};
	CHECK_PATHS(calls, measured, entered, "A=1 AB=1 AC=0.75 AC=0.25");
	CHECK_PATHS(calls, measured, nowhere, "A=0 AB=0 AC=0 AC=0");
	/* only B is wanted */
	static const double one[] = {0, 1, 0};
	CHECK_PATHS(calls, one, entered, "A=1 AB=1");
	/* nobody outside calls the root: both are found by way of C; equal calls are one */
	static const struct call other[] = {{A, C, 10}, {B, C, 5}, {C, B, 5}};
	CHECK_PATHS(other, measured, entered, "A=1 AB=1 AC=1");
}

static void paths_begin_where_execution_can_have_begun(void **state)
{
	/* D's call was measured, but D was not launched: A has all of C, and nothing tells B's two
	 * calls apart */
	static const struct call calls[] = {{A, C, 0}, {D, C, 7}, {A, B, 0}, {A, B, 0}};
	static const double measured[] = {0, 1, 1, 0};
	static const uint8_t one[] = {1, 0, 0, 0}, both[] = {1, 0, 0, 1};
	CHECK_PATHS(calls, measured, one, "A=1 D=0 AC=1 AB=0.5 AB=0.5 DC=0");
	CHECK_PATHS(calls, measured, both, "A=1 D=1 AC=0 AB=0.5 AB=0.5 DC=1");
	/* what is not measured and leads to nothing that is, is not there */
	static const double little[] = {0, 0, 1, 0};
	CHECK_PATHS(calls, little, both, "A=1 D=1 AC=0 DC=1");
}

static void paths_are_counted_to_a_limit(void **state)
{
	struct sn_gpu_call_site sites[40];
	struct sn_gpu_call_graph *graph;
	uint32_t paths[21];
	for (uint32_t i = 0; i < 40; i++)
		sites[i] = (struct sn_gpu_call_site){i / 2, i / 2 + 1, i * 16};
	assert_int_equal(sn_gpu_call_graph_new(21, sites, 40, SN_GPU_RECURSION_ROOT, &graph), 0);
	assert_int_equal(sn_gpu_call_graph_count_paths(graph, 1000, 20, paths), 0);
	for (uint32_t i = 0; i < 21; i++)
		assert_int_equal(paths[i], i < 10 ? 1u << i : 1001);
	assert_int_equal(sn_gpu_call_graph_count_paths(graph, 1000, 3, paths), 0);
	assert_int_equal(paths[3], 8);
	assert_int_equal(paths[4], 1001);
	sn_gpu_call_graph_free(graph);
}

static uint32_t random_state;

static uint32_t below(uint32_t bound)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(random_state >> 8) * bound >> 24);
}

struct random_graph {
	uint32_t functions;
	size_t sites;
	struct sn_gpu_call_site calls[64];
	double weights[64], measured[24];
};

static void make_random(struct random_graph *random, uint32_t seed)
{
	random_state = seed;
	random->functions = 1 + below(24);
	random->sites = below(64);
	for (size_t i = 0; i < random->sites; i++) {
		random->calls[i] = (struct sn_gpu_call_site){below(random->functions),
							     below(random->functions), i * 16};
		random->weights[i] = below(2) ? below(1000) : 0;
	}
	for (uint32_t i = 0; i < random->functions; i++)
		random->measured[i] = below(3) ? below(1000000) : 0;
}

static void check_tree(const struct sn_gpu_contexts *contexts, const struct sn_gpu_call_site *sites)
{
	for (uint32_t i = 0; i < contexts->count; i++) {
		const struct sn_gpu_context *context = &contexts->contexts[i];
		assert_true(i == 0 ? context->parent == NONE : context->parent < i);
		assert_true(context->share > 0 && context->share <= 1 + 1e-12);
		if (context->site == NONE)
			continue;
		const struct sn_gpu_context *caller = &contexts->contexts[context->parent];
		assert_int_equal(caller->kind, SN_GPU_CONTEXT_FUNCTION);
		assert_int_equal(caller->function, sites[context->site].caller);
		if (context->kind == SN_GPU_CONTEXT_FUNCTION)
			assert_int_equal(context->function, sites[context->site].callee);
		assert_true(context->share <= caller->share * (1 + 1e-12));
	}
}

static void check_totals(const struct random_graph *random, const struct sn_gpu_contexts *contexts)
{
	for (uint32_t i = 0; i < random->functions; i++) {
		double sum = 0;
		for (uint32_t j = contexts->first[i]; j < contexts->first[i + 1]; j++)
			sum += contexts->contexts[contexts->by_function[j]].share;
		if (random->measured[i] > 0)
			assert_true(contexts->first[i] < contexts->first[i + 1]);
		if (contexts->first[i] < contexts->first[i + 1])
			assert_true(fabs(sum - 1) <= 1e-9);
	}
}

static void build_random(const struct random_graph *random, uint32_t limit,
			 struct sn_gpu_contexts *contexts, bool reversed)
{
	struct sn_gpu_call_site calls[64];
	double weights[64];
	struct sn_gpu_call_graph *graph;
	for (size_t i = 0; i < random->sites; i++)
		calls[i] = random->calls[reversed ? random->sites - 1 - i : i];
	assert_int_equal(sn_gpu_call_graph_new(random->functions, calls, random->sites,
					       SN_GPU_RECURSION_ALL, &graph),
			 0);
	for (size_t i = 0; i < graph->site_count; i++)
		weights[i] = random->weights[graph->sites[i].address / 16];
	assert_int_equal(
	    sn_gpu_contexts_build(graph, 0, random->measured, weights, limit, contexts), 0);
	check_tree(contexts, graph->sites);
	sn_gpu_call_graph_free(graph);
}

static void random_graphs_keep_their_totals(void **state)
{
	for (uint32_t seed = 1; seed <= 3000; seed++) {
		struct random_graph random;
		struct sn_gpu_contexts contexts, again;
		make_random(&random, seed * 7919);
		uint32_t limit = seed % 3 == 0 ? 1 + below(20) : 5000;
		build_random(&random, limit, &contexts, false);
		build_random(&random, limit, &again, true);
		check_totals(&random, &contexts);
		assert_true(contexts.count <= limit + random.functions * 2 + 2);
		assert_int_equal(contexts.count, again.count);
		assert_memory_equal(contexts.contexts, again.contexts,
				    contexts.count * sizeof(*contexts.contexts));
		sn_gpu_contexts_release(&contexts);
		sn_gpu_contexts_release(&again);
	}
}

/* ---- without circles: worked out by the definition, slowly ---- */

static bool has_weighty_call(const struct random_graph *random, uint32_t function)
{
	for (size_t i = 0; i < random->sites; i++)
		if (random->calls[i].callee == function && random->weights[i] > 0)
			return true;
	return false;
}

/* Until nothing changes: what is needed and has no call that weighs gets all its calls weigh 1, and
 * who calls it by one that weighs is needed. */
static void weigh_naively(struct random_graph *random, bool *is_needed)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t f = 0; f < random->functions; f++) {
			if (!is_needed[f])
				continue;
			bool is_weighed = has_weighty_call(random, f);
			for (size_t i = 0; i < random->sites; i++) {
				if (random->calls[i].callee != f)
					continue;
				if (!is_weighed)
					random->weights[i] = 1;
				if (random->weights[i] > 0 && !is_needed[random->calls[i].caller])
					changed = is_needed[random->calls[i].caller] = true;
			}
		}
	}
}

/* Ways to a function by calls that weigh. */
static unsigned count_ways(const struct random_graph *random, uint32_t function)
{
	unsigned ways = has_weighty_call(random, function) ? 0 : 1;
	for (size_t i = 0; i < random->sites; i++)
		if (random->calls[i].callee == function && random->weights[i] > 0)
			ways += count_ways(random, random->calls[i].caller);
	return ways;
}

/* The part of a function's calls that one of them is. */
static double part_of_call(const struct random_graph *random, const struct sn_gpu_call_site *site)
{
	double sum = 0;
	for (size_t i = 0; i < random->sites; i++)
		if (random->calls[i].callee == site->callee)
			sum += random->weights[i];
	return random->weights[site->address / 16] / sum;
}

static void check_against_naive(struct random_graph *random, const struct sn_gpu_contexts *contexts,
				const struct sn_gpu_call_site *sites)
{
	bool is_needed[24] = {false};
	for (uint32_t f = 0; f < random->functions; f++)
		is_needed[f] = random->measured[f] > 0;
	weigh_naively(random, is_needed);
	for (uint32_t f = 1; f < random->functions; f++)
		assert_int_equal(contexts->first[f + 1] - contexts->first[f],
				 is_needed[f] ? count_ways(random, f) : 0);
	for (uint32_t i = 0; i < contexts->count; i++) {
		double share = 1;
		for (uint32_t at = i; at != NONE; at = contexts->contexts[at].parent)
			if (contexts->contexts[at].site != NONE)
				share *= part_of_call(random, sites + contexts->contexts[at].site);
		assert_true(fabs(contexts->contexts[i].share - share) <= 1e-12);
	}
}

static void random_graphs_without_circles(void **state)
{
	for (uint32_t seed = 1; seed <= 3000; seed++) {
		struct random_graph random;
		struct sn_gpu_contexts contexts;
		struct sn_gpu_call_graph *graph;
		double weights[64];
		make_random(&random, seed * 104729);
		random.functions = 2 + below(9);
		random.sites = random.functions - 1 + below(6);
		for (uint32_t i = 0; i < random.sites; i++) {
			/* the kernel leads to each */
			uint32_t callee =
			    i + 1 < random.functions ? i + 1 : 1 + below(random.functions - 1);
			random.calls[i] = (struct sn_gpu_call_site){below(callee), callee, i * 16};
		}
		assert_int_equal(sn_gpu_call_graph_new(random.functions, random.calls, random.sites,
						       SN_GPU_RECURSION_ALL, &graph),
				 0);
		for (size_t i = 0; i < graph->site_count; i++)
			weights[i] = random.weights[graph->sites[i].address / 16];
		assert_int_equal(
		    sn_gpu_contexts_build(graph, 0, random.measured, weights, 0, &contexts), 0);
		check_tree(&contexts, graph->sites);
		check_totals(&random, &contexts);
		check_against_naive(&random, &contexts, graph->sites);
		sn_gpu_contexts_release(&contexts);
		sn_gpu_call_graph_free(graph);
	}
}

/* A ladder of 60 functions, each called twice by the one before: 2^60 contexts. */
static void exponentially_many_contexts(void **state)
{
	struct sn_gpu_call_site sites[118];
	double weights[118], measured[60];
	struct sn_gpu_call_graph *graph;
	struct sn_gpu_contexts contexts;
	for (uint32_t i = 0; i < 118; i++) {
		sites[i] = (struct sn_gpu_call_site){i / 2, i / 2 + 1, i * 16};
		weights[i] = 1 + i % 2;
	}
	for (uint32_t i = 0; i < 60; i++)
		measured[i] = 1;
	assert_int_equal(sn_gpu_call_graph_new(60, sites, 118, SN_GPU_RECURSION_ALL, &graph), 0);
	assert_int_equal(sn_gpu_contexts_build(graph, 0, measured, weights, 0, &contexts), 0);
	assert_true(contexts.count <= SN_GPU_CONTEXTS_MAX + 61);
	for (uint32_t i = 0; i < 60; i++) {
		double sum = 0;
		for (uint32_t j = contexts.first[i]; j < contexts.first[i + 1]; j++)
			sum += contexts.contexts[contexts.by_function[j]].share;
		assert_true(fabs(sum - 1) <= 1e-9);
	}
	sn_gpu_contexts_release(&contexts);
	sn_gpu_call_graph_free(graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_figure_of_the_paper),
	    cmocka_unit_test(calls_share_by_their_weights),
	    cmocka_unit_test(weights_propagate_to_the_kernel),
	    cmocka_unit_test(a_measured_call_excludes_the_others),
	    cmocka_unit_test(recursion),
	    cmocka_unit_test(functions_that_no_known_call_leads_to),
	    cmocka_unit_test(too_many_contexts_are_merged),
	    cmocka_unit_test(nothing_measured),
	    cmocka_unit_test(wrong_numbers),
	    cmocka_unit_test(calls_to_the_root_of_a_cycle_lead_to_all),
	    cmocka_unit_test(paths_begin_where_execution_can_have_begun),
	    cmocka_unit_test(paths_are_counted_to_a_limit),
	    cmocka_unit_test(random_graphs_keep_their_totals),
	    cmocka_unit_test(random_graphs_without_circles),
	    cmocka_unit_test(exponentially_many_contexts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
