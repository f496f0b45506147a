/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of an analysis of variability. */
#include "variability_page.h"

#include "base/sort_by.h"
#include "base/vec.h"
#include "show/label.h"
#include "show/number.h"

#include <math.h>
#include <string.h>

struct sn_group_name sn_variability_group_name(const struct sn_variability *result,
					       const struct sn_kernel_group *group)
{
	struct sn_group_name name = {"all kernels"};
	if (group->kernel != SONDE_NONE)
		sn_label_shorten(result->kernels[group->kernel], name.text, sizeof(name.text));
	return name;
}

static void put_extent(struct sn_configuration_text *all, const char *what, const uint64_t *sizes)
{
	size_t used = strlen(all->text);
	if (sizes[0] == SN_SIZE_UNKNOWN)
		return;
	snprintf(all->text + used, sizeof(all->text) - used, "%s%s %llu", used ? " " : "", what,
		 (unsigned long long)sizes[0]);
	for (int i = 1; i < 3; i++) {
		used = strlen(all->text);
		if (sizes[i] != SN_SIZE_UNKNOWN)
			snprintf(all->text + used, sizeof(all->text) - used, "x%llu",
				 (unsigned long long)sizes[i]);
	}
}

struct sn_configuration_text sn_variability_configuration(const struct sn_kernel_group *group)
{
	struct sn_configuration_text all = {""};
	put_extent(&all, "grid", group->sizes + SN_LAUNCH_GRID_X);
	put_extent(&all, "block", group->sizes + SN_LAUNCH_BLOCK_X);
	size_t used = strlen(all.text);
	if (group->sizes[SN_LAUNCH_SHARED] != SN_SIZE_UNKNOWN)
		snprintf(all.text + used, sizeof(all.text) - used, "%sshared %llu", used ? " " : "",
			 (unsigned long long)group->sizes[SN_LAUNCH_SHARED]);
	return all;
}

struct sn_full_name sn_variability_full_name(const struct sn_variability *result,
					     const struct sn_kernel_group *group, const char *open,
					     const char *close)
{
	struct sn_full_name name;
	struct sn_configuration_text configuration = sn_variability_configuration(group);
	bool has = *configuration.text;
	snprintf(name.text, sizeof(name.text), "%s%s%s%s",
		 sn_variability_group_name(result, group).text, has ? open : "", configuration.text,
		 has ? close : "");
	return name;
}

static void show_groups(const struct sn_variability *result, const char *unit, struct sn_page *page)
{
	struct sn_column columns[] = {{"count", "launches", "count"},
				      {"mean_ns", "mean", ""},
				      {"cv", "std/mean", "ratio"},
				      {"p50", "median", ""},
				      {"p99", "p99", ""},
				      {"outliers", "outliers", "count"},
				      {"drift", "drift", "ratio"},
				      {"name", "kernel", ""}};
	for (size_t i = 0; i + 1 < sizeof(columns) / sizeof(*columns); i++)
		if (!*columns[i].unit)
			snprintf(columns[i].unit, sizeof(columns[i].unit), "%s", unit);
	struct sn_sheet *sheet = sn_page_sheet(
	    page, "kernels", "kernels, by what their launches differ from the mean in all");
	size_t count = sizeof(columns) / sizeof(*columns);
	if (result->is_timeless) {
		columns[count - 2] = columns[count - 1];
		count--;
	}
	sn_sheet_columns(sheet, columns, count);
	for (size_t i = 0; i < result->group_count; i++) {
		const struct sn_kernel_group *one = result->groups + i;
		double mean = sn_value_counts_mean(&one->durations);
		double drift = one->drift_counts ? expm1(one->drift.whole.value) : (double)NAN;
		sn_sheet_numbers(sheet, (double)one->durations.total, mean / result->ticks,
				 mean > 0 ? sn_value_counts_deviation(&one->durations) / mean : 0,
				 sn_value_counts_quantile(&one->durations, 0.5) / result->ticks,
				 sn_value_counts_quantile(&one->durations, 0.99) / result->ticks,
				 (double)(one->outliers.above + one->outliers.below));
		if (!result->is_timeless)
			sn_sheet_number(sheet, drift);
		sn_sheet_text(sheet, sn_variability_full_name(result, one, ", ", "").text);
	}
	if (result->error > 0)
		sn_sheet_note(
		    sheet, "Quantiles have a relative error of at most %.2g%%; all else is exact.",
		    100 * result->error);
}

/* Durations of a bin; before them the deviation of the target by which bins are ranked, if they are by one. */
static void add_bin(const struct sn_variability *result, uint32_t number, bool has_target,
		    struct sn_sheet *sheet)
{
	const struct sn_variability_bin *bin = result->bins + number;
	sn_sheet_numbers(sheet, (double)bin->start_ns);
	if (has_target)
		sn_sheet_numbers(sheet, (double)bin->target_count,
				 bin->target_count ? sqrt(bin->target_variance) : (double)NAN);
	sn_sheet_numbers(sheet, (double)bin->count, bin->mean, sqrt(bin->variance),
			 (double)bin->least, bin->q25, bin->q50, bin->q75, (double)bin->greatest,
			 expm1(bin->adjusted));
}

/* A table of bins in one order. */
static void show_order(const struct sn_variability *result, const uint32_t *order, size_t top,
		       bool has_target, struct sn_sheet *sheet)
{
	static const struct sn_column from = {"start_ns", "from", "ns"};
	/* where lines are short quartiles give way, then the least and the greatest */
	static const struct sn_column of_durations[] = {
	    {"count", "launches", "count"}, {"mean_ns", "mean", "ns"},
	    {"std_ns", "std", "ns"},	    {"min_ns", "least", "ns", 1},
	    {"q25", "25%", "ns", 2},	    {"q50", "median", "ns"},
	    {"q75", "75%", "ns", 2},	    {"max_ns", "most", "ns", 1},
	    {"adjusted", "off", "ratio"}};
	/* of logarithms it is about a ratio */
	static const struct sn_column of_times[] = {{"target_count", "with it", "count"},
						    {"target_std", "its std", "ns"}};
	static const struct sn_column of_logarithms[] = {{"target_count", "with it", "count"},
							 {"target_std", "its std", "ratio"}};
	bool is_time = result->ranked_by == SN_FEATURE_MEMORY_STALL ||
		       result->ranked_by == SN_FEATURE_EXPOSED_COPY;
	sn_sheet_columns(sheet, &from, 1);
	if (has_target)
		sn_sheet_columns(sheet, is_time ? of_times : of_logarithms, 2);
	sn_sheet_columns(sheet, of_durations, sizeof(of_durations) / sizeof(*of_durations));
	sheet->is_whole = true;
	for (size_t i = 0; i < top && i < result->used_bins; i++)
		add_bin(result, order[i], has_target, sheet);
}

static void show_bins(const struct sn_variability *result, size_t top, struct sn_page *page)
{
	bool has_target = result->ranked_by != SN_FEATURE_DURATION;
	struct sn_number length = sn_number_time((double)result->bin_ns);
	struct sn_sheet *sheet = sn_page_sheet(
	    page, "bins", "bins of %s with the largest variance%s%s, whichever kernels these are",
	    length.text, has_target ? " of " : "",
	    has_target ? sn_feature_name(result->ranked_by) : "");
	show_order(result, result->by_variance, top, has_target, sheet);
	sheet = sn_page_sheet(page, "adjusted_bins",
			      "bins of %s in which kernels are furthest from their own medians",
			      length.text);
	show_order(result, result->by_adjusted, top, false, sheet);
}

/* Of each of the bins with the largest variance, the kernels that have most of it. */
static void show_bin_kernels(const struct sn_variability *result, size_t top, struct sn_page *page)
{
	enum { KERNELS = 3 };
	static const struct sn_column columns[] = {
	    {"start_ns", "bin from", "ns"}, {"count", "launches", "count"},
	    {"mean_ns", "mean", "ns"},	    {"std_ns", "std", "ns"},
	    {"p50", "median", "ns"},	    {"share", "of variance", "ratio"},
	    {"name", "kernel", ""}};
	struct sn_sheet *sheet = sn_page_table(page, "bin_kernels", columns,
					       "kernels of the first of these bins, by their part "
					       "of the variance of durations; at most %d of each",
					       KERNELS);
	sheet->is_whole = true;
	for (size_t i = 0; i < top && i < result->used_bins; i++) {
		uint32_t bin = result->by_variance[i];
		const struct sn_bin_kernels *all = sn_variability_bin_kernels(result, bin);
		for (size_t k = 0; all && k < all->count && k < KERNELS; k++) {
			const struct sn_bin_kernel *one = all->items + k;
			char name[200];
			sn_label_shorten(result->kernels[one->kernel], name, sizeof(name));
			sn_sheet_numbers(sheet, (double)result->bins[bin].start_ns,
					 (double)one->count, one->mean, sqrt(one->variance),
					 one->q50, one->share);
			sn_sheet_text(sheet, name);
		}
	}
}

static void show_places(const struct sn_variability *result, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"count", "launches", "count"},
						   {"pace", "slower by", "ratio"},
						   {"pace_low", "from", "ratio"},
						   {"pace_high", "to", "ratio"},
						   {"place", "place", ""}};
	if (result->place_count < 2 || result->is_timeless)
		return;
	struct sn_sheet *sheet = sn_page_table(
	    page, "places", columns, "the same kernels at each place, beside the other places");
	for (size_t i = 0; i < result->place_count; i++) {
		const struct sn_variability_place *one = result->places + i;
		double none = (double)NAN;
		sn_sheet_numbers(sheet, (double)one->count,
				 one->pace.is_known ? expm1(one->pace.value) : none,
				 one->pace.is_known ? expm1(one->pace.low) : none,
				 one->pace.is_known ? expm1(one->pace.high) : none);
		sn_sheet_text(sheet, one->name);
	}
}

/* A kernel at a place where it is no chance that it takes another time. */
struct differing {
	const struct sn_kernel_group *group;
	const struct sn_place_difference *at;
	double time_ns; /* by which all its launches there differ */
};

SN_SORT_BY(sort_differing, struct differing, const void *,
	   SN_ORDER(b->time_ns, a->time_ns) ?: SN_ORDER(a->group, b->group)
					       ?: SN_ORDER(a->at, b->at));

/* 0 or SN_ERR_MEMORY. */
static int list_differing(const struct sn_variability *result, struct differing **items,
			  size_t *count)
{
	size_t capacity = 0;
	for (size_t i = 0; i < result->group_count; i++) {
		const struct sn_kernel_group *group = result->groups + i;
		for (size_t p = 0; p < group->place_count; p++) {
			const struct sn_place_difference *at = group->places + p;
			struct differing one = {group, at,
						fabs(1 - exp(-at->difference.value)) * at->mean_ns *
						    (double)at->count};
			if (at->counts && sn_vec_push(items, &capacity, count, one))
				return SN_ERR_MEMORY;
		}
	}
	sort_differing(*items, *count, NULL);
	return 0;
}

static void show_differing(const struct sn_variability *result, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"difference", "slower by", "ratio"},
						   {"low", "from", "ratio"},
						   {"high", "to", "ratio"},
						   {"count", "launches", "count"},
						   {"mean_ns", "mean", "ns"},
						   {"place", "place", ""},
						   {"name", "kernel", ""}};
	struct differing *items = NULL;
	size_t count = 0;
	if (result->place_count > 1 && list_differing(result, &items, &count))
		page->has_failed = true;
	struct sn_sheet *sheet =
	    count ? sn_page_table(page, "kernels_by_place", columns,
				  "kernels that take another time at one place than at the others, "
				  "by what that adds up to")
		  : NULL;
	for (size_t i = 0; i < count && i < SN_SHEET_ROWS; i++) {
		const struct sn_steps_estimate *difference = &items[i].at->difference;
		sn_sheet_numbers(sheet, expm1(difference->value), expm1(difference->low),
				 expm1(difference->high), (double)items[i].at->count,
				 items[i].at->mean_ns);
		sn_sheet_text(sheet, result->places[items[i].at->place].name);
		sn_sheet_text(sheet,
			      sn_variability_full_name(result, items[i].group, ", ", "").text);
	}
	free(items);
}

static void show_bins_of(const struct sn_variability *result, size_t top, struct sn_page *page)
{
	uint64_t most = 0;
	for (size_t i = 0; i < result->bin_count; i++)
		most = result->bins[i].count > most ? result->bins[i].count : most;
	if (most < 2) {
		sn_page_sheet(page, "bins", "bins of %s: none has more than one launch",
			      sn_number_time((double)result->bin_ns).text);
		return;
	}
	show_bins(result, top, page);
	show_bin_kernels(result, top, page);
}

void sn_variability_tables(const struct sn_variability *result, const char *unit, size_t top,
			   struct sn_page *page)
{
	show_groups(result, unit, page);
	if (!result->is_timeless)
		show_bins_of(result, top, page);
	show_places(result, page);
	show_differing(result, page);
}
