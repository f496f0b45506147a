/* SPDX-License-Identifier: Apache-2.0 */
/* The first reading: cells, the range of time, and its division into bins and slices. */
#include "vary.h"

#include "base/pool.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "lib/db/trace_reader.h"

#include <string.h>

/* Blocks of events that a slice has, unless one bin has more. */
enum { SLICE_BLOCKS = 64 };
/* Bins unless the user says: so many that each has some launches. */
enum { BINS_MOST = 1000, BINS_LEAST = 10, BIN_LAUNCHES = 20 };
/* Steps over the range; fewer where very many cells have some. */
enum { STEPS = 256, STEPS_OF_MANY = 64, MANY_CELLS = 16384 };

/* ---- cells ---- */

struct surveyed_track {
	struct sn_intern keys;
	uint64_t *counts;
	size_t capacity;
	uint32_t last;
	uint64_t start_ns, end_ns;
};

static int survey_launch(void *data, const struct sn_vary_launch *launch)
{
	struct surveyed_track *track = data;
	struct sn_vary_key key = sn_vary_key_of(launch);
	bool is_last = track->keys.count && !memcmp(sn_intern_at(&track->keys, track->last, NULL), &key, sizeof(key));
	uint32_t number = is_last ? track->last : sn_intern_item(&track->keys, &key, sizeof(key), &track->counts, &track->capacity, 0);
	if (number == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	track->last = number;
	track->counts[number]++;
	track->start_ns = launch->start_ns < track->start_ns ? launch->start_ns : track->start_ns;
	track->end_ns = launch->end_ns > track->end_ns ? launch->end_ns : track->end_ns;
	return 0;
}

static int add_surveyed(struct sn_vary *vary, struct sn_vary_source *source, const struct surveyed_track *track)
{
	int result = 0;
	pthread_mutex_lock(vary->locks);
	for (uint32_t i = 0; i < track->keys.count && !result; i++) {
		size_t length;
		const void *key = sn_intern_at(&track->keys, i, &length);
		uint32_t number = sn_intern_item(&vary->keys, key, length, &vary->key_counts, &vary->key_capacity, 0);
		if (number == SN_INTERN_NONE)
			result = SN_ERR_MEMORY;
		else
			vary->key_counts[number] += track->counts[i];
	}
	source->start_ns = track->start_ns < source->start_ns ? track->start_ns : source->start_ns;
	source->end_ns = track->end_ns > source->end_ns ? track->end_ns : source->end_ns;
	pthread_mutex_unlock(vary->locks);
	return result;
}

/* Items are the tracks of all sources, one after the other. */
static int survey_track(void *context, unsigned worker, size_t item)
{
	struct sn_vary *vary = context;
	struct sn_vary_source *source = vary->sources.items;
	struct surveyed_track surveyed = {.start_ns = UINT64_MAX};
	struct sn_vary_reading reading = {.to_ns = UINT64_MAX, .launch = survey_launch, .data = &surveyed};
	struct sn_error *error = &vary->workers[worker].error;
	for (; item >= source->track_count; source++)
		item -= source->track_count;
	int result = sn_vary_read_track(&vary->workers[worker].reader, source, source->tracks[item], &reading, error);
	if (!result)
		result = sn_fail_code(error, add_surveyed(vary, source, &surveyed));
	sn_intern_release(&surveyed.keys);
	free(surveyed.counts);
	return result;
}

static const struct sn_vary_key *key_at(const struct sn_intern *keys, uint32_t number)
{
	return sn_intern_at(keys, number, NULL);
}

static int compare_sizes(const struct sn_vary_key *a, const struct sn_vary_key *b)
{
	int order = SN_ORDER(a->kernel, b->kernel);
	for (unsigned i = 0; i < SN_CONFIGURATION_SIZES && !order; i++)
		order = SN_ORDER(a->sizes[i], b->sizes[i]);
	return order;
}

SN_SORT_BY(sort_cells, uint32_t, const struct sn_intern *,
	   sn_order_then(compare_sizes(key_at(of, *a), key_at(of, *b)), SN_ORDER(key_at(of, *a)->place, key_at(of, *b)->place)));

static void fill_cell(struct sn_vary *vary, uint32_t number, uint32_t key_number, size_t limit)
{
	const struct sn_vary_key *key = key_at(&vary->keys, key_number);
	struct sn_vary_cell *cell = vary->cells + number;
	*cell = (struct sn_vary_cell){.kernel = (uint32_t)key->kernel,
				      .place = (uint32_t)key->place,
				      .count = vary->key_counts[key_number],
				      .durations.limit = limit,
				      .steps = vary->steps + (size_t)number * vary->step_count};
	memcpy(cell->sizes, key->sizes, sizeof(cell->sizes));
	vary->cell_of_key[key_number] = number;
	vary->result->places[cell->place].count += cell->count;
	vary->result->launch_count += cell->count;
}

static int make_cells(struct sn_vary *vary)
{
	uint32_t count = vary->keys.count, *order = malloc((count + 1ull) * sizeof(*order));
	uint64_t memory_bytes = vary->request->memory_bytes ?: 256 << 20;
	size_t limit = memory_bytes / sizeof(struct sn_value_count) / (count ? count : 1);
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
		bool is_new = !i || compare_sizes(key_at(&vary->keys, order[i - 1]), key_at(&vary->keys, order[i]));
		if (is_new)
			vary->configurations[vary->configuration_count++].first_cell = i;
		fill_cell(vary, i, order[i], limit < 64 ? 64 : limit);
		vary->cells[i].configuration = vary->configuration_count - 1;
		vary->configurations[vary->configuration_count - 1].cell_count++;
	}
	free(order);
	return 0;
}

uint32_t sn_vary_find_cell(const struct sn_vary *vary, struct sn_vary_worker *worker, const struct sn_vary_launch *launch)
{
	struct sn_vary_key key = sn_vary_key_of(launch);
	size_t at = (launch->kernel * 31u + launch->place * 7u + (uint32_t)key.sizes[0] * 3u + (uint32_t)key.sizes[1]) % SN_VARY_CACHE;
	if (!worker->cache[at].cell || memcmp(&worker->cache[at].key, &key, sizeof(key)) != 0) {
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
	uint64_t first = UINT64_MAX, last = 0, latest_start = 0, earliest_end = UINT64_MAX, span = 0;
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
		vary->sources.items[i].shift_ns = result->is_aligned ? vary->sources.items[i].start_ns : first;
	result->start_ns = result->is_aligned ? 0 : first;
	result->end_ns = result->is_aligned ? span : last;
}

/* Rounded up to 1, 2 or 5 times a power of ten. */
static uint64_t usual_bin(uint64_t span, uint64_t launches)
{
	uint64_t count = launches / BIN_LAUNCHES;
	count = count < BINS_LEAST ? BINS_LEAST : count > BINS_MOST ? BINS_MOST : count;
	uint64_t least = span / count + 1, power = 1;
	while (power * 10 <= least)
		power *= 10;
	return least <= power ? power : least <= 2 * power ? 2 * power : least <= 5 * power ? 5 * power : 10 * power;
}

static int make_bins(struct sn_vary *vary, struct sn_error *error)
{
	struct sn_variability *result = vary->result;
	uint64_t span = result->end_ns - result->start_ns;
	result->bin_ns = vary->request->bin_ns ?: usual_bin(span, result->launch_count);
	uint64_t count = span / result->bin_ns + 1;
	if (count > SN_BINS_MOST)
		return sn_fail(error, SN_ERR_ARGUMENT, "%.9g s make %llu bins of %.9g s; %u are the most", (double)span / 1e9,
			       (unsigned long long)count, (double)result->bin_ns / 1e9, (unsigned)SN_BINS_MOST);
	result->bin_count = count;
	result->bins = sn_arena_array(&result->arena, struct sn_variability_bin, count);
	result->step_count = vary->step_count;
	for (size_t i = 0; i < count && result->bins; i++)
		result->bins[i].start_ns = i * result->bin_ns;
	return result->bins ? 0 : sn_fail_memory(error);
}

static int add_slice(struct sn_vary *vary, size_t first_bin, size_t end_bin)
{
	uint64_t bin_ns = vary->result->bin_ns;
	if (first_bin == end_bin)
		return 0;
	return sn_vec_push(&vary->slices, &vary->slice_capacity, &vary->slice_count,
			   (struct sn_vary_slice){first_bin * bin_ns, end_bin * bin_ns, first_bin, end_bin - first_bin});
}

/* The bins in which blocks begin, in any order. 0 or a negative enum sn_err. */
static int list_blocks(const struct sn_vary *vary, uint64_t **bins, size_t *count, struct sn_error *error)
{
	size_t capacity = 0;
	for (size_t s = 0; s < vary->sources.count; s++) {
		const struct sn_vary_source *source = vary->sources.items + s;
		for (size_t t = 0; t < source->track_count; t++) {
			const struct sonde_track *track = sonde_trace_track(source->input->trace, source->tracks[t]);
			for (uint64_t b = 0; b < track->block_count; b++) {
				const struct sn_block_entry *entry;
				const unsigned char *bytes;
				if (!sn_trace_block(source->input->trace, track, b, &entry, &bytes))
					return sn_fail(error, SN_ERR_FORMAT, "cannot read events: the file is damaged");
				/* copies may lie before the first kernel */
				uint64_t start_ns = entry->start_ns > source->shift_ns ? entry->start_ns - source->shift_ns : 0;
				uint64_t bin = start_ns / vary->result->bin_ns;
				bin = bin < vary->result->bin_count ? bin : vary->result->bin_count - 1;
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
	size_t count = 0, first = 0;
	int result = list_blocks(vary, &bins, &count, error);
	if (!result)
		sn_sort_u64(bins, count);
	for (size_t i = SLICE_BLOCKS; i < count && !result; i += SLICE_BLOCKS) {
		if (add_slice(vary, first, bins[i]))
			result = sn_fail_memory(error);
		first = bins[i];
	}
	if (!result && add_slice(vary, first, vary->result->bin_count))
		result = sn_fail_memory(error);
	free(bins);
	return result;
}

int sn_vary_survey(struct sn_vary *vary, struct sn_error *error)
{
	size_t tracks = 0;
	for (size_t i = 0; i < vary->sources.count; i++)
		tracks += vary->sources.items[i].track_count;
	int result = sn_vary_run(vary, tracks, survey_track, error);
	if (!result && !vary->keys.count)
		return sn_fail(error, SN_ERR_MISSING, "no kernels");
	if (!result)
		align(vary);
	if (!result && make_cells(vary))
		result = sn_fail_memory(error);
	result = result ?: make_bins(vary, error);
	return result ?: make_slices(vary, error);
}
