/* SPDX-License-Identifier: Apache-2.0 */
/* Sums across profiles: exact whatever their order, for whole numbers and others. */
#include "format/writer/across.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The sum of squares of `count` numbers, added from `first` on, some of them by way of a second
 * table. */
static double squares_of(const double *numbers, unsigned count, unsigned first, int32_t shift)
{
	struct sn_across_table one, other;
	assert_int_equal(sn_across_init(&one, 1, 1), 0);
	assert_int_equal(sn_across_init(&other, 1, 1), 0);
	for (unsigned i = 0; i < count; i++) {
		struct sn_across_table *table = i % 3 ? &one : &other;
		struct sn_across_metric *metric = sn_across_metric(table, 0);
		assert_int_equal(
		    sn_across_add(table, metric, 0, numbers[(first + i) % count], shift), 0);
	}
	assert_int_equal(sn_across_absorb(&one, &other), 0);
	const struct sn_across *item = sn_across_at(&one, 0, 0);
	assert_int_equal(item->count, count);
	double squares = sn_across_squares(item, shift);
	sn_across_release(&one);
	sn_across_release(&other);
	return squares;
}

static void expect(const double *numbers, unsigned count, int32_t shift, double squares)
{
	for (unsigned first = 0; first < count; first++) {
		double found = squares_of(numbers, count, first, shift);
		assert_true(found == squares);
	}
}

static void whole_numbers(void **state)
{
	(void)state;
	expect((const double[]){3, 4, 12}, 3, 0, 169);
	/* (2^32)^2 + 4 * 32^2 = 2^64 + 2^12: doubles would lose the small ones, one by one */
	expect((const double[]){0x1p32, 32, 32, 32, 32}, 5, 0, 0x1p64 + 0x1p12);
	/* beyond 64 bits each, and beyond 128 together */
	expect((const double[]){0x1p100, 0x1p80, 0x1p80, 0x1p80, 0x1p80}, 5, 0, 0x1p200 + 0x1p162);
	expect((const double[]){-5, 5}, 2, 0, 50);
}

static void fractions(void **state)
{
	/* 1 + 4 * 2^-54 = 1 + 2^-52: each of the small ones alone would be rounded away */
	const double small[] = {1, 0x1p-27, 0x1p-27, 0x1p-27, 0x1p-27};
	(void)state;
	expect(small, 5, 2 - SN_ACROSS_BITS, 1 + 0x1p-52);
	/* the shift is how it is done, and makes no difference */
	expect(small, 5, 10 - SN_ACROSS_BITS, 1 + 0x1p-52);
	/* below half of the last place, but not nothing: rounded up from the middle */
	expect((const double[]){1, 0x1p-27, 0x1p-27, 0x1p-40}, 4, 2 - SN_ACROSS_BITS, 1 + 0x1p-52);
	expect((const double[]){1, 0x1p-27, 0x1p-27}, 3, 2 - SN_ACROSS_BITS, 1);
	expect((const double[]){0.1}, 1, -SN_ACROSS_BITS, 0.1 * 0.1);
}

static void beyond_doubles(void **state)
{
	const double sum[] = {INFINITY, -INFINITY};
	(void)state;
	assert_true(isinf(squares_of(sum, 2, 0, 1026 - SN_ACROSS_BITS)));
	assert_true(squares_of((const double[]){DBL_MIN}, 1, 0, 1026 - SN_ACROSS_BITS) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(whole_numbers),
	    cmocka_unit_test(fractions),
	    cmocka_unit_test(beyond_doubles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
