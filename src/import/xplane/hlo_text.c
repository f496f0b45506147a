/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the text that XLA makes of a program: a line for each instruction, in computations
 *
 * 	%sum (a: f32[8], b: f32[8]) -> f32[8] {
 * 	  ROOT %add = f32[8]{0} add(%a, %b), metadata={op_name="jit(f)/add" stack_frame_id=1}
 * 	}
 *
 * after the module's name and the lists of its index of stack frames (hlo_place.h). Names are
 * unique in a module, so the builder's string of a name serves as id. Lines of other forms are left
 * out; a text without any known line is damaged.
 */
#include "hlo_place.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* A piece of the text. */
struct piece {
	const char *at, *end;
};

struct reading {
	struct sn_hlo *hlo;
	struct sn_db_builder *builder;
	struct sn_hlo_places places;
	enum { NOTHING, FILES, FUNCTIONS, LOCATIONS, FRAMES, COMPUTATION } in;
};

static const char *const lists[] = {
    [FILES] = "FileNames",
    [FUNCTIONS] = "FunctionNames",
    [LOCATIONS] = "FileLocations",
    [FRAMES] = "StackFrames",
};

static bool begins(struct piece piece, const char *with)
{
	size_t length = strlen(with);
	return (size_t)(piece.end - piece.at) >= length && !memcmp(piece.at, with, length);
}

static bool is_text(struct piece piece, const char *text)
{
	return begins(piece, text) && piece.at + strlen(text) == piece.end;
}

static const char *find(struct piece piece, const char *what)
{
	return piece.at < piece.end
		   ? memmem(piece.at, (size_t)(piece.end - piece.at), what, strlen(what))
		   : NULL;
}

static bool take(struct piece *piece, const char *what)
{
	if (!begins(*piece, what))
		return false;
	piece->at += strlen(what);
	return true;
}

static uint32_t string_of(struct reading *reading, struct piece piece)
{
	return piece.at < piece.end ? sn_db_builder_string_n(reading->builder, piece.at,
							     (size_t)(piece.end - piece.at))
				    : SONDE_NONE;
}

static uint32_t number_of(struct piece piece, const char *key)
{
	const char *found = find(piece, key);
	uint32_t number = 0;
	if (found)
		for (found += strlen(key); found < piece.end && *found >= '0' && *found <= '9';)
			number = number * 10 + (uint32_t)(*found++ - '0');
	return number;
}

/* The text in quotes behind `key`; empty if there is none. */
static struct piece quoted(struct piece piece, const char *key)
{
	const char *found = find(piece, key);
	if (!found)
		return (struct piece){piece.end, piece.end};
	const char *from = found + strlen(key), *to = from;
	while (to < piece.end && *to != '"')
		to += *to == '\\' && to + 1 < piece.end ? 2 : 1;
	return (struct piece){from, to < piece.end ? to : piece.end};
}

/* A name without its '%', up to the first character that cannot be part of one. */
static struct piece name_at(const char *at, const char *end)
{
	if (at < end && *at == '%')
		at++;
	struct piece name = {at, at};
	while (name.end < end && !memchr(" ,(){}=\t", *name.end, 8))
		name.end++;
	return name;
}

/* The place behind the bracket that closes the one at `at`; `end` if none does. */
static const char *close_of(const char *at, const char *end)
{
	unsigned depth = 0;
	bool in_quotes = false;
	for (; at < end; at++) {
		if (*at == '\\' && in_quotes)
			at++;
		else if (*at == '"')
			in_quotes = !in_quotes;
		else if (!in_quotes && (*at == '(' || *at == '{'))
			depth++;
		else if (!in_quotes && (*at == ')' || *at == '}') && --depth == 0)
			return at + 1;
	}
	return end;
}

/* ---- shapes ---- */

/* The bits of an element: the number in its name ("f32"); a "pred" takes a byte. */
static uint64_t element_bits(struct piece type)
{
	uint64_t bits = 0;
	if (begins(type, "pred"))
		return 8;
	while (type.at < type.end && (*type.at < '0' || *type.at > '9'))
		type.at++;
	for (; type.at < type.end && *type.at >= '0' && *type.at <= '9' && bits < 1000; type.at++)
		bits = bits * 10 + (uint64_t)(*type.at - '0');
	return bits;
}

/* The bytes of "f32[8,4]{1,0}"; of a tuple the sum of its parts; 0 on overflow. */
static uint64_t shape_bytes(struct piece shape)
{
	uint64_t total = 0;
	while (shape.at < shape.end) {
		const char *open = find(shape, "[");
		if (!open)
			break;
		const char *type = open;
		while (type > shape.at && !memchr("( ,", type[-1], 3))
			type--;
		uint64_t bits = element_bits((struct piece){type, open}), size = 0;
		const char *at = open + 1;
		for (; at < shape.end && *at != ']'; at++) {
			if (*at >= '0' && *at <= '9')
				size = size * 10 + (uint64_t)(*at - '0');
			else if (*at == ',' && __builtin_mul_overflow(bits, size, &bits))
				return 0;
			if (*at == ',')
				size = 0;
		}
		if (at > open + 1 && __builtin_mul_overflow(bits, size, &bits))
			return 0;
		total += (bits + 7) / 8;
		shape.at = at;
	}
	return total;
}

/* ---- instructions ---- */

static int add_id(struct reading *reading, struct piece name, size_t *first, size_t *count)
{
	struct sn_hlo *hlo = reading->hlo;
	uint32_t id = string_of(reading, name);
	if (!*count)
		*first = hlo->id_count;
	if (id == SONDE_NONE)
		return 0;
	++*count;
	return sn_vec_push(&hlo->ids, &hlo->id_capacity, &hlo->id_count, id);
}

/* Adds each name of a list. */
static int add_ids(struct reading *reading, struct piece list, size_t *first, size_t *count)
{
	int result = 0;
	for (const char *at; !result && (at = find(list, "%"));) {
		struct piece name = name_at(at, list.end);
		result = add_id(reading, name, first, count);
		list.at = name.end;
	}
	return result;
}

/* Adds the computations that an instruction calls, by any of its attributes. */
static int add_called(struct reading *reading, struct piece rest,
		      struct sn_hlo_instruction *instruction)
{
	static const char *const keys[] = {" calls=",
					   " body=",
					   " condition=",
					   " branch_computations=",
					   " true_computation=",
					   " false_computation=",
					   " called_computations=",
					   " to_apply="};
	int result = 0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys) && !result; i++) {
		const char *at = find(rest, keys[i]);
		if (!at)
			continue;
		at += strlen(keys[i]);
		struct piece list = {at, at < rest.end && *at == '{' ? close_of(at, rest.end)
								     : name_at(at, rest.end).end};
		result =
		    add_ids(reading, list, &instruction->first_called, &instruction->called_count);
	}
	return result;
}

static void read_metadata(struct reading *reading, struct piece rest,
			  struct sn_hlo_instruction *instruction)
{
	const char *at = find(rest, " metadata={");
	if (!at)
		return;
	struct piece metadata = {at, close_of(at + strlen(" metadata="), rest.end)};
	instruction->path = string_of(reading, quoted(metadata, "op_name=\""));
	instruction->file = string_of(reading, quoted(metadata, "source_file=\""));
	instruction->line = number_of(metadata, "source_line=");
	instruction->frame = number_of(metadata, "stack_frame_id=");
}

/* Reads "%NAME = SHAPE OPCODE(OPERANDS), ATTRIBUTES"; lines of other forms are ignored. */
static int read_instruction(struct reading *reading, struct piece line)
{
	struct sn_hlo *hlo = reading->hlo;
	while (take(&line, " "))
		;
	take(&line, "ROOT ");
	struct piece name = name_at(line.at, line.end);
	line.at = name.end;
	if (name.at == name.end || !take(&line, " = "))
		return 0;
	struct piece shape = {line.at, line.end}, opcode;
	if (begins(line, "("))
		shape.end = close_of(line.at, line.end);
	else if (find(line, " "))
		shape.end = find(line, " ");
	opcode = name_at(shape.end + 1, line.end);
	if (opcode.at >= opcode.end || opcode.end == line.end || *opcode.end != '(')
		return 0;
	struct piece operands = {opcode.end, close_of(opcode.end, line.end)};
	struct piece rest = {operands.end, line.end};
	uint32_t id = string_of(reading, name);
	struct sn_hlo_instruction instruction = {
	    .name = id,
	    .opcode = string_of(reading, opcode),
	    .path = SONDE_NONE,
	    .target = string_of(reading, quoted(rest, "custom_call_target=\"")),
	    .file = SONDE_NONE,
	    .function = SONDE_NONE,
	    .callers = SONDE_NONE,
	    .computation = (uint32_t)hlo->computation_count - 1,
	    .id = id,
	    .bytes = shape_bytes(shape)};
	read_metadata(reading, rest, &instruction);
	int result = is_text(opcode, "constant")
			 ? 0
			 : add_ids(reading, operands, &instruction.first_operand,
				   &instruction.operand_count);
	if (!result)
		result = add_called(reading, rest, &instruction);
	uint64_t key[2] = {instruction.computation, id};
	uint32_t given = sn_intern_add(&hlo->instruction_ids, key, sizeof(key));
	if (given != SN_INTERN_NONE && given != hlo->instruction_count)
		return SN_ERR_FORMAT;
	return result || given == SN_INTERN_NONE ||
		       sn_vec_push(&hlo->instructions, &hlo->instruction_capacity,
				   &hlo->instruction_count, instruction)
		   ? SN_ERR_MEMORY
		   : 0;
}

/* ---- the module ---- */

/* Begins a computation: "ENTRY %NAME (PARAMETERS) -> SHAPE {". */
static int begin_computation(struct reading *reading, struct piece line)
{
	struct sn_hlo *hlo = reading->hlo;
	bool is_entry = take(&line, "ENTRY ");
	uint32_t name = string_of(reading, name_at(line.at, line.end));
	uint64_t id = name;
	if (name == SONDE_NONE)
		return SN_ERR_FORMAT;
	uint32_t given = sn_intern_add(&hlo->computation_ids, &id, sizeof(id));
	if (given != SN_INTERN_NONE && given != hlo->computation_count)
		return SN_ERR_FORMAT;
	struct sn_hlo_computation computation = {
	    .name = name, .id = id, .first = hlo->instruction_count};
	if (is_entry)
		hlo->entry = id;
	reading->in = COMPUTATION;
	return given == SN_INTERN_NONE ||
		       sn_vec_push(&hlo->computations, &hlo->computation_capacity,
				   &hlo->computation_count, computation)
		   ? SN_ERR_MEMORY
		   : 0;
}

/* Reads an element of a list: its number, then its contents. */
static int read_element(struct reading *reading, struct piece line)
{
	struct sn_hlo_places *places = &reading->places;
	struct sn_hlo_location location = {number_of(line, "file_name_id="),
					   number_of(line, "function_name_id="),
					   number_of(line, " line=")};
	struct sn_hlo_frame frame = {number_of(line, "file_location_id="),
				     number_of(line, "parent_frame_id=")};
	switch (reading->in) {
	case FILES:
		return sn_vec_push(&places->files, &places->file_capacity, &places->file_count,
				   string_of(reading, quoted(line, "\"")));
	case FUNCTIONS:
		return sn_vec_push(&places->functions, &places->function_capacity,
				   &places->function_count, string_of(reading, quoted(line, "\"")));
	case LOCATIONS:
		return sn_vec_push(&places->locations, &places->location_capacity,
				   &places->location_count, location);
	case FRAMES:
		return sn_vec_push(&places->frames, &places->frame_capacity, &places->frame_count,
				   frame);
	default:
		return 0;
	}
}

/* Reads a line outside of computations. */
static int read_line(struct reading *reading, struct piece line)
{
	if (line.at == line.end) {
		reading->in = NOTHING;
		return 0;
	}
	if (line.end[-1] == '{')
		return begin_computation(reading, line);
	if (*line.at >= '0' && *line.at <= '9')
		return read_element(reading, line);
	reading->in = NOTHING;
	for (int i = FILES; i <= FRAMES; i++)
		if (begins(line, lists[i]))
			reading->in = i;
	return 0;
}

static struct piece next_line(const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));
	return (struct piece){at, newline ? newline : end};
}

static int read_lines(struct reading *reading, const char **text, const char *end)
{
	struct sn_hlo *hlo = reading->hlo;
	int result = 0;
	for (bool is_first = true; *text < end && !result; is_first = false) {
		struct piece line = next_line(*text, end);
		bool is_module = take(&line, "HloModule ");
		if (is_module && !is_first)
			break;
		*text = line.end < end ? line.end + 1 : end;
		if (is_module)
			hlo->name = string_of(reading, name_at(line.at, line.end));
		else if (reading->in == COMPUTATION && begins(line, "}"))
			reading->in = NOTHING;
		else if (reading->in == COMPUTATION)
			result = read_instruction(reading, line);
		else
			result = read_line(reading, line);
		if (hlo->computation_count)
			hlo->computations[hlo->computation_count - 1].count =
			    hlo->instruction_count -
			    hlo->computations[hlo->computation_count - 1].first;
	}
	return result;
}

int sn_hlo_read_text(struct sn_hlo *hlo, struct sn_db_builder *builder, const char **text,
		     const char *end)
{
	struct reading reading = {.hlo = hlo, .builder = builder};
	*hlo = (struct sn_hlo){.name = SONDE_NONE, .entry_name = SONDE_NONE, .is_text = true};
	int result = read_lines(&reading, text, end);
	/* after a damaged program, reading goes on at the next one */
	while (result == SN_ERR_FORMAT && *text < end &&
	       !begins((struct piece){*text, end}, "HloModule ")) {
		struct piece line = next_line(*text, end);
		*text = line.end < end ? line.end + 1 : end;
	}
	if (!result && (!hlo->computation_count || hlo->name == SONDE_NONE))
		result = SN_ERR_FORMAT;
	if (!result)
		result = sn_hlo_place(hlo, builder, &reading.places);
	sn_hlo_places_release(&reading.places);
	return result;
}
