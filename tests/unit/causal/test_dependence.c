/* SPDX-License-Identifier: Apache-2.0 */
/* How much less rows say that follow each other. */
#include "causal/columns/standard.h"
#include "causal/random.h"
#include "causal/rows/dependence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { STRETCHES = 60, EACH = 60, ROWS = STRETCHES * EACH };
/* Two that change slowly, two that differ from row to row, and one of these with a little of a third slow one. */
enum { SLOW, OTHER_SLOW, FAST, OTHER_FAST, SUM, DIMENSIONS };

static double normal(struct sn_random *random)
{
	double sum = 0;
	for (int part = 0; part < 12; part++)
		sum += (double)(sn_random_next(random) >> 11) * 0x1p-53 - 0.5;
	return sum;
}

/* Each value much like the one before, which is forgotten after about 10. */
static double next(double *slow, struct sn_random *random)
{
	double kept = exp(-0.1);
	*slow = kept * *slow + sqrt(1 - kept * kept) * normal(random);
	return *slow;
}

static double *simulate(uint64_t seed)
{
	static double values[DIMENSIONS][ROWS];
	static uint32_t of[ROWS];
	const struct sn_clusters stretches = {
	    .of = of, .count = STRETCHES, .kind = SN_CLUSTERS_STRETCHES};
	struct sn_random random;
	double slow = 0, other = 0, third = 0, *dependence = NULL;
	sn_random_begin(&random, seed, 0);
	for (uint32_t row = 0; row < ROWS; row++) {
		of[row] = row / EACH;
		values[SLOW][row] = next(&slow, &random);
		values[OTHER_SLOW][row] = next(&other, &random);
		values[FAST][row] = normal(&random);
		values[OTHER_FAST][row] = normal(&random);
		values[SUM][row] = values[FAST][row] + 0.1 * next(&third, &random);
	}
	for (int dimension = 0; dimension < DIMENSIONS; dimension++)
		assert_true(sn_standardize(values[dimension], ROWS));
	assert_int_equal(sn_dependence(&stretches, values[0], DIMENSIONS, ROWS, &dependence), 0);
	return dependence;
}

/* Where two change slowly, the sum over all distances of the products of their correlations with themselves is 10. */
static void test_pairs(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		double *dependence = simulate(seed);
		for (int a = 0; a < DIMENSIONS; a++)
			for (int b = 0; b < DIMENSIONS; b++)
				assert_true(dependence[a * DIMENSIONS + b] ==
						dependence[b * DIMENSIONS + a] &&
					    dependence[a * DIMENSIONS + b] >= 1);
		assert_true(dependence[SLOW * DIMENSIONS + OTHER_SLOW] > 4 &&
			    dependence[SLOW * DIMENSIONS + OTHER_SLOW] < 22);
		assert_true(dependence[SLOW * DIMENSIONS + OTHER_FAST] < 2.5);
		assert_true(dependence[FAST * DIMENSIONS + OTHER_FAST] < 2.5);
		/* what the fast column leaves of the sum is slow, though the sum is not */
		assert_true(dependence[SUM * DIMENSIONS + SLOW] > 4);
		free(dependence);
	}
}

/* Of 400 settings, ten times each: two columns that these determine say as much as 400 rows, whatever clusters are put together to be summed. What is known before stays if it
 * is more. */
static void test_repeats(void **state)
{
	enum { SETTINGS = 400, TIMES = 10, ALL = SETTINGS * TIMES };
	static double values[2][ALL];
	static uint32_t of[ALL];
	const struct sn_clusters repeats = {
	    .of = of, .count = SETTINGS, .kind = SN_CLUSTERS_REPEATS};
	struct sn_random random;
	double sum = 0;
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		double *dependence = NULL, own[2] = {0};
		sn_random_begin(&random, seed, 0);
		for (uint32_t row = 0; row < ALL; row++) {
			of[row] = row / TIMES;
			for (int column = 0; column < 2; column++) {
				own[column] = row % TIMES ? own[column] : normal(&random);
				values[column][row] = own[column];
			}
		}
		for (int column = 0; column < 2; column++)
			assert_true(sn_standardize(values[column], ALL));
		assert_int_equal(sn_dependence(&repeats, values[0], 2, ALL, &dependence), 0);
		sum += dependence[1];
		dependence[1] = dependence[2] = 1000;
		assert_int_equal(sn_dependence(&repeats, values[0], 2, ALL, &dependence), 0);
		assert_true(dependence[1] == 1000 && dependence[2] == 1000);
		free(dependence);
	}
	assert_true(sum / 10 > 8 && sum / 10 < 12.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_pairs),
					   cmocka_unit_test(test_repeats)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
