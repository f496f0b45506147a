/* SPDX-License-Identifier: Apache-2.0 */
/* Chances beside tables, and how often samples that were drawn from known shares are said to differ or to vary. */
#include "compare/chance.h"
#include "compare/difference.h"
#include "compare/variation.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { ROWS = 40, SETS = 16, DRAWS = 4000, REPEATS = 200 };

static uint64_t state;

static double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / 9007199254740992.0;
}

/* Sets of samples, a row for each of ROWS functions; shares are by set and row and add up to 1. */
struct drawn {
	struct sn_compare_rows rows;
	struct sn_compare_row names[ROWS];
	struct sn_compare_set sets[SETS];
	struct sn_compare_cell cells[SETS][ROWS];
};

static double plain_share(unsigned row)
{
	return 2.0 * (row + 1) / (ROWS * (ROWS + 1.0));
}

/* `scale` is by what the first row's share is multiplied in a set; the others' shares make up for it. */
static void draw(struct drawn *drawn, unsigned sets, double weight, const double *scale)
{
	*drawn = (struct drawn){.rows = {.is_sampled = true,
					 .rows = drawn->names,
					 .sets = drawn->sets,
					 .set_count = sets,
					 .row_count = ROWS}};
	for (unsigned set = 0; set < sets; set++) {
		struct sn_compare_set *one = &drawn->sets[set];
		double last = plain_share(ROWS - 1) * scale[set];
		*one = (struct sn_compare_set){"set", drawn->cells[set], ROWS, {0}, 1e9};
		for (unsigned n = 0; n < DRAWS; n++) {
			double at = uniform();
			unsigned row = ROWS - 1;
			if (at >= last) {
				at = (at - last) / (1 - last) * (1 - plain_share(ROWS - 1));
				for (row = 0; row + 2 < ROWS && at >= plain_share(row); row++)
					at -= plain_share(row);
			}
			one->cells[row].samples++;
			one->cells[row].value += weight;
		}
		one->all = (struct sn_compare_cell){DRAWS * weight, DRAWS, DRAWS, 0};
	}
}

static const double same[SETS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static void expect_near(double found, double wanted)
{
	if (!(fabs(found - wanted) < 1e-5 * wanted))
		fail_msg("%.9g, and not %.9g", found, wanted);
}

static void expect_between(double found, double least, double most, const char *what)
{
	if (!(found >= least && found <= most))
		fail_msg("%s: %g is not from %g to %g", what, found, least, most);
}

static void test_chances(void **unused)
{
	(void)unused;
	expect_near(sn_chance_of_split(2, 8, 0.5), 2 * 56 / 1024.0);
	expect_near(sn_chance_of_split(8, 2, 0.5), 2 * 56 / 1024.0);
	expect_near(sn_chance_of_split(0, 3, 0.25), 2 * 0.421875);
	expect_near(sn_chance_of_shares(3, 10, 8, 10), 2 * 6446 / 184756.0);
	expect_near(sn_chance_of_shares(8, 10, 3, 10), 2 * 6446 / 184756.0);
	expect_near(sn_chance_of_student(12.7062047, 1), 0.05);
	expect_near(sn_chance_of_student(-2.2281389, 10), 0.05);
	expect_near(sn_chance_of_student(0.5, 3), 0.651448);
	expect_near(sn_chance_of_split(5, 5, 0.5), 1);
	/* the normal limit of a million: 3 deviations of 500 */
	expect_between(sn_chance_of_split(498500, 501500, 0.5), 0.0026, 0.0028, "a million");
	expect_near(sn_chance_of_split(5e11 - 1.5e6, 5e11 + 1.5e6, 0.5), 0.0026998);
	/* 1 % of 1e12 and 1.00003 % of as many: 2.13 deviations */
	expect_near(sn_chance_of_shares(1e10, 1e12, 1.00003e10, 1e12), 0.0330076);
}

/* Of sets with the same shares each test is one in twenty at 5 %, and of all rows together one in twenty of the comparisons has any that is called a difference. */
static void test_false_alarms(void **unused)
{
	static struct drawn drawn;
	unsigned alarmed = 0, varied = 0;
	double low = 0, low_chi = 0, tested = 0, tested_chi = 0;
	(void)unused;
	state = 88172645463325252u;
	for (unsigned repeat = 0; repeat < REPEATS; repeat++) {
		struct sn_differences differences;
		struct sn_variations variations;
		draw(&drawn, 2, 1e6, same);
		assert_int_equal(sn_compare_differ(&drawn.rows, 1, &differences), 0);
		draw(&drawn, SETS, 1e6, same);
		assert_int_equal(sn_compare_vary(&drawn.rows, SN_PER_TOTAL, &variations), 0);
		alarmed += differences.sure > 0;
		varied += variations.varying > 0;
		for (size_t i = 0; i < differences.count; i++)
			low += differences.rows[i].share.chance < 0.05;
		for (size_t i = 0; i < variations.count; i++)
			low_chi += variations.rows[i].chance < 0.05;
		tested += (double)differences.count;
		tested_chi += (double)variations.tested;
		free(differences.rows);
		free(variations.rows);
	}
	/* of the latter 10 are expected at most, of the former 20 (shares and paces); their deviations are 3 and 4 */
	expect_between(alarmed, 1, 36, "comparisons with an alarm");
	expect_between(varied, 1, 22, "groups with an alarm");
	expect_between(low / tested, 0.025, 0.055, "low chances of shares");
	expect_between(low_chi / tested_chi, 0.042, 0.058, "low chances of homogeneity");
}

/* A share of 4.9 % becomes one of 9.8 %: it is found each time, is first, and few others are taken for one. */
static void test_planted(void **unused)
{
	static const double planted[SETS] = {1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	static struct drawn drawn;
	unsigned others = 0;
	(void)unused;
	state = 88172645463325252u;
	for (unsigned repeat = 0; repeat < 100; repeat++) {
		struct sn_differences differences;
		struct sn_variations variations;
		draw(&drawn, 2, 1e6, planted);
		assert_int_equal(sn_compare_differ(&drawn.rows, 1, &differences), 0);
		assert_int_equal(differences.rows[0].row, ROWS - 1);
		assert_true(differences.rows[0].share.is_sure && differences.rows[0].pace.is_sure);
		expect_between(differences.rows[0].after.share - differences.rows[0].before.share,
			       0.025, 0.075, "change");
		others += differences.sure - 1 > 0;
		free(differences.rows);
		draw(&drawn, SETS, 1e6, planted);
		assert_int_equal(sn_compare_vary(&drawn.rows, SN_PER_TOTAL, &variations), 0);
		assert_int_equal(variations.rows[0].row, ROWS - 1);
		assert_true(variations.rows[0].varies);
		assert_true(variations.rows[0].deviation > 1.5 * variations.rows[0].noise);
		free(variations.rows);
	}
	expect_between(others, 0, 25, "comparisons with another alarm");
}

/* A share that varies from run to run by a fifth is no difference between groups of runs; between single ones it is taken for one. */
static void test_repeats(void **unused)
{
	static struct drawn drawn;
	unsigned single = 0, grouped = 0, found = 0;
	(void)unused;
	state = 88172645463325252u;
	for (unsigned repeat = 0; repeat < REPEATS; repeat++) {
		struct sn_differences differences;
		double scale[SETS];
		for (unsigned set = 0; set < SETS; set++)
			scale[set] = 0.7 + 0.6 * uniform();
		draw(&drawn, 2, 1e6, scale);
		assert_int_equal(sn_compare_differ(&drawn.rows, 1, &differences), 0);
		single += differences.rows[0].share.is_sure;
		free(differences.rows);
		draw(&drawn, SETS, 1e6, scale);
		assert_int_equal(sn_compare_differ(&drawn.rows, SETS / 2, &differences), 0);
		assert_true(differences.has_repeats);
		grouped += differences.sure > 0;
		free(differences.rows);
		for (unsigned set = SETS / 2; set < SETS; set++)
			scale[set] *= 2.5;
		draw(&drawn, SETS, 1e6, scale);
		assert_int_equal(sn_compare_differ(&drawn.rows, SETS / 2, &differences), 0);
		found += differences.rows[0].row == ROWS - 1 && differences.rows[0].share.is_sure;
		free(differences.rows);
	}
	expect_between(single, 25, 200, "single runs");
	expect_between(grouped, 0, 36, "groups of runs");
	expect_between(found, 190, 200, "a share that is two and a half times as large");
}

/* A sample of a set may stand for twice as much as one of another: the values are the same. */
static void test_weights(void **unused)
{
	static struct drawn drawn;
	struct sn_differences differences;
	unsigned alarmed = 0;
	(void)unused;
	state = 88172645463325252u;
	for (unsigned repeat = 0; repeat < 100; repeat++) {
		draw(&drawn, 2, 1e6, same);
		for (unsigned row = 0; row < ROWS; row++)
			drawn.cells[1][row].value *= 2;
		drawn.sets[1].all.value *= 2;
		drawn.sets[1].duration_ns *= 2;
		assert_int_equal(sn_compare_differ(&drawn.rows, 1, &differences), 0);
		alarmed += differences.sure > 0;
		expect_near(differences.all.after.pace, differences.all.before.pace);
		free(differences.rows);
	}
	expect_between(alarmed, 0, 20, "alarms");
}

/* What is no sample has no noise that could be known, and what has few is not tested. */
static void test_unknown(void **unused)
{
	static struct drawn drawn;
	struct sn_differences differences;
	struct sn_variations variations;
	(void)unused;
	state = 88172645463325252u;
	draw(&drawn, SETS, 1, same);
	for (unsigned set = 0; set < SETS; set++)
		drawn.cells[set][0] = (struct sn_compare_cell){set / 4, set / 4, set / 4, 0};
	assert_int_equal(sn_compare_vary(&drawn.rows, SN_PER_SET, &variations), 0);
	assert_int_equal(variations.few, 1);
	assert_int_equal(variations.tested, ROWS - 1);
	free(variations.rows);
	drawn.rows.is_sampled = false;
	drawn.rows.set_count = 2;
	assert_int_equal(sn_compare_vary(&drawn.rows, SN_PER_SET, &variations), 0);
	assert_int_equal(variations.tested, 0);
	free(variations.rows);
	assert_int_equal(sn_compare_differ(&drawn.rows, 1, &differences), 0);
	assert_true(isnan(differences.rows[0].share.chance) && isnan(differences.all.pace.chance));
	assert_int_equal(differences.sure, 0);
	free(differences.rows);
	drawn.sets[1].duration_ns = 0;
	assert_int_equal(sn_compare_vary(&drawn.rows, SN_PER_SECOND, &variations), SN_ERR_ARGUMENT);
	free(variations.rows);
	assert_int_equal(sn_compare_differ(&drawn.rows, 1, &differences), 0);
	assert_true(isnan(differences.all.after.pace) && !isnan(differences.all.before.pace));
	free(differences.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_chances), cmocka_unit_test(test_false_alarms),
	    cmocka_unit_test(test_planted), cmocka_unit_test(test_repeats),
	    cmocka_unit_test(test_weights), cmocka_unit_test(test_unknown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
