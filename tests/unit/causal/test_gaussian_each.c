/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of sets that differ by one parent are those of one set after another. */
#include "causal/random.h"
#include "causal/search/gaussian_score.h"
#include "causal/search/sum_score.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { ROWS = 200, VARIABLES = 9, DIMENSIONS = 14 };

/* Numbers, numbers with a second dimension, and categories of several. */
static const uint32_t first[VARIABLES + 1] = {0, 1, 3, 4, 7, 8, 10, 11, 12, DIMENSIONS};
static double correlations[DIMENSIONS * DIMENSIONS];
static bool marked[DIMENSIONS];

static double uniform(struct sn_random *random)
{
	return (double)(sn_random_next(random) >> 11) * 0x1p-53 - 0.5;
}

/* Each dimension has something of those before it; where `is_determined`, dimension 7 is the sum of two others, and 11 nothing but 3. */
static void simulate(uint64_t seed, bool is_determined)
{
	static double rows[ROWS][DIMENSIONS];
	double means[DIMENSIONS] = {0}, products[DIMENSIONS][DIMENSIONS] = {{0}};
	struct sn_random random;
	sn_random_begin(&random, seed, 0);
	for (int row = 0; row < ROWS; row++)
		for (int own = 0; own < DIMENSIONS; own++) {
			rows[row][own] = uniform(&random);
			for (int cause = own % 3; cause < own; cause += 3)
				rows[row][own] += 0.7 * rows[row][cause];
			if (is_determined && own == 7)
				rows[row][own] = rows[row][0] + rows[row][4];
			if (is_determined && own == 11)
				rows[row][own] = rows[row][3];
			means[own] += rows[row][own] / ROWS;
		}
	for (int row = 0; row < ROWS; row++)
		for (int a = 0; a < DIMENSIONS; a++)
			for (int b = 0; b < DIMENSIONS; b++)
				products[a][b] +=
				    (rows[row][a] - means[a]) * (rows[row][b] - means[b]);
	for (int a = 0; a < DIMENSIONS; a++)
		for (int b = 0; b < DIMENSIONS; b++)
			correlations[a * DIMENSIONS + b] =
			    products[a][b] / sqrt(products[a][a] * products[b][b]);
	for (int dimension = 0; dimension < DIMENSIONS; dimension++)
		marked[dimension] = uniform(&random) > 0;
}

static void assert_near(double found, double expected)
{
	assert_true(fabs(found - expected) <= 1e-7 * (1 + fabs(expected)));
}

/* All variables but one in a random order; some of them are parents, the rest may be added. */
static uint32_t choose(struct sn_random *random, uint32_t variable, uint32_t *others)
{
	uint32_t count = 0;
	for (uint32_t other = 0; other < VARIABLES; other++)
		if (other != variable)
			others[count++] = other;
	for (uint32_t place = count; place > 1; place--) {
		uint32_t from = sn_random_below(random, place), kept = others[from];
		others[from] = others[place - 1];
		others[place - 1] = kept;
	}
	return sn_random_below(random, count + 1);
}

static void compare(const struct sn_score *score, struct sn_random *random)
{
	uint32_t variable = sn_random_below(random, VARIABLES), others[VARIABLES], set[VARIABLES];
	uint32_t parents = choose(random, variable, others), rest = VARIABLES - 1 - parents;
	double scores[VARIABLES];
	assert_int_equal(score->with_each(score->context, variable, others, parents,
					  others + parents, rest, scores),
			 0);
	for (uint32_t place = 0; place < rest; place++) {
		memcpy(set, others, parents * sizeof(*set));
		set[parents] = others[parents + place];
		assert_near(scores[place], score->of(score->context, variable, set, parents + 1));
	}
	assert_int_equal(score->without_each(score->context, variable, others, parents, scores), 0);
	for (uint32_t left = 0; left < parents; left++) {
		uint32_t count = 0;
		for (uint32_t place = 0; place < parents; place++)
			if (place != left)
				set[count++] = others[place];
		assert_near(scores[left], score->of(score->context, variable, set, count));
	}
}

static void test_one_more_and_one_less(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct sn_gaussian_score score;
		struct sn_random random;
		simulate(seed, seed % 2);
		sn_random_begin(&random, seed, 1);
		assert_int_equal(
		    sn_gaussian_score_init(&score, correlations, first, VARIABLES, ROWS), 0);
		score.penalty *= 1.5;
		score.penalty_marked = score.penalty / 3;
		score.is_marked = seed % 4 > 1 ? marked : NULL;
		const struct sn_score of = {sn_gaussian_score_of, &score,
					    sn_gaussian_score_with_each,
					    sn_gaussian_score_without_each};
		for (int time = 0; time < 60; time++)
			compare(&of, &random);
		sn_gaussian_score_release(&score);
	}
}

/* Two scores, of which one has less dimensions, and a variable has none there. */
static void test_sum(void **state)
{
	static const uint32_t less[VARIABLES + 1] = {0, 1, 3, 3, 6, 7, 9, 10, 11, 12};
	static double few[12 * 12];
	struct sn_gaussian_score of[2];
	struct sn_sum_score sum = {.count = 2};
	struct sn_random random;
	(void)state;
	sn_random_begin(&random, 5, 1);
	simulate(5, true);
	for (int a = 0; a < 12; a++)
		for (int b = 0; b < 12; b++)
			few[a * 12 + b] = correlations[a * DIMENSIONS + b];
	assert_int_equal(sn_gaussian_score_init(&of[0], correlations, first, VARIABLES, ROWS), 0);
	assert_int_equal(sn_gaussian_score_init(&of[1], few, less, VARIABLES, ROWS / 4), 0);
	for (int number = 0; number < 2; number++)
		sum.of[number] =
		    (struct sn_score){sn_gaussian_score_of, &of[number],
				      sn_gaussian_score_with_each, sn_gaussian_score_without_each};
	struct sn_score score = sn_sum_score(&sum);
	for (int time = 0; time < 200; time++)
		compare(&score, &random);
	assert_near(score.of(&sum, 3, (const uint32_t[]){1, 2}, 2),
		    sn_gaussian_score_of(&of[0], 3, (const uint32_t[]){1, 2}, 2) +
			sn_gaussian_score_of(&of[1], 3, (const uint32_t[]){1}, 1));
	/* what has no dimension costs and gains nothing */
	assert_true(sn_gaussian_score_of(&of[1], 2, (const uint32_t[]){1, 3}, 2) == 0);
	for (int number = 0; number < 2; number++)
		sn_gaussian_score_release(&of[number]);
	sn_sum_score_release(&sum);
}

/* The rows that the last sets left are used only as far as the sets are the same. */
static void test_sets_that_share_their_begin(void **state)
{
	(void)state;
	static const uint32_t sets[][3] = {{0, 1, 2}, {0, 1, 4}, {0, 4, 1}, {5, 1, 2}, {5, 1, 2}};
	const uint32_t added[] = {3, 6};
	struct sn_gaussian_score score, fresh;
	simulate(77, false);
	assert_int_equal(sn_gaussian_score_init(&score, correlations, first, VARIABLES, ROWS), 0);
	for (uint32_t set = 0; set < 5; set++)
		for (uint32_t count = 0; count <= 3; count++) {
			double scores[2], expected[2];
			assert_int_equal(
			    sn_gaussian_score_init(&fresh, correlations, first, VARIABLES, ROWS),
			    0);
			sn_gaussian_score_with_each(&score, 7, sets[set], count, added, 2, scores);
			sn_gaussian_score_with_each(&fresh, 7, sets[set], count, added, 2,
						    expected);
			assert_true(scores[0] == expected[0] && scores[1] == expected[1]);
			sn_gaussian_score_release(&fresh);
		}
	sn_gaussian_score_release(&score);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_more_and_one_less),
	    cmocka_unit_test(test_sum),
	    cmocka_unit_test(test_sets_that_share_their_begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
