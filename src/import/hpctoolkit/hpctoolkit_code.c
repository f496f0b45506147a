/* SPDX-License-Identifier: Apache-2.0 */
/* Load modules with their structure and symbols, and the contexts of their addresses. */
#include "hpctoolkit_code.h"

#include "hpctoolkit_names.h"
#include "hpctoolkit_symbols.h"

#include "base/text.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void sn_hpct_code_release(struct sn_hpct_code *code)
{
	for (size_t i = 0; i < code->module_count; i++) {
		sn_hpcstruct_release(&code->modules[i].structure);
		free(code->modules[i].symbols);
		free(code->modules[i].logicals);
	}
	free(code->modules);
	free(code->structures);
	sn_intern_release(&code->paths);
	sn_buffer_release(&code->scratch);
	sn_arena_release(&code->arena);
}

/* Prepends the base to a relative path, if there is a base. NULL without memory. */
static char *absolute(struct sn_hpct_code *code, const char *base, const char *path)
{
	return path[0] == '/' || !base ? sn_arena_text(&code->arena, path)
				       : sn_arena_print(&code->arena, "%s/%s", base, path);
}

struct listing {
	struct sn_hpct_code *code;
	const char *path, *base;
};

static int add_structure(void *context, const char *name, uint32_t index)
{
	struct listing *listing = context;
	struct sn_hpct_code *code = listing->code;
	struct sn_hpct_structure_file file = {sn_arena_text(&code->arena, listing->path),
					      absolute(code, listing->base, name), index};
	return !file.path || !file.module ||
		       sn_vec_push(&code->structures, &code->structure_capacity,
				   &code->structure_count, file) < 0
		   ? SN_ERR_MEMORY
		   : 0;
}

static int add_structures(struct sn_hpct_code *code, const char *path, const char *base,
			  struct sn_error *error)
{
	struct listing listing = {code, path, base};
	return sn_fail_code(error, sn_hpcstruct_list(path, add_structure, &listing, error));
}

static int is_structure(const struct dirent *entry)
{
	return sn_text_ends(entry->d_name, ".hpcstruct") ||
	       sn_text_ends(entry->d_name, ".hpcstruct.gz");
}

int sn_hpct_code_structures(struct sn_hpct_code *code, const char *path, const char *base,
			    struct sn_error *error)
{
	struct stat status;
	struct dirent **entries;
	if (stat(path, &status) < 0)
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
	if (!S_ISDIR(status.st_mode))
		return add_structures(code, path, base, error);
	int count = scandir(path, &entries, is_structure, alphasort), failed = 0;
	if (count < 0)
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
	for (int i = 0; i < count; i++) {
		char *file = absolute(code, path, entries[i]->d_name);
		if (failed == 0)
			failed =
			    file ? add_structures(code, file, base, error) : sn_fail_memory(error);
		free(entries[i]);
	}
	free(entries);
	/* a measurement's own folder may be empty, but not one that the user named */
	return count == 0 && !base ? sn_fail(error, SN_ERR_FORMAT,
					     "cannot read '%s': no structure files (.hpcstruct, "
					     ".hpcstruct.gz) in it",
					     path)
				   : failed;
}

/* The file in the measurement that has a module's symbols. Earlier versions called the kernel
 * "<vmlinux.HOST>", and the vdso by the measurement's path at that time. NULL without memory. */
static char *symbols_file(struct sn_hpct_code *code, const char *base, const char *path, char *full)
{
	const char *name = sn_text_base_name(path);
	size_t length = strlen(name);
	if (base && path[0] == '<' && name == path && length > 2 && name[length - 1] == '>')
		return sn_arena_print(&code->arena, "%s/kernel_symbols/%.*s", base, (int)length - 2,
				      name + 1);
	if (base && path[0] == '/' && strstr(path, "/vdso/"))
		return sn_arena_print(&code->arena, "%s/vdso/%s", base, name);
	return full;
}

int sn_hpct_code_module(struct sn_hpct_code *code, const char *base, const char *path,
			uint32_t *module, struct sn_error *error)
{
	struct sn_db_builder *builder = code->tree->builder;
	sn_buffer_cut(&code->scratch, 0);
	if (path[0] != '/' && base)
		sn_buffer_print(&code->scratch, "%s/", base);
	sn_buffer_text(&code->scratch, path);
	*module = sn_intern_add(&code->paths, code->scratch.bytes, code->scratch.count);
	if (code->scratch.failed || *module == SN_INTERN_NONE)
		return sn_fail_memory(error);
	if (*module < code->module_count)
		return 0;
	char *full = absolute(code, base, path);
	struct sonde_db_module record = {.path = sn_db_builder_string(builder, path),
					 .build_id = SONDE_NONE};
	struct sn_hpct_module added = {.path = full,
				       .file = symbols_file(code, base, path, full),
				       .module = sn_db_builder_module(builder, &record),
				       .is_gpu = sn_hpct_is_gpu_module(path)};
	return !full || !added.file ||
		       sn_vec_push(&code->modules, &code->module_capacity, &code->module_count,
				   added) < 0
		   ? sn_fail_memory(error)
		   : 0;
}

/* Whether a structure that names its module `name` is the structure of the module at
 * `path`. A relative name, in a structure from outside the measurement, matches every path
 * that ends in it. */
static bool is_module(const char *name, const char *path)
{
	while (sn_text_begins(name, "./"))
		name += 2;
	size_t length = strlen(name), path_length = strlen(path);
	if (name[0] == '/' || length >= path_length)
		return strcmp(name, path) == 0;
	return length > 0 && sn_text_ends(path, name) && path[path_length - length - 1] == '/';
}

int sn_hpct_code_load(struct sn_hpct_code *code, uint32_t number, struct sn_error *error)
{
	struct sn_hpct_module *module = code->modules + number;
	if (module->is_read)
		return 0;
	module->is_read = true;
	int failed = sn_hpct_symbols_load(code->tree->builder, module, error);
	for (size_t i = 0; failed == 0 && i < code->structure_count; i++) {
		const struct sn_hpct_structure_file *file = code->structures + i;
		module->is_symbols_only = code->no_structure;
		if (!is_module(file->module, module->path) ||
		    (code->no_structure && !strstr(module->path, "/vdso/")))
			continue;
		return sn_hpcstruct_read(&module->structure, file->path, file->index, error);
	}
	return failed;
}

static uint32_t structure_string(const struct sn_hpct_code *code,
				 const struct sn_hpct_module *module, uint32_t string)
{
	size_t length;
	if (string == SN_HPCSTRUCT_NONE)
		return SONDE_NONE;
	const char *text = sn_intern_at(&module->structure.strings, string, &length);
	return sn_db_builder_string_n(code->tree->builder, text, length);
}

uint32_t sn_hpct_code_function(struct sn_hpct_code *code, uint32_t parent,
			       enum sn_hpct_relation relation, uint32_t number, uint32_t function)
{
	const struct sn_hpct_module *module = code->modules + number;
	const struct sn_hpcstruct_function *found = module->structure.functions + function;
	struct sn_hpct_function frame = {
	    .name = structure_string(code, module, found->name),
	    .module = module->module,
	    .is_gpu = module->is_gpu,
	    .offset = found->entry,
	    .file = structure_string(code, module, found->file),
	    .line = found->line,
	};
	return sn_hpct_tree_function(code->tree, parent, relation, &frame);
}

/* Only the innermost line gets the instruction's offset; lines around it are only source places. */
static uint32_t add_node(struct sn_hpct_code *code, uint32_t parent, enum sn_hpct_relation relation,
			 uint32_t number, const struct sn_hpcstruct_node *node,
			 const uint64_t *offset)
{
	const struct sn_hpct_module *module = code->modules + number;
	if (node->kind == SN_HPCSTRUCT_FUNCTION)
		return sn_hpct_code_function(code, parent, relation, number, node->function);
	struct sn_hpct_place place = {
	    .module = SONDE_NONE,
	    .is_gpu = module->is_gpu,
	    .file = structure_string(code, module, node->file),
	    .line = node->line,
	};
	if (node->kind == SN_HPCSTRUCT_LOOP) {
		place.module = module->module;
		place.offset = node->address;
		return sn_hpct_tree_loop(code->tree, parent, relation, &place);
	}
	if (offset) {
		place.module = module->module;
		place.offset = *offset;
	}
	return sn_hpct_tree_line(code->tree, parent, relation, &place);
}

/* Adds the nodes from the function inwards. A function inside a line was inlined there. */
static struct sn_hpct_place_found place_by_structure(struct sn_hpct_code *code, uint32_t parent,
						     uint32_t number, uint64_t offset,
						     const struct sn_hpcstruct_leaf *leaf)
{
	const struct sn_hpcstruct *structure = &code->modules[number].structure;
	struct sn_hpct_place_found found = {SONDE_NONE, SONDE_NONE};
	uint32_t small[64], *path = small, depth = 0;
	for (uint32_t at = leaf->node; at != SN_HPCSTRUCT_NONE; at = structure->nodes[at].parent)
		depth++;
	if (depth > sizeof(small) / sizeof(*small))
		path = malloc(depth * sizeof(*path));
	if (!path)
		return found;
	uint32_t level = depth;
	for (uint32_t at = leaf->node; at != SN_HPCSTRUCT_NONE; at = structure->nodes[at].parent)
		path[--level] = at;
	uint32_t context = parent;
	for (level = 0; level < depth; level++) {
		const struct sn_hpcstruct_node *node = structure->nodes + path[level];
		enum sn_hpct_relation relation = level == 0 ? SN_HPCT_CALLED
						 : node->kind == SN_HPCSTRUCT_FUNCTION
						     ? SN_HPCT_INLINED
						     : SN_HPCT_NESTED;
		context = add_node(code, context, relation, number, node,
				   level + 1 == depth ? &offset : NULL);
		if (level == 0)
			found.called = context;
	}
	found.full = context;
	if (path != small)
		free(path);
	return found;
}

/* With a symbol alone there is no line: the instruction goes directly below the function. */
static struct sn_hpct_place_found place_by_symbol(struct sn_hpct_code *code, uint32_t parent,
						  const struct sn_hpct_module *module,
						  uint64_t offset,
						  const struct sn_hpct_symbol *symbol)
{
	struct sn_hpct_function function = {.name = symbol->name,
					    .module = module->module,
					    .offset = symbol->address,
					    .file = SONDE_NONE};
	struct sn_hpct_place place = {
	    .module = module->module, .offset = offset, .file = SONDE_NONE};
	uint32_t called = sn_hpct_tree_function(code->tree, parent, SN_HPCT_CALLED, &function);
	return (struct sn_hpct_place_found){
	    sn_hpct_tree_line(code->tree, called, SN_HPCT_NESTED, &place), called};
}

/* The symbol of a function in the structure; false if the structure found its code
 * without a name. */
static bool structure_symbol(struct sn_hpct_code *code, const struct sn_hpct_module *module,
			     const struct sn_hpcstruct_leaf *leaf, struct sn_hpct_symbol *symbol)
{
	static const char nameless[] = "<unknown procedure>";
	const struct sn_hpcstruct_function *function = module->structure.functions + leaf->function;
	size_t length;
	const char *name = sn_intern_at(&module->structure.strings, function->name, &length);
	if (length >= sizeof(nameless) - 1 && memcmp(name, nameless, sizeof(nameless) - 1) == 0)
		return false;
	uint32_t string =
	    function->link_name == SN_HPCSTRUCT_NONE ? function->name : function->link_name;
	*symbol = (struct sn_hpct_symbol){function->entry, UINT64_MAX,
					  structure_string(code, module, string)};
	return true;
}

/* An "address" of logical code is an entry of the module's table and a line number. */
static struct sn_hpct_place_found place_logical(struct sn_hpct_code *code, uint32_t parent,
						const struct sn_hpct_module *module,
						uint64_t offset)
{
	const struct sn_hpct_logical *entry =
	    sn_hpct_symbols_logical(module, (uint32_t)(offset >> 32));
	uint32_t line = (uint32_t)offset, context;
	if (!entry) {
		context = sn_hpct_tree_unknown(code->tree, parent);
		return (struct sn_hpct_place_found){context, context};
	}
	struct sn_hpct_place place = {.module = SONDE_NONE, .file = entry->file, .line = line};
	if (entry->name == SONDE_NONE) {
		context = sn_hpct_tree_line(code->tree, parent, SN_HPCT_CALLED, &place);
		return (struct sn_hpct_place_found){context, context};
	}
	struct sn_hpct_function function = {.name = entry->name,
					    .module = module->logical_module,
					    .file = entry->file,
					    .line = entry->file == SONDE_NONE ? 0 : entry->line};
	context = sn_hpct_tree_function(code->tree, parent, SN_HPCT_CALLED, &function);
	if (line == 0 || entry->file == SONDE_NONE)
		return (struct sn_hpct_place_found){context, context};
	return (struct sn_hpct_place_found){
	    sn_hpct_tree_line(code->tree, context, SN_HPCT_NESTED, &place), context};
}

struct sn_hpct_place_found sn_hpct_code_place(struct sn_hpct_code *code, uint32_t parent,
					      uint32_t number, uint64_t offset)
{
	const struct sn_hpct_module *module = code->modules + number;
	if (module->is_logical)
		return place_logical(code, parent, module, offset);
	const struct sn_hpcstruct_leaf *leaf = sn_hpcstruct_find(&module->structure, offset);
	if (leaf && !module->is_symbols_only)
		return place_by_structure(code, parent, number, offset, leaf);
	const struct sn_hpct_symbol *symbol = sn_hpct_symbols_find(module, offset);
	if (symbol)
		return place_by_symbol(code, parent, module, offset, symbol);
	struct sn_hpct_symbol named;
	if (leaf && !module->symbol_count && structure_symbol(code, module, leaf, &named))
		return place_by_symbol(code, parent, module, offset, &named);
	struct sn_hpct_place place = {.module = module->module,
				      .is_gpu = module->is_gpu,
				      .offset = offset,
				      .file = SONDE_NONE};
	uint32_t context = sn_hpct_tree_instruction(code->tree, parent, &place);
	return (struct sn_hpct_place_found){context, context};
}
