/* SPDX-License-Identifier: Apache-2.0 */
/* What is made of a whole table whose rows are of clusters: its score, the test of the second opinion, and effects that turn. */
#include "causal/columns/squares.h"
#include "causal/prepare.h"
#include "causal/random.h"
#include "causal/rows/row_sample.h"
#include "causal/second.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { X, Y, CLUSTER, COLUMNS };
enum { EACH = 20, ROWS = 800 };

static double values[COLUMNS][ROWS];
static struct sn_causal_column columns[] = {
    {.name = "x", .values = values[X]},
    {.name = "y", .values = values[Y]},
    {.name = "cluster", .values = values[CLUSTER]},
};

/* By Box and Muller. */
static double normal(struct sn_random *random)
{
	double a = (double)(sn_random_next(random) >> 11) * 0x1p-53,
	       b = (double)(sn_random_next(random) >> 11) * 0x1p-53;
	return sqrt(-2 * log1p(-a)) * cos(2 * M_PI * b);
}

/* Two columns that say nothing of each other, with so much of a cluster's own. */
static void simulate(uint64_t seed, double of_cluster)
{
	struct sn_random random;
	double own[2] = {0};
	sn_random_begin(&random, seed, 0);
	for (int row = 0; row < ROWS; row++) {
		for (int column = X; column <= Y; column++) {
			if (row % EACH == 0)
				own[column] = of_cluster * normal(&random);
			values[column][row] = own[column] + normal(&random);
		}
		values[CLUSTER][row] = row / EACH;
	}
}

static void prepare(struct sn_prepared *prepared, size_t rows, bool are_stretches)
{
	const struct sn_causal_table table = {
	    .columns = columns, .column_count = COLUMNS, .row_count = rows};
	const struct sn_prepare_options options = {.target = Y,
						   .cluster = CLUSTER,
						   .are_stretches = are_stretches,
						   .identity = UINT32_MAX};
	struct sn_error error;
	assert_int_equal(sn_prepare(prepared, &table, &options, &error), 0);
	assert_int_equal(sn_prepared_stratify(prepared), 0);
}

/* What an edge adds is what it explains in both strata less half the logarithm of the rows of each, and once what the number of columns takes. */
static void test_score(void **state)
{
	static const size_t rows[] = {ROWS / EACH, ROWS - ROWS / EACH};
	struct sn_prepared prepared;
	struct sn_row_sample sample;
	(void)state;
	simulate(1, 1);
	prepare(&prepared, ROWS, false);
	assert_int_equal(prepared.strata.count, 2);
	assert_int_equal(sn_row_sample_draw(&sample, &prepared, 0, 0), 0);
	double expected = -sn_prepared_penalty(&prepared);
	for (int number = 0; number < 2; number++) {
		double r = sample.strata[number].correlations[1], count = (double)rows[number];
		expected -= count / 2 * log1p(-r * r) + log(count) / 2;
	}
	const uint32_t cause = X;
	double found = sample.score.of(sample.score.context, Y, &cause, 1) -
		       sample.score.of(sample.score.context, Y, NULL, 0);
	assert_true(fabs(found - expected) < 1e-9 * fabs(expected));
	sn_row_sample_release(&sample);
	sn_prepared_release(&prepared);
}

/* Columns that stay the same for a stretch are tested as if there were as many rows as stretches. */
static void test_second_opinion_of_stretches(void **state)
{
	int dependent = 0;
	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sn_prepared prepared;
		struct sn_pc pc;
		simulate(seed, 10);
		prepare(&prepared, ROWS, true);
		assert_int_equal(sn_second_opinion(&pc, &prepared, NULL, 1), 0);
		dependent += pc.edge_count > 0;
		sn_pc_release(&pc);
		sn_prepared_release(&prepared);
	}
	/* one is expected: 53 are found if rows are taken as independent */
	assert_true(dependent <= 6);
}

static uint32_t count_squares(size_t rows)
{
	struct sn_prepared prepared;
	prepare(&prepared, rows, false);
	assert_int_equal(sn_squares_add(&prepared, 100), 0);
	uint32_t count = prepared.first[prepared.count] - prepared.count;
	sn_prepared_release(&prepared);
	return count;
}

/* What turns by chance over few clusters has many rows. */
static void test_squares_by_chance(void **state)
{
	int found = 0;
	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		simulate(seed, 10);
		found += count_squares(ROWS) > 0;
	}
	assert_true(found <= 6);
}

/* A column that is high in the middle of another one, in each of few clusters. */
static void test_squares_of_few_clusters(void **state)
{
	enum { FEW = 20 };
	(void)state;
	for (int row = 0; row < FEW * EACH; row++) {
		int cluster = row / EACH;
		values[CLUSTER][row] = cluster;
		values[X][row] = cluster + row % EACH * 1e-3;
		values[Y][row] = (cluster > 4 && cluster < 15) + row % EACH * 1e-3;
	}
	assert_int_equal(count_squares(FEW * EACH), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_score),
	    cmocka_unit_test(test_second_opinion_of_stretches),
	    cmocka_unit_test(test_squares_by_chance),
	    cmocka_unit_test(test_squares_of_few_clusters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
