/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See hpcstruct.h. One pass with expat; a stack says what is open. The addresses of lines are put
 * into a search tree while reading, because which of two claims to an address came first matters,
 * and into a sorted array at the end.
 */
#include "hpcstruct.h"

#include "base/vec.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SN_HAVE_EXPAT
#include <expat.h>
#endif
#ifdef SN_HAVE_ZLIB
#include <zlib.h>
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
	size_t low = 0, high = structure->leaf_count;
	if (high == 0)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (structure->leaves[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const struct sn_hpcstruct_leaf *leaf = structure->leaves + low;
	return low < structure->leaf_count && leaf->begin <= address ? leaf : NULL;
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
	(void)found, (void)context;
	return unsupported(path, error);
}

int sn_hpcstruct_read(struct sn_hpcstruct *structure, const char *path, uint32_t index,
		      struct sn_error *error)
{
	(void)index;
	*structure = (struct sn_hpcstruct){0};
	return unsupported(path, error);
}

#else

/* An open element. */
struct level {
	char tag;	   /* of LM F P L A; B is the second of two nested A; X is unknown */
	uint32_t file;	   /* string */
	uint32_t function; /* whose code this is: of P */
	uint32_t node;
	uint32_t call_line; /* A: where the inlined function was called */
};

struct parser {
	struct sn_hpcstruct *structure; /* NULL: only names are wanted */
	const char *path;
	struct sn_error *error;
	int code; /* of the first failure, or what `found` returned */
	XML_Parser xml;

	sn_hpcstruct_found *found;
	void *context;
	uint32_t wanted, module_count;

	struct level *levels;
	size_t level_count, level_capacity;
	size_t skipped; /* elements open inside one that is not known, with it */
	bool is_wanted; /* inside the load module that is being read */

	void *tree; /* of leaves, by tsearch */
	struct sn_hpcstruct_leaf **leaves;
	uint64_t *targets; /* of each call, until functions are all known */
	size_t function_capacity, node_capacity, leaf_count, leaf_capacity, call_capacity,
	    target_capacity;
};

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

static void no_memory(struct parser *parser)
{
	if (parser->code == 0)
		sn_fail(parser->error, SN_ERR_MEMORY, "out of memory");
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
		no_memory(parser);
	return number;
}

static uint32_t line_number(struct parser *parser, const XML_Char **attributes)
{
	const char *text = attribute(attributes, "l");
	char *end;
	errno = 0;
	unsigned long long line = strtoull(text, &end, 10);
	if (end == text || line > UINT32_MAX || errno)
		fail(parser, "a line that is no number");
	return (uint32_t)line;
}

/* One interval of "{[0x10-0x20) [0x30-0x40)}": 1, 0 at the end, -1 where it is none. */
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

/* The first address of an element that has to have one. */
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
	if (sn_vec_reserve(&parser->levels, &parser->level_capacity, parser->level_count + 1) < 0) {
		no_memory(parser);
		return NULL;
	}
	struct level *level = parser->levels + parser->level_count;
	if (parser->level_count)
		*level = level[-1];
	else
		*level =
		    (struct level){0, SN_HPCSTRUCT_NONE, SN_HPCSTRUCT_NONE, SN_HPCSTRUCT_NONE, 0};
	level->tag = tag;
	parser->level_count++;
	return level;
}

static uint32_t add_node(struct parser *parser, struct sn_hpcstruct_node node)
{
	struct sn_hpcstruct *structure = parser->structure;
	if (sn_vec_reserve(&structure->nodes, &parser->node_capacity, structure->node_count + 1) <
	    0) {
		no_memory(parser);
		return SN_HPCSTRUCT_NONE;
	}
	structure->nodes[structure->node_count] = node;
	return (uint32_t)structure->node_count++;
}

static uint32_t add_function(struct parser *parser, struct sn_hpcstruct_function function)
{
	struct sn_hpcstruct *structure = parser->structure;
	if (sn_vec_reserve(&structure->functions, &parser->function_capacity,
			   structure->function_count + 1) < 0) {
		no_memory(parser);
		return SN_HPCSTRUCT_NONE;
	}
	structure->functions[structure->function_count] = function;
	return (uint32_t)structure->function_count++;
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
	if (level->function == SN_HPCSTRUCT_NONE || level->file == SN_HPCSTRUCT_NONE) {
		fail(parser, "a loop outside a function");
		return;
	}
	level->node = add_node(
	    parser, (struct sn_hpcstruct_node){.parent = level->node,
					       .kind = SN_HPCSTRUCT_LOOP,
					       .file = level->file,
					       .line = line_number(parser, attributes),
					       .address = first_address(parser, attributes)});
}

/* The first of two nested A says where the call was, the second what was called. */
static void begin_alien(struct parser *parser, const XML_Char **attributes)
{
	bool is_second = parser->level_count && parser->levels[parser->level_count - 1].tag == 'A';
	struct level *level = push(parser, is_second ? 'B' : 'A');
	if (!level)
		return;
	uint32_t call_file = level->file;
	level->file = file_or(parser, attributes, level->file);
	if (level->function == SN_HPCSTRUCT_NONE || level->file == SN_HPCSTRUCT_NONE) {
		fail(parser, "inlined code outside a function");
		return;
	}
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

/* Overlapping intervals are equal to the search tree, which then keeps the one it has. */
static int compare_leaves(const void *left, const void *right)
{
	const struct sn_hpcstruct_leaf *a = left, *b = right;
	return a->end <= b->begin ? -1 : b->end <= a->begin;
}

static void add_leaf(struct parser *parser, const struct sn_hpcstruct_leaf *leaf)
{
	if (sn_vec_reserve(&parser->leaves, &parser->leaf_capacity, parser->leaf_count + 1) < 0) {
		no_memory(parser);
		return;
	}
	struct sn_hpcstruct_leaf *copy = malloc(sizeof(*copy));
	if (!copy) {
		no_memory(parser);
		return;
	}
	*copy = *leaf;
	struct sn_hpcstruct_leaf **kept = tsearch(copy, &parser->tree, compare_leaves);
	if (kept && *kept == copy)
		parser->leaves[parser->leaf_count++] = copy;
	else
		free(copy);
	if (!kept)
		no_memory(parser);
}

static void add_call(struct parser *parser, uint32_t caller, uint64_t address,
		     const XML_Char **attributes)
{
	struct sn_hpcstruct *structure = parser->structure;
	const char *target = attribute(attributes, "t");
	if (!*target)
		return; /* nobody knows whom it calls */
	if (sn_vec_reserve(&structure->calls, &parser->call_capacity, structure->call_count + 1) <
		0 ||
	    sn_vec_reserve(&parser->targets, &parser->target_capacity, structure->call_count + 1) <
		0) {
		no_memory(parser);
		return;
	}
	parser->targets[structure->call_count] = strtoull(target, NULL, 16);
	structure->calls[structure->call_count++] =
	    (struct sn_hpcstruct_call){address, caller, SN_HPCSTRUCT_NONE};
}

static void begin_line(struct parser *parser, const XML_Char **attributes, bool is_call)
{
	struct level *level = push(parser, 'S');
	if (!level)
		return;
	if (level->function == SN_HPCSTRUCT_NONE || level->file == SN_HPCSTRUCT_NONE) {
		fail(parser, "a line outside a function");
		return;
	}
	const char *text = attribute(attributes, "v");
	uint32_t node =
	    add_node(parser, (struct sn_hpcstruct_node){.parent = level->node,
							.kind = SN_HPCSTRUCT_LINE,
							.file = level->file,
							.line = line_number(parser, attributes)});
	struct sn_hpcstruct_leaf leaf = {0, 0, node, level->function};
	uint64_t first = 0;
	int more = *text++ == '{' ? 1 : -1;
	for (int count = 0; more > 0 && parser->code == 0; count++) {
		more = next_interval(&text, &leaf.begin, &leaf.end);
		if (more > 0 && leaf.begin < leaf.end)
			add_leaf(parser, &leaf);
		if (more > 0 && count == 0)
			first = leaf.begin;
	}
	if (more < 0)
		fail(parser, "a bad list of addresses");
	else if (is_call)
		add_call(parser, level->function, first, attributes);
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

static void XMLCALL begin(void *context, const XML_Char *name, const XML_Char **attributes)
{
	struct parser *parser = context;
	if (parser->code != 0)
		return;
	if (strcmp(name, "HPCToolkitStructure") == 0)
		return;
	if (strcmp(name, "LM") == 0) {
		begin_module(parser, attributes);
		return;
	}
	if (!parser->is_wanted)
		return;
	if (parser->skipped || name[1])
		parser->skipped++;
	else if (name[0] == 'F')
		begin_file(parser, attributes);
	else if (name[0] == 'P')
		begin_function(parser, attributes);
	else if (name[0] == 'L')
		begin_loop(parser, attributes);
	else if (name[0] == 'A')
		begin_alien(parser, attributes);
	else if (name[0] == 'S' || name[0] == 'C')
		begin_line(parser, attributes, name[0] == 'C');
	else
		parser->skipped++;
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

/* gzread gives files that are not compressed as they are. */
#ifdef SN_HAVE_ZLIB
typedef gzFile source;
#define OPEN(path)		 gzopen(path, "rb")
#define READ(file, buffer, size) gzread(file, buffer, (unsigned)(size))
#define CLOSE(file)		 gzclose(file)
#else
typedef FILE *source;
#define OPEN(path)		 fopen(path, "rb")
#define READ(file, buffer, size) (int)fread(buffer, 1, size, file)
#define CLOSE(file)		 fclose(file)
#endif

static void feed(struct parser *parser, source file)
{
	enum { CHUNK = 65536 };
	bool is_last = false;
	while (!is_last && parser->code == 0) {
		void *buffer = XML_GetBuffer(parser->xml, CHUNK);
		if (!buffer) {
			no_memory(parser);
			return;
		}
		int got = READ(file, buffer, CHUNK);
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
	source file = OPEN(parser->path);
	if (!file)
		return sn_fail(parser->error, SN_ERR_IO, "cannot open '%s': %s", parser->path,
			       strerror(errno));
	parser->xml = XML_ParserCreate(NULL);
	if (!parser->xml) {
		CLOSE(file);
		return sn_fail(parser->error, SN_ERR_MEMORY, "out of memory");
	}
	XML_SetUserData(parser->xml, parser);
	XML_SetElementHandler(parser->xml, begin, end);
	feed(parser, file);
	XML_ParserFree(parser->xml);
	CLOSE(file);
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
	(void)leaf; /* the array of them has it still */
}

static int compare_sorted(const void *left, const void *right)
{
	return compare_leaves(*(void *const *)left, *(void *const *)right);
}

static int sort_leaves(struct parser *parser)
{
	struct sn_hpcstruct *structure = parser->structure;
	tdestroy(parser->tree, keep_leaf);
	if (parser->leaf_count)
		qsort(parser->leaves, parser->leaf_count, sizeof(*parser->leaves), compare_sorted);
	structure->leaves = malloc((parser->leaf_count + 1) * sizeof(*structure->leaves));
	for (size_t i = 0; i < parser->leaf_count; i++) {
		if (structure->leaves)
			structure->leaves[i] = *parser->leaves[i];
		free(parser->leaves[i]);
	}
	free(parser->leaves);
	if (!structure->leaves)
		return sn_fail(parser->error, SN_ERR_MEMORY, "out of memory");
	structure->leaf_count = parser->leaf_count;
	return 0;
}

/* Names the functions that calls call. */
static int join_calls(struct parser *parser)
{
	struct sn_hpcstruct *structure = parser->structure;
	struct sn_intern entries = {0};
	uint32_t *function_of = malloc((structure->function_count + 1) * sizeof(*function_of));
	int code = 0;
	for (size_t i = 0; function_of && i < structure->function_count && code == 0; i++) {
		const struct sn_hpcstruct_function *function = structure->functions + i;
		if (function->is_inlined)
			continue;
		uint32_t number =
		    sn_intern_add(&entries, &function->entry, sizeof(function->entry));
		if (number == SN_INTERN_NONE)
			code = SN_ERR_MEMORY;
		else
			function_of[number] = (uint32_t)i;
	}
	for (size_t i = 0; function_of && i < structure->call_count && code == 0; i++) {
		uint32_t number =
		    sn_intern_find(&entries, parser->targets + i, sizeof(*parser->targets));
		if (number == SN_INTERN_NONE)
			structure->calls_damaged = true;
		else
			structure->calls[i].callee = function_of[number];
	}
	if (!function_of)
		code = SN_ERR_MEMORY;
	free(function_of);
	sn_intern_release(&entries);
	return code == 0 ? 0 : sn_fail(parser->error, SN_ERR_MEMORY, "out of memory");
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
	return code;
}

#endif
