/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our contexts as HPCToolkit's: a frame of ours is a function with the line in it that ran or
 * called, of which theirs are two contexts. src/import/hpctoolkit/hpctoolkit_tree.h has the table.
 *
 * Frames of one parent that differ only by instruction become one context. What was measured at
 * the instructions of a line is not shown, as in HPCToolkit's own databases, and all of it goes
 * under one number; what an instruction called goes below the line. Contexts that are alike then,
 * because different instructions called the same, stay apart.
 */
#include "hpctoolkit.h"

#include "base/intern.h"
#include "base/sort.h"
#include "format/measurement/measurement.h"

#include <stdlib.h>

/* What makes two nodes below the same parent the same one. Without padding, for the hash. */
struct node_key {
	uint64_t parent; /* a database context, or 1 << 32 and a node */
	uint64_t function_offset, offset;
	uint32_t relation, lexical, has;
	uint32_t name, letters, function_module, function_file, function_line;
	uint32_t file, line, module, reserved;
};

struct builder {
	struct sn_hpcx_out_tree *tree;
	struct sn_arena *arena; /* of the tree */
	const struct sonde_db *db;
	struct sn_intern keys; /* of the nodes, by number */
	uint32_t *anchors;     /* of each database context: the node its children go below */
	uint32_t *scopes;      /* but loops go below this: the function or the loop around them */
	bool failed;
};

static const struct sn_hpcx_node empty_node = {
    .function = {SONDE_NONE, SONDE_NONE, SONDE_NONE, 0, 0},
    .letters = SONDE_NONE,
    .file = SONDE_NONE,
    .module = SONDE_NONE};

static uint32_t find_or_add(struct builder *builder, uint64_t place, uint32_t parent,
			    uint32_t order, struct sn_hpcx_node node)
{
	struct sn_hpcx_out_tree *tree = builder->tree;
	struct node_key key = {
	    .parent = place,
	    .function_offset = node.function.offset,
	    .offset = node.offset,
	    .relation = node.relation,
	    .lexical = node.lexical,
	    .has = (node.is_entry ? 1u : 0) | (node.has_function ? 2u : 0) |
		   (node.has_line ? 4u : 0) | (node.has_point ? 8u : 0),
	    .name = node.function.name,
	    .letters = node.letters,
	    .function_module = node.function.module,
	    .function_file = node.function.file,
	    .function_line = node.function.line,
	    .file = node.file,
	    .line = node.line,
	    .module = node.module,
	};
	uint32_t number = sn_intern_add(&builder->keys, &key, sizeof(key));
	node.parent = parent;
	node.order = order;
	if (number == SN_INTERN_NONE ||
	    (number == tree->node_count &&
	     sn_vec_push(&tree->nodes, &tree->node_capacity, &tree->node_count, node))) {
		builder->failed = true;
		return 0;
	}
	return number;
}

static bool is_line(unsigned kind)
{
	return kind == SN_FRAME_LINE || kind == SN_FRAME_GPU_LINE ||
	       kind == SN_FRAME_GPU_INSTRUCTION;
}

static uint32_t module_path(const struct builder *builder, uint32_t module)
{
	return module == SONDE_NONE ? SONDE_NONE : sonde_db_module(builder->db, module)->path;
}

static void set_line(struct sn_hpcx_node *node, const struct sonde_db_frame *frame, uint32_t line)
{
	if (frame->file == SONDE_NONE)
		return;
	node->has_line = true;
	node->file = frame->file;
	node->line = line;
}

static void set_point(const struct builder *builder, struct sn_hpcx_node *node,
		      const struct sonde_db_frame *frame)
{
	if (frame->module == SONDE_NONE)
		return;
	node->has_point = true;
	node->module = module_path(builder, frame->module);
	node->offset = frame->offset;
}

static void set_function(const struct builder *builder, struct sn_hpcx_node *node,
			 const struct sonde_db_frame *frame)
{
	bool is_entry = frame->flags & SN_FRAME_ENTRY;
	node->lexical = SN_HPCX_LEX_FUNCTION;
	node->has_function = frame->name != SONDE_NONE || is_entry;
	if (!node->has_function)
		return;
	node->function.name = frame->name;
	if (frame->module == SONDE_NONE)
		node->letters = frame->linkage_name;
	node->function.module = module_path(builder, frame->module);
	node->function.offset = is_entry ? frame->offset : 0;
	node->function.file = frame->file;
	node->function.line = frame->file == SONDE_NONE ? 0 : frame->function_line;
}

/* The line that ran or called, in the function or the loop; the node itself where it is unknown. */
static uint32_t add_inner_line(struct builder *builder, uint32_t context, uint32_t node,
			       const struct sonde_db_frame *frame)
{
	struct sn_hpcx_node line = empty_node;
	if (frame->line == 0 || frame->file == SONDE_NONE)
		return node;
	line.lexical = SN_HPCX_LEX_LINE;
	set_line(&line, frame, frame->line);
	return find_or_add(builder, UINT64_C(1) << 32 | node, node, context, line);
}

/* Each of these returns the node of the context's values. */

/* A frame of code or of something else with a name, and the line in it. */
static uint32_t add_function(struct builder *builder, uint32_t context, uint32_t above,
			     uint32_t parent, const struct sonde_db_frame *frame)
{
	struct sn_hpcx_node node = empty_node;
	bool is_entry = frame->flags & SN_FRAME_ENTRY;
	node.relation = frame->kind == SN_FRAME_INLINED ? 2 : 1;
	if (frame->name == SONDE_NONE && frame->module != SONDE_NONE && !is_entry) {
		node.lexical = SN_HPCX_LEX_INSTRUCTION;
		set_point(builder, &node, frame);
		return find_or_add(builder, above, parent, context, node);
	}
	set_function(builder, &node, frame);
	builder->tree->is_hidden[context] = !is_entry && frame->module != SONDE_NONE;
	builder->scopes[context] = find_or_add(builder, above, parent, context, node);
	return is_entry ? builder->scopes[context]
			: add_inner_line(builder, context, builder->scopes[context], frame);
}

static uint32_t add_line(struct builder *builder, uint32_t context, uint32_t above, uint32_t parent,
			 const struct sonde_db_frame *frame)
{
	struct sn_hpcx_node node = empty_node;
	builder->tree->is_hidden[context] =
	    frame->file == SONDE_NONE || frame->module != SONDE_NONE;
	if (frame->file == SONDE_NONE)
		return parent;
	node.relation = frame->flags & SN_FRAME_CALLED ? 1 : 0;
	node.lexical = SN_HPCX_LEX_LINE;
	set_line(&node, frame, frame->line);
	return find_or_add(builder, above, parent, context, node);
}

static uint32_t add_loop(struct builder *builder, uint32_t context, uint32_t above, uint32_t parent,
			 const struct sonde_db_frame *frame)
{
	struct sn_hpcx_node node = empty_node;
	if (builder->scopes[above])
		parent = builder->scopes[above];
	node.relation = frame->flags & SN_FRAME_CALLED ? 1 : 0;
	node.lexical = SN_HPCX_LEX_LOOP;
	set_line(&node, frame, frame->function_line);
	set_point(builder, &node, frame);
	builder->scopes[context] = find_or_add(builder, above, parent, context, node);
	return add_inner_line(builder, context, builder->scopes[context], frame);
}

static uint32_t add_entry(struct builder *builder, uint32_t name, unsigned kind)
{
	struct sn_hpcx_node entry = empty_node;
	entry.is_entry = true;
	entry.relation = 1;
	entry.entry_kind = (uint8_t)kind;
	entry.function.name = name;
	return find_or_add(builder, 0, 0, 0, entry);
}

static unsigned entry_kind(const struct sonde_db *db, const struct sonde_db_frame *frame)
{
	const char *letters = sonde_db_string(db, frame->linkage_name);
	return strcmp(letters, "| Main  ") == 0 ? 1 : strcmp(letters, "| Thread") == 0 ? 2 : 0;
}

/* The top of all that has no thread above it. Below the root everything has to be an entry, and
 * Hatchet only looks at that of the main thread. */
static uint32_t own_entry(struct builder *builder)
{
	uint32_t root = sonde_db_context(builder->db, 0)->frame;
	return add_entry(builder, sonde_db_frame(builder->db, root)->name, 1);
}

static uint32_t add_context(struct builder *builder, uint32_t context)
{
	const struct sonde_db_context *record = sonde_db_context(builder->db, context);
	const struct sonde_db_frame *frame = sonde_db_frame(builder->db, record->frame);
	uint32_t above = record->parent, parent = builder->anchors[above];
	if (above == 0 && frame->kind == SN_FRAME_THREAD)
		return add_entry(builder, frame->name, entry_kind(builder->db, frame));
	if (parent == 0)
		parent = own_entry(builder);
	if (is_line(frame->kind))
		return add_line(builder, context, above, parent, frame);
	if (frame->kind == SN_FRAME_LOOP || frame->kind == SN_FRAME_GPU_LOOP)
		return add_loop(builder, context, above, parent, frame);
	return add_function(builder, context, above, parent, frame);
}

const char *sn_hpcx_entry_name(const struct sonde_db *db, const struct sn_hpcx_node *node)
{
	uint32_t name = node->function.name;
	return name == SONDE_NONE || !*sonde_db_string(db, name) ? "unknown entry"
								 : sonde_db_string(db, name);
}

static int compare_text(const struct sonde_db *db, uint32_t a, uint32_t b)
{
	if (a == b)
		return 0;
	if (a == SONDE_NONE || b == SONDE_NONE)
		return a == SONDE_NONE ? -1 : 1;
	return strcmp(sonde_db_string(db, a), sonde_db_string(db, b));
}

static int compare_functions(const struct sonde_db *db, const struct sn_hpcx_function *a,
			     const struct sn_hpcx_function *b)
{
	return compare_text(db, a->name, b->name) ?: compare_text(db, a->module, b->module) ?:
	       compare_text(db, a->file, b->file) ?: SN_ORDER(a->offset, b->offset) ?:
	       SN_ORDER(a->line, b->line);
}

static int compare_entries(const struct sonde_db *db, const struct sn_hpcx_node *a,
			   const struct sn_hpcx_node *b)
{
	return a->is_entry && b->is_entry
		   ? strcmp(sn_hpcx_entry_name(db, a), sn_hpcx_entry_name(db, b))
		   : 0;
}

static int compare_nodes(const void *left, const void *right, void *context)
{
	const struct builder *builder = context;
	const struct sonde_db *db = builder->db;
	const struct sn_hpcx_node *a = builder->tree->nodes + *(const uint32_t *)left;
	const struct sn_hpcx_node *b = builder->tree->nodes + *(const uint32_t *)right;
	return SN_ORDER(a->parent, b->parent) ?: compare_entries(db, a, b) ?:
	       SN_ORDER(a->lexical, b->lexical) ?: SN_ORDER(a->relation, b->relation) ?:
	       compare_functions(db, &a->function, &b->function) ?:
	       compare_text(db, a->file, b->file) ?: SN_ORDER(a->line, b->line) ?:
	       compare_text(db, a->module, b->module) ?: SN_ORDER(a->offset, b->offset) ?:
	       SN_ORDER(a->order, b->order);
}

/* Children of each node, in order. */
static int order_children(struct builder *builder)
{
	struct sn_hpcx_out_tree *tree = builder->tree;
	size_t count = tree->node_count - 1;
	tree->children = sn_arena_array(builder->arena, uint32_t, count + 1);
	if (!tree->children)
		return -1;
	for (size_t i = 0; i < count; i++)
		tree->children[i] = (uint32_t)i + 1;
	qsort_r(tree->children, count, sizeof(*tree->children), compare_nodes, builder);
	for (size_t i = 0; i < count; i++) {
		struct sn_hpcx_node *parent = tree->nodes + tree->nodes[tree->children[i]].parent;
		if (parent->child_count++ == 0)
			parent->first_child = (uint32_t)i;
	}
	return 0;
}

/* Pre-order, with the number of what is hidden right after what it is hidden in. */
static int number(struct sn_hpcx_out_tree *tree, struct sn_arena *arena)
{
	uint32_t *stack = sn_arena_array(arena, uint32_t, tree->node_count + 1);
	size_t depth = 0;
	tree->parent_of = sn_arena_array(arena, uint32_t, 2 * tree->node_count + 2);
	tree->flags = sn_arena_array(arena, uint8_t, 2 * tree->node_count + 2);
	if (arena->failed)
		return -1;
	stack[depth++] = 0;
	while (depth) {
		struct sn_hpcx_node *node = tree->nodes + stack[--depth];
		node->id = tree->id_count++;
		tree->parent_of[node->id] = tree->nodes[node->parent].id;
		tree->flags[node->id] =
		    (uint8_t)(SN_HPCX_IS_KNOWN | (node->relation ? SN_HPCX_IS_CALL : 0) |
			      (node->lexical == SN_HPCX_LEX_LOOP ? SN_HPCX_IS_LOOP : 0));
		if (node->has_hidden)
			tree->parent_of[tree->id_count++] = node->id;
		for (uint32_t i = node->child_count; i-- > 0;)
			stack[depth++] = tree->children[node->first_child + i];
	}
	return 0;
}

/* Only where a value is hidden, a number for it is needed. */
static void mark_hidden(struct builder *builder, const struct sn_hpcx_out_metric *metric)
{
	struct sn_hpcx_out_tree *tree = builder->tree;
	struct sonde_db_summary_plane plane = sonde_db_summary_plane(builder->db, metric->metric);
	for (size_t i = 0; i < plane.count; i++) {
		struct sonde_db_stat stat;
		uint32_t context = plane.contexts[i];
		if (!tree->is_hidden[context])
			continue;
		sonde_db_summary_stat(&plane, i, SONDE_DB_EXCLUSIVE, &stat);
		if (metric->is_count ? stat.count > 0 : stat.sum_squares > 0)
			tree->nodes[tree->node_of[context]].has_hidden = true;
	}
}

static int build(struct builder *builder, const struct sn_hpcx_out *out)
{
	struct sn_hpcx_out_tree *tree = builder->tree;
	uint32_t contexts = sonde_db_context_count(builder->db);
	builder->anchors = sn_arena_array(builder->arena, uint32_t, (size_t)contexts + 1);
	builder->scopes = sn_arena_array(builder->arena, uint32_t, (size_t)contexts + 1);
	tree->node_of = sn_arena_array(builder->arena, uint32_t, (size_t)contexts + 1);
	tree->is_hidden = sn_arena_array(builder->arena, bool, (size_t)contexts + 1);
	if (builder->arena->failed)
		return -1;
	find_or_add(builder, UINT64_MAX, 0, 0, empty_node);
	for (uint32_t i = 1; i < contexts && !builder->failed; i++)
		builder->anchors[i] = tree->node_of[i] = add_context(builder, i);
	for (size_t i = 0; i < out->metric_count && !builder->failed; i++)
		mark_hidden(builder, out->metrics + i);
	if (builder->failed || order_children(builder) < 0)
		return -1;
	return number(tree, builder->arena);
}

int sn_hpcx_tree_build(struct sn_hpcx_out *out)
{
	struct builder builder = {.tree = &out->tree, .arena = &out->arena, .db = out->db};
	int code = build(&builder, out);
	sn_intern_release(&builder.keys);
	return code < 0 ? SN_ERR_MEMORY : 0;
}
