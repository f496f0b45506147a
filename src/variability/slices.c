/* SPDX-License-Identifier: Apache-2.0 */
/* The second reading: slices of the time, each by one thread. */
#include "window.h"

#include "base/progress/progress.h"
#include "base/sort.h"

#include <math.h>
#include <string.h>

struct slice_reading {
	struct sn_vary *vary;
	struct sn_vary_worker *worker;
	const struct sn_vary_source *source;
	const struct sn_vary_slice *slice;
	uint64_t bin_start_ns; /* of the bin of the row that came last */
	uint32_t bin;
};

/* Rows come mostly in order of start. */
static uint32_t bin_of(struct slice_reading *reading, uint64_t start_ns)
{
	uint64_t bin_ns = reading->vary->result->bin_ns;
	if (start_ns - reading->bin_start_ns >= bin_ns) {
		uint64_t bin = start_ns / bin_ns;
		reading->bin_start_ns = bin * bin_ns;
		reading->bin = (uint32_t)(bin - reading->slice->first_bin);
	}
	return reading->bin;
}

static struct slice_reading start_reading(struct sn_vary *vary, struct sn_vary_worker *worker,
					  const struct sn_vary_slice *slice)
{
	return (struct slice_reading){vary, worker, NULL, slice, slice->from_ns, 0};
}

static int add_row(struct slice_reading *reading, uint64_t start_ns, uint64_t duration_ns,
		   uint32_t cell)
{
	struct sn_vary_worker *worker = reading->worker;
	struct sn_vary_row row = {start_ns, duration_ns, cell, bin_of(reading, start_ns)};
	return sn_vec_push(&worker->rows, &worker->row_capacity, &worker->row_count, row);
}

static int read_row(void *data, const struct sn_vary_launch *launch)
{
	struct slice_reading *reading = data;
	uint64_t start_ns = launch->start_ns - reading->source->shift_ns;
	/* what began before the slice overlaps it */
	if (start_ns < reading->slice->from_ns)
		return 0;
	return add_row(reading, start_ns,
		       launch->end_ns > launch->start_ns ? launch->end_ns - launch->start_ns : 0,
		       sn_vary_find_cell(reading->vary, reading->worker, launch));
}

int sn_vary_read_slice(struct sn_vary *vary, struct sn_vary_worker *worker,
		       const struct sn_vary_slice *slice)
{
	struct slice_reading data = start_reading(vary, worker, slice);
	int result = 0;
	worker->row_count = 0;
	for (size_t s = 0; s < vary->sources.count && !result; s++) {
		const struct sn_vary_source *source = vary->sources.items + s;
		struct sn_vary_reading reading = {.from_ns = slice->from_ns + source->shift_ns,
						  .to_ns = slice->to_ns + source->shift_ns - 1,
						  .launch = read_row,
						  .detail = SN_VARY_CONFIGURATION,
						  .data = &data};
		data.source = source;
		for (size_t t = 0;
		     source->start_ns != UINT64_MAX && t < source->track_count && !result; t++)
			result = sn_vary_read_track(&worker->reader, source, source->tracks[t],
						    &reading, &worker->error);
	}
	return result;
}

/* ---- with what is beside launches ---- */

static bool is_of_bins(enum sn_feature target)
{
	return sn_feature_role(target) == SN_FEATURE_TARGET && target != SN_FEATURE_DURATION &&
	       target != SN_FEATURE_PERF_VARIATION;
}

static void add_target(struct sn_variability_bin *bin, double value)
{
	if (isnan(value))
		return;
	/* the variance is a sum of squares until the slice is done (Welford, 1962) */
	double off = value - bin->target_mean;
	bin->target_mean += off / (double)++bin->target_count;
	bin->target_variance += off * (value - bin->target_mean);
}

/* Of the launches that begin in the window: rows, targets, lines of the picture. */
static int take_window(struct slice_reading *reading, const struct sn_vary_window *window)
{
	const struct sn_variability *result = reading->vary->result;
	bool needs_cover = result->ranked_by == SN_FEATURE_EXPOSED_COPY;
	struct sn_intervals kernels = {0};
	int failed = 0;
	for (size_t i = 0; i < window->launch_count && !failed; i++) {
		const struct sn_window_launch *launch = window->launches + i;
		if (needs_cover && (!i || launch[-1].place != launch->place))
			failed = sn_vary_window_cover(window, i, &kernels);
		if (failed || !sn_vary_window_has(window, launch))
			continue;
		int64_t duration_ns = launch->end_ns - launch->start_ns;
		failed = add_row(reading, (uint64_t)launch->start_ns,
				 duration_ns > 0 ? (uint64_t)duration_ns : 0, launch->cell);
		if (result->ranked_by != SN_FEATURE_DURATION)
			add_target(result->bins + reading->slice->first_bin + reading->bin,
				   sn_vary_feature(window, launch, &kernels, result->ranked_by));
		if (reading->worker->picture)
			sn_vary_picture_add(window, launch);
	}
	sn_intervals_release(&kernels);
	return failed;
}

/* Like sn_vary_read_slice; the bins get their targets, and the picture its launches. */
static int read_windows(struct sn_vary *vary, struct sn_vary_worker *worker,
			const struct sn_vary_slice *slice)
{
	struct slice_reading reading = start_reading(vary, worker, slice);
	struct sn_variability_bin *bins = vary->result->bins + slice->first_bin;
	int result = 0;
	worker->row_count = 0;
	for (size_t s = 0; s < vary->sources.count && !result; s++) {
		struct sn_vary_window window;
		result =
		    sn_vary_window_read(&window, vary, worker, vary->sources.items + s, slice,
					worker->picture ? SN_VARY_FULL : SN_VARY_CONFIGURATION);
		result = result ?: take_window(&reading, &window);
		sn_vary_window_release(&window);
	}
	for (size_t b = 0; b < slice->bin_count; b++)
		if (bins[b].target_count)
			bins[b].target_variance /= (double)bins[b].target_count;
	return result;
}

/* ---- bins ---- */

/* Groups the rows' values, at first their durations, by bins: those of bin b are values[begins[b]] to values[begins[b + 1]]. */
static int group_values(struct sn_vary_worker *worker, const struct sn_vary_slice *slice)
{
	size_t bins = slice->bin_count;
	if (sn_vec_reserve(&worker->values, &worker->value_capacity, worker->row_count + 1) ||
	    sn_vec_reserve(&worker->begins, &worker->begin_capacity, bins + 2))
		return SN_ERR_MEMORY;
	uint32_t *begins = worker->begins;
	memset(begins, 0, (bins + 2) * sizeof(*begins));
	for (size_t i = 0; i < worker->row_count; i++)
		begins[worker->rows[i].bin + 2]++;
	for (size_t b = 2; b < bins + 2; b++)
		begins[b] += begins[b - 1];
	for (size_t i = 0; i < worker->row_count; i++)
		worker->values[begins[worker->rows[i].bin + 1]++] = worker->rows[i].value;
	return 0;
}

static double quantile_of(const uint64_t *sorted, size_t count, double share)
{
	double place = share * (double)(count - 1);
	size_t below = (size_t)place, above = below + 1 < count ? below + 1 : below;
	return (double)sorted[below] +
	       ((double)sorted[above] - (double)sorted[below]) * (place - (double)below);
}

/* All durations of a bin, which are sorted here. */
static void measure_bin(struct sn_variability_bin *bin, uint64_t *values, size_t count)
{
	struct sn_value_counts sums = {.total = count};
	if (!count)
		return;
	sn_sort_u64(values, count);
	for (size_t i = 0; i < count; i++) {
		sums.sum += values[i];
		sums.sum_squares += (unsigned __int128)values[i] * values[i];
	}
	double deviation = sn_value_counts_deviation(&sums);
	bin->count = count;
	bin->least = values[0];
	bin->greatest = values[count - 1];
	bin->mean = sn_value_counts_mean(&sums);
	bin->variance = deviation * deviation;
	bin->q25 = quantile_of(values, count, 0.25);
	bin->q50 = quantile_of(values, count, 0.5);
	bin->q75 = quantile_of(values, count, 0.75);
}

/* ---- steps ---- */

static void give_step(struct sn_vary_held *held)
{
	if (!held->step)
		return;
	atomic_fetch_add_explicit(&held->step->count, held->count, memory_order_relaxed);
	atomic_fetch_add_explicit(&held->step->limited, held->limited, memory_order_relaxed);
	atomic_fetch_add_explicit(&held->step->plain, held->plain, memory_order_relaxed);
	*held = (struct sn_vary_held){0};
}

/* `residual` in units of 1 / SN_LOG_UNIT. */
static void add_step(struct sn_vary *vary, struct sn_vary_worker *worker,
		     const struct sn_vary_row *row, int64_t residual, double scale)
{
	uint64_t span = vary->result->end_ns - vary->result->start_ns;
	size_t at = (size_t)((double)row->start_ns / (double)(span + 1) * vary->step_count);
	struct sn_vary_step *step = vary->cells[row->cell].steps + at;
	struct sn_vary_held *held = worker->held + row->cell % SN_VARY_CACHE;
	int64_t limit = llrint(SN_OUTLIER_SCALES * scale * SN_LOG_UNIT);
	if (held->step != step) {
		give_step(held);
		held->step = step;
	}
	held->count++;
	held->limited += residual > limit ? limit : residual < -limit ? -limit : residual;
	held->plain += residual;
}

/* What is left of the absolute residuals of a bin, in units of 1 / SN_LOG_UNIT, without the tenth that is greatest: their mean. */
static double trimmed_mean(uint64_t *values, size_t count)
{
	size_t kept = count - count / 10;
	uint64_t sum = 0;
	sn_sort_u64(values, count);
	for (size_t i = 0; i < kept; i++)
		sum += values[i];
	return count ? (double)sum / SN_LOG_UNIT / (double)kept : 0;
}

static void add_steps(struct sn_vary *vary, struct sn_vary_worker *worker)
{
	for (size_t i = 0; i < worker->row_count; i++) {
		struct sn_vary_row *row = worker->rows + i;
		const struct sn_log_spread *spread = &vary->cells[row->cell].spread;
		int64_t residual = llrint(
		    (log(row->value ? (double)row->value : 1) - spread->median) * SN_LOG_UNIT);
		add_step(vary, worker, row, residual, spread->scale);
		row->value = (uint64_t)llabs(residual);
	}
	for (size_t i = 0; i < SN_VARY_CACHE; i++)
		give_step(worker->held + i);
}

static int work_slice(void *context, unsigned number, size_t item)
{
	struct sn_vary *vary = context;
	struct sn_vary_worker *worker = vary->workers + number;
	const struct sn_vary_slice *slice = vary->slices + item;
	struct sn_variability_bin *bins = vary->result->bins + slice->first_bin;
	int result = vary->result->ranked_by == SN_FEATURE_DURATION && !worker->picture
			 ? sn_vary_read_slice(vary, worker, slice)
			 : read_windows(vary, worker, slice);
	if (result)
		return sn_fail_code(&worker->error, result);
	if (worker->row_count > UINT32_MAX)
		return sn_fail(&worker->error, SN_ERR_ARGUMENT,
			       "a bin has more than %u launches: give a shorter one", UINT32_MAX);
	result = group_values(worker, slice);
	for (size_t b = 0; b < slice->bin_count && !result; b++)
		measure_bin(bins + b, worker->values + worker->begins[b],
			    worker->begins[b + 1] - worker->begins[b]);
	if (!result)
		add_steps(vary, worker);
	result = result ?: group_values(worker, slice);
	for (size_t b = 0; b < slice->bin_count && !result; b++)
		bins[b].adjusted = trimmed_mean(worker->values + worker->begins[b],
						worker->begins[b + 1] - worker->begins[b]);
	sn_progress_add(1);
	return sn_fail_code(&worker->error, result);
}

static uint64_t slice_weight(const void *context, size_t item)
{
	return ((const struct sn_vary *)context)->slices[item].events;
}

/* ---- of all ranks ---- */

struct packed_step {
	uint64_t at;
	int64_t count, limited, plain;
};

static size_t all_steps(const struct sn_vary *vary)
{
	return (size_t)vary->cell_count * vary->step_count;
}

/* Bins, of which each is one rank's whole; then steps. Only those with launches. */
static void pack_slices(const void *context, struct sn_buffer *bytes)
{
	const struct sn_vary *vary = context;
	const struct sn_variability *result = vary->result;
	uint64_t used = 0;
	for (size_t b = 0; b < result->bin_count; b++)
		used += result->bins[b].count > 0;
	sn_buffer_put(bytes, &used, sizeof(used));
	for (size_t b = 0; b < result->bin_count; b++)
		if (result->bins[b].count)
			sn_buffer_put(bytes, result->bins + b, sizeof(*result->bins));
	for (size_t s = 0; s < all_steps(vary); s++) {
		const struct sn_vary_step *step = vary->steps + s;
		struct packed_step packed = {s, atomic_load(&step->count),
					     atomic_load(&step->limited),
					     atomic_load(&step->plain)};
		if (packed.count)
			sn_buffer_put(bytes, &packed, sizeof(packed));
	}
}

static int add_slices(void *context, struct sn_span bytes)
{
	struct sn_vary *vary = context;
	struct packed_step step;
	struct sn_variability_bin bin;
	uint64_t used;
	bool is_whole = sn_span_get(&bytes, &used, sizeof(used));
	for (uint64_t b = 0; is_whole && b < used; b++) {
		is_whole = sn_span_get(&bytes, &bin, sizeof(bin));
		if (is_whole)
			vary->result->bins[bin.start_ns / vary->result->bin_ns] = bin;
	}
	while (is_whole && sn_span_get(&bytes, &step, sizeof(step))) {
		atomic_fetch_add(&vary->steps[step.at].count, step.count);
		atomic_fetch_add(&vary->steps[step.at].limited, step.limited);
		atomic_fetch_add(&vary->steps[step.at].plain, step.plain);
	}
	return is_whole ? 0 : SN_ERR_MEMORY; /* of the sender */
}

/* Bins are put in place of what there is. */
static void clear_slices(void *context)
{
	struct sn_vary *vary = context;
	memset(vary->steps, 0, all_steps(vary) * sizeof(*vary->steps));
}

int sn_vary_slices(struct sn_vary *vary, struct sn_error *error)
{
	const struct sn_peers_merging merging = {pack_slices, add_slices, clear_slices, vary};
	const struct sn_peers_work work = {vary->slice_count, slice_weight, work_slice, vary};
	enum sn_feature target = vary->request->target;
	vary->result->ranked_by = is_of_bins(target) ? target : SN_FEATURE_DURATION;
	int result = sn_vary_picture_begin(vary, error);
	result = result ?: sn_vary_run(vary, &work, error);
	result = result ?: sn_peers_merge(vary->peers, &merging, error);
	return result ?: sn_vary_picture_end(vary, error);
}
