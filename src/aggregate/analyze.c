/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of analysis in order; see analyze.h. */
#include "analyze.h"

#include "base/vec.h"
#include "expand.h"
#include "merge.h"
#include "provenance.h"
#include "resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct analysis {
	struct sn_db_builder *builder;
	struct sn_merge merge;
	struct sn_provenance provenance;
	struct sn_analyze_result *result;
	struct sn_error *error;
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int out_of_memory(struct sn_error *error)
{
	return sn_fail(error, SN_ERR_MEMORY, "out of memory");
}

static int add_file(struct analysis *analysis, const char *path)
{
	struct sn_measurement *measurement;
	struct sn_error why = {""};
	int result = sn_measurement_open(path, &measurement, &why);
	if (result == SN_ERR_MEMORY)
		return sn_fail(analysis->error, result, "%s", why.text);
	if (result) {
		sn_provenance_add_unreadable(&analysis->provenance);
		if (!analysis->result->unreadable++)
			analysis->result->first_problem = why;
		return 0;
	}
	analysis->result->processes++;
	analysis->result->fallbacks += measurement->is_fallback;
	result = sn_merge_add(&analysis->merge, measurement);
	if (!result)
		result = sn_provenance_add(&analysis->provenance, measurement, analysis->builder);
	sn_measurement_free(measurement);
	return result ? out_of_memory(analysis->error) : 0;
}

/* A measurement file, and which of the given folders it is of. */
struct input {
	const char *path;
	size_t folder;
};

struct inputs {
	struct input *items;
	size_t count, capacity;
	char ***lists; /* of each folder; own the paths */
	size_t list_count;
};

static int compare_inputs(const void *left, const void *right)
{
	const struct input *a = left, *b = right;
	const char *a_name = strrchr(a->path, '/'), *b_name = strrchr(b->path, '/');
	int order = strcmp(a_name ? a_name + 1 : a->path, b_name ? b_name + 1 : b->path);
	return order ? order : strcmp(a->path, b->path);
}

/* All files of all folders, by name: HOST-PID-START, whatever the order of the folders. */
static int list_inputs(const char *const *folders, size_t count, struct inputs *inputs,
		       struct sn_error *error)
{
	inputs->lists = calloc(count, sizeof(*inputs->lists));
	if (!inputs->lists)
		return out_of_memory(error);
	for (size_t i = 0; i < count; i++) {
		size_t files;
		int result = sn_measurement_list(folders[i], inputs->lists + i, &files, error);
		if (result)
			return result;
		inputs->list_count = i + 1;
		if (sn_vec_reserve(&inputs->items, &inputs->capacity, inputs->count + files) < 0)
			return out_of_memory(error);
		for (size_t j = 0; j < files; j++)
			inputs->items[inputs->count++] = (struct input){inputs->lists[i][j], i};
	}
	qsort(inputs->items, inputs->count, sizeof(*inputs->items), compare_inputs);
	return 0;
}

static void release_inputs(struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->list_count; i++)
		sn_measurement_free_list(inputs->lists[i]);
	free(inputs->lists);
	free(inputs->items);
}

/* A folder of which nothing was readable is a mistake of the user's, not a loss. */
static int check_folders(const struct analysis *analysis, const char *const *folders, size_t count,
			 const bool *is_readable)
{
	for (size_t i = 0; i < count; i++) {
		if (is_readable[i])
			continue;
		if (count == 1)
			return sn_fail(analysis->error, SN_ERR_FORMAT, "%s",
				       analysis->result->first_problem.text);
		return sn_fail(analysis->error, SN_ERR_FORMAT,
			       "cannot read '%s': none of its measurements is readable",
			       folders[i]);
	}
	return 0;
}

static int add_folders(struct analysis *analysis, const char *const *folders, size_t count)
{
	struct inputs inputs = {0};
	bool *is_readable = calloc(count, sizeof(*is_readable));
	int result = is_readable ? list_inputs(folders, count, &inputs, analysis->error)
				 : out_of_memory(analysis->error);
	for (size_t i = 0; i < inputs.count && !result; i++) {
		uint64_t before = analysis->result->processes;
		result = add_file(analysis, inputs.items[i].path);
		if (analysis->result->processes != before)
			is_readable[inputs.items[i].folder] = true;
	}
	if (!result)
		result = check_folders(analysis, folders, count, is_readable);
	release_inputs(&inputs);
	free(is_readable);
	return result;
}

static unsigned job_count(const struct sn_analyze_options *options)
{
	if (options->jobs)
		return options->jobs;
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 ? (unsigned)online : 1;
}

/* Notes the modules that could not be read. What the symbol cache knew is not missing. */
static void note_nameless(struct analysis *analysis, const struct sn_symbolizer *symbolizer,
			  const struct sn_resolved *resolved)
{
	struct sn_analyze_result *result = analysis->result;
	for (uint32_t i = 0; i < analysis->merge.modules.count; i++) {
		struct sn_symbol_module_info info;
		struct sn_merged_module module;
		if (resolved->modules[i] == SONDE_NONE)
			continue;
		sn_symbolizer_module_info(symbolizer, resolved->modules[i], &info);
		if (info.status != SN_SYMBOL_NOT_FOUND && info.status != SN_SYMBOL_DIFFERS &&
		    info.status != SN_SYMBOL_UNSUPPORTED)
			continue;
		if (result->nameless_count++ >= SN_ANALYZE_NAMELESS_MAX)
			continue;
		struct sn_analyze_nameless *noted = result->nameless + result->nameless_count - 1;
		memcpy(&module, sn_intern_at(&analysis->merge.modules, i, NULL), sizeof(module));
		snprintf(noted->module, sizeof(noted->module), "%s",
			 sn_db_builder_text(analysis->builder, module.path));
		noted->why = sn_symbol_status_text(info.status);
	}
}

static int resolve_and_expand(struct analysis *analysis, const struct sn_analyze_options *options)
{
	struct sn_symbolizer_options symbolizer_options = {
	    .cache_folder = options->no_cache ? "" : NULL,
	    .no_loops = options->no_loops,
	    .debug_path = options->debug_path,
	    .sysroot = options->sysroot,
	};
	struct sn_symbolizer *symbolizer;
	int result = sn_symbolizer_new(&symbolizer_options, &symbolizer, analysis->error);
	if (result)
		return result;
	struct sn_resolved resolved;
	uint64_t start = now_ns();
	result = sn_resolve(&analysis->merge, symbolizer, job_count(options), &resolved);
	analysis->result->symbols_ns = now_ns() - start;
	analysis->result->addresses = resolved.address_count;
	if (!result) {
		note_nameless(analysis, symbolizer, &resolved);
		result = sn_expand(&analysis->merge, &resolved);
	}
	if (result)
		sn_fail(analysis->error, result,
			result == SN_ERR_MEMORY ? "out of memory" : "cannot look up symbols");
	sn_resolved_release(&resolved);
	sn_symbolizer_free(symbolizer);
	return result;
}

static int run(struct analysis *analysis, const char *const *folders, size_t count,
	       const char *output, const struct sn_analyze_options *options)
{
	uint64_t start = now_ns();
	int result = add_folders(analysis, folders, count);
	analysis->result->read_ns = now_ns() - start;
	if (!result)
		result = resolve_and_expand(analysis, options);
	if (!result && sn_provenance_finish(&analysis->provenance, analysis->builder))
		result = out_of_memory(analysis->error);
	if (result)
		return result;
	start = now_ns();
	analysis->result->contexts = sn_db_builder_context_count(analysis->builder);
	result = sn_db_builder_write(analysis->builder, output, analysis->error);
	analysis->result->write_ns = now_ns() - start;
	return result;
}

int sn_analyze(const char *const *folders, size_t count, const char *output,
	       const struct sn_analyze_options *options, struct sn_analyze_result *result,
	       struct sn_error *error)
{
	static const struct sn_analyze_options usual;
	struct sn_analyze_result ignored;
	struct analysis analysis = {.result = result ? result : &ignored, .error = error};
	memset(analysis.result, 0, sizeof(*analysis.result));
	if (!count)
		return sn_fail(error, SN_ERR_ARGUMENT, "no measurement was given");
	analysis.builder = sn_db_builder_new();
	sn_provenance_init(&analysis.provenance);
	int status = sn_merge_init(&analysis.merge, analysis.builder);
	if (!analysis.builder || status)
		status = out_of_memory(error);
	else
		status = run(&analysis, folders, count, output, options ? options : &usual);
	sn_provenance_release(&analysis.provenance);
	sn_merge_release(&analysis.merge);
	sn_db_builder_free(analysis.builder);
	return status;
}
