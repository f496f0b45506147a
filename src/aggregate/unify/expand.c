/* SPDX-License-Identifier: Apache-2.0 */
/* Frames and contexts of the database; see expand.h. */
#include "expand.h"

#include "base/text.h"
#include "base/vec.h"
#include "binary/demangle/demangle.h"
#include "inductor_lines.h"
#include "operators.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One frame of the database that a merged frame becomes. */
struct step {
	uint32_t frame;		/* builder's */
	uint32_t function;	/* from a symbol: the frame of the function itself */
	uint32_t operator_name; /* builder's string: its name; SONDE_NONE for others */
	bool is_from_symbol;
	bool is_backward;
	bool is_native;
	const struct sn_inductor_origin *origin; /* of compiled code: where it belongs; NULL */
};

/* Which steps a merged frame becomes. */
struct steps {
	uint32_t first, count;
	bool is_truncated;
};

/* What a merged node became, and the nearest operator above with native frames at most between. */
struct place {
	uint32_t context;
	uint32_t operator_name;
	bool is_from_symbol;
	bool is_adjacent;	   /* the operator is the context itself */
	uint32_t operator_context; /* of that operator */
	uint32_t values;	   /* the context to which what was measured here belongs */
};

struct expanding {
	struct sn_merge *merge;
	struct sn_db_builder *builder;
	const struct sn_resolved *resolved;
	struct steps *frames; /* by merged frame */
	struct step *steps;
	uint32_t *modules; /* builder's, by merged module; SONDE_NONE: not yet */
	struct place *places;
	struct sn_inductor_lines *inductor;
	size_t step_count, step_capacity;
};

static int add_step(struct expanding *expanding, struct step step)
{
	return sn_vec_push(&expanding->steps, &expanding->step_capacity, &expanding->step_count,
			   step)
		   ? SN_ERR_MEMORY
		   : 0;
}

/* A step that is the frame alone. */
static int add_frame(struct expanding *expanding, const struct sonde_db_frame *frame)
{
	struct step step = {.frame = sn_db_builder_frame(expanding->builder, frame),
			    .operator_name = SONDE_NONE};
	return add_step(expanding, step);
}

static uint32_t string_of(struct expanding *expanding, const char *text)
{
	return sn_db_builder_string(expanding->builder, text);
}

static struct sn_merged_module module_of(const struct expanding *expanding, uint32_t number)
{
	struct sn_merged_module module;
	memcpy(&module, sn_intern_at(&expanding->merge->modules, number, NULL), sizeof(module));
	return module;
}

static uint32_t database_module(struct expanding *expanding, uint32_t number)
{
	if (expanding->modules[number] != SONDE_NONE)
		return expanding->modules[number];
	struct sn_merged_module from = module_of(expanding, number);
	char build_id[2 * sizeof(from.build_id) + 1] = "";
	for (uint32_t i = 0; i < from.build_id_bytes; i++)
		snprintf(build_id + 2 * i, 3, "%02x", from.build_id[i]);
	uint32_t flags = expanding->merge->module_flags[number];
	struct sonde_db_module module = {
	    /* a function that several processes make is one */
	    .path = flags & SN_MODULE_PERF_MAP ? string_of(expanding, "perf.map") : from.path,
	    .build_id = string_of(expanding, from.build_id_bytes ? build_id : NULL),
	    .flags = flags,
	};
	return expanding->modules[number] = sn_db_builder_module(expanding->builder, &module);
}

/* "libfoo.so+0x1234": where the function begins, if that is known, so that its samples stay
 * together. */
static uint32_t nameless(struct expanding *expanding, const struct sn_frame *frame,
			 uint64_t function_start)
{
	uint32_t path = module_of(expanding, frame->id).path;
	char name[300];
	snprintf(name, sizeof(name), "%.255s+0x%" PRIx64,
		 sn_text_base_name(sn_db_builder_text(expanding->builder, path)),
		 function_start ? function_start : frame->value);
	return string_of(expanding, name);
}

/* "loop at solver.c:12", "loop at solver.c:12 #2": by its line, so that the loops that a compiler
 * turned one into are one. */
static uint32_t loop_name(struct expanding *expanding, const struct sn_frame *frame,
			  const struct sn_symbol_frame *symbol)
{
	char name[400];
	char number[16] = "";
	if (symbol->loop_number)
		snprintf(number, sizeof(number), " #%" PRIu32, symbol->loop_number);
	if (symbol->file && symbol->function_line) {
		snprintf(name, sizeof(name), "loop at %.255s:%" PRIu32 "%s",
			 sn_text_base_name(symbol->file), symbol->function_line, number);
	} else {
		uint32_t place = nameless(expanding, frame, symbol->loop_header);
		snprintf(name, sizeof(name), "loop at %.300s",
			 sn_db_builder_text(expanding->builder, place));
	}
	return string_of(expanding, name);
}

static uint32_t loop_frame(struct expanding *expanding, const struct sn_frame *frame,
			   const struct sn_symbol_frame *symbol)
{
	bool has_line = symbol->file && symbol->function_line;
	struct sonde_db_frame loop = {
	    .kind = SN_FRAME_LOOP,
	    .name = loop_name(expanding, frame, symbol),
	    .linkage_name = SONDE_NONE,
	    .module = database_module(expanding, frame->id),
	    .file = string_of(expanding, symbol->file),
	    .line = symbol->line,
	    .function_line = symbol->function_line,
	    .loop_number = symbol->loop_number,
	    .offset = has_line ? 0 : symbol->loop_header,
	};
	return sn_db_builder_frame(expanding->builder, &loop);
}

/* The frame of the level-th of what runs at a native frame. */
static uint32_t function_frame(struct expanding *expanding, const struct sn_frame *frame,
			       const struct sn_symbol_location *location, uint32_t level)
{
	const struct sn_symbol_frame *symbol = location->frames + level;
	bool is_physical = level == 0;
	if (symbol->kind == SN_SYMBOL_LOOP)
		return loop_frame(expanding, frame, symbol);
	struct sonde_db_frame function = {
	    .kind = is_physical ? SN_FRAME_NATIVE : SN_FRAME_INLINED,
	    .flags = is_physical ? frame->flags & SN_FRAME_RETURN_ADDRESS : 0,
	    .name = symbol->name ? string_of(expanding, symbol->name)
				 : nameless(expanding, frame, location->function_start),
	    .linkage_name = string_of(expanding, symbol->linkage_name),
	    .module = database_module(expanding, frame->id),
	    .file = string_of(expanding, symbol->file),
	    .line = symbol->line,
	    .function_line = symbol->function_line,
	    .offset = is_physical ? frame->value : 0,
	};
	return sn_db_builder_frame(expanding->builder, &function);
}

static int add_operator(struct expanding *expanding, const struct sn_operator *found,
			const struct sn_symbol_frame *symbol, uint32_t function)
{
	struct sonde_db_frame frame = {
	    .kind = SN_FRAME_OPERATOR,
	    .flags = found->is_backward ? SN_FRAME_BACKWARD : 0,
	    .name = string_of(expanding, found->name),
	    .linkage_name =
		string_of(expanding, symbol->linkage_name ? symbol->linkage_name : symbol->name),
	    .module = SONDE_NONE,
	    .file = SONDE_NONE,
	};
	struct step step = {
	    .frame = sn_db_builder_frame(expanding->builder, &frame),
	    .function = function,
	    .operator_name = frame.name,
	    .is_from_symbol = true,
	    .is_backward = found->is_backward,
	};
	return add_step(expanding, step);
}

static int add_native(struct expanding *expanding, const struct sn_frame *frame,
		      const struct sn_symbol_location *location, uint32_t level)
{
	const struct sn_symbol_frame *symbol = location->frames + level;
	uint32_t function = function_frame(expanding, frame, location, level);
	struct sn_operator found;
	if (symbol->name && sn_operator_from_symbol(symbol->name, symbol->linkage_name, &found))
		return add_operator(expanding, &found, symbol, function);
	struct step step = {.frame = function, .operator_name = SONDE_NONE, .is_native = true};
	return add_step(expanding, step);
}

/* Whether a call inlined into frames[level] comes below it. */
static bool has_inlined_below(const struct sn_symbol_location *location, uint32_t level)
{
	while (++level < location->depth)
		if (location->frames[level].kind != SN_SYMBOL_LOOP)
			return true;
	return false;
}

/* The level-th of what a GPU's instruction is in. Its line is that of the call inlined next; the
 * instruction's own is a frame below. */
static int add_gpu_level(struct expanding *expanding, const struct sn_frame *frame,
			 const struct sn_symbol_location *location, uint32_t level)
{
	const struct sn_symbol_frame *symbol = location->frames + level;
	bool is_loop = symbol->kind == SN_SYMBOL_LOOP, is_call = !is_loop && level > 0;
	uint32_t name = string_of(expanding, symbol->name);
	if (is_loop)
		name = loop_name(expanding, frame, symbol);
	else if (!symbol->name)
		name = nameless(expanding, frame, location->function_start);
	struct sonde_db_frame scope = {
	    .kind = is_loop   ? SN_FRAME_GPU_LOOP
		    : is_call ? SN_FRAME_INLINED
			      : SN_FRAME_GPU_FUNCTION,
	    .name = name,
	    .linkage_name = string_of(expanding, symbol->linkage_name),
	    .module = database_module(expanding, frame->id),
	    .file = string_of(expanding, symbol->file),
	    .line = !is_loop && has_inlined_below(location, level) ? symbol->line
								   : symbol->function_line,
	    .function_line = symbol->function_line,
	    .offset = level == 0			      ? location->function_start
		      : is_loop && symbol->function_line == 0 ? symbol->loop_header
							      : 0,
	};
	return add_frame(expanding, &scope);
}

/* gpu-function > inlined calls and gpu-loops > gpu-line > gpu-instruction */
static int add_gpu(struct expanding *expanding, const struct sn_frame *frame,
		   const struct sn_symbol_location *location)
{
	const struct sn_symbol_frame *symbol = &location->frames[location->depth - 1];
	char name[400];
	int result = 0;
	for (uint32_t level = 0; level < location->depth && !result; level++)
		result = add_gpu_level(expanding, frame, location, level);
	struct sonde_db_frame line = {
	    .kind = SN_FRAME_GPU_LINE,
	    .linkage_name = SONDE_NONE,
	    .module = database_module(expanding, frame->id),
	    .file = string_of(expanding, symbol->file),
	    .line = symbol->line,
	};
	if (symbol->file && symbol->line && !result) {
		snprintf(name, sizeof(name), "%.300s:%" PRIu32, sn_text_base_name(symbol->file),
			 symbol->line);
		line.name = string_of(expanding, name);
		result = add_frame(expanding, &line);
	}
	if (frame->flags & SN_FRAME_CALL || result)
		return result;
	snprintf(name, sizeof(name), "0x%" PRIx64, frame->value);
	struct sonde_db_frame instruction = line;
	instruction.kind = SN_FRAME_GPU_INSTRUCTION;
	instruction.name = string_of(expanding, name);
	instruction.offset = frame->value;
	return add_frame(expanding, &instruction);
}

static const char *text_of(struct expanding *expanding, uint32_t string)
{
	return string == SONDE_NONE ? NULL : sn_db_builder_text(expanding->builder, string);
}

/* What a line of generated Python calls, as the program wrote it. */
static int add_origin(struct expanding *expanding, uint32_t file, uint32_t line)
{
	const struct sn_inductor_origin *origin;
	int result = sn_inductor_lines_at(expanding->inductor, file, line, &origin);
	if (!origin)
		return result;
	struct step step = {.frame = origin->frame, .operator_name = SONDE_NONE, .origin = origin};
	return add_step(expanding, step);
}

/* With the region that it stands for before it. */
static int add_python(struct expanding *expanding, const struct sn_frame *frame)
{
	struct sn_merged_code code = {SONDE_NONE, SONDE_NONE, 0};
	if (frame->id != SONDE_NONE)
		memcpy(&code, sn_intern_at(&expanding->merge->codes, frame->id, NULL),
		       sizeof(code));
	const char *region =
	    sn_region_from_python(text_of(expanding, code.file), text_of(expanding, code.name));
	struct sonde_db_frame python = {
	    .kind = SN_FRAME_REGION,
	    .name = string_of(expanding, region),
	    .linkage_name = SONDE_NONE,
	    .module = SONDE_NONE,
	    .file = SONDE_NONE,
	};
	if (region && add_frame(expanding, &python) < 0)
		return SN_ERR_MEMORY;
	python.kind = SN_FRAME_PYTHON;
	python.name = code.name != SONDE_NONE ? code.name : string_of(expanding, SN_NAME_UNKNOWN);
	python.file = code.file;
	python.line = (uint32_t)frame->value;
	python.function_line = code.first_line;
	return add_frame(expanding, &python) < 0 ? SN_ERR_MEMORY
						 : add_origin(expanding, code.file, python.line);
}

/* A kernel is recorded by its linker's symbol. */
static void name_kernel(struct expanding *expanding, struct sonde_db_frame *frame)
{
	const char *symbol = text_of(expanding, frame->name);
	char *name = symbol && sn_text_begins(symbol, "_Z") ? sn_demangle(symbol) : NULL;
	if (name) {
		frame->linkage_name = frame->name;
		frame->name = string_of(expanding, name);
	}
	free(name);
}

/* Operators, regions, API calls, kernels, ...; and native code that belongs to no file. */
static int add_named(struct expanding *expanding, const struct sn_frame *frame)
{
	bool is_native = frame->kind == SN_FRAME_NATIVE;
	const char *unknown = is_native ? SN_CODE_UNKNOWN : SN_NAME_UNKNOWN;
	struct sonde_db_frame named = {
	    .kind = frame->kind,
	    .flags = frame->flags & (SN_FRAME_BACKWARD | SN_FRAME_ITERATION),
	    .name = frame->id != SONDE_NONE ? frame->id : string_of(expanding, unknown),
	    .linkage_name = SONDE_NONE,
	    .module = SONDE_NONE,
	    .file = SONDE_NONE,
	};
	if (named.kind == SN_FRAME_KERNEL)
		name_kernel(expanding, &named);
	struct step step = {
	    .frame = sn_db_builder_frame(expanding->builder, &named),
	    .operator_name = frame->kind == SN_FRAME_OPERATOR ? named.name : SONDE_NONE,
	    .is_native = is_native,
	};
	return add_step(expanding, step);
}

/* Code in memory that belongs to no file, without a name: its addresses tell nothing. */
static bool is_unknown_code(const struct expanding *expanding, const struct sn_frame *frame,
			    const struct sn_symbol_location *location)
{
	return location && frame->kind == SN_FRAME_NATIVE && !location->frames[0].name &&
	       expanding->merge->module_flags[frame->id] &
		   (SN_MODULE_ANONYMOUS | SN_MODULE_PERF_MAP);
}

/* Works out what a merged frame becomes. */
static int expand_frame(struct expanding *expanding, uint32_t number)
{
	struct sn_frame frame;
	memcpy(&frame, sn_intern_at(&expanding->merge->frames, number, NULL), sizeof(frame));
	struct steps *steps = expanding->frames + number;
	const struct sn_symbol_location *location = expanding->resolved->locations[number];
	steps->first = (uint32_t)expanding->step_count;
	steps->is_truncated = frame.flags & SN_FRAME_TRUNCATED;
	int result = 0;
	if (is_unknown_code(expanding, &frame, location)) {
		frame.id = SONDE_NONE;
		location = NULL;
	}
	if (location && frame.kind == SN_FRAME_GPU_INSTRUCTION)
		result = add_gpu(expanding, &frame, location);
	else if (location)
		for (uint32_t level = 0; level < location->depth && !result; level++)
			result = add_native(expanding, &frame, location, level);
	else if (frame.kind == SN_FRAME_PYTHON)
		result = add_python(expanding, &frame);
	else
		result = add_named(expanding, &frame);
	steps->count = (uint32_t)expanding->step_count - steps->first;
	return result;
}

/*
 * True where the step is the operator that its place is in already. An operator's entry point lies
 * above the collector's frame for it, with some of the dispatcher between. A backward node's lies
 * below, because the engine calls the collector before the node; and no node runs directly in
 * itself.
 */
static bool is_same_operator(const struct place *place, const struct step *step)
{
	if (step->operator_name == SONDE_NONE || place->operator_name != step->operator_name)
		return false;
	if (!step->is_from_symbol)
		return place->is_from_symbol;
	return place->is_adjacent || step->is_backward;
}

static void enter_native(struct expanding *expanding, uint32_t frame, struct place *place)
{
	place->context = sn_db_builder_context(expanding->builder, place->context, frame);
	place->is_adjacent = false;
}

static void enter_step(struct expanding *expanding, const struct step *step, struct place *place)
{
	if (step->origin && !sn_inductor_is_below(expanding->builder, place->context, step->origin))
		return;
	if (step->is_native) {
		enter_native(expanding, step->frame, place);
	} else if (!is_same_operator(place, step)) {
		place->context =
		    sn_db_builder_context(expanding->builder, place->context, step->frame);
		place->operator_name = step->operator_name;
		place->is_from_symbol = step->is_from_symbol;
		place->is_adjacent = step->operator_name != SONDE_NONE;
		place->operator_context = place->context;
	} else if (step->is_from_symbol) {
		enter_native(expanding, step->function, place);
	} else {
		/* once: a further one below is a call of the operator by itself. What was measured
		 * at the collector's frame is the operator's, not the dispatcher's in between. */
		place->is_from_symbol = false;
		place->values = place->operator_context;
		return;
	}
	place->values = place->context;
}

static void expand_node(struct expanding *expanding, uint32_t number)
{
	struct sn_merged_node node = expanding->merge->nodes.items[number];
	const struct steps *steps = expanding->frames + node.frame;
	struct place place = expanding->places[node.parent];
	if (steps->is_truncated) {
		uint32_t marker = sn_db_builder_named_frame(expanding->builder, SN_FRAME_NATIVE,
							    SN_CALLERS_UNKNOWN);
		place.context = sn_db_builder_context(expanding->builder, place.context, marker);
		place.operator_name = SONDE_NONE;
	}
	place.values = place.context;
	for (uint32_t i = 0; i < steps->count; i++)
		enter_step(expanding, expanding->steps + steps->first + i, &place);
	expanding->places[number] = place;
}

static int expand_all(struct expanding *expanding)
{
	struct sn_merge *merge = expanding->merge;
	for (uint32_t i = 0; i < merge->frames.count; i++)
		if (expand_frame(expanding, i) < 0)
			return SN_ERR_MEMORY;
	expanding->places[0] = (struct place){.operator_name = SONDE_NONE};
	for (uint32_t i = 1; i < merge->nodes.count; i++)
		expand_node(expanding, i);
	for (size_t i = 0; i < merge->value_count; i++) {
		const struct sn_merged_value *value = merge->values + i;
		sn_db_builder_value(expanding->builder, value->profile,
				    expanding->places[value->node].values, value->metric,
				    &value->stat);
	}
	return 0;
}

int sn_expand(struct sn_merge *merge, const struct sn_resolved *resolved)
{
	struct expanding expanding = {
	    .merge = merge,
	    .builder = merge->builder,
	    .resolved = resolved,
	    .frames = calloc(merge->frames.count + 1ull, sizeof(*expanding.frames)),
	    .modules = malloc((merge->modules.count + 1ull) * sizeof(*expanding.modules)),
	    .places = calloc(merge->nodes.count + 1ull, sizeof(*expanding.places)),
	    .inductor = sn_inductor_lines_new(merge->builder),
	};
	int result = SN_ERR_MEMORY;
	free(merge->contexts);
	merge->contexts = malloc((merge->nodes.count + 1ull) * sizeof(*merge->contexts));
	if (expanding.frames && expanding.modules && expanding.places && expanding.inductor &&
	    merge->contexts) {
		memset(expanding.modules, 0xff, merge->modules.count * sizeof(*expanding.modules));
		result = expand_all(&expanding);
	}
	for (uint32_t i = 0; i < merge->nodes.count && !result; i++)
		merge->contexts[i] = expanding.places[i].values;
	free(expanding.frames);
	free(expanding.steps);
	free(expanding.modules);
	free(expanding.places);
	sn_inductor_lines_free(expanding.inductor);
	return result;
}
