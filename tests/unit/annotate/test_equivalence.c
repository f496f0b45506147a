/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of blocks and edges of random graphs beside their definition: two edges of a graph that hangs together are on the same cycles where taking both away takes it apart. */
#include "annotate/equivalence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BLOCKS = 12, EDGES = 40, LINKS = BLOCKS + EDGES + 2 * BLOCKS };

static uint32_t state;

static uint32_t below(uint32_t most)
{
	state = state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(state >> 8) * most >> 24);
}

struct drawn {
	struct sn_flow_block blocks[BLOCKS];
	struct sn_flow_edge edges[EDGES];
	struct sn_flow_graph graph;
};

/* Edges may lead to a block itself, and twice to one. */
static void draw(struct drawn *drawn, uint32_t seed)
{
	state = seed;
	drawn->graph =
	    (struct sn_flow_graph){drawn->blocks, drawn->edges, 2 + below(BLOCKS - 1), 0, 0};
	uint32_t blocks = drawn->graph.block_count, wanted = below(2 * blocks) + blocks / 2;
	for (uint32_t edge = 0; edge < wanted; edge++) {
		uint32_t from = below(blocks);
		uint32_t to = below(3) ? from + 1 : below(blocks);
		drawn->edges[drawn->graph.edge_count++] =
		    (struct sn_flow_edge){from, to % blocks, below(12) == 0};
	}
}

struct links {
	uint32_t a[LINKS], b[LINKS], count;
};

static bool holds_together(const struct links *links, uint32_t nodes, uint32_t without,
			   uint32_t and_without)
{
	bool seen[2 * BLOCKS + 1] = {false};
	uint32_t count = 1;
	seen[nodes - 1] = true;
	for (bool has_grown = true; has_grown;) {
		has_grown = false;
		for (uint32_t link = 0; link < links->count; link++) {
			if (link == without || link == and_without ||
			    seen[links->a[link]] == seen[links->b[link]])
				continue;
			seen[links->a[link]] = seen[links->b[link]] = has_grown = true;
			count++;
		}
	}
	return count == nodes;
}

/* The same graph, as the header says it is. */
static void link_up(const struct sn_flow_graph *graph, struct links *links)
{
	uint32_t blocks = graph->block_count, outside = 2 * blocks;
	links->count = 0;
	for (uint32_t block = 0; block < blocks; block++) {
		links->a[links->count] = 2 * block;
		links->b[links->count++] = 2 * block + 1;
	}
	for (uint32_t edge = 0; edge < graph->edge_count; edge++)
		if (!graph->edges[edge].is_throw) {
			links->a[links->count] = 2 * graph->edges[edge].from + 1;
			links->b[links->count++] = 2 * graph->edges[edge].to;
		}
	for (int way = 0; way < 2; way++) {
		bool seen[BLOCKS] = {false};
		for (int round = 0; round < 2; round++)
			for (uint32_t i = 0; i < blocks; i++) {
				uint32_t block = way ? blocks - 1 - i : i;
				bool is_end = way || block == graph->entry;
				for (uint32_t edge = 0; way && edge < graph->edge_count; edge++)
					is_end &= graph->edges[edge].from != block ||
						  graph->edges[edge].is_throw;
				if (round ? seen[block] : !is_end)
					continue;
				links->a[links->count] = outside;
				links->b[links->count++] = 2 * block + (way ? 1 : 0);
				seen[block] = true;
				for (uint32_t turn = 0; turn < blocks; turn++)
					for (uint32_t edge = 0; edge < graph->edge_count; edge++) {
						const struct sn_flow_edge *one =
						    &graph->edges[edge];
						if (!one->is_throw &&
						    seen[way ? one->to : one->from])
							seen[way ? one->from : one->to] = true;
					}
			}
	}
}

static void test_random_graphs(void **unused)
{
	static struct drawn drawn;
	static struct links links;
	uint32_t shared = 0;
	(void)unused;
	for (uint32_t seed = 1; seed <= 3000; seed++) {
		struct sn_equivalence found;
		draw(&drawn, seed);
		const struct sn_flow_graph *graph = &drawn.graph;
		assert_int_equal(sn_equivalence_find(&found, graph), 0);
		link_up(graph, &links);
		uint32_t classes[LINKS], count = graph->block_count;
		memcpy(classes, found.block_class, count * sizeof(*classes));
		for (uint32_t edge = 0; edge < graph->edge_count; edge++) {
			assert_true(graph->edges[edge].is_throw ==
				    (found.edge_class[edge] == SN_EQUIVALENCE_NONE));
			if (!graph->edges[edge].is_throw)
				classes[count++] = found.edge_class[edge];
		}
		for (uint32_t a = 0; a < count; a++)
			for (uint32_t b = 0; b < a; b++) {
				bool is_one =
				    !holds_together(&links, 2 * graph->block_count + 1, a, b);
				if ((classes[a] == classes[b]) != is_one)
					fail_msg("seed %u: links %u and %u: %s", seed, a, b,
						 is_one ? "are one class" : "are not one class");
				shared += is_one;
			}
		sn_equivalence_release(&found);
	}
	assert_true(shared > 10000);
}

/* A diamond: what is before and behind it runs as often as the function, and each arm with its edges. */
static void test_diamond(void **unused)
{
	struct sn_flow_block blocks[4] = {{0}};
	struct sn_flow_edge edges[] = {{0, 1, false}, {0, 2, false}, {1, 3, false}, {2, 3, false}};
	const struct sn_flow_graph graph = {blocks, edges, 4, 4, 0};
	struct sn_equivalence found;
	(void)unused;
	assert_int_equal(sn_equivalence_find(&found, &graph), 0);
	assert_int_equal(found.block_class[0], found.block_class[3]);
	assert_int_not_equal(found.block_class[1], found.block_class[2]);
	assert_int_equal(found.block_class[1], found.edge_class[0]);
	assert_int_equal(found.block_class[1], found.edge_class[2]);
	assert_int_equal(found.block_class[2], found.edge_class[3]);
	assert_int_not_equal(found.block_class[0], found.block_class[1]);
	sn_equivalence_release(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_diamond),
					   cmocka_unit_test(test_random_graphs)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
