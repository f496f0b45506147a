/* SPDX-License-Identifier: Apache-2.0 */
/* See variation.h. */
#include "variation.h"

#include "base/sort_by.h"
#include "causal/independence/chi_square.h"
#include "causal/pc/fdr.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_EXPECTED 1
#define MEAN_EXPECTED  5

struct varying {
	const struct sn_compare_rows *rows;
	enum sn_compare_per per;
	double *exposures;   /* of each set: what its value is divided by */
	double sum, samples; /* of all sets */
};

/* What a set's count is in proportion to. */
static double expected_part(const struct varying *varying, size_t set)
{
	return varying->per == SN_PER_TOTAL ? sn_compare_at(varying->rows, set, SONDE_NONE).samples
					    : varying->exposures[set];
}

static int find_exposures(struct varying *varying)
{
	const struct sn_compare_rows *rows = varying->rows;
	for (size_t set = 0; set < rows->set_count; set++) {
		double seconds = rows->sets[set].duration_ns / 1e9;
		double exposure = varying->per == SN_PER_SET	  ? 1
				  : varying->per == SN_PER_SECOND ? seconds
								  : rows->sets[set].all.value;
		if (!(exposure > 0))
			return SN_ERR_ARGUMENT;
		varying->exposures[set] = exposure;
		varying->sum += rows->sets[set].all.value;
		varying->samples += rows->sets[set].all.samples;
	}
	return 0;
}

static void describe(const struct varying *varying, struct sn_variation *one)
{
	const struct sn_compare_rows *rows = varying->rows;
	double count = (double)rows->set_count, numbers = 0, squares = 0;
	one->least = INFINITY;
	one->greatest = -INFINITY;
	for (size_t set = 0; set < rows->set_count; set++) {
		double value = sn_compare_at(rows, set, one->row).value;
		double number = value / varying->exposures[set];
		one->sum += value;
		one->sets += value > 0;
		numbers += number;
		one->least = fmin(one->least, number);
		one->greatest = fmax(one->greatest, number);
	}
	one->mean = numbers / count;
	for (size_t set = 0; set < rows->set_count; set++) {
		double apart =
		    sn_compare_at(rows, set, one->row).value / varying->exposures[set] - one->mean;
		squares += apart * apart;
	}
	one->deviation = sqrt(squares / (count - 1));
	one->share = varying->sum > 0 ? one->sum / varying->sum : 0;
	one->range = numbers > 0 ? (one->greatest - one->least) / numbers : 0;
}

/* Pearson's statistic of the row's counts, and the noise that they would have. */
static void test(const struct varying *varying, struct sn_variation *one)
{
	const struct sn_compare_rows *rows = varying->rows;
	double samples = 0, parts = 0, statistic = 0, noise = 0, least = INFINITY, mean = 0;
	one->chance = one->noise = one->excess = NAN;
	for (size_t set = 0; set < rows->set_count; set++) {
		samples += sn_compare_at(rows, set, one->row).samples;
		parts += expected_part(varying, set);
	}
	if (!rows->is_sampled || !(samples > 0))
		return;
	double left = varying->per == SN_PER_TOTAL ? 1 - samples / parts : 1;
	double each = one->sum / samples;
	for (size_t set = 0; set < rows->set_count; set++) {
		double expected = samples * expected_part(varying, set) / parts;
		double apart = sn_compare_at(rows, set, one->row).samples - expected;
		double exposure = varying->exposures[set];
		least = fmin(least, expected);
		mean += expected / (double)rows->set_count;
		statistic += apart * apart / expected;
		noise += each * each * expected * left / (exposure * exposure);
	}
	one->noise = sqrt(fmax(noise, 0) / (double)rows->set_count);
	one->excess = sqrt(fmax(one->deviation * one->deviation - one->noise * one->noise, 0));
	if (least >= LEAST_EXPECTED && mean >= MEAN_EXPECTED && left > 1e-9)
		one->chance = sn_chi_square_tail(statistic / left, (double)rows->set_count - 1);
}

static int control(struct sn_variations *variations)
{
	double *rates = malloc((variations->count + 1) * sizeof(*rates));
	size_t count = 0, at = 0;
	if (!rates)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < variations->count; i++)
		if (!isnan(variations->rows[i].chance))
			rates[count++] = variations->rows[i].chance;
	int result = sn_fdr_adjust(rates, count, count, SN_FDR_INDEPENDENT);
	for (size_t i = 0; !result && i < variations->count; i++) {
		struct sn_variation *one = &variations->rows[i];
		one->rate = isnan(one->chance) ? NAN : rates[at++];
		one->varies = one->rate <= SN_COMPARE_FALSE_RATE;
		variations->varying += one->varies;
	}
	variations->tested = count;
	free(rates);
	return result;
}

SN_SORT_BY(sort_variations, struct sn_variation, const void *,
	   SN_ORDER_BY(b, a, varies)
	       ?: (a->varies ? SN_ORDER_BY(b, a, excess) : 0)
	       ?: SN_ORDER_BY(b, a, sum) ?: SN_ORDER_BY(a, b, row));

int sn_compare_vary(const struct sn_compare_rows *rows, enum sn_compare_per per,
		    struct sn_variations *variations)
{
	struct varying varying = {rows, per, calloc(rows->set_count + 1, sizeof(double)), 0, 0};
	*variations = (struct sn_variations){.all.row = SONDE_NONE};
	variations->rows = calloc(rows->row_count + 1ull, sizeof(*variations->rows));
	int result = varying.exposures && variations->rows ? 0 : SN_ERR_MEMORY;
	result = result ? result : find_exposures(&varying);
	for (uint32_t row = 0; !result && row < rows->row_count; row++) {
		struct sn_variation one = {.row = row};
		describe(&varying, &one);
		test(&varying, &one);
		variations->few += rows->is_sampled && isnan(one.chance) && one.sum > 0;
		if (one.sum > 0)
			variations->rows[variations->count++] = one;
	}
	if (!result) {
		describe(&varying, &variations->all);
		test(&varying, &variations->all);
		variations->all.rate = variations->all.chance;
		variations->all.varies = variations->all.chance <= SN_COMPARE_FALSE_RATE;
		result = control(variations);
	}
	sort_variations(variations->rows, variations->count, NULL);
	free(varying.exposures);
	return result;
}
