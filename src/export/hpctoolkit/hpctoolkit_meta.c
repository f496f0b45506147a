/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meta.db of an HPCToolkit database, version 4.0: title, kinds of identifiers, metrics, modules,
 * files, functions and the tree.
 */
#include "hpctoolkit.h"

#include "base/intern.h"
#include "base/sort_by.h"
#include "base/text.h"

#include <stdlib.h>

enum section { GENERAL, ID_NAMES, METRICS, CONTEXT, STRINGS, MODULES, FILES, FUNCTIONS, SECTIONS };
enum {
	ENTRY_BYTES = 32,
	CONTEXT_BYTES = 32,
	MODULE_BYTES = 16,
	FILE_BYTES = 16,
	FUNCTION_BYTES = 40,
	METRIC_BYTES = 32,
	INSTANCE_BYTES = 16,
	SUMMARY_BYTES = 24,
	SCOPE_BYTES = 16
};

void sn_hpcx_begin_file(struct sn_buffer *out, const char *format, unsigned sections)
{
	sn_buffer_put(out, "HPCTOOLKIT", 10);
	sn_buffer_put(out, format, 4);
	sn_buffer_number(out, 4, 1); /* version 4.0 */
	sn_buffer_number(out, 0, 1);
	sn_hpcx_put_room(out, 16 * (size_t)sections);
}

void sn_hpcx_end_section(struct sn_buffer *out, unsigned section, size_t start)
{
	sn_buffer_patch(out, 0x10 + 16 * (size_t)section, out->count - start, 8);
	sn_buffer_patch(out, 0x18 + 16 * (size_t)section, start, 8);
}

/* Things that the tree names, each once, in the order of their text. */
struct list {
	uint32_t *items;    /* database strings */
	uint32_t *position; /* by database string */
	size_t count;
	size_t at; /* of the records */
};

struct writer {
	const struct sn_hpcx_out *out;
	struct sn_buffer *meta;
	struct list strings, modules, files;
	size_t *text_at;   /* by database string, once written */
	size_t entries_at; /* names of the entry points, one after the other */
	uint32_t string_bound;
	struct sn_intern functions;		   /* struct sn_hpcx_function */
	uint32_t *function_order, *function_place; /* by place; by number */
	size_t functions_at;
	uint32_t *node_functions;
	struct sn_arena arena;
};

SN_SORT_BY(sort_strings, uint32_t, const struct sonde_db *,
	   strcmp(sonde_db_string(of, *a), sonde_db_string(of, *b)));

static void list_init(struct writer *writer, struct list *list)
{
	size_t bound = (size_t)writer->string_bound + 1;
	list->items = sn_arena_array(&writer->arena, uint32_t, bound);
	list->position = sn_arena_array(&writer->arena, uint32_t, bound);
	if (list->position)
		memset(list->position, 0xff, bound * sizeof(*list->position));
}

static void list_add(struct list *list, uint32_t string)
{
	if (string == SONDE_NONE || list->position[string] != SONDE_NONE)
		return;
	list->position[string] = (uint32_t)list->count;
	list->items[list->count++] = string;
}

static void list_sort(struct writer *writer, struct list *list)
{
	sort_strings(list->items, list->count, writer->out->db);
	for (size_t i = 0; i < list->count; i++)
		list->position[list->items[i]] = (uint32_t)i;
}

static uint64_t record_at(const struct list *list, uint32_t string, size_t size)
{
	return string == SONDE_NONE ? 0 : list->at + (uint64_t)list->position[string] * size;
}

static void collect_function(struct writer *writer, const struct sn_hpcx_node *node, size_t number)
{
	list_add(&writer->modules, node->function.module);
	list_add(&writer->files, node->function.file);
	writer->node_functions[number] =
	    sn_intern_add(&writer->functions, &node->function, sizeof(node->function));
	writer->arena.failed |= writer->node_functions[number] == SN_INTERN_NONE;
}

/* Every string, module, file and function of the tree. */
static void collect(struct writer *writer)
{
	const struct sn_hpcx_out_tree *tree = &writer->out->tree;
	for (size_t i = 1; i < tree->node_count && !writer->arena.failed; i++) {
		const struct sn_hpcx_node *node = tree->nodes + i;
		if (!node->is_entry)
			list_add(&writer->strings, node->function.name);
		list_add(&writer->modules, node->module);
		list_add(&writer->files, node->file);
		if (node->has_function)
			collect_function(writer, node, i);
	}
	for (size_t i = 0; i < writer->modules.count; i++)
		list_add(&writer->strings, writer->modules.items[i]);
	for (size_t i = 0; i < writer->files.count; i++)
		list_add(&writer->strings, writer->files.items[i]);
	list_sort(writer, &writer->strings);
	list_sort(writer, &writer->modules);
	list_sort(writer, &writer->files);
}

static int compare_text(const struct writer *writer, uint32_t a, uint32_t b)
{
	uint32_t left = a == SONDE_NONE ? 0 : writer->strings.position[a] + 1;
	uint32_t right = b == SONDE_NONE ? 0 : writer->strings.position[b] + 1;
	return SN_ORDER(left, right);
}

static const struct sn_hpcx_function *function_at(const struct writer *writer, uint32_t number)
{
	return sn_intern_at(&writer->functions, number, NULL);
}

static int compare_functions(const void *left, const void *right, void *context)
{
	const struct writer *writer = context;
	const struct sn_hpcx_function *a = function_at(writer, *(const uint32_t *)left);
	const struct sn_hpcx_function *b = function_at(writer, *(const uint32_t *)right);
	return compare_text(writer, a->name, b->name) ?:
	       compare_text(writer, a->module, b->module) ?:
	       compare_text(writer, a->file, b->file) ?: SN_ORDER(a->offset, b->offset) ?:
	       SN_ORDER(a->line, b->line);
}

static void order_functions(struct writer *writer)
{
	size_t count = writer->functions.count;
	writer->function_order = sn_arena_array(&writer->arena, uint32_t, count + 1);
	writer->function_place = sn_arena_array(&writer->arena, uint32_t, count + 1);
	if (writer->arena.failed)
		return;
	for (size_t i = 0; i < count; i++)
		writer->function_order[i] = (uint32_t)i;
	qsort_r(writer->function_order, count, sizeof(*writer->function_order), compare_functions,
		writer);
	for (size_t i = 0; i < count; i++)
		writer->function_place[writer->function_order[i]] = (uint32_t)i;
}

static void write_general(struct writer *writer)
{
	struct sn_buffer *meta = writer->meta;
	const char *program = sonde_db_property(writer->out->db, "program");
	const char *base = program ? sn_text_base_name(program) : "";
	const char *title = *base ? base : program && *program ? program : "<unnamed>";
	size_t start = meta->count;
	sn_buffer_number(meta, start + 16, 8);
	sn_buffer_number(meta, start + 16 + strlen(title) + 1, 8);
	sn_hpcx_put_text(meta, title);
	sn_buffer_put(meta, writer->out->description.bytes, writer->out->description.count);
	sn_hpcx_end_section(meta, GENERAL, start);
}

static void write_id_names(struct writer *writer)
{
	struct sn_buffer *meta = writer->meta;
	sn_buffer_align(meta, 8);
	size_t start = meta->count, count = writer->out->kind_count;
	size_t text = start + 16 + 8 * count;
	sn_buffer_number(meta, start + 16, 8);
	sn_buffer_number(meta, count, 8);
	for (size_t i = 0; i < count; i++) {
		sn_buffer_number(meta, text, 8);
		text += strlen(writer->out->kinds[i]) + 1;
	}
	for (size_t i = 0; i < count; i++)
		sn_hpcx_put_text(meta, writer->out->kinds[i]);
	sn_hpcx_end_section(meta, ID_NAMES, start);
}

const struct sn_hpcx_scope_form sn_hpcx_scopes[SN_HPCX_SCOPES] = {
    {"point", 1, 255}, {"function", 3, 0}, {"lex_aware", 0, 255}, {"execution", 2, 255}};
const struct sn_hpcx_statistic_form sn_hpcx_statistics[SN_HPCX_STATISTICS] = {
    [SN_HPCX_COUNT] = {"count", "1", "sum", 0},
    [SN_HPCX_SUM] = {"sum", "$$", "sum", 0},
    [SN_HPCX_SQUARES] = {"squares", "($$^2)", "sum", 0},
    [SN_HPCX_MIN] = {"min", "$$", "min", 1},
    [SN_HPCX_MAX] = {"max", "$$", "max", 2}};

/* Positions of the names of scopes and of formulas, which all metrics share. */
struct metric_texts {
	uint64_t scope[SN_HPCX_SCOPES], formula[SN_HPCX_STATISTICS];
};

static void write_metric(struct writer *writer, size_t number, size_t at, size_t scopes_at,
			 const struct metric_texts *texts)
{
	struct sn_buffer *meta = writer->meta;
	const struct sn_hpcx_out_metric *metric = writer->out->metrics + number;
	sn_buffer_patch(meta, at, meta->count, 8);
	sn_hpcx_put_text(meta, metric->name);
	sn_buffer_align(meta, 8);
	sn_buffer_patch(meta, at + 8, meta->count, 8);
	for (unsigned scope = 0; scope < SN_HPCX_SCOPES; scope++) {
		sn_buffer_number(meta, scopes_at + SCOPE_BYTES * scope, 8);
		sn_buffer_number(meta, number * SN_HPCX_IDS_PER_METRIC + scope, 8);
	}
	sn_buffer_patch(meta, at + 16, meta->count, 8);
	for (unsigned scope = 0; scope < SN_HPCX_SCOPES; scope++) {
		for (unsigned i = 0; i < SN_HPCX_STATISTICS; i++) {
			sn_buffer_number(meta, scopes_at + SCOPE_BYTES * scope, 8);
			sn_buffer_number(meta, texts->formula[i], 8);
			sn_buffer_number(meta, sn_hpcx_statistics[i].combine_number, 2);
			sn_buffer_number(
			    meta, number * SN_HPCX_IDS_PER_METRIC + i * SN_HPCX_SCOPES + scope, 2);
			sn_buffer_number(meta, 0, 4);
		}
	}
	sn_buffer_patch(meta, at + 24,
			SN_HPCX_SCOPES | (uint64_t)(SN_HPCX_SCOPES * SN_HPCX_STATISTICS) << 16, 8);
}

static void write_metrics(struct writer *writer)
{
	struct sn_buffer *meta = writer->meta;
	struct metric_texts texts;
	sn_buffer_align(meta, 8);
	size_t start = meta->count, count = writer->out->metric_count;
	size_t scopes_at = start + 32, metrics_at = scopes_at + SCOPE_BYTES * SN_HPCX_SCOPES;
	sn_buffer_number(meta, metrics_at, 8);
	sn_buffer_number(meta, count, 4);
	sn_buffer_number(meta, METRIC_BYTES, 1);
	sn_buffer_number(meta, INSTANCE_BYTES, 1);
	sn_buffer_number(meta, SUMMARY_BYTES, 2);
	sn_buffer_number(meta, scopes_at, 8);
	sn_buffer_number(meta, SN_HPCX_SCOPES, 2);
	sn_buffer_number(meta, SCOPE_BYTES, 6);
	for (unsigned i = 0; i < SN_HPCX_SCOPES; i++) {
		sn_buffer_number(meta, 0, 8);
		sn_buffer_number(meta, sn_hpcx_scopes[i].type, 1);
		sn_buffer_number(meta, sn_hpcx_scopes[i].index, 7);
	}
	sn_hpcx_put_room(meta, count * METRIC_BYTES);
	for (unsigned i = 0; i < SN_HPCX_SCOPES; i++) {
		texts.scope[i] = meta->count;
		sn_buffer_patch(meta, scopes_at + SCOPE_BYTES * i, texts.scope[i], 8);
		sn_hpcx_put_text(meta, sn_hpcx_scopes[i].name);
	}
	for (unsigned i = 0; i < SN_HPCX_STATISTICS; i++) {
		texts.formula[i] = meta->count;
		sn_hpcx_put_text(meta, sn_hpcx_statistics[i].formula);
	}
	for (size_t i = 0; i < count; i++)
		write_metric(writer, i, metrics_at + METRIC_BYTES * i, scopes_at, &texts);
	sn_hpcx_end_section(meta, METRICS, start);
}

static void write_strings(struct writer *writer)
{
	size_t start = writer->meta->count;
	for (size_t i = 0; i < writer->strings.count; i++) {
		writer->text_at[writer->strings.items[i]] = writer->meta->count;
		sn_hpcx_put_text(writer->meta,
				 sonde_db_string(writer->out->db, writer->strings.items[i]));
	}
	const struct sn_hpcx_out_tree *tree = &writer->out->tree;
	writer->entries_at = writer->meta->count;
	for (uint32_t i = 0; i < tree->nodes[0].child_count; i++)
		sn_hpcx_put_text(writer->meta,
				 sn_hpcx_entry_name(
				     writer->out->db,
				     tree->nodes + tree->children[i + tree->nodes[0].first_child]));
	sn_hpcx_end_section(writer->meta, STRINGS, start);
}

/* Modules and files have the same form: flags and a path. */
static void write_paths(struct writer *writer, struct list *list, enum section section)
{
	struct sn_buffer *meta = writer->meta;
	sn_buffer_align(meta, 8);
	size_t start = meta->count;
	list->at = start + 16;
	sn_buffer_number(meta, list->at, 8);
	sn_buffer_number(meta, list->count, 4);
	sn_buffer_number(meta, MODULE_BYTES, 4);
	for (size_t i = 0; i < list->count; i++) {
		sn_buffer_number(meta, 0, 8);
		sn_buffer_number(meta, writer->text_at[list->items[i]], 8);
	}
	sn_hpcx_end_section(meta, section, start);
}

static void write_functions(struct writer *writer)
{
	struct sn_buffer *meta = writer->meta;
	sn_buffer_align(meta, 8);
	size_t start = meta->count;
	writer->functions_at = start + 16;
	sn_buffer_number(meta, writer->functions_at, 8);
	sn_buffer_number(meta, writer->functions.count, 4);
	sn_buffer_number(meta, FUNCTION_BYTES, 4);
	for (size_t i = 0; i < writer->functions.count; i++) {
		const struct sn_hpcx_function *function =
		    function_at(writer, writer->function_order[i]);
		sn_buffer_number(
		    meta, function->name == SONDE_NONE ? 0 : writer->text_at[function->name], 8);
		sn_buffer_number(meta, record_at(&writer->modules, function->module, MODULE_BYTES),
				 8);
		sn_buffer_number(meta, function->offset, 8);
		sn_buffer_number(meta, record_at(&writer->files, function->file, FILE_BYTES), 8);
		sn_buffer_number(meta, function->line, 8);
	}
	sn_hpcx_end_section(meta, FUNCTIONS, start);
}

static size_t context_bytes(const struct sn_hpcx_node *node)
{
	return CONTEXT_BYTES + (node->has_function ? 8 : 0) + (node->has_line ? 16 : 0) +
	       (node->has_point ? 16 : 0);
}

/* Returns where the context's children are to be noted. */
static size_t write_context(struct writer *writer, uint32_t number)
{
	struct sn_buffer *meta = writer->meta;
	const struct sn_hpcx_node *node = writer->out->tree.nodes + number;
	size_t at = meta->count;
	unsigned words = (unsigned)((context_bytes(node) - CONTEXT_BYTES) / 8);
	sn_buffer_number(meta, 0, 8);
	sn_buffer_number(meta, 0, 8);
	sn_buffer_number(meta, node->id, 4);
	sn_buffer_number(meta,
			 (node->has_function ? 1u : 0) | (node->has_line ? 2u : 0) |
			     (node->has_point ? 4u : 0),
			 1);
	sn_buffer_number(meta, node->relation, 1);
	sn_buffer_number(meta, node->lexical, 1);
	sn_buffer_number(meta, words, 1);
	sn_buffer_number(meta, node->relation == 0 ? 1 : 0, 8); /* what "function" sums up */
	if (node->has_function)
		sn_buffer_number(meta,
				 writer->functions_at +
				     (uint64_t)FUNCTION_BYTES *
					 writer->function_place[writer->node_functions[number]],
				 8);
	if (node->has_line) {
		sn_buffer_number(meta, record_at(&writer->files, node->file, FILE_BYTES), 8);
		sn_buffer_number(meta, node->line, 8);
	}
	if (node->has_point) {
		sn_buffer_number(meta, record_at(&writer->modules, node->module, MODULE_BYTES), 8);
		sn_buffer_number(meta, node->offset, 8);
	}
	return at;
}

static void write_entries(struct writer *writer, size_t *children_at)
{
	const struct sn_hpcx_out_tree *tree = &writer->out->tree;
	const struct sn_hpcx_node *root = tree->nodes;
	size_t text = writer->entries_at;
	for (uint32_t i = 0; i < root->child_count; i++) {
		uint32_t number = tree->children[root->first_child + i];
		const struct sn_hpcx_node *node = tree->nodes + number;
		const char *name = sn_hpcx_entry_name(writer->out->db, node);
		children_at[number] = writer->meta->count;
		sn_buffer_number(writer->meta, 0, 8);
		sn_buffer_number(writer->meta, 0, 8);
		sn_buffer_number(writer->meta, node->id, 4);
		sn_buffer_number(writer->meta, node->entry_kind, 4);
		sn_buffer_number(writer->meta, text, 8);
		text += strlen(name) + 1;
	}
}

/* The children of one context are one array; the arrays follow each other level by level. */
static void write_tree(struct writer *writer)
{
	struct sn_buffer *meta = writer->meta;
	const struct sn_hpcx_out_tree *tree = &writer->out->tree;
	size_t *children_at = sn_arena_array(&writer->arena, size_t, tree->node_count + 1);
	uint32_t *queue = sn_arena_array(&writer->arena, uint32_t, tree->node_count + 1);
	size_t first = 0, last = 0;
	sn_buffer_align(meta, 8);
	size_t start = meta->count;
	sn_buffer_number(meta, start + 16, 8);
	sn_buffer_number(meta, tree->nodes[0].child_count, 2);
	sn_buffer_number(meta, ENTRY_BYTES, 6);
	if (writer->arena.failed)
		return;
	write_entries(writer, children_at);
	for (uint32_t i = 0; i < tree->nodes[0].child_count; i++)
		queue[last++] = tree->children[tree->nodes[0].first_child + i];
	while (first < last && !meta->failed) {
		uint32_t number = queue[first++];
		const struct sn_hpcx_node *node = tree->nodes + number;
		size_t at = meta->count;
		for (uint32_t i = 0; i < node->child_count; i++) {
			uint32_t child = tree->children[node->first_child + i];
			children_at[child] = write_context(writer, child);
			queue[last++] = child;
		}
		if (node->child_count) {
			sn_buffer_patch(meta, children_at[number], meta->count - at, 8);
			sn_buffer_patch(meta, children_at[number] + 8, at, 8);
		}
	}
	sn_hpcx_end_section(meta, CONTEXT, start);
}

static uint32_t highest_string(const struct sn_hpcx_out *out)
{
	uint32_t highest = 0;
	for (size_t i = 1; i < out->tree.node_count; i++) {
		const struct sn_hpcx_node *node = out->tree.nodes + i;
		const uint32_t strings[] = {node->function.name, node->function.module,
					    node->function.file, node->file, node->module};
		for (size_t k = 0; k < sizeof(strings) / sizeof(*strings); k++)
			if (strings[k] != SONDE_NONE && strings[k] > highest)
				highest = strings[k];
	}
	return highest;
}

void sn_hpcx_write_meta(struct sn_hpcx_out *out, struct sn_buffer *meta)
{
	struct writer writer = {.out = out, .meta = meta, .string_bound = highest_string(out) + 1};
	list_init(&writer, &writer.strings);
	list_init(&writer, &writer.modules);
	list_init(&writer, &writer.files);
	writer.text_at = sn_arena_array(&writer.arena, size_t, (size_t)writer.string_bound + 1);
	writer.node_functions = sn_arena_array(&writer.arena, uint32_t, out->tree.node_count + 1);
	if (!writer.arena.failed)
		collect(&writer);
	if (!writer.arena.failed)
		order_functions(&writer);
	if (!writer.arena.failed) {
		sn_hpcx_begin_file(meta, "meta", SECTIONS);
		write_general(&writer);
		write_id_names(&writer);
		write_metrics(&writer);
		write_strings(&writer);
		write_paths(&writer, &writer.modules, MODULES);
		write_paths(&writer, &writer.files, FILES);
		write_functions(&writer);
		write_tree(&writer);
		sn_buffer_put(meta, "_meta.db", 8);
	}
	meta->failed |= writer.arena.failed;
	sn_arena_release(&writer.arena);
	sn_intern_release(&writer.functions);
}
