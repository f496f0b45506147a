/* SPDX-License-Identifier: Apache-2.0 */
/* From generated lines to the program's; see inductor_lines.h. */
#include "inductor_lines.h"

#include "base/arena.h"
#include "base/sort_by.h"
#include "base/table.h"
#include "base/text.h"
#include "base/vec.h"
#include "format/database/database_graph_builder.h"
#include "format/measurement/measurement.h"
#include "frame/user_frame.h"
#include "inductor_graph.h"
#include "inductor_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Operations of one kernel; of more the rest is left out. */
enum { PARTS = 64, NAME_BYTES = 256 };

/* A generated file. */
struct generated {
	struct sn_inductor_text text; /* empty: it cannot be read, or nothing is known of it */
	const char *name;
	uint32_t model; /* the builder's; SONDE_NONE before its first node */
	struct sn_inductor_graph graph;
	bool *has_operator; /* [section]: a line of it calls an operator, and is what it is for */
	const char **names; /* of the graph's operations, each once, longer ones first */
	struct sn_inductor_place *functions; /* see struct sn_inductor_origin */
	uint32_t name_count, function_count;
};

/* A source file of the program's, for comparing its lines. */
struct source {
	const char *name;
	char *text;
};

struct sn_inductor_lines {
	struct sn_db_builder *builder;
	struct sn_arena arena;
	struct sn_table file_numbers; /* builder's string: of files */
	struct sn_table call_numbers; /* (file, line): of origins */
	struct generated *files;
	struct sn_inductor_origin **origins; /* NULL: none */
	struct source *sources;
	size_t file_count, file_capacity, origin_count, origin_capacity, source_count,
	    source_capacity;
};

/* An operation of a call. */
struct part {
	char name[128];
	const struct sn_inductor_place *place; /* NULL: its line is not known */
};

/* A line that calls something. */
struct call {
	enum sn_inductor_call kind;
	char name[NAME_BYTES];
	/* the sections that it was made for, [first, end); see is_of */
	uint32_t first, end;
	struct part parts[PARTS];
	uint32_t part_count;
	const struct sn_inductor_place *place; /* that it counts on */
};

struct sn_inductor_lines *sn_inductor_lines_new(struct sn_db_builder *builder)
{
	struct sn_inductor_lines *lines = calloc(1, sizeof(*lines));
	if (lines)
		lines->builder = builder;
	return lines;
}

void sn_inductor_lines_free(struct sn_inductor_lines *lines)
{
	if (!lines)
		return;
	for (size_t i = 0; i < lines->file_count; i++) {
		sn_inductor_text_release(&lines->files[i].text);
		sn_inductor_graph_release(&lines->files[i].graph);
	}
	for (size_t i = 0; i < lines->source_count; i++)
		free(lines->sources[i].text);
	sn_table_release(&lines->file_numbers);
	sn_table_release(&lines->call_numbers);
	free(lines->files);
	free(lines->origins);
	free(lines->sources);
	sn_arena_release(&lines->arena);
	free(lines);
}

static const char *source_text(struct sn_inductor_lines *lines, const char *name)
{
	size_t length;
	for (size_t i = 0; i < lines->source_count; i++)
		if (strcmp(lines->sources[i].name, name) == 0)
			return lines->sources[i].text;
	struct source source = {sn_arena_text(&lines->arena, name),
				sn_inductor_read(name, &length)};
	if (!source.name || sn_vec_push(&lines->sources, &lines->source_capacity,
					&lines->source_count, source) < 0) {
		free(source.text);
		return NULL;
	}
	return source.text;
}

/* Whether the line is in its file as it was when the graph was made: inductor's cache may hold a graph of
 * an earlier state of the file, whose lines have moved. */
static bool is_there(struct sn_inductor_lines *lines, const struct sn_inductor_place *place)
{
	const char *text = place->file && *place->code ? source_text(lines, place->file) : NULL;
	const char *line = text ? sn_inductor_line(text, place->line) : NULL;
	if (!line)
		return false;
	line += strspn(line, " \t");
	size_t length = strcspn(line, "\r\n");
	while (length && strchr(" \t", line[length - 1]))
		length--;
	return length == strlen(place->code) && memcmp(line, place->code, length) == 0;
}

/* Forgets the lines that are not there. */
static void check_places(struct sn_inductor_lines *lines, struct sn_inductor_graph *graph)
{
	for (uint32_t i = 0; i < graph->section_count; i++)
		if (!is_there(lines, &graph->sections[i].place))
			graph->sections[i].place.file = NULL;
	for (uint32_t i = 0; i < graph->node_count; i++)
		if (!is_there(lines, &graph->nodes[i].place))
			graph->nodes[i].place.file = NULL;
}

/* Before it nothing is called. */
static uint32_t first_line(const struct sn_inductor_graph *graph)
{
	return graph->section_count ? graph->sections[0].line : 1;
}

/* Which sections call operators. */
static bool find_operators(struct sn_inductor_lines *lines, struct generated *file)
{
	const struct sn_inductor_graph *graph = &file->graph;
	file->has_operator = sn_arena_array(&lines->arena, bool, graph->section_count + 1ull);
	uint32_t section = 0, line = first_line(graph);
	for (; file->has_operator && line <= file->text.line_count; line++) {
		while (section + 1 < graph->section_count &&
		       graph->sections[section + 1].line <= line)
			section++;
		if (graph->section_count && file->text.lines[line].call == SN_INDUCTOR_OPERATOR)
			file->has_operator[section] = true;
	}
	return file->has_operator;
}

/* Longer ones first. */
SN_SORT_BY(sort_names, const char *, const void *,
	   SN_ORDER(strlen(*b), strlen(*a)) ?: strcmp(*a, *b));

static bool find_names(struct sn_inductor_lines *lines, struct generated *file)
{
	uint32_t count = file->graph.node_count;
	const char **names = file->names =
	    sn_arena_array(&lines->arena, const char *, count + 1ull);
	if (!names)
		return false;
	for (uint32_t i = 0; i < count; i++)
		names[i] = file->graph.nodes[i].name;
	sort_names(names, count, NULL);
	for (uint32_t i = 0; i < count; i++)
		if (!file->name_count || strcmp(names[file->name_count - 1], names[i]) != 0)
			names[file->name_count++] = names[i];
	return true;
}

static void add_function(struct generated *file, const struct sn_inductor_place *place)
{
	for (uint32_t i = 0; place->file && i < file->function_count; i++)
		if (strcmp(file->functions[i].file, place->file) == 0 &&
		    strcmp(file->functions[i].function, place->function) == 0)
			return;
	if (place->file)
		file->functions[file->function_count++] = *place;
}

static bool find_functions(struct sn_inductor_lines *lines, struct generated *file)
{
	const struct sn_inductor_graph *graph = &file->graph;
	file->functions =
	    sn_arena_array(&lines->arena, struct sn_inductor_place, graph->node_count + 1ull);
	for (uint32_t i = 0; file->functions && i < graph->section_count && !file->function_count;
	     i++)
		add_function(file, &graph->sections[i].compiled);
	for (uint32_t i = 0; file->functions && !graph->section_count && i < graph->node_count; i++)
		add_function(file, &graph->nodes[i].place);
	return file->functions;
}

static struct generated *file_at(struct sn_inductor_lines *lines, uint32_t file)
{
	uint32_t number = sn_table_add(&lines->file_numbers, file);
	if (number == SN_TABLE_NONE || number < lines->file_count)
		return number == SN_TABLE_NONE ? NULL : lines->files + number;
	struct generated new = {.model = SONDE_NONE};
	/* the builder's texts move when it gets another */
	const char *name = new.name =
	    sn_arena_text(&lines->arena, sn_db_builder_text(lines->builder, file));
	if (name && sn_file_is_of_inductor(name) &&
	    sn_inductor_graph(name, &lines->arena, &new.graph))
		sn_inductor_text_read(&new.text, name);
	if (new.text.text && find_operators(lines, &new) && find_names(lines, &new) &&
	    find_functions(lines, &new))
		check_places(lines, &new.graph);
	else
		sn_inductor_text_release(&new.text);
	if (sn_vec_push(&lines->files, &lines->file_capacity, &lines->file_count, new) < 0)
		return NULL;
	return lines->files + number;
}

/* The last section that begins at the line or before; section_count for none. */
static uint32_t section_of(const struct sn_inductor_graph *graph, uint32_t line)
{
	uint32_t section = graph->section_count;
	for (uint32_t i = 0; i < graph->section_count && graph->sections[i].line <= line; i++)
		section = i;
	return section;
}

/*
 * C++ kernels are written late: operations are collected until something else comes, and the call
 * stands in the section of what came. So it is made for the sections since the C++ kernel before
 * it that have no operator of their own. Everything else stands in its own section.
 */
static void find_sections(const struct generated *file, uint32_t line, struct call *call)
{
	uint32_t section = section_of(&file->graph, line);
	call->first = call->end = section;
	if (section == file->graph.section_count)
		return;
	call->end = section + 1;
	if (call->kind != SN_INDUCTOR_CPP)
		return;
	call->end -= file->has_operator[section];
	call->first = call->end;
	uint32_t before = 0; /* the first section after the kernel before this one */
	for (uint32_t number = file->graph.sections[0].line; number < line; number++) {
		if (sn_inductor_text_line(&file->text, number).call != SN_INDUCTOR_CPP)
			continue;
		uint32_t own = section_of(&file->graph, number);
		if (own < call->end)
			before = own + 1 - file->has_operator[own];
	}
	if (before < call->end)
		call->first = before;
}

/* Whether the call was made for that section, with a line of the program's. */
static bool is_of(const struct generated *file, const struct call *call, uint32_t section)
{
	return file->graph.sections[section].place.file &&
	       (call->kind != SN_INDUCTOR_CPP || !file->has_operator[section]);
}

static bool is_same_line(const struct sn_inductor_place *a, const struct sn_inductor_place *b)
{
	return a->file && b->file && a->line == b->line && strcmp(a->file, b->file) == 0;
}

static void add_part(struct call *call, const char *name, size_t length,
		     const struct sn_inductor_place *place)
{
	struct part *part = call->parts + call->part_count;
	if (call->part_count == PARTS)
		return;
	snprintf(part->name, sizeof(part->name), "%.*s", (int)length, name);
	part->place = place;
	call->part_count++;
}

/* The line of all operations of that name in the graph; NULL where they are on several: a kernel's section
 * does not tell which, as what is decomposed has such operations too ("add" of a layer's norm). */
static const struct sn_inductor_place *place_of(const struct generated *file, const char *name)
{
	const struct sn_inductor_place *all = NULL;
	for (uint32_t i = 0; i < file->graph.node_count; i++) {
		const struct sn_inductor_node *node = file->graph.nodes + i;
		if (strcmp(node->name, name) != 0)
			continue;
		if (!node->place.file || (all && !is_same_line(all, &node->place)))
			return NULL;
		all = &node->place;
	}
	return all;
}

/* Takes the operation's name out of those of a kernel, "add_relu_sin"; false where it is not there. */
static bool take_out(char *names, const char *name)
{
	size_t length = strlen(name);
	bool is_found = false;
	for (char *at = names; (at = strstr(at, name)) != NULL; at += length) {
		bool begins = at == names || at[-1] == '_' || at[-1] == ' ';
		if (!begins || (at[length] && at[length] != '_' && at[length] != ' '))
			continue;
		memset(at, ' ', length);
		is_found = true;
	}
	return is_found;
}

/* Names of a kernel that the graph no longer has, as "softmax" of what it was decomposed into. */
static void add_rest(struct call *call, const char *names)
{
	for (const char *at = names; *at;) {
		at += strspn(at, " _");
		size_t length = strcspn(at, " "), kept = length;
		while (kept && at[kept - 1] == '_')
			kept--;
		if (kept)
			add_part(call, at, kept, NULL);
		at += length;
	}
}

static bool is_covered(const struct call *call, const struct sn_inductor_place *place)
{
	for (uint32_t p = 0; p < call->part_count; p++)
		if (call->parts[p].place && is_same_line(call->parts[p].place, place))
			return true;
	return false;
}

/* One line without an operation and one operation without a line belong together. */
static void join_last(const struct generated *file, struct call *call)
{
	const struct sn_inductor_place *open = NULL;
	struct part *last = NULL;
	for (uint32_t p = 0; p < call->part_count; p++) {
		if (call->parts[p].place)
			continue;
		if (last)
			return;
		last = call->parts + p;
	}
	for (uint32_t i = call->first; i < call->end; i++) {
		const struct sn_inductor_place *place = &file->graph.sections[i].place;
		if (!is_of(file, call, i) || is_covered(call, place) ||
		    (open && is_same_line(open, place)))
			continue;
		if (open)
			return;
		open = place;
	}
	if (last)
		last->place = open;
}

/* "cpp_fused__softmax_add_relu_0": its operations are in its name. */
static void find_fused(const struct generated *file, struct call *call)
{
	char names[NAME_BYTES];
	const char *fused = strstr(call->name, "fused_");
	snprintf(names, sizeof(names), "%s", fused ? fused + 6 : call->name);
	char *number = strrchr(names, '_');
	if (number && number[1] && strspn(number + 1, "0123456789") == strlen(number + 1))
		*number = '\0';
	/* longer names first: "add" is not what "native_add" consists of */
	for (uint32_t i = 0; i < file->name_count; i++)
		if (take_out(names, file->names[i]))
			add_part(call, file->names[i], strlen(file->names[i]),
				 place_of(file, file->names[i]));
	add_rest(call, names);
	join_last(file, call);
}

static uint32_t line_of(const struct part *part)
{
	return part->place ? part->place->line : UINT32_MAX;
}

SN_SORT_BY(sort_parts, struct part, const void *,
	   SN_ORDER(line_of(a), line_of(b)) ?: strcmp(a->name, b->name));

/* Also the line that the call counts on: that of its last section, or the last that is known. False where
 * none is. */
static bool find_parts(const struct generated *file, struct call *call)
{
	const struct sn_inductor_place *place =
	    call->first < call->end ? &file->graph.sections[call->first].place : NULL;
	if (!file->graph.section_count)
		place = place_of(file, call->name);
	if (call->kind == SN_INDUCTOR_OPERATOR)
		add_part(call, call->name, strlen(call->name), place && place->file ? place : NULL);
	else
		find_fused(file, call);
	sort_parts(call->parts, call->part_count, NULL);
	for (uint32_t i = 0; i < call->part_count; i++)
		call->place = call->parts[i].place ? call->parts[i].place : call->place;
	for (uint32_t i = call->first; i < call->end; i++)
		call->place = is_of(file, call, i) ? &file->graph.sections[i].place : call->place;
	return call->place;
}

/* The model of the file: "0_forward" of "# AOT ID: ['0_forward']"; of several files of one id, #2 on. */
static uint32_t model_of(struct sn_inductor_lines *lines, struct generated *file)
{
	static const char head[] = "# AOT ID: ['";
	struct sonde_graph_model model = SN_GRAPH_MODEL;
	char name[128];
	uint32_t same = 1;
	if (file->model != SONDE_NONE)
		return file->model;
	const char *id = strstr(file->text.text, head);
	const char *end = id ? strchr(id + sizeof(head) - 1, '\'') : NULL;
	if (end)
		snprintf(name, sizeof(name), "%.*s", (int)(end - id - (long)sizeof(head) + 1),
			 id + sizeof(head) - 1);
	else
		snprintf(name, sizeof(name), "%.8s", sn_text_base_name(file->name));
	for (size_t i = 0; i < lines->file_count; i++) {
		const struct generated *other = lines->files + i;
		const char *its =
		    other->text.text && other != file && other->model != SONDE_NONE && id
			? strstr(other->text.text, head)
			: NULL;
		same += its && end && strncmp(its, id, (size_t)(end - id) + 1) == 0;
	}
	size_t used = strlen(name);
	if (same > 1)
		snprintf(name + used, sizeof(name) - used, " #%u", same);
	model.name = sn_db_builder_string(lines->builder, name);
	model.source = sn_db_builder_string(lines->builder, "PyTorch's inductor");
	return file->model = sn_db_builder_graph_model(lines->builder, &model);
}

/* How many lines before this one call what it calls. */
static uint32_t calls_before(const struct generated *file, uint32_t line, const char *name)
{
	uint32_t number = first_line(&file->graph), count = 0;
	for (; number < line; number++) {
		struct sn_inductor_line other = sn_inductor_text_line(&file->text, number);
		count += other.call != SN_INDUCTOR_NO_CALL && other.length == strlen(name) &&
			 memcmp(other.name, name, other.length) == 0;
	}
	return count;
}

static uint32_t add_node(struct sn_inductor_lines *lines, struct sonde_graph_node node,
			 const char *name, const struct sn_inductor_place *place)
{
	node.name = sn_db_builder_string(lines->builder, name);
	if (place && place->file) {
		node.file = sn_db_builder_string(lines->builder, place->file);
		node.function = sn_db_builder_string(lines->builder, place->function);
		node.line = place->line;
	}
	return sn_db_builder_graph_node(lines->builder, &node);
}

/* The node of the call with its operations, and its frame. */
static void add_call(struct sn_inductor_lines *lines, struct generated *file, uint32_t line,
		     const struct call *call, struct sn_inductor_origin *origin)
{
	struct sn_db_builder *builder = lines->builder;
	struct sonde_graph_node node = SN_GRAPH_NODE;
	char name[NAME_BYTES + 200];
	const struct sn_inductor_place *place = call->place;
	uint32_t before = calls_before(file, line, call->name);
	char number[16] = "";
	if (before)
		snprintf(number, sizeof(number), " #%u", before + 1);
	snprintf(name, sizeof(name), "%s%s", call->name, number);
	node.model = model_of(lines, file);
	node.flags = SONDE_NODE_HAS_CONTEXTS;
	uint32_t parent = add_node(lines, node, name, place);
	node.flags = 0;
	node.parent = parent;
	for (uint32_t i = 0; i < call->part_count; i++) {
		node.type = node.module = sn_db_builder_string(builder, call->parts[i].name);
		add_node(lines, node, call->parts[i].name, call->parts[i].place);
	}
	const struct sonde_graph_model *model = builder->graph.models + node.model;
	snprintf(name, sizeof(name), "%.150s/%s%s", sn_db_builder_text(builder, model->name),
		 call->name, number);
	struct sonde_db_frame frame = {
	    .kind = SN_FRAME_GRAPH_NODE,
	    .name = sn_db_builder_string(builder, name),
	    .linkage_name = SONDE_NONE,
	    .module = SONDE_NONE,
	    .file = sn_db_builder_string(builder, place->file),
	    .line = place->line,
	    /* it is of no function that begins elsewhere: pages show this line at any granularity */
	    .function_line = place->line,
	};
	origin->frame = sn_db_builder_frame(builder, &frame);
}

static struct sn_inductor_origin *find(struct sn_inductor_lines *lines, struct generated *file,
				       uint32_t line)
{
	struct call call = {0};
	struct sn_inductor_line calling = sn_inductor_text_line(&file->text, line);
	call.kind = calling.call;
	if (call.kind == SN_INDUCTOR_NO_CALL || calling.length >= sizeof(call.name))
		return NULL;
	memcpy(call.name, calling.name, calling.length);
	find_sections(file, line, &call);
	if (!find_parts(file, &call))
		return NULL;
	struct sn_inductor_origin *origin =
	    sn_arena_array(&lines->arena, struct sn_inductor_origin, 1);
	if (!origin)
		return NULL;
	if (!file->function_count)
		return NULL;
	origin->functions = file->functions;
	origin->function_count = file->function_count;
	add_call(lines, file, line, &call, origin);
	return origin;
}

int sn_inductor_lines_at(struct sn_inductor_lines *lines, uint32_t file, uint32_t line,
			 const struct sn_inductor_origin **origin)
{
	*origin = NULL;
	if (file == SONDE_NONE || !line)
		return 0;
	struct generated *generated = file_at(lines, file);
	if (!generated || lines->arena.failed)
		return SN_ERR_MEMORY;
	if (!generated->text.text)
		return 0;
	uint32_t number = sn_table_add(&lines->call_numbers, sn_table_pair(file, line));
	if (number == SN_TABLE_NONE ||
	    (number == lines->origin_count &&
	     sn_vec_push(&lines->origins, &lines->origin_capacity, &lines->origin_count,
			 find(lines, generated, line)) < 0))
		return SN_ERR_MEMORY;
	*origin = lines->origins[number];
	return lines->arena.failed ? SN_ERR_MEMORY : 0;
}

static bool is_one_of(const struct sn_inductor_origin *origin, const char *file, const char *name)
{
	const char *dot = strrchr(name, '.');
	for (uint32_t i = 0; i < origin->function_count; i++)
		if (strcmp(file, origin->functions[i].file) == 0 &&
		    strcmp(dot ? dot + 1 : name, origin->functions[i].function) == 0)
			return true;
	return false;
}

bool sn_inductor_is_below(const struct sn_db_builder *builder, uint32_t context,
			  const struct sn_inductor_origin *origin)
{
	uint32_t parent, number;
	for (; sn_db_builder_context_at(builder, context, &parent, &number); context = parent) {
		const struct sonde_db_frame *frame = sn_intern_at(&builder->frames, number, NULL);
		if (frame->kind == SN_FRAME_PYTHON && frame->file != SONDE_NONE &&
		    is_one_of(origin, sn_db_builder_text(builder, frame->file),
			      sn_db_builder_text(builder, frame->name)))
			return true;
	}
	return false;
}
