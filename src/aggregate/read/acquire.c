/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading measurements, the first step of analysis; see pipeline.h.
 *
 * A file is an item of work. Files are assigned to ranks by size, the largest first to the rank
 * that has least; each rank computes this itself. A rank's threads get its files from a counter.
 */
#include "aggregate/comm.h"
#include "aggregate/pipeline.h"

#include "base/pool.h"
#include "base/progress/progress.h"
#include "base/sort_by.h"
#include "base/vec.h"

#include <stdlib.h>

/* The planes of a thread's values as a block of the spill. */
static int write_block(struct sn_worker *worker)
{
	const struct sn_major *major = &worker->major;
	struct sn_pipeline *pipeline = worker->pipeline;
	struct sn_spilled_profile block = {
	    .origin = {worker->file, worker->unified.profile_thread++},
	    .entry_count = (uint32_t)major->entry_count,
	    .data_bytes = major->data.count};
	struct sn_error error = {""};
	int result = sn_major_spill(major, &pipeline->values, &block.offset, &error);
	if (result)
		return sn_pipeline_check(pipeline, result, &error);
	return sn_vec_push(&worker->blocks, &worker->block_capacity, &worker->block_count, block)
		   ? sn_pipeline_out_of_memory(pipeline)
		   : 0;
}

/* The thread's values with the worker's numbers, which are counted. */
static int number_values(struct sn_worker *worker, const struct sn_measurement_thread *thread,
			 const uint32_t *nodes, const uint32_t *metrics, size_t *count)
{
	*count = 0;
	if (sn_vec_reserve(&worker->values, &worker->value_capacity, thread->value_count) < 0)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < thread->value_count; i++) {
		const struct sn_value_record *record = thread->values + i;
		uint32_t node = nodes[record->node], metric = metrics[record->metric];
		if (!record->count)
			continue;
		worker->values[(*count)++] = (struct sn_db_value){
		    .metric = metric, .context = node, .stat = sn_merged_stat(record)};
		if (sn_unified_count(&worker->unified, node, metric, record->sum))
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* What merge.h calls for every thread of a measurement. */
static int add_thread(void *context, const struct sn_measurement_thread *thread, uint32_t profile,
		      const uint32_t *nodes, const uint32_t *metrics)
{
	struct sn_worker *worker = context;
	size_t count;
	if (profile == SONDE_NONE || thread->value_count >= SONDE_NONE ||
	    number_values(worker, thread, nodes, metrics, &count) ||
	    sn_major_set(&worker->major, worker->values, count,
			 worker->unified.builder->metric_count))
		return sn_pipeline_out_of_memory(worker->pipeline);
	return write_block(worker);
}

/* Waits until the file fits under the limit beside the others that are being read. */
static void wait_for_room(struct sn_pipeline *pipeline, uint64_t bytes)
{
	uint64_t limit = pipeline->writer.memory / 4;
	pthread_mutex_lock(&pipeline->mutex);
	while (pipeline->in_flight_bytes && pipeline->in_flight_bytes + bytes > limit)
		pthread_cond_wait(&pipeline->room, &pipeline->mutex);
	pipeline->in_flight_bytes += bytes;
	pthread_mutex_unlock(&pipeline->mutex);
}

static void give_room(struct sn_pipeline *pipeline, uint64_t bytes)
{
	pthread_mutex_lock(&pipeline->mutex);
	pipeline->in_flight_bytes -= bytes;
	pthread_cond_broadcast(&pipeline->room);
	pthread_mutex_unlock(&pipeline->mutex);
}

static void note_unreadable(struct sn_pipeline *pipeline, size_t input, const struct sn_error *why)
{
	pthread_mutex_lock(&pipeline->mutex);
	pipeline->unreadable++;
	if (input < pipeline->first_problem.input)
		pipeline->first_problem = (struct sn_problem){input, *why};
	pthread_mutex_unlock(&pipeline->mutex);
}

static void note_read(struct sn_pipeline *pipeline, const struct sn_input *input,
		      const struct sn_measurement *measurement)
{
	pthread_mutex_lock(&pipeline->mutex);
	pipeline->processes += !measurement->is_trace;
	pipeline->fallbacks += measurement->is_fallback;
	pipeline->readable[input->folder]++;
	pthread_mutex_unlock(&pipeline->mutex);
}

/* A tree of contexts that does not fit cannot be worked around: the message names the limit. */
static int check_tree(struct sn_pipeline *pipeline, const struct sn_worker *worker)
{
	uint64_t bytes = sn_unified_bytes(&worker->unified);
	/* the tables of a worker, those of all, and what orders them */
	if (pipeline->writer.memory == UINT64_MAX ||
	    bytes <= pipeline->writer.memory / (2 + pipeline->writer.threads))
		return 0;
	return sn_pipeline_fail(pipeline, SN_ERR_ARGUMENT,
				"the calling contexts alone need more than %llu MiB of memory: "
				"allow more with --memory",
				(unsigned long long)(pipeline->writer.memory >> 20));
}

static int read_input(struct sn_worker *worker, size_t number)
{
	struct sn_pipeline *pipeline = worker->pipeline;
	const struct sn_input *input = pipeline->inputs.items + number;
	struct sn_measurement *measurement;
	struct sn_error why = {""};
	int result = sn_measurement_open(input->path, &measurement, &why);
	if (result == SN_ERR_MEMORY)
		return sn_pipeline_fail(pipeline, result, "%s", why.text);
	if (result) {
		note_unreadable(pipeline, number, &why);
		return 0;
	}
	worker->file = (uint32_t)number;
	worker->unified.merge.run = input->run;
	worker->unified.profile_thread = 0;
	result = sn_unified_add(&worker->unified, measurement, (uint32_t)number);
	note_read(pipeline, input, measurement);
	sn_measurement_free(measurement);
	if (result == SN_ERR_MEMORY)
		return sn_pipeline_out_of_memory(pipeline);
	return result ? result : check_tree(pipeline, worker);
}

struct share {
	struct sn_pipeline *pipeline;
	size_t *inputs; /* of this rank */
	size_t count;
};

static int read_one(void *context, unsigned number, size_t item)
{
	struct share *share = context;
	struct sn_pipeline *pipeline = share->pipeline;
	size_t input = share->inputs[item];
	uint64_t bytes = pipeline->inputs.items[input].bytes;
	if (bytes > pipeline->writer.memory / 2)
		return sn_pipeline_fail(pipeline, SN_ERR_ARGUMENT,
					"'%s' alone needs more than %llu MiB of memory: allow more "
					"with --memory",
					pipeline->inputs.items[input].path,
					(unsigned long long)(pipeline->writer.memory >> 20));
	wait_for_room(pipeline, bytes);
	int result = read_input(pipeline->workers + number, input);
	give_room(pipeline, bytes);
	sn_progress_add(bytes);
	return result;
}

/* They lie in one array. */
SN_SORT_BY(sort_largest, const struct sn_input *, const void *,
	   SN_ORDER((*b)->bytes, (*a)->bytes) ?: SN_ORDER(*a, *b));

/* This rank's inputs, the largest first. */
static int choose_share(struct sn_pipeline *pipeline, struct share *share)
{
	unsigned ranks = sn_comm_size();
	size_t count = pipeline->inputs.count;
	const struct sn_input **sorted = malloc((count + 1) * sizeof(*sorted));
	uint64_t *loads = calloc(ranks, sizeof(*loads));
	share->inputs = malloc((count + 1) * sizeof(*share->inputs));
	bool has_memory = sorted && loads && share->inputs;
	for (size_t i = 0; i < count && has_memory; i++)
		sorted[i] = pipeline->inputs.items + i;
	if (has_memory)
		sort_largest(sorted, count, NULL);
	for (size_t i = 0; i < count && has_memory; i++) {
		unsigned least = 0;
		for (unsigned r = 1; r < ranks; r++)
			if (loads[r] < loads[least])
				least = r;
		loads[least] += sorted[i]->bytes + 4096;
		if (least == sn_comm_rank())
			share->inputs[share->count++] =
			    (size_t)(sorted[i] - pipeline->inputs.items);
	}
	free(sorted);
	free(loads);
	return has_memory ? 0 : sn_pipeline_out_of_memory(pipeline);
}

int sn_acquire(struct sn_pipeline *pipeline)
{
	struct share share = {.pipeline = pipeline};
	struct sn_error error = {""};
	uint64_t bytes = 0;
	pipeline->readable = calloc(pipeline->folder_count, sizeof(*pipeline->readable));
	pipeline->workers = calloc(pipeline->writer.threads, sizeof(*pipeline->workers));
	if (!pipeline->readable || !pipeline->workers)
		return sn_pipeline_out_of_memory(pipeline);
	int result = sn_spill_open_beside(&pipeline->values, pipeline->writer.output, &error);
	if (result)
		return sn_pipeline_check(pipeline, result, &error);
	for (unsigned i = 0; i < pipeline->writer.threads && !result; i++) {
		struct sn_worker *worker = pipeline->workers + i;
		worker->pipeline = pipeline;
		sn_major_init(&worker->major, 1);
		if (sn_unified_init(&worker->unified))
			result = sn_pipeline_out_of_memory(pipeline);
		worker->unified.merge.on_thread = add_thread;
		worker->unified.merge.on_thread_context = worker;
	}
	if (!result)
		result = choose_share(pipeline, &share);
	for (size_t i = 0; i < share.count && !result; i++)
		bytes += pipeline->inputs.items[share.inputs[i]].bytes;
	sn_progress_begin("reading measurements", bytes);
	if (!result)
		result = sn_pool_run(pipeline->writer.threads, share.count, read_one, &share);
	free(share.inputs);
	return result;
}
