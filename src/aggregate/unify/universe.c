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
	if (from >= pipeline->writer.threads)
		return 0;
	return sn_unified_absorb(&pipeline->workers[into].unified, &pipeline->workers[from].unified)
		   ? sn_pipeline_out_of_memory(pipeline)
		   : 0;
}

static int unify_threads(struct sn_pipeline *pipeline)
{
	int result = 0;
	for (unsigned step = 1; step < pipeline->writer.threads && !result; step *= 2) {
		struct pairing pairing = {pipeline, step};
		size_t pairs = (pipeline->writer.threads + 2 * step - 1) / (2 * step);
		result = sn_pool_run(pipeline->writer.threads, pairs, absorb_pair, &pairing);
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
	sn_comm()->send(to, pack.bytes, *result ? 0 : pack.length);
	sn_pack_release(&pack);
}

static void receive_tables(struct sn_pipeline *pipeline, unsigned from, int *result)
{
	struct sn_peer_part part;
	struct sn_unified other = {0};
	sn_comm()->receive(from, &part);
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

/* Bits to leave out so that the square of all of a metric's values together fits; see across.h. */
static int32_t shift_of(unsigned __int128 total)
{
	int32_t bits = 0;
	for (; total; total >>= 1)
		bits++;
	return bits > SN_ACROSS_BITS ? bits - SN_ACROSS_BITS : 0;
}

/* The writer's axes: how many values each context has, and how large each metric's are. */
static int make_axes(struct sn_pipeline *pipeline)
{
	const struct sn_universe *universe = &pipeline->universe;
	const struct sn_unified *all = &pipeline->workers->unified;
	struct sn_db_ordered *ordered = &pipeline->ordered;
	uint64_t *counts = calloc(ordered->context_count + 1ull, sizeof(*counts));
	int32_t *shifts = calloc(universe->metric_count + 1ull, sizeof(*shifts));
	int result = counts && shifts ? 0 : sn_pipeline_out_of_memory(pipeline);
	for (uint32_t i = 0; i < universe->node_count && i < all->count_capacity && !result; i++)
		counts[universe->node_contexts[i]] += all->value_counts[i];
	for (uint32_t m = 0; m < universe->metric_count && m < all->total_count && !result; m++)
		shifts[universe->metric_numbers[m]] = shift_of(all->totals[m]);
	if (!result)
		result = sn_db_writer_axes(&pipeline->writer, ordered, universe->metric_count,
					   universe->profile_count, counts, shifts);
	free(counts);
	free(shifts);
	return result;
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

int sn_universe_number(struct sn_pipeline *pipeline)
{
	struct sn_universe *universe = &pipeline->universe;
	const struct sn_unified *all = &pipeline->workers->unified;
	const struct sn_db_ordered *ordered = &pipeline->ordered;
	uint32_t nodes = all->merge.nodes.count;
	uint32_t metrics = (uint32_t)all->builder->metric_count;
	*universe = (struct sn_universe){
	    .node_count = nodes,
	    .metric_count = metrics,
	    .profile_count = (uint32_t)all->builder->profile_count,
	    .node_contexts = malloc((nodes + 1ull) * sizeof(*universe->node_contexts)),
	    .metric_numbers = malloc((metrics + 1ull) * sizeof(*universe->metric_numbers)),
	};
	if (!universe->node_contexts || !universe->metric_numbers || number_profiles(pipeline))
		return sn_pipeline_out_of_memory(pipeline);
	for (uint32_t i = 0; i < nodes; i++)
		universe->node_contexts[i] = ordered->context_rank[all->merge.contexts[i]];
	memcpy(universe->metric_numbers, ordered->metric_rank,
	       metrics * sizeof(*ordered->metric_rank));
	return make_axes(pipeline);
}

void sn_universe_release(struct sn_universe *universe)
{
	free(universe->node_contexts);
	free(universe->metric_numbers);
	free(universe->first_profiles);
	free(universe->profile_numbers);
	*universe = (struct sn_universe){0};
}

static void pack_universe(struct sn_pack *pack, const struct sn_universe *u)
{
	sn_pack_array(pack, u->node_contexts, u->node_count, sizeof(*u->node_contexts));
	sn_pack_array(pack, u->metric_numbers, u->metric_count, sizeof(*u->metric_numbers));
	sn_pack_array(pack, u->first_profiles, u->file_count + 1ull, sizeof(*u->first_profiles));
	sn_pack_array(pack, u->profile_numbers, u->profile_count, sizeof(*u->profile_numbers));
}

static void unpack_universe(struct sn_unpack *unpack, struct sn_universe *u)
{
	uint64_t count, files;
	u->node_contexts = sn_unpack_array(unpack, &count, sizeof(*u->node_contexts));
	u->node_count = (uint32_t)count;
	u->metric_numbers = sn_unpack_array(unpack, &count, sizeof(*u->metric_numbers));
	u->metric_count = (uint32_t)count;
	u->first_profiles = sn_unpack_array(unpack, &files, sizeof(*u->first_profiles));
	u->file_count = (uint32_t)(files ? files - 1 : 0);
	u->profile_numbers = sn_unpack_array(unpack, &count, sizeof(*u->profile_numbers));
	u->profile_count = (uint32_t)count;
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
		sn_pack_axes(&pack, &pipeline->writer.axes);
		pack_universe(&pack, &pipeline->universe);
		sn_pack_unified(&pack, &pipeline->workers->unified);
	}
	/* an empty message: rank 0 has no memory for it */
	struct sn_peer_part part = {pack.bytes, pack.failed ? 0 : pack.length};
	sn_comm_broadcast_part(&part);
	struct sn_unpack unpack = {part.bytes, part.length, !part.length};
	if (!is_first && !unpack.failed) {
		sn_unpack_axes(&unpack, &pipeline->writer.axes);
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
		result = sn_pool_run(pipeline->writer.threads, pipeline->writer.threads,
				     translate_worker, &translating);
	for (unsigned i = 0; i < pipeline->writer.threads; i++)
		sn_unified_release(&pipeline->workers[i].unified);
	sn_unified_release(&received);
	return result;
}
