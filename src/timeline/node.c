/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns a node to each context, from the root down. */
#include "node.h"

#include "base/error.h"
#include "base/text.h"
#include "format/measurement/measurement.h"
#include "frame/user_frame.h"
#include "node_alike.h"

#include <stdlib.h>
#include <string.h>

/* What is known of a context and those above it. */
struct ancestry {
	uint32_t operator_frame; /* the outermost of adjacent operators; SONDE_NONE */
	uint32_t wrapper;	 /* the innermost wrapper around those; SONDE_NONE */
	uint32_t caller;	 /* the innermost function of the program; SONDE_NONE */
	uint32_t function;	 /* the innermost of machine code, without loops and lines */
	uint32_t own_function;	 /* the innermost such function of the program; SONDE_NONE */
};

static const struct ancestry no_ancestry = {SONDE_NONE, SONDE_NONE, SONDE_NONE, SONDE_NONE,
					    SONDE_NONE};

static bool is_call(unsigned kind)
{
	return kind == SN_FRAME_KERNEL || kind == SN_FRAME_GPU_OP || kind == SN_FRAME_GPU_API ||
	       kind == SN_FRAME_OS;
}

bool sn_node_is_wrapper(const struct sonde_db *db, const struct sonde_db_frame *frame)
{
	static const char *const names[] = {"autograd::engine::", "torch::autograd::AccumulateGrad",
					    "CompiledFunction",	  "Torch-Compiled Region",
					    "nn.Module: ",	  "record_param_comms"};
	const char *name = sonde_db_string(db, frame->name);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (sn_text_begins(name, names[i]))
			return frame->kind == SN_FRAME_OPERATOR || frame->kind == SN_FRAME_REGION;
	return false;
}

/* Machine code. Its time is charged to the caller, which can change the call. */
static bool is_native(const struct sonde_db *db, uint32_t frame)
{
	unsigned kind = sonde_db_frame(db, frame)->kind;
	return kind == SN_FRAME_NATIVE || kind == SN_FRAME_INLINED || kind == SN_FRAME_LOOP ||
	       kind == SN_FRAME_LINE;
}

/* A frame of machine code is a line, so one frame represents all lines of a function: the first. */
struct functions {
	struct sn_intern keys;
	uint32_t *frames; /* by key */
	size_t capacity;
};

/* Whether a frame is named after its file and address, "libgomp.so.1+0x1b2c0". */
bool sn_node_is_unnamed(const struct sonde_db *db, const struct sonde_db_frame *frame)
{
	if (frame->module == SONDE_NONE || frame->name == SONDE_NONE)
		return frame->module != SONDE_NONE;
	const char *file =
	    sn_text_base_name(sonde_db_string(db, sonde_db_module(db, frame->module)->path));
	const char *name = sonde_db_string(db, frame->name);
	return sn_text_begins(name, file) && sn_text_begins(name + strlen(file), "+0x");
}

/* The frame that represents a frame's function; SONDE_NONE without memory. Code without symbols is
 * one function for each file, since each instruction that was met would be one. */
static uint32_t function_of(struct functions *functions, const struct sn_node_map *nodes,
			    uint32_t number)
{
	const struct sonde_db_frame *frame = sonde_db_frame(nodes->db, number);
	bool is_unnamed = sn_node_is_unnamed(nodes->db, frame);
	uint32_t key[] = {is_unnamed ? SONDE_NONE : frame->name, frame->module};
	if (key[0] == SONDE_NONE && key[1] == SONDE_NONE)
		return number;
	uint32_t place = sn_intern_item(&functions->keys, key, sizeof(key), &functions->frames,
					&functions->capacity, {number});
	if (place == SN_INTERN_NONE)
		return SONDE_NONE;
	uint32_t first = functions->frames[place];
	nodes->are_alike[first] |= is_unnamed && first != number;
	return first;
}

static struct ancestry descend(const struct sn_node_map *nodes, struct functions *functions,
			       struct ancestry above, uint32_t number)
{
	const struct sonde_db *db = nodes->db;
	const struct sonde_db_frame *frame = sonde_db_frame(db, number);
	if (frame->kind == SN_FRAME_NATIVE || frame->kind == SN_FRAME_INLINED) {
		above.function = function_of(functions, nodes, number);
		if (sn_frame_is_user(db, frame))
			above.own_function = above.function;
	}
	bool is_operator = frame->kind == SN_FRAME_OPERATOR || frame->kind == SN_FRAME_GRAPH_NODE;
	if (is_operator && sn_node_is_wrapper(db, frame)) {
		if (above.operator_frame == SONDE_NONE)
			above.wrapper = number;
	} else if (is_operator) {
		/* a loop of a compiled program is none of the operations in it */
		bool is_in_loop =
		    frame->kind == SN_FRAME_GRAPH_NODE && above.operator_frame != SONDE_NONE &&
		    sonde_db_frame(db, above.operator_frame)->kind == SN_FRAME_GRAPH_NODE;
		if (above.operator_frame == SONDE_NONE || is_in_loop)
			above.operator_frame = number;
	} else if (!is_call(frame->kind)) {
		/* native code, libraries and regions inside an operator belong to it */
		bool is_own = frame->kind == SN_FRAME_PYTHON && sn_frame_is_user(db, frame);
		bool is_region = frame->kind == SN_FRAME_REGION &&
				 above.operator_frame == SONDE_NONE &&
				 !(frame->flags & SN_FRAME_ITERATION);
		if (is_own)
			above.operator_frame = above.wrapper = SONDE_NONE;
		if (is_own || is_region)
			above.caller = nodes->alike[number];
	}
	return above;
}

/* Inside a wrapper without an operator, device operations and regions are nodes of their own;
 * everything else belongs to the wrapper. */
static struct sn_node node_in_wrapper(const struct sonde_db *db, const struct ancestry *above,
				      uint32_t number)
{
	unsigned kind = sonde_db_frame(db, number)->kind;
	bool is_work = kind == SN_FRAME_KERNEL || kind == SN_FRAME_GPU_OP;
	bool is_itself = is_work || kind == SN_FRAME_REGION;
	struct sn_node node = {is_itself ? number : above->wrapper, above->caller};
	if (is_work && node.caller == SONDE_NONE)
		node.caller = above->wrapper;
	if (node.caller == node.frame)
		node.caller = SONDE_NONE;
	return node;
}

static struct sn_node node_of(const struct sn_node_map *nodes, const struct ancestry *above,
			      uint32_t frame)
{
	const struct sonde_db *db = nodes->db;
	struct sn_node node = {above->operator_frame, above->caller};
	if (node.frame == SONDE_NONE && above->wrapper != SONDE_NONE)
		return node_in_wrapper(db, above, nodes->alike[frame]);
	if (node.frame == SONDE_NONE && !is_native(db, frame)) {
		node.frame = nodes->alike[frame];
	} else if (node.frame == SONDE_NONE && above->caller != SONDE_NONE) {
		node.frame = above->caller;
	} else if (node.frame == SONDE_NONE) {
		node.frame = above->function != SONDE_NONE ? above->function : frame;
		node.caller = above->own_function;
	}
	if (node.caller == node.frame)
		node.caller = SONDE_NONE;
	return node;
}

int sn_node_map(const struct sonde_db *db, struct sn_node_map *nodes)
{
	uint32_t count = sonde_db_context_count(db);
	struct functions functions = {0};
	struct ancestry *ancestries = malloc((count + 1ull) * sizeof(*ancestries));
	*nodes = (struct sn_node_map){
	    .db = db,
	    .of_context = malloc((count + 1ull) * sizeof(uint32_t)),
	    .alike = sn_node_alike(db),
	    .are_alike = calloc(sonde_db_frame_count(db) + 1ull, sizeof(bool)),
	};
	int result =
	    ancestries && nodes->of_context && nodes->alike && nodes->are_alike ? 0 : SN_ERR_MEMORY;
	for (uint32_t i = 0; i < sonde_db_frame_count(db) && !result; i++)
		nodes->are_alike[nodes->alike[i]] |= nodes->alike[i] != i;
	for (uint32_t i = 0; i < count && !result; i++) {
		const struct sonde_db_context *context = sonde_db_context(db, i);
		struct ancestry above = i ? ancestries[context->parent] : no_ancestry;
		ancestries[i] = descend(nodes, &functions, above, context->frame);
		struct sn_node node = node_of(nodes, ancestries + i, context->frame);
		nodes->of_context[i] = sn_intern_add(&nodes->table, &node, sizeof(node));
		if (nodes->of_context[i] == SN_INTERN_NONE)
			result = SN_ERR_MEMORY;
	}
	sn_intern_release(&functions.keys);
	free(functions.frames);
	free(ancestries);
	return result;
}

void sn_node_map_release(struct sn_node_map *nodes)
{
	sn_intern_release(&nodes->table);
	free(nodes->of_context);
	free(nodes->alike);
	free(nodes->are_alike);
	*nodes = (struct sn_node_map){0};
}

struct sn_node sn_node_map_at(const struct sn_node_map *nodes, uint32_t number)
{
	struct sn_node node;
	memcpy(&node, sn_intern_at(&nodes->table, number, NULL), sizeof(node));
	return node;
}

uint32_t sn_node_map_context(const struct sn_node_map *nodes, uint32_t node)
{
	for (uint32_t i = 0; i < sonde_db_context_count(nodes->db); i++)
		if (nodes->of_context[i] == node)
			return i;
	return SONDE_NONE;
}
