/* SPDX-License-Identifier: Apache-2.0 */
/* Features of columns; see basis.h. */
#include "basis.h"

#include "base/sort_by.h"

#include <math.h>

#define MOST_LINES 1000u
#define BUDGET	   200u	     /* features; a regression costs their third power */
#define NUMBERS	   40000000u /* of features in memory; but there are LEAST of them at least */
#define LEAST	   20u
#define BENDS	   15u

SN_SORT_BY(sort_numbers, double, const void *, SN_ORDER(*a, *b));

struct plan {
	uint32_t lines, numbers, bends, products;
};

static struct plan plan_for(const struct sn_effect_column *columns, uint32_t count, size_t rows)
{
	struct plan plan = {0};
	for (uint32_t column = 0; column < count; column++) {
		plan.lines += columns[column].levels ? columns[column].levels - 1 : 1;
		plan.numbers += !columns[column].levels;
	}
	uint64_t budget = rows / 4 < BUDGET ? rows / 4 : BUDGET;
	uint64_t in_memory = NUMBERS / (rows + 1) > LEAST ? NUMBERS / (rows + 1) : LEAST;
	budget = in_memory < budget ? in_memory : budget;
	for (plan.bends = BENDS; plan.bends; plan.bends /= 2)
		if (plan.lines + (uint64_t)plan.bends * plan.numbers <= budget)
			break;
	/* each line with each of the other columns */
	uint64_t products = (uint64_t)plan.lines * plan.lines / 2;
	if (plan.bends && plan.lines + plan.bends * plan.numbers + products <= budget)
		plan.products = (uint32_t)products;
	return plan;
}

int sn_features_init(struct sn_features *features, const struct sn_effect_column *columns,
		     uint32_t count, size_t rows, uint32_t more, struct sn_error *error)
{
	struct plan plan = plan_for(columns, count, rows);
	*features = (struct sn_features){.rows = rows};
	if (plan.lines > MOST_LINES)
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "%u columns to adjust for are too many: %u is the limit", plan.lines,
			       MOST_LINES);
	features->room = 1 + plan.lines + plan.bends * plan.numbers + plan.products + more;
	features->columns = malloc(features->room * rows * sizeof(double) + 1);
	features->kinds = malloc(features->room * sizeof(*features->kinds));
	features->lines = malloc(features->room * sizeof(*features->lines));
	if (!features->columns || !features->kinds || !features->lines)
		return sn_fail_memory(error);
	double *constant = sn_features_add(features, SN_FEATURE_CONSTANT);
	for (size_t row = 0; row < rows; row++)
		constant[row] = 1;
	return 0;
}

void sn_features_release(struct sn_features *features)
{
	free(features->columns);
	free(features->kinds);
	free(features->lines);
	*features = (struct sn_features){0};
}

double *sn_features_add(struct sn_features *features, enum sn_feature_kind kind)
{
	features->kinds[features->count] = kind;
	return features->columns + features->rows * features->count++;
}

/* Mean 0 and variance 1; takes back the last one where it is constant. */
static bool standardize_last(struct sn_features *features)
{
	double *values = features->columns + features->rows * (features->count - 1);
	double mean = 0, squares = 0, largest = 0, count = (double)features->rows;
	for (size_t row = 0; row < features->rows; row++) {
		mean += values[row] / count;
		largest = fmax(largest, fabs(values[row]));
	}
	for (size_t row = 0; row < features->rows; row++) {
		values[row] -= mean;
		squares += values[row] * values[row];
	}
	double deviation = sqrt(squares / count);
	/* of what is constant rounding alone is left */
	if (!(deviation > 1e-12 * largest)) {
		features->count--;
		return false;
	}
	for (size_t row = 0; row < features->rows; row++)
		values[row] /= deviation;
	return true;
}

static void add_indicators(struct sn_features *features, const struct sn_effect_column *column,
			   const uint32_t *order)
{
	for (uint32_t level = 1; level < column->levels; level++) {
		double *values = sn_features_add(features, SN_FEATURE_LINE);
		for (size_t row = 0; row < features->rows; row++)
			values[row] = column->values[order[row]] == level;
		standardize_last(features);
	}
}

void sn_features_add_column(struct sn_features *features, const struct sn_effect_column *column,
			    const uint32_t *order, uint32_t bends, double *scratch)
{
	size_t rows = features->rows;
	if (column->levels) {
		add_indicators(features, column, order);
		return;
	}
	double *line = sn_features_add(features, SN_FEATURE_LINE);
	for (size_t row = 0; row < rows; row++)
		scratch[row] = line[row] = column->values[order[row]];
	if (!standardize_last(features))
		return;
	features->lines[features->line_count++] = features->count - 1;
	sort_numbers(scratch, rows, NULL);
	/* bends at the least value are the line, and equal ones the same */
	double before = scratch[0];
	for (uint32_t bend = 1; bend <= bends; bend++) {
		/* as if they were normal numbers, from -2 to 2 in equal steps: the ends bend too */
		double normal = bends > 1 ? -2 + 4 * (double)(bend - 1) / (bends - 1) : 0;
		double knot = scratch[(size_t)((double)rows * erfc(-normal / sqrt(2)) / 2)];
		if (knot == before)
			continue;
		before = knot;
		double *values = sn_features_add(features, SN_FEATURE_BEND);
		for (size_t row = 0; row < rows; row++)
			values[row] = fmax(0, column->values[order[row]] - knot);
		standardize_last(features);
	}
}

void sn_features_add_product(struct sn_features *features, const double *a, const double *b)
{
	double *values = sn_features_add(features, SN_FEATURE_BEND);
	for (size_t row = 0; row < features->rows; row++)
		values[row] = a[row] * b[row];
	standardize_last(features);
}

void sn_features_add_all(struct sn_features *features, const struct sn_effect_column *columns,
			 uint32_t count, const uint32_t *order, double *scratch)
{
	struct plan plan = plan_for(columns, count, features->rows);
	uint32_t lines[MOST_LINES], all = 0;
	for (uint32_t column = 0; column < count; column++) {
		uint32_t first = features->count, earlier = all;
		sn_features_add_column(features, &columns[column], order, plan.bends, scratch);
		for (uint32_t feature = first; feature < features->count; feature++)
			if (features->kinds[feature] == SN_FEATURE_LINE)
				lines[all++] = feature;
		for (uint32_t a = earlier; plan.products && a < all; a++)
			for (uint32_t b = 0; b < earlier; b++)
				sn_features_add_product(
				    features, features->columns + lines[a] * features->rows,
				    features->columns + lines[b] * features->rows);
	}
}
