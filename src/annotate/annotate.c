/* SPDX-License-Identifier: Apache-2.0 */
/* See annotate.h. */
#include "annotate.h"

#include "equivalence.h"
#include "explain.h"

#include "base/intern.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/text.h"
#include "base/vec.h"
#include "binary/structure/flow.h"
#include "binary/symbolize.h"
#include "format/measurement/measurement.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Addresses that the symbolizer is asked for at once: it sorts all that it knows whenever it learns, so that functions are not asked for one by one. */
enum { ASKED_MOST = 50000 };

/* An address of a module that samples were taken at. */
struct place {
	uint32_t module;
	uint64_t offset; /* within the instruction */
	uint32_t
	    owner; /* its function, of the code of the image that is being read; SN_CODE_NONE */
	double value, samples;
};

struct annotating {
	struct sn_annotation *annotation;
	const struct sn_annotate_request *request;
	struct place *places; /* by module and offset */
	size_t place_count, place_capacity;
	/* of the image that is being read: */
	const char *path;
	struct sn_elf_file *file, *symbols;
	struct sn_code *code;
	struct sn_flow flow;
	struct sn_symbolizer *symbolizer;
	struct sn_disassembler *disassembler, *assembler; /* the second one in LLVM's syntax */
	struct sn_effect_decoder *effects;
	struct sn_blame_footprint footprint;
	size_t asked;	 /* instructions whose lines are still to be asked for */
	uint32_t module; /* of the symbolizer */
};

/* Samples of one function of an image. */
struct share {
	uint32_t function; /* of the code; SN_CODE_NONE: of none */
	double value, samples;
};

static void release_function(struct sn_annotated_function *function)
{
	free(function->instructions);
	free(function->blocks);
	free(function->edges);
}

void sn_annotation_release(struct sn_annotation *annotation)
{
	for (size_t number = 0; number < annotation->function_count; number++)
		release_function(&annotation->functions[number]);
	free(annotation->functions);
	free(annotation->gaps);
	free(annotation->others);
	sn_arena_release(&annotation->texts);
	*annotation = (struct sn_annotation){0};
}

/* ---- samples by address ---- */

SN_SORT_BY(sort_places, struct place, const void *,
	   SN_ORDER(a->module, b->module) ?: SN_ORDER(a->offset, b->offset));

/* The function's own frame, below which the parts of it are: inlined calls, loops and lines. NULL where it is no machine code. */
static const struct sonde_db_frame *native_of(const struct sonde_db *db, uint32_t context)
{
	for (;;) {
		const struct sonde_db_context *at = sonde_db_context(db, context);
		const struct sonde_db_frame *frame = sonde_db_frame(db, at->frame);
		if (frame->kind == SN_FRAME_NATIVE)
			return frame->module == SONDE_NONE ? NULL : frame;
		if (frame->kind != SN_FRAME_INLINED && frame->kind != SN_FRAME_LOOP &&
		    frame->kind != SN_FRAME_LINE)
			return NULL;
		context = at->parent;
	}
}

/* What a value is of that is no machine code, by the kind of its frame. */
static const char *why_no_code(const struct sonde_db *db, uint32_t context)
{
	switch (sonde_db_frame(db, sonde_db_context(db, context)->frame)->kind) {
	case SN_FRAME_OS:
		return "code of the kernel";
	case SN_FRAME_IDLE:
		return "idle";
	case SN_FRAME_PYTHON:
		return "Python code";
	case SN_FRAME_NATIVE:
	case SN_FRAME_INLINED:
	case SN_FRAME_LOOP:
	case SN_FRAME_LINE:
		return "machine code of no known file";
	case SN_FRAME_KERNEL:
	case SN_FRAME_GPU_FUNCTION:
	case SN_FRAME_GPU_LOOP:
	case SN_FRAME_GPU_LINE:
	case SN_FRAME_GPU_INSTRUCTION:
	case SN_FRAME_GPU_OP:
		return "code of a device";
	default:
		return "no machine code";
	}
}

static int note_other(struct sn_annotation *annotation, const char *why, double value)
{
	for (size_t i = 0; i < annotation->other_count; i++)
		if (annotation->others[i].why == why) {
			annotation->others[i].value += value;
			return 0;
		}
	return sn_vec_push(&annotation->others, &annotation->other_capacity,
			   &annotation->other_count, (struct sn_annotate_gap){NULL, why, value});
}

static int collect(struct annotating *annotating)
{
	const struct sonde_db *db = annotating->request->db;
	struct sonde_db_summary_plane plane =
	    sonde_db_summary_plane(db, annotating->request->metric);
	int result = 0;
	for (size_t i = 0; !result && i < plane.count; i++) {
		struct sonde_db_stat stat;
		sonde_db_summary_stat(&plane, i, SONDE_DB_EXCLUSIVE, &stat);
		annotating->annotation->value += stat.sum;
		const struct sonde_db_frame *frame =
		    stat.count > 0 ? native_of(db, plane.contexts[i]) : NULL;
		if (frame)
			result = sn_vec_push(&annotating->places, &annotating->place_capacity,
					     &annotating->place_count,
					     (struct place){frame->module,
							    frame->offset - (frame->flags & 1),
							    SN_CODE_NONE, stat.sum, stat.count});
		else if (stat.count > 0)
			result = note_other(annotating->annotation,
					    why_no_code(db, plane.contexts[i]), stat.sum);
	}
	sort_places(annotating->places, annotating->place_count, NULL);
	return result;
}

/* A name as it is, or as a pattern: C++ has operator[]. */
static bool is_like(const char *pattern, const char *name)
{
	return !strcmp(pattern, name) || !fnmatch(pattern, name, 0);
}

static bool fits(const char *pattern, const char *path)
{
	const char *slash = strrchr(path, '/');
	return !pattern || is_like(pattern, path) || (slash && is_like(pattern, slash + 1));
}

bool sn_annotate_has_image(const struct sonde_db *db, const char *image)
{
	for (uint32_t module = 0; module < sonde_db_module_count(db); module++)
		if (fits(image, sonde_db_string(db, sonde_db_module(db, module)->path)))
			return true;
	return false;
}

const char *sn_annotate_hottest_image(const struct sonde_db *db, uint32_t metric, const char *image)
{
	struct sonde_db_summary_plane plane = sonde_db_summary_plane(db, metric);
	uint32_t count = sonde_db_module_count(db), hottest = SONDE_NONE;
	double *values = calloc((size_t)count + 1, sizeof(*values));
	for (size_t i = 0; values && i < plane.count; i++) {
		struct sonde_db_stat stat;
		sonde_db_summary_stat(&plane, i, SONDE_DB_EXCLUSIVE, &stat);
		const struct sonde_db_frame *frame =
		    stat.count > 0 ? native_of(db, plane.contexts[i]) : NULL;
		if (frame)
			values[frame->module] += stat.sum;
	}
	for (uint32_t module = 0; values && module < count; module++) {
		const char *path = sonde_db_string(db, sonde_db_module(db, module)->path);
		if (values[module] > (hottest == SONDE_NONE ? 0 : values[hottest]) &&
		    fits(image, path))
			hottest = module;
	}
	free(values);
	return hottest == SONDE_NONE ? NULL
				     : sonde_db_string(db, sonde_db_module(db, hottest)->path);
}

/* ---- one image ---- */

static void close_image(struct annotating *annotating)
{
	sn_disassembler_free(annotating->disassembler);
	sn_disassembler_free(annotating->assembler);
	sn_effect_decoder_free(annotating->effects);
	sn_flow_release(&annotating->flow);
	sn_code_free(annotating->code);
	sn_elf_file_free(annotating->symbols);
	sn_elf_file_free(annotating->file);
	sn_symbolizer_free(annotating->symbolizer);
	annotating->disassembler = annotating->assembler = NULL;
	annotating->effects = NULL;
	annotating->code = NULL;
	annotating->symbols = annotating->file = NULL;
	annotating->symbolizer = NULL;
	annotating->flow = (struct sn_flow){0};
}

static size_t parse_hex(const char *text, uint8_t bytes[64])
{
	size_t count = 0;
	unsigned byte;
	while (text && count < 64 && sscanf(text + 2 * count, "%2x", &byte) == 1)
		bytes[count++] = (uint8_t)byte;
	return count;
}

static void open_decoders(struct annotating *annotating)
{
	uint16_t machine = annotating->file->machine;
	annotating->disassembler = sn_disassembler_new(machine, annotating->request->syntax);
	annotating->effects = sn_effect_decoder_new(machine);
	if (annotating->request->syntax != SN_SYNTAX_ATT && annotating->effects)
		annotating->assembler = sn_disassembler_new(machine, SN_SYNTAX_ATT);
}

/* Of a store's "[NAME, replaced]" its file is what it says; others are as the symbolizer has them. NULL without memory. */
static const char *why_not_read(struct annotating *annotating, enum sn_symbol_status status)
{
	const char *path = annotating->path, *comma = strrchr(path, ',');
	if (*path != '[' || !comma || comma[1] != ' ' || !sn_text_ends(comma, "]"))
		return sn_symbol_status_text(status);
	return sn_arena_print(&annotating->annotation->texts, "the file is %.*s",
			      (int)strlen(comma) - 3, comma + 2);
}

/* The file with the build id that was measured, and its symbols: they may lie in another one. *why where it cannot be used. */
static int open_file(struct annotating *annotating, const struct sonde_db_module *module,
		     const char **why)
{
	const char *id = sonde_db_string(annotating->request->db, module->build_id);
	struct sn_symbolizer_options options = {
	    .debug_path = annotating->request->debug_path, .cache_folder = "", .no_loops = true};
	struct sn_symbol_location location;
	struct sn_symbol_module_info info;
	uint8_t bytes[64];
	uint64_t address = 0;
	struct sn_error ignored;
	int result = sn_symbolizer_new(&options, &annotating->symbolizer, &ignored);
	result =
	    result ? result
		   : sn_symbolizer_module(annotating->symbolizer, annotating->path, bytes,
					  parse_hex(id, bytes), module->flags, &annotating->module);
	result = result ? result
			: sn_symbolizer_lookup(annotating->symbolizer, annotating->module, &address,
					       1, &location);
	if (result)
		return result;
	sn_symbolizer_module_info(annotating->symbolizer, annotating->module, &info);
	if (info.status >= SN_SYMBOL_NOT_FOUND) {
		*why = why_not_read(annotating, info.status);
		return *why ? 0 : SN_ERR_MEMORY;
	}
	if (info.debug_file)
		sn_elf_file_open(info.debug_file, &annotating->symbols, NULL);
	if (sn_elf_file_open(annotating->path, &annotating->file, NULL)) {
		*why = sn_symbol_status_text(SN_SYMBOL_NOT_FOUND);
		return 0;
	}
	result = sn_code_open(annotating->file, annotating->symbols, &annotating->code);
	if (!result && !annotating->code)
		*why = "neither x86-64 nor AArch64 code";
	if (annotating->code)
		open_decoders(annotating);
	return result;
}

static int note_gap(struct annotating *annotating, const char *why, double value)
{
	struct sn_annotation *annotation = annotating->annotation;
	return sn_vec_push(&annotation->gaps, &annotation->gap_capacity, &annotation->gap_count,
			   (struct sn_annotate_gap){annotating->path, why, value});
}

/* ---- functions ---- */

SN_SORT_BY(sort_by_owner, struct place, const void *,
	   SN_ORDER_BY(a, b, owner) ?: SN_ORDER_BY(a, b, offset));
SN_SORT_BY(sort_shares, struct share, const void *,
	   SN_ORDER(b->value, a->value) ?: SN_ORDER(a->function, b->function));

static int share_out(struct annotating *annotating, struct place *places, size_t count,
		     struct share **shares, size_t *share_count)
{
	struct sn_intern functions = {0};
	size_t capacity = 0;
	int result = 0;
	for (size_t i = 0; !result && i < count; i++) {
		uint32_t at = sn_code_function_at(annotating->code, places[i].offset);
		uint32_t function = at == SN_CODE_NONE ? at : sn_flow_owner(annotating->code, at);
		places[i].owner = function;
		uint32_t number = sn_intern_item(&functions, &function, sizeof(function), shares,
						 &capacity, {function, 0, 0});
		if (number == SN_INTERN_NONE) {
			result = SN_ERR_MEMORY;
			break;
		}
		(*shares)[number].value += places[i].value;
		(*shares)[number].samples += places[i].samples;
	}
	*share_count = functions.count;
	sn_intern_release(&functions);
	sort_by_owner(places, count, NULL);
	sort_shares(*shares, *share_count, NULL);
	return result;
}

/* Where a function begins: its name and place. The text of the location is copied. */
static int describe(struct annotating *annotating, const struct sn_symbol_location *location,
		    struct sn_annotated_function *function)
{
	struct sn_arena *texts = &annotating->annotation->texts;
	const struct sn_symbol_frame *frame = &location->frames[0];
	function->name =
	    frame->name ? sn_arena_text(texts, frame->name)
			: sn_arena_print(texts, "%s+0x%llx", sn_text_base_name(annotating->path),
					 (unsigned long long)function->start);
	function->file = frame->file ? sn_arena_text(texts, frame->file) : NULL;
	function->line = frame->function_line;
	function->image = annotating->path;
	return function->name ? 0 : SN_ERR_MEMORY;
}

/* All of them at once, by address. */
static int describe_all(struct annotating *annotating, struct sn_annotated_function *functions,
			size_t count)
{
	uint64_t *starts = malloc((count + 1) * sizeof(*starts));
	struct sn_symbol_location *locations = malloc((count + 1) * sizeof(*locations));
	int result = starts && locations ? 0 : SN_ERR_MEMORY;
	for (size_t i = 0; !result && i < count; i++)
		starts[i] = functions[i].start;
	if (!result)
		result = sn_symbolizer_lookup(annotating->symbolizer, annotating->module, starts,
					      count, locations);
	for (size_t i = 0; !result && i < count; i++)
		result = describe(annotating, &locations[i], &functions[i]);
	sn_symbolizer_forget(annotating->symbolizer, annotating->module);
	free(starts);
	free(locations);
	return result;
}

static bool is_asked_for(const struct annotating *annotating,
			 const struct sn_annotated_function *function, uint32_t number)
{
	const char *pattern = annotating->request->function;
	const char *symbol = annotating->code->functions[number].name;
	return !pattern || is_like(pattern, function->name) || (symbol && is_like(pattern, symbol));
}

/* ---- instructions ---- */

SN_SORT_BY(sort_instructions, struct sn_annotated_instruction, const void *,
	   SN_ORDER(a->address, b->address));

/* At the begin of bytes. False where there is none; its text is then NULL for lack of memory alone. */
static bool decode_instruction(struct annotating *annotating, struct sn_bytes bytes,
			       struct sn_annotated_instruction *one, uint64_t *next)
{
	struct sn_arena *texts = &annotating->annotation->texts;
	char text[SN_INSTRUCTION_CHARS] = "";
	struct sn_insn insn;
	if (!annotating->code->decode(bytes.data, bytes.size, one->address, &insn))
		return false;
	*next = one->address + insn.length;
	if (annotating->disassembler)
		sn_disassemble(annotating->disassembler, bytes.data, insn.length, one->address,
			       text);
	one->text = sn_arena_text(texts, text);
	one->control = insn.kind;
	one->target = insn.target;
	one->effect.kind = SN_EFFECT_NOTHING;
	if (!annotating->effects || !sn_effect_decode(annotating->effects, bytes.data, insn.length,
						      one->address, &one->effect))
		return true;
	one->assembly = one->text;
	if (annotating->assembler &&
	    sn_disassemble(annotating->assembler, bytes.data, insn.length, one->address, text))
		one->assembly = sn_arena_text(texts, text);
	return true;
}

/* Of a block; overlapping blocks have instructions that are there already. */
static int decode_block(struct annotating *annotating, struct sn_annotated_function *function,
			const struct sn_flow_block *block)
{
	int result = 0;
	for (uint64_t address = block->start; !result && address < block->end;) {
		struct sn_annotated_instruction one = {.address = address,
						       .begins_block = address == block->start};
		if (!decode_instruction(annotating, sn_code_bytes(annotating->code, address), &one,
					&address))
			break;
		result = one.text ? sn_vec_push(&function->instructions, &function->capacity,
						&function->count, one)
				  : SN_ERR_MEMORY;
	}
	return result;
}

/* The blocks, and which of them run equally often. */
static int take_flow(struct annotating *annotating, struct sn_annotated_function *function)
{
	const struct sn_flow_graph *graph = &annotating->flow.graph;
	struct sn_equivalence classes;
	function->blocks = calloc(graph->block_count + 1, sizeof(*function->blocks));
	function->edges = calloc(graph->edge_count + 1, sizeof(*function->edges));
	int result = sn_equivalence_find(&classes, graph);
	if (!function->blocks || !function->edges)
		result = SN_ERR_MEMORY;
	for (uint32_t block = 0; !result && block < graph->block_count; block++)
		function->blocks[function->block_count++] =
		    (struct sn_annotated_block){.start = graph->blocks[block].start,
						.end = graph->blocks[block].end,
						.class = classes.block_class[block]};
	for (uint32_t edge = 0; !result && edge < graph->edge_count; edge++)
		function->edges[function->edge_count++] = (struct sn_annotated_edge){
		    graph->edges[edge].from, graph->edges[edge].to, classes.edge_class[edge]};
	function->class_count = classes.class_count;
	sn_equivalence_release(&classes);
	return result;
}

/* The instruction that an address lies in, or begins; function->count: none. */
static size_t find_instruction(const struct sn_annotated_function *function, uint64_t address)
{
	size_t low = 0, high = function->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (function->instructions[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : function->count;
}

/* Which instructions are a block's. */
static void place_blocks(struct sn_annotated_function *function)
{
	for (uint32_t block = 0; block < function->block_count; block++) {
		struct sn_annotated_block *own = &function->blocks[block];
		size_t first = find_instruction(function, own->start), end = first;
		while (end < function->count && function->instructions[end].address < own->end)
			end++;
		own->first = (uint32_t)first;
		own->count = (uint32_t)(end - first);
	}
}

static int decode(struct annotating *annotating, struct sn_annotated_function *function,
		  uint32_t number)
{
	const struct sn_flow_graph *graph = &annotating->flow.graph;
	int result = sn_flow_build(&annotating->flow, annotating->code, number);
	result = result ? result : take_flow(annotating, function);
	for (uint32_t block = 0; !result && block < graph->block_count; block++)
		result = decode_block(annotating, function, &graph->blocks[block]);
	sort_instructions(function->instructions, function->count, NULL);
	size_t kept = 0;
	for (size_t i = 0; i < function->count; i++) {
		struct sn_annotated_instruction *one = &function->instructions[i];
		if (kept && function->instructions[kept - 1].address == one->address)
			function->instructions[kept - 1].begins_block |= one->begins_block;
		else
			function->instructions[kept++] = *one;
	}
	function->count = kept;
	place_blocks(function);
	return result;
}

/* The source line of an instruction, and its function where that is inlined; texts of the one before are used again. */
static int take_line(struct annotating *annotating, const struct sn_symbol_location *location,
		     struct sn_annotated_instruction *one, struct sn_annotated_instruction *before)
{
	struct sn_arena *texts = &annotating->annotation->texts;
	const struct sn_symbol_frame *frame = &location->frames[location->depth - 1];
	if (!frame->file || !frame->line)
		return 0;
	one->line = frame->line;
	one->file = sn_text_is_same(before->file, frame->file) ? before->file
							       : sn_arena_text(texts, frame->file);
	before->file = one->file;
	if (location->depth < 2 || !frame->name)
		return one->file ? 0 : SN_ERR_MEMORY;
	one->inlined = sn_text_is_same(before->inlined, frame->name)
			   ? before->inlined
			   : sn_arena_text(texts, frame->name);
	before->inlined = one->inlined;
	return one->file && one->inlined ? 0 : SN_ERR_MEMORY;
}

SN_SORT_BY(sort_by_address, struct sn_annotated_instruction *, const void *,
	   SN_ORDER((*a)->address, (*b)->address));

/* Of the functions from `first` on, all at once: they are of the image that is being read. */
static int find_lines(struct annotating *annotating, size_t first)
{
	const struct sn_annotation *annotation = annotating->annotation;
	size_t count = annotating->asked, at = 0;
	struct sn_annotated_instruction **all = malloc((count + 1) * sizeof(*all));
	uint64_t *addresses = malloc((count + 1) * sizeof(*addresses));
	struct sn_symbol_location *locations = malloc((count + 1) * sizeof(*locations));
	struct sn_annotated_instruction before = {0};
	int result = all && addresses && locations ? 0 : SN_ERR_MEMORY;
	for (size_t f = first; !result && f < annotation->function_count; f++)
		for (size_t i = 0; i < annotation->functions[f].count; i++)
			all[at++] = &annotation->functions[f].instructions[i];
	if (!result)
		sort_by_address(all, count, NULL);
	for (size_t i = 0; !result && i < count; i++)
		addresses[i] = all[i]->address;
	if (!result)
		result = sn_symbolizer_lookup(annotating->symbolizer, annotating->module, addresses,
					      count, locations);
	for (size_t i = 0; !result && i < count; i++)
		result = take_line(annotating, &locations[i], all[i], &before);
	sn_symbolizer_forget(annotating->symbolizer, annotating->module);
	annotating->asked = 0;
	free(all);
	free(addresses);
	free(locations);
	return result;
}

/* To the block that the instruction is in, or to each of those that overlap there. */
static void add_to_blocks(struct sn_annotated_function *function,
			  const struct sn_annotated_instruction *one, const struct place *place)
{
	for (uint32_t block = 0; block < function->block_count; block++)
		if (one->address >= function->blocks[block].start &&
		    one->address < function->blocks[block].end) {
			function->blocks[block].value += place->value;
			function->blocks[block].samples += place->samples;
		}
}

/* Of the places, which are sorted by owner. */
static void add_samples(struct sn_annotated_function *function, uint32_t number,
			const struct place *places, size_t count)
{
	for (size_t i = sn_search(at, count, places[at].owner < number);
	     i < count && places[i].owner == number; i++) {
		size_t instruction = find_instruction(function, places[i].offset);
		if (instruction == function->count)
			continue;
		function->instructions[instruction].value += places[i].value;
		function->instructions[instruction].samples += places[i].samples;
		add_to_blocks(function, &function->instructions[instruction], &places[i]);
	}
}

/* Its instructions, without their lines. */
static int add_function(struct annotating *annotating, const struct sn_annotated_function *found,
			uint32_t number, const struct place *places, size_t count)
{
	struct sn_annotation *annotation = annotating->annotation;
	struct sn_annotated_function function = *found;
	int result = decode(annotating, &function, number);
	if (!result) {
		add_samples(&function, number, places, count);
		result = sn_vec_push(&annotation->functions, &annotation->function_capacity,
				     &annotation->function_count, function);
	}
	annotating->asked += result ? 0 : function.count;
	if (result)
		release_function(&function);
	return result;
}

SN_SORT_BY(sort_by_function, struct share, const void *, SN_ORDER_BY(a, b, function));

/* Those with samples that are asked for. The shares are sorted by address meanwhile. */
static int add_functions(struct annotating *annotating, struct share *shares, size_t share_count,
			 const struct place *places, size_t count)
{
	struct sn_annotated_function *found = calloc(share_count + 1, sizeof(*found));
	size_t first = annotating->annotation->function_count;
	sort_by_function(shares, share_count, NULL);
	for (size_t i = 0; found && i < share_count; i++)
		found[i] = (struct sn_annotated_function){
		    .start = annotating->code->functions[shares[i].function].start,
		    .value = shares[i].value,
		    .samples = shares[i].samples,
		    .is_modelled = annotating->effects != NULL};
	int result = found ? describe_all(annotating, found, share_count) : SN_ERR_MEMORY;
	for (size_t i = 0; !result && i < share_count; i++) {
		if (is_asked_for(annotating, &found[i], shares[i].function))
			result =
			    add_function(annotating, &found[i], shares[i].function, places, count);
		if (!result && (i + 1 == share_count || annotating->asked > ASKED_MOST)) {
			result = find_lines(annotating, first);
			first = annotating->annotation->function_count;
		}
	}
	free(found);
	return result;
}

/* Lines and pages of the image that samples are in. */
static void add_footprint(struct annotating *annotating, const struct place *places, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool is_first = i == 0;
		annotating->footprint.lines +=
		    is_first || places[i].offset / 64 != places[i - 1].offset / 64;
		annotating->footprint.pages +=
		    is_first || places[i].offset / 4096 != places[i - 1].offset / 4096;
	}
}

static int annotate_image(struct annotating *annotating, struct place *places, size_t count)
{
	const struct sonde_db *db = annotating->request->db;
	const struct sonde_db_module *module = sonde_db_module(db, places->module);
	struct share *shares = NULL;
	const char *why = NULL;
	size_t share_count = 0, kept = 0;
	double value = 0;
	uint32_t limit = annotating->request->limit;
	annotating->path = sonde_db_string(db, module->path);
	if (!fits(annotating->request->image, annotating->path))
		return 0;
	annotating->annotation->has_image = true;
	add_footprint(annotating, places, count);
	int result = open_file(annotating, module, &why);
	for (size_t i = 0; i < count; i++)
		value += places[i].value;
	if (!result && why)
		result = note_gap(annotating, why, value);
	annotating->annotation->is_read |= !result && !why;
	if (!result && !why)
		result = share_out(annotating, places, count, &shares, &share_count);
	for (size_t i = 0; !result && i < share_count; i++) {
		if (shares[i].function == SN_CODE_NONE)
			result = note_gap(annotating, "code outside of functions", shares[i].value);
		else if (!limit || i < limit || annotating->request->function)
			shares[kept++] = shares[i];
		else
			annotating->annotation->not_shown += shares[i].value;
	}
	if (share_count > limit && limit && !annotating->request->function)
		annotating->annotation->left_out += share_count - limit;
	if (!result)
		result = add_functions(annotating, shares, kept, places, count);
	free(shares);
	close_image(annotating);
	return result;
}

SN_SORT_BY(sort_functions, struct sn_annotated_function, const void *,
	   SN_ORDER(b->value, a->value) ?: SN_ORDER(a->start, b->start));
SN_SORT_BY(sort_gaps, struct sn_annotate_gap, const void *, SN_ORDER(b->value, a->value));

/* Of all images the most expensive functions alone. */
static void cut(struct sn_annotation *annotation, uint32_t limit)
{
	sort_functions(annotation->functions, annotation->function_count, NULL);
	sort_gaps(annotation->gaps, annotation->gap_count, NULL);
	while (limit && annotation->function_count > limit) {
		struct sn_annotated_function *last =
		    &annotation->functions[--annotation->function_count];
		annotation->not_shown += last->value;
		annotation->left_out++;
		release_function(last);
	}
}

int sn_annotate(struct sn_annotation *annotation, const struct sn_annotate_request *request,
		struct sn_error *error)
{
	struct annotating annotating = {.annotation = annotation, .request = request};
	*annotation = (struct sn_annotation){0};
	int result = collect(&annotating);
	for (size_t first = 0, end; !result && first < annotating.place_count; first = end) {
		for (end = first + 1; end < annotating.place_count; end++)
			if (annotating.places[end].module != annotating.places[first].module)
				break;
		result = annotate_image(&annotating, annotating.places + first, end - first);
	}
	if (!result) {
		cut(annotation, request->limit);
		result = sn_explain(annotation, &annotating.footprint, request->no_mca);
	}
	close_image(&annotating);
	free(annotating.places);
	return sn_fail_code(error, result);
}
