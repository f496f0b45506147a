/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as a GPU binary, and as a file with GPU binaries in it: functions, blocks, loops,
 * calls and lines are read, and their structure and contexts made of them.
 */
#include "aggregate/gpu_context/gpu_context.h"
#include "binary/gpu/bundle.h"
#include "binary/gpu/gpu_structure.h"
#include "binary/structure/loop_forest.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What everything read promises: checked, because a reader that breaks it makes others crash. */
static void check(const struct sn_gpu_binary *binary)
{
	uint64_t end = 0;
	for (uint32_t i = 0; i < binary->function_count; i++) {
		const struct sn_gpu_function *function = &binary->functions[i];
		if (function->start < end || function->end <= function->start)
			abort();
		end = function->end;
		for (uint32_t j = 0; j < function->flow.block_count; j++)
			if (function->flow.blocks[j].start < function->start ||
			    function->flow.blocks[j].end > function->end)
				abort();
	}
	end = 0;
	for (uint32_t i = 0; i < binary->line_count; i++) {
		if (binary->lines[i].start < end)
			abort();
		end = binary->lines[i].end;
	}
	for (uint32_t i = 0; i < binary->inlined_count; i++)
		if (binary->inlined[i].parent != SN_GPU_NONE && binary->inlined[i].parent >= i)
			abort();
}

static void make_contexts(const struct sn_gpu_binary *binary)
{
	static const struct sn_gpu_call_site none;
	struct sn_gpu_call_site sites[256];
	struct sn_gpu_call_graph *graph;
	struct sn_gpu_contexts contexts;
	size_t count = 0;
	double *measured = calloc((size_t)binary->function_count + 1, sizeof(*measured));
	double weights[256] = {0};
	for (uint32_t i = 0; i < binary->function_count; i++) {
		measured[i] = (double)(binary->functions[i].start % 5);
		for (uint32_t j = 0; j < binary->functions[i].call_count && count < 256; j++) {
			const struct sn_gpu_call *call = &binary->functions[i].calls[j];
			if (call->function != SN_GPU_NONE)
				sites[count++] =
				    (struct sn_gpu_call_site){i, call->function, call->address};
		}
	}
	if (measured && sn_gpu_call_graph_new(binary->function_count, count ? sites : &none, count,
					      SN_GPU_RECURSION_ALL, &graph) == 0) {
		sn_gpu_contexts_build(graph, 0, measured, weights, 500, &contexts);
		sn_gpu_contexts_release(&contexts);
		sn_gpu_call_graph_free(graph);
	}
	free(measured);
}

static void write_nothing(void *data, const struct sn_structure_function *function, FILE *out)
{
	fputs("function", out);
}

static bool take_nothing(void *data, const char *text, size_t length)
{
	return true;
}

static void make_structure(const struct sn_gpu_binary *binary)
{
	struct sn_structure_writer writer = {write_nothing, take_nothing, NULL};
	struct sn_structure_options options = {0};
	if (sn_gpu_structure_write(binary, &options, &writer) != 0)
		abort();
}

static void read_binary(const uint8_t *data, size_t size)
{
	struct sn_elf_file *file;
	struct sn_gpu_binary *binary;
	struct sn_loop_forest forest = {0};
	if (sn_elf_file_from_memory(data, size, false, &file, NULL) != 0)
		return;
	if (sn_gpu_is_binary(file) && sn_gpu_binary_read(file, &binary, NULL) == 0) {
		if (sn_gpu_binary_read_lines(binary) == 0)
			check(binary);
		for (uint32_t i = 0; i < binary->function_count; i++)
			if (binary->functions[i].flow.block_count > 0 &&
			    sn_loop_forest_build(&forest, &binary->functions[i].flow) != 0)
				abort();
		make_structure(binary);
		if (binary->function_count > 0)
			make_contexts(binary);
		sn_loop_forest_release(&forest);
		sn_gpu_binary_free(binary);
	}
	sn_elf_file_free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sn_gpu_bundle bundle;
	read_binary(data, size);
	if (sn_gpu_bundle_read((struct sn_bytes){data, size}, &bundle) == 0)
		for (size_t i = 0; i < bundle.count; i++)
			read_binary(bundle.images[i].bytes.data, bundle.images[i].bytes.size);
	sn_gpu_bundle_release(&bundle);
	return 0;
}
