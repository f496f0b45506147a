/* SPDX-License-Identifier: Apache-2.0 */
/* See difference.h. */
#include "difference.h"

#include "base/sort_by.h"
#include "causal/pc/fdr.h"
#include "chance.h"

#include <math.h>
#include <stdlib.h>

/* Sets of one side. */
struct sets {
	const struct sn_compare_rows *rows;
	size_t first, end;
};

/* A number of a side over its sets, and the variance of its mean that samples alone give. */
struct spread {
	double mean, variance, noise, count;
};

typedef double (*number_of)(const struct sets *sets, size_t set, uint32_t row, double *noise);

static double share_at(const struct sets *sets, size_t set, uint32_t row, double *noise)
{
	struct sn_compare_cell cell = sn_compare_at(sets->rows, set, row),
			       all = sets->rows->sets[set].all;
	double share = all.value > 0 ? cell.value / all.value : 0;
	*noise = all.samples > 0 ? share * (1 - share) / all.samples : 0;
	return share;
}

static double pace_at(const struct sets *sets, size_t set, uint32_t row, double *noise)
{
	struct sn_compare_cell cell = sn_compare_at(sets->rows, set, row);
	double duration = sets->rows->sets[set].duration_ns;
	double pace = duration > 0 ? cell.value / duration : NAN;
	*noise = cell.samples > 0 ? pace * pace / cell.samples : 0;
	return pace;
}

static struct spread spread_of(const struct sets *sets, uint32_t row, number_of number)
{
	struct spread spread = {.count = (double)(sets->end - sets->first)};
	double squares = 0, noise;
	for (size_t set = sets->first; set < sets->end; set++) {
		spread.mean += number(sets, set, row, &noise) / spread.count;
		spread.noise += noise / (spread.count * spread.count);
	}
	for (size_t set = sets->first; set < sets->end; set++) {
		double apart = number(sets, set, row, &noise) - spread.mean;
		squares += apart * apart;
	}
	spread.variance = spread.count > 1 ? squares / (spread.count - 1) : NAN;
	return spread;
}

/* Of a side with one set the variance between sets is that of the other side. */
static double chance_of_means(struct spread a, struct spread b)
{
	double degrees_a = a.count - 1, degrees_b = b.count - 1;
	if (isnan(a.variance)) {
		a.variance = b.variance;
		degrees_a = degrees_b;
	} else if (isnan(b.variance)) {
		b.variance = a.variance;
		degrees_b = degrees_a;
	}
	double of_a = fmax(a.variance / a.count, a.noise),
	       of_b = fmax(b.variance / b.count, b.noise), both = of_a + of_b;
	if (isnan(a.mean) || isnan(b.mean))
		return NAN;
	if (!(both > 0))
		return a.mean == b.mean ? 1 : 0;
	double degrees = both * both / (of_a * of_a / degrees_a + of_b * of_b / degrees_b);
	if (a.count == 1 || b.count == 1)
		degrees = degrees_a; /* one estimate for both */
	return sn_chance_of_student((a.mean - b.mean) / sqrt(both), degrees);
}

static struct sn_side side_of(const struct sets *sets, uint32_t row)
{
	struct sn_side side = {.share = spread_of(sets, row, share_at).mean,
			       .pace = spread_of(sets, row, pace_at).mean};
	for (size_t set = sets->first; set < sets->end; set++) {
		struct sn_compare_cell cell = sn_compare_at(sets->rows, set, row);
		side.value += cell.value / (double)(sets->end - sets->first);
		side.count += cell.count;
		side.samples += cell.samples;
	}
	return side;
}

/* Of one set a side. */
static void test_samples(const struct sets *before, const struct sets *after,
			 struct sn_difference *one)
{
	const struct sn_compare_set *first = &before->rows->sets[before->first],
				    *second = &after->rows->sets[after->first];
	double a = one->before.samples, b = one->after.samples;
	one->share.chance = one->pace.chance = NAN;
	if (!before->rows->is_sampled)
		return;
	if (one->row != SONDE_NONE)
		one->share.chance =
		    sn_chance_of_shares(a, first->all.samples, b, second->all.samples);
	if (first->duration_ns > 0 && second->duration_ns > 0 && first->all.samples > 0 &&
	    second->all.samples > 0) {
		/* what a sample stands for may differ: so many of the one make a value of the other */
		double first_each = first->all.value / first->all.samples,
		       second_each = second->all.value / second->all.samples;
		double exposure = first->duration_ns / first_each,
		       other = second->duration_ns / second_each;
		one->pace.chance = sn_chance_of_split(a, b, exposure / (exposure + other));
	}
}

static void compare(const struct sets *before, const struct sets *after, struct sn_difference *one)
{
	one->before = side_of(before, one->row);
	one->after = side_of(after, one->row);
	if (before->end - before->first == 1 && after->end - after->first == 1) {
		test_samples(before, after, one);
		return;
	}
	one->share.chance = one->row == SONDE_NONE
				? NAN
				: chance_of_means(spread_of(before, one->row, share_at),
						  spread_of(after, one->row, share_at));
	one->pace.chance = chance_of_means(spread_of(before, one->row, pace_at),
					   spread_of(after, one->row, pace_at));
}

static struct sn_sureness *sureness_of(struct sn_difference *one, bool of_pace)
{
	return of_pace ? &one->pace : &one->share;
}

static int control(struct sn_differences *differences, bool of_pace)
{
	double *rates = malloc((differences->count + 1) * sizeof(*rates));
	size_t count = 0, at = 0;
	if (!rates)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < differences->count; i++) {
		double chance = sureness_of(&differences->rows[i], of_pace)->chance;
		if (!isnan(chance))
			rates[count++] = chance;
	}
	int result = sn_fdr_adjust(rates, count, count, SN_FDR_INDEPENDENT);
	for (size_t i = 0; !result && i < differences->count; i++) {
		struct sn_sureness *sureness = sureness_of(&differences->rows[i], of_pace);
		sureness->rate = isnan(sureness->chance) ? NAN : rates[at++];
		sureness->is_sure = sureness->rate <= SN_COMPARE_FALSE_RATE;
	}
	free(rates);
	return result;
}

static double change_of(const struct sn_difference *one)
{
	return fabs(one->after.share - one->before.share);
}

static bool is_sure(const struct sn_difference *one)
{
	return one->share.is_sure || one->pace.is_sure;
}

SN_SORT_BY(sort_differences, struct sn_difference, const void *,
	   SN_ORDER(is_sure(b), is_sure(a))
	       ?: SN_ORDER(change_of(b), change_of(a)) ?: SN_ORDER_BY(a, b, row));

int sn_compare_differ(const struct sn_compare_rows *rows, size_t before,
		      struct sn_differences *differences)
{
	const struct sets first = {rows, 0, before}, second = {rows, before, rows->set_count};
	*differences = (struct sn_differences){.all.row = SONDE_NONE};
	differences->has_repeats = before > 1 || rows->set_count - before > 1;
	differences->rows = calloc(rows->row_count + 1ull, sizeof(*differences->rows));
	if (!differences->rows)
		return SN_ERR_MEMORY;
	for (uint32_t row = 0; row < rows->row_count; row++) {
		struct sn_difference *one = &differences->rows[differences->count];
		*one = (struct sn_difference){.row = row};
		compare(&first, &second, one);
		differences->count += one->before.value > 0 || one->after.value > 0;
	}
	compare(&first, &second, &differences->all);
	differences->all.pace.rate = differences->all.pace.chance;
	differences->all.pace.is_sure = differences->all.pace.chance <= SN_COMPARE_FALSE_RATE;
	differences->all.share.rate = NAN;
	int result = control(differences, false);
	result = result ? result : control(differences, true);
	for (size_t i = 0; i < differences->count; i++)
		differences->sure += is_sure(&differences->rows[i]);
	sort_differences(differences->rows, differences->count, NULL);
	return result;
}
