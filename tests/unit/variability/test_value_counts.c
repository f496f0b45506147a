/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of values against the sorted values themselves. */
#include "variability/value_counts.h"

#include "base/sort.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 60000 };

static uint64_t state = 88172645463325252ull;

static uint64_t random_below(uint64_t bound)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 1) % bound;
}

static double near_to(double found, double expected, double relative)
{
	return fabs(found - expected) <= relative * fabs(expected) + 1e-12;
}

static double quantile(const uint64_t *sorted, size_t count, double share)
{
	double place = share * (double)(count - 1);
	size_t below = (size_t)place, above = below + 1 < count ? below + 1 : below;
	return (double)sorted[below] +
	       (double)(sorted[above] - sorted[below]) * (place - (double)below);
}

/* Against the definition; quantiles within the stated error. */
static void check(const struct sn_value_counts *counts, uint64_t *values, size_t count)
{
	static double logs[MOST];
	double sum = 0, squares = 0, differences = 0;
	sn_sort_u64(values, count);
	for (size_t i = 0; i < count; i++)
		sum += (double)values[i];
	for (size_t i = 0; i < count; i++) {
		double difference = (double)values[i] - sum / (double)count;
		squares += difference * difference;
		differences += fabs(difference);
		logs[i] = log(values[i] ? (double)values[i] : 1);
	}
	double error = sn_value_counts_error(counts);
	assert_int_equal(counts->total, count);
	assert_int_equal(counts->least, values[0]);
	assert_int_equal(counts->greatest, values[count - 1]);
	assert_true(near_to(sn_value_counts_mean(counts), sum / (double)count, 1e-12));
	assert_true(
	    near_to(sn_value_counts_deviation(counts), sqrt(squares / (double)count), 1e-9));
	assert_true(near_to(sn_value_counts_mean_difference(counts), differences / (double)count,
			    error * 20 + 1e-9));
	for (double share = 0; share <= 1; share += 0.03125)
		assert_true(near_to(sn_value_counts_quantile(counts, share),
				    quantile(values, count, share), error + 1e-12));
	double median = sn_sort_median(logs, count);
	for (size_t i = 0; i < count; i++)
		logs[i] = fabs(log(values[i] ? (double)values[i] : 1) - median);
	struct sn_log_spread spread = sn_value_counts_log_spread(counts);
	assert_true(fabs(spread.median - median) <= error + 1e-12);
	assert_true(fabs(spread.mad - sn_sort_median(logs, count)) <= 2 * error + 1e-12);
	if (error > 0)
		return;
	uint64_t outliers = 0;
	for (size_t i = 0; i < count; i++)
		outliers += logs[i] > SN_OUTLIER_SCALES * spread.scale * (1 + 1e-12);
	struct sn_outliers found = sn_value_counts_outliers(counts, &spread);
	assert_int_equal(found.above + found.below, spread.scale > 0 ? outliers : 0);
}

static size_t make(uint64_t *values, uint64_t spread)
{
	size_t count = 1 + random_below(spread % 3 ? 50 : MOST);
	uint64_t base = random_below(100000);
	for (size_t i = 0; i < count; i++)
		values[i] = base + random_below(spread) * (random_below(50) ? 1 : 20);
	return count;
}

static void test_against_sorted_values(void **unused)
{
	static uint64_t values[MOST];
	(void)unused;
	for (uint64_t round = 1; round < 60; round++) {
		struct sn_value_counts counts = {.limit = 1 << 17};
		size_t count = make(values, 1 + round * round * 7);
		for (size_t from = 0, part; from < count; from += part) {
			part = 1 + random_below(count - from);
			assert_int_equal(sn_value_counts_add(&counts, values + from, part), 0);
		}
		assert_int_equal(sn_value_counts_settle(&counts), 0);
		assert_true(sn_value_counts_error(&counts) == 0);
		check(&counts, values, count);
		sn_value_counts_release(&counts);
	}
}

static void test_rounded_within_the_error(void **unused)
{
	static uint64_t values[MOST];
	(void)unused;
	for (int round = 0; round < 6; round++) {
		struct sn_value_counts counts = {.limit = 2000};
		for (size_t i = 0; i < MOST; i++)
			values[i] = 1000 + random_below(1ull << (18 + 3 * round));
		assert_int_equal(sn_value_counts_add(&counts, values, MOST), 0);
		assert_int_equal(sn_value_counts_settle(&counts), 0);
		assert_true(sn_value_counts_error(&counts) > 0 &&
			    sn_value_counts_error(&counts) < 0.02);
		assert_true(counts.count <= 2000);
		check(&counts, values, MOST);
		sn_value_counts_release(&counts);
	}
}

/* In several sets that are merged in any order, with a limit that is lowered at any time. */
static void fill_divided(struct sn_value_counts *whole, const uint64_t *values, size_t count,
			 size_t limit)
{
	for (size_t from = 0, part; from < count; from += part) {
		struct sn_value_counts one = {.limit = limit * (1 + random_below(3))};
		part = 1 + random_below(count - from);
		assert_int_equal(sn_value_counts_add(&one, values + from, part / 2), 0);
		assert_int_equal(
		    sn_value_counts_add(&one, values + from + part / 2, part - part / 2), 0);
		assert_int_equal(sn_value_counts_settle(&one), 0);
		assert_int_equal(sn_value_counts_merge(whole, &one), 0);
		sn_value_counts_release(&one);
	}
	assert_int_equal(sn_value_counts_settle(whole), 0);
	sn_value_counts_set_limit(whole, limit);
}

static void test_order_does_not_matter(void **unused)
{
	static uint64_t values[MOST];
	(void)unused;
	for (int round = 0; round < 8; round++) {
		struct sn_value_counts first = {.limit = 90000}, second = {.limit = 70000};
		size_t limit = round % 2 ? 3000 : 65536;
		for (size_t i = 0; i < MOST; i++)
			values[i] = random_below(200000) + random_below(200000);
		fill_divided(&first, values, MOST, limit);
		for (size_t i = MOST - 1; i > 0; i--) {
			size_t other = random_below(i + 1);
			uint64_t kept = values[i];
			values[i] = values[other];
			values[other] = kept;
		}
		fill_divided(&second, values, MOST, limit);
		assert_int_equal(first.bits, second.bits);
		assert_true(round % 2 ? first.bits > 0 : first.bits == 0);
		assert_int_equal(first.count, second.count);
		assert_memory_equal(first.items, second.items, first.count * sizeof(*first.items));
		assert_true(first.sum == second.sum && first.sum_squares == second.sum_squares &&
			    first.least == second.least && first.greatest == second.greatest);
		sn_value_counts_release(&first);
		sn_value_counts_release(&second);
	}
}

/* Three days are the most; sums of their squares do not fit into 128 bits when they are multiplied. */
static void test_large_values(void **unused)
{
	struct sn_value_counts counts = {.limit = 64};
	const uint64_t values[] = {(1ull << 47) - 1, UINT64_MAX, 1ull << 47, 0};
	(void)unused;
	for (int i = 0; i < 40000; i++)
		assert_int_equal(sn_value_counts_add(&counts, values, 4), 0);
	assert_int_equal(sn_value_counts_settle(&counts), 0);
	assert_true(
	    near_to(sn_value_counts_mean(&counts), (ldexp(1, 48) + ldexp(1, 48) - 2) / 4, 1e-12));
	assert_true(near_to(sn_value_counts_deviation(&counts), ldexp(1, 47) / sqrt(2), 1e-9));
	assert_int_equal(counts.greatest, (1ull << 48) - 1);
	sn_value_counts_release(&counts);
}

static void test_constant_and_empty(void **unused)
{
	struct sn_value_counts counts = {.limit = 64};
	const uint64_t values[] = {1234567, 1234567, 1234567};
	(void)unused;
	assert_true(sn_value_counts_mean(&counts) == 0 &&
		    sn_value_counts_quantile(&counts, 0.5) == 0);
	assert_true(sn_value_counts_log_spread(&counts).scale == 0);
	assert_int_equal(sn_value_counts_add(&counts, values, 3), 0);
	assert_int_equal(sn_value_counts_settle(&counts), 0);
	struct sn_log_spread spread = sn_value_counts_log_spread(&counts);
	struct sn_outliers outliers = sn_value_counts_outliers(&counts, &spread);
	assert_true(sn_value_counts_deviation(&counts) == 0 && spread.scale == 0 &&
		    outliers.above + outliers.below == 0);
	sn_value_counts_release(&counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_against_sorted_values),
	    cmocka_unit_test(test_rounded_within_the_error),
	    cmocka_unit_test(test_order_does_not_matter),
	    cmocka_unit_test(test_large_values),
	    cmocka_unit_test(test_constant_and_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
