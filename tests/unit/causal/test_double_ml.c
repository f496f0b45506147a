/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Effects of simulated models, whose effects are known. Of DATASETS tables each an interval of 95 % has the true effect in a number of them that
 * is binomial: 285 of 300 with a deviation of 3.8, so in fewer than 270 or in more than 298 with a probability of 2e-4 and 6e-6.
 */
#include "causal/effect/double_ml.h"
#include "causal/normal.h"
#include "causal/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { ROWS = 500, DATASETS = 300, LEAST_COVERED = 270, MOST_COVERED = 298 };

struct table {
	double a[ROWS], b[ROWS], cause[ROWS], target[ROWS];
	uint32_t clusters[ROWS];
	struct sn_effect_column adjustment[2];
	struct sn_effect_question question;
};

static double uniform(struct sn_random *random)
{
	return ((double)(sn_random_next(random) >> 11) + 0.5) * 0x1p-53;
}

static double normal(struct sn_random *random)
{
	return sn_normal_quantile(uniform(random));
}

static void begin(struct table *table)
{
	table->adjustment[0] = (struct sn_effect_column){table->a, 0};
	table->adjustment[1] = (struct sn_effect_column){table->b, 0};
	table->question = (struct sn_effect_question){.rows = ROWS,
						      .cause = {table->cause, 0},
						      .target = {table->target, 0},
						      .adjustment = table->adjustment,
						      .adjustment_count = 2,
						      .seed = 1};
}

typedef void model(struct table *table, struct sn_random *random, double effect);

static void make(struct table *table, model *of, uint64_t number, double effect)
{
	struct sn_random random;
	begin(table);
	sn_random_begin(&random, 42, number);
	of(table, &random, effect);
}

static struct sn_adjusted_effect estimate(const struct table *table)
{
	struct sn_adjusted_effect effect;
	struct sn_error error;
	assert_int_equal(sn_adjusted_effect_estimate(&effect, &table->question, &error), 0);
	return effect;
}

/* ---- models: all have two causes of both cause and target ---- */

static void linear(struct table *table, struct sn_random *random, double effect)
{
	for (int row = 0; row < ROWS; row++) {
		double a = table->a[row] = normal(random), b = table->b[row] = normal(random);
		table->cause[row] = 0.8 * a - 0.6 * b + normal(random);
		table->target[row] = effect * table->cause[row] + a + b + normal(random);
	}
}

static void curved(struct table *table, struct sn_random *random, double effect)
{
	for (int row = 0; row < ROWS; row++) {
		double a = table->a[row] = normal(random), b = table->b[row] = normal(random);
		double both = sin(2 * a) + a * b / 2;
		table->cause[row] = both + normal(random);
		table->target[row] =
		    effect * table->cause[row] + 1.5 * both + b * b + normal(random);
	}
}

/* The noise of the target grows with the cause. */
static void scattered(struct table *table, struct sn_random *random, double effect)
{
	for (int row = 0; row < ROWS; row++) {
		double a = table->a[row] = normal(random), b = table->b[row] = normal(random);
		table->cause[row] = 0.8 * a - 0.6 * b + normal(random);
		table->target[row] =
		    effect * table->cause[row] + a + b + fabs(table->cause[row]) * normal(random);
	}
}

/* `a` is a category of five levels without an order. */
static void by_category(struct table *table, struct sn_random *random, double effect)
{
	static const double shifts[] = {1, -1, 0.5, 2, -2};
	table->adjustment[0].levels = 5;
	for (int row = 0; row < ROWS; row++) {
		double a = table->a[row] = sn_random_below(random, 5),
		       b = table->b[row] = normal(random);
		table->cause[row] = shifts[(int)a] + b + normal(random);
		table->target[row] =
		    effect * table->cause[row] + 2 * shifts[(int)a] - b + normal(random);
	}
}

/* 50 clusters of 10 rows: cause and noise have a part that is of the cluster. */
static void clustered(struct table *table, struct sn_random *random, double effect)
{
	double of_cause = 0, of_target = 0;
	table->question.clusters = table->clusters;
	for (int row = 0; row < ROWS; row++) {
		if (row % 10 == 0) {
			of_cause = normal(random);
			of_target = normal(random);
		}
		double a = table->a[row] = normal(random), b = table->b[row] = normal(random);
		table->clusters[row] = 1000 - (uint32_t)row / 10;
		table->cause[row] = a - b + of_cause + normal(random);
		table->target[row] =
		    effect * table->cause[row] + a + b + of_target + normal(random);
	}
}

/* ---- tests ---- */

static int count_covered(model *of, double effect, bool with_clusters, double *mean)
{
	static struct table table;
	int covered = 0;
	*mean = 0;
	for (uint64_t number = 0; number < DATASETS; number++) {
		make(&table, of, number, effect);
		if (!with_clusters)
			table.question.clusters = NULL;
		struct sn_adjusted_effect found = estimate(&table);
		assert_int_equal(found.status, SN_EFFECT_FOUND);
		double unit = found.cause_deviation;
		covered += found.slope.low <= effect * unit && effect * unit <= found.slope.high;
		*mean += found.slope.value / unit / DATASETS;
	}
	return covered;
}

static void assert_covers(model *of, double effect)
{
	double mean;
	int covered = count_covered(of, effect, true, &mean);
	print_message("covered %d of %d, mean %.4f of %.2f\n", covered, DATASETS, mean, effect);
	assert_in_range(covered, LEAST_COVERED, MOST_COVERED);
	assert_true(fabs(mean - effect) < 0.02);
}

static void test_intervals(void **state)
{
	(void)state;
	assert_covers(linear, 0.5);
	assert_covers(linear, 0);
	assert_covers(curved, 0.5);
	assert_covers(curved, 0);
	assert_covers(scattered, 0.5);
	assert_covers(by_category, -0.5);
}

/* Who takes rows of a cluster as independent is too sure. */
static void test_clusters(void **state)
{
	double mean;
	(void)state;
	assert_covers(clustered, 0.5);
	assert_true(count_covered(clustered, 0.5, false, &mean) < 230);
}

/* Without what causes both, the effect is another one: 0.5 + (0.8 - 0.6) / 2. */
static void test_confounded(void **state)
{
	static struct table table;
	double mean = 0;
	(void)state;
	for (uint64_t number = 0; number < DATASETS; number++) {
		make(&table, linear, number, 0.5);
		table.question.adjustment_count = 0;
		struct sn_adjusted_effect found = estimate(&table);
		mean += found.slope.value / found.cause_deviation / DATASETS;
	}
	assert_true(fabs(mean - 0.6) < 0.02);
}

/* Target: cause^2 and noise of variance 1, so the share is 2 / 3, and the nearest line is flat. */
static void bent(struct table *table, struct sn_random *random, double effect)
{
	for (int row = 0; row < ROWS; row++) {
		table->a[row] = normal(random);
		table->b[row] = normal(random);
		table->cause[row] = normal(random);
		table->target[row] =
		    effect * table->cause[row] * table->cause[row] + normal(random);
	}
}

static void test_share_without_sign(void **state)
{
	static struct table table;
	double share = 0;
	int covers_nothing = 0;
	(void)state;
	for (uint64_t number = 0; number < 100; number++) {
		make(&table, bent, number, 1);
		struct sn_adjusted_effect found = estimate(&table);
		share += found.share.value / 100;
		covers_nothing += found.slope.low < 0 && found.slope.high > 0;
		assert_true(found.share_probability < 1e-4);
	}
	assert_true(fabs(share - 2 / 3.) < 0.03);
	/* 95 of 100 with a deviation of 2.2 */
	assert_in_range(covers_nothing, 86, 100);
}

/* Of a cause without effect a share is found in at most 5 %: 15 of 300 with a deviation of 3.8. */
static void test_no_share(void **state)
{
	static struct table table;
	int found_some = 0;
	(void)state;
	for (uint64_t number = 0; number < DATASETS; number++) {
		make(&table, curved, number, 0);
		found_some += estimate(&table).share_probability < 0.05;
	}
	print_message("a share where there is none: %d of %d\n", found_some, DATASETS);
	assert_true(found_some <= 30);
}

static void test_no_answer(void **state)
{
	static struct table table;
	struct sn_adjusted_effect found;
	struct sn_error error;
	(void)state;
	make(&table, linear, 1, 0.5);
	for (int row = 0; row < ROWS; row++)
		table.cause[row] = 3 - 2 * table.a[row];
	assert_int_equal(estimate(&table).status, SN_EFFECT_DETERMINED);
	for (int row = 0; row < ROWS; row++)
		table.cause[row] = 0.1;
	assert_int_equal(estimate(&table).status, SN_EFFECT_CONSTANT);
	make(&table, linear, 1, 0.5);
	table.question.rows = 19;
	assert_int_equal(estimate(&table).status, SN_EFFECT_FEW);
	make(&table, clustered, 1, 0.5);
	table.question.rows = 20;
	assert_int_equal(estimate(&table).status, SN_EFFECT_FEW);
	table.question.target.levels = 3;
	assert_int_equal(sn_adjusted_effect_estimate(&found, &table.question, &error),
			 SN_ERR_ARGUMENT);
}

static void test_same_again(void **state)
{
	static struct table table;
	(void)state;
	make(&table, curved, 7, 0.5);
	struct sn_adjusted_effect first = estimate(&table), second = estimate(&table);
	assert_memory_equal(&first, &second, sizeof(first));
}

/* ---- what if ---- */

static const double of_level[] = {1, 0, 3};

/* The chance of the levels depends on `a`, and so does the target, by level: each alone misleads. Returns what is expected of all. */
static void chances_at(double a, double *chances)
{
	double weights[] = {1, exp(0.6 * a), exp(-0.3 * a)}, sum = 0;
	for (int level = 0; level < 3; level++)
		sum += weights[level];
	for (int level = 0; level < 3; level++)
		chances[level] = weights[level] / sum;
}

static double target_at(int level, double a)
{
	return of_level[level] + a + 0.5 * level * a;
}

static void leveled(struct table *table, struct sn_random *random, double effect)
{
	(void)effect;
	table->question.cause.levels = 3;
	for (int row = 0; row < ROWS; row++) {
		double a = table->a[row] = normal(random), chances[3], at = uniform(random);
		table->b[row] = normal(random);
		chances_at(a, chances);
		int level = at < chances[0] ? 0 : at < chances[0] + chances[1] ? 1 : 2;
		table->cause[row] = level;
		table->target[row] = target_at(level, a) + normal(random);
	}
}

static double expected_of_all(void)
{
	double sum = 0;
	for (double probability = 0.0005; probability < 1; probability += 0.001) {
		double a = sn_normal_quantile(probability), chances[3];
		chances_at(a, chances);
		for (int level = 0; level < 3; level++)
			sum += 0.001 * chances[level] * target_at(level, a);
	}
	return sum;
}

static void test_what_if(void **state)
{
	static struct table table;
	struct sn_what_if_level levels[3];
	struct sn_error error;
	int covered[3] = {0}, changes[3] = {0};
	double all = expected_of_all(), mean[3] = {0}, squares[3] = {0}, stated[3] = {0};
	(void)state;
	for (uint64_t number = 0; number < DATASETS; number++) {
		make(&table, leveled, number, 0);
		table.question.adjustment_count = 1;
		assert_int_equal(sn_what_if(levels, &table.question, &error), 0);
		for (int level = 0; level < 3; level++) {
			const struct sn_what_if_level *own = &levels[level];
			double expected = of_level[level];
			assert_int_equal(own->status, SN_EFFECT_FOUND);
			covered[level] +=
			    own->expected.low <= expected && expected <= own->expected.high;
			changes[level] +=
			    own->change.low <= expected - all && expected - all <= own->change.high;
			mean[level] += own->expected.value / DATASETS;
			double error_of_change = own->change.value - (expected - all);
			squares[level] += error_of_change * error_of_change / DATASETS;
			stated[level] += own->change.deviation / DATASETS;
		}
	}
	for (int level = 0; level < 3; level++) {
		print_message("level %d: covered %d, change %d of %d, mean %.3f of %.0f\n", level,
			      covered[level], changes[level], DATASETS, mean[level],
			      of_level[level]);
		assert_in_range(covered[level], LEAST_COVERED, MOST_COVERED);
		assert_in_range(changes[level], LEAST_COVERED, MOST_COVERED);
		assert_true(fabs(mean[level] - of_level[level]) < 0.03);
		/* a deviation from 300 values has one of 4 % */
		assert_true(fabs(stated[level] / sqrt(squares[level]) - 1) < 0.15);
	}
}

/* Nothing is held: a level's mean, and its standard error. */
static void test_what_if_of_experiment(void **state)
{
	static struct table table;
	struct sn_what_if_level levels[3];
	struct sn_error error;
	double sum = 0, squares = 0, count = 0;
	(void)state;
	make(&table, leveled, 3, 0);
	table.question.adjustment_count = 0;
	assert_int_equal(sn_what_if(levels, &table.question, &error), 0);
	for (int row = 0; row < ROWS; row++)
		if (table.cause[row] == 2) {
			sum += table.target[row];
			squares += table.target[row] * table.target[row];
			count++;
		}
	double error_of_mean = sqrt((squares / count - sum / count * sum / count) / count);
	assert_int_equal(levels[2].rows, count);
	assert_true(fabs(levels[2].expected.value - sum / count) < error_of_mean / 5);
	assert_true(fabs(levels[2].expected.deviation / error_of_mean - 1) < 0.05);
}

static void test_what_if_without_overlap(void **state)
{
	static struct table table;
	struct sn_what_if_level levels[3];
	struct sn_error error;
	(void)state;
	make(&table, leveled, 5, 0);
	/* the third level is there for large values alone, and always */
	for (int row = 0; row < ROWS; row++)
		table.cause[row] = table.a[row] > 0.5 ? 2 : row % 2;
	assert_int_equal(sn_what_if(levels, &table.question, &error), 0);
	for (int level = 0; level < 3; level++)
		assert_int_equal(levels[level].status, SN_EFFECT_NO_OVERLAP);
	assert_true(isnan(levels[2].expected.value));
	/* nine rows */
	make(&table, leveled, 5, 0);
	for (int row = 0; row < ROWS; row++)
		table.cause[row] = row < 9 ? 2 : row % 2;
	assert_int_equal(sn_what_if(levels, &table.question, &error), 0);
	assert_int_equal(levels[2].status, SN_EFFECT_FEW);
	assert_int_equal(levels[1].status, SN_EFFECT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_intervals),
	    cmocka_unit_test(test_clusters),
	    cmocka_unit_test(test_confounded),
	    cmocka_unit_test(test_share_without_sign),
	    cmocka_unit_test(test_no_share),
	    cmocka_unit_test(test_no_answer),
	    cmocka_unit_test(test_same_again),
	    cmocka_unit_test(test_what_if),
	    cmocka_unit_test(test_what_if_of_experiment),
	    cmocka_unit_test(test_what_if_without_overlap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
