/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading measurements, the first step of analysis; see pipeline.h.
 *
 * A file is an item of work. Ranks take files by size, the largest first to the one that has least,
 * which every rank works out by itself; a rank's threads take them from a counter.
 */
#include "aggregate/comm.h"
#include "aggregate/pipeline.h"

#include "base/pool.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* A thread's values, metric by metric, as a block of the spill. */
static int write_block(struct sn_worker *worker, uint32_t profile_thread)
{
	struct sn_pipeline *pipeline = worker->pipeline;
	const struct sn_major *major = &worker->major;
	size_t entry_bytes = major->entry_count * sn_major_entry_bytes(major);
	struct sn_error error = {""};
	struct sn_spilled_profile block = {.origin = {worker->file, profile_thread},
					   .entry_count = (uint32_t)major->entry_count,
					   .data_bytes = major->data_bytes};
	uint64_t data;
	if (sn_vec_reserve(&worker->blocks, &worker->block_capacity, worker->block_count + 1) < 0)
		return sn_pipeline_out_of_memory(pipeline);
	/* in one piece: a block is read at once */
	struct sn_pack *pack = &(struct sn_pack){0};
	sn_pack_put(pack, major->entries, entry_bytes);
	sn_pack_put(pack, major->data, major->data_bytes);
	int result = pack->failed ? SN_ERR_MEMORY
				  : sn_spill_append(&pipeline->values, pack->bytes, pack->length,
						    &data, &error);
	sn_pack_release(pack);
	block.offset = data;
	worker->blocks[worker->block_count++] = block;
	return result ? sn_pipeline_fail(pipeline, result, "%s",
					 result == SN_ERR_MEMORY ? "out of memory" : error.text)
		      : 0;
}

static void put_value(struct sn_worker *worker, uint32_t at, uint32_t node,
		      const struct sn_value_record *record)
{
	const double numbers[SONDE_DB_PART_COUNT] = {(double)record->count, (double)record->sum,
						     (double)record->min, (double)record->max,
						     record->sum_squares};
	worker->ids[at] = node;
	memcpy(worker->numbers + (size_t)at * SONDE_DB_PART_COUNT, numbers, sizeof(numbers));
}

static int reserve_scratch(struct sn_worker *worker, size_t values, size_t metrics)
{
	if (sn_vec_reserve(&worker->ids, &worker->id_capacity, values + 1) < 0 ||
	    sn_vec_reserve(&worker->numbers, &worker->number_capacity,
			   (values + 1) * SONDE_DB_PART_COUNT) < 0 ||
	    sn_vec_reserve(&worker->starts, &worker->start_capacity, metrics + 2) < 0)
		return SN_ERR_MEMORY;
	memset(worker->starts, 0, (metrics + 2) * sizeof(*worker->starts));
	return 0;
}

/* Sorts values by metric (counting), and counts them. */
static int sort_values(struct sn_worker *worker, const struct sn_measurement_thread *thread,
		       const uint32_t *nodes, const uint32_t *metrics)
{
	uint32_t *starts = worker->starts + 1;
	uint32_t metric_count = (uint32_t)worker->unified.builder->metric_count;
	for (size_t i = 0; i < thread->value_count; i++)
		starts[metrics[thread->values[i].metric]] += thread->values[i].count > 0;
	for (uint32_t m = 1; m < metric_count; m++)
		starts[m] += starts[m - 1];
	/* starts[m] is one past the values of m; starts[m - 1], as worker->starts[m], where they
	 * begin
	 */
	for (size_t i = 0; i < thread->value_count; i++) {
		const struct sn_value_record *record = thread->values + i;
		uint32_t metric = metrics[record->metric];
		if (!record->count)
			continue;
		put_value(worker, worker->starts[metric]++, nodes[record->node], record);
		if (sn_unified_count(&worker->unified, nodes[record->node], metric, record->sum))
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* What merge.h calls for every thread of a measurement. */
static int take(void *context, const struct sn_measurement_thread *thread, uint32_t profile,
		const uint32_t *nodes, const uint32_t *metrics)
{
	struct sn_worker *worker = context;
	uint32_t metric_count = (uint32_t)worker->unified.builder->metric_count;
	(void)profile;
	if (profile == SONDE_NONE || thread->value_count >= SONDE_NONE ||
	    reserve_scratch(worker, thread->value_count, metric_count) ||
	    sort_values(worker, thread, nodes, metrics))
		return sn_pipeline_out_of_memory(worker->pipeline);
	sn_major_clear(&worker->major);
	uint32_t first = 0;
	for (uint32_t m = 0; m < metric_count; m++) {
		uint32_t end = worker->starts[m];
		int result =
		    end == first
			? 0
			: sn_major_add(&worker->major, m, worker->ids + first,
				       worker->numbers + (size_t)first * SONDE_DB_PART_COUNT,
				       end - first, 0);
		if (result)
			return sn_pipeline_out_of_memory(worker->pipeline);
		first = end;
	}
	return write_block(worker, worker->unified.profile_thread++);
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

static void make_room(struct sn_pipeline *pipeline, uint64_t bytes)
{
	pthread_mutex_lock(&pipeline->mutex);
	pipeline->in_flight_bytes -= bytes;
	pthread_cond_broadcast(&pipeline->room);
	pthread_mutex_unlock(&pipeline->mutex);
}

static void note_unreadable(struct sn_pipeline *pipeline, size_t input, const struct sn_error *why)
{
	pthread_mutex_lock(&pipeline->mutex);
	if (!pipeline->unreadable++ || input < pipeline->first_problem_input) {
		pipeline->first_problem = *why;
		pipeline->first_problem_input = input;
	}
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

/* A tree of contexts that does not fit cannot be worked around: say what it needs. */
static int check_tree(struct sn_pipeline *pipeline, const struct sn_worker *worker)
{
	uint64_t bytes = sn_unified_bytes(&worker->unified);
	/* the tables of a worker, the universe's, and what orders it */
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
	const struct sn_input *input = pipeline->inputs + number;
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
	uint64_t bytes = pipeline->inputs[input].bytes;
	if (bytes > pipeline->writer.memory / 2)
		return sn_pipeline_fail(pipeline, SN_ERR_ARGUMENT,
					"'%s' alone needs more than %llu MiB of memory: allow more "
					"with --memory",
					pipeline->inputs[input].path,
					(unsigned long long)(pipeline->writer.memory >> 20));
	wait_for_room(pipeline, bytes);
	int result = read_input(pipeline->workers + number, input);
	make_room(pipeline, bytes);
	return result;
}

struct by_size {
	uint64_t bytes;
	size_t input;
};

static int compare_sizes(const void *left, const void *right)
{
	const struct by_size *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->input > b->input) - (a->input < b->input);
}

/* This rank's inputs, the largest first. */
static int take_share(struct sn_pipeline *pipeline, struct share *share)
{
	unsigned ranks = sn_comm_size();
	size_t count = pipeline->input_count;
	struct by_size *sorted = malloc((count + 1) * sizeof(*sorted));
	uint64_t *loads = calloc(ranks, sizeof(*loads));
	share->inputs = malloc((count + 1) * sizeof(*share->inputs));
	bool has_memory = sorted && loads && share->inputs;
	for (size_t i = 0; i < count && has_memory; i++)
		sorted[i] = (struct by_size){pipeline->inputs[i].bytes, i};
	if (has_memory)
		qsort(sorted, count, sizeof(*sorted), compare_sizes);
	for (size_t i = 0; i < count && has_memory; i++) {
		unsigned least = 0;
		for (unsigned r = 1; r < ranks; r++)
			if (loads[r] < loads[least])
				least = r;
		loads[least] += sorted[i].bytes + 4096;
		if (least == sn_comm_rank())
			share->inputs[share->count++] = sorted[i].input;
	}
	free(sorted);
	free(loads);
	return has_memory ? 0 : sn_pipeline_out_of_memory(pipeline);
}

int sn_acquire(struct sn_pipeline *pipeline)
{
	struct share share = {.pipeline = pipeline};
	struct sn_error error = {""};
	int result = sn_spill_open_beside(&pipeline->values, pipeline->writer.output, &error);
	if (result)
		return sn_pipeline_fail(pipeline, result, "%s", error.text);
	for (unsigned i = 0; i < pipeline->writer.threads && !result; i++) {
		struct sn_worker *worker = pipeline->workers + i;
		*worker = (struct sn_worker){.pipeline = pipeline};
		sn_major_init(&worker->major, 1);
		if (sn_unified_init(&worker->unified))
			result = sn_pipeline_out_of_memory(pipeline);
		worker->unified.merge.take = take;
		worker->unified.merge.take_context = worker;
	}
	if (!result)
		result = take_share(pipeline, &share);
	if (!result)
		result = sn_pool_run(pipeline->writer.threads, share.count, read_one, &share);
	free(share.inputs);
	return result;
}
