/* SPDX-License-Identifier: Apache-2.0 */
/* The first reading: cells, the range of time, and its division into bins and slices. */
#include "vary.h"

#include "base/progress/progress.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "lib/db/trace_reader.h"

#include <stdio.h>
#include <string.h>

/* Blocks of events that a slice has, unless one bin has more. Those of long traces have more, since the blocks before each are read again. */
enum { SLICES = 1024, SLICE_BLOCKS_LEAST = 32, SLICE_BLOCKS_MOST = 128 };
/* Blocks of a track that a thread surveys at a time. */
enum { PART_BLOCKS = 16 };
/* Different durations of a cell beyond which they are rounded, whatever memory there is. */
enum { DURATIONS_MOST = 1 << 17 };
/* Bins unless the user says: so many that each has some launches, of which a variance can be told. */
enum { BINS_MOST = 1000, BIN_LAUNCHES = 20 };
/* Steps over the range; fewer where very many cells have some. */
enum { STEPS = 256, STEPS_OF_MANY = 64, MANY_CELLS = 16384 };

/* ---- cells ---- */

static const struct sn_vary_key *key_at(const struct sn_intern *keys, uint32_t number)
{
	return sn_intern_at(keys, number, NULL);
}

enum { KEPT_KEYS = 256 };

/* The launches of a part of a track, by key. */
struct surveyed_part {
	struct sn_intern keys;
	struct sn_value_counts *durations;
	size_t capacity, limit;
	struct {
		struct sn_vary_key key;
		uint32_t number; /* + 1; 0: free */
	} kept[KEPT_KEYS];
	const struct sn_vary_part *part;
	uint64_t start_ns, end_ns;
	struct sn_vary_copies copies;
};

/* Different durations that are kept of each of so many cells. More cells have fewer, and what was rounded for fewer cells is only rounded
 * further, so that only the number of all cells matters in the end. */
static size_t limit_of(const struct sn_vary *vary, uint32_t cells)
{
	uint64_t memory_bytes = vary->request->memory_bytes ?: 256 << 20;
	uint64_t limit = memory_bytes / sizeof(struct sn_value_count) / (cells ? cells : 1);
	return limit < 64 ? 64 : limit > DURATIONS_MOST ? DURATIONS_MOST : limit;
}

/* The number of a launch's key, of which durations are counted; SN_INTERN_NONE without memory. */
static uint32_t number_of(struct surveyed_part *surveyed, const struct sn_vary_launch *launch)
{
	struct sn_vary_key key = sn_vary_key_of(launch);
	size_t at = sn_vary_slot(launch) % KEPT_KEYS;
	if (surveyed->kept[at].number && sn_vary_is_key(&surveyed->kept[at].key, &key))
		return surveyed->kept[at].number - 1;
	uint32_t number = sn_intern_item(&surveyed->keys, &key, sizeof(key), &surveyed->durations,
					 &surveyed->capacity, {.limit = surveyed->limit});
	surveyed->kept[at].key = key;
	surveyed->kept[at].number = number + 1; /* without memory it is free */
	return number;
}

static int survey_launch(void *data, const struct sn_vary_launch *launch)
{
	struct surveyed_part *surveyed = data;
	uint64_t duration =
	    launch->end_ns > launch->start_ns ? launch->end_ns - launch->start_ns : 0;
	if (launch->start_ns < surveyed->part->from_ns || launch->start_ns >= surveyed->part->to_ns)
		return 0;
	uint32_t number = number_of(surveyed, launch);
	if (number == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	surveyed->start_ns =
	    launch->start_ns < surveyed->start_ns ? launch->start_ns : surveyed->start_ns;
	surveyed->end_ns = launch->end_ns > surveyed->end_ns ? launch->end_ns : surveyed->end_ns;
	return sn_value_counts_add(surveyed->durations + number, &duration, 1);
}

static void add_copies(struct sn_vary_copies *copies, const struct sn_vary_copies *others)
{
	if (!others->count)
		return;
	if (!copies->count || others->least_bytes < copies->least_bytes)
		copies->least_bytes = others->least_bytes;
	if (others->most_bytes > copies->most_bytes)
		copies->most_bytes = others->most_bytes;
	if (others->longest_ns > copies->longest_ns)
		copies->longest_ns = others->longest_ns;
	copies->count += others->count;
}

static int survey_copy(void *data, const struct sn_vary_copy *copy)
{
	struct surveyed_part *surveyed = data;
	bool is_known = copy->bytes != UINT64_MAX;
	add_copies(&surveyed->copies,
		   &(struct sn_vary_copies){.count = 1,
					    .longest_ns = copy->end_ns > copy->start_ns
							      ? copy->end_ns - copy->start_ns
							      : 0,
					    .least_bytes = copy->bytes,
					    .most_bytes = is_known ? copy->bytes : 0});
	return 0;
}

static int add_key(struct sn_vary *vary, const struct sn_vary_key *key,
		   const struct sn_value_counts *durations)
{
	uint32_t number = sn_intern_item(&vary->keys, key, sizeof(*key), &vary->key_durations,
					 &vary->key_capacity, {.limit = DURATIONS_MOST});
	if (number == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	sn_value_counts_set_limit(vary->key_durations + number, limit_of(vary, vary->keys.count));
	return sn_value_counts_merge(vary->key_durations + number, durations);
}

static void widen(struct sn_vary_source *source, uint64_t start_ns, uint64_t end_ns)
{
	source->start_ns = start_ns < source->start_ns ? start_ns : source->start_ns;
	source->end_ns = end_ns > source->end_ns ? end_ns : source->end_ns;
}

static int add_surveyed(struct sn_vary *vary, struct sn_vary_source *source,
			const struct surveyed_part *surveyed)
{
	int result = 0;
	pthread_mutex_lock(&vary->lock);
	for (uint32_t i = 0; i < surveyed->keys.count && !result; i++)
		result = add_key(vary, key_at(&surveyed->keys, i), surveyed->durations + i);
	widen(source, surveyed->start_ns, surveyed->end_ns);
	add_copies(&vary->copies, &surveyed->copies);
	pthread_mutex_unlock(&vary->lock);
	return result;
}

static size_t limit_now(struct sn_vary *vary)
{
	pthread_mutex_lock(&vary->lock);
	size_t limit = limit_of(vary, vary->keys.count);
	pthread_mutex_unlock(&vary->lock);
	return limit;
}

static int survey_part(void *context, unsigned worker, size_t item)
{
	struct sn_vary *vary = context;
	const struct sn_vary_part *part = vary->parts + item;
	struct surveyed_part surveyed = {
	    .part = part, .limit = limit_now(vary), .start_ns = UINT64_MAX};
	bool wants_copies = vary->request->wants_picture;
	struct sn_vary_reading reading = {.from_ns = part->from_ns,
					  .to_ns = part->to_ns - 1,
					  .launch = survey_launch,
					  .copy = wants_copies ? survey_copy : NULL,
					  .detail =
					      wants_copies ? SN_VARY_FULL : SN_VARY_CONFIGURATION,
					  .data = &surveyed};
	struct sn_error *error = &vary->workers[worker].error;
	int result = sn_vary_read_track(&vary->workers[worker].reader, part->source, part->track,
					&reading, error);
	for (uint32_t i = 0; i < surveyed.keys.count && !result; i++)
		result = sn_fail_code(error, sn_value_counts_settle(surveyed.durations + i));
	if (!result)
		result = sn_fail_code(error, add_surveyed(vary, part->source, &surveyed));
	for (uint32_t i = 0; i < surveyed.keys.count; i++)
		sn_value_counts_release(surveyed.durations + i);
	sn_intern_release(&surveyed.keys);
	free(surveyed.durations);
	sn_progress_add(1);
	return result;
}

static uint64_t part_weight(const void *context, size_t item)
{
	return ((const struct sn_vary *)context)->parts[item].blocks;
}

static int settle_keys(struct sn_vary *vary)
{
	int result = 0;
	for (uint32_t i = 0; i < vary->keys.count && !result; i++)
		result = sn_value_counts_settle(vary->key_durations + i);
	return result;
}

/* ---- of all ranks ---- */

/* The times of each database; copies; then keys with their durations. */
static void pack_survey(const void *context, struct sn_buffer *bytes)
{
	const struct sn_vary *vary = context;
	for (size_t s = 0; s < vary->sources.count; s++) {
		sn_buffer_put(bytes, &vary->sources.items[s].start_ns, sizeof(uint64_t));
		sn_buffer_put(bytes, &vary->sources.items[s].end_ns, sizeof(uint64_t));
	}
	sn_buffer_put(bytes, &vary->copies, sizeof(vary->copies));
	for (uint32_t i = 0; i < vary->keys.count; i++) {
		sn_buffer_put(bytes, key_at(&vary->keys, i), sizeof(struct sn_vary_key));
		sn_value_counts_pack(vary->key_durations + i, bytes);
	}
}

static int add_survey(void *context, struct sn_span bytes)
{
	struct sn_vary *vary = context;
	int result = 0;
	for (size_t s = 0; s < vary->sources.count; s++) {
		uint64_t times[2];
		if (!sn_span_get(&bytes, times, sizeof(times)))
			return SN_ERR_MEMORY; /* of the sender */
		widen(vary->sources.items + s, times[0], times[1]);
	}
	struct sn_vary_copies copies;
	if (!sn_span_get(&bytes, &copies, sizeof(copies)))
		return SN_ERR_MEMORY;
	add_copies(&vary->copies, &copies);
	while (bytes.count && !result) {
		struct sn_vary_key key;
		struct sn_value_counts durations = {0};
		bool is_whole = sn_span_get(&bytes, &key, sizeof(key)) &&
				sn_value_counts_unpack(&durations, &bytes);
		result = is_whole ? add_key(vary, &key, &durations) : SN_ERR_MEMORY;
		sn_value_counts_release(&durations);
	}
	return result ?: settle_keys(vary);
}

static void clear_survey(void *context)
{
	struct sn_vary *vary = context;
	for (uint32_t i = 0; i < vary->keys.count; i++)
		sn_value_counts_release(vary->key_durations + i);
	sn_intern_release(&vary->keys);
	free(vary->key_durations);
	vary->keys = (struct sn_intern){0};
	vary->copies = (struct sn_vary_copies){0};
	vary->key_durations = NULL;
	vary->key_capacity = 0;
}

/* ---- parts ---- */

/* Some blocks of a track each, by the times at which blocks begin. */
static int add_parts(struct sn_vary *vary, struct sn_vary_source *source, uint32_t track,
		     struct sn_error *error)
{
	const struct sonde_track *one = sonde_trace_track(source->input->trace, track);
	uint64_t from_ns = 0, first = 0;
	for (uint64_t b = PART_BLOCKS; b < one->block_count + PART_BLOCKS; b += PART_BLOCKS) {
		const struct sn_block_entry *entry;
		const unsigned char *bytes;
		uint64_t to_ns = UINT64_MAX;
		if (b < one->block_count) {
			if (!sn_trace_block(source->input->trace, one, b, &entry, &bytes))
				return sn_fail(error, SN_ERR_FORMAT,
					       "cannot read events: the file is damaged");
			to_ns = entry->start_ns;
		}
		/* many events may be of one moment */
		if (to_ns == from_ns)
			continue;
		if (sn_vec_push(&vary->parts, &vary->part_capacity, &vary->part_count,
				(struct sn_vary_part){source, track, from_ns, to_ns, b - first}))
			return sn_fail_memory(error);
		from_ns = to_ns;
		first = b;
	}
	return 0;
}

static int make_parts(struct sn_vary *vary, struct sn_error *error)
{
	int result = 0;
	for (size_t s = 0; s < vary->sources.count; s++)
		for (size_t t = 0; t < vary->sources.items[s].track_count && !result; t++)
			result = add_parts(vary, vary->sources.items + s,
					   vary->sources.items[s].tracks[t], error);
	return result;
}

static int compare_sizes(const struct sn_vary_key *a, const struct sn_vary_key *b)
{
	int order = SN_ORDER(a->kernel, b->kernel);
	for (unsigned i = 0; i < SN_CONFIGURATION_SIZES && !order; i++)
		order = SN_ORDER(a->sizes[i], b->sizes[i]);
	return order;
}

SN_SORT_BY(sort_cells, uint32_t, const struct sn_intern *,
	   sn_order_then(compare_sizes(key_at(of, *a), key_at(of, *b)),
			 SN_ORDER(key_at(of, *a)->place, key_at(of, *b)->place)));

static void fill_cell(struct sn_vary *vary, uint32_t number, uint32_t key_number)
{
	const struct sn_vary_key *key = key_at(&vary->keys, key_number);
	struct sn_vary_cell *cell = vary->cells + number;
	*cell = (struct sn_vary_cell){.kernel = (uint32_t)key->kernel,
				      .place = (uint32_t)key->place,
				      .count = vary->key_durations[key_number].total,
				      .durations = vary->key_durations[key_number],
				      .steps = vary->steps + (size_t)number * vary->step_count};
	memcpy(cell->sizes, key->sizes, sizeof(cell->sizes));
	vary->key_durations[key_number] = (struct sn_value_counts){0};
	sn_value_counts_set_limit(&cell->durations, limit_of(vary, vary->keys.count));
	cell->spread = sn_value_counts_log_spread(&cell->durations);
	cell->mean_ns = sn_value_counts_mean(&cell->durations);
	vary->cell_of_key[key_number] = number;
	vary->result->places[cell->place].count += cell->count;
	vary->result->launch_count += cell->count;
}

static int make_cells(struct sn_vary *vary)
{
	uint32_t count = vary->keys.count, *order = malloc((count + 1ull) * sizeof(*order));
	vary->step_count = count > MANY_CELLS ? STEPS_OF_MANY : STEPS;
	vary->cells = calloc(count + 1ull, sizeof(*vary->cells));
	vary->cell_of_key = calloc(count + 1ull, sizeof(*vary->cell_of_key));
	vary->configurations = calloc(count + 1ull, sizeof(*vary->configurations));
	vary->steps = calloc((size_t)count * vary->step_count + 1, sizeof(*vary->steps));
	if (!order || !vary->cells || !vary->cell_of_key || !vary->configurations || !vary->steps) {
		free(order);
		return SN_ERR_MEMORY;
	}
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	sort_cells(order, count, &vary->keys);
	vary->cell_count = count;
	for (uint32_t i = 0; i < count; i++) {
		bool is_new = !i || compare_sizes(key_at(&vary->keys, order[i - 1]),
						  key_at(&vary->keys, order[i]));
		if (is_new)
			vary->configurations[vary->configuration_count++].first_cell = i;
		fill_cell(vary, i, order[i]);
		vary->cells[i].configuration = vary->configuration_count - 1;
		vary->configurations[vary->configuration_count - 1].cell_count++;
	}
	free(order);
	return 0;
}

uint32_t sn_vary_find_cell(const struct sn_vary *vary, struct sn_vary_worker *worker,
			   const struct sn_vary_launch *launch)
{
	struct sn_vary_key key = sn_vary_key_of(launch);
	size_t at = sn_vary_slot(launch) % SN_VARY_CACHE;
	if (!worker->cache[at].cell || !sn_vary_is_key(&worker->cache[at].key, &key)) {
		uint32_t number = sn_intern_find(&vary->keys, &key, sizeof(key));
		worker->cache[at].key = key;
		worker->cache[at].cell = vary->cell_of_key[number] + 1;
	}
	return worker->cache[at].cell - 1;
}

/* ---- time ---- */

/* Where some databases have no time in common they are no one run. */
static void align(struct sn_vary *vary)
{
	struct sn_variability *result = vary->result;
	uint64_t first = UINT64_MAX, last = 0, latest_start = 0, earliest_end = UINT64_MAX,
		 span = 0;
	for (size_t i = 0; i < vary->sources.count; i++) {
		const struct sn_vary_source *one = vary->sources.items + i;
		if (one->start_ns == UINT64_MAX)
			continue;
		first = one->start_ns < first ? one->start_ns : first;
		last = one->end_ns > last ? one->end_ns : last;
		latest_start = one->start_ns > latest_start ? one->start_ns : latest_start;
		earliest_end = one->end_ns < earliest_end ? one->end_ns : earliest_end;
		span = one->end_ns - one->start_ns > span ? one->end_ns - one->start_ns : span;
	}
	result->is_aligned = latest_start > earliest_end;
	for (size_t i = 0; i < vary->sources.count; i++)
		vary->sources.items[i].shift_ns =
		    result->is_aligned ? vary->sources.items[i].start_ns : first;
	result->start_ns = result->is_aligned ? 0 : first;
	result->end_ns = result->is_aligned ? span : last;
}

/* Rounded up to 1, 2 or 5 times a power of ten. */
static uint64_t usual_bin(uint64_t span, uint64_t launches)
{
	uint64_t count = launches / BIN_LAUNCHES;
	count = !count ? 1 : count > BINS_MOST ? BINS_MOST : count;
	uint64_t least = span / count + 1, power = 1;
	while (power * 10 <= least)
		power *= 10;
	return least <= power	    ? power
	       : least <= 2 * power ? 2 * power
	       : least <= 5 * power ? 5 * power
				    : 10 * power;
}

/* "1.5 ms", of whole nanoseconds. */
struct length {
	char text[32];
};
static struct length length_of(uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	struct length length;
	double value = (double)ns;
	size_t unit = 0;
	for (; value >= 1000 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		value /= 1000;
	snprintf(length.text, sizeof(length.text), "%.10g %s", value, units[unit]);
	return length;
}

static int refuse_bins(uint64_t bin_ns, uint64_t span, uint64_t count, struct sn_error *error)
{
	return sn_fail(error, SN_ERR_ARGUMENT,
		       "%s has %llu bins of %s, and %u are the most: take bins of %s or more",
		       length_of(span).text, (unsigned long long)count, length_of(bin_ns).text,
		       (unsigned)SN_BINS_MOST, length_of(span / SN_BINS_MOST + 1).text);
}

static int make_bins(struct sn_vary *vary, struct sn_error *error)
{
	struct sn_variability *result = vary->result;
	uint64_t span = result->end_ns - result->start_ns;
	result->bin_ns = vary->request->bin_ns ?: usual_bin(span, result->launch_count);
	uint64_t count = span / result->bin_ns + 1;
	if (count > SN_BINS_MOST)
		return refuse_bins(result->bin_ns, span, count, error);
	result->bin_count = count;
	result->bins = sn_arena_array(&result->arena, struct sn_variability_bin, count);
	result->step_count = vary->step_count;
	for (size_t i = 0; i < count && result->bins; i++)
		result->bins[i].start_ns = i * result->bin_ns;
	return result->bins ? 0 : sn_fail_memory(error);
}

static int add_slice(struct sn_vary *vary, size_t first_bin, size_t end_bin, uint64_t blocks)
{
	uint64_t bin_ns = vary->result->bin_ns;
	if (first_bin == end_bin)
		return 0;
	return sn_vec_push(&vary->slices, &vary->slice_capacity, &vary->slice_count,
			   (struct sn_vary_slice){first_bin * bin_ns, end_bin * bin_ns, first_bin,
						  end_bin - first_bin,
						  (blocks + 1) * SN_BLOCK_EVENTS});
}

/* The bins in which blocks begin, in any order. 0 or a negative enum sn_err. */
static int list_blocks(const struct sn_vary *vary, uint64_t **bins, size_t *count,
		       struct sn_error *error)
{
	size_t capacity = 0;
	for (size_t s = 0; s < vary->sources.count; s++) {
		const struct sn_vary_source *source = vary->sources.items + s;
		for (size_t t = 0; t < source->track_count; t++) {
			const struct sonde_track *track =
			    sonde_trace_track(source->input->trace, source->tracks[t]);
			for (uint64_t b = 0; b < track->block_count; b++) {
				const struct sn_block_entry *entry;
				const unsigned char *bytes;
				if (!sn_trace_block(source->input->trace, track, b, &entry, &bytes))
					return sn_fail(error, SN_ERR_FORMAT,
						       "cannot read events: the file is damaged");
				/* copies may lie before the first kernel */
				uint64_t start_ns = entry->start_ns > source->shift_ns
							? entry->start_ns - source->shift_ns
							: 0;
				uint64_t bin = start_ns / vary->result->bin_ns;
				bin = bin < vary->result->bin_count ? bin
								    : vary->result->bin_count - 1;
				if (sn_vec_push(bins, &capacity, count, bin))
					return sn_fail_memory(error);
			}
		}
	}
	return 0;
}

static int make_slices(struct sn_vary *vary, struct sn_error *error)
{
	uint64_t *bins = NULL;
	size_t count = 0, first = 0, first_block = 0;
	int result = list_blocks(vary, &bins, &count, error);
	size_t blocks = count / SLICES;
	blocks = blocks < SLICE_BLOCKS_LEAST  ? SLICE_BLOCKS_LEAST
		 : blocks > SLICE_BLOCKS_MOST ? SLICE_BLOCKS_MOST
					      : blocks;
	if (!result)
		sn_sort_u64(bins, count);
	for (size_t i = blocks; i < count && !result; i += blocks) {
		if (bins[i] == first)
			continue;
		if (add_slice(vary, first, bins[i], i - first_block))
			result = sn_fail_memory(error);
		first = bins[i];
		first_block = i;
	}
	if (!result && add_slice(vary, first, vary->result->bin_count, count - first_block))
		result = sn_fail_memory(error);
	free(bins);
	return result;
}

static int survey_parts(struct sn_vary *vary, struct sn_error *error)
{
	const struct sn_peers_merging merging = {pack_survey, add_survey, clear_survey, vary};
	const struct sn_peers_work work = {vary->part_count, part_weight, survey_part, vary};
	sn_progress_begin("reading durations", vary->part_count);
	int result = sn_vary_run(vary, &work, error);
	if (!result)
		result = sn_fail_code(error, settle_keys(vary));
	result = sn_peers_agree(vary->peers, result, error);
	return result ?: sn_peers_merge(vary->peers, &merging, error);
}

int sn_vary_survey(struct sn_vary *vary, struct sn_error *error)
{
	int result = sn_peers_agree(vary->peers, make_parts(vary, error), error);
	result = result ?: survey_parts(vary, error);
	if (result)
		return result;
	if (!vary->keys.count)
		return sn_fail(error, SN_ERR_MISSING, "no kernels");
	align(vary);
	result = make_cells(vary) ? sn_fail_memory(error) : 0;
	result = result ?: make_bins(vary, error);
	result = result ?: make_slices(vary, error);
	return sn_peers_agree(vary->peers, result, error);
}
