/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values to their final contexts: see writer.h.
 *
 * A profile is an item of work. Its metrics were mostly measured at few different sets of nodes
 * (those of a kernel at the same ones), so that what depends on the set
 * alone is worked out once: the order by context, which nodes became one context, and the part of
 * the tree that lies above.
 */
#include "writer.h"

#include "base/file_at.h"
#include "base/pool.h"
#include "base/progress/progress.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "format/database/database_plane.h"

#include <stdlib.h>
#include <string.h>

/* A set of nodes at which metrics were measured. Positions in the scratch's array of numbers. */
struct set {
	uint32_t ids, count; /* in the block */
	size_t order;	     /* [count]: elements by context */
	size_t contexts;     /* [unique]: ascending */
	size_t ends;	     /* [unique]: one past the elements of each, in `order` */
	uint32_t unique;
	size_t tree; /* [tree_count]: the first of its places */
	uint32_t tree_count;
};

/* A context of the set or above it, in pre-order. */
struct place {
	uint32_t parent;  /* in the array; the first has none */
	uint32_t inner;	  /* number among inner contexts, or SONDE_NONE */
	uint32_t element; /* position in the set's contexts, or SONDE_NONE */
};

/* A context on the way from the root to the one that is added. */
struct step {
	uint32_t context, place;
};

struct scratch {
	struct sn_db_writer *writer;
	struct sn_db_worker *worker; /* whose scratch it is */
	struct sn_profile_block block;
	struct set *sets;
	size_t set_count, set_capacity;
	uint32_t *numbers; /* of all sets */
	size_t number_count, number_capacity;
	uint64_t *keys; /* for sorting */
	size_t key_capacity;
	struct place *places; /* of all sets */
	size_t place_count, place_capacity;
	struct step *path; /* while the tree is built */
	size_t path_capacity;
	double *stats; /* [unique][part] of a plane */
	size_t stat_capacity;
	double *sums; /* [place] */
	size_t sum_capacity;
	uint32_t *entry_order;
	size_t entry_capacity;
	size_t flush_bytes; /* of a bucket, before it goes to the spill */
};

static void release_scratch(struct scratch *scratch)
{
	free(scratch->block.bytes);
	sn_major_release(&scratch->block.major);
	free(scratch->sets);
	free(scratch->numbers);
	free(scratch->keys);
	free(scratch->places);
	free(scratch->path);
	free(scratch->stats);
	free(scratch->sums);
	free(scratch->entry_order);
}

/* The elements by context, and which become one. Nodes of one context stay in the block's order. */
static int sort_set(struct scratch *scratch, struct set *set, const uint32_t *ids,
		    const uint32_t *contexts)
{
	uint32_t count = set->count;
	if (sn_vec_reserve(&scratch->keys, &scratch->key_capacity, 2ull * count) < 0 ||
	    sn_vec_reserve(&scratch->numbers, &scratch->number_capacity,
			   scratch->number_count + 3ull * count) < 0)
		return SN_ERR_MEMORY;
	uint64_t *keys = scratch->keys;
	for (uint32_t i = 0; i < count; i++)
		keys[i] = (uint64_t)contexts[ids[i]] << 32 | i;
	sn_sort_keys(keys, keys + count, count);
	set->order = scratch->number_count;
	set->contexts = set->order + count;
	set->ends = set->contexts + count;
	scratch->number_count += 3ull * count;
	uint32_t *numbers = scratch->numbers;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t context = (uint32_t)(keys[i] >> 32);
		numbers[set->order + i] = (uint32_t)keys[i];
		if (!set->unique || numbers[set->contexts + set->unique - 1] != context)
			numbers[set->contexts + set->unique++] = context;
		numbers[set->ends + set->unique - 1] = i + 1;
	}
	return 0;
}

/* All contexts of the set and above them, in pre-order. */
static int build_tree(struct scratch *scratch, struct set *set)
{
	const struct sn_db_axes *axes = &scratch->writer->axes;
	size_t depth = 0, first = scratch->place_count;
	set->tree = first;
	for (uint32_t i = 0; i < set->unique; i++) {
		uint32_t context = scratch->numbers[set->contexts + i];
		size_t above = axes->contexts[context].depth + 1ull;
		while (depth && axes->contexts[scratch->path[depth - 1].context].end <= context)
			depth--;
		if (sn_vec_reserve(&scratch->path, &scratch->path_capacity, above) < 0 ||
		    sn_vec_reserve(&scratch->places, &scratch->place_capacity,
				   scratch->place_count + above - depth) < 0)
			return SN_ERR_MEMORY;
		/* what lies between the path and the context, outermost first */
		for (size_t j = above; j-- > depth; context = axes->contexts[context].parent)
			scratch->path[j].context = context;
		for (; depth < above; depth++) {
			struct step *step = scratch->path + depth;
			step->place = (uint32_t)(scratch->place_count - first);
			scratch->places[scratch->place_count++] =
			    (struct place){.parent = depth ? step[-1].place : 0,
					   .inner = axes->inner_numbers[step->context],
					   .element = depth + 1 == above ? i : SONDE_NONE};
		}
	}
	set->tree_count = (uint32_t)(scratch->place_count - first);
	return 0;
}

/* The set of an entry's nodes, as worked out for an earlier metric or now; NULL without memory. */
static const struct set *find_set(struct scratch *scratch, const struct sn_database_plane *entry,
				  const unsigned char *data, const uint32_t *contexts)
{
	for (size_t i = scratch->set_count; i-- > 0;)
		if (scratch->sets[i].ids == entry->ids && scratch->sets[i].count == entry->count)
			return scratch->sets + i;
	if (sn_vec_reserve(&scratch->sets, &scratch->set_capacity, scratch->set_count + 1) < 0)
		return NULL;
	struct set *set = scratch->sets + scratch->set_count;
	*set = (struct set){.ids = entry->ids, .count = entry->count};
	if (sort_set(scratch, set, (const uint32_t *)data + entry->ids, contexts) ||
	    build_tree(scratch, set))
		return NULL;
	scratch->set_count++;
	return set;
}

SN_SORT_BY(sort_stats, struct sonde_db_stat, const void *,
	   SN_ORDER_BY(a, b, sum, sum_squares, count));

/* Several nodes that became one context: added in the order that the builder adds them in
 * (database_order.c), not in that of the measurement. */
static int merge_nodes(const struct sonde_db_columns *columns, const uint32_t *order,
		       uint32_t count, struct sonde_db_stat *merged)
{
	struct sonde_db_stat few[16];
	struct sonde_db_stat *stats = count <= 16 ? few : malloc(count * sizeof(*stats));
	if (!stats)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		sn_columns_stat(columns, order[i], stats + i);
	sort_stats(stats, count, NULL);
	*merged = stats[0];
	for (uint32_t i = 1; i < count; i++)
		sonde_db_stat_merge(merged, stats + i);
	if (stats != few)
		free(stats);
	return 0;
}

static int gather_stats(struct scratch *scratch, const struct set *set,
			const struct sonde_db_columns *columns)
{
	const uint32_t *order = scratch->numbers + set->order;
	const uint32_t *ends = scratch->numbers + set->ends;
	if (sn_vec_reserve(&scratch->stats, &scratch->stat_capacity,
			   (size_t)set->unique * SONDE_DB_PART_COUNT) < 0)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0, first = 0; i < set->unique; first = ends[i++]) {
		struct sonde_db_stat stat;
		if (ends[i] - first == 1)
			sn_columns_stat(columns, order[first], &stat);
		else if (merge_nodes(columns, order + first, ends[i] - first, &stat))
			return SN_ERR_MEMORY;
		memcpy(scratch->stats + (size_t)i * SONDE_DB_PART_COUNT, &stat, sizeof(stat));
	}
	return 0;
}

/* The profile's inclusive sums, and what they are across profiles. */
static int add_across(struct scratch *scratch, const struct set *set, uint32_t metric)
{
	struct sn_across_metric *across = sn_across_metric(&scratch->worker->across, metric);
	const struct place *places = scratch->places + set->tree;
	int32_t shift = scratch->writer->axes.shifts[metric];
	if (!across || sn_vec_reserve(&scratch->sums, &scratch->sum_capacity, set->tree_count) < 0)
		return SN_ERR_MEMORY;
	double *sums = scratch->sums;
	for (uint32_t i = 0; i < set->tree_count; i++)
		sums[i] = places[i].element == SONDE_NONE
			      ? 0
			      : scratch->stats[(size_t)places[i].element * SONDE_DB_PART_COUNT +
					       SONDE_DB_SUM];
	for (uint32_t i = set->tree_count; i-- > 1;)
		sums[places[i].parent] += sums[i];
	for (uint32_t i = 0; i < set->tree_count; i++)
		if (places[i].inner != SONDE_NONE && sn_across_add(&scratch->worker->across, across,
								   places[i].inner, sums[i], shift))
			return SN_ERR_MEMORY;
	return 0;
}

static int flush_bucket(struct sn_db_writer *writer, struct sn_bucket *bucket)
{
	struct sn_chunk chunk = {.length = bucket->slices.count};
	struct sn_error error = {""};
	if (!chunk.length)
		return 0;
	int result = sn_spill_append(&writer->slices, bucket->slices.bytes, chunk.length,
				     &chunk.offset, &error);
	if (result)
		return sn_db_writer_check(writer, result, &error);
	sn_buffer_cut(&bucket->slices, 0);
	return sn_vec_push(&bucket->chunks, &bucket->capacity, &bucket->count, chunk)
		   ? sn_db_writer_out_of_memory(writer)
		   : 0;
}

/* Elements `first` to `end` of the plane that was added last, to a bucket. */
static int put_slice(struct scratch *scratch, uint32_t bucket_number, uint32_t profile,
		     const struct sn_database_plane *plane, uint32_t first, uint32_t end)
{
	struct sn_bucket *bucket = scratch->worker->buckets + bucket_number;
	const unsigned char *data = scratch->worker->major.data.bytes;
	uint32_t count = end - first;
	struct sn_slice slice = {profile, plane->metric, count, plane->forms};
	sn_buffer_put(&bucket->slices, &slice, sizeof(slice));
	sn_buffer_put(&bucket->slices, data + 4ull * (plane->ids + first), 4ull * count);
	unsigned char *columns =
	    sn_buffer_room(&bucket->slices, sn_plane_bytes(plane->forms, count));
	if (columns)
		sn_plane_slice(data + 4ull * plane->values, plane->forms, plane->count, first,
			       count, columns);
	sn_buffer_align(&bucket->slices, 8);
	if (bucket->slices.failed)
		return sn_db_writer_out_of_memory(scratch->writer);
	return bucket->slices.count < scratch->flush_bytes ? 0
							   : flush_bucket(scratch->writer, bucket);
}

/* Sets a bit that other threads may set as well. */
static void set_row(struct sn_db_axes *axes, uint32_t context, uint32_t metric)
{
	uint64_t *word = axes->rows + (size_t)context * axes->row_words + metric / 64;
	uint64_t bit = 1ull << metric % 64;
	/* relaxed: read after all threads have been joined; mostly it is set already */
	if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

/* The plane that was added last, by buckets of contexts. */
static int put_rows(struct scratch *scratch, uint32_t profile)
{
	struct sn_db_axes *axes = &scratch->writer->axes;
	const struct sn_major *major = &scratch->worker->major;
	struct sn_database_plane plane;
	memcpy(&plane, major->entries.bytes + (major->entry_count - 1) * sizeof(plane),
	       sizeof(plane));
	const uint32_t *contexts = (const uint32_t *)major->data.bytes + plane.ids;
	uint32_t bucket = 0;
	for (uint32_t first = 0, end; first < plane.count; first = end) {
		/* the first bucket that ends behind this context */
		bucket = sn_search_from(i, bucket, axes->bucket_count - 1,
					axes->bucket_ends[i] <= contexts[first]);
		for (end = first; end < plane.count && contexts[end] < axes->bucket_ends[bucket];
		     end++)
			set_row(axes, contexts[end], plane.metric);
		int result = put_slice(scratch, bucket, profile, &plane, first, end);
		if (result)
			return result;
	}
	return 0;
}

static int project_entry(struct scratch *scratch, const struct sn_database_plane *entry)
{
	const struct sn_profile_block *block = &scratch->block;
	const unsigned char *data = block->data;
	struct sn_db_writer *writer = scratch->writer;
	struct sonde_db_columns columns;
	uint32_t metric = block->metrics[entry->metric];
	const struct set *set = find_set(scratch, entry, data, block->contexts);
	if (!set)
		return sn_db_writer_out_of_memory(writer);
	sn_plane_find_columns(data + 4ull * entry->values, entry->forms, entry->count, 0, &columns);
	if (gather_stats(scratch, set, &columns) ||
	    sn_major_add(&scratch->worker->major, metric, scratch->numbers + set->contexts,
			 scratch->stats, set->unique, writer->axes.periods[metric]) ||
	    add_across(scratch, set, metric))
		return sn_db_writer_out_of_memory(writer);
	return put_rows(scratch, block->profile);
}

/* Entries by final metric: there are few. */
static int order_entries(struct scratch *scratch)
{
	const struct sn_profile_block *block = &scratch->block;
	uint32_t count = block->entry_count;
	if (sn_vec_reserve(&scratch->entry_order, &scratch->entry_capacity, count + 1ull) < 0 ||
	    sn_vec_reserve(&scratch->keys, &scratch->key_capacity, 2ull * count + 2) < 0)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		scratch->keys[i] = (uint64_t)block->metrics[block->entries[i].metric] << 32 | i;
	sn_sort_keys(scratch->keys, scratch->keys + count, count);
	for (uint32_t i = 0; i < count; i++)
		scratch->entry_order[i] = (uint32_t)scratch->keys[i];
	return 0;
}

/* The profile's planes, which the worker's major now holds, to the first spill. */
static int keep_planes(struct scratch *scratch, uint32_t profile)
{
	struct sn_db_worker *worker = scratch->worker;
	const struct sn_major *major = &worker->major;
	struct sn_error error = {""};
	struct sn_spilled_planes planes = {.profile = profile,
					   .entry_count = (uint32_t)major->entry_count,
					   .data_bytes = major->data.count,
					   .checksum = sn_major_checksum(major)};
	int result = sn_major_spill(major, &scratch->writer->planes, &planes.offset, &error);
	if (result)
		return sn_db_writer_fail(scratch->writer, result, "%s", error.text);
	return sn_vec_push(&worker->spilled, &worker->spilled_capacity, &worker->spilled_count,
			   planes)
		   ? sn_db_writer_out_of_memory(scratch->writer)
		   : 0;
}

/* Accumulators become more as profiles come; checked after each. */
static int check_across(struct scratch *scratch, uint64_t before)
{
	struct sn_db_writer *writer = scratch->writer;
	uint64_t bytes = scratch->worker->across.bytes;
	if (bytes == before)
		return 0;
	atomic_fetch_add_explicit(&writer->sum_bytes, bytes - before, memory_order_relaxed);
	return sn_db_writer_check_memory(writer, 0);
}

struct projecting {
	struct sn_db_writer *writer;
	const struct sn_block_source *source;
	struct scratch *scratches; /* [thread] */
};

static int project_block(struct projecting *projecting, struct scratch *scratch, size_t number)
{
	struct sn_db_writer *writer = projecting->writer;
	const struct sn_block_source *source = projecting->source;
	const struct sn_profile_block *block = &scratch->block;
	struct sn_error error = {""};
	int result = source->read(source->context, number, &scratch->block, &error);
	if (result)
		return sn_db_writer_fail(writer, result, "%s", error.text);
	uint64_t across = scratch->worker->across.bytes;
	scratch->set_count = scratch->number_count = scratch->place_count = 0;
	sn_major_clear(&scratch->worker->major);
	if (order_entries(scratch))
		return sn_db_writer_out_of_memory(writer);
	for (uint32_t i = 0; i < block->entry_count && !result; i++)
		result = project_entry(scratch, block->entries + scratch->entry_order[i]);
	if (!result)
		result = check_across(scratch, across);
	return result ? result : keep_planes(scratch, block->profile);
}

/* Items are some profiles each, so that threads seldom meet at the counter. */
enum { BLOCKS_PER_ITEM = 8 };

static int project_item(void *context, unsigned number, size_t item)
{
	struct projecting *projecting = context;
	size_t first = item * BLOCKS_PER_ITEM, end = first + BLOCKS_PER_ITEM;
	int result = 0;
	for (size_t i = first; i < end && i < projecting->source->count && !result; i++)
		result = project_block(projecting, projecting->scratches + number, i);
	sn_progress_add(1);
	return result;
}

/* Which contexts have descendants, and room for the bits of rows. */
static int prepare_axes(struct sn_db_axes *axes)
{
	axes->row_words = (axes->metric_count + 63) / 64;
	axes->rows = calloc((size_t)axes->context_count * axes->row_words + 1, sizeof(*axes->rows));
	axes->inner_numbers = malloc((axes->context_count + 1ull) * sizeof(*axes->inner_numbers));
	if (!axes->rows || !axes->inner_numbers)
		return SN_ERR_MEMORY;
	for (uint32_t c = 0; c < axes->context_count; c++)
		axes->inner_numbers[c] =
		    axes->contexts[c].end > c + 1 ? axes->inner_count++ : SONDE_NONE;
	return 0;
}

static int prepare_worker(struct sn_db_writer *writer, struct sn_db_worker *worker)
{
	const struct sn_db_axes *axes = &writer->axes;
	sn_major_init(&worker->major, 1);
	worker->buckets = calloc(axes->bucket_count + 1ull, sizeof(*worker->buckets));
	return sn_across_init(&worker->across, axes->metric_count, axes->inner_count) ||
		       !worker->buckets
		   ? sn_db_writer_out_of_memory(writer)
		   : 0;
}

/* Every thread has a part of every bucket in memory, and there are the more of both the larger the
 * input and the smaller the limit. What grows takes up to twice of what it holds. */
static size_t flush_bytes(const struct sn_db_writer *writer)
{
	enum { USUAL = 64 << 10, LEAST = 1 << 10 };
	uint64_t parts = (uint64_t)writer->threads * writer->axes.bucket_count;
	uint64_t share = writer->memory / 12 / parts;
	return share < LEAST ? LEAST : share < USUAL ? share : USUAL;
}

static int prepare(struct projecting *projecting)
{
	struct sn_db_writer *writer = projecting->writer;
	struct sn_error error = {""};
	projecting->scratches = calloc(writer->threads, sizeof(*projecting->scratches));
	writer->workers = calloc(writer->threads, sizeof(*writer->workers));
	if (!projecting->scratches || !writer->workers || prepare_axes(&writer->axes))
		return sn_db_writer_out_of_memory(writer);
	if (sn_spill_open_beside(&writer->planes, writer->output, &error) ||
	    sn_spill_open_beside(&writer->slices, writer->output, &error))
		return sn_db_writer_fail(writer, SN_ERR_IO, "%s", error.text);
	int result = 0;
	for (unsigned i = 0; i < writer->threads && !result; i++) {
		struct scratch *scratch = projecting->scratches + i;
		*scratch = (struct scratch){.writer = writer,
					    .worker = writer->workers + i,
					    .flush_bytes = flush_bytes(writer)};
		sn_major_init(&scratch->block.major, 1);
		result = prepare_worker(writer, writer->workers + i);
	}
	return result;
}

int sn_project(struct sn_db_writer *writer, const struct sn_block_source *source)
{
	struct projecting projecting = {.writer = writer, .source = source};
	size_t items = (source->count + BLOCKS_PER_ITEM - 1) / BLOCKS_PER_ITEM;
	int result = prepare(&projecting);
	sn_progress_begin("adding up values", items);
	if (!result)
		result = sn_pool_run(writer->threads, items, project_item, &projecting);
	for (unsigned i = 0; i < writer->threads && writer->workers; i++)
		for (uint32_t b = 0; writer->workers[i].buckets && b < writer->axes.bucket_count;
		     b++) {
			if (!result)
				result = flush_bucket(writer, writer->workers[i].buckets + b);
			sn_buffer_release(&writer->workers[i].buckets[b].slices);
		}
	for (unsigned i = 0; projecting.scratches && i < writer->threads; i++)
		release_scratch(projecting.scratches + i);
	free(projecting.scratches);
	if (source->release)
		source->release(source->context);
	return result;
}

struct writing {
	struct sn_db_writer *writer;
	const struct sn_database_index *index;
	uint64_t entries_at, data_at;
};

static int write_spilled(struct writing *writing, const struct sn_spilled_planes *planes,
			 unsigned char *bytes)
{
	struct sn_db_writer *writer = writing->writer;
	const struct sn_database_index *index = writing->index + planes->profile;
	size_t entry_bytes = planes->entry_count * sizeof(struct sn_database_plane);
	struct sn_error error = {""};
	int result = sn_spill_read(&writer->planes, bytes, entry_bytes + planes->data_bytes,
				   planes->offset, &error);
	if (result)
		return sn_db_writer_fail(writer, result, "%s", error.text);
	int failed =
	    sn_write_at(writer->file.fd, bytes, entry_bytes,
			writing->entries_at + index->first * sizeof(struct sn_database_plane));
	if (!failed)
		failed = sn_write_at(writer->file.fd, bytes + entry_bytes, planes->data_bytes,
				     writing->data_at + index->data);
	return sn_db_writer_cannot_write(writer, failed);
}

static int write_worker(void *context, unsigned number, size_t item)
{
	struct writing *writing = context;
	struct sn_db_worker *worker = writing->writer->workers + item;
	int result = 0;
	for (size_t i = 0; i < worker->spilled_count && !result; i++) {
		const struct sn_spilled_planes *planes = worker->spilled + i;
		unsigned char *bytes =
		    malloc(planes->entry_count * sizeof(struct sn_database_plane) +
			   planes->data_bytes + 1);
		result = bytes ? write_spilled(writing, planes, bytes)
			       : sn_db_writer_out_of_memory(writing->writer);
		free(bytes);
	}
	return result;
}

int sn_project_write(struct sn_db_writer *writer, const struct sn_database_index *index,
		     uint64_t entries_at, uint64_t data_at)
{
	struct writing writing = {writer, index, entries_at, data_at};
	int result = sn_pool_run(writer->threads, writer->threads, write_worker, &writing);
	sn_spill_close(&writer->planes);
	return result;
}
