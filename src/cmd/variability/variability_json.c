/* SPDX-License-Identifier: Apache-2.0 */
/* The results as JSON: times in nanoseconds, differences in percent. */
#include "variability_json.h"

#include "format/database/statistics.h"
#include "show/variability/variability_page.h"

#include <math.h>

static double percent(double log_difference)
{
	return 100 * expm1(log_difference);
}

/* KEY, KEY_low, KEY_high, KEY_p, KEY_significant; null where it is not known. */
static void put_estimate(struct sn_json *json, const char *key, const struct sn_steps_estimate *one,
			 bool counts)
{
	static const char *const suffixes[] = {"", "_low", "_high"};
	const double values[] = {one->value, one->low, one->high};
	char text[48];
	for (size_t i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "%s%s", key, suffixes[i]);
		sn_json_put_known(json, text, one->is_known ? percent(values[i]) : (double)NAN);
	}
	snprintf(text, sizeof(text), "%s_p", key);
	sn_json_put_known(json, text, one->is_known ? one->p : (double)NAN);
	snprintf(text, sizeof(text), "%s_significant", key);
	sn_json_put_bool(json, text, counts);
}

static void put_extent(struct sn_json *json, const char *key, const uint64_t *sizes)
{
	if (sizes[0] == SN_SIZE_UNKNOWN)
		return;
	sn_json_open(json, key, '[');
	for (size_t i = 0; i < 3; i++)
		if (sizes[i] != SN_SIZE_UNKNOWN)
			sn_json_unsigned(json, sizes[i]);
	sn_json_end(json, ']');
}

static void put_changes(const struct sn_variability *result, const struct sn_kernel_group *group,
			struct sn_json *json)
{
	double step = (double)(result->end_ns - result->start_ns) / result->step_count;
	sn_json_open(json, "changes", '[');
	for (size_t i = 0; i < group->changes.count; i++) {
		sn_json_begin(json, '{');
		sn_json_put_number(json, "at_ns",
				   round((double)group->changes.items[i].step * step));
		sn_json_put_number(json, "change", percent(group->changes.items[i].difference));
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

static void put_group_places(const struct sn_variability *result,
			     const struct sn_kernel_group *group, struct sn_json *json)
{
	sn_json_open(json, "places", '[');
	for (size_t i = 0; i < group->place_count && result->place_count > 1; i++) {
		const struct sn_place_difference *one = group->places + i;
		sn_json_begin(json, '{');
		sn_json_put_text(json, "place", result->places[one->place].name);
		sn_json_put_unsigned(json, "count", one->count);
		sn_json_put_number(json, "mean_ns", one->mean_ns / result->ticks);
		put_estimate(json, "difference", &one->difference, one->counts);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

static void put_group(const struct sn_variability *result, const struct sn_kernel_group *group,
		      struct sn_json *json)
{
	const struct sn_value_counts *durations = &group->durations;
	double ticks = result->ticks, mean = sn_value_counts_mean(durations),
	       deviation = sn_value_counts_deviation(durations);
	struct sn_configuration_text configuration = sn_variability_configuration(group);
	sn_json_begin(json, '{');
	sn_json_put_text(json, "name",
			 group->kernel == SONDE_NONE ? NULL : result->kernels[group->kernel]);
	sn_json_put_text(json, "configuration", *configuration.text ? configuration.text : NULL);
	put_extent(json, "grid", group->sizes + SN_LAUNCH_GRID_X);
	put_extent(json, "block", group->sizes + SN_LAUNCH_BLOCK_X);
	if (group->sizes[SN_LAUNCH_SHARED] != SN_SIZE_UNKNOWN)
		sn_json_put_unsigned(json, "shared_bytes", group->sizes[SN_LAUNCH_SHARED]);
	sn_json_put_bool(json, "communication", group->is_communication);
	sn_json_put_unsigned(json, "count", durations->total);
	sn_json_numbers(
	    json, {"mean_ns", mean / ticks}, {"std_ns", deviation / ticks},
	    {"cv", mean > 0 ? deviation / mean : 0}, {"min_ns", (double)durations->least / ticks},
	    {"p25", sn_value_counts_quantile(durations, 0.25) / ticks},
	    {"p50", sn_value_counts_quantile(durations, 0.5) / ticks},
	    {"p75", sn_value_counts_quantile(durations, 0.75) / ticks},
	    {"p90", sn_value_counts_quantile(durations, 0.9) / ticks},
	    {"p99", sn_value_counts_quantile(durations, 0.99) / ticks},
	    {"max_ns", (double)durations->greatest / ticks},
	    {"quantile_error", sn_value_counts_error(durations)}, {"log_mad", group->spread.mad},
	    {"variation_ns", group->difference_ns / ticks}, {"log_variance", group->log_variance});
	sn_json_put_unsigned(json, "outliers", group->outliers.above + group->outliers.below);
	sn_json_put_unsigned(json, "outliers_above", group->outliers.above);
	put_estimate(json, "drift", &group->drift.whole, group->drift_counts);
	put_changes(result, group, json);
	put_group_places(result, group, json);
	sn_json_end(json, '}');
}

static void put_target(const struct sn_variability_bin *bin, struct sn_json *json)
{
	bool is_known = bin->target_count > 0;
	sn_json_put_unsigned(json, "target_count", bin->target_count);
	sn_json_put_known(json, "target_mean", is_known ? bin->target_mean : (double)NAN);
	sn_json_put_known(json, "target_variance", is_known ? bin->target_variance : (double)NAN);
}

static void put_bin_kernels(const struct sn_variability *result, uint32_t bin, struct sn_json *json)
{
	const struct sn_bin_kernels *kernels = sn_variability_bin_kernels(result, bin);
	sn_json_open(json, "kernels", '[');
	for (size_t i = 0; kernels && i < kernels->count; i++) {
		const struct sn_bin_kernel *one = kernels->items + i;
		sn_json_begin(json, '{');
		sn_json_put_text(json, "name", result->kernels[one->kernel]);
		sn_json_put_unsigned(json, "count", one->count);
		sn_json_numbers(json, {"mean_ns", one->mean}, {"variance", one->variance},
				{"p50", one->q50}, {"share", one->share});
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

static void put_bins(const struct sn_variability *result, const char *key, const uint32_t *order,
		     size_t top, struct sn_json *json)
{
	sn_json_open(json, key, '[');
	for (size_t i = 0; i < top && i < result->used_bins; i++) {
		const struct sn_variability_bin *bin = result->bins + order[i];
		sn_json_begin(json, '{');
		sn_json_put_unsigned(json, "start_ns", result->start_ns + bin->start_ns);
		sn_json_put_unsigned(json, "end_ns",
				     result->start_ns + bin->start_ns + result->bin_ns);
		sn_json_put_unsigned(json, "count", bin->count);
		sn_json_numbers(json, {"min_ns", (double)bin->least},
				{"max_ns", (double)bin->greatest}, {"mean_ns", bin->mean},
				{"variance", bin->variance}, {"std_ns", sqrt(bin->variance)},
				{"p25", bin->q25}, {"p50", bin->q50}, {"p75", bin->q75},
				{"adjusted", bin->adjusted}, {"rank", (double)bin->rank},
				{"adjusted_rank", (double)bin->adjusted_rank});
		if (result->ranked_by != SN_FEATURE_DURATION)
			put_target(bin, json);
		put_bin_kernels(result, order[i], json);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

/* ---- over time ---- */

/* Steps of a picture as wide as a screen. */
#define STEPS_MOST 1500u

struct over_time {
	const struct sn_variability *result;
	size_t bins_each; /* of a step */
};

static double bin_deviation(const struct sn_variability_bin *bin)
{
	return bin->count ? sqrt(bin->variance) : (double)NAN;
}

static double bin_target_deviation(const struct sn_variability_bin *bin)
{
	return bin->target_count ? sqrt(bin->target_variance) : (double)NAN;
}

static double bin_adjusted(const struct sn_variability_bin *bin)
{
	return bin->count >= SN_BIN_LEAST ? bin->adjusted : (double)NAN;
}

/* Of each step the greatest that one of its bins has; null: none has any. */
static void put_greatest(const struct over_time *over, const char *key,
			 double (*value)(const struct sn_variability_bin *bin),
			 struct sn_json *json)
{
	const struct sn_variability *result = over->result;
	sn_json_open(json, key, '[');
	for (size_t first = 0; first < result->bin_count; first += over->bins_each) {
		double greatest = NAN;
		for (size_t b = first; b < result->bin_count && b < first + over->bins_each; b++)
			greatest = fmax(greatest, value(result->bins + b));
		if (isnan(greatest))
			sn_json_null(json);
		else
			sn_json_number(json, greatest);
	}
	sn_json_end(json, ']');
}

/* All of the range in steps of whole bins, of which the one that varies most is told. */
static void put_over_time(const struct sn_variability *result, struct sn_json *json)
{
	struct over_time over = {result, (result->bin_count + STEPS_MOST - 1) / STEPS_MOST};
	sn_json_open(json, "over_time", '{');
	sn_json_put_unsigned(json, "start_ns", result->start_ns);
	sn_json_put_unsigned(json, "bins", result->bin_count);
	sn_json_put_unsigned(json, "bins_each", over.bins_each);
	sn_json_put_unsigned(json, "step_ns", over.bins_each * result->bin_ns);
	put_greatest(&over, "std_ns", bin_deviation, json);
	put_greatest(&over, "adjusted", bin_adjusted, json);
	if (result->ranked_by != SN_FEATURE_DURATION)
		put_greatest(&over, "target_std", bin_target_deviation, json);
	sn_json_end(json, '}');
}

/* The target and its sound forms over the rows. */
static void put_features(const struct sn_variability *result,
			 const struct sn_variability_told *told, struct sn_json *json)
{
	const struct sn_launch_features *features = &result->features;
	const char *target = told->causes->target;
	sn_json_open(json, "features", '{');
	sn_json_put_text(json, "target", target);
	sn_json_put_text(json, "target_meaning", sn_variability_target_meaning(target));
	sn_json_put_unsigned(json, "rows",
			     told->of_table ? told->causes->table.row_count : features->row_count);
	sn_json_put_unsigned(json, "of_launches",
			     told->of_table ? told->row_count : features->launch_count);
	sn_json_open(json, "targets", '[');
	for (unsigned f = 0; f < features->column_count; f++) {
		const struct sn_feature_column *column = features->columns + f;
		struct sonde_db_stat stat = {0};
		if (column->role != SN_FEATURE_TARGET)
			continue;
		for (size_t row = 0; row < features->row_count; row++)
			if (!isnan(column->values[row]))
				sn_stat_add(&stat, column->values[row]);
		sn_json_begin(json, '{');
		sn_json_put_text(json, "name", column->name);
		sn_json_put_stat(json, &stat);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
	sn_json_end(json, '}');
}

void sn_variability_json(const struct sn_variability *result,
			 const struct sn_variability_request *request,
			 const struct sn_variability_told *told, struct sn_json *json)
{
	sn_json_open(json, "sentences", '[');
	for (size_t i = 0; i < told->page->sentence_count; i++)
		sn_json_string(json, told->page->sentences[i]);
	sn_json_end(json, ']');
	sn_json_put_unsigned(json, "start_ns", result->start_ns);
	sn_json_put_unsigned(json, "end_ns", result->end_ns);
	sn_json_put_bool(json, "aligned", result->is_aligned);
	sn_json_put_unsigned(json, "bin_ns", result->bin_ns);
	sn_json_put_unsigned(json, "launches", told->row_count);
	sn_json_put_bool(json, "timeless", result->is_timeless);
	sn_json_put_text(json, "unit", told->unit);
	sn_json_put_text(json, "bins_ranked_by", sn_feature_name(result->ranked_by));
	sn_json_open(json, "kernels", '[');
	for (size_t i = 0; i < result->group_count; i++)
		put_group(result, result->groups + i, json);
	sn_json_end(json, ']');
	put_bins(result, "bins", result->by_variance, request->top, json);
	put_bins(result, "adjusted_bins", result->by_adjusted, request->top, json);
	if (result->bin_count)
		put_over_time(result, json);
	sn_json_open(json, "places", '[');
	for (size_t i = 0; i < result->place_count; i++) {
		const struct sn_variability_place *one = result->places + i;
		sn_json_begin(json, '{');
		sn_json_put_text(json, "place", one->name);
		sn_json_put_unsigned(json, "launches", one->count);
		put_estimate(json, "pace", &one->pace, one->pace_counts);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
	put_features(result, told, json);
}
