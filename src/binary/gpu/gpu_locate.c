/* SPDX-License-Identifier: Apache-2.0 */
/* See gpu_locate.h. Where loops stand among inlined calls is decided as for CPUs (nest.h). */
#include "gpu_locate.h"
#include "base/search.h"
#include "base/vec.h"
#include "binary/demangle/demangle.h"

#include <stdlib.h>
#include <string.h>

#define INLINED_DEPTH_MAX 256

static const char *readable(struct sn_gpu_locator *locator, const char *symbol)
{
	char *name = symbol ? sn_demangle_short(symbol) : NULL;
	const char *kept = sn_string_pool_string(locator->pool, name);
	free(name);
	return kept;
}

/* The first line of the function's own code in the file where it begins: debug information of
 * kernels does not say where they are declared. */
static void describe_function(struct sn_gpu_locator *locator, struct sn_symbol_frame *frame)
{
	const struct sn_gpu_binary *binary = locator->binary;
	for (uint32_t i = locator->first_line; i < locator->last_line; i++) {
		const struct sn_gpu_line *line = &binary->lines[i];
		if (line->inlined != SN_GPU_NONE || !line->file || line->line == 0)
			continue;
		if (!frame->file)
			frame->file = line->file;
		if (strcmp(frame->file, line->file) == 0 &&
		    (frame->function_line == 0 || line->line < frame->function_line))
			frame->function_line = line->line;
	}
}

/* The first line that ends behind an address. */
static uint32_t first_line_after(const struct sn_gpu_binary *binary, uint64_t address)
{
	return sn_search(i, binary->line_count, binary->lines[i].end <= address);
}

static int begin_function(struct sn_gpu_locator *locator, const struct sn_gpu_function *function)
{
	const struct sn_gpu_binary *binary = locator->binary;
	struct sn_symbol_frame *frame = sn_string_pool_allocate(locator->pool, sizeof(*frame));
	if (!frame)
		return SN_ERR_MEMORY;
	locator->function = function;
	locator->first_line = first_line_after(binary, function->start);
	locator->last_line = locator->first_line;
	while (locator->last_line < binary->line_count &&
	       binary->lines[locator->last_line].start < function->end)
		locator->last_line++;
	size_t lines = (size_t)(locator->last_line - locator->first_line) + 1;
	locator->locations =
	    sn_string_pool_allocate(locator->pool, lines * sizeof(*locator->locations));
	if (!locator->locations)
		return SN_ERR_MEMORY;
	frame->name = readable(locator, function->name);
	if (!frame->name)
		return SN_ERR_MEMORY;
	if (strcmp(frame->name, function->symbol) != 0)
		frame->linkage_name = function->symbol;
	describe_function(locator, frame);
	locator->plain = (struct sn_symbol_location){
	    .frames = frame, .depth = 1, .function_start = function->start};
	return 0;
}

/* Frame i + 1 is called at the line of frame i. */
static int make_location(struct sn_gpu_locator *locator, const struct sn_gpu_line *line,
			 struct sn_symbol_location *location)
{
	const struct sn_gpu_inlined *inlined = locator->binary->inlined;
	uint32_t depth = 1;
	for (uint32_t i = line->inlined; i != SN_GPU_NONE && depth < INLINED_DEPTH_MAX;
	     i = inlined[i].parent)
		depth++;
	struct sn_symbol_frame *frames =
	    sn_string_pool_allocate(locator->pool, depth * sizeof(*frames));
	if (!frames)
		return SN_ERR_MEMORY;
	*location = (struct sn_symbol_location){
	    .frames = frames, .depth = depth, .function_start = locator->function->start};
	const char *file = line->file;
	uint32_t number = line->line, at = line->inlined;
	for (uint32_t i = depth; i-- > 1; at = inlined[at].parent) {
		const char *symbol = inlined[at].function, *name = readable(locator, symbol);
		bool is_same = name && strcmp(name, symbol) == 0;
		frames[i] = (struct sn_symbol_frame){.kind = SN_SYMBOL_INLINED,
						     .name = name,
						     .linkage_name = is_same ? NULL : symbol,
						     .file = file,
						     .line = number};
		file = inlined[at].call_file;
		number = inlined[at].call_line;
	}
	frames[0] = locator->plain.frames[0];
	frames[0].line = number;
	if (file)
		frames[0].file = file;
	return 0;
}

/* The line of the function's code that holds an address, or its last_line. */
uint32_t sn_gpu_locator_line_at(const struct sn_gpu_locator *locator, uint64_t address)
{
	return sn_search_from(i, locator->first_line, locator->last_line,
			      locator->binary->lines[i].end <= address);
}

int sn_gpu_locator_line(struct sn_gpu_locator *locator, uint64_t address,
			const struct sn_symbol_location **location)
{
	uint32_t at = sn_gpu_locator_line_at(locator, address);
	*location = &locator->plain;
	if (at == locator->last_line || locator->binary->lines[at].start > address)
		return 0;
	struct sn_symbol_location *known = &locator->locations[at - locator->first_line];
	*location = known;
	return known->depth > 0 ? 0 : make_location(locator, &locator->binary->lines[at], known);
}

static int settle_loop(struct sn_gpu_locator *locator, uint32_t loop)
{
	const struct sn_symbol_location *locations[SN_NEST_MARKS_MAX];
	const struct sn_nest_marks *marks = &locator->marks[loop];
	for (uint32_t i = 0; i < marks->count; i++)
		if (sn_gpu_locator_line(locator, marks->addresses[i], &locations[i]) != 0)
			return SN_ERR_MEMORY;
	if (marks->count > 0)
		sn_nest_settle(&locator->loops[loop], marks, locations);
	return 0;
}

static int find_loops(struct sn_gpu_locator *locator)
{
	const struct sn_flow_graph *flow = &locator->function->flow;
	int status = sn_loop_forest_build(&locator->forest, flow);
	uint32_t count = locator->forest.loop_count;
	if (status != 0)
		return status;
	if (sn_vec_reserve(&locator->loops, &locator->loop_capacity, (size_t)count + 1) != 0 ||
	    sn_vec_reserve(&locator->marks, &locator->mark_capacity, (size_t)count + 1) != 0)
		return SN_ERR_MEMORY;
	sn_nest_marks(flow, &locator->forest, locator->marks);
	for (uint32_t i = 0; i < count && status == 0; i++) {
		const struct sn_loop *loop = &locator->forest.loops[i];
		locator->loops[i] = (struct sn_nest_loop){
		    .header = flow->blocks[loop->header].start, .parent = loop->parent};
		status = settle_loop(locator, i);
	}
	return status;
}

int sn_gpu_locator_enter(struct sn_gpu_locator *locator, uint32_t function)
{
	int status = begin_function(locator, &locator->binary->functions[function]);
	return status != 0 ? status : find_loops(locator);
}

int sn_gpu_locator_insert_loops(struct sn_gpu_locator *locator, uint32_t loop,
				struct sn_symbol_location *location)
{
	return sn_nest_insert(locator->loops, loop, locator->pool, location);
}

void sn_gpu_locator_release(struct sn_gpu_locator *locator)
{
	sn_loop_forest_release(&locator->forest);
	free(locator->loops);
	free(locator->marks);
}

/* The innermost loop around an address of the function. */
static uint32_t loop_at(const struct sn_gpu_locator *locator, uint64_t address)
{
	const struct sn_flow_graph *flow = &locator->function->flow;
	uint32_t next = sn_search(i, flow->block_count, flow->blocks[i].start <= address);
	if (next == 0 || address >= flow->blocks[next - 1].end)
		return SN_FLOW_NONE;
	return locator->forest.block_loops[next - 1];
}

static int locate_one(struct sn_gpu_locator *locator, bool with_loops, uint64_t address,
		      struct sn_symbol_location *out)
{
	const struct sn_symbol_location *known;
	if (sn_gpu_locator_line(locator, address, &known) != 0)
		return SN_ERR_MEMORY;
	*out = *known;
	return with_loops ? sn_gpu_locator_insert_loops(locator, loop_at(locator, address), out)
			  : 0;
}

int sn_gpu_locate(const struct sn_gpu_binary *binary, bool with_loops, const uint64_t *addresses,
		  size_t count, struct sn_string_pool *pool, struct sn_symbol_location *out)
{
	struct sn_gpu_locator locator = {.binary = binary, .pool = pool};
	uint32_t entered = SN_GPU_NONE;
	int status = 0;
	for (size_t i = 0; i < count && status == 0; i++) {
		uint32_t function = sn_gpu_binary_function_at(binary, addresses[i]);
		out[i] = (struct sn_symbol_location){0};
		if (function == SN_GPU_NONE || binary->functions[function].flow.block_count == 0)
			continue;
		if (function != entered)
			status = sn_gpu_locator_enter(&locator, function);
		entered = function;
		if (status == 0)
			status = locate_one(&locator, with_loops, addresses[i], &out[i]);
	}
	sn_gpu_locator_release(&locator);
	return status;
}
