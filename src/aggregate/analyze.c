/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of analysis in order, by all ranks together; see analyze.h and pipeline.h.
 *
 * After each step the ranks agree on whether anybody has failed, so that none of them waits for one
 * that has given up.
 */
#include "analyze.h"

#include "base/output.h"
#include "base/pool.h"
#include "base/vec.h"
#include "comm.h"
#include "aggregate/read/events.h"
#include "aggregate/unify/expand.h"
#include "aggregate/read/inputs.h"
#include "pipeline.h"
#include "aggregate/unify/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct analysis {
	struct sn_pipeline pipeline;
	struct sn_inputs inputs;
	struct sn_output output; /* rank 0 */
	bool has_output;
	struct sn_spill pipe; /* rank 0: where the output is no file, until it is whole */
	int shared_fd;	      /* other ranks: the output */
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Folders of which some file was readable, over all ranks; and the totals. */
static int add_up(struct sn_pipeline *pipeline)
{
	struct sn_analyze_result *result = pipeline->result;
	struct sn_error first = pipeline->first_problem;
	uint64_t input = pipeline->unreadable ? pipeline->first_problem_input : UINT64_MAX;
	struct {
		uint64_t input;
		struct sn_error text;
	} mine = {input, first};
	result->processes = sn_comm_sum(pipeline->processes);
	result->unreadable = sn_comm_sum(pipeline->unreadable);
	result->fallbacks = sn_comm_sum(pipeline->fallbacks);
	for (uint32_t i = 0; i < pipeline->folder_count; i++)
		pipeline->readable[i] = sn_comm_sum(pipeline->readable[i]);
	struct sn_comm_part *parts = sn_comm_gather(&mine, sizeof(mine));
	for (unsigned r = 0; parts && r < sn_comm_size(); r++) {
		memcpy(&mine, parts[r].bytes, sizeof(mine));
		if (mine.input < input || (!r && input != UINT64_MAX)) {
			input = mine.input;
			first = mine.text;
		}
	}
	sn_comm_free_parts(parts, parts ? sn_comm_size() : 0);
	result->first_problem = first;
	return 0;
}

/* A folder of which nothing was readable is a mistake of the user's, not a loss. */
static int check_folders(struct sn_pipeline *pipeline, const char *const *folders)
{
	for (uint32_t i = 0; i < pipeline->folder_count && !sn_comm_rank(); i++) {
		if (pipeline->readable[i])
			continue;
		if (pipeline->folder_count == 1)
			return sn_pipeline_fail(pipeline, SN_ERR_FORMAT, "%s",
						pipeline->result->first_problem.text);
		return sn_pipeline_fail(pipeline, SN_ERR_FORMAT,
					"cannot read '%s': none of its measurements is readable",
					folders[i]);
	}
	return 0;
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
	uint64_t start = now_ns();
	int result = sn_symbolizer_new(&symbolizer_options, &symbolizer, &error);
	if (result)
		return sn_pipeline_fail(pipeline, result, "%s", error.text);
	result = sn_resolve(merge, symbolizer, pipeline->threads, &resolved);
	pipeline->result->symbols_ns = now_ns() - start;
	pipeline->result->addresses = resolved.address_count;
	if (!result) {
		note_nameless(pipeline, symbolizer, &resolved);
		result = sn_expand(merge, &resolved);
	}
	sn_resolved_release(&resolved);
	sn_symbolizer_free(symbolizer);
	return result ? sn_pipeline_fail(pipeline, result,
					 result == SN_ERR_MEMORY ? "out of memory"
								 : "cannot look up symbols")
		      : 0;
}

struct arrival {
	struct sn_origin origin;
	uint32_t number;
};

static int compare_arrivals(const void *left, const void *right)
{
	const struct sn_origin *a = left, *b = right;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

/* Profiles in the order of their files, whoever has read them: what sn_universe_number expects, and
 * what decides between two that are alike. */
static int sort_profiles(struct sn_unified *all)
{
	size_t count = all->builder->profile_count;
	struct arrival *arrivals = malloc((count + 1) * sizeof(*arrivals));
	struct sonde_db_profile *sorted = malloc((count + 1) * sizeof(*sorted));
	if (!arrivals || !sorted) {
		free(arrivals);
		free(sorted);
		return SN_ERR_MEMORY;
	}
	for (size_t i = 0; i < count; i++)
		arrivals[i] = (struct arrival){all->origins[i], (uint32_t)i};
	qsort(arrivals, count, sizeof(*arrivals), compare_arrivals);
	for (size_t i = 0; i < count; i++) {
		sorted[i] = all->builder->profiles[arrivals[i].number];
		all->origins[i] = arrivals[i].origin;
	}
	free(arrivals);
	free(all->builder->profiles);
	all->builder->profiles = sorted;
	all->builder->profile_capacity = count;
	return 0;
}

static int add_provenance(struct analysis *analysis)
{
	struct sn_pipeline *pipeline = &analysis->pipeline;
	struct sn_unified *all = &pipeline->workers->unified;
	struct sn_provenance provenance;
	sn_provenance_init(&provenance);
	int result = sn_unified_tell(all, &provenance);
	for (uint64_t i = 0; i < pipeline->result->unreadable; i++)
		sn_provenance_add_unreadable(&provenance);
	const struct sn_told *told = analysis->inputs.told;
	for (size_t i = 0; i < analysis->inputs.told_count && !result; i++)
		result = sn_missing_tell(&provenance.missing, &told[i].record, told[i].run);
	if (!result)
		result = sn_provenance_finish(&provenance, all->builder);
	sn_provenance_release(&provenance);
	for (uint32_t i = 0; i < analysis->inputs.run_count && analysis->inputs.run_count > 1;
	     i++) {
		char key[32];
		snprintf(key, sizeof(key), "run.%u", i);
		sn_db_builder_property(all->builder, key, analysis->inputs.runs[i]);
	}
	if (result || all->builder->failed)
		return sn_pipeline_out_of_memory(pipeline);
	struct sn_error error = {""};
	const struct sn_analyze_options *options = pipeline->options;
	result =
	    options->extend ? options->extend(options->extend_context, all->builder, &error) : 0;
	return result ? sn_pipeline_fail(pipeline, result, "%s", error.text) : 0;
}

/* The output as a file that can be written anywhere. */
static int open_output(struct analysis *analysis)
{
	struct sn_pipeline *pipeline = &analysis->pipeline;
	struct sn_error error = {""};
	int result = sn_output_open_database(&analysis->output, pipeline->output,
					     pipeline->options->is_shared, &error);
	if (result)
		return sn_pipeline_fail(pipeline, result, "%s", error.text);
	analysis->has_output = true;
	int fd = analysis->output.fd;
	if (lseek(fd, 0, SEEK_CUR) < 0) {
		result = sn_spill_open_beside(&analysis->pipe, pipeline->output, &error);
		fd = analysis->pipe.fd;
	}
	sn_db_file_init(&pipeline->file, fd);
	return result ? sn_pipeline_fail(pipeline, result, "%s", error.text) : 0;
}

/* Values of a bucket that a thread may hold: see rows.c for what each takes there. */
static uint64_t bucket_capacity(const struct sn_pipeline *pipeline)
{
	enum { VALUE_BYTES = 160, USUAL = 2 << 20, LEAST = 1 << 14 };
	if (pipeline->memory == UINT64_MAX)
		return USUAL;
	uint64_t capacity = sn_pipeline_bucket_bytes(pipeline) / pipeline->threads / VALUE_BYTES;
	return capacity < LEAST ? LEAST : capacity < USUAL ? capacity : USUAL;
}

/* Everything but values: looked up, in order, and written. On rank 0. */
static int describe(struct analysis *analysis)
{
	struct sn_pipeline *pipeline = &analysis->pipeline;
	struct sn_unified *all = &pipeline->workers->unified;
	struct sn_error error = {""};
	int result =
	    sort_profiles(all) ? sn_pipeline_out_of_memory(pipeline) : resolve_and_expand(pipeline);
	if (!result)
		result = add_provenance(analysis);
	if (!result)
		result = sn_events_add(pipeline);
	if (result)
		return result;
	pipeline->result->contexts = sn_db_builder_context_count(all->builder);
	if (sn_db_order(all->builder, &pipeline->ordered))
		return sn_pipeline_out_of_memory(pipeline);
	result = open_output(analysis);
	if (result)
		return result;
	int failed = sn_db_file_describe(&pipeline->file, all->builder, &pipeline->ordered);
	if (!failed)
		failed = sn_db_file_graph(&pipeline->file, all->builder, &pipeline->ordered);
	if (failed)
		return sn_pipeline_fail(pipeline, SN_ERR_IO, "cannot write '%s': %s",
					pipeline->output, strerror(failed));
	result = sn_db_file_events(&pipeline->file, all->builder, &pipeline->ordered, &error);
	if (result)
		return sn_pipeline_fail(pipeline, result, "%s", error.text);
	result = sn_universe_number(pipeline, bucket_capacity(pipeline));
	sn_db_ordered_release(&pipeline->ordered);
	pipeline->ordered = (struct sn_db_ordered){0};
	return result ? sn_pipeline_out_of_memory(pipeline) : 0;
}

/* How the other ranks can open the output: as rank 0 has it open, where they are on its machine, so
 * that it needs no name until it is whole; else by a name beside the output. "" on failure. */
static int name_output(struct analysis *analysis, char name[PATH_MAX])
{
	struct sn_pipeline *pipeline = &analysis->pipeline;
	*name = 0;
	if (sn_comm_is_one_host()) {
		snprintf(name, PATH_MAX, "/proc/%d/fd/%d", (int)getpid(), pipeline->file.fd);
		return 0;
	}
	if (analysis->pipe.fd >= 0)
		return sn_pipeline_fail(pipeline, SN_ERR_ARGUMENT,
					"cannot write '%s': ranks on several machines can only "
					"write a file",
					pipeline->output);
	const char *beside = sn_output_name(&analysis->output);
	if (beside && realpath(beside, name))
		return 0;
	*name = 0;
	return sn_pipeline_fail(pipeline, SN_ERR_IO, "cannot write '%s': %s", pipeline->output,
				strerror(errno));
}

/* The other ranks write into the same file. */
static int share_output(struct analysis *analysis)
{
	struct sn_pipeline *pipeline = &analysis->pipeline;
	char name[PATH_MAX] = "";
	if (sn_comm_size() == 1)
		return 0;
	int result = sn_comm_rank() ? 0 : name_output(analysis, name);
	sn_comm_broadcast(name, sizeof(name));
	sn_comm_broadcast(&pipeline->file, sizeof(pipeline->file));
	if (!sn_comm_rank() || !*name)
		return result;
	analysis->shared_fd = open(name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	pipeline->file.fd = analysis->shared_fd;
	if (analysis->shared_fd >= 0)
		return 0;
	return sn_pipeline_fail(
	    pipeline, SN_ERR_IO, "cannot write '%s': a rank cannot open '%s' (%s)%s",
	    pipeline->output, name, strerror(errno),
	    sn_comm_is_one_host() ? "" : ": all must see the folder under its name");
}

/* Before the file gets its name: a file system of many machines may keep a rank's part on its own,
 * and fail to write it only now. */
static int flush_share(struct analysis *analysis)
{
	struct sn_pipeline *pipeline = &analysis->pipeline;
	if (analysis->shared_fd < 0 || sn_comm_is_one_host() || !fsync(analysis->shared_fd) ||
	    errno == EINVAL) /* a device has nothing to flush */
		return 0;
	return sn_pipeline_fail(pipeline, SN_ERR_IO, "cannot write '%s': %s", pipeline->output,
				strerror(errno));
}

/* Where every profile's planes lie; from malloc, NULL without memory. */
static struct sn_database_index *index_planes(struct sn_pipeline *pipeline)
{
	uint32_t count = pipeline->universe.profile_count;
	struct sn_pack pack = {0};
	size_t bytes = (count + 1ull) * sizeof(struct sn_database_index);
	struct sn_database_index *index = calloc(1, bytes);
	for (unsigned i = 0; i < pipeline->threads; i++)
		sn_pack_put(&pack, pipeline->workers[i].made,
			    pipeline->workers[i].made_count * sizeof(struct sn_made));
	int failed = pack.failed || !index;
	if (sn_comm_agree(failed ? SN_ERR_MEMORY : 0, NULL)) {
		sn_pack_release(&pack);
		free(index);
		return NULL;
	}
	struct sn_comm_part *parts = sn_comm_gather(pack.bytes, pack.length);
	sn_pack_release(&pack);
	for (unsigned r = 0; parts && r < sn_comm_size(); r++) {
		const struct sn_made *made = parts[r].bytes;
		for (size_t i = 0; i < parts[r].length / sizeof(*made); i++)
			index[made[i].profile] = (struct sn_database_index){
			    made[i].entry_count, made[i].data_bytes, made[i].checksum};
	}
	sn_comm_free_parts(parts, parts ? sn_comm_size() : 0);
	/* sizes become positions: an exclusive scan */
	uint64_t first = 0, data = 0;
	for (uint32_t p = 0; p <= count; p++) {
		struct sn_database_index size = index[p];
		index[p].first = first;
		index[p].data = data;
		first += size.first;
		data += size.data;
	}
	sn_comm_broadcast(index, bytes);
	return index;
}

static int write_planes(struct sn_pipeline *pipeline)
{
	uint32_t count = pipeline->universe.profile_count;
	struct sn_database_index *index = index_planes(pipeline);
	if (!index)
		return sn_pipeline_out_of_memory(pipeline);
	struct sn_db_file *file = &pipeline->file;
	uint64_t entries_at = sn_db_file_place(
	    file, SN_DATABASE_PLANES, index[count].first * sizeof(struct sn_database_plane));
	uint64_t data_at = sn_db_file_place(file, SN_DATABASE_PLANE_DATA, index[count].data);
	int result = sn_project_write(pipeline, index, entries_at, data_at);
	/* placed by all ranks, so that they agree on what follows; written by one */
	int failed =
	    sn_db_file_write(file, SN_DATABASE_PLANE_INDEX, index, (count + 1ull) * sizeof(*index));
	free(index);
	if (failed && !result)
		result = sn_pipeline_fail(pipeline, SN_ERR_IO, "cannot write '%s': %s",
					  pipeline->output, strerror(failed));
	return result;
}

static int write_rows(struct sn_pipeline *pipeline)
{
	struct sn_db_file *file = &pipeline->file;
	uint32_t contexts = pipeline->universe.context_count;
	uint64_t rows = pipeline->first_rows[contexts];
	uint64_t entries_at =
	    sn_db_file_place(file, SN_DATABASE_ROWS, rows * sizeof(struct sn_database_plane));
	/* its length is known when all of it is written: nothing else is placed until then */
	int result = sn_rows_write(pipeline, entries_at, file->next);
	if (result || sn_comm_rank())
		return result;
	sn_db_file_place(file, SN_DATABASE_ROW_DATA, pipeline->row_index[contexts].data);
	int failed = sn_db_file_write(file, SN_DATABASE_ROW_INDEX, pipeline->row_index,
				      (contexts + 1ull) * sizeof(*pipeline->row_index));
	return failed ? sn_pipeline_fail(pipeline, SN_ERR_IO, "cannot write '%s': %s",
					 pipeline->output, strerror(failed))
		      : 0;
}

/* A rank's accumulators, which it sent, into those of rank 0's first thread. */
static int absorb_part(struct sn_across_table *all, const struct sn_comm_part *part)
{
	struct sn_unpack unpack = {part->bytes, part->length, false};
	struct sn_across_table table;
	int result = sn_across_init(&table, all->metric_count, all->inner_count);
	if (!result && part->length)
		sn_unpack_across(&unpack, &table);
	if (!result)
		result = unpack.failed ? SN_ERR_MEMORY : sn_across_absorb(all, &table);
	sn_across_release(&table);
	return result;
}

/* All threads' accumulators of all ranks into those of rank 0's first thread. Rank 0 takes one
 * after the other, so that it never has those of more than one other. */
static int gather_across(struct sn_pipeline *pipeline)
{
	struct sn_across_table *all = &pipeline->workers->across;
	int result = 0;
	for (unsigned i = 1; i < pipeline->threads && !result; i++) {
		result = sn_across_absorb(all, &pipeline->workers[i].across);
		sn_across_release(&pipeline->workers[i].across);
	}
	if (sn_comm_rank()) {
		struct sn_pack pack = {0};
		if (!result)
			sn_pack_across(&pack, all);
		sn_comm_send(0, pack.bytes, pack.failed ? 0 : pack.length);
		result = pack.failed ? SN_ERR_MEMORY : result;
		sn_pack_release(&pack);
	}
	for (unsigned r = 1; r < sn_comm_size() && !sn_comm_rank(); r++) {
		struct sn_comm_part part;
		sn_comm_receive(r, &part);
		/* the message, what is unpacked from it, and what it may add to the sums */
		if (!result)
			result = sn_pipeline_check_memory(pipeline, 3 * part.length);
		if (!result)
			result = absorb_part(all, &part);
		free(part.bytes);
	}
	return result == SN_ERR_MEMORY ? sn_pipeline_out_of_memory(pipeline) : result;
}

/* A pipe or a terminal gets the file when it is whole. */
static int copy_to_pipe(struct analysis *analysis)
{
	enum { PART = 1 << 16 };
	struct sn_pipeline *pipeline = &analysis->pipeline;
	unsigned char bytes[PART];
	struct sn_error error = {""};
	uint64_t length = pipeline->file.next;
	for (uint64_t at = 0; at < length; at += PART) {
		size_t part = length - at < PART ? length - at : PART;
		int result = sn_spill_read(&analysis->pipe, bytes, part, at, &error);
		if (result)
			return sn_pipeline_fail(pipeline, result, "%s", error.text);
		sn_output_write(&analysis->output, bytes, part);
	}
	return 0;
}

/* By the descriptor, which no name that others may change stands between. */
static int complete(struct analysis *analysis)
{
	const struct sn_analyze_options *options = analysis->pipeline.options;
	char self[64];
	const char *path = self;
	if (!options->complete || analysis->pipe.fd >= 0)
		return 0;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", analysis->output.fd);
	if (access(self, F_OK))
		path = sn_output_name(&analysis->output);
	if (!path)
		return sn_pipeline_fail(&analysis->pipeline, SN_ERR_IO, "cannot write '%s': %s",
					analysis->pipeline.output, strerror(errno));
	return options->complete(options->complete_context, path) ? SN_ERR_ARGUMENT : 0;
}

static int finish(struct analysis *analysis)
{
	struct sn_pipeline *pipeline = &analysis->pipeline;
	struct sn_error error = {""};
	if (sn_comm_rank())
		return 0;
	int result = sn_summarize(pipeline);
	int failed = result ? 0 : sn_db_file_finish(&pipeline->file);
	if (failed)
		result = sn_pipeline_fail(pipeline, SN_ERR_IO, "cannot write '%s': %s",
					  pipeline->output, strerror(failed));
	if (!result && analysis->pipe.fd >= 0)
		result = copy_to_pipe(analysis);
	if (!result)
		result = complete(analysis);
	if (result)
		return result;
	analysis->has_output = false;
	result = sn_output_commit(&analysis->output, &error);
	return result ? sn_pipeline_fail(pipeline, result, "%s", error.text) : 0;
}

static int write_values(struct analysis *analysis)
{
	struct sn_pipeline *pipeline = &analysis->pipeline;
	int result = sn_comm_agree(sn_project(pipeline), pipeline->error);
	if (!result)
		result = sn_comm_agree(write_planes(pipeline), pipeline->error);
	if (!result)
		result = sn_comm_agree(sn_rows_count(pipeline), pipeline->error);
	if (!result)
		result = sn_comm_agree(write_rows(pipeline), pipeline->error);
	if (!result)
		result = sn_comm_agree(gather_across(pipeline), pipeline->error);
	if (!result)
		result = sn_comm_agree(flush_share(analysis), pipeline->error);
	if (!result)
		result = sn_comm_agree(finish(analysis), pipeline->error);
	return result;
}

static int read_all(struct analysis *analysis, const char *const *folders, size_t count)
{
	struct sn_pipeline *pipeline = &analysis->pipeline;
	struct sn_error error = {""};
	int result = sn_inputs_list(&analysis->inputs, folders, count, &error);
	if (result)
		sn_pipeline_fail(pipeline, result, "%s", error.text);
	result = sn_comm_agree(result, pipeline->error);
	if (result)
		return result;
	pipeline->inputs = analysis->inputs.items;
	pipeline->input_count = analysis->inputs.count;
	pipeline->folder_count = (uint32_t)count;
	pipeline->readable = calloc(count, sizeof(*pipeline->readable));
	pipeline->workers = calloc(pipeline->threads, sizeof(*pipeline->workers));
	if (!pipeline->readable || !pipeline->workers)
		result = sn_pipeline_out_of_memory(pipeline);
	else
		result = sn_acquire(pipeline);
	result = sn_comm_agree(result, pipeline->error);
	if (!result)
		result = add_up(pipeline);
	return result ? result : sn_comm_agree(check_folders(pipeline, folders), pipeline->error);
}

static int run(struct analysis *analysis, const char *const *folders, size_t count)
{
	struct sn_pipeline *pipeline = &analysis->pipeline;
	uint64_t start = now_ns();
	int result = read_all(analysis, folders, count);
	if (!result)
		result = sn_comm_agree(sn_universe_make(pipeline), pipeline->error);
	pipeline->result->read_ns = now_ns() - start;
	if (!result)
		result = sn_comm_agree(sn_comm_rank() ? 0 : describe(analysis), pipeline->error);
	start = now_ns();
	if (!result)
		result = sn_comm_agree(share_output(analysis), pipeline->error);
	if (!result)
		result = sn_comm_agree(sn_universe_share(pipeline), pipeline->error);
	if (!result)
		result = write_values(analysis);
	pipeline->result->write_ns = now_ns() - start;
	return result;
}

static void release_worker(struct sn_worker *worker, uint32_t bucket_count)
{
	sn_unified_release(&worker->unified);
	sn_across_release(&worker->across);
	sn_major_release(&worker->major);
	free(worker->blocks);
	free(worker->nodes);
	free(worker->metrics);
	free(worker->ids);
	free(worker->starts);
	free(worker->numbers);
	free(worker->made);
	for (uint32_t b = 0; worker->buckets && b < bucket_count; b++)
		free(worker->buckets[b].chunks);
	free(worker->buckets);
}

static void release(struct analysis *analysis)
{
	struct sn_pipeline *pipeline = &analysis->pipeline;
	for (unsigned i = 0; pipeline->workers && i < pipeline->threads; i++)
		release_worker(pipeline->workers + i, pipeline->universe.bucket_count);
	free(pipeline->workers);
	free(pipeline->readable);
	free(pipeline->first_rows);
	free(pipeline->row_index);
	free(pipeline->pairs);
	sn_universe_release(&pipeline->universe);
	sn_db_ordered_release(&pipeline->ordered);
	sn_spill_close(&pipeline->values);
	sn_spill_close(&pipeline->planes);
	sn_spill_close(&pipeline->rows);
	sn_spill_close(&analysis->pipe);
	sn_inputs_release(&analysis->inputs);
	if (analysis->has_output)
		sn_output_abandon(&analysis->output);
	if (analysis->shared_fd >= 0)
		close(analysis->shared_fd);
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
	struct analysis analysis = {
	    .pipeline = {.options = options ? options : &usual,
			 .output = output,
			 .values.fd = -1,
			 .planes.fd = -1,
			 .rows.fd = -1,
			 .result = result ? result : &ignored,
			 .error = error ? error : &unread},
	    .pipe.fd = -1,
	    .shared_fd = -1,
	};
	struct sn_pipeline *pipeline = &analysis.pipeline;
	memset(pipeline->result, 0, sizeof(*pipeline->result));
	if (!count)
		return sn_fail(error, SN_ERR_ARGUMENT, "no measurement was given");
	pipeline->threads = sn_pool_threads(pipeline->options->jobs);
	pipeline->memory =
	    pipeline->options->memory_bytes ? pipeline->options->memory_bytes : UINT64_MAX;
	pthread_mutex_init(&pipeline->mutex, NULL);
	pthread_cond_init(&pipeline->room, NULL);
	int status = run(&analysis, folders, count);
	release(&analysis);
	return status;
}
