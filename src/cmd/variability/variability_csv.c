/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of launches with separated values. */
#include "variability_csv.h"

#include "show/csv.h"
#include "show/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A column of the features, and the same of what was compared. */
struct pair {
	const struct sn_feature_column *all;
	const struct sn_causal_column *compared;
};

static size_t make_pairs(const struct sn_feature_file *file, struct pair pairs[SN_FEATURES])
{
	const struct sn_causal_table *table = &file->causes->table;
	size_t count = 0;
	for (unsigned f = 0; f < file->features->column_count; f++) {
		const struct sn_feature_column *all = file->features->columns + f;
		uint32_t column = sn_causal_table_find(table, all->name);
		if (column != UINT32_MAX)
			pairs[count++] = (struct pair){all, &table->columns[column]};
	}
	return count;
}

static bool has_level(const struct sn_causal_column *column, const char *name)
{
	for (uint32_t level = 0; level < column->levels; level++)
		if (!strcmp(column->level_names[level], name))
			return true;
	return false;
}

static void put_number(double value, FILE *out)
{
	char text[SN_NUMBER_CHARS];
	if (!isnan(value))
		fputs(sn_number_exact(value, text), out);
}

static void put_cell(const struct pair *pair, size_t row, FILE *out)
{
	double value = pair->all->values[row];
	if (!pair->all->levels) {
		put_number(value, out);
	} else if (!isnan(value)) {
		const char *name = pair->all->level_names[(size_t)value];
		bool is_other = has_level(pair->compared, SN_OTHER_CATEGORIES) &&
				!has_level(pair->compared, name);
		sn_csv_text(out, is_other ? SN_OTHER_CATEGORIES : name);
	}
}

/* Of each row of the features its stretch; NAN: it was not compared. From malloc, or NULL without memory. */
static double *list_stretches(const struct sn_feature_file *file, uint32_t column)
{
	const struct sn_causal_table *table = &file->causes->table;
	size_t rows = file->features->row_count;
	double *stretches = malloc((rows + 1) * sizeof(*stretches));
	for (size_t row = 0; stretches && row < rows; row++)
		stretches[row] = NAN;
	for (size_t row = 0; stretches && row < table->row_count; row++)
		stretches[file->causes->rows[row]] = table->columns[column].values[row];
	return stretches;
}

int sn_variability_csv(void *context, FILE *out, struct sn_error *error)
{
	const struct sn_feature_file *file = context;
	struct pair pairs[SN_FEATURES];
	size_t count = make_pairs(file, pairs);
	uint32_t stretch = sn_causal_table_find(&file->causes->table, SN_STRETCH_COLUMN);
	double *stretches = stretch == UINT32_MAX ? NULL : list_stretches(file, stretch);
	if (stretch != UINT32_MAX && !stretches)
		return sn_fail_memory(error);
	for (size_t pair = 0; pair < count; pair++)
		fprintf(out, "%s%s", pair ? "," : "", pairs[pair].all->name);
	fprintf(out, "%s\n", stretches ? "," SN_STRETCH_COLUMN : "");
	for (size_t row = 0; row < file->features->row_count; row++) {
		for (size_t pair = 0; pair < count; pair++) {
			fputs(pair ? "," : "", out);
			put_cell(&pairs[pair], row, out);
		}
		if (stretches) {
			putc(',', out);
			put_number(stretches[row], out);
		}
		putc('\n', out);
	}
	free(stretches);
	return 0;
}

static void put_table_cell(const struct sn_causal_column *column, size_t row, FILE *out)
{
	double value = column->values[row];
	if (column->levels && !isnan(value))
		sn_csv_text(out, column->level_names[(size_t)value]);
	else
		put_number(value, out);
}

int sn_variability_csv_of_table(void *context, FILE *out, struct sn_error *error)
{
	const struct sn_causal_table *table = context;
	(void)error;
	for (uint32_t column = 0; column < table->column_count; column++) {
		fputs(column ? "," : "", out);
		sn_csv_text(out, table->columns[column].name);
	}
	putc('\n', out);
	for (size_t row = 0; row < table->row_count; row++) {
		for (uint32_t column = 0; column < table->column_count; column++) {
			fputs(column ? "," : "", out);
			put_table_cell(&table->columns[column], row, out);
		}
		putc('\n', out);
	}
	return 0;
}
