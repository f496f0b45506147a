/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of independence against closed forms: inverse matrices, tables small enough to count by hand, analysis of variance. */
#include "causal/independence/blocks.h"
#include "causal/independence/chi_square.h"
#include "causal/independence/contingency.h"
#include "causal/independence/fisher.h"
#include "causal/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { ROWS = 60, COLUMNS = 8 };

static void assert_near(double value, double wanted, double relative)
{
	if (!(fabs(value - wanted) <= relative * fabs(wanted)))
		fail_msg("%.17g, not %.17g", value, wanted);
}

static double normal(struct sn_random *random)
{
	double sum = -6;
	for (int i = 0; i < 12; i++)
		sum += (double)(sn_random_next(random) >> 11) * 0x1p-53;
	return sum;
}

/* Of incomplete gamma functions computed with 40 digits. */
static void test_tails(void **state)
{
	static const double known[][3] = {{3.841458820694124, 1, 0.050000000000000057},
					  {1400, 1, 2.1010145162642175e-306},
					  {1400, 2, 9.8596765437597709e-305},
					  {0.001, 3, 0.99999159208094195},
					  {500, 100, 1.7201210053695375e-54},
					  {1300, 7, 1.6632784025498238e-276},
					  {99, 100, 0.50947219879837413},
					  {102.5, 100, 0.41200500499938922},
					  {12000, 10000, 1.1470065524601248e-40},
					  {9000, 10000, 0.99999999999987302},
					  {20, 19, 0.39457818208600081},
					  {21.5, 20, 0.36824610530641795}};
	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_near(sn_chi_square_tail(known[i][0], known[i][1]), known[i][2], 1e-12);
	assert_true(sn_chi_square_tail(0, 3) == 1);
	assert_true(sn_chi_square_tail(INFINITY, 3) == 0);
	/* the series and the fraction, where one takes over from the other */
	for (double degrees = 1; degrees < 1e6; degrees = degrees * 1.7 + 1)
		assert_near(sn_chi_square_tail(nextafter(degrees + 2, 0), degrees),
			    sn_chi_square_tail(degrees + 2, degrees), 1e-12);
}

/* ---- numbers ---- */

/* Correlations of the columns of a table. */
static void correlate(uint32_t columns, const double (*rows)[COLUMNS], double *correlations)
{
	double means[COLUMNS] = {0}, products[COLUMNS][COLUMNS] = {{0}};
	for (int row = 0; row < ROWS; row++)
		for (uint32_t a = 0; a < columns; a++)
			means[a] += rows[row][a] / ROWS;
	for (int row = 0; row < ROWS; row++)
		for (uint32_t a = 0; a < columns; a++)
			for (uint32_t b = 0; b < columns; b++)
				products[a][b] +=
				    (rows[row][a] - means[a]) * (rows[row][b] - means[b]);
	for (uint32_t a = 0; a < columns; a++)
		for (uint32_t b = 0; b < columns; b++)
			correlations[a * columns + b] =
			    a == b ? 1 : products[a][b] / sqrt(products[a][a] * products[b][b]);
}

/* Columns that depend on each other. */
static void simulate(uint64_t seed, double *correlations)
{
	static double rows[ROWS][COLUMNS];
	struct sn_random random;
	sn_random_begin(&random, seed, 0);
	for (int row = 0; row < ROWS; row++)
		for (int own = 0; own < COLUMNS; own++) {
			rows[row][own] = normal(&random);
			for (int cause = 0; cause < own; cause++)
				rows[row][own] += (cause + own) % 3 ? 0 : 0.5 * rows[row][cause];
		}
	correlate(COLUMNS, rows, correlations);
}

/* Of the first two of `chosen`, with the others held: by Gauss and Jordan's inverse. */
static double partial_correlation(const double *correlations, const uint32_t *chosen,
				  uint32_t count)
{
	double m[COLUMNS][2 * COLUMNS] = {{0}};
	for (uint32_t a = 0; a < count; a++) {
		m[a][count + a] = 1;
		for (uint32_t b = 0; b < count; b++)
			m[a][b] = correlations[chosen[a] * COLUMNS + chosen[b]];
	}
	for (uint32_t pivot = 0; pivot < count; pivot++) {
		double scale = m[pivot][pivot];
		for (uint32_t at = 0; at < 2 * count; at++)
			m[pivot][at] /= scale;
		for (uint32_t row = 0; row < count; row++) {
			double factor = m[row][pivot];
			for (uint32_t at = 0; row != pivot && at < 2 * count; at++)
				m[row][at] -= factor * m[pivot][at];
		}
	}
	return -m[0][count + 1] / sqrt(m[0][count] * m[1][count + 1]);
}

static double probability_of(double correlation, size_t rows, uint32_t held)
{
	return erfc(sqrt((double)(rows - held - 3) / 2) *
		    fabs(log((1 + correlation) / (1 - correlation)) / 2));
}

/* Each set one by one, and the largest of a size at once. */
static void assert_fisher(const double *correlations, uint32_t a, uint32_t b, uint32_t size)
{
	struct sn_fisher fisher;
	uint32_t among[COLUMNS], places[COLUMNS], count = 0;
	double most = 0;
	sn_fisher_init(&fisher, correlations, COLUMNS, ROWS);
	struct sn_independence test = sn_fisher_test(&fisher);
	for (uint32_t other = 0; other < COLUMNS; other++)
		if (other != a && other != b)
			among[count++] = other;
	for (bool more = sn_subset_first(places, size, count); more;
	     more = sn_subset_next(places, size, count)) {
		uint32_t chosen[COLUMNS] = {a, b};
		for (uint32_t place = 0; place < size; place++)
			chosen[2 + place] = among[places[place]];
		double wanted =
		    probability_of(partial_correlation(correlations, chosen, size + 2), ROWS, size);
		assert_near(test.of(test.context, a, b, chosen + 2, size), wanted, 1e-9);
		most = wanted > most ? wanted : most;
	}
	assert_near(sn_independence_most(&test, a, b, among, count, size, 1), most, 1e-9);
	/* asked before for sets of another size */
	sn_independence_most(&test, a, b, among, count, size ? 0 : 1, most * 1.001);
	assert_near(sn_independence_most(&test, a, b, among, count, size, most * 1.001), most,
		    1e-9);
	sn_independence_most(&test, a, b, among, count, size ? 0 : 1, most * 0.999);
	assert_true(sn_independence_most(&test, a, b, among, count, size, most * 0.999) == 1);
	/* the same without what shares work */
	test.most = NULL;
	assert_near(sn_independence_most(&test, a, b, among, count, size, 1), most, 1e-9);
	assert_true(sn_independence_most(&test, a, b, among, count, size, most * 0.999) == 1);
	sn_fisher_release(&fisher);
}

static void test_fisher(void **state)
{
	double correlations[COLUMNS * COLUMNS];
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		simulate(seed, correlations);
		for (uint32_t a = 0; a < COLUMNS; a++)
			for (uint32_t b = a + 1; b < COLUMNS; b++)
				for (uint32_t size = 0; size <= COLUMNS - 2; size++)
					assert_fisher(correlations, a, b, size);
	}
}

/* c = a + b, of equal variance and independent; d is e. */
static void test_fisher_of_what_is_determined(void **state)
{
	enum { A, B, C, D, E, COUNT };
	double half = sqrt(0.5);
	const double correlations[COUNT * COUNT] = {
	    1,	       0,	  half, .3, .3,	       0, 1, half, .3, .3,	  half, half, 1,
	    .6 * half, .6 * half, .3,	.3, .6 * half, 1, 1, .3,   .3, .6 * half, 1,	1};
	static const uint32_t b[] = {B}, bc[] = {B, C}, de[] = {D, E}, all[] = {B, C, D};
	struct sn_fisher fisher;
	(void)state;
	sn_fisher_init(&fisher, correlations, COUNT, 6);
	struct sn_independence test = sn_fisher_test(&fisher);
	assert_true(test.of(&fisher, A, B, NULL, 0) == 1);
	/* what c says of a when b is known is all */
	assert_true(test.of(&fisher, A, C, b, 1) < 1e-6);
	/* nothing is left of a, or of a second one that is held: none of them separates */
	assert_true(test.of(&fisher, A, D, bc, 2) == SN_INDEPENDENCE_UNKNOWN);
	assert_true(test.of(&fisher, A, B, de, 2) == SN_INDEPENDENCE_UNKNOWN);
	assert_true(sn_independence_most(&test, A, D, bc, 2, 2, 0.5) == SN_INDEPENDENCE_UNKNOWN);
	/* six rows are too few for a test with three held */
	assert_int_equal(test.given_most, 2);
	assert_true(test.of(&fisher, A, E, all, 3) == SN_INDEPENDENCE_UNKNOWN);
	assert_true(sn_independence_most(&test, A, E, all, 3, 3, 0.5) == SN_INDEPENDENCE_UNKNOWN);
	assert_true(sn_independence_most(&test, A, E, all, 1, 3, 0.5) == SN_INDEPENDENCE_UNKNOWN);
	/* four are for one with one held, which five allow */
	assert_true(test.of(&fisher, A, B, de, 1) > 0);
	fisher.rows = 5;
	assert_true(test.of(&fisher, A, B, de, 1) > 0);
	fisher.rows = 4;
	assert_true(test.of(&fisher, A, B, de, 1) == SN_INDEPENDENCE_UNKNOWN);
	sn_fisher_release(&fisher);
}

/* ---- categories ---- */

enum { MANY = 200, CATEGORIES = 5 };

struct categories {
	uint8_t values[CATEGORIES][MANY];
	const uint8_t *pointers[CATEGORIES];
	uint32_t levels[CATEGORIES];
	struct sn_discrete_table table;
};

static void begin(struct categories *categories, uint32_t columns, const uint32_t *levels)
{
	memset(categories, 0, sizeof(*categories));
	for (uint32_t column = 0; column < columns; column++) {
		categories->pointers[column] = categories->values[column];
		categories->levels[column] = levels[column];
	}
	categories->table =
	    (struct sn_discrete_table){columns, 0, categories->pointers, categories->levels};
}

static void put(struct categories *categories, uint32_t times, const char *values)
{
	for (; times; times--, categories->table.rows++)
		for (uint32_t column = 0; column < categories->table.columns; column++)
			categories->values[column][categories->table.rows] =
			    (uint8_t)(values[column] - '0');
}

static void assert_measure(struct sn_contingency *contingency, const uint32_t *given,
			   uint32_t count, double value, double degrees)
{
	double found, found_degrees;
	assert_int_equal(
	    sn_contingency_measure(contingency, 0, 1, given, count, &found, &found_degrees), 0);
	assert_near(found, value, 1e-12);
	assert_true(found_degrees == degrees);
}

static void test_table_by_hand(void **state)
{
	static const uint32_t levels[] = {2, 2};
	struct categories categories;
	struct sn_contingency contingency;
	(void)state;
	begin(&categories, 2, levels);
	put(&categories, 10, "00");
	put(&categories, 20, "01");
	put(&categories, 30, "10");
	put(&categories, 40, "11");
	assert_int_equal(
	    sn_contingency_init(&contingency, &categories.table, SN_CONTINGENCY_CHI_SQUARE), 0);
	/* n (ad - bc)^2 over the product of the margins */
	double chi = 100. * (400 - 600) * (400 - 600) / (30. * 70 * 40 * 60);
	assert_measure(&contingency, NULL, 0, chi, 1);
	struct sn_independence test = sn_contingency_test(&contingency);
	assert_near(test.of(test.context, 0, 1, NULL, 0), erfc(sqrt(chi / 2)), 1e-12);
	contingency.rows_per_degree = 101;
	assert_true(test.of(test.context, 0, 1, NULL, 0) == SN_INDEPENDENCE_UNKNOWN);
	contingency.rows_per_degree = 100;
	assert_true(test.of(test.context, 0, 1, NULL, 0) > 0.3);
	contingency.statistic = SN_CONTINGENCY_G_SQUARE;
	assert_measure(
	    &contingency, NULL, 0,
	    2 * (10 * log(10 / 12.) + 20 * log(20 / 18.) + 30 * log(30 / 28.) + 40 * log(40 / 42.)),
	    1);
	sn_contingency_release(&contingency);
}

/* Two groups: one has all of 2 x 3 cells, the other has none of a = 1. No row has the third level of what is held. */
static void test_degrees(void **state)
{
	static const uint32_t levels[] = {2, 3, 3}, held[] = {2};
	struct categories categories;
	struct sn_contingency contingency;
	(void)state;
	begin(&categories, 3, levels);
	put(&categories, 1, "000");
	put(&categories, 2, "010");
	put(&categories, 3, "020");
	put(&categories, 3, "100");
	put(&categories, 2, "110");
	put(&categories, 1, "120");
	put(&categories, 4, "001");
	put(&categories, 5, "011");
	put(&categories, 6, "021");
	assert_int_equal(
	    sn_contingency_init(&contingency, &categories.table, SN_CONTINGENCY_CHI_SQUARE), 0);
	/* of the first group: each cell is expected twice */
	assert_measure(&contingency, held, 1, 4 * 0.5, 2);
	contingency.degrees = SN_CONTINGENCY_ALL;
	assert_measure(&contingency, held, 1, 2, 6);
	/* three cells of the second group and six of the third one have no row, but one degree is the least */
	contingency.degrees = SN_CONTINGENCY_CELLS;
	assert_measure(&contingency, held, 1, 2, 1);
	sn_contingency_release(&contingency);
	/* one of nine cells is empty */
	double value, degrees;
	begin(&categories, 2, &levels[1]);
	for (int cell = 0; cell < 8; cell++)
		put(&categories, 1, (const char[]){(char)('0' + cell / 3), (char)('0' + cell % 3)});
	assert_int_equal(
	    sn_contingency_init(&contingency, &categories.table, SN_CONTINGENCY_CHI_SQUARE), 0);
	contingency.degrees = SN_CONTINGENCY_CELLS;
	assert_int_equal(sn_contingency_measure(&contingency, 0, 1, NULL, 0, &value, &degrees), 0);
	assert_true(degrees == 3);
	sn_contingency_release(&contingency);
	/* a level that no row has: nothing is left to test, so nothing speaks against independence */
	begin(&categories, 2, levels);
	put(&categories, 5, "00");
	put(&categories, 5, "01");
	assert_int_equal(
	    sn_contingency_init(&contingency, &categories.table, SN_CONTINGENCY_CHI_SQUARE), 0);
	struct sn_independence test = sn_contingency_test(&contingency);
	assert_true(test.of(test.context, 0, 1, NULL, 0) == 1);
	sn_contingency_release(&contingency);
}

/* Two held variables give the same as one that stands for both; and the order of questions makes no difference. */
static void test_groups(void **state)
{
	static const uint32_t levels[] = {3, 2, 3, 4, 12};
	static const uint32_t sets[][2] = {{2, 3}, {2, 4}, {3, 4}, {2, 3}, {3, 4}, {2, 4}};
	struct categories categories;
	struct sn_contingency contingency, fresh;
	struct sn_random random;
	(void)state;
	begin(&categories, 5, levels);
	sn_random_begin(&random, 5, 0);
	for (int row = 0; row < MANY; row++) {
		for (int column = 0; column < 4; column++)
			categories.values[column][row] =
			    (uint8_t)sn_random_below(&random, levels[column]);
		categories.values[4][row] =
		    (uint8_t)(categories.values[2][row] * 4 + categories.values[3][row]);
	}
	categories.table.rows = MANY;
	assert_int_equal(
	    sn_contingency_init(&contingency, &categories.table, SN_CONTINGENCY_G_SQUARE), 0);
	for (int set = 0; set < 6; set++) {
		double value, degrees;
		assert_int_equal(
		    sn_contingency_init(&fresh, &categories.table, SN_CONTINGENCY_G_SQUARE), 0);
		assert_int_equal(
		    sn_contingency_measure(&fresh, 0, 1, &sets[2][1], 1, &value, &degrees), 0);
		assert_true(degrees > 0 && value > 0);
		/* each of these has the variable 4, or 2 and 3, which are it */
		assert_measure(&contingency, sets[set], 2, value, degrees);
		assert_int_equal(
		    sn_contingency_measure(&fresh, 0, 1, sets[set], 1, &value, &degrees), 0);
		assert_measure(&contingency, sets[set], 1, value, degrees);
		sn_contingency_release(&fresh);
	}
	sn_contingency_release(&contingency);
}

/* ---- numbers and categories ---- */

static void test_blocks_of_numbers(void **state)
{
	static const uint32_t first[] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, held[] = {3, 5};
	static const uint32_t chosen[] = {1, 4, 3, 5};
	double correlations[COLUMNS * COLUMNS];
	struct sn_blocks blocks;
	(void)state;
	simulate(9, correlations);
	assert_int_equal(sn_blocks_init(&blocks, correlations, first, COLUMNS, ROWS), 0);
	struct sn_independence test = sn_blocks_test(&blocks);
	double r = partial_correlation(correlations, chosen, 4);
	double wanted = erfc(sqrt(-(ROWS - 1 - 2 - 1.5) * log1p(-r * r) / 2));
	assert_near(test.of(&blocks, 1, 4, held, 2), wanted, 1e-9);
	assert_near(test.of(&blocks, 4, 1, held, 2), wanted, 1e-9);
	sn_blocks_release(&blocks);
}

/* A number, and a category of three levels as two dimensions: the part of the variance that is within the levels. */
static void test_blocks_of_a_category(void **state)
{
	static const uint32_t first[] = {0, 1, 3, 4};
	static double rows[ROWS][COLUMNS];
	double correlations[16], means[3] = {0}, mean = 0, within = 0, all = 0;
	struct sn_random random;
	struct sn_blocks blocks;
	(void)state;
	sn_random_begin(&random, 3, 0);
	for (int row = 0; row < ROWS; row++) {
		rows[row][0] = normal(&random) + 0.5 * (row % 3 == 1);
		rows[row][1] = row % 3 == 0;
		rows[row][2] = row % 3 == 1;
		rows[row][3] = row % 3 == 2; /* what the category determines */
		means[row % 3] += rows[row][0] * 3 / ROWS;
		mean += rows[row][0] / ROWS;
	}
	for (int row = 0; row < ROWS; row++) {
		within += pow(rows[row][0] - means[row % 3], 2);
		all += pow(rows[row][0] - mean, 2);
	}
	correlate(4, rows, correlations);
	assert_int_equal(sn_blocks_init(&blocks, correlations, first, 3, ROWS), 0);
	struct sn_independence test = sn_blocks_test(&blocks);
	/* two degrees: the tail is an exponential */
	double wanted = exp((ROWS - 1 - 2) * log(within / all) / 2);
	assert_near(test.of(&blocks, 0, 1, NULL, 0), wanted, 1e-9);
	assert_near(test.of(&blocks, 1, 0, NULL, 0), wanted, 1e-9);
	/* nothing is left of the last variable */
	assert_true(test.of(&blocks, 0, 2, (const uint32_t[]){1}, 1) == SN_INDEPENDENCE_UNKNOWN);
	sn_blocks_release(&blocks);
}

/* Blocks of three and two dimensions with three held, in few rows, that have nothing to do with each other: 5 % are below 5 %. */
static void test_blocks_of_nothing(void **state)
{
	enum { TIMES = 4000, FEW = 25 };
	static const uint32_t first[] = {0, 3, 5, 8}, held[] = {2};
	static double rows[ROWS][COLUMNS];
	double correlations[COLUMNS * COLUMNS];
	struct sn_random random;
	int below = 0;
	(void)state;
	sn_random_begin(&random, 11, 0);
	for (int time = 0; time < TIMES; time++) {
		struct sn_blocks blocks;
		/* FEW rows, the others being their mean */
		double sums[COLUMNS] = {0};
		for (int row = 0; row < ROWS; row++)
			for (int column = 0; column < COLUMNS; column++) {
				rows[row][column] =
				    row < FEW ? normal(&random) : sums[column] / FEW;
				sums[column] += row < FEW ? rows[row][column] : 0;
			}
		correlate(COLUMNS, rows, correlations);
		assert_int_equal(sn_blocks_init(&blocks, correlations, first, 3, FEW), 0);
		struct sn_independence test = sn_blocks_test(&blocks);
		below += test.of(&blocks, 0, 1, held, 1) < 0.05;
		sn_blocks_release(&blocks);
	}
	/* four standard deviations of a binomial count; without Bartlett's factor twice as many are */
	assert_in_range(below, 200 - 55, 200 + 55);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tails),
	    cmocka_unit_test(test_fisher),
	    cmocka_unit_test(test_fisher_of_what_is_determined),
	    cmocka_unit_test(test_table_by_hand),
	    cmocka_unit_test(test_degrees),
	    cmocka_unit_test(test_groups),
	    cmocka_unit_test(test_blocks_of_numbers),
	    cmocka_unit_test(test_blocks_of_a_category),
	    cmocka_unit_test(test_blocks_of_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
