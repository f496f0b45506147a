/* SPDX-License-Identifier: Apache-2.0 */
/* Means of clusters and differences from them, and what a test says of both together. */
#include "causal/columns/standard.h"
#include "causal/independence/blocks.h"
#include "causal/random.h"
#include "causal/rows/strata.h"

#include "base/error.h"
#include "causal/correlations.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int init(struct sn_strata *strata, const struct sn_clusters *clusters,
		const struct sn_dimensions *dimensions, size_t rows)
{
	static const struct sn_clusters none;
	const struct sn_clusters *const both[] = {clusters, &none};
	return sn_strata_init(strata, both, dimensions, rows, UINT32_MAX);
}

static void assert_near(double found, double expected)
{
	assert_true(fabs(found - expected) <= 1e-12);
}

/* Rows of the clusters 3, 7 and 9, and one without a value; thirty times. */
enum { PATTERN = 8, TIMES = 30, ROWS = PATTERN * TIMES, COLUMNS = 5 };
static const double pattern_clusters[PATTERN] = {7, 3, 7, NAN, 3, 9, 3, 9};
/* Of each row by itself; of the cluster; with the same mean in each; and, as one variable, of both the first and the second kind. */
static const double patterns[COLUMNS][PATTERN] = {{1, 2, 5, 4, 3, 0, 1, 8},
						  {7, 3, 7, 1, 3, 9, 3, 9},
						  {1, 0, -1, 0, 2, 3, -2, -3},
						  {2, 4, 6, 8, 1, 3, 5, 7},
						  {5, 1, 5, 2, 1, 4, 1, 4}};

static double values[COLUMNS][ROWS], clusters_of[ROWS];
static uint32_t kept[ROWS];
static const bool numbers[] = {true, true, true, true}, categories[] = {false};

static void repeat(void)
{
	for (uint32_t row = 0; row < ROWS; row++) {
		kept[row] = row;
		clusters_of[row] = pattern_clusters[row % PATTERN];
		for (int dimension = 0; dimension < COLUMNS; dimension++)
			values[dimension][row] = patterns[dimension][row % PATTERN];
	}
	for (int dimension = 0; dimension < COLUMNS; dimension++)
		assert_true(sn_standardize(values[dimension], ROWS));
}

/* Of one variable that begins at a dimension and has so many. */
static void divide(struct sn_clusters *clusters, struct sn_strata *strata, int dimension,
		   uint32_t size, const bool *is_ordered)
{
	static uint32_t first[2];
	first[1] = size;
	const struct sn_dimensions dimensions = {1, values[dimension], first, is_ordered};
	assert_int_equal(sn_clusters_init(clusters, clusters_of, kept, ROWS), 0);
	assert_int_equal(init(strata, clusters, &dimensions, ROWS), 0);
}

static void test_by_hand(void **state)
{
	static const uint32_t of_means[] = {0, 1, 2, 2, 4}, of_within[] = {0, 1, 1, 2, 3};
	uint32_t first[] = {0, 1, 2, 3, 5}, times[ROWS] = {0};
	const struct sn_dimensions dimensions = {4, values[0], first, numbers};
	double expected[3 + TIMES] = {3, 7, 9};
	struct sn_clusters clusters;
	struct sn_strata strata;
	(void)state;
	repeat();
	assert_int_equal(sn_clusters_init(&clusters, clusters_of, kept, ROWS), 0);
	assert_int_equal(clusters.count, 3 + TIMES);
	assert_int_equal(init(&strata, &clusters, &dimensions, ROWS), 0);
	const struct sn_stratum *means = &strata.of[0], *within = &strata.of[1];
	assert_int_equal(strata.count, 2);
	assert_int_equal(means->rows, 3 + TIMES);
	assert_memory_equal(means->first, of_means, sizeof(of_means));
	assert_memory_equal(within->first, of_within, sizeof(of_within));
	assert_true(within->varies_before[0] && !within->varies_before[1] &&
		    within->varies_before[2]);
	/* of what is the same within clusters the means are as they are */
	for (int single = 0; single < TIMES; single++)
		expected[3 + single] = 1;
	assert_true(sn_standardize(expected, 3 + TIMES));
	for (int cluster = 0; cluster < 3 + TIMES; cluster++)
		assert_near(means->values[3 + TIMES + cluster], expected[cluster]);
	for (int row = 0; row < ROWS; row++) {
		static const double differences[] = {-2, 0, 2, 0, 1, -4, -1, 4};
		assert_near(within->values[row], differences[row % PATTERN] / sqrt(TIMES * 42));
	}
	assert_int_equal(sn_stratum_count(means, NULL), 3 + TIMES);
	assert_int_equal(sn_stratum_count(within, NULL), ROWS - 3 - TIMES);
	/* the cluster 7 twice, and a row without a value once */
	for (int row = 0; row < ROWS; row++)
		times[row] = clusters_of[row] == 7 ? 2 : row == 3;
	uint32_t *own = sn_stratum_times(means, times);
	assert_true(own[0] == 0 && own[1] == 2 && own[2] == 0);
	free(own);
	assert_int_equal(sn_stratum_count(means, times), 3);
	assert_int_equal(sn_stratum_count(within, times), 2 * 2 * TIMES + 1 - 3);
	sn_strata_release(&strata);
	sn_clusters_release(&clusters);
}

/* What does not vary, or not by enough rows, is no stratum. */
static void test_one_stratum_of_clusters(void **state)
{
	struct sn_clusters clusters;
	struct sn_strata strata;
	(void)state;
	repeat();
	/* of clusters alone; within them alone */
	for (int dimension = 1; dimension < 3; dimension++) {
		divide(&clusters, &strata, dimension, 1, numbers);
		assert_int_equal(strata.count, 1);
		assert_true((strata.of[0].within != NULL) == (dimension == 2));
		assert_int_equal(strata.of[0].first[1], 1);
		sn_strata_release(&strata);
		sn_clusters_release(&clusters);
	}
	/* a category of more levels than 33 clusters can tell of */
	divide(&clusters, &strata, 0, 5, categories);
	assert_true(strata.count == 1 && strata.of[0].within && strata.of[0].first[1] == 3);
	sn_strata_release(&strata);
	sn_clusters_release(&clusters);
	/* rows that are clusters by themselves, but for one */
	for (int row = 0; row < ROWS; row++)
		clusters_of[row] = row ? row : 1;
	divide(&clusters, &strata, 0, 1, numbers);
	assert_true(strata.count == 1 && !strata.of[0].within && strata.of[0].rows == ROWS - 1);
	sn_strata_release(&strata);
	sn_clusters_release(&clusters);
	/* few clusters, of which only what differs within them is told, unless nothing does */
	for (int row = 0; row < ROWS; row++)
		clusters_of[row] = row / 20;
	divide(&clusters, &strata, 0, 1, numbers);
	assert_true(strata.count == 1 && strata.of[0].within && !strata.of[0].varies_before);
	sn_strata_release(&strata);
	sn_clusters_release(&clusters);
	for (int row = 0; row < ROWS; row++)
		values[0][row] = row / 20;
	assert_true(sn_standardize(values[0], ROWS));
	divide(&clusters, &strata, 0, 1, numbers);
	assert_true(strata.count == 1 && !strata.of[0].within && strata.of[0].rows == ROWS / 20);
	sn_strata_release(&strata);
	sn_clusters_release(&clusters);
	/* no dimension at all */
	divide(&clusters, &strata, 0, 0, numbers);
	assert_true(strata.count == 1 && strata.of[0].first[1] == 0);
	sn_strata_release(&strata);
	sn_clusters_release(&clusters);
}

static void test_independent_rows_are_one_stratum(void **state)
{
	double own[] = {1, 2, 3};
	uint32_t first[] = {0, 1}, times[] = {2, 0, 1};
	const struct sn_dimensions dimensions = {1, own, first, numbers};
	struct sn_strata strata;
	(void)state;
	assert_int_equal(init(&strata, &(struct sn_clusters){0}, &dimensions, 3), 0);
	assert_true(strata.count == 1 && strata.of[0].values == own &&
		    strata.of[0].first == first && !strata.of[0].varies_before &&
		    !strata.dependence);
	assert_int_equal(sn_stratum_count(&strata.of[0], times), 3);
	sn_strata_release(&strata);
}

/* ---- tests of rows of clusters ---- */

enum { CLUSTERS = 30, EACH = 20, ALL = CLUSTERS * EACH, DIMENSIONS = 3 };

static double uniform(struct sn_random *random)
{
	return (double)(sn_random_next(random) >> 11) * 0x1p-53 - 0.5;
}

static double normal(struct sn_random *random)
{
	double sum = 0;
	for (int part = 0; part < 12; part++)
		sum += uniform(random);
	return sum;
}

static double of_cluster[ALL];

/* Clusters of 20 rows; or some of 18, and 60 rows by themselves. */
static void make_clusters(bool are_equal)
{
	for (int row = 0; row < ALL; row++)
		of_cluster[row] = are_equal ? row / EACH : row < 540 ? row / 18 : row;
}

/* The probability of 0 and 1, with 2 held if `is_held`. */
static double probability(double columns[DIMENSIONS][ALL], bool is_held)
{
	static double correlations[2][DIMENSIONS * DIMENSIONS];
	static uint32_t all[ALL];
	uint32_t first[] = {0, 1, 2, 3}, held = 2;
	const struct sn_dimensions dimensions = {DIMENSIONS, columns[0], first, numbers};
	struct sn_blocks blocks[2];
	struct sn_clusters clusters;
	struct sn_strata strata;
	for (uint32_t row = 0; row < ALL; row++)
		all[row] = row;
	for (int dimension = 0; dimension < DIMENSIONS; dimension++)
		assert_true(sn_standardize(columns[dimension], ALL));
	assert_int_equal(sn_clusters_init(&clusters, of_cluster, all, ALL), 0);
	assert_int_equal(init(&strata, &clusters, &dimensions, ALL), 0);
	assert_int_equal(strata.count, 2);
	for (uint32_t number = 0; number < 2; number++) {
		const struct sn_stratum *stratum = &strata.of[number];
		assert_int_equal(sn_correlations(stratum->values, stratum->first[DIMENSIONS],
						 stratum->rows, NULL, correlations[number]),
				 0);
		assert_int_equal(sn_blocks_init(&blocks[number], correlations[number],
						stratum->first, DIMENSIONS,
						sn_stratum_count(stratum, NULL)),
				 0);
	}
	blocks[0].also = &blocks[1];
	struct sn_independence test = sn_blocks_test(blocks);
	double found = test.of(test.context, 0, 1, &held, is_held);
	for (uint32_t number = 0; number < 2; number++)
		sn_blocks_release(&blocks[number]);
	sn_strata_release(&strata);
	sn_clusters_release(&clusters);
	return found;
}

struct column_parts {
	double of_clusters; /* of the first two columns */
	double within;	    /* what the first makes of the second in each row */
};

/*
 * Columns of clusters, with a little of each row, that say nothing of each other: 5 % of the probabilities are below 5 %. So they are where
 * a third column is held that nearly determines the first: of which less is alike within clusters then.
 */
static int count_below(uint64_t seed, int times, bool is_held, struct column_parts parts)
{
	static double columns[DIMENSIONS][ALL];
	struct sn_random random;
	int below = 0;
	sn_random_begin(&random, seed, 0);
	for (int time = 0; time < times; time++) {
		double a = 0, b = 0;
		for (int row = 0; row < ALL; row++) {
			if (!row || of_cluster[row] != of_cluster[row - 1]) {
				a = parts.of_clusters * normal(&random);
				b = parts.of_clusters * normal(&random);
			}
			double own = 0.3 * normal(&random);
			columns[0][row] = a + own;
			columns[1][row] = b + parts.within * own + 0.3 * normal(&random);
			columns[2][row] = a + 0.05 * normal(&random);
		}
		below += probability(columns, is_held) < 0.05;
	}
	return below;
}

/* Four standard deviations of a binomial count of a mean of 50. */
static void assert_usual(int below)
{
	assert_in_range(below, 50 - 28, 50 + 28);
}

static void test_what_says_nothing(void **state)
{
	(void)state;
	assert_int_equal(sn_correlations_load(NULL), 0);
	make_clusters(true);
	assert_usual(count_below(1, 1000, false, (struct column_parts){1, 0}));
	assert_usual(count_below(5, 1000, true, (struct column_parts){1, 0}));
	/* means of one row scatter four times as far as those of eighteen, or as far as these */
	make_clusters(false);
	assert_usual(count_below(6, 1000, false, (struct column_parts){0, 0}));
	assert_usual(count_below(7, 1000, false, (struct column_parts){1, 0}));
	assert_usual(count_below(8, 1000, false, (struct column_parts){0.1, 0}));
}

static void test_effects_within_clusters(void **state)
{
	(void)state;
	make_clusters(true);
	assert_true(count_below(2, 100, false, (struct column_parts){1, 0.3}) > 95);
	assert_true(count_below(3, 100, true, (struct column_parts){1, 0.3}) > 95);
}

/* What varies between clusters alone, and what varies within them alone, have nothing in common. */
static void test_what_varies_in_no_stratum_together(void **state)
{
	static double columns[DIMENSIONS][ALL];
	struct sn_random random;
	(void)state;
	make_clusters(true);
	sn_random_begin(&random, 4, 0);
	for (int row = 0; row < ALL; row++) {
		columns[0][row] = row / EACH % 7;
		columns[1][row] = row % EACH;
		columns[2][row] = normal(&random);
	}
	assert_true(probability(columns, false) == 1);
	assert_true(probability(columns, true) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_by_hand),
	    cmocka_unit_test(test_one_stratum_of_clusters),
	    cmocka_unit_test(test_independent_rows_are_one_stratum),
	    cmocka_unit_test(test_what_says_nothing),
	    cmocka_unit_test(test_effects_within_clusters),
	    cmocka_unit_test(test_what_varies_in_no_stratum_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
