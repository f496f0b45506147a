/* SPDX-License-Identifier: Apache-2.0 */
/* The third reading, of the parts of the time from which rows are taken. */
#include "launch_table.h"

#include "timeline/devices/copies.h"
#include "window.h"

#include <math.h>

void sn_launch_features_release(struct sn_launch_features *features)
{
	sn_arena_release(&features->arena);
	*features = (struct sn_launch_features){0};
}

/* ---- rows ---- */

struct rows {
	double *values; /* SN_FEATURES for each */
	size_t count, capacity;
	uint64_t seen;
};

struct featuring {
	struct sn_vary *vary;
	const struct sn_vary_slice *windows; /* bins, or slices of the whole time */
	size_t window_count;
	struct rows *rows;     /* by window */
	uint64_t sample_below; /* rows with a hash below it are taken */
	bool has_failed;
};

static void fill_row(const struct sn_vary_window *window, const struct sn_window_launch *launch,
		     const struct sn_intervals *kernels, double *row)
{
	for (enum sn_feature f = 0; f < SN_FEATURES; f++)
		row[f] = sn_vary_feature(window, launch, kernels, f);
}

static bool is_taken(const struct featuring *featuring, const struct sn_vary_window *window,
		     const struct sn_window_launch *launch)
{
	uint64_t identity[] = {(uint64_t)launch->start_ns, launch->track,
			       window->source->input - featuring->vary->request->inputs};
	return sn_intern_hash(identity, sizeof(identity)) >> 1 < featuring->sample_below;
}

static int take_rows(struct featuring *featuring, struct sn_vary_window *window, struct rows *rows)
{
	struct sn_intervals kernels = {0};
	int result = 0;
	for (size_t i = 0; i < window->launch_count && !result; i++) {
		const struct sn_window_launch *launch = window->launches + i;
		if (!i || launch[-1].place != launch->place)
			result = sn_vary_window_cover(window, i, &kernels);
		if (result || !sn_vary_window_has(window, launch))
			continue;
		rows->seen++;
		if (!is_taken(featuring, window, launch))
			continue;
		result =
		    sn_vec_reserve(&rows->values, &rows->capacity, (rows->count + 1) * SN_FEATURES)
			? SN_ERR_MEMORY
			: 0;
		if (!result)
			fill_row(window, launch, &kernels,
				 rows->values + rows->count++ * SN_FEATURES);
	}
	sn_intervals_release(&kernels);
	return result;
}

static int work_window(void *context, unsigned number, size_t item)
{
	struct featuring *featuring = context;
	struct sn_vary *vary = featuring->vary;
	const struct sn_vary_slice *part = featuring->windows + item;
	int result = 0;
	for (size_t i = 0; i < vary->sources.count && !result; i++) {
		struct sn_vary_window window;
		result = sn_vary_window_read(&window, vary, vary->workers + number,
					     vary->sources.items + i, part, SN_VARY_FULL);
		result = result ?: sn_vary_window_read_clocks(&window);
		if (!result)
			result = take_rows(featuring, &window, featuring->rows + item);
		sn_vary_window_release(&window);
	}
	return sn_fail_code(&vary->workers[number].error, result);
}

/* ---- the table ---- */

static const char *stream_name(struct sn_arena *arena, double stream)
{
	return stream == (double)SONDE_NONE ? "none" : sn_arena_print(arena, "stream %.0f", stream);
}

/* Numbers of categories as rows have them become levels in the order of their first rows. */
static int make_levels(const struct sn_vary *vary, struct sn_launch_features *features,
		       enum sn_feature feature)
{
	struct sn_feature_column *column = features->columns + feature;
	struct sn_intern known_levels = {0};
	double *numbers = NULL;
	size_t capacity = 0;
	int result = 0;
	for (size_t i = 0; i < features->row_count && !result; i++) {
		double number = column->values[i];
		uint32_t level = sn_intern_item(&known_levels, &number, sizeof(number), &numbers,
						&capacity, number);
		result = level == SN_INTERN_NONE ? SN_ERR_MEMORY : 0;
		column->values[i] = level;
	}
	column->levels = known_levels.count;
	column->level_names =
	    sn_arena_array(&features->arena, const char *, known_levels.count + 1);
	for (uint32_t i = 0; i < known_levels.count && column->level_names; i++) {
		size_t number = (size_t)numbers[i];
		column->level_names[i] =
		    feature == SN_FEATURE_KERNEL  ? vary->result->kernels[number]
		    : feature == SN_FEATURE_PLACE ? vary->result->places[number].name
		    : feature == SN_FEATURE_STREAM
			? stream_name(&features->arena, numbers[i])
			: (number ? sn_copy_direction_name((enum sn_copy_direction)(number - 1))
				  : "none");
	}
	sn_intern_release(&known_levels);
	free(numbers);
	return features->arena.failed ? SN_ERR_MEMORY : result;
}

static int make_table(const struct featuring *featuring, struct sn_launch_features *features)
{
	size_t row = 0;
	int result = 0;
	for (size_t w = 0; w < featuring->window_count; w++) {
		features->row_count += featuring->rows[w].count;
		features->launch_count += featuring->rows[w].seen;
	}
	features->column_count = SN_FEATURES;
	features->columns = sn_arena_array(&features->arena, struct sn_feature_column, SN_FEATURES);
	for (enum sn_feature f = 0; f < SN_FEATURES && features->columns; f++)
		features->columns[f] = (struct sn_feature_column){
		    .name = sn_feature_name(f),
		    .unit = sn_feature_unit(f),
		    .role = sn_feature_role(f),
		    .values = sn_arena_array(&features->arena, double, features->row_count + 1)};
	if (features->arena.failed)
		return SN_ERR_MEMORY;
	for (size_t w = 0; w < featuring->window_count; w++) {
		for (size_t i = 0; i < featuring->rows[w].count; i++, row++)
			for (unsigned f = 0; f < SN_FEATURES; f++) {
				double value = featuring->rows[w].values[i * SN_FEATURES + f];
				features->columns[f].values[row] = value;
				features->columns[f].missing += isnan(value);
			}
	}
	static const enum sn_feature categories[] = {SN_FEATURE_KERNEL, SN_FEATURE_PLACE,
						     SN_FEATURE_STREAM, SN_FEATURE_COPY_KIND};
	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories) && !result; i++)
		result = make_levels(featuring->vary, features, categories[i]);
	return result;
}

/* ---- of all ranks ---- */

struct packed_rows {
	uint64_t window, seen, count;
};

static uint64_t window_weight(const void *context, size_t item)
{
	return ((const struct featuring *)context)->windows[item].events;
}

static void pack_rows(const struct featuring *featuring, struct sn_buffer *bytes)
{
	for (size_t w = 0; w < featuring->window_count; w++) {
		const struct rows *rows = featuring->rows + w;
		struct packed_rows packed = {w, rows->seen, rows->count};
		if (!rows->seen)
			continue;
		sn_buffer_put(bytes, &packed, sizeof(packed));
		sn_buffer_put(bytes, rows->values, rows->count * SN_FEATURES * sizeof(double));
	}
}

static void store_rows(void *context, struct sn_span bytes)
{
	struct featuring *featuring = context;
	struct packed_rows packed;
	while (sn_span_get(&bytes, &packed, sizeof(packed))) {
		struct rows *rows = featuring->rows + packed.window;
		size_t values = packed.count * SN_FEATURES;
		rows->seen = packed.seen;
		if (sn_vec_reserve(&rows->values, &rows->capacity, values + 1)) {
			featuring->has_failed = true;
			return;
		}
		rows->count = packed.count;
		sn_span_get(&bytes, rows->values, values * sizeof(double));
	}
}

/* All rows to rank 0. */
static int gather_rows(struct featuring *featuring, struct sn_error *error)
{
	const struct sn_peers *peers = featuring->vary->peers;
	struct sn_buffer bytes = {0};
	if (peers->size() == 1)
		return 0;
	if (peers->rank())
		pack_rows(featuring, &bytes);
	sn_peers_collect(peers, &bytes, store_rows, featuring);
	bool has_failed = bytes.failed || featuring->has_failed;
	sn_buffer_release(&bytes);
	return sn_peers_agree(peers, has_failed ? sn_fail_memory(error) : 0, error);
}

static int make_rows(struct featuring *featuring, struct sn_error *error)
{
	const struct sn_peers_work work = {featuring->window_count, window_weight, work_window,
					   featuring};
	int result = sn_vary_run(featuring->vary, &work, error);
	return result ?: gather_rows(featuring, error);
}

int sn_vary_features(struct sn_vary *vary, struct sn_launch_features *features,
		     struct sn_error *error)
{
	uint64_t sample = vary->request->sample, all = vary->result->launch_count;
	struct sn_vary_slice *bins = NULL;
	size_t bin_count = 0;
	int result = sample ? 0 : sn_vary_choose_bins(vary, &bins, &bin_count);
	struct featuring featuring = {.vary = vary,
				      .windows = sample ? vary->slices : bins,
				      .window_count = sample ? vary->slice_count : bin_count};
	*features = (struct sn_launch_features){.row_count = 0};
	featuring.sample_below = sample && sample < all
				     ? (uint64_t)(ldexp(1, 63) * ((double)sample / (double)all))
				     : UINT64_MAX;
	featuring.rows = calloc(featuring.window_count + 1, sizeof(*featuring.rows));
	result = result || !featuring.rows ? sn_fail_memory(error) : 0;
	result = sn_peers_agree(vary->peers, result, error);
	result = result ?: make_rows(&featuring, error);
	if (!result && !vary->peers->rank())
		result = sn_fail_code(error, make_table(&featuring, features));
	for (size_t w = 0; w < featuring.window_count && featuring.rows; w++)
		free(featuring.rows[w].values);
	free(featuring.rows);
	free(bins);
	return sn_peers_agree(vary->peers, result, error);
}
