/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels compute, from their SPIR-V, as far as those of tests/gpu/suite need it: whole numbers, one dimension, memory by a pointer and
 * an index, and loops. Numbers and operands of instructions are those of the SPIR-V specification 1.0, section 3.32.
 */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC = 0x07230203, HEADER_WORDS = 5, MOST_IDS = 4096 };

enum opcode {
	ENTRY_POINT = 15,
	TYPE_INT = 21,
	TYPE_POINTER = 32,
	CONSTANT = 43,
	FUNCTION = 54,
	PARAMETER = 55,
	FUNCTION_END = 56,
	VARIABLE = 59,
	LOAD = 61,
	STORE = 62,
	ELEMENT = 70, /* OpInBoundsPtrAccessChain */
	EXTRACT = 81,
	ADD = 128,
	MULTIPLY = 132,
	IS_LESS = 176,
	PHI = 245,
	LABEL = 248,
	BRANCH = 249,
	BRANCH_IF = 250,
	RETURN = 253
};

struct code {
	uint32_t *words, count, bound;
	const uint32_t **
	    defined; /* by id, the instruction that gives it; NULL: one that nothing here asks for */
};

static enum opcode opcode_of(const uint32_t *at)
{
	return (enum opcode)(*at & 0xffff);
}

static const uint32_t *after(const uint32_t *at)
{
	return at + (*at >> 16);
}

static const uint32_t *end_of(const struct code *code)
{
	return code->words + code->count;
}

/* ---- reading a module ---- */

/* The id that an instruction gives; 0: none that is asked for. */
static uint32_t given_by(const uint32_t *at)
{
	switch (opcode_of(at)) {
	case TYPE_INT:
	case TYPE_POINTER:
	case LABEL:
		return at[1];
	case CONSTANT:
	case FUNCTION:
	case PARAMETER:
	case VARIABLE:
	case LOAD:
	case ELEMENT:
	case EXTRACT:
	case ADD:
	case MULTIPLY:
	case IS_LESS:
	case PHI:
		return at[2];
	default:
		return 0;
	}
}

static bool is_known_in_functions(const uint32_t *at)
{
	enum opcode opcode = opcode_of(at);
	return given_by(at) || opcode == STORE || opcode == BRANCH || opcode == BRANCH_IF ||
	       opcode == RETURN || opcode == FUNCTION_END;
}

static bool is_read(struct code *code, char *why, size_t size)
{
	bool is_in_function = false;
	for (const uint32_t *at = code->words + HEADER_WORDS; at < end_of(code); at = after(at)) {
		uint32_t length = *at >> 16, id;
		if (!length || length > (size_t)(end_of(code) - at)) {
			snprintf(why, size, "an instruction is longer than the module");
			return false;
		}
		is_in_function |= opcode_of(at) == FUNCTION;
		if (is_in_function && !is_known_in_functions(at)) {
			snprintf(why, size, "the fake does not know instruction %d", opcode_of(at));
			return false;
		}
		is_in_function &= opcode_of(at) != FUNCTION_END;
		id = length > 2 || opcode_of(at) == LABEL ? given_by(at) : 0;
		if (id < code->bound)
			code->defined[id] = at;
	}
	return true;
}

struct code *code_new(const void *words, size_t bytes, char *why, size_t size)
{
	uint32_t header[HEADER_WORDS] = {0};
	memcpy(header, words, bytes < sizeof(header) ? bytes : sizeof(header));
	if (bytes < sizeof(header) || bytes % 4 || header[0] != MAGIC || header[3] > MOST_IDS) {
		snprintf(why, size, "this is no SPIR-V");
		return NULL;
	}
	struct code *code = calloc(1, sizeof(*code));
	code->words = malloc(bytes);
	memcpy(code->words, words, bytes);
	code->count = (uint32_t)(bytes / 4);
	code->bound = header[3];
	code->defined = calloc(code->bound + 1, sizeof(*code->defined));
	if (is_read(code, why, size))
		return code;
	code_free(code);
	return NULL;
}

void code_free(struct code *code)
{
	if (code) {
		free(code->defined);
		free(code->words);
	}
	free(code);
}

uint32_t code_function(const struct code *code, const char *name)
{
	for (const uint32_t *at = code->words + HEADER_WORDS; at < end_of(code); at = after(at))
		if (opcode_of(at) == ENTRY_POINT && !strcmp((const char *)(at + 3), name))
			return at[2];
	return 0;
}

/* ---- running it ---- */

struct item {
	const struct code *code;
	uint64_t *values; /* by id */
	uint64_t index;
	uint32_t before, block; /* labels: where it came from, and where it is */
};

static const uint32_t *defined(const struct code *code, uint32_t id)
{
	if (id >= code->bound || !code->defined[id])
		misused("a kernel uses what it has not defined");
	return code->defined[id];
}

static uint32_t bits_of(const struct code *code, uint32_t type)
{
	const uint32_t *at = defined(code, type);
	return opcode_of(at) == TYPE_INT ? at[2] : 64;
}

static uint64_t value(const struct item *item, uint32_t id)
{
	if (id >= item->code->bound)
		misused("a kernel uses what it has not defined");
	return item->values[id];
}

static void set(struct item *item, const uint32_t *at, uint64_t to)
{
	uint32_t bits = bits_of(item->code, at[1]);
	item->values[at[2]] = bits < 64 ? to & ((1ull << bits) - 1) : to;
}

/* The only vector is the item's place. */
static void load(struct item *item, const uint32_t *at)
{
	uint64_t read = 0;
	if (opcode_of(defined(item->code, at[3])) == VARIABLE)
		return;
	memcpy(&read, (const void *)(uintptr_t)value(item, at[3]), bits_of(item->code, at[1]) / 8);
	set(item, at, read);
}

static void store(const struct item *item, const uint32_t *at)
{
	uint64_t written = value(item, at[2]) + (item->index == 100 && fake_fails("wrong-result"));
	uint32_t type = defined(item->code, at[2])[1];
	memcpy((void *)(uintptr_t)value(item, at[1]), &written, bits_of(item->code, type) / 8);
}

static uint64_t element(const struct item *item, const uint32_t *at)
{
	uint32_t pointed = defined(item->code, at[1])[3];
	return value(item, at[3]) + value(item, at[4]) * (bits_of(item->code, pointed) / 8);
}

/* None of a block's refers to another one of it. */
static uint64_t chosen(const struct item *item, const uint32_t *at)
{
	for (const uint32_t *pair = at + 3; pair + 1 < after(at); pair += 2)
		if (pair[1] == item->before)
			return value(item, pair[0]);
	misused("a kernel comes to a block from nowhere");
}

/* Returns the next instruction. */
static const uint32_t *step(struct item *item, const uint32_t *at)
{
	switch (opcode_of(at)) {
	case LABEL:
		item->before = item->block;
		item->block = at[1];
		break;
	case LOAD:
		load(item, at);
		break;
	case STORE:
		store(item, at);
		break;
	case ELEMENT:
		item->values[at[2]] = element(item, at);
		break;
	case EXTRACT:
		set(item, at, at[4] ? 0 : item->index);
		break;
	case ADD:
		set(item, at, value(item, at[3]) + value(item, at[4]));
		break;
	case MULTIPLY:
		set(item, at, value(item, at[3]) * value(item, at[4]));
		break;
	case IS_LESS:
		item->values[at[2]] = value(item, at[3]) < value(item, at[4]);
		break;
	case PHI:
		set(item, at, chosen(item, at));
		break;
	case BRANCH:
		return defined(item->code, at[1]);
	case BRANCH_IF:
		return defined(item->code, value(item, at[1]) ? at[2] : at[3]);
	default:
		break;
	}
	return after(at);
}

/* Constants and parameters, which are the same for all items. Returns the first instruction that runs. */
static const uint32_t *prepare(struct item *item, const struct work *work)
{
	const struct code *code = item->code;
	for (uint32_t id = 1; id < code->bound; id++)
		if (code->defined[id] && opcode_of(code->defined[id]) == CONSTANT)
			set(item, code->defined[id], code->defined[id][3]);
	const uint32_t *at = after(defined(code, work->function));
	for (uint32_t index = 0; opcode_of(at) == PARAMETER; at = after(at), index++)
		item->values[at[2]] = index < MOST_ARGUMENTS ? work->arguments[index] : 0;
	return at;
}

uint64_t code_run(const struct work *work)
{
	uint64_t most = 0;
	if (!work->code)
		return 0;
	struct item item = {.code = work->code,
			    .values = calloc(work->code->bound, sizeof(*item.values))};
	const uint32_t *first = prepare(&item, work);
	for (; item.index < work->items; item.index++) {
		uint64_t steps = 1;
		for (const uint32_t *at = first; opcode_of(at) != RETURN; steps++)
			at = step(&item, at);
		most = steps > most ? steps : most;
	}
	free(item.values);
	return most;
}
