/* SPDX-License-Identifier: Apache-2.0 */
/* Reading tables of observations; see table.h. The parts are in table/: where it begins (head), what its columns are (role), fields (value, unit),
 * launches of profilers (launch), and the columns (build). */
#include "table.h"

#include "base/csv/csv_read.h"
#include "base/text.h"
#include "table/head.h"
#include "table/launch.h"

struct reading {
	struct sn_csv_reader csv;
	struct sn_table_builder builder;
	struct sn_roles roles;
	struct sn_table_launches launches;
	bool is_quoted; /* the row of names begins with a quote */
};

void sn_causal_table_release(struct sn_causal_table *table)
{
	for (uint32_t column = 0; column < table->column_count; column++)
		free(table->columns[column].values);
	free(table->columns);
	free(table->apart);
	sn_arena_release(&table->texts);
	*table = (struct sn_causal_table){0};
}

uint32_t sn_causal_table_find(const struct sn_causal_table *table, const char *name)
{
	for (uint32_t column = 0; column < table->column_count; column++)
		if (!strcmp(table->columns[column].name, name))
			return column;
	return UINT32_MAX;
}

static int add_plain_columns(struct reading *reading)
{
	struct sn_causal_table *table = reading->builder.table;
	int result = 0;
	for (size_t field = 0; !result && field < reading->csv.count; field++) {
		const char *name = sn_arena_text(&table->texts, reading->csv.fields[field]);
		result = name ? sn_table_add_column(&reading->builder, name, NULL, false)
			      : SN_ERR_MEMORY;
	}
	return result;
}

static int read_names(struct reading *reading, struct sn_error *error)
{
	int found = sn_csv_next(&reading->csv, error);
	if (found <= 0)
		return found ? found
			     : sn_fail(error, SN_ERR_FORMAT, "'%s' is empty", reading->csv.path);
	int result = sn_roles_find(&reading->roles, reading->csv.fields, reading->csv.count, error);
	if (result)
		return sn_fail_prefix(error, result, "'%s'", reading->csv.path);
	reading->builder.table->kind = reading->roles.kind;
	reading->launches.builder = &reading->builder;
	reading->launches.roles = &reading->roles;
	return sn_fail_code(error,
			    reading->roles.kind == SN_TABLE_PLAIN
				? add_plain_columns(reading)
				: sn_table_launches_begin(&reading->launches, reading->csv.fields));
}

static int add_plain_row(struct reading *reading)
{
	struct sn_causal_table *table = reading->builder.table;
	int result = sn_table_add_full_row(&reading->builder);
	for (uint32_t column = 0; !result && column < table->column_count; column++)
		result = sn_table_set(&reading->builder, column, table->row_count - 1,
				      reading->csv.fields[column], 1);
	return result;
}

/* What stands between the rows of Nsight Compute: what the program printed, and the names again where one file follows another. */
static bool is_no_row(const struct reading *reading)
{
	if (reading->roles.kind != SN_TABLE_NSIGHT)
		return false;
	return (reading->is_quoted && reading->csv.line[0] != '"') ||
	       sn_text_begins(reading->csv.line, "==") || !strcmp(reading->csv.fields[0], "ID");
}

static int add_row(struct reading *reading, struct sn_error *error)
{
	struct sn_csv_reader *csv = &reading->csv;
	if (is_no_row(reading))
		return 0;
	if (csv->count > reading->roles.count || csv->count < reading->roles.least_count)
		return sn_fail(error, SN_ERR_FORMAT,
			       "'%s': line %llu has %zu fields, and the first one %u", csv->path,
			       (unsigned long long)csv->line_number, csv->count,
			       reading->roles.count);
	if (reading->roles.kind == SN_TABLE_PLAIN)
		return sn_fail_code(error, add_plain_row(reading));
	if (reading->roles.has_units && !*csv->fields[0])
		return sn_fail_code(error,
				    sn_table_launches_units(&reading->launches, csv->fields));
	return sn_fail_code(error, sn_table_launches_add(&reading->launches, csv->fields));
}

static int finish(struct reading *reading, struct sn_error *error)
{
	const struct sn_causal_table *table = reading->builder.table;
	if (!table->row_count)
		return sn_fail(error, SN_ERR_FORMAT, "'%s' has no row but the names",
			       reading->csv.path);
	int result =
	    reading->roles.kind == SN_TABLE_PLAIN ? 0 : sn_table_launches_end(&reading->launches);
	result = sn_fail_code(error, result);
	if (result)
		return result;
	result = sn_table_finish(&reading->builder, error);
	return result ? sn_fail_prefix(error, result, "'%s'", reading->csv.path) : 0;
}

int sn_causal_table_read(struct sn_causal_table *table, const char *path, struct sn_error *error)
{
	struct reading reading = {.builder = {.table = table}};
	*table = (struct sn_causal_table){0};
	int result = sn_table_open(&reading.csv, path, &reading.is_quoted, error), found = 0;
	result = result ? result : read_names(&reading, error);
	while (!result && (found = sn_csv_next(&reading.csv, error)) > 0)
		result = add_row(&reading, error);
	result = found < 0 ? found : result;
	result = result ? result : finish(&reading, error);
	sn_table_launches_release(&reading.launches);
	sn_roles_release(&reading.roles);
	sn_table_builder_release(&reading.builder);
	sn_csv_close(&reading.csv);
	return result;
}
