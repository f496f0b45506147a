/* SPDX-License-Identifier: Apache-2.0 */
/* Frequencies from samples that were made of known frequencies, and that what flows in flows out. */
#include "annotate/frequency.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { BLOCKS = 40, EDGES = 100 };

/* A diamond in a loop, with a way in and one out:  0 -> 1 -> (2 | 3) -> 4 -> 1, 4 -> 5 */
static struct sn_flow_block blocks[BLOCKS];
static struct sn_flow_edge diamond[] = {{0, 1, false}, {1, 2, false}, {1, 3, false}, {2, 4, false},
					{3, 4, false}, {4, 1, false}, {4, 5, false}};
static const struct sn_flow_graph graph = {blocks, diamond, 6, 7, 0};
static const double runs[] = {10, 1000, 700, 300, 1000, 10};
static const double edge_runs[] = {10, 700, 300, 700, 300, 990, 10};

static void expect_near(double found, double wanted, double part)
{
	if (fabs(found - wanted) > part * wanted)
		fail_msg("%g, and not %g", found, wanted);
}

/* Up to a ten-thousandth of the largest flow. */
static void expect_sum(double sum, const struct sn_frequencies *found, uint32_t count,
		       uint32_t block)
{
	double most = 0;
	for (uint32_t other = 0; other < count; other++)
		most = fmax(most, found->block_count[other]);
	if (fabs(sum - found->block_count[block]) > 1e-4 * most)
		fail_msg("%g flow at a block that has %g", sum, found->block_count[block]);
}

static void expect_balance(const struct sn_flow_graph *of, const struct sn_frequencies *found,
			   uint32_t block, bool has_ways_in, bool has_ways_out)
{
	double in = 0, out = 0;
	for (uint32_t edge = 0; edge < of->edge_count; edge++) {
		in += of->edges[edge].to == block ? found->edge_count[edge] : 0;
		out += of->edges[edge].from == block ? found->edge_count[edge] : 0;
	}
	if (!has_ways_in)
		expect_sum(in, found, of->block_count, block);
	if (!has_ways_out)
		expect_sum(out, found, of->block_count, block);
}

/* Samples that agree with the model are believed, whatever the cycles of each block. */
static void test_known(void **unused)
{
	struct sn_frequency_block given[6];
	struct sn_frequencies found;
	(void)unused;
	for (int block = 0; block < 6; block++)
		given[block] = (struct sn_frequency_block){runs[block] * (block + 1), block + 1, 1};
	assert_int_equal(sn_frequencies_find(&found, &graph, given), 0);
	for (int block = 0; block < 6; block++)
		expect_near(found.block_count[block], runs[block], 0.02);
	for (int edge = 0; edge < 7; edge++)
		expect_near(found.edge_count[edge], edge_runs[edge], 0.03);
	assert_int_equal(found.block_confidence[1], SN_CONFIDENCE_HIGH);
	sn_frequencies_release(&found);
}

/* A block that took ten times as long as it should, and is in doubt, is overruled by those that run as often; a short one without samples is found by what flows around it. */
static void test_overruled(void **unused)
{
	struct sn_frequency_block given[6];
	struct sn_frequencies found;
	(void)unused;
	for (int block = 0; block < 6; block++)
		given[block] = (struct sn_frequency_block){10 * runs[block], 10, 1};
	given[4].samples *= 10;
	given[4].doubt = 40;
	given[3] = (struct sn_frequency_block){0, 0.002, 1};
	assert_int_equal(sn_frequencies_find(&found, &graph, given), 0);
	expect_near(found.block_count[4], 1000, 0.15);
	expect_near(found.block_count[1], 1000, 0.15);
	for (uint32_t block = 0; block < 6; block++)
		expect_balance(&graph, &found, block, block == 0, block == 5);
	sn_frequencies_release(&found);
}

static uint32_t state;

static uint32_t below(uint32_t most)
{
	state = state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(state >> 8) * most >> 24);
}

/* Flow is conserved in random graphs with any samples; blocks that nothing leads to, and that never end, among them. */
static void test_balance(void **unused)
{
	static struct sn_flow_edge edges[EDGES];
	(void)unused;
	for (uint32_t seed = 1; seed <= 300; seed++) {
		struct sn_flow_graph drawn = {blocks, edges, 0, 0, 0};
		struct sn_frequency_block given[BLOCKS];
		struct sn_frequencies found;
		bool is_entered[BLOCKS] = {false}, is_left[BLOCKS] = {false};
		state = seed;
		drawn.block_count = 2 + below(BLOCKS - 2);
		for (uint32_t block = 0; block < drawn.block_count; block++)
			given[block] = (struct sn_frequency_block){
			    below(3) ? below(10000) : 0, 0.5 + below(20), 1 + 0.2 * below(10)};
		for (uint32_t block = 0; block + 1 < drawn.block_count; block++) {
			edges[drawn.edge_count++] = (struct sn_flow_edge){block, block + 1, false};
			if (below(2))
				edges[drawn.edge_count++] = (struct sn_flow_edge){
				    block, 1 + below(drawn.block_count - 1), false};
		}
		assert_int_equal(sn_frequencies_find(&found, &drawn, given), 0);
		for (uint32_t edge = 0; edge < drawn.edge_count; edge++)
			is_entered[edges[edge].to] = is_left[edges[edge].from] = true;
		for (uint32_t block = 0; block < drawn.block_count; block++) {
			assert_true(found.block_count[block] >= 0 &&
				    isfinite(found.block_count[block]));
			expect_balance(&drawn, &found, block, !is_entered[block] || block == 0,
				       !is_left[block]);
		}
		sn_frequencies_release(&found);
	}
}

/* Where each block leads to each other one there is no cheap order of elimination: the solver does without. */
static void test_dense(void **unused)
{
	enum { ALL = 110 };
	static struct sn_flow_block many[ALL];
	static struct sn_flow_edge edges[ALL * ALL];
	static struct sn_frequency_block given[ALL];
	struct sn_flow_graph drawn = {many, edges, ALL, 0, 0};
	struct sn_frequencies found;
	(void)unused;
	state = 5;
	for (uint32_t from = 0; from < ALL; from++) {
		given[from] = (struct sn_frequency_block){100 + below(10000), 1 + below(9), 1};
		for (uint32_t to = 1; to < ALL && from + 1 < ALL; to++)
			if (to != from)
				edges[drawn.edge_count++] = (struct sn_flow_edge){from, to, false};
	}
	assert_int_equal(sn_frequencies_find(&found, &drawn, given), 0);
	for (uint32_t block = 0; block < ALL; block++)
		expect_balance(&drawn, &found, block, block == 0, block + 1 == ALL);
	sn_frequencies_release(&found);
}

/* Blocks of one class are pooled: what an instruction waited for in one may be seen in the next. */
static void test_pooled(void **unused)
{
	struct sn_frequency_block given[6];
	struct sn_frequencies found;
	(void)unused;
	for (int block = 0; block < 6; block++)
		given[block] = (struct sn_frequency_block){10 * runs[block], 10, 1};
	given[1].samples = 0;
	given[4].samples = 20000;
	assert_int_equal(sn_frequencies_find(&found, &graph, given), 0);
	expect_near(found.block_count[1], 1000, 0.02);
	expect_near(found.block_count[4], 1000, 0.02);
	sn_frequencies_release(&found);
}

static void test_one_block(void **unused)
{
	struct sn_flow_graph one = {blocks, NULL, 1, 0, 0};
	struct sn_frequency_block given = {50, 2, 1};
	struct sn_frequencies found;
	(void)unused;
	assert_int_equal(sn_frequencies_find(&found, &one, &given), 0);
	expect_near(found.block_count[0], 25, 0.01);
	assert_int_equal(found.block_confidence[0], SN_CONFIDENCE_MEDIUM);
	sn_frequencies_release(&found);
}

static void test_no_samples(void **unused)
{
	struct sn_frequency_block given[6];
	struct sn_flow_graph none = {0};
	struct sn_frequencies found;
	(void)unused;
	for (int block = 0; block < 6; block++)
		given[block] = (struct sn_frequency_block){0, 2, 1};
	assert_int_equal(sn_frequencies_find(&found, &graph, given), 0);
	for (int block = 0; block < 6; block++)
		assert_true(found.block_count[block] == 0 &&
			    found.block_confidence[block] == SN_CONFIDENCE_LOW);
	sn_frequencies_release(&found);
	assert_int_equal(sn_frequencies_find(&found, &none, given), 0);
	sn_frequencies_release(&found);
}

/* What cannot be reached, and a loop without an end, have frequencies of their own. */
static void test_unreachable(void **unused)
{
	struct sn_flow_edge edges[] = {{0, 1, false}, {1, 1, false}, {2, 3, false}, {0, 3, true}};
	struct sn_flow_graph odd = {blocks, edges, 4, 4, 0};
	struct sn_frequency_block given[] = {{10, 1, 1}, {1000, 1, 1}, {50, 1, 1}, {50, 1, 1}};
	struct sn_frequencies found;
	(void)unused;
	assert_int_equal(sn_frequencies_find(&found, &odd, given), 0);
	expect_near(found.block_count[0], 10, 0.2);
	expect_near(found.block_count[1], 1000, 0.1);
	expect_near(found.block_count[2], 50, 0.1);
	expect_near(found.block_count[3], 50, 0.1);
	expect_near(found.edge_count[2], 50, 0.1);
	assert_true(found.edge_count[3] == 0);
	sn_frequencies_release(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_known),	cmocka_unit_test(test_overruled),
	    cmocka_unit_test(test_balance),	cmocka_unit_test(test_pooled),
	    cmocka_unit_test(test_one_block),	cmocka_unit_test(test_no_samples),
	    cmocka_unit_test(test_unreachable), cmocka_unit_test(test_dense)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
