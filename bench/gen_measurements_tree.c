/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The universe of contexts that profiles take their parts of; see gen_measurements.h.
 *
 * Its upper part is a program's: Python at the top, operators below, machine code under them.
 * Frames come from a pool, so that a function is in many contexts; two children of one parent are
 * never the same frame, so that contexts stay as many as were drawn.
 */
#include "gen_measurements.h"

#include "binary/elf/elf_file.h"
#include "format/checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POOL = 600, PYTHON_DEPTH = 4, OPERATOR_DEPTH = 6 };

struct growing {
	struct gen_universe *universe;
	const struct gen_options *options;
	struct gen_random random;
	uint32_t capacity;
	uint32_t *first_child, *next_sibling, *children; /* [node] */
	uint64_t *functions;				 /* offsets in the module */
	uint32_t function_count;
	uint32_t string_count, code_count;
};

void *gen_must(void *memory)
{
	if (!memory) {
		fprintf(stderr, "gen-measurements: out of memory\n");
		exit(128);
	}
	return memory;
}

static uint32_t add_string(struct growing *growing, const char *format, uint32_t number)
{
	struct gen_universe *universe = growing->universe;
	char text[64];
	snprintf(text, sizeof(text), format, number);
	for (uint32_t i = 0; i < growing->string_count; i++)
		if (!strcmp(universe->names[i], text))
			return i;
	if (growing->string_count % 64 == 0)
		universe->names = gen_must(realloc(universe->names, (growing->string_count + 64) *
									sizeof(*universe->names)));
	universe->names[growing->string_count] = gen_must(strdup(text));
	return growing->string_count++;
}

static bool is_same_frame(const struct sn_frame *a, const struct sn_frame *b)
{
	return a->kind == b->kind && a->id == b->id && a->value == b->value;
}

static bool has_child(const struct growing *growing, uint32_t parent, const struct sn_frame *frame)
{
	uint32_t child = growing->first_child[parent];
	for (; child; child = growing->next_sibling[child])
		if (is_same_frame(&growing->universe->nodes[child].frame, frame))
			return true;
	return false;
}

static uint32_t add_node(struct growing *growing, uint32_t parent, enum gen_role role,
			 uint32_t unit, struct sn_frame frame)
{
	struct gen_universe *universe = growing->universe;
	uint32_t node = universe->node_count++;
	if (node == growing->capacity) {
		fprintf(stderr, "gen-measurements: internal error: more contexts than planned\n");
		exit(128);
	}
	universe->nodes[node] = (struct gen_node){
	    parent, node ? universe->nodes[parent].depth + 1 : 0, unit, role, frame};
	if (node) {
		growing->next_sibling[node] = growing->first_child[parent];
		growing->first_child[parent] = node;
		growing->children[parent]++;
	}
	return node;
}

static struct sn_frame named(struct growing *growing, unsigned kind, const char *format,
			     uint32_t number)
{
	return (struct sn_frame){.kind = (uint8_t)kind, .id = add_string(growing, format, number)};
}

static struct sn_frame native(struct growing *growing, uint32_t number)
{
	return (struct sn_frame){.kind = SN_FRAME_NATIVE,
				 .value = growing->functions[number % growing->function_count]};
}

/* What a program has at that depth. */
static struct sn_frame draw_frame(struct growing *growing, uint32_t depth)
{
	uint32_t number = gen_below(&growing->random, POOL);
	if (depth < PYTHON_DEPTH)
		return (struct sn_frame){.kind = SN_FRAME_PYTHON,
					 .id = number % growing->code_count,
					 .value = 1 + number};
	if (depth < OPERATOR_DEPTH)
		return named(growing, SN_FRAME_OPERATOR, "aten::op_%u", number % 97);
	return native(growing, number);
}

/* A child with a frame that no sibling has. */
static uint32_t grow(struct growing *growing, uint32_t parent, enum gen_role role, uint32_t unit)
{
	uint32_t depth = growing->universe->nodes[parent].depth;
	struct sn_frame frame = draw_frame(growing, depth);
	/* a parent with more children than the pool has frames takes numbers beyond it */
	for (uint32_t next = 0; has_child(growing, parent, &frame); next++)
		frame = next < 8 ? draw_frame(growing, depth)
				 : named(growing, SN_FRAME_OPERATOR, "aten::spare_%u", next);
	return add_node(growing, parent, role, unit, frame);
}

/* A node of first..end that has room for a child, by preference a deep one. */
static uint32_t choose_parent(struct growing *growing, uint32_t first, uint32_t end,
			      uint32_t max_depth, uint32_t fan_out)
{
	const struct gen_node *nodes = growing->universe->nodes;
	uint32_t best = first;
	for (int attempt = 0; attempt < 6; attempt++) {
		uint32_t node = first + gen_below(&growing->random, end - first);
		bool has_room = nodes[node].depth < max_depth && growing->children[node] < fan_out;
		if (has_room && (best == first || nodes[node].depth > nodes[best].depth))
			best = node;
	}
	return best;
}

static void grow_upper(struct growing *growing)
{
	const struct gen_options *options = growing->options;
	struct gen_universe *universe = growing->universe;
	add_node(growing, 0, GEN_UPPER, UINT32_MAX, (struct sn_frame){.kind = SN_FRAME_THREAD});
	uint32_t main = grow(growing, 0, GEN_UPPER, UINT32_MAX);
	uint32_t solve = add_node(growing, main, GEN_UPPER, UINT32_MAX,
				  named(growing, SN_FRAME_REGION, "solve", 0));
	add_node(growing, solve, GEN_EXCHANGE, UINT32_MAX,
		 named(growing, SN_FRAME_REGION, "exchange", 0));
	uint32_t leaf = universe->node_count - 1;
	while (universe->node_count < options->upper) {
		uint32_t parent = choose_parent(growing, main, universe->node_count, options->depth,
						options->fan_out);
		if (parent != leaf)
			grow(growing, parent, GEN_UPPER, UINT32_MAX);
	}
}

/* Subtrees that profiles choose from: each is a few contexts below one of the shared ones. */
static void grow_leaves(struct growing *growing, uint32_t upper_end)
{
	const struct gen_options *options = growing->options;
	struct gen_universe *universe = growing->universe;
	for (uint32_t i = 0; i < options->leaves; i++) {
		uint32_t unit = universe->unit_count++;
		uint32_t below = 4 + gen_below(&growing->random, upper_end - 4);
		uint32_t first = grow(growing, below, GEN_LEAF, unit);
		uint32_t size = 1 + gen_below(&growing->random, options->leaf_depth * 2);
		uint32_t max_depth = universe->nodes[first].depth + options->leaf_depth - 1;
		for (uint32_t j = 1; j < size && options->leaf_depth > 1; j++)
			grow(growing,
			     choose_parent(growing, first, universe->node_count, max_depth,
					   options->leaf_fan_out),
			     GEN_LEAF, unit);
	}
}

static void grow_kernel(struct growing *growing, uint32_t upper_end, uint32_t i)
{
	const struct gen_options *options = growing->options;
	uint32_t unit = growing->universe->unit_count++;
	uint32_t below = 4 + gen_below(&growing->random, upper_end - 4);
	struct sn_frame call = named(growing, SN_FRAME_GPU_API, "launch_%u", i);
	uint32_t api = add_node(growing, below, GEN_API, unit, call);
	uint32_t kernel = add_node(growing, api, GEN_KERNEL, unit,
				   named(growing, SN_FRAME_KERNEL, "kernel_%u", i % 64));
	for (uint32_t j = 0; j < options->instructions; j++)
		add_node(growing, kernel, GEN_INSTRUCTION, unit,
			 named(growing, SN_FRAME_GPU_LINE, "+0x%x", j * 16));
	/* every other launch comes with a copy, every fourth waits */
	if (i % 2 == 0)
		add_node(growing,
			 add_node(growing, below, GEN_API, unit,
				  named(growing, SN_FRAME_GPU_API, "copy_async_%u", i)),
			 GEN_COPY, unit, named(growing, SN_FRAME_GPU_OP, "copy host to device", 0));
	if (i % 4 == 0)
		add_node(growing, below, GEN_SYNC, unit,
			 named(growing, SN_FRAME_GPU_API, "synchronize_%u", i));
}

/* Every function symbol's address of an ELF, as the frames of machine code. */
static void read_functions(struct growing *growing)
{
	struct gen_universe *universe = growing->universe;
	struct sn_elf_file *file;
	struct sn_error error = {""};
	if (sn_elf_file_open(growing->options->module, &file, &error)) {
		fprintf(stderr, "gen-measurements: %s\n", error.text);
		exit(128);
	}
	struct sn_elf_section *table = sn_elf_file_section_of_type(file, SHT_SYMTAB);
	if (!table)
		table = sn_elf_file_section_of_type(file, SHT_DYNSYM);
	struct sn_bytes symbols = sn_elf_section_contents(file, table);
	size_t count = symbols.size / sizeof(Elf64_Sym);
	growing->functions = gen_must(malloc((count + 1) * sizeof(*growing->functions)));
	for (size_t i = 0; i < count; i++) {
		Elf64_Sym symbol;
		memcpy(&symbol, symbols.data + i * sizeof(symbol), sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size > 4)
			growing->functions[growing->function_count++] =
			    symbol.st_value + symbol.st_size / 2;
	}
	if (!growing->function_count) {
		fprintf(stderr, "gen-measurements: '%s' has no function symbols\n",
			growing->options->module);
		exit(128);
	}
	universe->build_id_bytes = file->build_id_bytes < 20 ? file->build_id_bytes : 20;
	memcpy(universe->build_id, file->build_id, universe->build_id_bytes);
	sn_elf_file_free(file);
}

static void make_functions(struct growing *growing)
{
	if (growing->options->module) {
		read_functions(growing);
		return;
	}
	growing->functions = gen_must(malloc(POOL * sizeof(*growing->functions)));
	for (uint32_t i = 0; i < POOL; i++)
		growing->functions[growing->function_count++] = 0x1000 + i * 0x40ull;
}

static void make_codes(struct growing *growing)
{
	enum { CODES = 40 };
	struct gen_universe *universe = growing->universe;
	universe->code_records = gen_must(calloc(CODES, sizeof(*universe->code_records)));
	for (uint32_t i = 0; i < CODES; i++)
		universe->code_records[i] =
		    (struct sn_code_record){add_string(growing, "/src/model_%u.py", i % 8),
					    add_string(growing, "step_%u", i), i * 20 + 1, 0};
	growing->code_count = CODES;
	universe->codes = (unsigned char *)universe->code_records;
	universe->codes_bytes = CODES * sizeof(*universe->code_records);
	universe->codes_checksum = sn_checksum(universe->codes, universe->codes_bytes);
}

/* The strings as a section; see measurement.h. */
static void lay_out_strings(struct growing *growing)
{
	struct gen_universe *universe = growing->universe;
	uint32_t count = growing->string_count;
	size_t table = 8 + ((count + 2ull) & ~1ull) * sizeof(uint32_t), text = 0;
	for (uint32_t i = 0; i < count; i++)
		text += strlen(universe->names[i]);
	universe->strings = gen_must(calloc(1, table + text + 1));
	universe->strings_bytes = table + text;
	struct sn_strings_record record = {count, 0};
	memcpy(universe->strings, &record, sizeof(record));
	uint32_t *offsets = (uint32_t *)(universe->strings + sizeof(record)), at = 0;
	for (uint32_t i = 0; i < count; i++) {
		size_t length = strlen(universe->names[i]);
		memcpy(universe->strings + table + at, universe->names[i], length);
		offsets[i] = at;
		at += (uint32_t)length;
	}
	offsets[count] = at;
	universe->strings_checksum = sn_checksum(universe->strings, universe->strings_bytes);
}

void gen_universe_init(struct gen_universe *universe, const struct gen_options *options)
{
	*universe = (struct gen_universe){0};
	struct growing growing = {.universe = universe, .options = options};
	growing.random.state = options->seed;
	uint64_t capacity = 8 + options->upper + 2ull * options->leaf_depth * options->leaves +
			    (uint64_t)options->kernels * (options->instructions + 5);
	if (capacity > 50000000) {
		fprintf(stderr, "gen-measurements: more than 50,000,000 contexts\n");
		exit(128);
	}
	growing.capacity = (uint32_t)capacity;
	universe->nodes = gen_must(calloc(capacity, sizeof(*universe->nodes)));
	growing.first_child = gen_must(calloc(capacity, sizeof(uint32_t)));
	growing.next_sibling = gen_must(calloc(capacity, sizeof(uint32_t)));
	growing.children = gen_must(calloc(capacity, sizeof(uint32_t)));
	make_functions(&growing);
	make_codes(&growing);
	grow_upper(&growing);
	uint32_t upper_end = universe->node_count;
	grow_leaves(&growing, upper_end);
	for (uint32_t i = 0; i < options->kernels; i++)
		grow_kernel(&growing, upper_end, i);
	lay_out_strings(&growing);
	universe->templates = gen_must(calloc(universe->node_count, sizeof(*universe->templates)));
	for (uint32_t i = 0; i < universe->node_count; i++)
		universe->templates[i].frame = universe->nodes[i].frame;
	/* strings are no longer added */
	universe->names = gen_must(
	    realloc(universe->names, (growing.string_count + 1) * sizeof(*universe->names)));
	universe->names[growing.string_count] = NULL;
	free(growing.first_child);
	free(growing.next_sibling);
	free(growing.children);
	free(growing.functions);
}

void gen_universe_release(struct gen_universe *universe)
{
	for (size_t i = 0; universe->names[i]; i++)
		free((char *)(uintptr_t)universe->names[i]);
	free(universe->names);
	free(universe->nodes);
	free(universe->templates);
	free(universe->strings);
	free(universe->code_records);
}

void gen_node_name(const struct gen_universe *universe, uint32_t node, char *text, size_t size)
{
	const struct sn_frame *frame = &universe->nodes[node].frame;
	if (frame->kind == SN_FRAME_NATIVE)
		snprintf(text, size, "libwork.so+0x%" PRIx64, frame->value);
	else if (frame->kind == SN_FRAME_PYTHON)
		snprintf(text, size, "%s", universe->names[universe->code_records[frame->id].name]);
	else
		snprintf(text, size, "%s", universe->names[frame->id]);
}
