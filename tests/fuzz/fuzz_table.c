/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as a table of observations: of one that is read, each value is a number, missing or one of its column's categories. See
 * fuzz_table.sh.
 */
#include "causal/table.h"
#include "fuzz_file.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_column(const struct sn_causal_table *table, const struct sn_causal_column *column)
{
	size_t missing = 0;
	for (size_t row = 0; row < table->row_count; row++) {
		double value = column->values[row];
		missing += isnan(value);
		if (column->levels && !isnan(value) &&
		    !(value >= 0 && value < column->levels && value == floor(value)))
			abort();
	}
	if (missing != column->missing || !column->name)
		abort();
	for (uint32_t level = 0; level < column->levels; level++)
		if (!column->level_names[level] || strlen(column->level_names[level]) > 1 << 24)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sn_causal_table table;
	struct sn_error error = {""};
	char path[FUZZ_PATH_MAX];
	int file = fuzz_file(data, size, path);
	int result = sn_causal_table_read(&table, path, &error);
	if (result ? !error.text[0] : !table.row_count)
		abort();
	for (uint32_t column = 0; !result && column < table.column_count; column++)
		check_column(&table, &table.columns[column]);
	sn_causal_table_release(&table);
	close(file);
	return 0;
}
