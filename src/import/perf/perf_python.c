/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the records of Python frames; see perf_python.h. */
#include "perf_python.h"

#include "remote/python_eval.h"

#include "base/text.h"
#include "base/vec.h"

#include <string.h>

/* Code objects that a recording may number. */
#define CODES_MOST (1u << 24)
/* Bytes of an evaluation loop. */
#define EVAL_MOST  (4u << 20)

struct sample_key {
	uint64_t time_ns, tid;
};

void sn_perf_python_init(struct sn_perf_python *python, struct sn_merge *merge,
			 struct sn_perf_space *space)
{
	*python = (struct sn_perf_python){.merge = merge, .space = space};
}

void sn_perf_python_release(struct sn_perf_python *python)
{
	for (size_t number = 0; number < python->interpreter_count; number++)
		free(python->interpreters[number].ranges);
	free(python->interpreters);
	free(python->last);
	free(python->codes);
	free(python->records);
	sn_table_release(&python->pids);
	sn_intern_release(&python->samples);
	sn_arena_release(&python->bytes);
	*python = (struct sn_perf_python){0};
}

/* ---- records ---- */

static int add_interpreter(struct sn_perf_python *python, struct sn_cursor cursor)
{
	uint32_t pid = (uint32_t)sn_cursor_u64(&cursor);
	struct sn_perf_interpreter interpreter = {.eval = sn_cursor_u64(&cursor),
						  .eval_bytes = sn_cursor_u64(&cursor),
						  .since_ns = sn_cursor_u64(&cursor),
						  .before = SONDE_NONE};
	if (cursor.failed)
		return 0;
	uint32_t process = sn_table_find(&python->pids, pid), count = python->pids.count;
	if (process != SN_TABLE_NONE) {
		interpreter.before = python->last[process];
	} else {
		if (sn_vec_reserve(&python->last, &python->last_capacity, count + 1ull) < 0 ||
		    sn_table_add(&python->pids, pid) == SN_TABLE_NONE)
			return SN_ERR_MEMORY;
		process = count;
	}
	python->last[process] = (uint32_t)python->interpreter_count;
	return sn_vec_push(&python->interpreters, &python->interpreter_capacity,
			   &python->interpreter_count, interpreter);
}

static int add_code(struct sn_perf_python *python, struct sn_cursor cursor)
{
	struct sn_db_builder *builder = python->merge->builder;
	uint32_t number = sn_cursor_u32(&cursor), first_line = sn_cursor_u32(&cursor);
	uint32_t file_bytes = sn_cursor_u32(&cursor), name_bytes = sn_cursor_u32(&cursor);
	struct sn_cursor file = sn_cursor_slice(&cursor, file_bytes),
			 name = sn_cursor_slice(&cursor, name_bytes);
	if (file.failed || name.failed || number >= CODES_MOST)
		return 0;
	if (sn_vec_reserve(&python->codes, &python->code_capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	while (python->code_count <= number)
		python->codes[python->code_count++] = SN_INTERN_NONE;
	struct sn_merged_code code = {
	    sn_db_builder_string_n(builder, (const char *)file.at, file_bytes),
	    sn_db_builder_string_n(builder, (const char *)name.at, name_bytes), first_line};
	python->codes[number] = sn_intern_add(&python->merge->codes, &code, sizeof(code));
	return python->codes[number] == SN_INTERN_NONE ? SN_ERR_MEMORY : 0;
}

/* Records may lie in memory that is gone by the time their samples are read. */
static int add_frames(struct sn_perf_python *python, const struct sn_perf_raw *record)
{
	struct sn_cursor cursor = sn_perf_cursor(record, 4);
	struct sample_key key = {.tid = sn_cursor_u32(&cursor)};
	key.time_ns = sn_cursor_u64(&cursor);
	if (cursor.failed)
		return 0;
	size_t size = sn_cursor_left(&cursor);
	unsigned char *bytes = sn_arena_allocate(&python->bytes, size + 1);
	if (!bytes)
		return SN_ERR_MEMORY;
	memcpy(bytes, cursor.at, size);
	uint32_t number = sn_intern_item(&python->samples, &key, sizeof(key), &python->records,
					 &python->record_capacity, (struct sn_bytes){bytes, size});
	return number == SN_INTERN_NONE ? SN_ERR_MEMORY : 0;
}

int sn_perf_python_add(struct sn_perf_python *python, const struct sn_perf_raw *record)
{
	switch (record->header.type) {
	case SN_PERF_SONDE_INTERPRETER:
		return add_interpreter(python, sn_perf_cursor(record, 0));
	case SN_PERF_SONDE_CODE:
		return add_code(python, sn_perf_cursor(record, 0));
	case SN_PERF_SONDE_FRAMES:
		return add_frames(python, record);
	default:
		return 0;
	}
}

/* ---- samples ---- */

uint32_t sn_perf_python_frames(const struct sn_perf_python *python, uint32_t tid, uint64_t time_ns,
			       struct sn_numbered_frame *frames)
{
	struct sample_key key = {time_ns, tid};
	uint32_t found = sn_intern_find(&python->samples, &key, sizeof(key)), count = 0;
	if (found == SN_INTERN_NONE)
		return 0;
	struct sn_cursor cursor = sn_cursor_at(python->records[found], 0);
	uint64_t all = sn_cursor_u64(&cursor);
	while (all-- && count < SN_PERF_PYTHON_MOST) {
		uint32_t code = sn_cursor_u32(&cursor), line = sn_cursor_u32(&cursor);
		bool is_entry = sn_cursor_u32(&cursor);
		if (cursor.failed || code >= python->code_count ||
		    python->codes[code] == SN_INTERN_NONE)
			return 0;
		frames[count++] = (struct sn_numbered_frame){python->codes[code], line, is_entry};
	}
	return count;
}

/* Finds the parts of the evaluation loop in the image of its file, and what they are in the process. */
static void find_ranges(struct sn_perf_python *python, uint32_t pid, struct sn_perf_moment when,
			struct sn_perf_interpreter *interpreter)
{
	const struct sn_perf_change *mapping =
	    sn_perf_space_mapping(python->space, pid, when, interpreter->eval);
	interpreter->is_known = true;
	interpreter->object = mapping ? mapping->object : SONDE_NONE;
	interpreter->ranges = malloc(SN_EVAL_RANGES * sizeof(*interpreter->ranges));
	if (!mapping || !interpreter->ranges)
		return;
	struct sn_perf_object *object = &python->space->objects[mapping->object];
	const struct sn_recorded_image *image = sn_perf_object_image(object);
	uintptr_t place =
	    image ? image->module.bias +
			sn_elf_code_address(&object->code,
					    interpreter->eval - mapping->start + mapping->offset)
		  : 0;
	interpreter->range_count = sn_python_eval_ranges(
	    image, place, interpreter->eval, interpreter->eval_bytes, interpreter->ranges);
}

/* The interpreter that a process had then; NULL: it had none. */
static struct sn_perf_interpreter *interpreter_of(struct sn_perf_python *python, uint32_t pid,
						  uint64_t time_ns)
{
	uint32_t process = sn_table_find(&python->pids, pid);
	if (process == SN_TABLE_NONE)
		return NULL;
	struct sn_perf_interpreter *found = &python->interpreters[python->last[process]];
	while (found->since_ns > time_ns && found->before != SONDE_NONE)
		found = &python->interpreters[found->before];
	return found;
}

static bool is_eval(const struct sn_perf_interpreter *interpreter, uint64_t address)
{
	for (uint32_t range = 0; range < interpreter->range_count; range++)
		if (address >= interpreter->ranges[range].start &&
		    address < interpreter->ranges[range].end)
			return true;
	return false;
}

enum sn_python_part sn_perf_python_part(struct sn_perf_python *python, uint32_t pid,
					struct sn_perf_moment when, uint64_t address)
{
	struct sn_perf_interpreter *interpreter = interpreter_of(python, pid, when.time_ns);
	if (!interpreter)
		return SN_PYTHON_PART_OTHER;
	if (!interpreter->is_known)
		find_ranges(python, pid, when, interpreter);
	if (is_eval(interpreter, address))
		return SN_PYTHON_PART_EVAL;
	const struct sn_perf_change *mapping =
	    sn_perf_space_mapping(python->space, pid, when, address);
	if (!mapping)
		return SN_PYTHON_PART_OTHER;
	if (mapping->object == interpreter->object)
		return SN_PYTHON_PART_INTERPRETER;
	return sn_python_starts(python->space->objects[mapping->object].path)
		   ? SN_PYTHON_PART_START
		   : SN_PYTHON_PART_OTHER;
}
