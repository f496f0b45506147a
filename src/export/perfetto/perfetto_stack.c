/* SPDX-License-Identifier: Apache-2.0 */
/* Call paths for Perfetto; see perfetto_stack.h. */
#include "perfetto_stack.h"

#include "base/vec.h"
#include "format/measurement/measurement.h"

#include <stdlib.h>
#include <string.h>

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

int sn_perfetto_stack_init(struct sn_perfetto_stack *stack, const struct sonde_db *db)
{
	*stack = (struct sn_perfetto_stack){.db = db};
	stack->contexts = calloc(sonde_db_context_count(db) + 1ull, sizeof(uint32_t));
	stack->frames = calloc(sonde_db_frame_count(db) + 1ull, sizeof(uint32_t));
	stack->modules = calloc(sonde_db_module_count(db) + 1ull, sizeof(uint32_t));
	return stack->contexts && stack->frames && stack->modules ? 0 : -1;
}

void sn_perfetto_stack_release(struct sn_perfetto_stack *stack)
{
	free(stack->contexts);
	free(stack->frames);
	free(stack->modules);
}

void sn_perfetto_stack_forget(struct sn_perfetto_stack *stack)
{
	if (stack->context_count)
		memset(stack->contexts, 0, sonde_db_context_count(stack->db) * sizeof(uint32_t));
	if (stack->frame_count)
		memset(stack->frames, 0, sonde_db_frame_count(stack->db) * sizeof(uint32_t));
	if (stack->module_count)
		memset(stack->modules, 0, sonde_db_module_count(stack->db) * sizeof(uint32_t));
	stack->context_count = stack->frame_count = stack->module_count = 0;
}

/* Texts of frames and modules have the number of the frame or module that brings them: few are
 * shared. */
static void put_text(struct sn_protobuf *interned, struct sn_protobuf *scratch, unsigned field,
		     uint32_t iid, const char *text)
{
	sn_protobuf_clear(scratch);
	sn_protobuf_number(scratch, 1, iid);
	sn_protobuf_bytes(scratch, 2, text, strlen(text));
	sn_protobuf_message(interned, field, scratch);
}

static uint32_t module_iid(struct sn_perfetto_stack *stack, uint32_t number,
			   struct sn_protobuf *interned, struct sn_protobuf *scratch)
{
	const struct sonde_db_module *module = sonde_db_module(stack->db, number);
	if (stack->modules[number])
		return stack->modules[number];
	uint32_t iid = stack->modules[number] = ++stack->module_count;
	const char *build_id = sonde_db_string(stack->db, module->build_id);
	put_text(interned, scratch, PATHS, iid, sonde_db_string(stack->db, module->path));
	if (*build_id)
		put_text(interned, scratch, BUILD_IDS, iid, build_id);
	sn_protobuf_clear(scratch);
	sn_protobuf_number(scratch, 1, iid);
	sn_protobuf_number(scratch, 2, *build_id ? iid : 0);
	sn_protobuf_number(scratch, 7, iid);
	sn_protobuf_message(interned, MAPPINGS, scratch);
	return iid;
}

static uint32_t frame_iid(struct sn_perfetto_stack *stack, uint32_t number,
			  struct sn_protobuf *interned, struct sn_protobuf *scratch)
{
	const struct sonde_db_frame *frame = sonde_db_frame(stack->db, number);
	if (stack->frames[number])
		return stack->frames[number];
	uint32_t iid = stack->frames[number] = ++stack->frame_count, module = 0;
	const char *kind = sonde_frame_kind_name(frame->kind);
	put_text(interned, scratch, FUNCTIONS, iid, sonde_db_string(stack->db, frame->name));
	if (frame->file != SONDE_NONE)
		put_text(interned, scratch, FILES, iid, sonde_db_string(stack->db, frame->file));
	if (frame->module != SONDE_NONE)
		module = module_iid(stack, frame->module, interned, scratch);
	sn_protobuf_clear(scratch);
	sn_protobuf_number(scratch, 1, iid);
	sn_protobuf_number(scratch, 2, iid);
	sn_protobuf_number(scratch, 3, module);
	sn_protobuf_number(scratch, 4, frame->offset);
	sn_protobuf_number(scratch, 5, frame->file != SONDE_NONE ? iid : 0);
	sn_protobuf_number(scratch, 6, frame->line ? frame->line : frame->function_line);
	sn_protobuf_bytes(scratch, 8, kind, strlen(kind));
	if (frame->function_line) /* 0 as well: viewers get the function's line then */
		sn_protobuf_varint_field(scratch, OWN_LINE, frame->line);
	sn_protobuf_number(scratch, OWN_FUNCTION_LINE, frame->function_line);
	sn_protobuf_number(scratch, OWN_FLAGS, frame->flags);
	sn_protobuf_message(interned, FRAMES, scratch);
	return iid;
}

/* The frames of a path, outermost first, into a message. */
static void put_path(struct sn_perfetto_stack *stack, const uint32_t *path, uint32_t count,
		     struct sn_protobuf *message)
{
	bool is_long = count > FRAMES_MAX;
	for (uint32_t i = 0; i < count; i++) {
		if (is_long && i >= FRAMES_MAX / 2 && i < count - FRAMES_MAX / 2)
			continue;
		uint32_t context = path[count - 1 - i];
		sn_protobuf_number(message, 2,
				   stack->frames[sonde_db_context(stack->db, context)->frame]);
	}
	if (!is_long)
		return;
	stack->cut.limit = FRAMES_MAX;
	stack->cut.paths++;
}

uint32_t sn_perfetto_stack_iid(struct sn_perfetto_stack *stack, uint32_t context,
			       struct sn_protobuf *interned, struct sn_protobuf *scratch)
{
	uint32_t count = sonde_db_context(stack->db, context)->depth;
	uint32_t *path = malloc((count + 1ull) * sizeof(*path));
	uint32_t found = 0;
	if (!context || stack->contexts[context] || !path) {
		interned->failed |= !path;
		free(path);
		return stack->contexts[context];
	}
	for (uint32_t at = context; at && found < count;
	     at = sonde_db_context(stack->db, at)->parent) {
		path[found++] = at;
		frame_iid(stack, sonde_db_context(stack->db, at)->frame, interned, scratch);
	}
	stack->contexts[context] = ++stack->context_count;
	sn_protobuf_clear(scratch);
	sn_protobuf_number(scratch, 1, stack->contexts[context]);
	put_path(stack, path, found, scratch);
	sn_protobuf_message(interned, CALLSTACKS, scratch);
	free(path);
	return stack->contexts[context];
}
