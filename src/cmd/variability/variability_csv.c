/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of launches with separated values. */
#include "variability_csv.h"

#include "show/csv.h"
#include "show/number.h"

#include <math.h>

static void put_cell(const struct sn_feature_column *column, size_t row, FILE *out)
{
	char text[SN_NUMBER_CHARS];
	double value = column->values[row];
	if (isnan(value))
		return;
	if (column->levels)
		sn_csv_text(out, column->level_names[(size_t)value]);
	else
		fputs(sn_number_exact(value, text), out);
}

int sn_variability_csv(void *context, FILE *out, struct sn_error *error)
{
	const struct sn_feature_file *file = context;
	const struct sn_launch_features *features = file->features;
	const char *separator = "";
	(void)error;
	for (unsigned f = 0; f < features->column_count; f++) {
		if (!sn_feature_is_beside((enum sn_feature)f, file->target))
			continue;
		fprintf(out, "%s%s", separator, features->columns[f].name);
		separator = ",";
	}
	putc('\n', out);
	for (size_t row = 0; row < features->row_count; row++) {
		separator = "";
		for (unsigned f = 0; f < features->column_count; f++) {
			if (!sn_feature_is_beside((enum sn_feature)f, file->target))
				continue;
			fputs(separator, out);
			put_cell(features->columns + f, row, out);
			separator = ",";
		}
		putc('\n', out);
	}
	return 0;
}
