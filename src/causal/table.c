/* SPDX-License-Identifier: Apache-2.0 */
/* Reading tables of observations; see table.h. */
#include "table.h"

#include "base/csv/csv_read.h"
#include "base/intern.h"

#include <errno.h>
#include <math.h>

/* A category's name, or a number's value where the column turns out to be no numeric one: "1" and "1.0" are one category. */
struct reading {
	struct sn_causal_table *table;
	struct sn_csv_reader csv;
	struct sn_intern *levels; /* of each column */
};

void sn_causal_table_release(struct sn_causal_table *table)
{
	for (uint32_t column = 0; column < table->column_count; column++)
		free(table->columns[column].values);
	free(table->columns);
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

/* ---- the first row ---- */

static char separator_of(const char *path)
{
	static const char separators[] = ",;\t";
	size_t counts[3] = {0}, capacity = 0;
	char *line = NULL, best = ',';
	FILE *file = fopen(path, "re");
	if (file && getline(&line, &capacity, file) > 0)
		for (const char *at = line; *at; at++)
			for (int i = 0; i < 3; i++)
				counts[i] += *at == separators[i];
	if (counts[1] > counts[0] || counts[2] > counts[0])
		best = counts[2] > counts[1] ? '\t' : ';';
	free(line);
	if (file)
		fclose(file);
	return best;
}

static int read_names(struct reading *reading, struct sn_error *error)
{
	struct sn_causal_table *table = reading->table;
	struct sn_intern names = {0};
	int found = sn_csv_next(&reading->csv, error), result = found < 0 ? found : 0;
	if (!found)
		return sn_fail(error, SN_ERR_FORMAT, "'%s' is empty", reading->csv.path);
	size_t count = found > 0 ? reading->csv.count : 0;
	table->columns = calloc(count + 1, sizeof(*table->columns));
	reading->levels = calloc(count + 1, sizeof(*reading->levels));
	if (!result && (!table->columns || !reading->levels || count > UINT32_MAX))
		result = sn_fail_memory(error);
	for (size_t column = 0; !result && column < count; column++) {
		const char *name = reading->csv.fields[column];
		table->columns[column].name = sn_arena_text(&table->texts, name);
		table->column_count++;
		if (sn_intern_add_text(&names, name, strlen(name)) != column)
			result =
			    sn_fail(error, SN_ERR_FORMAT, "'%s' has two columns of the name '%s'",
				    reading->csv.path, name);
	}
	sn_intern_release(&names);
	return result;
}

/* ---- values ---- */

static bool is_missing(const char *text)
{
	static const char *const words[] = {"",	   "NA",   "N/A",  "n/a",  "nan",  "NaN",
					    "NAN", "null", "NULL", "none", "None", "-"};
	for (size_t word = 0; word < sizeof(words) / sizeof(*words); word++)
		if (!strcmp(text, words[word]))
			return true;
	return false;
}

static const char *trimmed(const char *text)
{
	char *begin = (char *)text + strspn(text, " "), *end = begin + strlen(begin);
	while (end > begin && end[-1] == ' ')
		end--;
	*end = 0;
	return begin;
}

/* Whether the whole text is a number; one that is not finite becomes NAN. */
static bool as_number(const char *text, double *value)
{
	char *end;
	*value = strtod(text, &end);
	if (end == text || *end)
		return false;
	if (!isfinite(*value))
		*value = NAN;
	return true;
}

/* The number of a category. -1 without memory. */
static double level_of(struct sn_intern *levels, const char *text)
{
	uint32_t level = sn_intern_add_text(levels, text, strlen(text));
	return level == SN_INTERN_NONE ? -1.0 : (double)level;
}

static double level_of_number(struct sn_intern *levels, double number)
{
	char text[32];
	snprintf(text, sizeof(text), "%.17g", number);
	return level_of(levels, text);
}

/* The first field that is no number makes categories of the numbers before it. */
static int begin_levels(struct sn_causal_column *column, struct sn_intern *levels, size_t rows)
{
	for (size_t row = 0; row < rows; row++) {
		double *value = &column->values[row];
		if (!isnan(*value) && (*value = level_of_number(levels, *value)) < 0)
			return SN_ERR_MEMORY;
	}
	column->levels = 1;
	return 0;
}

static int add_value(struct sn_causal_column *column, struct sn_intern *levels, size_t row,
		     const char *field)
{
	const char *text = trimmed(field);
	double value = NAN;
	bool is_nothing = is_missing(text), is_number = !is_nothing && as_number(text, &value);
	if (!is_nothing && !is_number && !column->levels) {
		int result = begin_levels(column, levels, row);
		if (result)
			return result;
	}
	if (column->levels && !is_nothing)
		value = is_number && !isnan(value) ? level_of_number(levels, value)
						   : level_of(levels, text);
	column->values[row] = value;
	column->missing += isnan(value);
	return value < 0 && column->levels ? SN_ERR_MEMORY : 0;
}

static int make_room(struct sn_causal_table *table)
{
	size_t wanted = table->row_capacity ? table->row_capacity * 2 : 1024;
	for (uint32_t column = 0; column < table->column_count; column++) {
		double *moved = reallocarray(table->columns[column].values, wanted, sizeof(*moved));
		if (!moved)
			return SN_ERR_MEMORY;
		table->columns[column].values = moved;
	}
	table->row_capacity = wanted;
	return 0;
}

static int add_row(struct reading *reading, struct sn_error *error)
{
	struct sn_causal_table *table = reading->table;
	int result = 0;
	if (reading->csv.count != table->column_count)
		return sn_fail(error, SN_ERR_FORMAT,
			       "'%s': line %llu has %zu fields, and the first one %u",
			       reading->csv.path, (unsigned long long)reading->csv.line_number,
			       reading->csv.count, table->column_count);
	if (table->row_count == table->row_capacity)
		result = make_room(table);
	for (uint32_t column = 0; !result && column < table->column_count; column++)
		result = add_value(&table->columns[column], &reading->levels[column],
				   table->row_count, reading->csv.fields[column]);
	table->row_count++;
	return sn_fail_code(error, result);
}

static int keep_levels(struct reading *reading, uint32_t number, struct sn_error *error)
{
	struct sn_causal_column *column = &reading->table->columns[number];
	struct sn_arena *texts = &reading->table->texts;
	const struct sn_intern *levels = &reading->levels[number];
	if (!column->levels)
		return 0;
	column->levels = levels->count;
	column->level_names = sn_arena_array(texts, const char *, levels->count);
	for (uint32_t level = 0; column->level_names && level < levels->count; level++) {
		size_t length;
		const char *text = sn_intern_at(levels, level, &length);
		column->level_names[level] = sn_arena_copy(texts, text, length);
	}
	return texts->failed ? sn_fail_memory(error) : 0;
}

int sn_causal_table_read(struct sn_causal_table *table, const char *path, struct sn_error *error)
{
	struct reading reading = {.table = table};
	*table = (struct sn_causal_table){0};
	int result = sn_csv_open(&reading.csv, path, separator_of(path), error), found = 0;
	result = result ? result : read_names(&reading, error);
	while (!result && (found = sn_csv_next(&reading.csv, error)) > 0)
		result = add_row(&reading, error);
	result = found < 0 ? found : result;
	if (!result && !table->row_count)
		result = sn_fail(error, SN_ERR_FORMAT, "'%s' has no row but the names", path);
	for (uint32_t column = 0; !result && column < table->column_count; column++)
		result = keep_levels(&reading, column, error);
	for (uint32_t column = 0; reading.levels && column < table->column_count; column++)
		sn_intern_release(&reading.levels[column]);
	free(reading.levels);
	sn_csv_close(&reading.csv);
	return result;
}
