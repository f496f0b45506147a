/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From everybody's tables to one set of numbers that all ranks know; see pipeline.h.
 *
 * Tables are taken into each other as a tree, in place: numbers that a worker has given out stay
 * what they are, so that it can be asked later what became of them.
 */
#include "aggregate/comm.h"
#include "aggregate/pipeline.h"

#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

struct pairing {
	struct sn_pipeline *pipeline;
	unsigned step;
};

static int absorb_pair(void *context, unsigned worker, size_t item)
{
	struct pairing *pairing = context;
	struct sn_pipeline *pipeline = pairing->pipeline;
	unsigned into = (unsigned)item * 2 * pairing->step, from = into + pairing->step;
	(void)worker;
	if (from >= pipeline->threads)
		return 0;
	return sn_unified_absorb(&pipeline->workers[into].unified, &pipeline->workers[from].unified)
		   ? sn_pipeline_out_of_memory(pipeline)
		   : 0;
}

static int unify_threads(struct sn_pipeline *pipeline)
{
	int result = 0;
	for (unsigned step = 1; step < pipeline->threads && !result; step *= 2) {
		struct pairing pairing = {pipeline, step};
		size_t pairs = (pipeline->threads + 2 * step - 1) / (2 * step);
		result = sn_pool_run(pipeline->threads, pairs, absorb_pair, &pairing);
	}
	return result;
}

/* Nothing at all where this rank has failed: the others must not wait in vain. */
static void send_tables(struct sn_pipeline *pipeline, unsigned to, int *result)
{
	struct sn_pack pack = {0};
	if (!*result)
		sn_pack_unified(&pack, &pipeline->workers->unified);
	if (pack.failed)
		*result = sn_pipeline_out_of_memory(pipeline);
	sn_comm_send(to, pack.bytes, *result ? 0 : pack.length);
	sn_pack_release(&pack);
}

static void receive_tables(struct sn_pipeline *pipeline, unsigned from, int *result)
{
	struct sn_comm_part part;
	struct sn_unified other = {0};
	sn_comm_receive(from, &part);
	struct sn_unpack unpack = {part.bytes, part.length, false};
	if (part.length && !*result) {
		if (sn_unified_init(&other))
			unpack.failed = true;
		else
			sn_unpack_unified(&unpack, &other);
		if (unpack.failed || sn_unified_absorb(&pipeline->workers->unified, &other))
			*result = sn_pipeline_out_of_memory(pipeline);
	}
	sn_unified_release(&other);
	free(part.bytes);
}

int sn_universe_make(struct sn_pipeline *pipeline)
{
	unsigned rank = sn_comm_rank(), size = sn_comm_size();
	int result = unify_threads(pipeline);
	for (unsigned step = 1; step < size; step *= 2) {
		if (rank % (2 * step) == step) {
			send_tables(pipeline, rank - step, &result);
			break;
		}
		if (rank % (2 * step) == 0 && rank + step < size)
			receive_tables(pipeline, rank + step, &result);
	}
	return result;
}

/* Buckets of contexts with about as many values each; rows.c holds one for each thread. */
static int make_buckets(struct sn_pipeline *pipeline, uint64_t capacity)
{
	struct sn_universe *universe = &pipeline->universe;
	const struct sn_unified *all = &pipeline->workers->unified;
	uint64_t *counts = calloc(universe->context_count + 1ull, sizeof(*counts));
	uint64_t total = 0, used = 0;
	universe->bucket_ends =
	    malloc((universe->context_count + 1ull) * sizeof(*universe->bucket_ends));
	if (!counts || !universe->bucket_ends) {
		free(counts);
		return SN_ERR_MEMORY;
	}
	for (uint32_t i = 0; i < universe->node_count && i < all->count_capacity; i++) {
		counts[universe->node_contexts[i]] += all->value_counts[i];
		total += all->value_counts[i];
	}
	/* enough of them that everybody has several to take, unless they would be tiny */
	uint64_t shares = 4ull * pipeline->threads * sn_comm_size();
	if (capacity > total / shares + 1)
		capacity = total / shares + 1;
	if (capacity < 4096)
		capacity = 4096;
	for (uint32_t c = 0; c < universe->context_count; c++) {
		if (used && used + counts[c] > capacity) {
			universe->bucket_ends[universe->bucket_count++] = c;
			used = 0;
		}
		used += counts[c];
	}
	universe->bucket_ends[universe->bucket_count++] = universe->context_count;
	free(counts);
	return 0;
}

/* Bits to leave out so that the square of all of a metric's values together fits 128 bits. */
static uint32_t shift_of(unsigned __int128 total)
{
	uint32_t bits = 0;
	for (; total; total >>= 1)
		bits++;
	return bits > 63 ? bits - 63 : 0;
}

static int number_metrics(struct sn_pipeline *pipeline)
{
	struct sn_universe *universe = &pipeline->universe;
	const struct sn_unified *all = &pipeline->workers->unified;
	const struct sn_db_ordered *ordered = &pipeline->ordered;
	uint32_t count = universe->metric_count;
	universe->periods = malloc((count + 1ull) * sizeof(*universe->periods));
	universe->shifts = calloc(count + 1ull, sizeof(*universe->shifts));
	universe->metric_numbers = malloc((count + 1ull) * sizeof(*universe->metric_numbers));
	if (!universe->periods || !universe->shifts || !universe->metric_numbers)
		return SN_ERR_MEMORY;
	for (uint32_t m = 0; m < count; m++) {
		universe->periods[m] = (double)ordered->metrics[m].period;
		universe->metric_numbers[m] = ordered->metric_rank[m];
	}
	for (uint32_t m = 0; m < count && m < all->total_count; m++)
		universe->shifts[ordered->metric_rank[m]] = shift_of(all->totals[m]);
	return 0;
}

static int number_profiles(struct sn_pipeline *pipeline)
{
	struct sn_universe *universe = &pipeline->universe;
	const struct sn_unified *all = &pipeline->workers->unified;
	uint32_t count = universe->profile_count, files = (uint32_t)pipeline->input_count;
	universe->file_count = files;
	universe->first_profiles = calloc(files + 1ull, sizeof(*universe->first_profiles));
	universe->profile_numbers = malloc((count + 1ull) * sizeof(*universe->profile_numbers));
	if (!universe->first_profiles || !universe->profile_numbers)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		universe->first_profiles[all->origins[i].file + 1]++;
		universe->profile_numbers[i] = pipeline->ordered.profile_rank[i];
	}
	for (uint32_t i = 0; i < files; i++)
		universe->first_profiles[i + 1] += universe->first_profiles[i];
	return 0;
}

int sn_universe_number(struct sn_pipeline *pipeline, uint64_t bucket_capacity)
{
	struct sn_universe *universe = &pipeline->universe;
	const struct sn_unified *all = &pipeline->workers->unified;
	struct sn_db_ordered *ordered = &pipeline->ordered;
	uint32_t nodes = all->merge.nodes.count;
	*universe = (struct sn_universe){
	    .context_count = ordered->context_count,
	    .metric_count = (uint32_t)all->builder->metric_count,
	    .profile_count = (uint32_t)all->builder->profile_count,
	    .node_count = nodes,
	    .source_metric_count = (uint32_t)all->builder->metric_count,
	    .contexts = ordered->contexts,
	    .node_contexts = malloc((nodes + 1ull) * sizeof(*universe->node_contexts)),
	};
	ordered->contexts = NULL; /* moved */
	if (!universe->node_contexts)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < nodes; i++)
		universe->node_contexts[i] = ordered->context_rank[all->merge.contexts[i]];
	int result = number_metrics(pipeline);
	if (!result)
		result = number_profiles(pipeline);
	return result ? result : make_buckets(pipeline, bucket_capacity);
}

void sn_universe_release(struct sn_universe *universe)
{
	free(universe->contexts);
	free(universe->periods);
	free(universe->shifts);
	free(universe->node_contexts);
	free(universe->metric_numbers);
	free(universe->first_profiles);
	free(universe->profile_numbers);
	free(universe->bucket_ends);
	free(universe->inner_numbers);
	free(universe->rows);
	*universe = (struct sn_universe){0};
}

static void pack_universe(struct sn_pack *pack, const struct sn_universe *u)
{
	sn_pack_array(pack, u->contexts, u->context_count, sizeof(*u->contexts));
	sn_pack_array(pack, u->periods, u->metric_count, sizeof(*u->periods));
	sn_pack_array(pack, u->shifts, u->metric_count, sizeof(*u->shifts));
	sn_pack_array(pack, u->node_contexts, u->node_count, sizeof(*u->node_contexts));
	sn_pack_array(pack, u->metric_numbers, u->source_metric_count, sizeof(*u->metric_numbers));
	sn_pack_array(pack, u->first_profiles, u->file_count + 1ull, sizeof(*u->first_profiles));
	sn_pack_array(pack, u->profile_numbers, u->profile_count, sizeof(*u->profile_numbers));
	sn_pack_array(pack, u->bucket_ends, u->bucket_count, sizeof(*u->bucket_ends));
}

static void unpack_universe(struct sn_unpack *unpack, struct sn_universe *u)
{
	uint64_t count, files;
	u->contexts = sn_unpack_array(unpack, &count, sizeof(*u->contexts));
	u->context_count = (uint32_t)count;
	u->periods = sn_unpack_array(unpack, &count, sizeof(*u->periods));
	u->shifts = sn_unpack_array(unpack, &count, sizeof(*u->shifts));
	u->metric_count = (uint32_t)count;
	u->node_contexts = sn_unpack_array(unpack, &count, sizeof(*u->node_contexts));
	u->node_count = (uint32_t)count;
	u->metric_numbers = sn_unpack_array(unpack, &count, sizeof(*u->metric_numbers));
	u->source_metric_count = (uint32_t)count;
	u->first_profiles = sn_unpack_array(unpack, &files, sizeof(*u->first_profiles));
	u->file_count = (uint32_t)(files ? files - 1 : 0);
	u->profile_numbers = sn_unpack_array(unpack, &count, sizeof(*u->profile_numbers));
	u->profile_count = (uint32_t)count;
	u->bucket_ends = sn_unpack_array(unpack, &count, sizeof(*u->bucket_ends));
	u->bucket_count = (uint32_t)count;
}

struct translating {
	struct sn_pipeline *pipeline;
	const struct sn_unified *all;
};

static int translate_worker(void *context, unsigned number, size_t item)
{
	struct translating *translating = context;
	struct sn_pipeline *pipeline = translating->pipeline;
	const struct sn_universe *universe = &pipeline->universe;
	struct sn_worker *worker = pipeline->workers + item;
	(void)number;
	worker->nodes = sn_unified_translate(translating->all, &worker->unified, &worker->metrics);
	if (!worker->nodes)
		return sn_pipeline_out_of_memory(pipeline);
	for (uint32_t i = 0; i < worker->unified.merge.nodes.count; i++)
		worker->nodes[i] = universe->node_contexts[worker->nodes[i]];
	for (size_t i = 0; i < worker->unified.builder->metric_count; i++)
		worker->metrics[i] = universe->metric_numbers[worker->metrics[i]];
	return 0;
}

/* Of rank 0 to the others: *all is what they get. */
static int broadcast(struct sn_pipeline *pipeline, struct sn_unified *all)
{
	struct sn_pack pack = {0};
	bool is_first = sn_comm_rank() == 0;
	if (is_first) {
		pack_universe(&pack, &pipeline->universe);
		sn_pack_unified(&pack, &pipeline->workers->unified);
	}
	/* an empty message: rank 0 has no memory for it */
	struct sn_comm_part part = {pack.bytes, pack.failed ? 0 : pack.length};
	sn_comm_broadcast_part(&part);
	struct sn_unpack unpack = {part.bytes, part.length, !part.length};
	if (!is_first && !unpack.failed) {
		unpack_universe(&unpack, &pipeline->universe);
		if (sn_unified_init(all))
			unpack.failed = true;
		else
			sn_unpack_unified(&unpack, all);
	}
	free(part.bytes);
	return unpack.failed ? sn_pipeline_out_of_memory(pipeline) : 0;
}

int sn_universe_share(struct sn_pipeline *pipeline)
{
	struct sn_unified received = {0};
	struct translating translating = {pipeline, &pipeline->workers->unified};
	int result = 0;
	if (sn_comm_size() > 1)
		result = broadcast(pipeline, &received);
	if (sn_comm_rank())
		translating.all = &received;
	if (!result)
		result = sn_pool_run(pipeline->threads, pipeline->threads, translate_worker,
				     &translating);
	for (unsigned i = 0; i < pipeline->threads; i++)
		sn_unified_release(&pipeline->workers[i].unified);
	sn_unified_release(&received);
	return result;
}
