/* SPDX-License-Identifier: Apache-2.0 */
/* Call paths for Perfetto; see perfetto_stack.h. */
#include "perfetto_stack.h"

#include "base/vec.h"

#include <stdlib.h>

#define FRAMES_MAX 4096u

/* Fields of Frame that are ours (docs/design/trace-formats.md): others pass over them. */
enum { OWN_LINE = 7000, OWN_FUNCTION_LINE = 7001, OWN_FLAGS = 7002 };

enum {
	FUNCTIONS = 5,
	FRAMES = 6,
	CALLSTACKS = 7,
	BUILD_IDS = 16,
	PATHS = 17,
	FILES = 18,
	MAPPINGS = 19
};

void sn_perfetto_stack_release(struct sn_perfetto_stack *stack)
{
	sn_table_release(&stack->contexts);
	sn_table_release(&stack->frames);
	sn_table_release(&stack->modules);
	sn_buffer_release(&stack->message);
	free(stack->path);
}

void sn_perfetto_stack_forget(struct sn_perfetto_stack *stack)
{
	sn_table_clear(&stack->contexts);
	sn_table_clear(&stack->frames);
	sn_table_clear(&stack->modules);
}

/* Its number, from 1; *is_new: what it stands for is to be written. */
static uint32_t number_of(struct sn_table *table, uint32_t key, bool *is_new,
			  struct sn_buffer *interned)
{
	uint32_t before = table->count, number = sn_table_add(table, key);
	*is_new = number == before;
	interned->failed |= number == SN_TABLE_NONE;
	return number + 1;
}

/* Texts of frames and modules have the number of the frame or module that brings them: few are
 * shared. */
static void put_text(struct sn_perfetto_stack *stack, struct sn_buffer *interned, unsigned field,
		     uint32_t iid, uint32_t string)
{
	sn_protobuf_number(&stack->message, 1, iid);
	sn_protobuf_text(&stack->message, 2, sonde_db_string(stack->db, string));
	sn_protobuf_message(interned, field, &stack->message);
}

static uint32_t module_iid(struct sn_perfetto_stack *stack, uint32_t number,
			   struct sn_buffer *interned)
{
	const struct sonde_db_module *module = sonde_db_module(stack->db, number);
	bool is_new, has_id = *sonde_db_string(stack->db, module->build_id);
	uint32_t iid = number_of(&stack->modules, number, &is_new, interned);
	if (!is_new)
		return iid;
	put_text(stack, interned, PATHS, iid, module->path);
	if (has_id)
		put_text(stack, interned, BUILD_IDS, iid, module->build_id);
	sn_protobuf_number(&stack->message, 1, iid);
	sn_protobuf_number(&stack->message, 2, has_id ? iid : 0);
	sn_protobuf_number(&stack->message, 7, iid);
	sn_protobuf_message(interned, MAPPINGS, &stack->message);
	return iid;
}

static uint32_t frame_iid(struct sn_perfetto_stack *stack, uint32_t number,
			  struct sn_buffer *interned)
{
	const struct sonde_db_frame *frame = sonde_db_frame(stack->db, number);
	struct sn_buffer *message = &stack->message;
	bool is_new;
	uint32_t iid = number_of(&stack->frames, number, &is_new, interned), module = 0;
	if (!is_new)
		return iid;
	put_text(stack, interned, FUNCTIONS, iid, frame->name);
	if (frame->file != SONDE_NONE)
		put_text(stack, interned, FILES, iid, frame->file);
	if (frame->module != SONDE_NONE)
		module = module_iid(stack, frame->module, interned);
	sn_protobuf_number(message, 1, iid);
	sn_protobuf_number(message, 2, iid);
	sn_protobuf_number(message, 3, module);
	sn_protobuf_number(message, 4, frame->offset);
	sn_protobuf_number(message, 5, frame->file != SONDE_NONE ? iid : 0);
	sn_protobuf_number(message, 6, frame->line ? frame->line : frame->function_line);
	sn_protobuf_text(message, 8, sonde_frame_kind_name(frame->kind));
	if (frame->function_line) /* 0 as well: viewers get the function's line then */
		sn_protobuf_varint_field(message, OWN_LINE, frame->line);
	sn_protobuf_number(message, OWN_FUNCTION_LINE, frame->function_line);
	sn_protobuf_number(message, OWN_FLAGS, frame->flags);
	sn_protobuf_message(interned, FRAMES, message);
	return iid;
}

uint32_t sn_perfetto_stack_iid(struct sn_perfetto_stack *stack, uint32_t context,
			       struct sn_buffer *interned)
{
	size_t count = 0;
	bool is_new;
	uint32_t iid = context ? number_of(&stack->contexts, context, &is_new, interned) : 0;
	if (!context || !is_new)
		return iid;
	for (uint32_t at = context; at; at = sonde_db_context(stack->db, at)->parent) {
		uint32_t frame = frame_iid(stack, sonde_db_context(stack->db, at)->frame, interned);
		if (sn_vec_push(&stack->path, &stack->path_capacity, &count, frame))
			interned->failed = true;
	}
	bool is_long = count > FRAMES_MAX;
	sn_protobuf_number(&stack->message, 1, iid);
	for (size_t i = 0; i < count; i++) /* the outermost first */
		if (!is_long || i < FRAMES_MAX / 2 || i >= count - FRAMES_MAX / 2)
			sn_protobuf_number(&stack->message, 2, stack->path[count - 1 - i]);
	sn_protobuf_message(interned, CALLSTACKS, &stack->message);
	if (is_long) {
		stack->cut.limit = FRAMES_MAX;
		stack->cut.paths++;
	}
	return iid;
}
