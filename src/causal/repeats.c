/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by what was set from outside; see repeats.h. */
#include "repeats.h"

#include "base/intern.h"
#include "base/sort_by.h"

#include <math.h>
#include <string.h>

struct repeating {
	struct sn_repeats *repeats;
	const struct sn_prior *prior;
	const double *target;
	uint32_t *rows;	     /* that have the target; by configuration after that was found */
	uint32_t *number_of; /* of each row's configuration */
	size_t row_count;
};

void sn_repeats_release(struct sn_repeats *repeats)
{
	free(repeats->items);
	free(repeats->settings);
	*repeats = (struct sn_repeats){0};
}

double sn_repeated_variation(const struct sn_repeated *repeated)
{
	return repeated->mean != 0 ? repeated->deviation / fabs(repeated->mean) : (double)NAN;
}

double sn_repeats_variation(const struct sn_repeats *repeats, double part)
{
	size_t known = repeats->count;
	while (known && isnan(sn_repeated_variation(&repeats->items[known - 1])))
		known--;
	if (!known)
		return (double)NAN;
	/* the largest is first */
	size_t above = (size_t)((1 - part) * (double)(known - 1) + 0.5);
	return sn_repeated_variation(&repeats->items[above]);
}

/* ---- configurations ---- */

static bool varies(const struct sn_causal_table *table, uint32_t column)
{
	const double *values = table->columns[column].values;
	for (size_t row = 1; row < table->row_count; row++)
		if (memcmp(values, values + row, sizeof(*values)) != 0)
			return true;
	return false;
}

static int find_settings(struct sn_repeats *repeats, const struct sn_prior *prior)
{
	const struct sn_causal_table *table = prior->table;
	repeats->settings = malloc((table->column_count + 1) * sizeof(*repeats->settings));
	for (uint32_t column = 0; repeats->settings && column < table->column_count; column++)
		if (sn_prior_is_set(prior, column) && varies(table, column))
			repeats->settings[repeats->setting_count++] = column;
	return repeats->settings ? 0 : SN_ERR_MEMORY;
}

/* Numbers configurations in the order in which they first come: SN_INTERN_NONE without memory. `setting` has room for one. */
static uint32_t number_row(struct sn_intern *known, const struct sn_repeats *repeats,
			   const struct sn_causal_table *table, size_t row, double *setting)
{
	for (uint32_t place = 0; place < repeats->setting_count; place++)
		setting[place] = table->columns[repeats->settings[place]].values[row];
	return sn_intern_add(known, setting, repeats->setting_count * sizeof(*setting));
}

static int number_rows(struct repeating *repeating)
{
	const struct sn_repeats *repeats = repeating->repeats;
	const struct sn_causal_table *table = repeating->prior->table;
	struct sn_intern known = {0};
	double *setting = malloc((repeats->setting_count + 1) * sizeof(*setting));
	int result = setting ? 0 : SN_ERR_MEMORY;
	for (size_t row = 0; !result && row < table->row_count; row++) {
		if (isnan(repeating->target[row]))
			continue;
		uint32_t number = number_row(&known, repeats, table, row, setting);
		result = number == SN_INTERN_NONE ? SN_ERR_MEMORY : 0;
		repeating->number_of[row] = number;
		repeating->rows[repeating->row_count++] = (uint32_t)row;
	}
	repeating->repeats->configurations = known.count;
	sn_intern_release(&known);
	free(setting);
	return result;
}

/* Of launches: where they ran, on which device or in which file, is no part of the kernel's configuration. */
static void leave_places(struct sn_repeats *settings, const struct sn_prior *prior)
{
	uint32_t kept = 0;
	for (uint32_t place = 0; place < settings->setting_count; place++) {
		uint32_t column = settings->settings[place];
		bool is_place = prior->are_stretches && prior->table->columns[column].levels &&
				column != prior->identity;
		if (!is_place)
			settings->settings[kept++] = column;
	}
	settings->setting_count = kept;
}

int sn_configurations_find(double **configurations, const struct sn_prior *prior)
{
	const struct sn_causal_table *table = prior->table;
	struct sn_repeats settings = {0};
	struct sn_intern known = {0};
	*configurations = NULL;
	int result = find_settings(&settings, prior);
	leave_places(&settings, prior);
	if (result || !settings.setting_count) {
		sn_repeats_release(&settings);
		return result;
	}
	double *setting = malloc(settings.setting_count * sizeof(*setting));
	*configurations = malloc((table->row_count + 1) * sizeof(**configurations));
	result = setting && *configurations ? 0 : SN_ERR_MEMORY;
	for (size_t row = 0; !result && row < table->row_count; row++) {
		uint32_t number = number_row(&known, &settings, table, row, setting);
		result = number == SN_INTERN_NONE ? SN_ERR_MEMORY : 0;
		(*configurations)[row] = number;
	}
	sn_intern_release(&known);
	free(setting);
	sn_repeats_release(&settings);
	return result;
}

SN_SORT_BY(sort_rows, uint32_t, const struct repeating *,
	   SN_ORDER(of->number_of[*a], of->number_of[*b])
	       ?: SN_ORDER(of->target[*a], of->target[*b]) ?: SN_ORDER(*a, *b));

static double quantile(const struct repeating *repeating, size_t first, size_t count, double part)
{
	double place = part * (double)(count - 1), below = floor(place);
	const uint32_t *rows = repeating->rows + first + (size_t)below;
	double low = repeating->target[rows[0]];
	return place > below ? low + (place - below) * (repeating->target[rows[1]] - low) : low;
}

/* Of rows of one configuration, in the order of their values. */
static struct sn_repeated measure(const struct repeating *repeating, size_t first, size_t end)
{
	size_t count = end - first;
	struct sn_repeated one = {.first_row = UINT32_MAX, .count = count};
	for (size_t place = first; place < end; place++) {
		uint32_t row = repeating->rows[place];
		one.mean += repeating->target[row];
		one.first_row = row < one.first_row ? row : one.first_row;
	}
	one.mean /= (double)count;
	for (size_t place = first; place < end; place++) {
		double off = repeating->target[repeating->rows[place]] - one.mean;
		one.deviation += off * off / (double)count;
	}
	one.deviation = sqrt(one.deviation);
	one.least = quantile(repeating, first, count, 0);
	one.q50 = quantile(repeating, first, count, 0.5);
	one.q99 = quantile(repeating, first, count, 0.99);
	one.greatest = quantile(repeating, first, count, 1);
	return one;
}

static double order_of(const struct sn_repeated *repeated)
{
	double variation = sn_repeated_variation(repeated);
	return isnan(variation) ? -1 : variation;
}

SN_SORT_BY(sort_repeated, struct sn_repeated, const void *,
	   SN_ORDER(order_of(b), order_of(a)) ?: SN_ORDER(a->first_row, b->first_row));

static int measure_all(struct repeating *repeating)
{
	struct sn_repeats *repeats = repeating->repeats;
	struct sn_repeated all;
	double within = 0;
	size_t end;
	sort_rows(repeating->rows, repeating->row_count, repeating);
	repeats->items = malloc((repeats->configurations + 1) * sizeof(*repeats->items));
	if (!repeats->items)
		return SN_ERR_MEMORY;
	for (size_t first = 0; first < repeating->row_count; first = end) {
		uint32_t number = repeating->number_of[repeating->rows[first]];
		for (end = first + 1; end < repeating->row_count; end++)
			if (repeating->number_of[repeating->rows[end]] != number)
				break;
		struct sn_repeated one = measure(repeating, first, end);
		within += one.deviation * one.deviation * (double)one.count;
		if (one.count > 1)
			repeats->items[repeats->count++] = one;
	}
	all = measure(repeating, 0, repeating->row_count);
	repeats->within = all.deviation > 0 ? within / (double)repeating->row_count /
						  (all.deviation * all.deviation)
					    : 0;
	sort_repeated(repeats->items, repeats->count, NULL);
	return 0;
}

int sn_repeats_find(struct sn_repeats *repeats, const struct sn_prior *prior)
{
	const struct sn_causal_table *table = prior->table;
	*repeats = (struct sn_repeats){0};
	if (prior->target == UINT32_MAX || table->columns[prior->target].levels ||
	    table->row_count > UINT32_MAX)
		return 0;
	struct repeating repeating = {.repeats = repeats,
				      .prior = prior,
				      .target = table->columns[prior->target].values,
				      .rows = malloc((table->row_count + 1) * sizeof(uint32_t)),
				      .number_of =
					  malloc((table->row_count + 1) * sizeof(uint32_t))};
	int result =
	    repeating.rows && repeating.number_of ? find_settings(repeats, prior) : SN_ERR_MEMORY;
	if (!result && repeats->setting_count)
		result = number_rows(&repeating);
	if (!result && repeating.row_count)
		result = measure_all(&repeating);
	free(repeating.rows);
	free(repeating.number_of);
	return result;
}
