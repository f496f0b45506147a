/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meta.db of an HPCToolkit database, version 4.0: title, kinds of identifiers, metrics, modules,
 * files, functions and the tree.
 */
#include "hpctoolkit.h"

#include "base/intern.h"

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

void sn_hpcx_begin_file(struct sn_hpcx_bytes *out, const char *format, unsigned sections)
{
	sn_hpcx_put(out, "HPCTOOLKIT", 10);
	sn_hpcx_put(out, format, 4);
	sn_hpcx_put_number(out, 4, 1); /* version 4.0 */
	sn_hpcx_put_number(out, 0, 1);
	for (unsigned i = 0; i < 2 * sections; i++)
		sn_hpcx_put_number(out, 0, 8);
}

void sn_hpcx_end_section(struct sn_hpcx_bytes *out, unsigned section, size_t start)
{
	sn_hpcx_patch(out, 0x10 + 16 * (size_t)section, out->length - start);
	sn_hpcx_patch(out, 0x18 + 16 * (size_t)section, start);
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
	struct sn_hpcx_bytes *meta;
	struct list strings, modules, files;
	size_t *text_at;   /* by database string, once written */
	size_t entries_at; /* names of the entry points, one after the other */
	uint32_t string_bound;
	struct sn_intern functions;		   /* struct sn_hpcx_function */
	uint32_t *function_order, *function_place; /* by place; by number */
	size_t functions_at;
	uint32_t *node_functions;
	bool failed;
};

static int compare_strings(const void *left, const void *right, void *db)
{
	return strcmp(sonde_db_string(db, *(const uint32_t *)left),
		      sonde_db_string(db, *(const uint32_t *)right));
}

static void list_init(struct writer *writer, struct list *list)
{
	size_t bound = (size_t)writer->string_bound + 1;
	list->items = malloc(bound * sizeof(*list->items));
	list->position = malloc(bound * sizeof(*list->position));
	if (!list->items || !list->position)
		writer->failed = true;
	else
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
	qsort_r(list->items, list->count, sizeof(*list->items), compare_strings,
		(void *)(uintptr_t)writer->out->db);
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
	if (writer->node_functions[number] == SN_INTERN_NONE)
		writer->failed = true;
}

/* Every string, module, file and function of the tree. */
static void collect(struct writer *writer)
{
	const struct sn_hpcx_out_tree *tree = &writer->out->tree;
	for (size_t i = 1; i < tree->node_count && !writer->failed; i++) {
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
	uint32_t left = a == SONDE_NONE ? SONDE_NONE : writer->strings.position[a] + 1;
	uint32_t right = b == SONDE_NONE ? SONDE_NONE : writer->strings.position[b] + 1;
	left = left == SONDE_NONE ? 0 : left;
	right = right == SONDE_NONE ? 0 : right;
	return (left > right) - (left < right);
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
	int order = compare_text(writer, a->name, b->name);
	if (order == 0)
		order = compare_text(writer, a->module, b->module);
	if (order == 0)
		order = compare_text(writer, a->file, b->file);
	if (order == 0)
		order = (a->offset > b->offset) - (a->offset < b->offset);
	return order ? order : (a->line > b->line) - (a->line < b->line);
}

static void order_functions(struct writer *writer)
{
	size_t count = writer->functions.count;
	writer->function_order = malloc((count + 1) * sizeof(*writer->function_order));
	writer->function_place = malloc((count + 1) * sizeof(*writer->function_place));
	if (!writer->function_order || !writer->function_place) {
		writer->failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		writer->function_order[i] = (uint32_t)i;
	qsort_r(writer->function_order, count, sizeof(*writer->function_order), compare_functions,
		writer);
	for (size_t i = 0; i < count; i++)
		writer->function_place[writer->function_order[i]] = (uint32_t)i;
}

static void write_general(struct writer *writer)
{
	struct sn_hpcx_bytes *meta = writer->meta;
	const char *program = sonde_db_property(writer->out->db, "program");
	const char *slash = program ? strrchr(program, '/') : NULL;
	const char *title = slash && slash[1] ? slash + 1 : program;
	if (!title || !*title)
		title = "<unnamed>";
	size_t start = meta->length;
	sn_hpcx_put_number(meta, start + 16, 8);
	sn_hpcx_put_number(meta, start + 16 + strlen(title) + 1, 8);
	sn_hpcx_put_text(meta, title);
	sn_hpcx_put(meta, writer->out->description.bytes, writer->out->description.length);
	sn_hpcx_end_section(meta, GENERAL, start);
}

static void write_id_names(struct writer *writer)
{
	struct sn_hpcx_bytes *meta = writer->meta;
	sn_hpcx_align(meta, 8);
	size_t start = meta->length, count = writer->out->kind_count;
	size_t text = start + 16 + 8 * count;
	sn_hpcx_put_number(meta, start + 16, 8);
	sn_hpcx_put_number(meta, count, 8);
	for (size_t i = 0; i < count; i++) {
		sn_hpcx_put_number(meta, text, 8);
		text += strlen(writer->out->kinds[i]) + 1;
	}
	for (size_t i = 0; i < count; i++)
		sn_hpcx_put_text(meta, writer->out->kinds[i]);
	sn_hpcx_end_section(meta, ID_NAMES, start);
}

static const struct {
	const char *name;
	uint8_t type, index;
} scopes[SN_HPCX_SCOPES] = {
    {"point", 1, 255}, {"function", 3, 0}, {"lex_aware", 0, 255}, {"execution", 2, 255}};
static const struct {
	const char *formula;
	uint8_t combine;
} statistics[SN_HPCX_STATISTICS] = {[SN_HPCX_COUNT] = {"1", 0},
				    [SN_HPCX_SUM] = {"$$", 0},
				    [SN_HPCX_SQUARES] = {"($$^2)", 0},
				    [SN_HPCX_MIN] = {"$$", 1},
				    [SN_HPCX_MAX] = {"$$", 2}};

/* Positions of the names of scopes and of formulas, which all metrics share. */
struct metric_texts {
	uint64_t scope[SN_HPCX_SCOPES], formula[SN_HPCX_STATISTICS];
};

static void write_metric(struct writer *writer, size_t number, size_t at, size_t scopes_at,
			 const struct metric_texts *texts)
{
	struct sn_hpcx_bytes *meta = writer->meta;
	const struct sn_hpcx_out_metric *metric = writer->out->metrics + number;
	sn_hpcx_patch(meta, at, meta->length);
	sn_hpcx_put_text(meta, metric->name);
	sn_hpcx_align(meta, 8);
	sn_hpcx_patch(meta, at + 8, meta->length);
	for (unsigned scope = 0; scope < SN_HPCX_SCOPES; scope++) {
		sn_hpcx_put_number(meta, scopes_at + SCOPE_BYTES * scope, 8);
		sn_hpcx_put_number(meta, number * SN_HPCX_IDS_PER_METRIC + scope, 8);
	}
	sn_hpcx_patch(meta, at + 16, meta->length);
	for (unsigned scope = 0; scope < SN_HPCX_SCOPES; scope++) {
		for (unsigned i = 0; i < SN_HPCX_STATISTICS; i++) {
			sn_hpcx_put_number(meta, scopes_at + SCOPE_BYTES * scope, 8);
			sn_hpcx_put_number(meta, texts->formula[i], 8);
			sn_hpcx_put_number(meta, statistics[i].combine, 2);
			sn_hpcx_put_number(
			    meta, number * SN_HPCX_IDS_PER_METRIC + i * SN_HPCX_SCOPES + scope, 2);
			sn_hpcx_put_number(meta, 0, 4);
		}
	}
	sn_hpcx_patch(meta, at + 24,
		      SN_HPCX_SCOPES | (uint64_t)(SN_HPCX_SCOPES * SN_HPCX_STATISTICS) << 16);
}

static void write_metrics(struct writer *writer)
{
	struct sn_hpcx_bytes *meta = writer->meta;
	struct metric_texts texts;
	sn_hpcx_align(meta, 8);
	size_t start = meta->length, count = writer->out->metric_count;
	size_t scopes_at = start + 32, metrics_at = scopes_at + SCOPE_BYTES * SN_HPCX_SCOPES;
	sn_hpcx_put_number(meta, metrics_at, 8);
	sn_hpcx_put_number(meta, count, 4);
	sn_hpcx_put_number(meta, METRIC_BYTES, 1);
	sn_hpcx_put_number(meta, INSTANCE_BYTES, 1);
	sn_hpcx_put_number(meta, SUMMARY_BYTES, 2);
	sn_hpcx_put_number(meta, scopes_at, 8);
	sn_hpcx_put_number(meta, SN_HPCX_SCOPES, 2);
	sn_hpcx_put_number(meta, SCOPE_BYTES, 6);
	for (unsigned i = 0; i < SN_HPCX_SCOPES; i++) {
		sn_hpcx_put_number(meta, 0, 8);
		sn_hpcx_put_number(meta, scopes[i].type, 1);
		sn_hpcx_put_number(meta, scopes[i].index, 7);
	}
	for (size_t i = 0; i < count * METRIC_BYTES; i += 8)
		sn_hpcx_put_number(meta, 0, 8);
	for (unsigned i = 0; i < SN_HPCX_SCOPES; i++) {
		texts.scope[i] = meta->length;
		sn_hpcx_patch(meta, scopes_at + SCOPE_BYTES * i, texts.scope[i]);
		sn_hpcx_put_text(meta, scopes[i].name);
	}
	for (unsigned i = 0; i < SN_HPCX_STATISTICS; i++) {
		texts.formula[i] = meta->length;
		sn_hpcx_put_text(meta, statistics[i].formula);
	}
	for (size_t i = 0; i < count; i++)
		write_metric(writer, i, metrics_at + METRIC_BYTES * i, scopes_at, &texts);
	sn_hpcx_end_section(meta, METRICS, start);
}

static void write_strings(struct writer *writer)
{
	size_t start = writer->meta->length;
	for (size_t i = 0; i < writer->strings.count; i++) {
		writer->text_at[writer->strings.items[i]] = writer->meta->length;
		sn_hpcx_put_text(writer->meta,
				 sonde_db_string(writer->out->db, writer->strings.items[i]));
	}
	const struct sn_hpcx_out_tree *tree = &writer->out->tree;
	writer->entries_at = writer->meta->length;
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
	struct sn_hpcx_bytes *meta = writer->meta;
	sn_hpcx_align(meta, 8);
	size_t start = meta->length;
	list->at = start + 16;
	sn_hpcx_put_number(meta, list->at, 8);
	sn_hpcx_put_number(meta, list->count, 4);
	sn_hpcx_put_number(meta, MODULE_BYTES, 4);
	for (size_t i = 0; i < list->count; i++) {
		sn_hpcx_put_number(meta, 0, 8);
		sn_hpcx_put_number(meta, writer->text_at[list->items[i]], 8);
	}
	sn_hpcx_end_section(meta, section, start);
}

static void write_functions(struct writer *writer)
{
	struct sn_hpcx_bytes *meta = writer->meta;
	sn_hpcx_align(meta, 8);
	size_t start = meta->length;
	writer->functions_at = start + 16;
	sn_hpcx_put_number(meta, writer->functions_at, 8);
	sn_hpcx_put_number(meta, writer->functions.count, 4);
	sn_hpcx_put_number(meta, FUNCTION_BYTES, 4);
	for (size_t i = 0; i < writer->functions.count; i++) {
		const struct sn_hpcx_function *function =
		    function_at(writer, writer->function_order[i]);
		sn_hpcx_put_number(
		    meta, function->name == SONDE_NONE ? 0 : writer->text_at[function->name], 8);
		sn_hpcx_put_number(meta,
				   record_at(&writer->modules, function->module, MODULE_BYTES), 8);
		sn_hpcx_put_number(meta, function->offset, 8);
		sn_hpcx_put_number(meta, record_at(&writer->files, function->file, FILE_BYTES), 8);
		sn_hpcx_put_number(meta, function->line, 8);
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
	struct sn_hpcx_bytes *meta = writer->meta;
	const struct sn_hpcx_node *node = writer->out->tree.nodes + number;
	size_t at = meta->length;
	unsigned words = (unsigned)((context_bytes(node) - CONTEXT_BYTES) / 8);
	sn_hpcx_put_number(meta, 0, 8);
	sn_hpcx_put_number(meta, 0, 8);
	sn_hpcx_put_number(meta, node->id, 4);
	sn_hpcx_put_number(meta,
			   (node->has_function ? 1u : 0) | (node->has_line ? 2u : 0) |
			       (node->has_point ? 4u : 0),
			   1);
	sn_hpcx_put_number(meta, node->relation, 1);
	sn_hpcx_put_number(meta, node->lexical, 1);
	sn_hpcx_put_number(meta, words, 1);
	sn_hpcx_put_number(meta, node->relation == 0 ? 1 : 0, 8); /* what "function" sums up */
	if (node->has_function)
		sn_hpcx_put_number(meta,
				   writer->functions_at +
				       (uint64_t)FUNCTION_BYTES *
					   writer->function_place[writer->node_functions[number]],
				   8);
	if (node->has_line) {
		sn_hpcx_put_number(meta, record_at(&writer->files, node->file, FILE_BYTES), 8);
		sn_hpcx_put_number(meta, node->line, 8);
	}
	if (node->has_point) {
		sn_hpcx_put_number(meta, record_at(&writer->modules, node->module, MODULE_BYTES),
				   8);
		sn_hpcx_put_number(meta, node->offset, 8);
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
		children_at[number] = writer->meta->length;
		sn_hpcx_put_number(writer->meta, 0, 8);
		sn_hpcx_put_number(writer->meta, 0, 8);
		sn_hpcx_put_number(writer->meta, node->id, 4);
		sn_hpcx_put_number(writer->meta, node->entry_kind, 4);
		sn_hpcx_put_number(writer->meta, text, 8);
		text += strlen(name) + 1;
	}
}

/* The children of one context are one array; the arrays follow each other level by level. */
static void write_tree(struct writer *writer)
{
	struct sn_hpcx_bytes *meta = writer->meta;
	const struct sn_hpcx_out_tree *tree = &writer->out->tree;
	size_t *children_at = calloc(tree->node_count + 1, sizeof(*children_at));
	uint32_t *queue = malloc((tree->node_count + 1) * sizeof(*queue));
	size_t first = 0, last = 0;
	sn_hpcx_align(meta, 8);
	size_t start = meta->length;
	sn_hpcx_put_number(meta, start + 16, 8);
	sn_hpcx_put_number(meta, tree->nodes[0].child_count, 2);
	sn_hpcx_put_number(meta, ENTRY_BYTES, 6);
	if (!children_at || !queue) {
		writer->failed = true;
		goto out;
	}
	write_entries(writer, children_at);
	for (uint32_t i = 0; i < tree->nodes[0].child_count; i++)
		queue[last++] = tree->children[tree->nodes[0].first_child + i];
	while (first < last && !meta->failed) {
		uint32_t number = queue[first++];
		const struct sn_hpcx_node *node = tree->nodes + number;
		size_t at = meta->length;
		for (uint32_t i = 0; i < node->child_count; i++) {
			uint32_t child = tree->children[node->first_child + i];
			children_at[child] = write_context(writer, child);
			queue[last++] = child;
		}
		if (node->child_count) {
			sn_hpcx_patch(meta, children_at[number], meta->length - at);
			sn_hpcx_patch(meta, children_at[number] + 8, at);
		}
	}
	sn_hpcx_end_section(meta, CONTEXT, start);
out:
	free(children_at);
	free(queue);
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

void sn_hpcx_write_meta(struct sn_hpcx_out *out, struct sn_hpcx_bytes *meta)
{
	struct writer writer = {.out = out, .meta = meta, .string_bound = highest_string(out) + 1};
	list_init(&writer, &writer.strings);
	list_init(&writer, &writer.modules);
	list_init(&writer, &writer.files);
	writer.text_at = calloc((size_t)writer.string_bound + 1, sizeof(*writer.text_at));
	writer.node_functions = calloc(out->tree.node_count + 1, sizeof(*writer.node_functions));
	writer.failed = writer.failed || !writer.text_at || !writer.node_functions;
	if (!writer.failed)
		collect(&writer);
	if (!writer.failed)
		order_functions(&writer);
	if (!writer.failed) {
		sn_hpcx_begin_file(meta, "meta", SECTIONS);
		write_general(&writer);
		write_id_names(&writer);
		write_metrics(&writer);
		write_strings(&writer);
		write_paths(&writer, &writer.modules, MODULES);
		write_paths(&writer, &writer.files, FILES);
		write_functions(&writer);
		write_tree(&writer);
		sn_hpcx_put(meta, "_meta.db", 8);
	}
	meta->failed = meta->failed || writer.failed;
	free(writer.strings.items);
	free(writer.strings.position);
	free(writer.modules.items);
	free(writer.modules.position);
	free(writer.files.items);
	free(writer.files.position);
	free(writer.text_at);
	free(writer.function_order);
	free(writer.function_place);
	free(writer.node_functions);
	sn_intern_release(&writer.functions);
}
