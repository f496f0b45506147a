/* SPDX-License-Identifier: Apache-2.0 */
/* Drifts, means and changes of series that are made, many times: how often what is not there is found, and what is there is not. */
#include "variability/series.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { STEPS = 256, ROUNDS = 1000 };

static uint64_t state = 88172645463325252ull;

static double random_share(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

static double random_normal(void)
{
	return sqrt(-2 * log(random_share())) * cos(6.283185307179586 * random_share());
}

/* Steps of 1 to 39 values, some without any; means of values of deviation 1, successive ones correlated by `rho`. */
static void make(struct sn_series_step *steps, double rho)
{
	double before = random_normal();
	for (size_t i = 0; i < STEPS; i++) {
		double count = random_share() < 0.1 ? 0 : 1 + floor(39 * random_share());
		before = rho * before + sqrt(1 - rho * rho) * random_normal();
		steps[i] = (struct sn_series_step){count, count > 0 ? before / sqrt(count) : 0, 0};
		steps[i].plain_mean = steps[i].mean;
	}
}

static void add(struct sn_series_step *steps, size_t from, size_t to, double difference,
		double slope)
{
	for (size_t i = from; i < to; i++) {
		steps[i].mean += difference + slope * (double)i / STEPS;
		steps[i].plain_mean = steps[i].mean;
	}
}

/* Of intervals and p values. `rho` 0.6 is what clocks and caches do to successive steps. */
static void check_calibration(double rho, double most_false, double least_covered)
{
	struct sn_series_step steps[STEPS];
	unsigned false_drifts = 0, false_means = 0, false_changes = 0, covered = 0;
	for (int round = 0; round < ROUNDS; round++) {
		struct sn_changes changes;
		make(steps, rho);
		false_drifts += sn_steps_drift(steps, STEPS).whole.p <= 0.05;
		false_means += sn_steps_mean(steps, STEPS).p <= 0.05;
		assert_int_equal(sn_steps_changes(steps, STEPS, 0, &changes), 0);
		false_changes += changes.count > 0;
		add(steps, 0, STEPS, 0.3, 0);
		struct sn_estimate mean = sn_steps_mean(steps, STEPS);
		covered += mean.low < 0.3 && mean.high > 0.3;
	}
	assert_true(false_drifts <= most_false * ROUNDS && false_means <= most_false * ROUNDS);
	/* and no test that never rejects */
	assert_true(false_drifts >= 0.01 * ROUNDS && false_means >= 0.01 * ROUNDS);
	assert_true(covered >= least_covered * ROUNDS);
	assert_true(false_changes <= 0.05 * ROUNDS);
}

static void test_what_is_not_there(void **unused)
{
	(void)unused;
	check_calibration(0, 0.07, 0.93);
	check_calibration(0.6, 0.09, 0.91);
}

static void test_a_drift_is_found(void **unused)
{
	struct sn_series_step steps[STEPS];
	unsigned found = 0, covered = 0, changed = 0;
	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		struct sn_changes changes;
		make(steps, 0.3);
		add(steps, 0, STEPS, 0, round % 2 ? 0.6 : -0.6);
		struct sn_estimate whole = sn_steps_drift(steps, STEPS).whole;
		double truth = (round % 2 ? 0.6 : -0.6);
		found += whole.p <= 0.01 && (whole.value > 0) == (truth > 0);
		covered += whole.low < truth && whole.high > truth;
		assert_int_equal(sn_steps_changes(steps, STEPS, 0, &changes), 0);
		changed += changes.count > 0;
	}
	assert_true(found >= 0.99 * ROUNDS);
	assert_true(covered >= 0.92 * ROUNDS && covered <= 0.99 * ROUNDS);
	assert_true(changed <= 0.05 * ROUNDS); /* a line explains it */
}

static void test_changes_are_found(void **unused)
{
	struct sn_series_step steps[STEPS];
	unsigned found = 0;
	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		struct sn_changes changes;
		size_t first = 40 + (size_t)(60 * random_share()),
		       second = first + 40 + (size_t)(60 * random_share());
		make(steps, 0.3);
		add(steps, first, second, 1, 0);
		assert_int_equal(sn_steps_changes(steps, STEPS, 0.1, &changes), 0);
		if (changes.count != 2)
			continue;
		const struct sn_change *up = changes.items, *down = changes.items + 1;
		found += labs((long)up->step - (long)first) <= 2 &&
			 labs((long)down->step - (long)second) <= 2 &&
			 fabs(up->difference - 1) < 0.3 && fabs(down->difference + 1) < 0.3;
	}
	assert_true(found >= 0.95 * ROUNDS);
}

/* What is limited against outliers tells that there is a change, and what is not how large it is. */
static void test_the_size_of_a_change(void **unused)
{
	struct sn_series_step steps[STEPS];
	struct sn_changes changes;
	(void)unused;
	make(steps, 0);
	add(steps, 100, STEPS, 1, 0);
	for (size_t i = 100; i < STEPS; i++)
		steps[i].plain_mean += 4;
	assert_int_equal(sn_steps_changes(steps, STEPS, 0.1, &changes), 0);
	assert_int_equal(changes.count, 1);
	assert_true(fabs(changes.items[0].difference - 5) < 0.2);
	assert_int_equal(sn_steps_changes(steps, STEPS, 6, &changes), 0);
	assert_int_equal(changes.count, 0);
}

static void test_too_few_or_constant(void **unused)
{
	struct sn_series_step steps[STEPS] = {0};
	struct sn_changes changes;
	(void)unused;
	assert_false(sn_steps_drift(steps, STEPS).whole.is_known);
	for (size_t i = 0; i < SN_STEPS_LEAST - 1; i++)
		steps[i * 30] = (struct sn_series_step){2, (double)i, (double)i};
	assert_false(sn_steps_drift(steps, STEPS).whole.is_known);
	assert_false(sn_steps_mean(steps, STEPS).is_known);
	assert_int_equal(sn_steps_changes(steps, STEPS, 0, &changes), 0);
	assert_int_equal(changes.count, 0);
	for (size_t i = 0; i < STEPS; i++)
		steps[i] = (struct sn_series_step){3, 0.1, 0.1};
	assert_true(sn_steps_drift(steps, STEPS).whole.p > 0.9);
	assert_int_equal(sn_steps_changes(steps, STEPS, 0, &changes), 0);
	assert_int_equal(changes.count, 0);
}

/* The example of Benjamini and Hochberg (1995), section 3.2: the four smallest. */
static void test_false_discovery(void **unused)
{
	const double p[] = {0.7590, 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298,
			    0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 1.0000};
	(void)unused;
	assert_true(sn_false_discovery_limit(p, 15, 0.05) == 0.0095);
	assert_true(sn_false_discovery_limit(p, 1, 0.05) < 0);
	assert_true(sn_false_discovery_limit(p, 0, 0.05) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_is_not_there),	cmocka_unit_test(test_a_drift_is_found),
	    cmocka_unit_test(test_changes_are_found),	cmocka_unit_test(test_the_size_of_a_change),
	    cmocka_unit_test(test_too_few_or_constant), cmocka_unit_test(test_false_discovery),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
