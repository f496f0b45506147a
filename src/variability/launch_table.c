/* SPDX-License-Identifier: Apache-2.0 */
/* The third reading, of the parts of the time from which rows are taken: launches and copies of each device in order of start. */
#include "launch_table.h"

#include "base/pool.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "lib/db/trace_reader.h"
#include "timeline/devices/copies.h"
#include "timeline/intervals.h"
#include "vary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Blocks of a track before a window that are read, for the launch before the first one. */
enum { BLOCKS_BEFORE = 2 };
#define NO_COPY UINT32_MAX

static const struct {
	const char *name;
	enum sn_feature_role role;
} known[SN_FEATURES] = {
    [SN_FEATURE_KERNEL] = {"kernel", SN_FEATURE_CAUSE},
    [SN_FEATURE_PLACE] = {"place", SN_FEATURE_CAUSE},
    [SN_FEATURE_STREAM] = {"stream", SN_FEATURE_CAUSE},
    [SN_FEATURE_GRID_X] = {"gridX", SN_FEATURE_CAUSE},
    [SN_FEATURE_GRID_Y] = {"gridY", SN_FEATURE_CAUSE},
    [SN_FEATURE_GRID_Z] = {"gridZ", SN_FEATURE_CAUSE},
    [SN_FEATURE_BLOCK_X] = {"blockX", SN_FEATURE_CAUSE},
    [SN_FEATURE_BLOCK_Y] = {"blockY", SN_FEATURE_CAUSE},
    [SN_FEATURE_BLOCK_Z] = {"blockZ", SN_FEATURE_CAUSE},
    [SN_FEATURE_SHARED] = {"shared_memory", SN_FEATURE_CAUSE},
    [SN_FEATURE_REGISTERS] = {"registers", SN_FEATURE_CAUSE},
    [SN_FEATURE_START] = {"start_ns", SN_FEATURE_CAUSE},
    [SN_FEATURE_SINCE_PREVIOUS] = {"since_previous_ns", SN_FEATURE_CAUSE},
    [SN_FEATURE_GAP] = {"gap_ns", SN_FEATURE_CAUSE},
    [SN_FEATURE_CONCURRENT] = {"concurrent_kernels", SN_FEATURE_CAUSE},
    [SN_FEATURE_COPY_KIND] = {"copy_kind", SN_FEATURE_CAUSE},
    [SN_FEATURE_COPY_BYTES] = {"copy_bytes", SN_FEATURE_CAUSE},
    [SN_FEATURE_COPY_NS] = {"copy_ns", SN_FEATURE_COPY_TIME},
    [SN_FEATURE_COPY_RATE] = {"copy_rate", SN_FEATURE_COPY_TIME},
    [SN_FEATURE_PERF_VARIATION] = {"perf_variation", SN_FEATURE_TARGET},
    [SN_FEATURE_MEMORY_STALL] = {"memory_stall", SN_FEATURE_TARGET},
    [SN_FEATURE_DURATION] = {"duration_ns", SN_FEATURE_TARGET},
    [SN_FEATURE_LOG_DURATION] = {"log_duration", SN_FEATURE_TARGET},
    [SN_FEATURE_LOG_SQUARED_RESIDUAL] = {"log_squared_residual", SN_FEATURE_TARGET},
    [SN_FEATURE_EXPOSED_COPY] = {"exposed_copy_ns", SN_FEATURE_TARGET},
};

const char *sn_feature_name(enum sn_feature feature)
{
	return known[feature].name;
}

enum sn_feature_role sn_feature_role(enum sn_feature feature)
{
	return known[feature].role;
}

bool sn_feature_is_beside(enum sn_feature feature, enum sn_feature target)
{
	bool is_of_copy = target == SN_FEATURE_MEMORY_STALL || target == SN_FEATURE_EXPOSED_COPY;
	enum sn_feature_role role = sn_feature_role(feature);
	return feature == target || role == SN_FEATURE_CAUSE ||
	       (role == SN_FEATURE_COPY_TIME && !is_of_copy);
}

void sn_launch_features_release(struct sn_launch_features *features)
{
	sn_arena_release(&features->arena);
	*features = (struct sn_launch_features){0};
}

/* ---- a part of the time ---- */

/* Times from the begin of the range; negative before it. */
struct launch {
	int64_t start_ns, end_ns;
	uint32_t place, profile, track;
	uint32_t cell; /* unless times alone are read */
	uint64_t registers;
	/* found by the sweep */
	int64_t previous_start_ns, previous_end_ns; /* INT64_MIN: not known */
	uint32_t concurrent, copy;
};
struct copy {
	int64_t start_ns, end_ns;
	uint64_t bytes;
	uint32_t place, profile;
	uint8_t direction;
};

struct window {
	struct sn_vary *vary;
	struct sn_vary_worker *worker;
	const struct sn_vary_source *source;
	enum sn_vary_detail detail;
	int64_t from_ns, to_ns; /* launches that become rows begin here; to_ns is not of it */
	int64_t read_from_ns, read_to_ns;
	struct launch *launches;
	struct copy *copies;
	size_t launch_count, launch_capacity, copy_count, copy_capacity;
};

static int keep_launch(void *data, const struct sn_vary_launch *launch)
{
	struct window *window = data;
	int64_t shift = (int64_t)window->source->shift_ns;
	struct launch one = {.start_ns = (int64_t)launch->start_ns - shift,
			     .end_ns = (int64_t)launch->end_ns - shift,
			     .place = launch->place,
			     .profile = launch->profile,
			     .track = launch->track,
			     .registers = launch->sizes[SN_LAUNCH_REGISTERS],
			     .previous_start_ns = INT64_MIN,
			     .copy = NO_COPY};
	if (window->detail != SN_VARY_TIMES)
		one.cell = sn_vary_find_cell(window->vary, window->worker, launch);
	return sn_vec_push(&window->launches, &window->launch_capacity, &window->launch_count, one);
}

static int keep_copy(void *data, const struct sn_vary_copy *copy)
{
	struct window *window = data;
	int64_t shift = (int64_t)window->source->shift_ns;
	struct copy one = {(int64_t)copy->start_ns - shift,
			   (int64_t)copy->end_ns - shift,
			   copy->bytes,
			   copy->place,
			   copy->profile,
			   copy->direction};
	return sn_vec_push(&window->copies, &window->copy_capacity, &window->copy_count, one);
}

/* From where a track is read so that it has what comes before the window. */
static uint64_t begin_of_track(const struct sn_vary_source *source, uint32_t track,
			       uint64_t from_ns)
{
	const struct sonde_trace *trace = source->input->trace;
	const struct sonde_track *one = sonde_trace_track(trace, track);
	const struct sn_block_entry *blocks = trace->blocks + one->first_block;
	uint64_t block = sn_search(i, one->block_count, blocks[i].start_ns < from_ns);
	block = block > BLOCKS_BEFORE ? block - BLOCKS_BEFORE : 0;
	return block < one->block_count && blocks[block].start_ns < from_ns ? blocks[block].start_ns
									    : from_ns;
}

/* Each track is in order of start. */
SN_MERGE_SORT(sort_launches, struct launch, const void *,
	      (SN_ORDER(b->place, a->place)
		   ?: SN_ORDER_BY(b, a, start_ns, profile, track, end_ns)) < 0);
SN_MERGE_SORT(sort_copies, struct copy, const void *,
	      SN_ORDER_BY(b, a, place, start_ns, profile, end_ns) < 0);

static int read_window(struct window *window)
{
	const struct sn_vary_source *source = window->source;
	int64_t shift = (int64_t)source->shift_ns;
	int result = 0;
	window->launch_count = window->copy_count = 0;
	for (size_t t = 0; t < source->track_count && !result; t++) {
		struct sn_vary_reading reading = {
		    .from_ns = (uint64_t)(window->read_from_ns + shift),
		    .to_ns = (uint64_t)(window->read_to_ns + shift - 1),
		    .launch = keep_launch,
		    .copy = keep_copy,
		    .detail = window->detail,
		    .data = window};
		reading.from_ns = begin_of_track(source, source->tracks[t], reading.from_ns);
		result = sn_vary_read_track(&window->worker->reader, source, source->tracks[t],
					    &reading, &window->worker->error);
	}
	result = result ?: sort_launches(&window->launches, window->launch_count, NULL);
	result = result ?: sort_copies(&window->copies, window->copy_count, NULL);
	/* sorted they are in arrays of their size */
	window->launch_capacity = window->launch_count;
	window->copy_capacity = window->copy_count;
	return result;
}

/* ---- what was beside a launch ---- */

/* What runs, or was last on a stream, while launches of a place pass in order of start. */
struct sweep {
	uint32_t *running, *copying; /* launches and copies */
	size_t running_count, running_capacity, copying_count, copying_capacity;
	uint32_t *last_launch, *last_copy; /* by profile; + 1, 0: none */
};

static int64_t overlap(const struct launch *launch, const struct copy *copy)
{
	int64_t from = launch->start_ns > copy->start_ns ? launch->start_ns : copy->start_ns;
	int64_t to = launch->end_ns < copy->end_ns ? launch->end_ns : copy->end_ns;
	return to - from;
}

/* Copies that have ended by the launch's start are the last ones of their streams. */
static void end_copies(struct sweep *sweep, const struct window *window,
		       const struct launch *launch)
{
	size_t kept = 0;
	for (size_t i = 0; i < sweep->copying_count; i++) {
		uint32_t number = sweep->copying[i];
		const struct copy *copy = window->copies + number;
		if (copy->end_ns > launch->start_ns) {
			sweep->copying[kept++] = number;
			continue;
		}
		uint32_t *last = sweep->last_copy + copy->profile;
		if (!*last || window->copies[*last - 1].end_ns <= copy->end_ns)
			*last = number + 1;
	}
	sweep->copying_count = kept;
}

static uint32_t linked_copy(const struct sweep *sweep, const struct window *window,
			    const struct launch *launch)
{
	uint32_t found = NO_COPY, last = sweep->last_copy[launch->profile];
	int64_t most = 0;
	for (size_t i = 0; i < sweep->copying_count; i++) {
		int64_t both = overlap(launch, window->copies + sweep->copying[i]);
		if (both > most) {
			most = both;
			found = sweep->copying[i];
		}
	}
	if (found != NO_COPY || !last)
		return found;
	return window->copies[last - 1].end_ns >= launch->previous_start_ns ? last - 1 : NO_COPY;
}

static int pass_launch(struct sweep *sweep, struct window *window, size_t number, size_t *next_copy,
		       uint32_t place)
{
	struct launch *launch = window->launches + number;
	uint32_t previous = sweep->last_launch[launch->profile];
	size_t kept = 0;
	for (size_t i = 0; i < sweep->running_count; i++)
		if (window->launches[sweep->running[i]].end_ns > launch->start_ns)
			sweep->running[kept++] = sweep->running[i];
	sweep->running_count = kept;
	launch->concurrent = (uint32_t)kept;
	if (previous) {
		launch->previous_start_ns = window->launches[previous - 1].start_ns;
		launch->previous_end_ns = window->launches[previous - 1].end_ns;
	}
	for (; *next_copy < window->copy_count && window->copies[*next_copy].place == place &&
	       window->copies[*next_copy].start_ns < launch->end_ns;
	     (*next_copy)++)
		if (sn_vec_push(&sweep->copying, &sweep->copying_capacity, &sweep->copying_count,
				(uint32_t)*next_copy))
			return SN_ERR_MEMORY;
	end_copies(sweep, window, launch);
	launch->copy = linked_copy(sweep, window, launch);
	sweep->last_launch[launch->profile] = (uint32_t)number + 1;
	return sn_vec_push(&sweep->running, &sweep->running_capacity, &sweep->running_count,
			   (uint32_t)number);
}

static int sweep_window(struct window *window)
{
	uint32_t profiles = sonde_db_profile_count(window->source->input->db);
	struct sweep sweep = {.last_launch = calloc(profiles + 1ull, sizeof(uint32_t)),
			      .last_copy = calloc(profiles + 1ull, sizeof(uint32_t))};
	int result = sweep.last_launch && sweep.last_copy ? 0 : SN_ERR_MEMORY;
	size_t copy = 0;
	for (size_t i = 0; i < window->launch_count && !result; i++) {
		uint32_t place = window->launches[i].place;
		if (i && window->launches[i - 1].place != place)
			sweep.running_count = sweep.copying_count = 0;
		while (copy < window->copy_count && window->copies[copy].place < place)
			copy++;
		result = pass_launch(&sweep, window, i, &copy, place);
	}
	free(sweep.running);
	free(sweep.copying);
	free(sweep.last_launch);
	free(sweep.last_copy);
	return result;
}

static bool is_row(const struct window *window, const struct launch *launch)
{
	return launch->start_ns >= window->from_ns && launch->start_ns < window->to_ns;
}

/* Reads some more than the window, and again as far as launches and their copies reach: a copy may be longer than the window, and one that
 * begins behind it may be beside a launch that is longer. Ends, because it only widens. */
static int read_whole_window(struct window *window, int64_t margin_ns)
{
	int64_t earliest_ns = -(int64_t)window->source->shift_ns;
	window->read_from_ns = window->from_ns - margin_ns;
	if (window->read_from_ns < earliest_ns)
		window->read_from_ns = earliest_ns;
	window->read_to_ns = window->to_ns + margin_ns;
	for (;;) {
		int result = read_window(window);
		result = result ?: sweep_window(window);
		if (result)
			return result;
		int64_t from_ns = window->read_from_ns, to_ns = window->read_to_ns;
		for (size_t i = 0; i < window->launch_count; i++) {
			const struct launch *launch = window->launches + i;
			const struct copy *copy =
			    launch->copy == NO_COPY ? NULL : window->copies + launch->copy;
			if (!is_row(window, launch))
				continue;
			to_ns = launch->end_ns > to_ns ? launch->end_ns : to_ns;
			to_ns = copy && copy->end_ns > to_ns ? copy->end_ns : to_ns;
			from_ns = copy && copy->start_ns < from_ns ? copy->start_ns : from_ns;
		}
		if (from_ns == window->read_from_ns && to_ns == window->read_to_ns)
			return 0;
		window->read_from_ns = from_ns;
		window->read_to_ns = to_ns;
	}
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
	struct rows *rows;     /* by window; NULL: targets of bins are wanted instead */
	uint64_t sample_below; /* rows with a hash below it are taken */
	uint64_t longest_ns;   /* launch */
	bool has_failed;
};

static double known_or_missing(uint64_t value)
{
	return value == SN_SIZE_UNKNOWN ? (double)NAN : (double)value;
}

/* The duration, of which the logarithm is taken: at least 1 ns. */
static double positive_ns(const struct launch *launch)
{
	int64_t duration = launch->end_ns - launch->start_ns;
	return duration > 1 ? (double)duration : 1;
}

static double log_squared_residual(const struct window *window, const struct launch *launch)
{
	const struct sn_vary_cell *cell = window->vary->cells + launch->cell;
	double positive = positive_ns(launch), least = 0.5 / positive;
	double residual =
	    log(positive) - window->vary->configurations[cell->configuration].log_mean;
	return 2 * log(fabs(residual) > least ? fabs(residual) : least);
}

static double length_of(const struct copy *copy)
{
	return (double)(copy->end_ns - copy->start_ns);
}

static double memory_stall(const struct launch *launch, const struct copy *copy)
{
	return fabs((double)(launch->end_ns - launch->start_ns) - length_of(copy));
}

/* Sets of intervals have no negative times. */
static double exposed_copy(const struct window *window, const struct copy *copy,
			   const struct sn_intervals *kernels)
{
	int64_t base = window->source->shift_ns;
	return length_of(copy) - (double)sn_intervals_within(kernels,
							     (uint64_t)(copy->start_ns + base),
							     (uint64_t)(copy->end_ns + base));
}

/* One of the targets by which bins are ranked. */
static double target_of(const struct window *window, const struct launch *launch,
			const struct sn_intervals *kernels, enum sn_feature target)
{
	const struct copy *copy = launch->copy == NO_COPY ? NULL : window->copies + launch->copy;
	if (target == SN_FEATURE_LOG_DURATION)
		return log(positive_ns(launch));
	if (target == SN_FEATURE_LOG_SQUARED_RESIDUAL)
		return log_squared_residual(window, launch);
	if (!copy)
		return (double)NAN;
	return target == SN_FEATURE_MEMORY_STALL ? memory_stall(launch, copy)
						 : exposed_copy(window, copy, kernels);
}

static void fill_targets(const struct window *window, const struct launch *launch, double *row)
{
	const struct sn_vary_cell *cell = window->vary->cells + launch->cell;
	double duration = (double)(launch->end_ns - launch->start_ns);
	row[SN_FEATURE_DURATION] = duration;
	row[SN_FEATURE_LOG_DURATION] = log(positive_ns(launch));
	row[SN_FEATURE_PERF_VARIATION] =
	    fabs(duration - window->vary->configurations[cell->configuration].mean_ns);
	row[SN_FEATURE_LOG_SQUARED_RESIDUAL] = log_squared_residual(window, launch);
}

static void fill_copy(const struct window *window, const struct launch *launch,
		      const struct sn_intervals *kernels, double *row)
{
	const struct copy *copy = window->copies + launch->copy;
	double length = length_of(copy), bytes = known_or_missing(copy->bytes);
	row[SN_FEATURE_COPY_KIND] = copy->direction + 1;
	row[SN_FEATURE_COPY_BYTES] = bytes;
	row[SN_FEATURE_COPY_NS] = length;
	row[SN_FEATURE_COPY_RATE] = length > 0 ? bytes / length * 1e9 : (double)NAN;
	row[SN_FEATURE_MEMORY_STALL] = memory_stall(launch, copy);
	row[SN_FEATURE_EXPOSED_COPY] = exposed_copy(window, copy, kernels);
}

static void fill_row(const struct window *window, const struct launch *launch,
		     const struct sn_intervals *kernels, double *row)
{
	const struct sn_vary_cell *cell = window->vary->cells + launch->cell;
	const struct sonde_db_profile *profile =
	    sonde_db_profile(window->source->input->db, launch->profile);
	for (size_t i = 0; i < SN_FEATURES; i++)
		row[i] = (double)NAN;
	row[SN_FEATURE_KERNEL] = cell->kernel;
	row[SN_FEATURE_PLACE] = cell->place;
	row[SN_FEATURE_STREAM] = profile->stream;
	for (size_t i = 0; i < SN_CONFIGURATION_SIZES; i++)
		row[SN_FEATURE_GRID_X + i] = known_or_missing(cell->sizes[i]);
	row[SN_FEATURE_REGISTERS] = known_or_missing(launch->registers);
	row[SN_FEATURE_START] = (double)launch->start_ns;
	if (launch->previous_start_ns != INT64_MIN) {
		row[SN_FEATURE_SINCE_PREVIOUS] =
		    (double)(launch->start_ns - launch->previous_start_ns);
		row[SN_FEATURE_GAP] = fmax(0, (double)(launch->start_ns - launch->previous_end_ns));
	}
	row[SN_FEATURE_CONCURRENT] = launch->concurrent;
	row[SN_FEATURE_COPY_KIND] = 0;
	fill_targets(window, launch, row);
	if (launch->copy != NO_COPY)
		fill_copy(window, launch, kernels, row);
}

/* The times in which kernels run at a place: those of launches from `first`. */
static int cover(const struct window *window, size_t first, struct sn_intervals *kernels)
{
	uint32_t place = window->launches[first].place;
	int64_t base = window->source->shift_ns;
	kernels->count = 0;
	for (size_t i = first; i < window->launch_count && window->launches[i].place == place; i++)
		if (sn_intervals_add(kernels, (uint64_t)(window->launches[i].start_ns + base),
				     (uint64_t)(window->launches[i].end_ns + base)))
			return SN_ERR_MEMORY;
	sn_intervals_settle(kernels);
	return 0;
}

static bool is_taken(const struct featuring *featuring, const struct window *window,
		     const struct launch *launch)
{
	uint64_t identity[] = {(uint64_t)launch->start_ns, launch->track,
			       window->source->input - featuring->vary->request->inputs};
	return sn_intern_hash(identity, sizeof(identity)) >> 1 < featuring->sample_below;
}

static int take_rows(struct featuring *featuring, struct window *window, struct rows *rows)
{
	struct sn_intervals kernels = {0};
	int result = 0;
	for (size_t i = 0; i < window->launch_count && !result; i++) {
		const struct launch *launch = window->launches + i;
		if (!i || launch[-1].place != launch->place)
			result = cover(window, i, &kernels);
		if (result || !is_row(window, launch))
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

static void add_target(struct sn_variability_bin *bin, double value)
{
	if (isnan(value))
		return;
	/* the variance is a sum of squares until the slice is done (Welford, 1962) */
	double off = value - bin->target_mean;
	bin->target_mean += off / (double)++bin->target_count;
	bin->target_variance += off * (value - bin->target_mean);
}

/* Values of the target, of one window after the other. */
static int add_targets(struct window *window)
{
	struct sn_variability *result = window->vary->result;
	bool needs_cover = result->ranked_by == SN_FEATURE_EXPOSED_COPY;
	struct sn_intervals kernels = {0};
	int failed = 0;
	for (size_t i = 0; i < window->launch_count && !failed; i++) {
		const struct launch *launch = window->launches + i;
		if (needs_cover && (!i || launch[-1].place != launch->place))
			failed = cover(window, i, &kernels);
		if (!failed && is_row(window, launch))
			add_target(result->bins + (uint64_t)launch->start_ns / result->bin_ns,
				   target_of(window, launch, &kernels, result->ranked_by));
	}
	sn_intervals_release(&kernels);
	return failed;
}

/* What is read of launches: for rows all, for targets of bins what these are made of. */
static enum sn_vary_detail detail_of(const struct featuring *featuring)
{
	enum sn_feature target = featuring->vary->result->ranked_by;
	bool is_of_copy = target == SN_FEATURE_MEMORY_STALL || target == SN_FEATURE_EXPOSED_COPY;
	return featuring->rows ? SN_VARY_FULL : is_of_copy ? SN_VARY_TIMES : SN_VARY_CONFIGURATION;
}

static int work_window(void *context, unsigned number, size_t item)
{
	struct featuring *featuring = context;
	struct sn_vary *vary = featuring->vary;
	const struct sn_vary_slice *part = featuring->windows + item;
	uint64_t eighth_ns = (part->to_ns - part->from_ns) / 8,
		 margin_ns = featuring->longest_ns < eighth_ns ? featuring->longest_ns : eighth_ns;
	int result = 0;
	for (size_t s = 0; s < vary->sources.count && !result; s++) {
		struct window window = {.vary = vary,
					.worker = vary->workers + number,
					.source = vary->sources.items + s,
					.detail = detail_of(featuring),
					.from_ns = (int64_t)part->from_ns,
					.to_ns = (int64_t)part->to_ns};
		if (window.source->start_ns == UINT64_MAX)
			continue;
		result = read_whole_window(&window, (int64_t)margin_ns);
		if (!result)
			result = featuring->rows
				     ? take_rows(featuring, &window, featuring->rows + item)
				     : add_targets(&window);
		free(window.launches);
		free(window.copies);
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
	for (unsigned f = 0; f < SN_FEATURES && features->columns; f++)
		features->columns[f] = (struct sn_feature_column){
		    .name = known[f].name,
		    .role = known[f].role,
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
	struct sn_vary_work work = {featuring->window_count, window_weight, work_window, featuring};
	int result = sn_vary_run(featuring->vary, &work, error);
	return result ?: gather_rows(featuring, error);
}

static uint64_t longest_launch(const struct sn_variability *result)
{
	uint64_t longest = 0;
	for (size_t g = 0; g < result->group_count; g++)
		if (result->groups[g].durations.greatest > longest)
			longest = result->groups[g].durations.greatest;
	return longest;
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
	featuring.longest_ns = longest_launch(vary->result);
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

/* ---- targets of bins ---- */

struct packed_target {
	uint64_t bin, count;
	double mean, variance;
};

static void pack_targets(const struct sn_vary *vary, struct sn_buffer *bytes)
{
	for (size_t b = 0; b < vary->result->bin_count; b++) {
		const struct sn_variability_bin *bin = vary->result->bins + b;
		struct packed_target packed = {b, bin->target_count, bin->target_mean,
					       bin->target_variance};
		if (packed.count)
			sn_buffer_put(bytes, &packed, sizeof(packed));
	}
}

static int add_packed_targets(struct sn_vary *vary, struct sn_span bytes)
{
	struct packed_target packed;
	while (sn_span_get(&bytes, &packed, sizeof(packed))) {
		struct sn_variability_bin *bin = vary->result->bins + packed.bin;
		bin->target_count = packed.count;
		bin->target_mean = packed.mean;
		bin->target_variance = packed.variance;
	}
	return 0;
}

/* Each bin is one rank's whole, and put in place of what there is. */
static void clear_targets(struct sn_vary *vary)
{
}

static bool is_of_bins(enum sn_feature target)
{
	return known[target].role == SN_FEATURE_TARGET && target != SN_FEATURE_DURATION &&
	       target != SN_FEATURE_PERF_VARIATION;
}

int sn_vary_targets(struct sn_vary *vary, struct sn_error *error)
{
	static const struct sn_vary_merging merging = {pack_targets, add_packed_targets,
						       clear_targets};
	struct sn_variability *result = vary->result;
	struct featuring featuring = {.vary = vary,
				      .windows = vary->slices,
				      .window_count = vary->slice_count,
				      .longest_ns = longest_launch(result)};
	struct sn_vary_work work = {vary->slice_count, window_weight, work_window, &featuring};
	result->ranked_by = SN_FEATURE_DURATION;
	if (!is_of_bins(vary->request->target))
		return 0;
	result->ranked_by = vary->request->target;
	int failed = sn_vary_run(vary, &work, error);
	for (size_t b = 0; b < result->bin_count && !failed; b++)
		if (result->bins[b].target_count)
			result->bins[b].target_variance /= (double)result->bins[b].target_count;
	return failed ?: sn_vary_merge(vary, &merging, error);
}
