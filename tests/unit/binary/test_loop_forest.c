/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loop forests: known graphs, and random ones against the definition itself, which is slow and
 * obvious: the loop of a header is what can come back to it without leaving its subtree of the
 * depth-first search (Havlak, section 3).
 */
#include "binary/structure/loop_forest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BLOCKS_MAX 24
#define EDGES_MAX  64

struct known {
	const char *name;
	uint32_t blocks;
	struct sn_flow_edge edges[16];
	uint32_t edge_count;
	/* by block: the headers around it, outermost first, as letters */
	const char *nests[BLOCKS_MAX];
	const char *irreducible; /* headers */
};

static const struct known knowns[] = {
    {"straight", 3, {{0, 1}, {1, 2}}, 2, {"", "", ""}, ""},
    {"itself", 3, {{0, 1}, {1, 1}, {1, 2}}, 3, {"", "b", ""}, ""},
    {"nest of three",
     7,
     {{0, 1}, {1, 2}, {2, 3}, {3, 3}, {3, 4}, {4, 2}, {4, 5}, {5, 1}, {5, 6}},
     9,
     {"", "b", "bc", "bcd", "bc", "b", ""},
     ""},
    {"two back edges to one header are one loop",
     5,
     {{0, 1}, {1, 2}, {2, 1}, {2, 3}, {3, 1}, {3, 4}},
     6,
     {"", "b", "b", "b", ""},
     ""},
    {"two beside each other",
     4,
     {{0, 1}, {1, 1}, {1, 2}, {2, 2}, {2, 3}},
     5,
     {"", "b", "c", ""},
     ""},
    {"entered at both ends",
     4,
     {{0, 1}, {0, 2}, {1, 2}, {2, 1}, {2, 3}},
     5,
     {"", "b", "b", ""},
     "b"},
    {"irreducible in a reducible one",
     6,
     {{0, 1}, {1, 2}, {1, 3}, {2, 3}, {3, 2}, {3, 4}, {4, 1}, {4, 5}},
     8,
     {"", "b", "bc", "bc", "b", ""},
     "c"},
    {"jump into the inner of two",
     5,
     {{0, 1}, {0, 3}, {1, 2}, {2, 3}, {3, 2}, {3, 1}, {3, 4}},
     7,
     {"", "b", "bc", "bc", ""},
     "bc"},
    {"catch that goes on in the loop", /* block 4 is reached by no edge */
     6,
     {{0, 1}, {1, 2}, {2, 1}, {2, 3}, {4, 2}, {5, 5}},
     6,
     {"", "b", "b", "", "", "f"},
     ""},
};

static void nest_of(const struct sn_loop_forest *forest, uint32_t block, char *nest)
{
	uint32_t depth = 0;
	uint32_t loop = forest->block_loops[block];
	if (loop != SN_FLOW_NONE)
		depth = forest->loops[loop].depth;
	nest[depth] = '\0';
	for (; loop != SN_FLOW_NONE; loop = forest->loops[loop].parent)
		nest[--depth] = (char)('a' + forest->loops[loop].header);
	assert_int_equal(depth, 0);
}

static void test_known(void **state)
{
	struct sn_loop_forest forest = {0};
	(void)state;
	for (size_t i = 0; i < sizeof(knowns) / sizeof(knowns[0]); i++) {
		const struct known *known = &knowns[i];
		struct sn_flow_graph graph = {.edges = (struct sn_flow_edge *)known->edges,
					      .block_count = known->blocks,
					      .edge_count = known->edge_count};
		char irreducible[BLOCKS_MAX + 1] = "";
		print_message("%s\n", known->name);
		assert_int_equal(sn_loop_forest_build(&forest, &graph), 0);
		for (uint32_t block = 0; block < known->blocks; block++) {
			char nest[BLOCKS_MAX + 1];
			nest_of(&forest, block, nest);
			assert_string_equal(nest, known->nests[block]);
		}
		for (uint32_t loop = 0; loop < forest.loop_count; loop++)
			if (forest.loops[loop].is_irreducible)
				irreducible[strlen(irreducible)] =
				    (char)('a' + forest.loops[loop].header);
		assert_string_equal(irreducible, known->irreducible);
	}
	sn_loop_forest_release(&forest);
}

/* ---- the definition ---- */

struct oracle {
	const struct sn_flow_graph *graph;
	uint32_t order[BLOCKS_MAX]; /* preorder number of a block */
	uint32_t last[BLOCKS_MAX];  /* ... the greatest below it */
	uint32_t tree[BLOCKS_MAX];
	uint32_t count, trees;
	bool body[BLOCKS_MAX][BLOCKS_MAX]; /* by header, block */
	bool has_loop[BLOCKS_MAX];
};

static void visit(struct oracle *oracle, uint32_t block)
{
	oracle->order[block] = oracle->count++;
	oracle->tree[block] = oracle->trees;
	for (uint32_t i = 0; i < oracle->graph->edge_count; i++) {
		const struct sn_flow_edge *edge = &oracle->graph->edges[i];
		if (edge->from == block && oracle->order[edge->to] == SN_FLOW_NONE)
			visit(oracle, edge->to);
	}
	oracle->last[block] = oracle->count - 1;
}

static bool is_below(const struct oracle *oracle, uint32_t block, uint32_t top)
{
	return oracle->order[block] >= oracle->order[top] &&
	       oracle->order[block] <= oracle->last[top];
}

static void find_body(struct oracle *oracle, uint32_t header)
{
	bool *body = oracle->body[header];
	bool changed = true;
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < oracle->graph->edge_count; i++) {
			uint32_t from = oracle->graph->edges[i].from;
			uint32_t to = oracle->graph->edges[i].to;
			if (!is_below(oracle, from, header) || body[from])
				continue;
			if (to != header && !body[to])
				continue;
			if (to == header)
				oracle->has_loop[header] = true;
			body[from] = changed = true;
		}
	}
	body[header] = oracle->has_loop[header];
}

static void consult(struct oracle *oracle, const struct sn_flow_graph *graph)
{
	bool has_source[BLOCKS_MAX] = {false};
	memset(oracle, 0, sizeof(*oracle));
	oracle->graph = graph;
	memset(oracle->order, 0xff, sizeof(oracle->order));
	for (uint32_t i = 0; i < graph->edge_count; i++)
		has_source[graph->edges[i].to] = true;
	visit(oracle, graph->entry);
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < graph->block_count; i++)
			if (oracle->order[i] == SN_FLOW_NONE && (pass == 1 || !has_source[i])) {
				oracle->trees++;
				visit(oracle, i);
			}
	for (uint32_t i = 0; i < graph->block_count; i++)
		find_body(oracle, i);
}

static uint32_t innermost(const struct oracle *oracle, uint32_t block, uint32_t except)
{
	uint32_t best = SN_FLOW_NONE;
	for (uint32_t header = 0; header < oracle->graph->block_count; header++)
		if (oracle->body[header][block] && header != except &&
		    (best == SN_FLOW_NONE || oracle->order[header] > oracle->order[best]))
			best = header;
	return best;
}

static bool is_irreducible(const struct oracle *oracle, uint32_t header)
{
	for (uint32_t i = 0; i < oracle->graph->edge_count; i++) {
		uint32_t from = oracle->graph->edges[i].from, to = oracle->graph->edges[i].to;
		if (to != header && oracle->body[header][to] && !oracle->body[header][from] &&
		    oracle->tree[from] == oracle->tree[header])
			return true;
	}
	return false;
}

static void check_against_definition(const struct sn_flow_graph *graph,
				     struct sn_loop_forest *forest)
{
	struct oracle oracle;
	uint32_t loops = 0;
	consult(&oracle, graph);
	assert_int_equal(sn_loop_forest_build(forest, graph), 0);
	for (uint32_t i = 0; i < graph->block_count; i++) {
		uint32_t loop = forest->block_loops[i];
		uint32_t header = loop == SN_FLOW_NONE ? SN_FLOW_NONE : forest->loops[loop].header;
		assert_int_equal(header, innermost(&oracle, i, SN_FLOW_NONE));
		loops += oracle.has_loop[i];
	}
	assert_int_equal(forest->loop_count, loops);
	for (uint32_t i = 0; i < loops; i++) {
		const struct sn_loop *loop = &forest->loops[i];
		uint32_t around = innermost(&oracle, loop->header, loop->header);
		assert_int_equal(loop->parent == SN_FLOW_NONE ? SN_FLOW_NONE
							      : forest->loops[loop->parent].header,
				 around);
		assert_true(loop->parent == SN_FLOW_NONE || loop->parent < i);
		assert_int_equal(loop->is_irreducible, is_irreducible(&oracle, loop->header));
	}
}

static void test_random(void **state)
{
	struct sn_loop_forest forest = {0};
	uint32_t seed = 12345;
	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct sn_flow_edge edges[EDGES_MAX];
		struct sn_flow_graph graph = {.edges = edges};
#define RANDOM(below) ((seed = seed * 1664525u + 1013904223u) >> 8) % (below)
		graph.block_count = 1 + RANDOM(BLOCKS_MAX);
		graph.edge_count = RANDOM(graph.block_count * 2u + 1);
		graph.entry = RANDOM(graph.block_count);
		for (uint32_t i = 0; i < graph.edge_count; i++) {
			edges[i].from = RANDOM(graph.block_count);
			edges[i].to = RANDOM(graph.block_count);
		}
		check_against_definition(&graph, &forest);
	}
	sn_loop_forest_release(&forest);
}

/* What takes quadratic time in Havlak's own way, and a stack as deep as the function is long. */
static void test_large(void **state)
{
	enum { BLOCKS = 200000 };
	struct sn_loop_forest forest = {0};
	struct sn_flow_edge *edges = malloc(3 * BLOCKS * sizeof(*edges));
	struct sn_flow_graph graph = {.edges = edges, .block_count = BLOCKS};
	(void)state;
	for (uint32_t i = 0; i + 1 < BLOCKS; i++) {
		edges[graph.edge_count++] = (struct sn_flow_edge){i, i + 1};
		edges[graph.edge_count++] = (struct sn_flow_edge){BLOCKS - 1 - i / 2, i};
		edges[graph.edge_count++] = (struct sn_flow_edge){0, i + 1};
	}
	assert_int_equal(sn_loop_forest_build(&forest, &graph), 0);
	/* those whose second edge goes back: i <= BLOCKS - 1 - i / 2 */
	assert_int_equal(forest.loop_count, 2 * BLOCKS / 3 + 1);
	free(edges);
	sn_loop_forest_release(&forest);
}

static void test_wrong(void **state)
{
	struct sn_loop_forest forest = {0};
	struct sn_flow_edge edge = {0, 2};
	struct sn_flow_graph graph = {.edges = &edge, .block_count = 2, .edge_count = 1};
	(void)state;
	assert_int_equal(sn_loop_forest_build(&forest, &graph), -5);
	edge.to = 1;
	graph.entry = 2;
	assert_int_equal(sn_loop_forest_build(&forest, &graph), -5);
	graph.block_count = 0;
	assert_int_equal(sn_loop_forest_build(&forest, &graph), 0);
	assert_int_equal(forest.loop_count, 0);
	sn_loop_forest_release(&forest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_known),
	    cmocka_unit_test(test_random),
	    cmocka_unit_test(test_large),
	    cmocka_unit_test(test_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
