/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values to their final contexts: the second pass over them; see pipeline.h.
 *
 * A profile is an item of work. Its metrics were mostly measured at few different sets of nodes
 * (all that there is to say of a kernel is said at the same ones), so that what depends on the set
 * alone is worked out once: the order by context, which nodes became one context, and the part of
 * the tree that lies above.
 */
#include "aggregate/pipeline.h"

#include "base/pool.h"
#include "base/sort.h"
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
	size_t tree; /* [tree_count]: struct above as four numbers */
	uint32_t tree_count;
};

/* A context of the set or above it, in pre-order. */
struct place {
	uint32_t parent;  /* in the array; the first has none */
	uint32_t inner;	  /* number among inner contexts, or SONDE_NONE */
	uint32_t element; /* position in the set's contexts, or SONDE_NONE */
};

struct scratch {
	struct sn_pipeline *pipeline;
	struct sn_worker *worker; /* whose scratch it is */
	unsigned char *block;
	size_t block_capacity;
	struct set *sets;
	size_t set_count, set_capacity;
	uint32_t *numbers; /* of all sets */
	size_t number_count, number_capacity;
	uint64_t *keys; /* for sorting */
	size_t key_capacity;
	struct place *places; /* of all sets */
	size_t place_count, place_capacity;
	uint32_t *path; /* while the tree is walked */
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
	free(scratch->block);
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

/* Adds a context below the one that is on top of the path, and puts it there. */
static int push_place(struct scratch *scratch, size_t *depth, size_t first, uint32_t context,
		      uint32_t element)
{
	if (sn_vec_reserve(&scratch->places, &scratch->place_capacity, scratch->place_count + 1) <
		0 ||
	    sn_vec_reserve(&scratch->path, &scratch->path_capacity, 2 * *depth + 2) < 0)
		return SN_ERR_MEMORY;
	uint32_t number = (uint32_t)(scratch->place_count - first);
	scratch->places[scratch->place_count++] =
	    (struct place){*depth ? scratch->path[2 * *depth - 1] : 0,
			   scratch->pipeline->universe.inner_numbers[context], element};
	scratch->path[2 * *depth] = context;
	scratch->path[2 * *depth + 1] = number;
	++*depth;
	return 0;
}

/* All contexts of the set and above them, in pre-order. The path holds pairs: context, number. */
static int make_tree(struct scratch *scratch, struct set *set)
{
	const struct sonde_db_context *contexts = scratch->pipeline->universe.contexts;
	size_t depth = 0, first = scratch->place_count;
	set->tree = first;
	for (uint32_t i = 0; i < set->unique; i++) {
		uint32_t context = scratch->numbers[set->contexts + i];
		while (depth && contexts[scratch->path[2 * depth - 2]].end <= context)
			depth--;
		/* what lies between the path and the context, outermost first */
		size_t missing = contexts[context].depth - depth + 1;
		size_t above = depth + missing;
		if (sn_vec_reserve(&scratch->path, &scratch->path_capacity, 2 * above + 2) < 0)
			return SN_ERR_MEMORY;
		uint32_t at = context;
		for (size_t j = above; j-- > depth;) {
			scratch->path[2 * j] = at;
			at = contexts[at].parent;
		}
		for (size_t j = 0; j < missing; j++) {
			uint32_t next = scratch->path[2 * depth];
			if (push_place(scratch, &depth, first, next,
				       j + 1 == missing ? i : SONDE_NONE))
				return SN_ERR_MEMORY;
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
	    make_tree(scratch, set))
		return NULL;
	scratch->set_count++;
	return set;
}

static int compare_stats(const void *left, const void *right)
{
	const struct sonde_db_stat *a = left, *b = right;
	if (a->sum != b->sum)
		return a->sum < b->sum ? -1 : 1;
	if (a->sum_squares != b->sum_squares)
		return a->sum_squares < b->sum_squares ? -1 : 1;
	return (a->count > b->count) - (a->count < b->count);
}

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
	qsort(stats, count, sizeof(*stats), compare_stats);
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
	uint32_t shift = scratch->pipeline->universe.shifts[metric];
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

static int flush_bucket(struct sn_pipeline *pipeline, struct sn_bucket *bucket)
{
	struct sn_chunk chunk = {.length = bucket->pack.length};
	struct sn_error error = {""};
	if (!chunk.length)
		return 0;
	if (bucket->pack.failed ||
	    sn_vec_reserve(&bucket->chunks, &bucket->capacity, bucket->count + 1) < 0)
		return sn_pipeline_out_of_memory(pipeline);
	int result = sn_spill_append(&pipeline->rows, bucket->pack.bytes, bucket->pack.length,
				     &chunk.offset, &error);
	bucket->chunks[bucket->count++] = chunk;
	bucket->pack.length = 0;
	return result ? sn_pipeline_fail(pipeline, result, "%s", error.text) : 0;
}

/* Elements `first` to `end` of the plane that was made last, to a bucket. */
static int put_slice(struct scratch *scratch, uint32_t bucket_number, uint32_t profile,
		     const struct sn_database_plane *plane, uint32_t first, uint32_t end)
{
	struct sn_bucket *bucket = scratch->worker->buckets + bucket_number;
	const unsigned char *data = scratch->worker->major.data;
	uint32_t count = end - first;
	uint64_t bytes = sn_plane_bytes(plane->forms, count);
	struct sn_slice slice = {profile, plane->metric, count, plane->forms};
	sn_pack_put(&bucket->pack, &slice, sizeof(slice));
	sn_pack_put(&bucket->pack, data + 4ull * (plane->ids + first), 4ull * count);
	if (bucket->pack.failed || sn_vec_reserve(&bucket->pack.bytes, &bucket->pack.capacity,
						  bucket->pack.length + bytes) < 0)
		return sn_pipeline_out_of_memory(scratch->pipeline);
	sn_plane_slice(data + 4ull * plane->values, plane->forms, plane->count, first, count,
		       bucket->pack.bytes + bucket->pack.length);
	bucket->pack.length += bytes;
	sn_pack_put(&bucket->pack, (const char[8]){0}, -bucket->pack.length & 7);
	return bucket->pack.length < scratch->flush_bytes ? 0
							  : flush_bucket(scratch->pipeline, bucket);
}

/* Sets a bit that other threads may set as well. */
static void set_row(struct sn_universe *universe, uint32_t context, uint32_t metric)
{
	uint64_t *word = universe->rows + (size_t)context * universe->row_words + metric / 64;
	uint64_t bit = 1ull << metric % 64;
	/* relaxed: read after all threads have been joined; mostly it is set already */
	if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

/* The plane that was made last, by buckets of contexts. */
static int put_rows(struct scratch *scratch, uint32_t profile)
{
	struct sn_universe *universe = &scratch->pipeline->universe;
	const struct sn_major *major = &scratch->worker->major;
	struct sn_database_plane plane;
	memcpy(&plane, major->entries + (major->entry_count - 1) * sizeof(plane), sizeof(plane));
	const uint32_t *contexts = (const uint32_t *)major->data + plane.ids;
	uint32_t bucket = 0;
	for (uint32_t first = 0, end; first < plane.count; first = end) {
		/* the first bucket that ends behind this context */
		uint32_t high = universe->bucket_count - 1;
		while (bucket < high) {
			uint32_t middle = bucket + (high - bucket) / 2;
			if (universe->bucket_ends[middle] <= contexts[first])
				bucket = middle + 1;
			else
				high = middle;
		}
		for (end = first;
		     end < plane.count && contexts[end] < universe->bucket_ends[bucket]; end++)
			set_row(universe, contexts[end], plane.metric);
		int result = put_slice(scratch, bucket, profile, &plane, first, end);
		if (result)
			return result;
	}
	return 0;
}

static int project_entry(struct scratch *scratch, const struct sn_worker *owner,
			 const struct sn_database_plane *entry, const unsigned char *data,
			 uint32_t profile)
{
	struct sn_pipeline *pipeline = scratch->pipeline;
	struct sonde_db_columns columns;
	uint32_t metric = owner->metrics[entry->metric];
	const struct set *set = find_set(scratch, entry, data, owner->nodes);
	if (!set)
		return sn_pipeline_out_of_memory(pipeline);
	sn_plane_find_columns(data + 4ull * entry->values, entry->forms, entry->count, 0, &columns);
	if (gather_stats(scratch, set, &columns) ||
	    sn_major_add(&scratch->worker->major, metric, scratch->numbers + set->contexts,
			 scratch->stats, set->unique, pipeline->universe.periods[metric]) ||
	    add_across(scratch, set, metric))
		return sn_pipeline_out_of_memory(pipeline);
	return put_rows(scratch, profile);
}

/* Entries by final metric: there are few. */
static int order_entries(struct scratch *scratch, const struct sn_worker *owner,
			 const struct sn_database_plane *entries, uint32_t count)
{
	if (sn_vec_reserve(&scratch->entry_order, &scratch->entry_capacity, count + 1ull) < 0 ||
	    sn_vec_reserve(&scratch->keys, &scratch->key_capacity, 2ull * count + 2) < 0)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		scratch->keys[i] = (uint64_t)owner->metrics[entries[i].metric] << 32 | i;
	sn_sort_keys(scratch->keys, scratch->keys + count, count);
	for (uint32_t i = 0; i < count; i++)
		scratch->entry_order[i] = (uint32_t)scratch->keys[i];
	return 0;
}

/* The profile's planes, which the worker's major now holds, to the second spill. */
static int keep_planes(struct scratch *scratch, uint32_t profile)
{
	struct sn_worker *worker = scratch->worker;
	const struct sn_major *major = &worker->major;
	struct sn_error error = {""};
	struct sn_made made = {.profile = profile,
			       .entry_count = (uint32_t)major->entry_count,
			       .data_bytes = major->data_bytes,
			       .checksum = sn_major_checksum(major)};
	uint64_t data;
	if (sn_vec_reserve(&worker->made, &worker->made_capacity, worker->made_count + 1) < 0)
		return sn_pipeline_out_of_memory(scratch->pipeline);
	struct sn_pack pack = {0};
	sn_pack_put(&pack, major->entries, major->entry_count * sn_major_entry_bytes(major));
	sn_pack_put(&pack, major->data, major->data_bytes);
	int result = pack.failed ? SN_ERR_MEMORY
				 : sn_spill_append(&scratch->pipeline->planes, pack.bytes,
						   pack.length, &data, &error);
	sn_pack_release(&pack);
	made.offset = data;
	worker->made[worker->made_count++] = made;
	return result ? sn_pipeline_fail(scratch->pipeline, result, "%s",
					 result == SN_ERR_MEMORY ? "out of memory" : error.text)
		      : 0;
}

/* Accumulators become more as profiles come; checked after each. */
static int check_across(struct scratch *scratch, uint64_t before)
{
	struct sn_pipeline *pipeline = scratch->pipeline;
	uint64_t bytes = scratch->worker->across.bytes;
	if (bytes == before)
		return 0;
	atomic_fetch_add_explicit(&pipeline->sum_bytes, bytes - before, memory_order_relaxed);
	return sn_pipeline_check_memory(pipeline, 0);
}

static int project_block(struct scratch *scratch, const struct sn_worker *owner,
			 const struct sn_block *block)
{
	struct sn_pipeline *pipeline = scratch->pipeline;
	const struct sn_universe *universe = &pipeline->universe;
	size_t entry_bytes = block->entry_count * sizeof(struct sn_database_plane);
	struct sn_error error = {""};
	if (sn_vec_reserve(&scratch->block, &scratch->block_capacity,
			   entry_bytes + block->data_bytes + 1) < 0)
		return sn_pipeline_out_of_memory(pipeline);
	int result = sn_spill_read(&pipeline->values, scratch->block,
				   entry_bytes + block->data_bytes, block->offset, &error);
	if (result)
		return sn_pipeline_fail(pipeline, result, "%s", error.text);
	const struct sn_database_plane *entries = (const void *)scratch->block;
	uint32_t profile = universe->profile_numbers[universe->first_profiles[block->origin.file] +
						     block->origin.thread];
	uint64_t across = scratch->worker->across.bytes;
	scratch->set_count = scratch->number_count = scratch->place_count = 0;
	sn_major_clear(&scratch->worker->major);
	if (order_entries(scratch, owner, entries, block->entry_count))
		return sn_pipeline_out_of_memory(pipeline);
	for (uint32_t i = 0; i < block->entry_count && !result; i++)
		result = project_entry(scratch, owner, entries + scratch->entry_order[i],
				       scratch->block + entry_bytes, profile);
	if (!result)
		result = check_across(scratch, across);
	return result ? result : keep_planes(scratch, profile);
}

struct projecting {
	struct sn_pipeline *pipeline;
	struct scratch *scratches; /* [thread] */
	size_t *firsts;		   /* [worker + 1]: its blocks among all of this rank's */
};

/* Items are some profiles each, so that threads seldom meet at the counter. */
enum { BLOCKS_PER_ITEM = 8 };

static int project_item(void *context, unsigned number, size_t item)
{
	struct projecting *projecting = context;
	struct sn_pipeline *pipeline = projecting->pipeline;
	size_t first = item * BLOCKS_PER_ITEM, end = first + BLOCKS_PER_ITEM;
	unsigned worker = 0;
	int result = 0;
	for (size_t i = first; i < end && !result; i++) {
		while (worker < pipeline->threads && i >= projecting->firsts[worker + 1])
			worker++;
		if (worker == pipeline->threads)
			break;
		const struct sn_worker *owner = pipeline->workers + worker;
		result = project_block(projecting->scratches + number, owner,
				       owner->blocks + (i - projecting->firsts[worker]));
	}
	return result;
}

/* Which contexts have descendants, and room for the bits of rows. */
static int prepare_universe(struct sn_universe *universe)
{
	universe->row_words = (universe->metric_count + 63) / 64;
	universe->rows = calloc((size_t)universe->context_count * universe->row_words + 1,
				sizeof(*universe->rows));
	universe->inner_numbers =
	    malloc((universe->context_count + 1ull) * sizeof(*universe->inner_numbers));
	if (!universe->rows || !universe->inner_numbers)
		return SN_ERR_MEMORY;
	for (uint32_t c = 0; c < universe->context_count; c++)
		universe->inner_numbers[c] =
		    universe->contexts[c].end > c + 1 ? universe->inner_count++ : SONDE_NONE;
	return 0;
}

static int prepare_worker(struct sn_pipeline *pipeline, struct sn_worker *worker)
{
	const struct sn_universe *universe = &pipeline->universe;
	worker->buckets = calloc(universe->bucket_count + 1ull, sizeof(*worker->buckets));
	return sn_across_init(&worker->across, universe->metric_count, universe->inner_count) ||
		       !worker->buckets
		   ? sn_pipeline_out_of_memory(pipeline)
		   : 0;
}

/* Every thread has a part of every bucket in memory, and there are the more of both the larger the
 * input and the smaller the limit. What grows takes up to twice of what it holds. */
static size_t flush_bytes(const struct sn_pipeline *pipeline)
{
	enum { USUAL = 64 << 10, LEAST = 1 << 10 };
	uint64_t parts = (uint64_t)pipeline->threads * pipeline->universe.bucket_count;
	uint64_t share = pipeline->memory / 12 / parts;
	return share < LEAST ? LEAST : share < USUAL ? share : USUAL;
}

int sn_project(struct sn_pipeline *pipeline)
{
	struct sn_error error = {""};
	struct projecting projecting = {
	    .pipeline = pipeline,
	    .scratches = calloc(pipeline->threads, sizeof(*projecting.scratches)),
	    .firsts = calloc(pipeline->threads + 1ull, sizeof(*projecting.firsts)),
	};
	int result =
	    !projecting.scratches || !projecting.firsts || prepare_universe(&pipeline->universe)
		? sn_pipeline_out_of_memory(pipeline)
		: 0;
	if (!result && (sn_spill_open_beside(&pipeline->planes, pipeline->output, &error) ||
			sn_spill_open_beside(&pipeline->rows, pipeline->output, &error)))
		result = sn_pipeline_fail(pipeline, SN_ERR_IO, "%s", error.text);
	for (unsigned i = 0; i < pipeline->threads && !result; i++) {
		struct sn_worker *worker = pipeline->workers + i;
		projecting.scratches[i] = (struct scratch){
		    .pipeline = pipeline, .worker = worker, .flush_bytes = flush_bytes(pipeline)};
		projecting.firsts[i + 1] = projecting.firsts[i] + worker->block_count;
		result = prepare_worker(pipeline, worker);
	}
	size_t blocks = result ? 0 : projecting.firsts[pipeline->threads];
	if (!result)
		result =
		    sn_pool_run(pipeline->threads, (blocks + BLOCKS_PER_ITEM - 1) / BLOCKS_PER_ITEM,
				project_item, &projecting);
	for (unsigned i = 0; i < pipeline->threads && !result; i++)
		for (uint32_t b = 0; b < pipeline->universe.bucket_count && !result; b++)
			result = flush_bucket(pipeline, pipeline->workers[i].buckets + b);
	for (unsigned i = 0; projecting.scratches && i < pipeline->threads; i++) {
		release_scratch(projecting.scratches + i);
		for (uint32_t b = 0;
		     pipeline->workers[i].buckets && b < pipeline->universe.bucket_count; b++)
			sn_pack_release(&pipeline->workers[i].buckets[b].pack);
	}
	free(projecting.scratches);
	free(projecting.firsts);
	sn_spill_close(&pipeline->values); /* its room on the disk is wanted */
	return result;
}

struct writing {
	struct sn_pipeline *pipeline;
	const struct sn_database_index *index;
	uint64_t entries_at, data_at;
};

static int write_made(struct writing *writing, const struct sn_made *made, unsigned char *bytes)
{
	struct sn_pipeline *pipeline = writing->pipeline;
	const struct sn_database_index *index = writing->index + made->profile;
	size_t entry_bytes = made->entry_count * sizeof(struct sn_database_plane);
	struct sn_error error = {""};
	int result = sn_spill_read(&pipeline->planes, bytes, entry_bytes + made->data_bytes,
				   made->offset, &error);
	if (result)
		return sn_pipeline_fail(pipeline, result, "%s", error.text);
	int failed =
	    sn_db_file_put(pipeline->file.fd, bytes, entry_bytes,
			   writing->entries_at + index->first * sizeof(struct sn_database_plane));
	if (!failed)
		failed = sn_db_file_put(pipeline->file.fd, bytes + entry_bytes, made->data_bytes,
					writing->data_at + index->data);
	return failed ? sn_pipeline_fail(pipeline, SN_ERR_IO, "cannot write '%s': %s",
					 pipeline->output, strerror(failed))
		      : 0;
}

static int write_worker(void *context, unsigned number, size_t item)
{
	struct writing *writing = context;
	struct sn_worker *worker = writing->pipeline->workers + item;
	(void)number;
	int result = 0;
	for (size_t i = 0; i < worker->made_count && !result; i++) {
		const struct sn_made *made = worker->made + i;
		unsigned char *bytes = malloc(made->entry_count * sizeof(struct sn_database_plane) +
					      made->data_bytes + 1);
		result = bytes ? write_made(writing, made, bytes)
			       : sn_pipeline_out_of_memory(writing->pipeline);
		free(bytes);
	}
	return result;
}

int sn_project_write(struct sn_pipeline *pipeline, const struct sn_database_index *index,
		     uint64_t entries_at, uint64_t data_at)
{
	struct writing writing = {pipeline, index, entries_at, data_at};
	int result = sn_pool_run(pipeline->threads, pipeline->threads, write_worker, &writing);
	sn_spill_close(&pipeline->planes);
	return result;
}
