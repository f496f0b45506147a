/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of analysis in order, by all ranks together; see analyze.h and pipeline.h.
 *
 * After each step the ranks agree on whether any of them has failed, so that none waits for one
 * that has ended.
 */
#include "analyze.h"

#include "base/clock.h"
#include "base/pool.h"
#include "base/sort.h"
#include "base/vec.h"
#include "comm.h"
#include "aggregate/read/events.h"
#include "aggregate/unify/expand.h"
#include "aggregate/unify/inductor.h"
#include "aggregate/read/inputs.h"
#include "pipeline.h"
#include "aggregate/unify/resolve.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void keep_first_problem(void *context, struct sn_span part)
{
	struct sn_problem *first = context, problem;
	if (sn_span_get(&part, &problem, sizeof(problem)) && problem.input < first->input)
		*first = problem;
}

/* Folders of which some file was readable, over all ranks; and the totals. */
static int add_up(struct sn_pipeline *pipeline)
{
	struct sn_analyze_result *result = pipeline->result;
	struct sn_problem first = {.input = UINT64_MAX};
	struct sn_buffer own = {0};
	result->processes = sn_comm_sum(pipeline->processes);
	result->unreadable = sn_comm_sum(pipeline->unreadable);
	result->fallbacks = sn_comm_sum(pipeline->fallbacks);
	for (uint32_t i = 0; i < pipeline->folder_count; i++)
		pipeline->readable[i] = sn_comm_sum(pipeline->readable[i]);
	sn_buffer_put(&own, &pipeline->first_problem, sizeof(pipeline->first_problem));
	sn_peers_collect(sn_comm(), &own, keep_first_problem, &first);
	result->first_problem = first.why;
	int failed = own.failed;
	sn_buffer_release(&own);
	return failed ? sn_pipeline_out_of_memory(pipeline) : 0;
}

/* A folder of which nothing was readable is a mistake of the user's, not a loss. */
static int check_folders(struct sn_pipeline *pipeline)
{
	int result = add_up(pipeline);
	for (uint32_t i = 0; i < pipeline->folder_count && !sn_comm_rank() && !result; i++) {
		if (pipeline->readable[i])
			continue;
		if (pipeline->folder_count == 1)
			return sn_pipeline_check(pipeline, SN_ERR_FORMAT,
						 &pipeline->result->first_problem);
		result = sn_pipeline_fail(pipeline, SN_ERR_FORMAT,
					  "cannot read '%s': none of its measurements is readable",
					  pipeline->folders[i]);
	}
	return result;
}

/* Notes the modules that could not be read. What the symbol cache knew is not missing. */
static void note_nameless(struct sn_pipeline *pipeline, const struct sn_symbolizer *symbolizer,
			  const struct sn_resolved *resolved)
{
	struct sn_analyze_result *result = pipeline->result;
	const struct sn_unified *all = &pipeline->workers->unified;
	for (uint32_t i = 0; i < all->merge.modules.count; i++) {
		struct sn_symbol_module_info info;
		struct sn_merged_module module;
		if (resolved->modules[i] == SONDE_NONE)
			continue;
		sn_symbolizer_module_info(symbolizer, resolved->modules[i], &info);
		if (info.status != SN_SYMBOL_NOT_FOUND && info.status != SN_SYMBOL_DIFFERS &&
		    info.status != SN_SYMBOL_UNSUPPORTED && info.status != SN_SYMBOL_FOREIGN)
			continue;
		if (result->nameless_count++ >= SN_ANALYZE_NAMELESS_MAX)
			continue;
		struct sn_analyze_nameless *noted = result->nameless + result->nameless_count - 1;
		memcpy(&module, sn_intern_at(&all->merge.modules, i, NULL), sizeof(module));
		snprintf(noted->module, sizeof(noted->module), "%s",
			 sn_db_builder_text(all->builder, module.path));
		noted->why = sn_symbol_status_text(info.status);
	}
}

static int resolve_and_expand(struct sn_pipeline *pipeline)
{
	const struct sn_analyze_options *options = pipeline->options;
	struct sn_symbolizer_options symbolizer_options = {
	    .cache_folder = options->no_cache ? "" : NULL,
	    .debug_path = options->debug_path,
	    .sysroot = options->sysroot,
	    .no_loops = options->no_loops,
	};
	struct sn_merge *merge = &pipeline->workers->unified.merge;
	struct sn_symbolizer *symbolizer;
	struct sn_error error = {""};
	struct sn_resolved resolved;
	uint64_t start = sn_clock_now_ns(CLOCK_MONOTONIC);
	int result = sn_symbolizer_new(&symbolizer_options, &symbolizer, &error);
	if (result)
		return sn_pipeline_check(pipeline, result, &error);
	result = sn_resolve(merge, symbolizer, pipeline->writer.threads, &resolved);
	pipeline->result->symbols_ns = sn_clock_now_ns(CLOCK_MONOTONIC) - start;
	pipeline->result->addresses = resolved.address_count;
	if (!result) {
		note_nameless(pipeline, symbolizer, &resolved);
		result = sn_expand(merge, &resolved);
	}
	if (!result)
		result = sn_name_inductor_kernels(pipeline->workers->unified.builder);
	sn_resolved_release(&resolved);
	sn_symbolizer_free(symbolizer);
	if (result == SN_ERR_MEMORY)
		return sn_pipeline_out_of_memory(pipeline);
	return result ? sn_pipeline_fail(pipeline, result, "cannot look up symbols") : 0;
}

/* Profiles in the order of their files, independent of the thread that has read them: what
 * sn_numbering_assign expects, and what decides between two that are alike. */
static int sort_profiles(struct sn_unified *all)
{
	size_t count = all->builder->profile_count;
	struct sn_input_thread *origins = malloc((count + 1) * sizeof(*origins));
	struct sonde_db_profile *profiles = malloc((count + 1) * sizeof(*profiles));
	uint64_t *keys = malloc((2 * count + 1) * sizeof(*keys));
	if (!origins || !profiles || !keys) {
		free(origins);
		free(profiles);
		free(keys);
		return SN_ERR_MEMORY;
	}
	/* those of one file follow each other already */
	for (size_t i = 0; i < count; i++)
		keys[i] = (uint64_t)all->origins[i].file << 32 | i;
	sn_sort_keys(keys, keys + count, count);
	for (size_t i = 0; i < count; i++) {
		profiles[i] = all->builder->profiles[(uint32_t)keys[i]];
		origins[i] = all->origins[(uint32_t)keys[i]];
	}
	free(keys);
	free(all->origins);
	free(all->builder->profiles);
	all->origins = origins;
	all->builder->profiles = profiles;
	all->origin_capacity = all->builder->profile_capacity = count;
	return 0;
}

static int add_provenance(struct sn_pipeline *pipeline)
{
	struct sn_unified *all = &pipeline->workers->unified;
	struct sn_provenance provenance;
	sn_provenance_init(&provenance);
	int result = sn_unified_provenance(all, &provenance);
	provenance.missing.unreadable = pipeline->result->unreadable;
	const struct sn_input_run *records = pipeline->inputs.records;
	for (size_t i = 0; i < pipeline->inputs.record_count && !result; i++)
		result =
		    sn_missing_add_run(&provenance.missing, &records[i].record, records[i].run);
	if (!result)
		result = sn_provenance_finish(&provenance, all->builder);
	sn_provenance_release(&provenance);
	for (uint32_t i = 0; i < pipeline->inputs.run_count && pipeline->inputs.run_count > 1;
	     i++) {
		char key[32];
		snprintf(key, sizeof(key), "run.%u", i);
		sn_db_builder_property(all->builder, key, pipeline->inputs.runs[i]);
	}
	if (result || all->builder->failed)
		return sn_pipeline_out_of_memory(pipeline);
	struct sn_error error = {""};
	const struct sn_analyze_options *options = pipeline->options;
	result =
	    options->extend ? options->extend(options->extend_context, all->builder, &error) : 0;
	return sn_pipeline_check(pipeline, result, &error);
}

/* Threads that write tracks of events: each has a block for every lane of the profile it is at. */
static unsigned event_threads(const struct sn_db_writer *writer)
{
	enum { THREAD_BYTES = 64 << 20 };
	uint64_t most = writer->memory / THREAD_BYTES;
	return most < 1 ? 1 : most < writer->threads ? (unsigned)most : writer->threads;
}

/* Everything but values: looked up, in order, and written. On rank 0. */
static int describe(struct sn_pipeline *pipeline)
{
	struct sn_unified *all = &pipeline->workers->unified;
	if (sn_comm_rank())
		return 0;
	int result =
	    sort_profiles(all) ? sn_pipeline_out_of_memory(pipeline) : resolve_and_expand(pipeline);
	if (!result)
		result = add_provenance(pipeline);
	if (!result)
		result = sn_events_add(pipeline);
	if (result)
		return result;
	pipeline->result->contexts = sn_db_builder_context_count(all->builder);
	if (sn_db_order(all->builder, &pipeline->ordered))
		return sn_pipeline_out_of_memory(pipeline);
	sn_db_builder_set_threads(all->builder, event_threads(&pipeline->writer));
	result = sn_db_writer_open(&pipeline->writer);
	if (!result)
		result = sn_db_writer_describe(&pipeline->writer, all->builder, &pipeline->ordered);
	if (!result)
		result = sn_numbering_assign(pipeline);
	sn_db_ordered_release(&pipeline->ordered);
	pipeline->ordered = (struct sn_db_ordered){0};
	return result;
}

/* The block's worker among this rank's, and its own number there. */
static const struct sn_worker *owner_of(const struct sn_pipeline *pipeline, size_t *number)
{
	const struct sn_worker *worker = pipeline->workers;
	while (*number >= worker->block_count)
		*number -= worker++->block_count;
	return worker;
}

static int read_block(void *context, size_t number, struct sn_profile_block *block,
		      struct sn_error *error)
{
	const struct sn_pipeline *pipeline = context;
	const struct sn_numbering *numbering = &pipeline->numbering;
	const struct sn_worker *owner = owner_of(pipeline, &number);
	const struct sn_spilled_profile *from = owner->blocks + number;
	size_t entry_bytes = from->entry_count * sizeof(struct sn_database_plane);
	if (sn_vec_reserve(&block->bytes, &block->capacity, entry_bytes + from->data_bytes + 1) < 0)
		return sn_fail_memory(error);
	block->profile = numbering->profile_numbers[numbering->first_profiles[from->origin.file] +
						    from->origin.thread];
	block->entry_count = from->entry_count;
	block->entries = (const void *)block->bytes;
	block->data = block->bytes + entry_bytes;
	block->contexts = owner->nodes;
	block->metrics = owner->metrics;
	return sn_spill_read(&pipeline->values, block->bytes, entry_bytes + from->data_bytes,
			     from->offset, error);
}

static void release_blocks(void *context)
{
	struct sn_pipeline *pipeline = context;
	sn_spill_close(&pipeline->values); /* its room on the disk is wanted */
}

static int write_values(struct sn_pipeline *pipeline)
{
	const struct sn_numbering *numbering = &pipeline->numbering;
	struct sn_block_source source = {
	    .read = read_block, .release = release_blocks, .context = pipeline};
	for (unsigned i = 0; i < pipeline->writer.threads; i++)
		source.count += pipeline->workers[i].block_count;
	pipeline->writer.other_bytes =
	    numbering->node_count * sizeof(*numbering->node_contexts) +
	    numbering->file_count * sizeof(*numbering->first_profiles) +
	    numbering->profile_count *
		(sizeof(*numbering->profile_numbers) + sizeof(struct sn_spilled_profile));
	return sn_db_writer_values(&pipeline->writer, &source);
}

static int list_inputs(struct sn_pipeline *pipeline)
{
	struct sn_error error = {""};
	return sn_pipeline_check(
	    pipeline,
	    sn_inputs_list(&pipeline->inputs, pipeline->folders, pipeline->folder_count, &error),
	    &error);
}

static int share_output(struct sn_pipeline *pipeline)
{
	return sn_db_writer_share(&pipeline->writer);
}

static int finish(struct sn_pipeline *pipeline)
{
	return sn_comm_rank() ? 0 : sn_db_writer_finish(&pipeline->writer);
}

/* Steps up to NULL, as long as no rank fails. Adds the time they take. */
static int run(struct sn_pipeline *pipeline, int (*const *steps)(struct sn_pipeline *),
	       uint64_t *time_ns)
{
	uint64_t start_ns = sn_clock_now_ns(CLOCK_MONOTONIC);
	int result = 0;
	for (; *steps && !result; steps++)
		result = sn_comm_agree((*steps)(pipeline), pipeline->writer.error);
	*time_ns += sn_clock_now_ns(CLOCK_MONOTONIC) - start_ns;
	return result;
}

static int run_all(struct sn_pipeline *pipeline)
{
	static int (*const reading[])(struct sn_pipeline *) = {list_inputs, sn_acquire,
							       check_folders, sn_unify_all, NULL};
	static int (*const describing[])(struct sn_pipeline *) = {describe, NULL};
	static int (*const writing[])(struct sn_pipeline *) = {share_output, sn_numbering_share,
							       write_values, finish, NULL};
	struct sn_analyze_result *result = pipeline->result;
	uint64_t unused_ns = 0;
	int status = run(pipeline, reading, &result->read_ns);
	if (!status)
		status = run(pipeline, describing, &unused_ns);
	return status ? status : run(pipeline, writing, &result->write_ns);
}

static void release_worker(struct sn_worker *worker)
{
	sn_unified_release(&worker->unified);
	sn_major_release(&worker->major);
	free(worker->blocks);
	free(worker->nodes);
	free(worker->metrics);
	free(worker->values);
}

static void release(struct sn_pipeline *pipeline)
{
	for (unsigned i = 0; pipeline->workers && i < pipeline->writer.threads; i++)
		release_worker(pipeline->workers + i);
	free(pipeline->workers);
	free(pipeline->readable);
	sn_numbering_release(&pipeline->numbering);
	sn_db_ordered_release(&pipeline->ordered);
	sn_spill_close(&pipeline->values);
	sn_inputs_release(&pipeline->inputs);
	sn_db_writer_release(&pipeline->writer);
	pthread_mutex_destroy(&pipeline->mutex);
	pthread_cond_destroy(&pipeline->room);
}

int sn_analyze(const char *const *folders, size_t count, const char *output,
	       const struct sn_analyze_options *options, struct sn_analyze_result *result,
	       struct sn_error *error)
{
	static const struct sn_analyze_options usual;
	struct sn_analyze_result ignored;
	struct sn_error unread = {""};
	struct sn_pipeline pipeline = {.options = options ? options : &usual,
				       .folders = folders,
				       .folder_count = count,
				       .values.fd = -1,
				       .first_problem.input = UINT64_MAX,
				       .result = result ? result : &ignored};
	*pipeline.result = (struct sn_analyze_result){0};
	if (!count)
		return sn_fail(error, SN_ERR_ARGUMENT, "no measurement was given");
	struct sn_db_writer *writer = &pipeline.writer;
	sn_db_writer_init(writer, output, error ? error : &unread);
	writer->threads = sn_pool_threads(pipeline.options->jobs);
	if (pipeline.options->memory_bytes)
		writer->memory = pipeline.options->memory_bytes;
	writer->peers = sn_comm();
	writer->is_shared = pipeline.options->is_shared;
	writer->complete = pipeline.options->complete;
	writer->complete_context = pipeline.options->complete_context;
	pthread_mutex_init(&pipeline.mutex, NULL);
	pthread_cond_init(&pipeline.room, NULL);
	int status = run_all(&pipeline);
	release(&pipeline);
	return status;
}
