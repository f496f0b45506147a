/* SPDX-License-Identifier: Apache-2.0 */
/* See gpu_structure.h. Where loops stand among inlined calls is decided as for CPUs (nest.h). */
#include "gpu_structure.h"
#include "base/vec.h"
#include "binary/demangle.h"
#include "binary/structure/scopes.h"

#include <stdlib.h>
#include <string.h>

#define LOOPS_AROUND_MAX  64
#define INLINED_DEPTH_MAX 256
#define TAKEN_BYTES	  (1u << 20) /* of text at once */

struct work {
	const struct sn_gpu_binary *binary;
	bool with_lines;
	struct sn_string_pool pool;	      /* emptied after each function */
	struct sn_symbol_location *locations; /* by line of the binary; depth 0: not made yet */
	struct sn_loop_forest forest;
	struct sn_nest_loop *loops;
	struct sn_nest_marks *marks;
	struct sn_scopes scopes;
	size_t loop_capacity, mark_capacity;
	/* of the function */
	const struct sn_gpu_function *function;
	struct sn_symbol_location plain; /* of an address without a line */
	uint32_t first_line, last_line;	 /* those of its code */
};

static const char *readable(struct work *work, const char *symbol)
{
	char *name = symbol ? sn_demangle_short(symbol) : NULL;
	const char *kept = sn_string_pool_string(&work->pool, name);
	free(name);
	return kept;
}

/* The first line of the function's own code in the file where it begins: debug information of
 * kernels does not say where they are declared. */
static void describe_function(struct work *work, struct sn_symbol_frame *frame)
{
	const struct sn_gpu_binary *binary = work->binary;
	for (uint32_t i = work->first_line; i < work->last_line; i++) {
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

static int begin_function(struct work *work, const struct sn_gpu_function *function)
{
	const struct sn_gpu_binary *binary = work->binary;
	struct sn_symbol_frame *frame = sn_string_pool_allocate(&work->pool, sizeof(*frame));
	if (!frame)
		return SN_ERR_MEMORY;
	work->function = function;
	work->first_line = work->last_line;
	while (work->first_line < binary->line_count &&
	       binary->lines[work->first_line].end <= function->start)
		work->first_line++;
	work->last_line = work->first_line;
	while (work->last_line < binary->line_count &&
	       binary->lines[work->last_line].start < function->end)
		work->last_line++;
	frame->name = readable(work, function->name);
	if (!frame->name)
		return SN_ERR_MEMORY;
	if (strcmp(frame->name, function->symbol) != 0)
		frame->linkage_name = function->symbol;
	describe_function(work, frame);
	work->plain = (struct sn_symbol_location){
	    .frames = frame, .depth = 1, .function_start = function->start};
	return 0;
}

/* Frame i + 1 is called at the line of frame i. */
static int make_location(struct work *work, const struct sn_gpu_line *line,
			 struct sn_symbol_location *location)
{
	const struct sn_gpu_inlined *inlined = work->binary->inlined;
	uint32_t depth = 1;
	for (uint32_t i = line->inlined; i != SN_GPU_NONE && depth < INLINED_DEPTH_MAX;
	     i = inlined[i].parent)
		depth++;
	struct sn_symbol_frame *frames =
	    sn_string_pool_allocate(&work->pool, depth * sizeof(*frames));
	if (!frames)
		return SN_ERR_MEMORY;
	*location = (struct sn_symbol_location){
	    .frames = frames, .depth = depth, .function_start = work->function->start};
	const char *file = line->file;
	uint32_t number = line->line, at = line->inlined;
	for (uint32_t i = depth; i-- > 1; at = inlined[at].parent) {
		const char *symbol = inlined[at].function, *name = readable(work, symbol);
		bool is_same = name && strcmp(name, symbol) == 0;
		frames[i] = (struct sn_symbol_frame){.kind = SN_SYMBOL_INLINED,
						     .name = name,
						     .linkage_name = is_same ? NULL : symbol,
						     .file = file,
						     .line = number};
		file = inlined[at].call_file;
		number = inlined[at].call_line;
	}
	frames[0] = work->plain.frames[0];
	frames[0].line = number;
	if (file)
		frames[0].file = file;
	return 0;
}

/* The line of the function's code that holds an address, or its last_line. */
static uint32_t line_at(const struct work *work, uint64_t address)
{
	uint32_t low = work->first_line, high = work->last_line;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (work->binary->lines[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int location_at(struct work *work, uint64_t address,
		       const struct sn_symbol_location **location)
{
	uint32_t at = line_at(work, address);
	*location = &work->plain;
	if (at == work->last_line || work->binary->lines[at].start > address)
		return 0;
	struct sn_symbol_location *known = &work->locations[at - work->first_line];
	*location = known;
	return known->depth > 0 ? 0 : make_location(work, &work->binary->lines[at], known);
}

static int settle_loop(struct work *work, uint32_t loop)
{
	const struct sn_symbol_location *locations[SN_NEST_MARKS_MAX];
	const struct sn_nest_marks *marks = &work->marks[loop];
	for (uint32_t i = 0; i < marks->count; i++)
		if (location_at(work, marks->addresses[i], &locations[i]) != 0)
			return SN_ERR_MEMORY;
	if (marks->count > 0)
		sn_nest_settle(&work->loops[loop], marks, locations);
	return 0;
}

static int find_loops(struct work *work)
{
	const struct sn_flow_graph *flow = &work->function->flow;
	int status = sn_loop_forest_build(&work->forest, flow);
	uint32_t count = work->forest.loop_count;
	if (status != 0)
		return status;
	if (sn_vec_reserve(&work->loops, &work->loop_capacity, (size_t)count + 1) != 0 ||
	    sn_vec_reserve(&work->marks, &work->mark_capacity, (size_t)count + 1) != 0)
		return SN_ERR_MEMORY;
	sn_nest_marks(flow, &work->forest, work->marks);
	for (uint32_t i = 0; i < count && status == 0; i++) {
		const struct sn_loop *loop = &work->forest.loops[i];
		work->loops[i] = (struct sn_nest_loop){.header = flow->blocks[loop->header].start,
						       .parent = loop->parent};
		status = settle_loop(work, i);
	}
	return status;
}

/* Where lines are wanted, that of the code; else that of the loop it is in. */
static int place_of(struct work *work, uint64_t address, uint32_t loop,
		    struct sn_symbol_location *location)
{
	const struct sn_symbol_location *known = &work->plain;
	if (work->with_lines && location_at(work, address, &known) != 0)
		return SN_ERR_MEMORY;
	*location = *known;
	if (!work->with_lines && loop != SN_FLOW_NONE && work->loops[loop].like) {
		*location = *work->loops[loop].like;
		location->depth = work->loops[loop].home;
	}
	return 0;
}

/* Code of one line in one block. */
static int place(struct work *work, uint64_t start, uint64_t end, uint32_t loop)
{
	const struct sn_nest_loop *chain[LOOPS_AROUND_MAX];
	struct sn_symbol_location location;
	uint32_t depth = 0;
	if (place_of(work, start, loop, &location) != 0)
		return SN_ERR_MEMORY;
	for (uint32_t at = loop; at != SN_FLOW_NONE && depth < LOOPS_AROUND_MAX;
	     at = work->loops[at].parent)
		chain[LOOPS_AROUND_MAX - ++depth] = &work->loops[at];
	if (depth > 0 &&
	    sn_nest_insert(chain + LOOPS_AROUND_MAX - depth, depth, &work->pool, &location) < 0)
		return SN_ERR_MEMORY;
	uint32_t scope = sn_scopes_add(&work->scopes, &location, start, end, work->with_lines);
	if (loop != SN_FLOW_NONE && work->loops[loop].header == start)
		sn_scopes_count_loop(&work->scopes, scope, work->forest.loops[loop].is_irreducible);
	return work->scopes.failed ? SN_ERR_MEMORY : 0;
}

static int place_block(struct work *work, uint32_t block)
{
	const struct sn_flow_block *of = &work->function->flow.blocks[block];
	uint32_t loop = work->forest.block_loops[block];
	for (uint64_t at = of->start, end; at < of->end; at = end) {
		uint32_t line = line_at(work, at);
		end = of->end;
		if (line < work->last_line) {
			const struct sn_gpu_line *next = &work->binary->lines[line];
			uint64_t bound = next->start > at ? next->start : next->end;
			if (bound < end)
				end = bound;
		}
		if (place(work, at, end, loop) != 0)
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int write_function(struct work *work, const struct sn_gpu_function *function,
			  const struct sn_structure_writer *writer, FILE *out)
{
	int status = begin_function(work, function);
	size_t lines = (size_t)(work->last_line - work->first_line) + 1;
	if (status == 0) {
		work->locations =
		    sn_string_pool_allocate(&work->pool, lines * sizeof(*work->locations));
		status = work->locations ? 0 : SN_ERR_MEMORY;
	}
	if (status == 0)
		status = find_loops(work);
	if (status != 0)
		return status;
	sn_scopes_begin(&work->scopes, &work->plain, function->start);
	for (uint32_t i = 0; i < function->flow.block_count && status == 0; i++)
		status = place_block(work, i);
	if (status != 0)
		return status;
	sn_scopes_finish(&work->scopes);
	struct sn_structure_function result = {.scopes = work->scopes.scopes,
					       .ranges = work->scopes.ranges,
					       .scope_count = work->scopes.scope_count,
					       .range_count = work->scopes.range_count,
					       .end = function->end,
					       .part_count = 1,
					       .block_count = function->flow.block_count,
					       .loop_count = work->forest.loop_count,
					       .jump_count = function->has_unknown_jump,
					       .unresolved_count = function->has_unknown_jump};
	for (uint32_t i = 0; i < work->forest.loop_count; i++)
		result.irreducible_count += work->forest.loops[i].is_irreducible;
	writer->write(writer->data, &result, out);
	return 0;
}

/* By symbol, by name, by readable name, or by address. */
static bool is_asked(const struct sn_gpu_function *function, const char *asked)
{
	char *end;
	if (!asked || strcmp(function->symbol, asked) == 0 || strcmp(function->name, asked) == 0)
		return true;
	if (strncmp(asked, "0x", 2) == 0)
		return strtoull(asked, &end, 16) == function->start && *end == '\0';
	char *name = sn_demangle_short(function->name);
	bool is_it = name && strcmp(name, asked) == 0;
	free(name);
	return is_it;
}

struct piece {
	char *text;
	size_t length;
	FILE *out;
};

static int begin_piece(struct piece *piece)
{
	*piece = (struct piece){0};
	piece->out = open_memstream(&piece->text, &piece->length);
	return piece->out ? 0 : SN_ERR_MEMORY;
}

static int end_piece(struct piece *piece, const struct sn_structure_writer *writer, bool *goes_on)
{
	int status = fclose(piece->out) == 0 ? 0 : SN_ERR_MEMORY;
	if (status == 0 && piece->length > 0)
		*goes_on = writer->take(writer->data, piece->text, piece->length);
	free(piece->text);
	return status;
}

static int write_all(struct work *work, const char *asked, const struct sn_structure_writer *writer)
{
	const struct sn_gpu_binary *binary = work->binary;
	bool goes_on = true;
	int status = 0;
	for (uint32_t i = 0; i < binary->function_count && status == 0 && goes_on;) {
		struct piece piece;
		status = begin_piece(&piece);
		if (status != 0)
			break;
		for (; i < binary->function_count && status == 0; i++) {
			const struct sn_gpu_function *function = &binary->functions[i];
			if (is_asked(function, asked) && function->flow.block_count > 0)
				status = write_function(work, function, writer, piece.out);
			sn_string_pool_release(&work->pool);
			if (ftell(piece.out) > TAKEN_BYTES) {
				i++;
				break;
			}
		}
		int ended = end_piece(&piece, writer, &goes_on);
		if (status == 0)
			status = ended;
	}
	return status;
}

void sn_gpu_structure_describe(const struct sn_gpu_binary *binary, struct sn_structure_info *info)
{
	*info = (struct sn_structure_info){.machine = binary->target,
					   .has_lines = binary->line_count > 0,
					   .has_jump_tables = true};
	info->status = binary->line_count > 0 ? "symbols and lines" : "symbols, but no lines";
	for (uint32_t i = 0; i < binary->function_count; i++)
		info->code_bytes += binary->functions[i].end - binary->functions[i].start;
}

int sn_gpu_structure_write(const struct sn_gpu_binary *binary,
			   const struct sn_structure_options *options,
			   const struct sn_structure_writer *writer)
{
	struct work work = {.binary = binary, .with_lines = !options->no_lines};
	int status = write_all(&work, options->function, writer);
	sn_string_pool_release(&work.pool);
	sn_loop_forest_release(&work.forest);
	sn_scopes_release(&work.scopes);
	free(work.loops);
	free(work.marks);
	return status;
}
