/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads program structure in one pass with expat; a stack holds the open elements. While reading,
 * the address ranges of lines go into a search tree, because the first of two overlapping ranges
 * wins; afterwards into a sorted array.
 */
#include "hpcstruct.h"

#include "base/arena.h"
#include "base/search.h"
#include "base/table.h"
#include "base/vec.h"
#include "import/core/packed_file.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#ifdef SN_HAVE_EXPAT
#include <expat.h>
#endif

void sn_hpcstruct_release(struct sn_hpcstruct *structure)
{
	sn_intern_release(&structure->strings);
	free(structure->functions);
	free(structure->nodes);
	free(structure->leaves);
	free(structure->calls);
	*structure = (struct sn_hpcstruct){0};
}

const struct sn_hpcstruct_leaf *sn_hpcstruct_find(const struct sn_hpcstruct *structure,
						  uint64_t address)
{
	const struct sn_hpcstruct_leaf *leaves = structure->leaves;
	size_t at = sn_search(i, structure->leaf_count, leaves[i].end <= address);
	return at < structure->leaf_count && leaves[at].begin <= address ? leaves + at : NULL;
}

#ifndef SN_HAVE_EXPAT

static int unsupported(const char *path, struct sn_error *error)
{
	return sn_fail(error, SN_ERR_UNSUPPORTED,
		       "cannot read '%s': this build has no expat, which program structure needs",
		       path);
}

int sn_hpcstruct_list(const char *path, sn_hpcstruct_found *found, void *context,
		      struct sn_error *error)
{
	return unsupported(path, error);
}

int sn_hpcstruct_read(struct sn_hpcstruct *structure, const char *path, uint32_t index,
		      struct sn_error *error)
{
	*structure = (struct sn_hpcstruct){0};
	return unsupported(path, error);
}

#else

/* An open element. */
struct level {
	char tag;	   /* one of LM F P L A; B is the inner of two nested A; X is unknown */
	uint32_t file;	   /* string */
	uint32_t function; /* P: the function whose code this is */
	uint32_t node;
	uint32_t call_line; /* A: where the inlined function was called */
};

struct parser {
	struct sn_hpcstruct *structure; /* NULL: only the names of load modules are wanted */
	const char *path;
	struct sn_error *error;
	int code; /* the first failure, or the result of `found` */
	XML_Parser xml;

	sn_hpcstruct_found *found;
	void *context;
	uint32_t wanted, module_count;

	struct level *levels;
	size_t level_count, level_capacity;
	size_t skipped; /* the depth inside an unknown element, which counts as well */
	bool is_wanted; /* inside the load module that is being read */

	struct sn_arena arena; /* holds the leaves */
	void *tree;	       /* the leaves, by tsearch */
	struct sn_hpcstruct_leaf **leaves;
	uint64_t *targets; /* the address each call leads to, until all functions are known */
	size_t function_capacity, node_capacity, leaf_count, leaf_capacity, call_capacity,
	    target_capacity;
};

/* Stops parsing. Only the first failure is kept. */
static void stop(struct parser *parser, int code)
{
	if (parser->code == 0)
		parser->code = code;
	XML_StopParser(parser->xml, XML_FALSE);
}

static void fail(struct parser *parser, const char *what)
{
	if (parser->code == 0)
		sn_fail(parser->error, SN_ERR_FORMAT, "cannot read '%s', line %lu: %s",
			parser->path, (unsigned long)XML_GetCurrentLineNumber(parser->xml), what);
	stop(parser, SN_ERR_FORMAT);
}

static void fail_memory(struct parser *parser)
{
	if (parser->code == 0)
		sn_fail_memory(parser->error);
	stop(parser, SN_ERR_MEMORY);
}

static const char *attribute(const XML_Char **attributes, const char *name)
{
	for (size_t i = 0; attributes[i]; i += 2)
		if (strcmp(attributes[i], name) == 0)
			return attributes[i + 1];
	return "";
}

static uint32_t intern(struct parser *parser, const char *text)
{
	uint32_t number = sn_intern_add(&parser->structure->strings, text, strlen(text));
	if (number == SN_INTERN_NONE)
		fail_memory(parser);
	return number;
}

static uint32_t line_number(struct parser *parser, const XML_Char **attributes)
{
	const char *text = attribute(attributes, "l");
	char *end;
	errno = 0;
	unsigned long long line = strtoull(text, &end, 10);
	if (end == text || line > UINT32_MAX || errno)
		fail(parser, "a line that is not a number");
	return (uint32_t)line;
}

/* The next interval of "{[0x10-0x20) [0x30-0x40)}": 1, 0 at the end, -1 if damaged. */
static int next_interval(const char **text, uint64_t *begin, uint64_t *end)
{
	const char *at = *text;
	char *after;
	at += strspn(at, " \t\r\n,");
	if (*at == '}')
		return 0;
	if (*at++ != '[')
		return -1;
	*begin = strtoull(at, &after, 16);
	if (after == at || *after != '-')
		return -1;
	at = after + 1;
	*end = strtoull(at, &after, 16);
	if (after == at || *after != ')')
		return -1;
	*text = after + 1;
	return 1;
}

/* The first address of an element, which must have one. */
static uint64_t first_address(struct parser *parser, const XML_Char **attributes)
{
	const char *text = attribute(attributes, "v");
	uint64_t begin = 0, end = 0;
	if (*text == '{')
		text++;
	if (next_interval(&text, &begin, &end) != 1)
		fail(parser, "no address");
	return begin;
}

static struct level *push(struct parser *parser, char tag)
{
	struct level level = {0, SN_HPCSTRUCT_NONE, SN_HPCSTRUCT_NONE, SN_HPCSTRUCT_NONE, 0};
	if (parser->level_count)
		level = parser->levels[parser->level_count - 1];
	level.tag = tag;
	if (sn_vec_push(&parser->levels, &parser->level_capacity, &parser->level_count, level)) {
		fail_memory(parser);
		return NULL;
	}
	return parser->levels + parser->level_count - 1;
}

static uint32_t add_node(struct parser *parser, struct sn_hpcstruct_node node)
{
	struct sn_hpcstruct *structure = parser->structure;
	if (sn_vec_push(&structure->nodes, &parser->node_capacity, &structure->node_count, node))
		fail_memory(parser);
	return (uint32_t)structure->node_count - 1;
}

static uint32_t add_function(struct parser *parser, struct sn_hpcstruct_function function)
{
	struct sn_hpcstruct *structure = parser->structure;
	if (sn_vec_push(&structure->functions, &parser->function_capacity,
			&structure->function_count, function) < 0)
		fail_memory(parser);
	return (uint32_t)structure->function_count - 1;
}

/* Checks that the element is inside a function and has a known file; else fails. */
static bool is_inside(struct parser *parser, const struct level *level, const char *failure)
{
	if (level->function != SN_HPCSTRUCT_NONE && level->file != SN_HPCSTRUCT_NONE)
		return true;
	fail(parser, failure);
	return false;
}

static uint32_t file_or(struct parser *parser, const XML_Char **attributes, uint32_t otherwise)
{
	const char *file = attribute(attributes, "f");
	return *file ? intern(parser, file) : otherwise;
}

static void begin_function(struct parser *parser, const XML_Char **attributes)
{
	struct level *level = push(parser, 'P');
	if (!level)
		return;
	if (level->function != SN_HPCSTRUCT_NONE) {
		fail(parser, "a function inside a function");
		return;
	}
	const char *link_name = attribute(attributes, "ln");
	struct sn_hpcstruct_function function = {
	    .name = intern(parser, attribute(attributes, "n")),
	    .link_name = *link_name ? intern(parser, link_name) : SN_HPCSTRUCT_NONE,
	    .file = level->file,
	    .line = level->file != SN_HPCSTRUCT_NONE ? line_number(parser, attributes) : 0,
	    .entry = first_address(parser, attributes),
	};
	level->function = add_function(parser, function);
	level->node = add_node(parser, (struct sn_hpcstruct_node){.parent = SN_HPCSTRUCT_NONE,
								  .kind = SN_HPCSTRUCT_FUNCTION,
								  .function = level->function});
}

static void begin_loop(struct parser *parser, const XML_Char **attributes)
{
	struct level *level = push(parser, 'L');
	if (!level)
		return;
	level->file = file_or(parser, attributes, level->file);
	if (!is_inside(parser, level, "a loop outside a function"))
		return;
	level->node = add_node(
	    parser, (struct sn_hpcstruct_node){.parent = level->node,
					       .kind = SN_HPCSTRUCT_LOOP,
					       .file = level->file,
					       .line = line_number(parser, attributes),
					       .address = first_address(parser, attributes)});
}

/* Inlined code is two nested A: the outer has the place of the call, the inner the function. */
static void begin_alien(struct parser *parser, const XML_Char **attributes)
{
	bool is_second = parser->level_count && parser->levels[parser->level_count - 1].tag == 'A';
	struct level *level = push(parser, is_second ? 'B' : 'A');
	if (!level)
		return;
	uint32_t call_file = level->file;
	level->file = file_or(parser, attributes, level->file);
	if (!is_inside(parser, level, "inlined code outside a function"))
		return;
	uint32_t line = line_number(parser, attributes);
	if (!is_second) {
		level->call_line = line;
		return;
	}
	uint32_t called = add_function(
	    parser,
	    (struct sn_hpcstruct_function){.name = intern(parser, attribute(attributes, "n")),
					   .file = level->file,
					   .line = line,
					   .is_inlined = true});
	uint32_t call = add_node(parser, (struct sn_hpcstruct_node){.parent = level->node,
								    .kind = SN_HPCSTRUCT_LINE,
								    .file = call_file,
								    .line = level->call_line});
	level->node = add_node(parser, (struct sn_hpcstruct_node){.parent = call,
								  .kind = SN_HPCSTRUCT_FUNCTION,
								  .function = called});
}

/* Overlapping ranges compare as equal, so that the search tree keeps the first one. */
static int compare_leaves(const void *left, const void *right)
{
	const struct sn_hpcstruct_leaf *a = left, *b = right;
	return a->end <= b->begin ? -1 : b->end <= a->begin;
}

static void add_leaf(struct parser *parser, const struct sn_hpcstruct_leaf *leaf)
{
	struct sn_hpcstruct_leaf *copy =
	    sn_arena_array(&parser->arena, struct sn_hpcstruct_leaf, 1);
	if (copy)
		*copy = *leaf;
	struct sn_hpcstruct_leaf **kept =
	    copy ? tsearch(copy, &parser->tree, compare_leaves) : NULL;
	if (!kept || (*kept == copy && sn_vec_push(&parser->leaves, &parser->leaf_capacity,
						   &parser->leaf_count, copy) < 0))
		fail_memory(parser);
}

/* Adds a line with all its addresses; returns the first of these. */
static uint64_t begin_line_at(struct parser *parser, const XML_Char **attributes)
{
	struct level *level = push(parser, 'S');
	uint64_t first = 0;
	if (!level || !is_inside(parser, level, "a line outside a function"))
		return 0;
	const char *text = attribute(attributes, "v");
	uint32_t node =
	    add_node(parser, (struct sn_hpcstruct_node){.parent = level->node,
							.kind = SN_HPCSTRUCT_LINE,
							.file = level->file,
							.line = line_number(parser, attributes)});
	struct sn_hpcstruct_leaf leaf = {0, 0, node, level->function};
	int more = *text++ == '{' ? 1 : -1;
	for (int count = 0; more > 0 && parser->code == 0; count++) {
		more = next_interval(&text, &leaf.begin, &leaf.end);
		if (more > 0 && leaf.begin < leaf.end)
			add_leaf(parser, &leaf);
		if (more > 0 && count == 0)
			first = leaf.begin;
	}
	if (more < 0)
		fail(parser, "a damaged list of addresses");
	return first;
}

static void begin_line(struct parser *parser, const XML_Char **attributes)
{
	begin_line_at(parser, attributes);
}

static void begin_call(struct parser *parser, const XML_Char **attributes)
{
	struct sn_hpcstruct *structure = parser->structure;
	uint64_t address = begin_line_at(parser, attributes);
	const char *target = attribute(attributes, "t");
	size_t count = structure->call_count;
	if (parser->code != 0 || !*target)
		return; /* the call's target is unknown */
	uint32_t caller = parser->levels[parser->level_count - 1].function;
	if (sn_vec_push(&parser->targets, &parser->target_capacity, &count,
			strtoull(target, NULL, 16)) < 0 ||
	    sn_vec_push(&structure->calls, &parser->call_capacity, &structure->call_count,
			(struct sn_hpcstruct_call){address, caller, SN_HPCSTRUCT_NONE}) < 0)
		fail_memory(parser);
}

static void begin_module(struct parser *parser, const XML_Char **attributes)
{
	uint32_t index = parser->module_count++;
	if (parser->found) {
		int code = parser->found(parser->context, attribute(attributes, "n"), index);
		if (code != 0)
			stop(parser, code);
		return;
	}
	parser->is_wanted = index == parser->wanted;
	if (parser->is_wanted)
		parser->structure->has_calls = strcmp(attribute(attributes, "has-calls"), "1") == 0;
}

static void begin_file(struct parser *parser, const XML_Char **attributes)
{
	struct level *level = push(parser, 'F');
	const char *name = attribute(attributes, "n");
	if (!*name)
		fail(parser, "a file without a name");
	else if (level)
		level->file = intern(parser, name);
}

static const struct {
	char tag;
	void (*begin)(struct parser *parser, const XML_Char **attributes);
} elements[] = {{'F', begin_file},  {'P', begin_function}, {'L', begin_loop},
		{'A', begin_alien}, {'S', begin_line},	   {'C', begin_call}};

static void XMLCALL begin(void *context, const XML_Char *name, const XML_Char **attributes)
{
	struct parser *parser = context;
	if (parser->code != 0 || strcmp(name, "HPCToolkitStructure") == 0)
		return;
	if (strcmp(name, "LM") == 0) {
		begin_module(parser, attributes);
		return;
	}
	if (!parser->is_wanted)
		return;
	bool is_known = false;
	for (size_t i = 0; i < sizeof(elements) / sizeof(*elements); i++) {
		if (parser->skipped || name[0] != elements[i].tag || name[1])
			continue;
		elements[i].begin(parser, attributes);
		is_known = true;
	}
	parser->skipped += !is_known;
}

static void XMLCALL end(void *context, const XML_Char *name)
{
	struct parser *parser = context;
	if (parser->code != 0 || strcmp(name, "HPCToolkitStructure") == 0)
		return;
	if (strcmp(name, "LM") == 0)
		parser->is_wanted = false;
	else if (!parser->is_wanted)
		return;
	else if (parser->skipped)
		parser->skipped--;
	else if (parser->level_count)
		parser->level_count--;
}

static void feed(struct parser *parser, void *file)
{
	enum { CHUNK = 65536 };
	bool is_last = false;
	while (!is_last && parser->code == 0) {
		void *buffer = XML_GetBuffer(parser->xml, CHUNK);
		if (!buffer) {
			fail_memory(parser);
			return;
		}
		const char *why;
		int got = (int)sn_packed_file_read(file, buffer, CHUNK, &why);
		is_last = got == 0;
		if (got < 0) {
			parser->code =
			    sn_fail(parser->error, SN_ERR_FORMAT,
				    "cannot read '%s': damaged compression", parser->path);
		} else if (XML_ParseBuffer(parser->xml, got, is_last) == XML_STATUS_ERROR &&
			   parser->code == 0) {
			sn_fail(parser->error, SN_ERR_FORMAT, "cannot read '%s', line %lu: %s",
				parser->path, (unsigned long)XML_GetCurrentLineNumber(parser->xml),
				XML_ErrorString(XML_GetErrorCode(parser->xml)));
			parser->code = SN_ERR_FORMAT;
		}
	}
}

static int run(struct parser *parser)
{
	void *file = sn_packed_file_open(parser->path);
	if (!file)
		return sn_fail(parser->error, SN_ERR_IO, "cannot open '%s': %s", parser->path,
			       strerror(errno));
	parser->xml = XML_ParserCreate(NULL);
	if (!parser->xml) {
		sn_packed_file_close(file);
		return sn_fail_memory(parser->error);
	}
	XML_SetUserData(parser->xml, parser);
	XML_SetElementHandler(parser->xml, begin, end);
	feed(parser, file);
	XML_ParserFree(parser->xml);
	sn_packed_file_close(file);
	free(parser->levels);
	return parser->code;
}

int sn_hpcstruct_list(const char *path, sn_hpcstruct_found *found, void *context,
		      struct sn_error *error)
{
	struct parser parser = {.path = path, .error = error, .found = found, .context = context};
	return run(&parser);
}

static void keep_leaf(void *leaf)
{
	(void)leaf; /* the array still refers to it */
}

static int sort_leaves(struct parser *parser)
{
	struct sn_hpcstruct *structure = parser->structure;
	tdestroy(parser->tree, keep_leaf);
	structure->leaves = malloc((parser->leaf_count + 1) * sizeof(*structure->leaves));
	if (!structure->leaves)
		return sn_fail_memory(parser->error);
	structure->leaf_count = parser->leaf_count;
	for (size_t i = 0; i < parser->leaf_count; i++)
		structure->leaves[i] = *parser->leaves[i];
	if (parser->leaf_count)
		qsort(structure->leaves, parser->leaf_count, sizeof(*structure->leaves),
		      compare_leaves);
	return 0;
}

/* Finds the callee of each call by its address. */
static int join_calls(struct parser *parser)
{
	struct sn_hpcstruct *structure = parser->structure;
	struct sn_table entries = {0};
	int code = 0;
	for (size_t i = 0; i < structure->function_count && code == 0; i++)
		if (!structure->functions[i].is_inlined)
			code = sn_table_put(&entries, structure->functions[i].entry, (uint32_t)i);
	for (size_t i = 0; i < structure->call_count && code == 0; i++) {
		uint32_t function = sn_table_find(&entries, parser->targets[i]);
		structure->calls_damaged |= function == SN_TABLE_NONE;
		structure->calls[i].callee = function;
	}
	sn_table_release(&entries);
	return code == 0 ? 0 : sn_fail_memory(parser->error);
}

int sn_hpcstruct_read(struct sn_hpcstruct *structure, const char *path, uint32_t index,
		      struct sn_error *error)
{
	struct parser parser = {
	    .structure = structure, .path = path, .error = error, .wanted = index};
	*structure = (struct sn_hpcstruct){0};
	int code = run(&parser);
	int sorted = sort_leaves(&parser);
	if (code == 0)
		code = sorted;
	if (code == 0)
		code = join_calls(&parser);
	free(parser.targets);
	free(parser.leaves);
	sn_arena_release(&parser.arena);
	return code;
}

#endif
