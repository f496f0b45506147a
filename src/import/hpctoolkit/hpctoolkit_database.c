/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads databases of HPCToolkit, version 4: meta.db has metrics and the context tree, profile.db
 * the values of each profile, cct.db the same values in another order (which is checked), trace.db
 * the traces.
 *
 * Only values of the scope "point", a context's own, are taken; those of the other scopes are sums.
 * The tree omits instructions inside a line, but their values are part of those sums. What a
 * context's sum has beyond its own value and its children's becomes a hidden value of the context.
 *
 * Pointers are positions in the file. The sizes of records are read from the file, because later
 * minor versions may have longer records.
 */
#include "hpctoolkit_measurement.h"
#include "hpctoolkit_names.h"
#include "hpctoolkit_transpose.h"

#include "base/cursor.h"
#include "base/table.h"
#include "base/vec.h"
#include "format/database/database_builder.h"
#include "format/measurement/measurement.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Marks databases that `sonde export` wrote. They give the values of a hidden context the number
 * after that of the context around it, so nothing needs to be inferred. */
#define OWN_DESCRIPTION "Written by Sonde"

enum scope { SCOPE_OTHER, SCOPE_POINT, SCOPE_EXECUTION, SCOPE_FUNCTION, SCOPE_COUNT };

struct property { /* what a metric id of the file stands for */
	uint32_t metric;
	enum scope scope;
};

/* A context of the file. */
struct node {
	uint32_t id, parent; /* parent: a position; the root is its own parent */
	uint32_t context;    /* builder's */
	uint8_t relation;
};

/* Children of a context that are still to be read. */
struct waiting {
	uint64_t at, bytes;
	uint32_t parent; /* position */
};

struct file {
	struct sn_bytes contents; /* from malloc */
	char path[PATH_MAX];
};

struct reader {
	uint32_t run;
	struct sn_db_builder *builder;
	struct sn_hpct_tree tree;
	struct file meta, values, trace;
	struct sn_trace_writer *events;
	uint32_t *profiles; /* builder's, by the file's number; SONDE_NONE for the summary */
	uint64_t profile_count;
	struct sn_error *error;
	bool is_own;
	struct property *properties; /* by metric id, 65536 */
	struct node *nodes;
	size_t node_count, node_capacity;
	struct waiting *waiting;
	size_t waiting_count, waiting_capacity;
	struct sn_table ids;   /* the position of a node by its id */
	const char **id_names; /* of the kinds of identifiers, in meta.db */
	size_t id_name_count;
};

bool sn_hpct_is_database(const char *folder)
{
	char path[PATH_MAX], head[14] = "";
	snprintf(path, sizeof(path), "%s/meta.db", folder);
	FILE *file = fopen(path, "rbe");
	bool is_database = file && fread(head, 1, sizeof(head), file) == sizeof(head) &&
			   memcmp(head, "HPCTOOLKITmeta", sizeof(head)) == 0;
	if (file)
		fclose(file);
	return is_database;
}

static int damaged(const struct reader *reader, const struct file *file, const char *what)
{
	return sn_fail(reader->error, SN_ERR_FORMAT, "cannot read '%s': %s", file->path, what);
}

static int damaged_meta(const struct reader *reader, const char *what)
{
	return damaged(reader, &reader->meta, what);
}

static int load(struct reader *reader, struct file *file, const char *folder, const char *name,
		const char *kind, const char *footer)
{
	unsigned char *bytes;
	size_t length;
	snprintf(file->path, sizeof(file->path), "%s/%s", folder, name);
	int code = sn_import_cursor_load(file->path, &bytes, &length, reader->error);
	if (code != 0)
		return code;
	file->contents = (struct sn_bytes){bytes, length};
	if (length < 24 || memcmp(bytes, "HPCTOOLKIT", 10) != 0 || memcmp(bytes + 10, kind, 4) != 0)
		return damaged(reader, file, "not an HPCToolkit database file");
	if (bytes[14] != 4)
		return sn_fail(reader->error, SN_ERR_VERSION,
			       "cannot read '%s': version %u of its format, only 4 is known",
			       file->path, bytes[14]);
	if (memcmp(bytes + length - 8, footer, 8) != 0)
		return damaged(reader, file, "cut short: it has no footer");
	return 0;
}

static struct sn_cursor cursor_at(const struct file *file, uint64_t at)
{
	return sn_cursor_at(file->contents, at);
}

/* A cursor at section `index` of the header. */
static struct sn_cursor section_at(const struct file *file, unsigned index)
{
	struct sn_cursor cursor = cursor_at(file, 0x18 + 16 * (uint64_t)index);
	return cursor_at(file, sn_cursor_u64(&cursor));
}

/* A string; NULL if it does not end within the file. */
static const char *text_at(const struct file *file, uint64_t at)
{
	struct sn_cursor cursor = cursor_at(file, at);
	return sn_cursor_string(&cursor);
}

/* Whether `count` records of `size` bytes each lie in the file, each at least
 * `least` bytes long. */
static bool has_array(const struct file *file, uint64_t at, uint64_t count, uint64_t size,
		      uint64_t least)
{
	return count == 0 || (size >= least && at <= file->contents.size &&
			      count <= (file->contents.size - at) / size);
}

/* A list of records: position, number, and size of each. */
struct list {
	uint64_t at, count, size;
};

/* Reads the description of a list; `cursor` is then behind it. False if the records do not lie in
 * the file or are shorter than `least`. */
static bool list_at(const struct file *file, struct sn_cursor *cursor, unsigned count_bytes,
		    uint64_t least, struct list *list)
{
	list->at = sn_cursor_u64(cursor);
	list->count = sn_cursor_uint(cursor, count_bytes);
	list->size = sn_cursor_u8(cursor);
	return !cursor->failed && has_array(file, list->at, list->count, list->size, least);
}

/* Takes the formulas that `sonde export` wrote into the description: lines "    NAME = TEXT". */
static int read_formulas(struct reader *reader, const char *description)
{
	char *lines = strdup(description), *rest = NULL;
	if (!lines)
		return sn_fail_memory(reader->error);
	for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *name = line + strspn(line, " "), *equals = strstr(name, " = ");
		if (name - line != 4 || !equals || equals == name)
			continue;
		*equals = '\0';
		sn_db_builder_formula(reader->builder, name, equals + strlen(" = "));
	}
	free(lines);
	return 0;
}

static int read_general(struct reader *reader)
{
	struct sn_cursor cursor = section_at(&reader->meta, 0);
	const char *title = text_at(&reader->meta, sn_cursor_u64(&cursor));
	const char *description = text_at(&reader->meta, sn_cursor_u64(&cursor));
	if (cursor.failed || !title || !description)
		return damaged_meta(reader, "damaged title");
	reader->is_own = strncmp(description, OWN_DESCRIPTION, strlen(OWN_DESCRIPTION)) == 0;
	sn_hpct_program(reader->builder, title, title);
	return reader->is_own ? read_formulas(reader, description) : 0;
}

static int read_id_names(struct reader *reader)
{
	struct sn_cursor cursor = section_at(&reader->meta, 1);
	uint64_t names = sn_cursor_u64(&cursor), count = sn_cursor_u8(&cursor);
	if (cursor.failed || !has_array(&reader->meta, names, count, 8, 8))
		return damaged_meta(reader, "damaged names of identifiers");
	reader->id_names = calloc(count + 1, sizeof(*reader->id_names));
	if (!reader->id_names)
		return sn_fail_memory(reader->error);
	struct sn_cursor list = cursor_at(&reader->meta, names);
	for (uint64_t i = 0; i < count; i++) {
		const char *name = text_at(&reader->meta, sn_cursor_u64(&list));
		if (!name)
			return damaged_meta(reader, "damaged names of identifiers");
		reader->id_names[reader->id_name_count++] = name;
	}
	return 0;
}

static enum scope scope_at(const struct file *file, uint64_t at)
{
	enum { TYPE_POINT = 1, TYPE_EXECUTION = 2, TYPE_TRANSITIVE = 3 };
	struct sn_cursor cursor = cursor_at(file, at);
	const char *name = text_at(file, sn_cursor_u64(&cursor));
	uint64_t type = sn_cursor_u8(&cursor);
	if (!name || cursor.failed)
		return SCOPE_COUNT;
	if (type == TYPE_POINT)
		return SCOPE_POINT;
	if (type == TYPE_EXECUTION)
		return SCOPE_EXECUTION;
	return type == TYPE_TRANSITIVE && strcmp(name, "function") == 0 ? SCOPE_FUNCTION
									: SCOPE_OTHER;
}

static int read_metric(struct reader *reader, uint64_t at, uint64_t instance_size)
{
	const struct file *file = &reader->meta;
	struct sn_cursor cursor = cursor_at(file, at);
	const char *name = text_at(file, sn_cursor_u64(&cursor));
	uint64_t instances = sn_cursor_u64(&cursor);
	sn_cursor_skip(&cursor, 8); /* summaries, which are computed anew */
	uint64_t count = sn_cursor_u16(&cursor);
	if (cursor.failed || !name || !has_array(file, instances, count, instance_size, 10))
		return damaged(reader, file, "damaged list of metrics");
	uint32_t metric = sn_hpct_metric(reader->builder, name, 0);
	for (uint64_t i = 0; i < count; i++) {
		struct sn_cursor instance = cursor_at(file, instances + i * instance_size);
		enum scope scope = scope_at(file, sn_cursor_u64(&instance));
		uint64_t id = sn_cursor_u16(&instance);
		if (scope == SCOPE_COUNT)
			return damaged(reader, file, "damaged list of metrics");
		reader->properties[id] = (struct property){metric, scope};
	}
	return 0;
}

static int read_metrics(struct reader *reader)
{
	const struct file *file = &reader->meta;
	struct sn_cursor cursor = section_at(file, 2);
	struct list metrics;
	bool is_there = list_at(file, &cursor, 4, 0x1c, &metrics);
	uint64_t instance_size = sn_cursor_u8(&cursor);
	reader->properties = malloc(65536 * sizeof(*reader->properties));
	if (!reader->properties)
		return sn_fail_memory(reader->error);
	for (int i = 0; i < 65536; i++)
		reader->properties[i] = (struct property){SONDE_NONE, SCOPE_OTHER};
	if (!is_there || cursor.failed)
		return damaged_meta(reader, "damaged list of metrics");
	int code = 0;
	for (uint64_t i = 0; i < metrics.count && code == 0; i++)
		code = read_metric(reader, metrics.at + i * metrics.size, instance_size);
	return code;
}

/* The path of a module or a file; SONDE_NONE for a pointer of 0. -1 if the record is damaged. */
static int path_at(struct reader *reader, uint64_t at, uint32_t *string, bool *is_gpu)
{
	struct sn_cursor cursor = cursor_at(&reader->meta, at);
	*string = SONDE_NONE;
	if (at == 0)
		return 0;
	sn_cursor_skip(&cursor, 8); /* flags */
	const char *path = text_at(&reader->meta, sn_cursor_u64(&cursor));
	if (cursor.failed || !path)
		return -1;
	*string = sn_db_builder_string(reader->builder, path);
	if (is_gpu)
		*is_gpu = sn_hpct_is_gpu_module(path);
	return 0;
}

static int module_at(struct reader *reader, uint64_t at, uint32_t *module, bool *is_gpu)
{
	struct sonde_db_module record = {.build_id = SONDE_NONE};
	*module = SONDE_NONE;
	if (path_at(reader, at, &record.path, is_gpu) < 0)
		return -1;
	if (record.path != SONDE_NONE)
		*module = sn_db_builder_module(reader->builder, &record);
	return 0;
}

/* A context's record as in the file. */
struct record {
	uint64_t children, children_bytes, next;
	uint32_t id;
	unsigned relation, kind;
	bool has_function, has_line, has_point;
	uint64_t function, file, module, offset;
	uint32_t line;
};

static int read_record(struct reader *reader, uint64_t at, struct record *record)
{
	struct sn_cursor cursor = cursor_at(&reader->meta, at);
	*record = (struct record){0};
	record->children_bytes = sn_cursor_u64(&cursor);
	record->children = sn_cursor_u64(&cursor);
	record->id = sn_cursor_u32(&cursor);
	uint64_t flags = sn_cursor_u8(&cursor);
	record->relation = sn_cursor_u8(&cursor);
	record->kind = sn_cursor_u8(&cursor);
	uint64_t words = sn_cursor_u8(&cursor);
	record->next = at + 0x20 + 8 * words;
	record->has_function = flags & 1;
	record->has_line = flags & 2;
	record->has_point = flags & 4;
	if (words < (record->has_function ? 1u : 0) + (record->has_line ? 2u : 0) +
			(record->has_point ? 2u : 0))
		return damaged_meta(reader, "damaged context");
	sn_cursor_skip(&cursor, 8);
	if (record->has_function)
		record->function = sn_cursor_u64(&cursor);
	if (record->has_line) {
		record->file = sn_cursor_u64(&cursor);
		record->line = sn_cursor_u32(&cursor);
		sn_cursor_skip(&cursor, 4);
	}
	if (record->has_point) {
		record->module = sn_cursor_u64(&cursor);
		record->offset = sn_cursor_u64(&cursor);
	}
	return cursor.failed ? damaged_meta(reader, "damaged context") : 0;
}

static int function_frame(struct reader *reader, uint32_t parent, const struct record *record,
			  struct sonde_db_frame *frame)
{
	struct sn_cursor cursor = cursor_at(&reader->meta, record->function);
	struct sn_hpct_function function = {.name = SONDE_NONE};
	uint64_t name = sn_cursor_u64(&cursor), module = sn_cursor_u64(&cursor);
	function.offset = sn_cursor_u64(&cursor);
	uint64_t file = sn_cursor_u64(&cursor);
	function.line = sn_cursor_u32(&cursor);
	const char *text = name ? text_at(&reader->meta, name) : NULL;
	if (cursor.failed || (name && !text) ||
	    module_at(reader, module, &function.module, &function.is_gpu) < 0 ||
	    path_at(reader, file, &function.file, NULL) < 0)
		return damaged_meta(reader, "damaged function");
	if (text && text[0] == '<' && !module && !file) {
		*frame = sn_hpct_frame_named(&reader->tree, sn_hpct_placeholder_kind(text), text);
		return 0;
	}
	function.name = sn_db_builder_string(reader->builder, text);
	*frame = sn_hpct_frame_function(&reader->tree, parent,
					(enum sn_hpct_relation)record->relation, &function);
	return 0;
}

/* The frame kind of a context that is not a function. Its parent tells whether it
 * is device code. */
static unsigned place_kind(const struct reader *reader, uint32_t parent,
			   const struct record *record, bool is_gpu_module)
{
	enum { LOOP = 1, LINE = 2 };
	bool is_gpu = is_gpu_module || sn_hpct_tree_is_gpu(&reader->tree, parent);
	if (record->kind == LOOP)
		return is_gpu ? SN_FRAME_GPU_LOOP : SN_FRAME_LOOP;
	if (record->kind == LINE || record->relation == SN_HPCT_NESTED)
		return is_gpu ? SN_FRAME_GPU_LINE : SN_FRAME_LINE;
	return sn_hpct_tree_called_kind(&reader->tree, parent, is_gpu);
}

static int record_frame(struct reader *reader, uint32_t parent, const struct record *record,
			struct sonde_db_frame *frame)
{
	enum { FUNCTION = 0 };
	struct sn_hpct_place place = {.offset = record->offset, .line = record->line};
	bool is_gpu = false;
	if (record->kind == FUNCTION && record->has_function)
		return function_frame(reader, parent, record, frame);
	if (path_at(reader, record->file, &place.file, NULL) < 0 ||
	    module_at(reader, record->module, &place.module, &is_gpu) < 0)
		return damaged_meta(reader, "damaged context");
	unsigned kind =
	    record->kind == FUNCTION ? SN_FRAME_NATIVE : place_kind(reader, parent, record, is_gpu);
	bool is_called_code =
	    kind == SN_FRAME_NATIVE || kind == SN_FRAME_GPU_FUNCTION || kind == SN_FRAME_KERNEL;
	*frame = sn_hpct_frame_place(
	    &reader->tree, kind,
	    is_called_code ? SN_HPCT_NESTED : (enum sn_hpct_relation)record->relation, &place);
	return 0;
}

static int add_node(struct reader *reader, struct node node)
{
	uint32_t position = sn_table_add(&reader->ids, node.id);
	if (node.context == SONDE_NONE || position == SN_TABLE_NONE)
		return sn_fail_memory(reader->error);
	if (position != reader->node_count)
		return damaged_meta(reader, "two contexts with one number");
	return sn_fail_code(reader->error, sn_vec_push(&reader->nodes, &reader->node_capacity,
						       &reader->node_count, node));
}

/* A child with its frame; siblings with equal frames are distinguished by their order. */
struct sibling {
	struct record record;
	struct sonde_db_frame frame;
	uint32_t twin; /* 0: its frame is unique, else the number from 1 */
};

/* Numbers a sibling whose frame an earlier one has; `last` maps a frame to the last
 * sibling with it. */
static int number_twin(struct sn_table *last, uint32_t frame, struct sibling *siblings, size_t at)
{
	uint32_t before = sn_table_find(last, frame);
	if (before != SN_TABLE_NONE) {
		if (siblings[before].twin == 0)
			siblings[before].twin = 1;
		siblings[at].twin = siblings[before].twin + 1;
	}
	return sn_table_put(last, frame, (uint32_t)at);
}

static int read_siblings(struct reader *reader, const struct waiting *waiting,
			 struct sibling **siblings, size_t *count, struct sn_table *last)
{
	size_t capacity = 0;
	uint64_t at = waiting->at, end = at + waiting->bytes;
	uint32_t parent = reader->nodes[waiting->parent].context;
	while (at < end) {
		struct sibling sibling = {0};
		int code = read_record(reader, at, &sibling.record);
		if (code == 0)
			code = record_frame(reader, parent, &sibling.record, &sibling.frame);
		if (code != 0)
			return code;
		uint32_t frame = sn_db_builder_frame(reader->builder, &sibling.frame);
		if (sn_vec_push(siblings, &capacity, count, sibling) < 0 ||
		    number_twin(last, frame, *siblings, *count - 1) < 0)
			return sn_fail_memory(reader->error);
		at = sibling.record.next;
	}
	return at != end ? damaged_meta(reader, "damaged list of contexts") : 0;
}

/* Adds a context and queues its children for reading. */
static int add_parent(struct reader *reader, struct node node, uint64_t at, uint64_t bytes)
{
	uint32_t position = (uint32_t)reader->node_count;
	int code = add_node(reader, node);
	if (code != 0 || bytes == 0)
		return code;
	if (!has_array(&reader->meta, at, bytes, 1, 1))
		return damaged_meta(reader, "damaged list of contexts");
	return sn_fail_code(reader->error, sn_vec_push(&reader->waiting, &reader->waiting_capacity,
						       &reader->waiting_count,
						       (struct waiting){at, bytes, position}));
}

static int add_child(struct reader *reader, uint32_t parent, const struct sibling *sibling)
{
	const struct record *record = &sibling->record;
	uint32_t above = reader->nodes[parent].context;
	if (sibling->twin)
		above = sn_hpct_tree_hidden(&reader->tree, above, sibling->twin);
	struct node node = {record->id, parent,
			    sn_hpct_tree_add(&reader->tree, above, sibling->frame),
			    (uint8_t)record->relation};
	return add_parent(reader, node, record->children, record->children_bytes);
}

static int read_children(struct reader *reader)
{
	struct waiting waiting = reader->waiting[--reader->waiting_count];
	struct sibling *siblings = NULL;
	struct sn_table last = {0};
	size_t count = 0;
	int code = read_siblings(reader, &waiting, &siblings, &count, &last);
	for (size_t i = 0; code == 0 && i < count; i++)
		code = add_child(reader, waiting.parent, siblings + i);
	free(siblings);
	sn_table_release(&last);
	return code;
}

static int read_entries(struct reader *reader)
{
	const struct file *file = &reader->meta;
	struct sn_cursor cursor = section_at(file, 3);
	struct list entries;
	if (!list_at(file, &cursor, 2, 0x20, &entries))
		return damaged_meta(reader, "damaged entry points");
	int code = add_node(reader, (struct node){0});
	for (uint64_t i = 0; code == 0 && i < entries.count; i++) {
		struct sn_cursor entry = cursor_at(file, entries.at + i * entries.size);
		uint64_t bytes = sn_cursor_u64(&entry), at = sn_cursor_u64(&entry);
		struct node node = {.id = sn_cursor_u32(&entry), .relation = SN_HPCT_CALLED};
		unsigned kind = sn_cursor_u16(&entry);
		sn_cursor_skip(&entry, 2);
		const char *name = text_at(file, sn_cursor_u64(&entry));
		if (entry.failed || !name)
			return damaged_meta(reader, "damaged entry points");
		node.context = sn_hpct_tree_entry(&reader->tree, name, kind);
		code = add_parent(reader, node, at, bytes);
	}
	return code;
}

static int read_tree(struct reader *reader)
{
	int code = read_entries(reader);
	while (code == 0 && reader->waiting_count)
		code = read_children(reader);
	return code;
}

static int read_tuple(struct reader *reader, uint64_t at, uint32_t *profile)
{
	enum { MOST = 16 };
	struct sn_hpct_id ids[MOST];
	struct sn_cursor cursor = cursor_at(&reader->values, at);
	uint64_t count = sn_cursor_u16(&cursor);
	sn_cursor_skip(&cursor, 6);
	size_t used = 0;
	for (uint64_t i = 0; i < count && used < MOST && !cursor.failed; i++) {
		uint64_t kind = sn_cursor_u8(&cursor);
		sn_cursor_skip(&cursor, 1);
		bool is_physical = sn_cursor_u16(&cursor) & 1;
		uint64_t logical = sn_cursor_u32(&cursor);
		uint64_t physical = sn_cursor_u64(&cursor);
		if (kind >= reader->id_name_count)
			return damaged(reader, &reader->values, "an identifier of an unknown kind");
		ids[used++] = (struct sn_hpct_id){reader->id_names[kind], is_physical,
						  is_physical ? physical : logical};
	}
	if (cursor.failed)
		return damaged(reader, &reader->values, "damaged identifiers");
	struct sonde_db_profile record = sn_hpct_profile(reader->builder, ids, used);
	record.run = reader->run;
	*profile = sn_db_builder_profile(reader->builder, &record);
	return 0;
}

/* The positions of a profile's values. */
struct block {
	uint64_t value_count, values, context_count, contexts;
};

static double number_of(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Adds the values of the context at `position` to their scopes; with `hidden`, the context is not
 * in the tree, and its values of the point scope go there. */
static int add_run(struct reader *reader, struct sn_cursor values, uint64_t count,
		   uint32_t position, struct sn_sums *scopes, struct sn_sums *hidden)
{
	for (; count; count--) {
		struct property property = reader->properties[sn_cursor_u16(&values)];
		double value = number_of(sn_cursor_u64(&values));
		struct sn_sums *sums = scopes + property.scope;
		if (!isfinite(value))
			return damaged(reader, &reader->values, "a value that is not a number");
		if (hidden)
			sums = property.scope == SCOPE_POINT ? hidden : NULL;
		if (sums && property.metric != SONDE_NONE &&
		    sn_sums_add(sums, position, property.metric, value) < 0)
			return sn_fail_memory(reader->error);
	}
	return 0;
}

/* Adds the values of all scopes by context and metric. In databases of ours, values of hidden
 * contexts are recognised by their number and go to `hidden`. */
static int add_values(struct reader *reader, const struct block *block, struct sn_sums *scopes,
		      struct sn_sums *hidden)
{
	const struct file *file = &reader->values;
	struct sn_cursor index = cursor_at(file, block->contexts);
	uint32_t id = sn_cursor_u32(&index);
	uint64_t first = sn_cursor_u64(&index);
	int code = 0;
	for (uint64_t i = 1; i <= block->context_count && code == 0; i++) {
		bool is_last = i == block->context_count;
		uint32_t next = is_last ? 0 : sn_cursor_u32(&index);
		uint64_t end = is_last ? block->value_count : sn_cursor_u64(&index);
		uint32_t position = sn_table_find(&reader->ids, id);
		bool is_hidden = position == SN_TABLE_NONE && reader->is_own;
		if (is_hidden)
			position = sn_table_find(&reader->ids, id - 1);
		if (first > end || end > block->value_count)
			return damaged(reader, file, "damaged values");
		if (position != SN_TABLE_NONE)
			code = add_run(reader, cursor_at(file, block->values + 10 * first),
				       end - first, position, scopes, is_hidden ? hidden : NULL);
		id = next;
		first = end;
	}
	return code;
}

static double sum_of(const struct sn_sums *sums, uint32_t major, uint32_t minor)
{
	const struct sn_sum *sum = sn_sums_find(sums, major, minor);
	return sum ? sum->value : 0;
}

/* The part of a context's value in a scope that neither itself nor the children included in that
 * scope account for: the value of omitted instructions. */
static int find_hidden(struct reader *reader, const struct sn_sums *point,
		       const struct sn_sums *scope, bool only_nested, const struct sn_sums *done,
		       struct sn_sums *hidden)
{
	struct sn_sums shown = {0};
	int code = 0;
	for (size_t i = 0; code == 0 && i < scope->count; i++) {
		const struct sn_sum *sum = scope->entries + i;
		const struct node *node = reader->nodes + sum->major;
		if (sum->major == 0 || (only_nested && node->relation != SN_HPCT_NESTED))
			continue;
		if (sn_sums_add(&shown, node->parent, sum->minor, sum->value) < 0)
			code = sn_fail_memory(reader->error);
	}
	for (size_t i = 0; code == 0 && i < scope->count; i++) {
		const struct sn_sum *sum = scope->entries + i;
		double rest = sum->value - sum_of(point, sum->major, sum->minor) -
			      sum_of(&shown, sum->major, sum->minor);
		if (fabs(rest) <= 1e-9 * fabs(sum->value) ||
		    (done && sn_sums_find(done, sum->major, sum->minor)))
			continue;
		if (sn_sums_add(hidden, sum->major, sum->minor, rest) < 0)
			code = sn_fail_memory(reader->error);
	}
	sn_sums_release(&shown);
	return code;
}

static void add_sums(struct reader *reader, uint32_t profile, const struct sn_sums *sums,
		     bool is_hidden)
{
	for (size_t i = 0; i < sums->count; i++) {
		const struct sn_sum *sum = sums->entries + i;
		uint32_t context = reader->nodes[sum->major].context;
		if (is_hidden && sum->value != 0)
			context = sn_hpct_tree_hidden(&reader->tree, context, 0);
		sn_hpct_value(reader->builder, profile, context, sum->minor, sum->value);
	}
}

static int read_block(struct reader *reader, const struct block *block, uint32_t profile)
{
	struct sn_sums scopes[SCOPE_COUNT] = {0}, hidden = {0};
	int code = add_values(reader, block, scopes, &hidden);
	if (code == 0 && !reader->is_own)
		code = find_hidden(reader, scopes + SCOPE_POINT, scopes + SCOPE_FUNCTION, true,
				   NULL, &hidden);
	if (code == 0 && !reader->is_own && scopes[SCOPE_FUNCTION].count == 0)
		code = find_hidden(reader, scopes + SCOPE_POINT, scopes + SCOPE_EXECUTION, false,
				   &hidden, &hidden);
	if (code == 0) {
		add_sums(reader, profile, scopes + SCOPE_POINT, false);
		add_sums(reader, profile, &hidden, true);
	}
	for (int i = 0; i < SCOPE_COUNT; i++)
		sn_sums_release(scopes + i);
	sn_sums_release(&hidden);
	return code;
}

static int read_profile(struct reader *reader, uint64_t at, uint32_t *number)
{
	const struct file *file = &reader->values;
	struct sn_cursor cursor = cursor_at(file, at);
	struct block block;
	uint32_t profile = SONDE_NONE;
	block.value_count = sn_cursor_u64(&cursor);
	block.values = sn_cursor_u64(&cursor);
	block.context_count = sn_cursor_u32(&cursor);
	sn_cursor_skip(&cursor, 4);
	block.contexts = sn_cursor_u64(&cursor);
	uint64_t tuple = sn_cursor_u64(&cursor);
	bool is_summary = sn_cursor_u32(&cursor) & 1;
	*number = SONDE_NONE;
	if (cursor.failed || !has_array(file, block.values, block.value_count, 10, 10) ||
	    !has_array(file, block.contexts, block.context_count, 12, 12))
		return damaged(reader, file, "damaged values");
	if (is_summary)
		return 0;
	int code = read_tuple(reader, tuple, &profile);
	*number = profile;
	return code != 0 ? code : read_block(reader, &block, profile);
}

static int read_profiles(struct reader *reader)
{
	const struct file *file = &reader->values;
	struct sn_cursor cursor = section_at(file, 0);
	struct list profiles;
	if (!list_at(file, &cursor, 4, 0x2c, &profiles))
		return damaged(reader, file, "damaged list of profiles");
	reader->profiles = malloc((profiles.count + 1) * sizeof(*reader->profiles));
	if (!reader->profiles)
		return sn_fail_memory(reader->error);
	reader->profile_count = profiles.count;
	int code = 0;
	for (uint64_t i = 0; i < profiles.count && code == 0; i++)
		code = read_profile(reader, profiles.at + i * profiles.size, reader->profiles + i);
	return code;
}

/* The context of an id in a trace; the root if the tree does not have it. */
static uint32_t traced_context(const struct reader *reader, uint32_t id)
{
	uint32_t position = sn_table_find(&reader->ids, id);
	return position == SN_TABLE_NONE ? 0 : reader->nodes[position].context;
}

static int read_line(struct reader *reader, uint64_t at)
{
	enum { POINT_BYTES = 12 };
	const struct file *file = &reader->trace;
	struct sn_cursor cursor = cursor_at(file, at);
	uint64_t profile = sn_cursor_u32(&cursor);
	sn_cursor_skip(&cursor, 4);
	uint64_t start = sn_cursor_u64(&cursor), end = sn_cursor_u64(&cursor);
	if (cursor.failed || start > end || end > file->contents.size ||
	    (end - start) % POINT_BYTES || profile >= reader->profile_count ||
	    reader->profiles[profile] == SONDE_NONE)
		return damaged(reader, file, "damaged trace");
	struct sn_cursor cursor_of_points = cursor_at(file, start);
	size_t count = (end - start) / POINT_BYTES;
	struct sn_hpct_traced *points = malloc((count + 1) * sizeof(*points));
	if (!points)
		return sn_fail_memory(reader->error);
	for (size_t i = 0; i < count; i++) {
		uint64_t time_ns = sn_cursor_u64(&cursor_of_points);
		points[i] = (struct sn_hpct_traced){
		    time_ns, traced_context(reader, sn_cursor_u32(&cursor_of_points))};
	}
	uint32_t number = reader->profiles[profile];
	sn_hpct_points(reader->events, number,
		       reader->builder->profiles[number].kind == SONDE_PROFILE_STREAM, points,
		       count);
	free(points);
	return 0;
}

static bool is_there(const char *folder, const char *name)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

static int read_traces(struct reader *reader, const char *folder)
{
	if (!is_there(folder, "trace.db"))
		return 0;
	int code = load(reader, &reader->trace, folder, "trace.db", "trce", "trace.db");
	if (code != 0)
		return code;
	struct sn_cursor cursor = section_at(&reader->trace, 0);
	struct list lines;
	if (!list_at(&reader->trace, &cursor, 4, 24, &lines))
		return damaged(reader, &reader->trace, "damaged list of traces");
	for (uint64_t i = 0; i < lines.count && code == 0; i++)
		code = read_line(reader, lines.at + i * lines.size);
	return code;
}

static void release(struct reader *reader)
{
	free(reader->id_names);
	free(reader->properties);
	free(reader->nodes);
	free(reader->waiting);
	sn_table_release(&reader->ids);
	free((void *)reader->meta.contents.data);
	free((void *)reader->values.contents.data);
	free((void *)reader->trace.contents.data);
	free(reader->profiles);
	sn_hpct_tree_release(&reader->tree);
}

/* cct.db has the values of profile.db in another order. It may be missing, but must not differ. */
static int check_contexts(struct reader *reader, const char *folder)
{
	struct file contexts = {0};
	if (!is_there(folder, "cct.db"))
		return 0;
	int code = load(reader, &contexts, folder, "cct.db", "ctxt", "__ctx.db");
	if (code == 0)
		code = sn_hpct_transpose_check(reader->values.contents, contexts.contents,
					       contexts.path, reader->error);
	free((void *)contexts.contents.data);
	return code;
}

int sn_hpct_database_read(const struct sn_import_request *request, const char *folder, uint32_t run,
			  struct sn_db_builder *builder, struct sn_error *error)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return sn_fail_memory(error);
	reader->builder = reader->tree.builder = builder;
	reader->error = error;
	reader->events = request->events;
	reader->run = run;
	int code = load(reader, &reader->meta, folder, "meta.db", "meta", "_meta.db");
	if (code == 0)
		code = load(reader, &reader->values, folder, "profile.db", "prof", "_prof.db");
	int (*const steps[])(struct reader *) = {read_general, read_id_names, read_metrics,
						 read_tree, read_profiles};
	for (size_t i = 0; code == 0 && i < sizeof(steps) / sizeof(*steps); i++)
		code = steps[i](reader);
	if (code == 0)
		code = check_contexts(reader, folder);
	if (code == 0)
		code = read_traces(reader, folder);
	release(reader);
	free(reader);
	return code;
}
