/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs that simulated rows come from are found, as far as any data can tell them apart; what is known decides the rest. */
#include "causal/search/gaussian_score.h"
#include "causal/search/order_search.h"
#include "causal/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { ROWS = 2000, MOST = 5 };

static double normal(struct sn_random *random)
{
	double sum = -6;
	for (int i = 0; i < 12; i++)
		sum += (double)(sn_random_next(random) >> 11) * 0x1p-53;
	return sum;
}

/* Correlations of variables each of which is the sum of its causes, of earlier ones, and of noise. `causes` has a row of bits for each. */
static void simulate(uint32_t count, const uint64_t *causes, uint64_t seed, double *correlations)
{
	static double rows[ROWS][MOST];
	double means[MOST] = {0}, products[MOST][MOST] = {{0}};
	struct sn_random random;
	sn_random_begin(&random, seed, 0);
	for (int row = 0; row < ROWS; row++)
		for (uint32_t own = 0; own < count; own++) {
			rows[row][own] = normal(&random);
			SN_BITS_EACH(&causes[own], 1, cause)
			rows[row][own] += 0.6 * rows[row][cause];
			means[own] += rows[row][own] / ROWS;
		}
	for (int row = 0; row < ROWS; row++)
		for (uint32_t a = 0; a < count; a++)
			for (uint32_t b = 0; b < count; b++)
				products[a][b] +=
				    (rows[row][a] - means[a]) * (rows[row][b] - means[b]);
	for (uint32_t a = 0; a < count; a++)
		for (uint32_t b = 0; b < count; b++)
			correlations[a * count + b] =
			    products[a][b] / sqrt(products[a][a] * products[b][b]);
}

/* The class that is found. */
static struct sn_pdag found(uint32_t count, const uint64_t *causes, uint64_t seed,
			    const struct sn_knowledge *knowledge)
{
	static const uint32_t first[] = {0, 1, 2, 3, 4, 5};
	double correlations[MOST * MOST];
	struct sn_gaussian_score score;
	struct sn_pdag graph;
	simulate(count, causes, seed, correlations);
	assert_int_equal(sn_gaussian_score_init(&score, correlations, first, count, ROWS), 0);
	score.penalty *= 2;
	struct sn_order_search search = {.count = count,
					 .score = {sn_gaussian_score_of, &score},
					 .knowledge = knowledge,
					 .starts = 2,
					 .disturbances = 4,
					 .seed = seed};
	assert_int_equal(sn_pdag_init(&graph, count), 0);
	assert_int_equal(sn_order_search(&search, &graph, NULL), 0);
	assert_int_equal(sn_pdag_to_class(&graph, knowledge), 0);
	sn_gaussian_score_release(&score);
	return graph;
}

static void assert_found(uint32_t count, const uint64_t *causes)
{
	struct sn_pdag wanted;
	assert_int_equal(sn_pdag_init(&wanted, count), 0);
	for (uint32_t to = 0; to < count; to++)
		SN_BITS_EACH(&causes[to], 1, from)
	sn_pdag_add_directed(&wanted, (uint32_t)from, to);
	assert_int_equal(sn_pdag_to_class(&wanted, NULL), 0);
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct sn_pdag graph = found(count, causes, seed, NULL);
		for (uint32_t a = 0; a < count; a++)
			for (uint32_t b = 0; b < count; b++) {
				assert_int_equal(sn_pdag_is_directed(&graph, a, b),
						 sn_pdag_is_directed(&wanted, a, b));
				assert_int_equal(sn_pdag_is_undirected(&graph, a, b),
						 sn_pdag_is_undirected(&wanted, a, b));
			}
		sn_pdag_release(&graph);
	}
	sn_pdag_release(&wanted);
}

static void test_shapes(void **state)
{
	(void)state;
	assert_found(3, (const uint64_t[]){0, 0, 0});	    /* nothing */
	assert_found(3, (const uint64_t[]){0, 1, 2});	    /* a chain */
	assert_found(3, (const uint64_t[]){0, 0, 3});	    /* a collider */
	assert_found(4, (const uint64_t[]){0, 1, 1, 6});    /* a diamond */
	assert_found(5, (const uint64_t[]){0, 0, 3, 4, 4}); /* what follows a collider */
	assert_found(3, (const uint64_t[]){0, 1, 3});	    /* all are adjacent */
}

/* The chain 0 -> 1 -> 2, told that 2 is of an earlier tier: then it causes 1, and 1 causes 0. */
static void test_knowledge_decides(void **state)
{
	static const uint16_t tiers[] = {1, 1, 0};
	static const uint64_t required[] = {0, 0, 1}; /* 2 -> 0, though no data says so */
	struct sn_knowledge tiered = {.count = 3, .tiers = tiers};
	struct sn_knowledge told = {.count = 3, .required = required};
	(void)state;
	struct sn_pdag graph = found(3, (const uint64_t[]){0, 1, 2}, 1, &tiered);
	assert_true(sn_pdag_is_directed(&graph, 2, 1) && sn_pdag_is_directed(&graph, 1, 0));
	assert_false(sn_pdag_is_adjacent(&graph, 0, 2));
	sn_pdag_release(&graph);
	graph = found(3, (const uint64_t[]){0, 1, 2}, 1, &told);
	assert_true(sn_pdag_is_directed(&graph, 2, 0));
	sn_pdag_release(&graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_shapes),
	    cmocka_unit_test(test_knowledge_decides),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
