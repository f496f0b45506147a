/* SPDX-License-Identifier: Apache-2.0 */
/* From files to rows, and what is to be explained of them; see counted.h. */
#include "counted.h"

#include "base/intern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Durations as whole numbers, which keep their exact sums (value_counts.h). */
#define VALUE_MOST  0x1p46
#define SUM_MOST    0x1p60
/* What is lost of a duration by rounding. */
#define NEARLY	    1e-9
#define TICKS_MOST  1e15
#define TICKS_LEAST 1e-15

void sn_counted_release(struct sn_counted *counted)
{
	sn_causal_table_release(&counted->table);
	free(counted->first_rows);
	*counted = (struct sn_counted){0};
}

/* ---- reading ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static int read_more(struct sn_counted *counted, size_t file, struct sn_error *error)
{
	struct sn_causal_table more;
	int result = sn_causal_table_read(&more, counted->paths[file], error);
	if (!result && more.kind != counted->table.kind)
		result = sn_fail(error, SN_ERR_ARGUMENT,
				 "'%s' and '%s' are not of one tool: take them one by one",
				 counted->paths[0], counted->paths[file]);
	if (!result)
		result = sn_counted_append(&counted->table, &more, error);
	sn_causal_table_release(&more);
	return result;
}

/* The file of each row, where there are several. */
static int add_files(struct sn_counted *counted)
{
	struct sn_causal_table *table = &counted->table;
	char name[16] = "file";
	while (sn_causal_table_find(table, name) != UINT32_MAX && strlen(name) + 2 < sizeof(name))
		strcat(name, "_");
	struct sn_causal_column *column = sn_counted_add_column(table, name);
	if (!column)
		return SN_ERR_MEMORY;
	column->levels = (uint32_t)counted->file_count;
	column->level_names = sn_arena_array(&table->texts, const char *, counted->file_count);
	for (size_t file = 0; file < counted->file_count && column->level_names; file++) {
		bool is_alone = true;
		for (size_t other = 0; other < counted->file_count; other++)
			is_alone &= other == file || strcmp(base_name(counted->paths[other]),
							    base_name(counted->paths[file])) != 0;
		column->level_names[file] =
		    sn_arena_text(&table->texts, is_alone ? base_name(counted->paths[file])
							  : counted->paths[file]);
		for (size_t row = counted->first_rows[file]; row < counted->first_rows[file + 1];
		     row++)
			column->values[row] = (double)file;
	}
	return table->texts.failed ? SN_ERR_MEMORY : 0;
}

int sn_counted_read(struct sn_counted *counted, const char *const *paths, size_t count,
		    struct sn_error *error)
{
	*counted = (struct sn_counted){
	    .paths = paths,
	    .first_rows = calloc(count + 1, sizeof(*counted->first_rows)),
	    .file_count = count,
	};
	if (!counted->first_rows)
		return sn_fail_memory(error);
	int result = sn_causal_table_read(&counted->table, paths[0], error);
	counted->first_rows[1] = counted->table.row_count;
	for (size_t file = 1; !result && file < count; file++) {
		result = read_more(counted, file, error);
		counted->first_rows[file + 1] = counted->table.row_count;
	}
	if (!result && count > 1)
		result = sn_fail_code(error, add_files(counted));
	if (!result)
		sn_counted_find_columns(counted);
	return result;
}

/* ---- launches of one configuration ---- */

struct configuration {
	uint64_t kernel;
	uint64_t sizes[SN_CONFIGURATION_SIZES];
};

struct configured {
	uint32_t *of; /* of each row; SN_INTERN_NONE: it has no kernel or no duration */
	struct mean {
		size_t count;
		double sum, log_sum;
	} * means;
	size_t capacity;
	struct sn_intern keys;
};

static double positive(double duration, double ticks)
{
	return fmax(duration, 1 / ticks);
}

static int configure(const struct sn_counted *counted, struct configured *all)
{
	const struct sn_causal_table *table = &counted->table;
	const double *durations = table->columns[counted->duration].values;
	const double *kernels =
	    counted->kernel == UINT32_MAX ? NULL : table->columns[counted->kernel].values;
	all->of = malloc((table->row_count + 1) * sizeof(*all->of));
	if (!all->of)
		return SN_ERR_MEMORY;
	for (size_t row = 0; row < table->row_count; row++) {
		struct configuration key = {.kernel = 0};
		all->of[row] = SN_INTERN_NONE;
		if (isnan(durations[row]) || (kernels && isnan(kernels[row])))
			continue;
		key.kernel = kernels ? (uint64_t)kernels[row] : 0;
		for (size_t size = 0; size < SN_CONFIGURATION_SIZES; size++)
			key.sizes[size] = sn_counted_size(counted, size, row);
		uint32_t number =
		    sn_intern_item(&all->keys, &key, sizeof(key), &all->means, &all->capacity, {0});
		if (number == SN_INTERN_NONE)
			return SN_ERR_MEMORY;
		all->of[row] = number;
		all->means[number].count++;
		all->means[number].sum += durations[row];
		all->means[number].log_sum += log(positive(durations[row], counted->ticks));
	}
	return 0;
}

static double target_of(const struct sn_counted *counted, enum sn_feature feature, double duration,
			const struct mean *mean)
{
	double logarithm = log(positive(duration, counted->ticks)), count = (double)mean->count;
	double least = 0.5 / (positive(duration, counted->ticks) * counted->ticks);
	if (feature == SN_FEATURE_LOG_DURATION)
		return logarithm;
	if (mean->count < 2)
		return NAN;
	return feature == SN_FEATURE_PERF_VARIATION
		   ? fabs(duration - mean->sum / count)
		   : 2 * log(fmax(fabs(logarithm - mean->log_sum / count), least));
}

/* A function of the duration, in a column behind all others. */
static int add_target(struct sn_counted *counted, enum sn_feature feature)
{
	struct configured all = {0};
	const char *unit = counted->table.columns[counted->duration].unit;
	int result = configure(counted, &all);
	struct sn_causal_column *column =
	    result ? NULL : sn_counted_add_column(&counted->table, sn_feature_name(feature));
	const double *durations = counted->table.columns[counted->duration].values;
	for (size_t row = 0; column && row < counted->table.row_count; row++) {
		const struct mean *mean =
		    all.of[row] == SN_INTERN_NONE ? NULL : &all.means[all.of[row]];
		column->values[row] =
		    mean ? target_of(counted, feature, durations[row], mean) : (double)NAN;
		column->missing += isnan(column->values[row]);
		counted->single_count += mean && isnan(column->values[row]);
	}
	if (column && feature == SN_FEATURE_PERF_VARIATION)
		column->unit = unit ? unit : counted->unit;
	sn_intern_release(&all.keys);
	free(all.means);
	free(all.of);
	return column ? 0 : SN_ERR_MEMORY;
}

/* ---- the duration ---- */

static bool are_whole(const struct sn_causal_column *column, size_t rows, double ticks)
{
	for (size_t row = 0; row < rows; row++) {
		double value = column->values[row] * ticks;
		if (!isnan(value) && fabs(value - round(value)) > NEARLY * fmax(1, fabs(value)))
			return false;
	}
	return true;
}

static double power_of_ten(int power)
{
	double result = 1;
	for (int i = 0; i < abs(power); i++)
		result *= 10;
	return power < 0 ? 1 / result : result;
}

/* The least power of ten that makes durations whole, else the largest that leaves them small enough. */
static void find_ticks(struct sn_counted *counted)
{
	const struct sn_causal_column *column = &counted->table.columns[counted->duration];
	size_t rows = counted->table.row_count;
	double least = INFINITY, most = 0, sum = 0;
	for (size_t row = 0; row < rows; row++) {
		least = fmin(least, column->values[row]);
		most = fmax(most, column->values[row]);
		sum += isnan(column->values[row]) ? 0 : column->values[row];
	}
	most = fmax(most, sum * (VALUE_MOST / SUM_MOST));
	counted->ticks = 1;
	counted->has_statistics = least >= 0 && isfinite(least) && most <= VALUE_MOST / TICKS_LEAST;
	int power = 0;
	while (counted->has_statistics && most * power_of_ten(power) > VALUE_MOST)
		power--;
	while (counted->has_statistics && power_of_ten(power) < TICKS_MOST &&
	       most * power_of_ten(power + 1) <= VALUE_MOST &&
	       !are_whole(column, rows, power_of_ten(power)))
		power++;
	counted->ticks = power_of_ten(power);
}

static void find_times(struct sn_counted *counted)
{
	const struct sn_causal_table *table = &counted->table;
	const struct sn_causal_column *durations = &table->columns[counted->duration];
	counted->has_times = counted->start != UINT32_MAX && counted->has_statistics &&
			     counted->ticks == 1 && !strcmp(counted->unit, "ns") &&
			     counted->start != counted->duration;
	for (size_t row = 0; row < table->row_count && counted->has_times; row++) {
		double value = table->columns[counted->start].values[row];
		counted->has_times = isnan(durations->values[row]) ||
				     (value >= 0 && value < 0x1p53 && value == floor(value));
	}
}

static bool ends_in_ns(const char *name)
{
	size_t length = strlen(name);
	return length > 3 && !strcmp(name + length - 3, "_ns");
}

static void know_duration(struct sn_counted *counted)
{
	const struct sn_causal_column *column = &counted->table.columns[counted->duration];
	bool is_ns = column->unit ? !strcmp(column->unit, "ns") : ends_in_ns(column->name);
	counted->unit = is_ns ? "ns" : column->unit ? column->unit : "1";
	find_ticks(counted);
	find_times(counted);
}

/* ---- the target ---- */

static int feature_named(const char *name)
{
	if (!strcmp(name, "kernel_variability"))
		return SN_FEATURE_PERF_VARIATION;
	for (int feature = SN_FEATURE_PERF_VARIATION; feature < SN_FEATURES; feature++)
		if (!strcmp(name, sn_feature_name((enum sn_feature)feature)))
			return feature;
	return -1;
}

static int refuse_target(const struct sn_counted *counted, const char *target, int feature,
			 struct sn_error *error)
{
	if (feature == SN_FEATURE_MEMORY_STALL || feature == SN_FEATURE_EXPOSED_COPY)
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "'%s' is of copies, of which '%s' says nothing", target,
			       counted->paths[0]);
	if (feature >= 0 || !target)
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "'%s' has no column that is known to have durations: say by "
			       "--target which column is to be explained",
			       counted->paths[0]);
	return sn_fail(error, SN_ERR_ARGUMENT, "'%s' has no column '%s'", counted->paths[0],
		       target);
}

/* Each file is to have launches whose durations are known. */
static int check_files(const struct sn_counted *counted, struct sn_error *error)
{
	const struct sn_causal_column *column = &counted->table.columns[counted->duration];
	for (size_t file = 0; file < counted->file_count; file++) {
		size_t row = counted->first_rows[file], end = counted->first_rows[file + 1];
		while (row < end && isnan(column->values[row]))
			row++;
		if (row == end)
			return sn_fail(error, SN_ERR_ARGUMENT, "'%s' has no value of '%s'",
				       counted->paths[file], column->name);
	}
	return 0;
}

int sn_counted_choose(struct sn_counted *counted, const char *target, struct sn_error *error)
{
	struct sn_causal_table *table = &counted->table;
	const char *wanted = target ? target : sn_feature_name(SN_FEATURE_PERF_VARIATION);
	int feature = feature_named(wanted);
	if (feature >= 0)
		wanted = sn_feature_name((enum sn_feature)feature);
	counted->target = sn_causal_table_find(table, wanted);
	counted->duration = sn_counted_find_duration(table);
	bool is_number = counted->target != UINT32_MAX && !table->columns[counted->target].levels;
	if (is_number && feature < 0 &&
	    (table->kind == SN_TABLE_PLAIN || counted->duration == UINT32_MAX))
		counted->duration = counted->target;
	counted->target_name = wanted;
	if (counted->duration != UINT32_MAX && check_files(counted, error))
		return SN_ERR_ARGUMENT;
	if (counted->duration != UINT32_MAX)
		know_duration(counted);
	if (counted->target != UINT32_MAX)
		return 0;
	if (feature < 0 || feature == SN_FEATURE_MEMORY_STALL ||
	    feature == SN_FEATURE_EXPOSED_COPY || counted->duration == UINT32_MAX)
		return refuse_target(counted, target, feature, error);
	if (feature == SN_FEATURE_DURATION) {
		counted->target = counted->duration;
		counted->target_name = table->columns[counted->target].name;
		return 0;
	}
	if (add_target(counted, (enum sn_feature)feature))
		return sn_fail_memory(error);
	counted->target = table->column_count - 1;
	return 0;
}

/* ---- what is compared ---- */

static void remove_column(struct sn_causal_table *table, uint32_t column)
{
	free(table->columns[column].values);
	memmove(table->columns + column, table->columns + column + 1,
		(table->column_count - column - 1) * sizeof(*table->columns));
	table->column_count--;
}

static void keep_row(struct sn_causal_table *table, size_t row, size_t place)
{
	for (uint32_t column = 0; column < table->column_count; column++)
		table->columns[column].values[place] = table->columns[column].values[row];
}

int sn_counted_take(struct sn_counted *counted, size_t most, struct sn_causal_table *table)
{
	size_t known = 0, kept = 0;
	*table = counted->table;
	counted->table = (struct sn_causal_table){0};
	const double *target = table->columns[counted->target].values;
	/* the target of a row is read before another one takes its place */
	for (size_t row = 0; row < table->row_count; row++)
		if (!isnan(target[row]))
			keep_row(table, row, known++);
	kept = known < most ? known : most;
	for (size_t row = 0; row < kept && kept < known; row++)
		keep_row(table, row * known / kept, row);
	table->row_count = kept;
	for (uint32_t column = 0; column < table->column_count; column++) {
		table->columns[column].missing = 0;
		for (size_t row = 0; row < kept; row++)
			table->columns[column].missing += isnan(table->columns[column].values[row]);
	}
	/* the duration says by itself what is made of it */
	bool is_made = feature_named(table->columns[counted->target].name) >= 0;
	if (is_made && counted->duration != UINT32_MAX && counted->duration != counted->target)
		remove_column(table, counted->duration);
	struct sn_causal_column *columns =
	    reallocarray(table->columns, table->column_count + 2ull, sizeof(*columns));
	table->columns = columns ? columns : table->columns;
	return columns ? 0 : SN_ERR_MEMORY;
}
