/* SPDX-License-Identifier: Apache-2.0 */
/* Cells to groups; then drift, changes and places from their steps, and the order of bins. By one thread, in the order of numbers. */
#include "vary.h"

#include "base/sort_by.h"

#include <math.h>
#include <string.h>

/* Changes by less are of no interest. */
#define CHANGE_LEAST 0.02
#define FALSE_RATE   0.05

/* ---- groups ---- */

/* Mean of the squared differences of ln d from its mean. */
static double log_variance(const struct sn_value_counts *counts, double *log_mean)
{
	double sum = 0, squares = 0;
	for (int pass = 0; pass < 2; pass++) {
		double mean = sum / (double)counts->total;
		for (size_t i = 0; i < counts->count; i++) {
			double value = sn_value_counts_at(counts, i),
			       weight = (double)counts->items[i].count;
			double y = log(value > 1 ? value : 1);
			sum += pass ? 0 : y * weight;
			squares += pass ? (y - mean) * (y - mean) * weight : 0;
		}
	}
	*log_mean = sum / (double)counts->total;
	return squares / (double)counts->total;
}

static int merge_cells(struct sn_vary *vary, struct sn_vary_configuration *configuration)
{
	configuration->durations.limit = vary->cells[configuration->first_cell].durations.limit;
	for (uint32_t i = 0; i < configuration->cell_count; i++) {
		struct sn_vary_cell *cell = vary->cells + configuration->first_cell + i;
		if (sn_value_counts_merge(&configuration->durations, &cell->durations))
			return SN_ERR_MEMORY;
		sn_value_counts_release(&cell->durations);
	}
	if (sn_value_counts_settle(&configuration->durations))
		return SN_ERR_MEMORY;
	configuration->spread = sn_value_counts_log_spread(&configuration->durations);
	return 0;
}

static void start_group(struct sn_vary *vary, struct sn_kernel_group *group,
			const struct sn_vary_cell *cell)
{
	enum sn_variability_by by = vary->request->by;
	*group = (struct sn_kernel_group){
	    .kernel = by == SN_BY_ALL ? SONDE_NONE : cell->kernel,
	    .has_configuration = by == SN_BY_CONFIGURATION,
	    .is_communication = by != SN_BY_ALL && vary->sources.are_communication[cell->kernel]};
	memset(group->sizes, 0xff, sizeof(group->sizes));
	if (group->has_configuration)
		memcpy(group->sizes, cell->sizes, sizeof(group->sizes));
	group->durations.limit = cell->durations.limit;
}

static int add_configuration(struct sn_kernel_group *group,
			     struct sn_vary_configuration *configuration)
{
	const struct sn_value_counts *durations = &configuration->durations;
	double weight = (double)durations->total;
	struct sn_outliers outliers = sn_value_counts_outliers(durations, &configuration->spread);
	group->outliers.above += outliers.above;
	group->outliers.below += outliers.below;
	group->outliers.above_sum += outliers.above_sum;
	/* sums, until all are there */
	group->difference_ns += weight * sn_value_counts_mean_difference(durations);
	group->log_variance += weight * log_variance(durations, &configuration->log_mean);
	configuration->count = durations->total;
	configuration->mean_ns = sn_value_counts_mean(durations);
	return sn_value_counts_merge(&group->durations, durations);
}

static int make_groups(struct sn_vary *vary)
{
	struct sn_variability *result = vary->result;
	enum sn_variability_by by = vary->request->by;
	result->groups = calloc(vary->configuration_count + 1ull, sizeof(*result->groups));
	if (!result->groups)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < vary->configuration_count; i++) {
		struct sn_vary_configuration *one = vary->configurations + i;
		const struct sn_vary_cell *cell = vary->cells + one->first_cell;
		bool is_new = !i || by == SN_BY_CONFIGURATION ||
			      (by == SN_BY_KERNEL && cell[-1].kernel != cell->kernel);
		if (is_new)
			start_group(vary, result->groups + result->group_count++, cell);
		one->group = (uint32_t)result->group_count - 1;
		if (merge_cells(vary, one) || add_configuration(result->groups + one->group, one))
			return SN_ERR_MEMORY;
		sn_value_counts_release(&one->durations);
	}
	for (size_t i = 0; i < result->group_count; i++) {
		struct sn_kernel_group *group = result->groups + i;
		if (sn_value_counts_settle(&group->durations))
			return SN_ERR_MEMORY;
		group->difference_ns /= (double)group->durations.total;
		group->log_variance /= (double)group->durations.total;
		group->spread = sn_value_counts_log_spread(&group->durations);
		if (group->durations.greatest > vary->longest_ns)
			vary->longest_ns = group->durations.greatest;
		if (!i || group->durations.least < vary->shortest_ns)
			vary->shortest_ns = group->durations.least;
		double error = sn_value_counts_error(&group->durations);
		result->error = error > result->error ? error : result->error;
	}
	return 0;
}

int sn_vary_make_groups(struct sn_vary *vary, struct sn_error *error)
{
	return sn_peers_agree(vary->peers, sn_fail_code(error, make_groups(vary)), error);
}

/* ---- over time ---- */

/* Sums of a cell's steps, from which means of groups are made. */
struct step_sum {
	double count, limited, plain;
};

static struct step_sum read_step(const struct sn_vary_step *step)
{
	return (struct step_sum){
	    (double)atomic_load_explicit(&step->count, memory_order_relaxed),
	    (double)atomic_load_explicit(&step->limited, memory_order_relaxed) / SN_LOG_UNIT,
	    (double)atomic_load_explicit(&step->plain, memory_order_relaxed) / SN_LOG_UNIT};
}

static struct step_sum whole_cell(const struct sn_vary *vary, const struct sn_vary_cell *cell)
{
	struct step_sum whole = {0};
	for (unsigned s = 0; s < vary->step_count; s++) {
		struct step_sum one = read_step(cell->steps + s);
		whole.count += one.count;
		whole.limited += one.limited;
		whole.plain += one.plain;
	}
	return whole;
}

/* Each cell less its own mean: kernels and places that come and go are no change. */
static void add_cell_steps(const struct sn_vary *vary, const struct sn_vary_cell *cell,
			   struct step_sum *sums)
{
	struct step_sum whole = whole_cell(vary, cell);
	for (unsigned s = 0; s < vary->step_count; s++) {
		struct step_sum one = read_step(cell->steps + s);
		sums[s].count += one.count;
		sums[s].limited += one.limited - one.count * whole.limited / whole.count;
		sums[s].plain += one.plain - one.count * whole.plain / whole.count;
	}
}

static void to_steps(const struct step_sum *sums, struct sn_series_step *steps, size_t count)
{
	for (size_t s = 0; s < count; s++)
		steps[s] = (struct sn_series_step){
		    sums[s].count, sums[s].count > 0 ? sums[s].limited / sums[s].count : 0,
		    sums[s].count > 0 ? sums[s].plain / sums[s].count : 0};
}

static int follow_group(const struct sn_vary *vary, uint32_t first_cell, uint32_t cell_count,
			struct sn_kernel_group *group)
{
	struct step_sum *sums = calloc(vary->step_count, sizeof(*sums));
	struct sn_series_step *steps = calloc(vary->step_count, sizeof(*steps));
	int result = sums && steps ? 0 : SN_ERR_MEMORY;
	for (uint32_t i = 0; i < cell_count && !result; i++)
		add_cell_steps(vary, vary->cells + first_cell + i, sums);
	if (!result) {
		to_steps(sums, steps, vary->step_count);
		group->drift = sn_steps_drift(steps, vary->step_count);
		result = sn_steps_changes(steps, vary->step_count, CHANGE_LEAST, &group->changes);
	}
	free(sums);
	free(steps);
	return result;
}

/* ---- places ---- */

/* Adds, step by step, how much more ln d is at the place than at the others in the same configuration. `sums` has weights as counts. */
static void add_difference(const struct sn_vary *vary,
			   const struct sn_vary_configuration *configuration,
			   const struct sn_vary_cell *here, const struct step_sum *all,
			   struct step_sum *sums)
{
	double base = vary->cells[configuration->first_cell].spread.median;
	for (unsigned s = 0; s < vary->step_count; s++) {
		struct step_sum one = read_step(here->steps + s);
		double others = all[s].count - one.count;
		if (!(one.count > 0) || !(others > 0))
			continue;
		/* each cell's values are less its median */
		double sum = one.limited + one.count * (here->spread.median - base);
		double difference = sum / one.count - (all[s].limited - sum) / others;
		double weight = one.count * others / (one.count + others);
		sums[s].count += weight;
		sums[s].limited += weight * difference;
	}
}

static void sum_cells(const struct sn_vary *vary, const struct sn_vary_configuration *configuration,
		      struct step_sum *all)
{
	double base = vary->cells[configuration->first_cell].spread.median;
	memset(all, 0, vary->step_count * sizeof(*all));
	for (uint32_t i = 0; i < configuration->cell_count; i++) {
		const struct sn_vary_cell *cell = vary->cells + configuration->first_cell + i;
		for (unsigned s = 0; s < vary->step_count; s++) {
			struct step_sum one = read_step(cell->steps + s);
			all[s].count += one.count;
			all[s].limited += one.limited + one.count * (cell->spread.median - base);
		}
	}
}

/* Steps of each place; `of_all` are those of all groups but communication, where who is late waits least. */
struct comparing {
	struct step_sum *all, *of_group, *of_all; /* the last two by place and step */
	struct sn_series_step *steps;
	double *sums; /* durations in the group, by place */
	uint64_t *counts;
};

static struct sn_steps_estimate compare(const struct sn_vary *vary, struct comparing *comparing,
					const struct step_sum *sums)
{
	to_steps(sums, comparing->steps, vary->step_count);
	return sn_steps_mean(comparing->steps, vary->step_count);
}

static void add_configuration_places(const struct sn_vary *vary,
				     const struct sn_vary_configuration *one,
				     struct comparing *comparing)
{
	unsigned steps = vary->step_count;
	sum_cells(vary, one, comparing->all);
	for (uint32_t i = 0; i < one->cell_count; i++) {
		const struct sn_vary_cell *cell = vary->cells + one->first_cell + i;
		size_t at = (size_t)cell->place * steps;
		comparing->counts[cell->place] += cell->count;
		comparing->sums[cell->place] += cell->mean_ns * (double)cell->count;
		add_difference(vary, one, cell, comparing->all, comparing->of_group + at);
		if (!vary->sources.are_communication[cell->kernel])
			add_difference(vary, one, cell, comparing->all, comparing->of_all + at);
	}
}

static int finish_group_places(const struct sn_vary *vary, struct comparing *comparing,
			       struct sn_kernel_group *group)
{
	size_t count = vary->result->place_count;
	group->places = calloc(count, sizeof(*group->places));
	if (!group->places)
		return SN_ERR_MEMORY;
	for (size_t p = 0; p < count; p++)
		if (comparing->counts[p])
			group->places[group->place_count++] = (struct sn_place_difference){
			    .place = (uint32_t)p,
			    .count = comparing->counts[p],
			    .mean_ns = comparing->sums[p] / (double)comparing->counts[p],
			    .difference = compare(vary, comparing,
						  comparing->of_group + p * vary->step_count)};
	memset(comparing->of_group, 0, count * vary->step_count * sizeof(*comparing->of_group));
	memset(comparing->counts, 0, count * sizeof(*comparing->counts));
	memset(comparing->sums, 0, count * sizeof(*comparing->sums));
	return 0;
}

static int compare_places(struct sn_vary *vary)
{
	size_t places = vary->result->place_count, steps = vary->step_count;
	struct comparing comparing = {.all = calloc(steps, sizeof(struct step_sum)),
				      .of_group = calloc(places * steps, sizeof(struct step_sum)),
				      .of_all = calloc(places * steps, sizeof(struct step_sum)),
				      .steps = calloc(steps, sizeof(struct sn_series_step)),
				      .sums = calloc(places, sizeof(double)),
				      .counts = calloc(places, sizeof(uint64_t))};
	bool has_memory = comparing.all && comparing.of_group && comparing.of_all &&
			  comparing.steps && comparing.sums && comparing.counts;
	int result = has_memory ? 0 : SN_ERR_MEMORY;
	for (uint32_t i = 0; i < vary->configuration_count && !result; i++) {
		const struct sn_vary_configuration *one = vary->configurations + i;
		add_configuration_places(vary, one, &comparing);
		if (i + 1 == vary->configuration_count || one[1].group != one->group)
			result = finish_group_places(vary, &comparing,
						     vary->result->groups + one->group);
	}
	for (size_t p = 0; p < places && !result; p++)
		vary->result->places[p].pace =
		    compare(vary, &comparing, comparing.of_all + p * steps);
	free(comparing.all);
	free(comparing.of_group);
	free(comparing.of_all);
	free(comparing.steps);
	free(comparing.sums);
	free(comparing.counts);
	return result;
}

/* ---- what counts ---- */

/* One list of tests for drifts, one for differences of groups, one for paces: each with its own rate of false ones. */
static int decide_drifts(struct sn_variability *result, double *p)
{
	size_t count = 0;
	for (size_t i = 0; i < result->group_count; i++)
		if (result->groups[i].drift.whole.is_known)
			p[count++] = result->groups[i].drift.whole.p;
	double limit = sn_false_discovery_limit(p, count, FALSE_RATE);
	for (size_t i = 0; i < result->group_count; i++) {
		const struct sn_steps_estimate *whole = &result->groups[i].drift.whole;
		result->groups[i].drift_counts = whole->is_known && whole->p <= limit;
	}
	return 0;
}

static int decide_places(struct sn_variability *result)
{
	size_t count = result->place_count;
	for (size_t i = 0; i < result->group_count; i++)
		count += result->groups[i].place_count;
	double *p = malloc((count + 1) * sizeof(*p));
	if (!p)
		return SN_ERR_MEMORY;
	count = 0;
	for (size_t i = 0; i < result->group_count; i++)
		for (size_t k = 0; k < result->groups[i].place_count; k++)
			if (result->groups[i].places[k].difference.is_known)
				p[count++] = result->groups[i].places[k].difference.p;
	double limit = sn_false_discovery_limit(p, count, FALSE_RATE);
	for (size_t i = 0; i < result->group_count; i++)
		for (size_t k = 0; k < result->groups[i].place_count; k++) {
			struct sn_place_difference *one = result->groups[i].places + k;
			one->counts = one->difference.is_known && one->difference.p <= limit;
		}
	count = 0;
	for (size_t i = 0; i < result->place_count; i++)
		if (result->places[i].pace.is_known)
			p[count++] = result->places[i].pace.p;
	limit = sn_false_discovery_limit(p, count, FALSE_RATE);
	for (size_t i = 0; i < result->place_count; i++)
		result->places[i].pace_counts =
		    result->places[i].pace.is_known && result->places[i].pace.p <= limit;
	free(p);
	return 0;
}

static double total_difference(const struct sn_kernel_group *group)
{
	return group->difference_ns * (double)group->durations.total;
}

static int compare_group_sizes(const struct sn_kernel_group *a, const struct sn_kernel_group *b)
{
	int order = 0;
	for (unsigned i = 0; i < SN_CONFIGURATION_SIZES && !order; i++)
		order = SN_ORDER(a->sizes[i], b->sizes[i]);
	return order;
}

SN_SORT_BY(sort_groups, struct sn_kernel_group, const void *,
	   SN_ORDER(total_difference(b), total_difference(a))
	       ?: sn_order_then(SN_ORDER(a->kernel, b->kernel), compare_group_sizes(a, b)));

/* ---- bins ---- */

SN_SORT_BY(sort_by_variance, uint32_t, const struct sn_variability_bin *,
	   SN_ORDER(of[*b].variance, of[*a].variance) ?: SN_ORDER(*a, *b));
SN_SORT_BY(sort_by_target, uint32_t, const struct sn_variability_bin *,
	   SN_ORDER(of[*b].target_variance, of[*a].target_variance) ?: SN_ORDER(*a, *b));
SN_SORT_BY(sort_by_adjusted, uint32_t, const struct sn_variability_bin *,
	   SN_ORDER(of[*b].count >= SN_BIN_LEAST, of[*a].count >= SN_BIN_LEAST)
	       ?: SN_ORDER(of[*b].adjusted, of[*a].adjusted)
	       ?: SN_ORDER(*a, *b));

static int rank_bins(struct sn_variability *result)
{
	result->by_variance = malloc((result->bin_count + 1) * sizeof(uint32_t));
	result->by_adjusted = malloc((result->bin_count + 1) * sizeof(uint32_t));
	double *adjusted = malloc((result->bin_count + 1) * sizeof(*adjusted));
	size_t count = 0, large = 0;
	if (!result->by_variance || !result->by_adjusted || !adjusted) {
		free(adjusted);
		return SN_ERR_MEMORY;
	}
	for (size_t i = 0; i < result->bin_count; i++) {
		if (!result->bins[i].count)
			continue;
		result->by_variance[count] = result->by_adjusted[count] = (uint32_t)i;
		count++;
		if (result->bins[i].count >= SN_BIN_LEAST)
			adjusted[large++] = result->bins[i].adjusted;
	}
	result->used_bins = count;
	if (result->ranked_by == SN_FEATURE_DURATION)
		sort_by_variance(result->by_variance, count, result->bins);
	else
		sort_by_target(result->by_variance, count, result->bins);
	sort_by_adjusted(result->by_adjusted, count, result->bins);
	for (size_t i = 0; i < count; i++) {
		result->bins[result->by_variance[i]].rank = i + 1;
		result->bins[result->by_adjusted[i]].adjusted_rank = i + 1;
	}
	result->usual_adjusted = large ? sn_sort_median(adjusted, large) : 0;
	free(adjusted);
	return 0;
}

int sn_vary_conclude(struct sn_vary *vary, struct sn_error *error)
{
	struct sn_variability *result = vary->result;
	int failed = 0;
	for (uint32_t i = 0; i < vary->configuration_count && !failed;) {
		uint32_t group = vary->configurations[i].group,
			 first = vary->configurations[i].first_cell, cells = 0;
		for (; i < vary->configuration_count && vary->configurations[i].group == group; i++)
			cells += vary->configurations[i].cell_count;
		failed = follow_group(vary, first, cells, result->groups + group);
	}
	failed = failed ?: compare_places(vary);
	double *p = malloc((result->group_count + 1) * sizeof(*p));
	failed = failed ?: p ? decide_drifts(result, p) : SN_ERR_MEMORY;
	free(p);
	failed = failed ?: decide_places(result);
	if (!failed)
		sort_groups(result->groups, result->group_count, NULL);
	failed = failed ?: rank_bins(result);
	return sn_peers_agree(vary->peers, sn_fail_code(error, failed), error);
}

int sn_vary_choose_bins(const struct sn_vary *vary, struct sn_vary_slice **bins, size_t *count)
{
	const struct sn_variability *result = vary->result;
	size_t top = vary->request->top,
	       most = 2 * top < result->bin_count ? 2 * top : result->bin_count;
	*bins = calloc(most + 1, sizeof(**bins));
	for (size_t b = 0; b < result->bin_count && *bins; b++) {
		const struct sn_variability_bin *bin = result->bins + b;
		if (bin->count && (bin->rank <= top || bin->adjusted_rank <= top))
			(*bins)[(*count)++] = (struct sn_vary_slice){
			    bin->start_ns, bin->start_ns + result->bin_ns, b, 1, bin->count};
	}
	return *bins ? 0 : SN_ERR_MEMORY;
}
