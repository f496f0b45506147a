/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks whose difference is known, seen only through events in a known order. */
#include "trace/clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define HOURS INT64_C(3600000000000)

static uint64_t state;

static int64_t random_below(int64_t bound)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (int64_t)(state >> 1) % bound;
}

/* What the other clock shows when this one shows `at`: hours apart, and one is fast. */
struct truth {
	int64_t offset_ns;
	double drift, bend; /* of the rate; its change over a second */
};

static int64_t other(const struct truth *truth, int64_t at)
{
	double seconds = 1e-9 * (double)at;
	return at + truth->offset_ns +
	       (int64_t)((truth->drift + truth->bend * seconds / 2) * seconds * 1e9);
}

/* Commands that take a while to begin, and whose end is seen a while later. */
static void observe(struct sn_clock *clock, const struct truth *truth, int64_t from, int64_t to,
		    unsigned count, int64_t delay)
{
	for (unsigned i = 0; i < count; i++) {
		int64_t at = from + (to - from) / count * i + random_below(1000);
		assert_int_equal(
		    sn_clock_after(clock, at, other(truth, at) - 500 - random_below(delay)), 0);
		assert_int_equal(
		    sn_clock_before(clock, at, other(truth, at) + 700 + random_below(delay)), 0);
	}
}

static int64_t worst(const struct sn_clock *clock, const struct truth *truth, int64_t from,
		     int64_t to)
{
	int64_t found = 0, last = INT64_MIN;
	for (int64_t at = from; at < to; at += (to - from) / 1000) {
		int64_t shown = sn_clock_convert(clock, at), wrong = shown - other(truth, at);
		assert_true(shown >= last);
		last = shown;
		if (llabs(wrong) > found)
			found = llabs(wrong);
	}
	return found;
}

/* The number of violated bounds: 0 unless clocks jump. */
static size_t violations(const struct sn_clock *clock)
{
	size_t count = 0;
	for (size_t i = 0; i < clock->bound_count; i++) {
		const struct sn_clock_bound *bound = clock->bounds + i;
		int64_t offset = sn_clock_convert(clock, bound->at_ns) - bound->at_ns;
		count += bound->is_upper ? offset > bound->offset_ns : offset < bound->offset_ns;
	}
	return count;
}

static void test_offset_and_drift(void **unused)
{
	const struct truth truths[] = {
	    {5 * HOURS, 80e-6, 0}, {-3 * HOURS, -200e-6, 0}, {17, 0, 0}, {-900 * HOURS, 999e-6, 0}};
	for (size_t i = 0; i < sizeof(truths) / sizeof(*truths); i++) {
		struct sn_clock clock = {0};
		state = 88172645463325252u + i;
		observe(&clock, &truths[i], 0, 60 * INT64_C(1000000000), 2000, 40000);
		assert_int_equal(sn_clock_fit(&clock), 0);
		assert_int_equal(clock.window_count, 1);
		assert_int_equal(violations(&clock), 0);
		int64_t wrong = worst(&clock, &truths[i], 0, 60 * INT64_C(1000000000));
		assert_true((uint64_t)wrong <= sn_clock_error(&clock));
		/* most delays are tens of microseconds; the least ones count */
		assert_true(sn_clock_error(&clock) < 3000);
		assert_true(fabs(sn_clock_drift_ppb(&clock) - truths[i].drift * 1e9) < 500);
		sn_clock_release(&clock);
	}
}

/* No line fits a clock whose rate changes. */
static void test_uneven_drift(void **unused)
{
	const struct truth truth = {2 * HOURS, 10e-6, 1e-6};
	struct sn_clock clock = {0};
	state = 5;
	observe(&clock, &truth, 0, 100 * INT64_C(1000000000), 20000, 20000);
	assert_int_equal(sn_clock_fit(&clock), 0);
	assert_true(clock.window_count > 3);
	assert_int_equal(violations(&clock), 0);
	assert_true(worst(&clock, &truth, 0, 99 * INT64_C(1000000000)) <
		    (int64_t)sn_clock_error(&clock) + 3000);
	sn_clock_release(&clock);
}

static void test_little_known(void **unused)
{
	struct sn_clock clock = {0};
	assert_int_equal(sn_clock_fit(&clock), 0);
	assert_int_equal(sn_clock_convert(&clock, 42), 42);
	assert_true(sn_clock_error(&clock) == SN_CLOCK_UNKNOWN);
	assert_int_equal(sn_clock_after(&clock, 100, 1100), 0);
	assert_int_equal(sn_clock_after(&clock, 200, 1150), 0);
	assert_int_equal(sn_clock_fit(&clock), 0);
	assert_int_equal(sn_clock_convert(&clock, 300), 1300);
	assert_true(sn_clock_error(&clock) == SN_CLOCK_UNKNOWN);
	/* one command alone: right to half of what is between its two sides */
	assert_int_equal(sn_clock_before(&clock, 150, 1190), 0);
	assert_int_equal(sn_clock_fit(&clock), 0);
	assert_int_equal(violations(&clock), 0);
	assert_true(sn_clock_error(&clock) >= 20 && sn_clock_error(&clock) <= 25);
	sn_clock_release(&clock);
}

/* A clock that somebody sets: two lines, and no time twice. */
static void test_jump(void **unused)
{
	const struct truth before = {1000, 0, 0}, after = {5000000, 0, 0};
	struct sn_clock clock = {0};
	state = 7;
	observe(&clock, &before, 0, 1000000000, 100, 1000);
	observe(&clock, &after, 1000000000, 2000000000, 100, 1000);
	assert_int_equal(sn_clock_fit(&clock), 0);
	assert_int_equal(clock.window_count, 2);
	assert_true(worst(&clock, &before, 0, 990000000) <= (int64_t)sn_clock_error(&clock));
	assert_true(worst(&clock, &after, 1010000000, 2000000000) <=
		    (int64_t)sn_clock_error(&clock));
	sn_clock_release(&clock);
}

static void test_tree(void **unused)
{
	const struct sn_clock_pair pairs[] = {{0, 1, 900}, {1, 2, 10}, {2, 0, 50}, {3, 4, 1}};
	size_t parents[5];
	assert_int_equal(sn_clock_tree(pairs, 4, 5, 0, parents), 0);
	assert_true(parents[0] == SIZE_MAX);
	assert_int_equal(parents[2], 2);
	assert_int_equal(parents[1], 1); /* by way of 2, which is better known */
	assert_true(parents[3] == SIZE_MAX && parents[4] == SIZE_MAX);
}

/* Of several bounds at one time the nearest counts, in whichever order they come. */
static void test_bounds_of_one_time(void **unused)
{
	for (int order = 0; order < 2; order++) {
		struct sn_clock clock = {0};
		for (int64_t at = 0; at <= 1000000000; at += 500000000) {
			assert_int_equal(sn_clock_after(&clock, at, at + (order ? 100 : 50)), 0);
			assert_int_equal(sn_clock_after(&clock, at, at + (order ? 50 : 100)), 0);
			assert_int_equal(sn_clock_before(&clock, at, at + (order ? 500 : 120)), 0);
			assert_int_equal(sn_clock_before(&clock, at, at + (order ? 120 : 500)), 0);
		}
		assert_int_equal(sn_clock_fit(&clock), 0);
		assert_int_equal(sn_clock_convert(&clock, 500000000), 500000110);
		assert_in_range(sn_clock_error(&clock), 10, 32);
		sn_clock_release(&clock);
	}
}

static void bounds(struct sn_clock *clock, int64_t at, int64_t lower, int64_t upper)
{
	assert_int_equal(sn_clock_after(clock, at, at + lower), 0);
	assert_int_equal(sn_clock_before(clock, at, at + upper), 0);
}

/* How wrong a time may be is what is known worst: at the end here, and first above, then below. */
static void test_error_where_least_is_known(void **unused)
{
	for (int side = -1; side <= 1; side += 2) {
		struct sn_clock clock = {0};
		int64_t near = 30, far = 100000;
		bounds(&clock, 0, -10, 10);
		bounds(&clock, 100000000, -10, 10);
		bounds(&clock, 1000000000, side < 0 ? -far : -near, side < 0 ? near : far);
		assert_int_equal(sn_clock_fit(&clock), 0);
		assert_int_equal(clock.window_count, 1);
		/* a line through opposite ends of the first two bounds is 190 off by then */
		assert_in_range(sn_clock_error(&clock), 180, 230);
		sn_clock_release(&clock);
	}
}

/* Set back by a millisecond: time stands still until it has caught up. */
static void test_jump_back(void **unused)
{
	struct sn_clock clock = {0};
	for (int64_t at = 0; at < 100000; at += 10000)
		bounds(&clock, at, 1000000 - 10, 1000000 + 10);
	for (int64_t at = 200000; at < 3000000; at += 10000)
		bounds(&clock, at, -10, 10);
	assert_int_equal(sn_clock_fit(&clock), 0);
	assert_int_equal(clock.window_count, 2);
	int64_t last = sn_clock_convert(&clock, 199999);
	assert_in_range(last, 1199900, 1200100);
	assert_true(sn_clock_convert(&clock, 200000) >= last);
	assert_in_range(sn_clock_convert(&clock, 2000000), 1999990, 2000010);
	sn_clock_release(&clock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_offset_and_drift),
	    cmocka_unit_test(test_uneven_drift),
	    cmocka_unit_test(test_little_known),
	    cmocka_unit_test(test_jump),
	    cmocka_unit_test(test_tree),
	    cmocka_unit_test(test_bounds_of_one_time),
	    cmocka_unit_test(test_jump_back),
	    cmocka_unit_test(test_error_where_least_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
