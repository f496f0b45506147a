/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the tables of all threads to one set of numbers that all ranks share; see pipeline.h.
 *
 * Tables are merged as a tree, in place: the numbers that a worker has assigned stay the same, so
 * that they can be translated later.
 */
#include "aggregate/comm.h"
#include "aggregate/pipeline.h"

#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

/* One level of the tree: every 2 * step-th worker absorbs the one `step` behind it. */
struct level {
	struct sn_pipeline *pipeline;
	unsigned step;
};

static int absorb_worker(void *context, unsigned worker, size_t item)
{
	const struct level *level = context;
	struct sn_pipeline *pipeline = level->pipeline;
	unsigned into = (unsigned)item * 2 * level->step, from = into + level->step;
	if (from >= pipeline->writer.threads)
		return 0;
	return sn_unified_absorb(&pipeline->workers[into].unified, &pipeline->workers[from].unified)
		   ? sn_pipeline_out_of_memory(pipeline)
		   : 0;
}

static int unify_threads(struct sn_pipeline *pipeline)
{
	unsigned threads = pipeline->writer.threads;
	int result = 0;
	for (unsigned step = 1; step < threads && !result; step *= 2)
		result = sn_pool_run(threads, (threads + 2 * step - 1) / (2 * step), absorb_worker,
				     &(struct level){pipeline, step});
	return result;
}

/* Nothing at all where this rank has failed: the others must not wait in vain. */
static void send_tables(struct sn_pipeline *pipeline, unsigned to, int *result)
{
	struct sn_buffer buffer = {0};
	if (!*result)
		sn_unified_pack(&(struct sn_pack){.to = &buffer}, &pipeline->workers->unified);
	if (buffer.failed)
		*result = sn_pipeline_out_of_memory(pipeline);
	sn_comm()->send(to, buffer.bytes, *result ? 0 : buffer.count);
	sn_buffer_release(&buffer);
}

static void receive_tables(struct sn_pipeline *pipeline, unsigned from, int *result)
{
	struct sn_peer_part part;
	struct sn_unified other = {0};
	sn_comm()->receive(from, &part);
	struct sn_pack pack = sn_unpack(part.bytes, part.length);
	if (part.length && !*result) {
		bool has_failed = sn_unified_init(&other);
		if (!has_failed)
			sn_unified_pack(&pack, &other);
		if (has_failed || pack.from.failed ||
		    sn_unified_absorb(&pipeline->workers->unified, &other))
			*result = sn_pipeline_out_of_memory(pipeline);
	}
	sn_unified_release(&other);
	free(part.bytes);
}

int sn_unify_all(struct sn_pipeline *pipeline)
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
static int set_axes(struct sn_pipeline *pipeline)
{
	const struct sn_numbering *numbering = &pipeline->numbering;
	const struct sn_unified *all = &pipeline->workers->unified;
	struct sn_db_axes *axes = &pipeline->writer.axes;
	int result = sn_db_writer_axes(&pipeline->writer, &pipeline->ordered,
				       numbering->metric_count, numbering->profile_count);
	if (result)
		return result;
	for (uint32_t i = 0; i < numbering->node_count && i < all->count_capacity; i++)
		axes->value_counts[numbering->node_contexts[i]] += all->value_counts[i];
	for (uint32_t m = 0; m < numbering->metric_count && m < all->total_count; m++)
		axes->shifts[numbering->metric_numbers[m]] = shift_of(all->totals[m]);
	sn_db_writer_divide(&pipeline->writer);
	return 0;
}

static int number_profiles(struct sn_pipeline *pipeline)
{
	struct sn_numbering *numbering = &pipeline->numbering;
	const struct sn_unified *all = &pipeline->workers->unified;
	uint32_t count = numbering->profile_count, files = (uint32_t)pipeline->inputs.count;
	numbering->file_count = files;
	numbering->first_profiles = calloc(files + 1ull, sizeof(*numbering->first_profiles));
	numbering->profile_numbers = malloc((count + 1ull) * sizeof(*numbering->profile_numbers));
	if (!numbering->first_profiles || !numbering->profile_numbers)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		numbering->first_profiles[all->origins[i].file + 1]++;
		numbering->profile_numbers[i] = pipeline->ordered.numbers.profiles[i];
	}
	for (uint32_t i = 0; i < files; i++)
		numbering->first_profiles[i + 1] += numbering->first_profiles[i];
	return 0;
}

int sn_numbering_assign(struct sn_pipeline *pipeline)
{
	struct sn_numbering *numbering = &pipeline->numbering;
	const struct sn_unified *all = &pipeline->workers->unified;
	const struct sn_db_ordered *ordered = &pipeline->ordered;
	uint32_t nodes = all->merge.nodes.count;
	uint32_t metrics = (uint32_t)all->builder->metric_count;
	*numbering = (struct sn_numbering){
	    .node_count = nodes,
	    .metric_count = metrics,
	    .profile_count = (uint32_t)all->builder->profile_count,
	    .node_contexts = malloc((nodes + 1ull) * sizeof(*numbering->node_contexts)),
	    .metric_numbers = malloc((metrics + 1ull) * sizeof(*numbering->metric_numbers)),
	};
	if (!numbering->node_contexts || !numbering->metric_numbers || number_profiles(pipeline))
		return sn_pipeline_out_of_memory(pipeline);
	for (uint32_t i = 0; i < nodes; i++)
		numbering->node_contexts[i] = ordered->numbers.contexts[all->merge.contexts[i]];
	memcpy(numbering->metric_numbers, ordered->numbers.metrics,
	       metrics * sizeof(*ordered->numbers.metrics));
	return set_axes(pipeline);
}

void sn_numbering_release(struct sn_numbering *numbering)
{
	free(numbering->node_contexts);
	free(numbering->metric_numbers);
	free(numbering->first_profiles);
	free(numbering->profile_numbers);
	*numbering = (struct sn_numbering){0};
}

static void pack_numbering(struct sn_pack *pack, struct sn_numbering *numbering)
{
	size_t files = numbering->file_count + 1ull;
	sn_pack_array(pack, &numbering->node_contexts, &numbering->node_count);
	sn_pack_array(pack, &numbering->metric_numbers, &numbering->metric_count);
	sn_pack_array(pack, &numbering->first_profiles, &files);
	sn_pack_array(pack, &numbering->profile_numbers, &numbering->profile_count);
	numbering->file_count = (uint32_t)(files ? files - 1 : 0);
}

struct translating {
	struct sn_pipeline *pipeline;
	const struct sn_unified *all;
};

static int translate_worker(void *context, unsigned number, size_t item)
{
	struct translating *translating = context;
	struct sn_pipeline *pipeline = translating->pipeline;
	const struct sn_numbering *numbering = &pipeline->numbering;
	struct sn_worker *worker = pipeline->workers + item;
	worker->nodes =
	    sn_unified_translate(translating->all, &worker->unified, false, &worker->metrics);
	if (!worker->nodes)
		return sn_pipeline_out_of_memory(pipeline);
	for (uint32_t i = 0; i < worker->unified.merge.nodes.count; i++)
		worker->nodes[i] = numbering->node_contexts[worker->nodes[i]];
	for (size_t i = 0; i < worker->unified.builder->metric_count; i++)
		worker->metrics[i] = numbering->metric_numbers[worker->metrics[i]];
	return 0;
}

static void pack_all(struct sn_pack *pack, struct sn_pipeline *pipeline, struct sn_unified *all)
{
	sn_db_axes_pack(pack, &pipeline->writer.axes);
	pack_numbering(pack, &pipeline->numbering);
	sn_unified_pack(pack, all);
}

/* Of rank 0 to the others: *all is what they get. */
static int broadcast(struct sn_pipeline *pipeline, struct sn_unified *all)
{
	struct sn_buffer buffer = {0};
	bool is_first = sn_comm_rank() == 0;
	if (is_first)
		pack_all(&(struct sn_pack){.to = &buffer}, pipeline, &pipeline->workers->unified);
	/* an empty message: rank 0 has no memory for it */
	struct sn_peer_part part = {buffer.bytes, buffer.failed ? 0 : buffer.count};
	sn_comm_broadcast_part(&part);
	bool has_failed = !part.length;
	if (!is_first && !has_failed) {
		struct sn_pack pack = sn_unpack(part.bytes, part.length);
		has_failed = sn_unified_init(all);
		if (!has_failed)
			pack_all(&pack, pipeline, all);
		has_failed |= pack.from.failed;
	}
	free(part.bytes);
	return has_failed ? sn_pipeline_out_of_memory(pipeline) : 0;
}

int sn_numbering_share(struct sn_pipeline *pipeline)
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
