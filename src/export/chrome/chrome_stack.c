/* SPDX-License-Identifier: Apache-2.0 */
/* Call paths of samples in Chrome's JSON; see chrome_stack.h. */
#include "chrome_stack.h"

#include "base/vec.h"
#include "show/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct frame_key {
	uint64_t offset;
	uint32_t parent; /* number; 0 none */
	uint32_t kind, flags, name, file, line, function_line, module;
};

/* Numbers the context's frame and first those of its callers; the root is none. */
static int number_context(struct sn_chrome_stack *stack, uint32_t context)
{
	size_t count = 0;
	for (uint32_t at = context; at && !stack->numbers[at];
	     at = sonde_db_context(stack->db, at)->parent)
		if (sn_vec_push(&stack->path, &stack->path_capacity, &count, at))
			return SN_ERR_MEMORY;
	while (count--) {
		const struct sonde_db_context *node =
		    sonde_db_context(stack->db, stack->path[count]);
		const struct sonde_db_frame *frame = sonde_db_frame(stack->db, node->frame);
		struct frame_key key = {frame->offset, stack->numbers[node->parent],
					frame->kind,   frame->flags,
					frame->name,   frame->file,
					frame->line,   frame->function_line,
					frame->module};
		uint32_t number = sn_intern_add(&stack->frames, &key, sizeof(key));
		if (number == SN_INTERN_NONE)
			return SN_ERR_MEMORY;
		stack->numbers[stack->path[count]] = number + 1;
	}
	return 0;
}

static int number_event(void *context, const struct sn_walk_event *event)
{
	struct sn_chrome_stack *stack = context;
	int needs_path = event->kind == SONDE_TRACK_SAMPLES
			     ? 1
			     : sn_shown_callers_needs_path(&stack->callers, stack->export, event,
							   stack->is_device);
	return needs_path > 0 ? number_context(stack, event->context) : needs_path;
}

int sn_chrome_stack_init(struct sn_chrome_stack *stack, struct sn_trace_export *export,
			 struct sn_error *error)
{
	*stack = (struct sn_chrome_stack){.db = export->db, .export = export};
	stack->numbers =
	    sn_arena_array(&export->arena, uint32_t, sonde_db_context_count(export->db) + 1ull);
	int result = stack->numbers ? 0 : sn_fail_memory(error);
	for (uint32_t i = 0; i < sonde_db_profile_count(export->db) && !result; i++) {
		if (!sn_trace_export_has(export, i))
			continue;
		stack->is_device = sn_trace_export_is_device(export, i);
		sn_shown_callers_begin(&stack->callers);
		result = sn_event_walk_brief(export, i, number_event, stack, error);
	}
	return result;
}

void sn_chrome_stack_release(struct sn_chrome_stack *stack)
{
	sn_intern_release(&stack->frames);
	sn_shown_callers_release(&stack->callers);
	free(stack->path);
}

void sn_chrome_put_text(FILE *out, const char *key, const char *text)
{
	fprintf(out, ",\"%s\":", key);
	sn_json_quote(out, text);
}

static void put_module(FILE *out, const struct sonde_db *db, const struct sonde_db_module *module)
{
	const char *build_id = sonde_db_string(db, module->build_id);
	sn_chrome_put_text(out, "module", sonde_db_string(db, module->path));
	if (*build_id)
		sn_chrome_put_text(out, "build_id", build_id);
}

void sn_chrome_stack_write(const struct sn_chrome_stack *stack, FILE *out)
{
	if (!stack->frames.count)
		return;
	fputs(",\"stackFrames\":{", out);
	for (uint32_t i = 0; i < stack->frames.count; i++) {
		struct frame_key key;
		memcpy(&key, sn_intern_at(&stack->frames, i, NULL), sizeof(key));
		fprintf(out, "%s\n\"%u\":{\"category\":\"%s\"", i ? "," : "", i + 1,
			sonde_frame_kind_name(key.kind));
		sn_chrome_put_text(out, "name", sonde_db_string(stack->db, key.name));
		if (key.parent)
			fprintf(out, ",\"parent\":%u", key.parent);
		if (key.file != SONDE_NONE)
			sn_chrome_put_text(out, "file", sonde_db_string(stack->db, key.file));
		if (key.line)
			fprintf(out, ",\"line\":%u", key.line);
		if (key.function_line)
			fprintf(out, ",\"function_line\":%u", key.function_line);
		if (key.flags)
			fprintf(out, ",\"flags\":%u", key.flags);
		if (key.offset)
			fprintf(out, ",\"offset\":%" PRIu64, key.offset);
		if (key.module != SONDE_NONE)
			put_module(out, stack->db, sonde_db_module(stack->db, key.module));
		fputc('}', out);
	}
	fputs("\n}", out);
}
