/* SPDX-License-Identifier: Apache-2.0 */
/* GPU binaries in the form of structure.h; see gpu_structure.h. */
#include "gpu_structure.h"
#include "base/vec.h"
#include "binary/demangle/demangle.h"
#include "gpu_locate.h"
#include "binary/structure/scopes.h"

#include <stdlib.h>
#include <string.h>

#define TAKEN_BYTES (1u << 20) /* of text at once */

struct work {
	struct sn_gpu_locator locator;
	struct sn_string_pool pool; /* emptied after each function */
	struct sn_scopes scopes;
	struct sn_structure_call *calls;
	size_t call_capacity;
	bool with_lines;
};

/* Where lines are wanted, that of the code; else that of the loop it is in. */
static int place_of(struct work *work, uint64_t address, uint32_t loop,
		    struct sn_symbol_location *location)
{
	const struct sn_symbol_location *known = &work->locator.plain;
	if (work->with_lines && sn_gpu_locator_line(&work->locator, address, &known) != 0)
		return SN_ERR_MEMORY;
	*location = *known;
	if (!work->with_lines && loop != SN_FLOW_NONE && work->locator.loops[loop].like) {
		*location = *work->locator.loops[loop].like;
		location->depth = work->locator.loops[loop].home;
	}
	return 0;
}

/* Code of one line in one block. */
static int place(struct work *work, uint64_t start, uint64_t end, uint32_t loop)
{
	struct sn_symbol_location location;
	if (place_of(work, start, loop, &location) != 0 ||
	    sn_gpu_locator_insert_loops(&work->locator, loop, &location) != 0)
		return SN_ERR_MEMORY;
	uint32_t scope = sn_scopes_add(&work->scopes, &location, start, end, work->with_lines);
	if (loop != SN_FLOW_NONE && work->locator.loops[loop].header == start)
		sn_scopes_count_loop(&work->scopes, scope,
				     work->locator.forest.loops[loop].is_irreducible);
	return work->scopes.failed ? SN_ERR_MEMORY : 0;
}

static int place_block(struct work *work, uint32_t block)
{
	const struct sn_flow_block *of = &work->locator.function->flow.blocks[block];
	uint32_t loop = work->locator.forest.block_loops[block];
	for (uint64_t at = of->start, end; at < of->end; at = end) {
		uint32_t line = sn_gpu_locator_line_at(&work->locator, at);
		end = of->end;
		if (line < work->locator.last_line) {
			const struct sn_gpu_line *next = &work->locator.binary->lines[line];
			uint64_t bound = next->start > at ? next->start : next->end;
			if (bound < end)
				end = bound;
		}
		if (place(work, at, end, loop) != 0)
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* Calls that come back; jumps to other functions are none. */
static int add_calls(struct work *work, const struct sn_gpu_function *function,
		     struct sn_structure_function *result)
{
	const struct sn_gpu_binary *binary = work->locator.binary;
	uint64_t length = binary->vendor == SN_GPU_NVIDIA ? 16 : 4;
	if (sn_vec_reserve(&work->calls, &work->call_capacity, function->call_count + 1u) < 0)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < function->call_count; i++) {
		const struct sn_gpu_call *call = &function->calls[i];
		uint64_t target =
		    call->function == SN_GPU_NONE ? 0 : binary->functions[call->function].start;
		if (!call->is_tail)
			work->calls[result->call_count++] = (struct sn_structure_call){
			    call->address, call->address + length, target};
	}
	result->calls = work->calls;
	return 0;
}

static int write_function(struct work *work, const struct sn_gpu_function *function,
			  const struct sn_structure_writer *writer, FILE *out)
{
	int status = sn_gpu_locator_enter(&work->locator,
					  (uint32_t)(function - work->locator.binary->functions));
	if (status != 0)
		return status;
	sn_scopes_begin(&work->scopes, &work->locator.plain, function->start);
	for (uint32_t i = 0; i < function->flow.block_count && status == 0; i++)
		status = place_block(work, i);
	if (status != 0)
		return status;
	sn_scopes_finish(&work->scopes);
	struct sn_structure_function result = {.scopes = work->scopes.scopes,
					       .ranges = work->scopes.ranges,
					       .scope_count = work->scopes.scope_count,
					       .block_count = function->flow.block_count,
					       .loop_count = work->locator.forest.loop_count,
					       .jump_count = function->has_unknown_jump,
					       .unresolved_count = function->has_unknown_jump};
	for (uint32_t i = 0; i < work->locator.forest.loop_count; i++)
		result.irreducible_count += work->locator.forest.loops[i].is_irreducible;
	if (add_calls(work, function, &result) < 0)
		return SN_ERR_MEMORY;
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
		*goes_on = writer->put(writer->data, piece->text, piece->length);
	free(piece->text);
	return status;
}

static int write_all(struct work *work, const char *asked, const struct sn_structure_writer *writer)
{
	const struct sn_gpu_binary *binary = work->locator.binary;
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
			sn_string_pool_clear(&work->pool);
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
	struct work work = {.with_lines = !options->no_lines};
	work.locator = (struct sn_gpu_locator){.binary = binary, .pool = &work.pool};
	int status = write_all(&work, options->function, writer);
	sn_string_pool_release(&work.pool);
	sn_gpu_locator_release(&work.locator);
	sn_scopes_release(&work.scopes);
	free(work.calls);
	return status;
}
