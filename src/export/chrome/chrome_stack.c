/* SPDX-License-Identifier: Apache-2.0 */
/* Call paths of samples in Chrome's JSON; see chrome_stack.h. */
#include "chrome_stack.h"

#include "show/json.h"
#include "export/shown_callers.h"

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
	uint32_t depth = sonde_db_context(stack->db, context)->depth;
	uint32_t *path = malloc((depth + 1ull) * sizeof(*path));
	uint32_t count = 0;
	if (!path)
		return SN_ERR_MEMORY;
	for (uint32_t at = context; at && !stack->numbers[at];
	     at = sonde_db_context(stack->db, at)->parent)
		path[count++] = at;
	while (count--) {
		const struct sonde_db_context *node = sonde_db_context(stack->db, path[count]);
		const struct sonde_db_frame *frame = sonde_db_frame(stack->db, node->frame);
		struct frame_key key = {frame->offset, stack->numbers[node->parent],
					frame->kind,   frame->flags,
					frame->name,   frame->file,
					frame->line,   frame->function_line,
					frame->module};
		uint32_t number = sn_intern_add(&stack->frames, &key, sizeof(key));
		if (number == SN_INTERN_NONE)
			break;
		stack->numbers[path[count]] = number + 1;
	}
	free(path);
	return stack->numbers[context] || !context ? 0 : SN_ERR_MEMORY;
}

static int take_event(struct sn_chrome_stack *stack, struct sn_shown_callers *callers,
		      struct sn_trace_export *export, const struct sn_walk_event *event,
		      bool is_device)
{
	int needs_path = event->kind == SONDE_TRACK_SAMPLES
			     ? 1
			     : sn_shown_callers_take(callers, export, event, is_device);
	if (needs_path <= 0 || stack->numbers[event->context])
		return needs_path < 0 ? needs_path : 0;
	return number_context(stack, event->context);
}

static int take_profile(struct sn_chrome_stack *stack, struct sn_shown_callers *callers,
			struct sn_trace_export *export, uint32_t profile, struct sn_error *error)
{
	bool is_device = sonde_db_profile(stack->db, profile)->kind == SONDE_PROFILE_STREAM;
	struct sn_event_walk *walk = sn_event_walk_new(export, profile);
	struct sn_walk_event event;
	int result = 1;
	if (!walk)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	sn_event_walk_skip_attributes(walk);
	sn_shown_callers_begin(callers);
	while (result > 0 && (result = sn_event_walk_next(walk, &event, error)) > 0)
		if (take_event(stack, callers, export, &event, is_device))
			result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	sn_event_walk_free(walk);
	return result;
}

int sn_chrome_stack_init(struct sn_chrome_stack *stack, struct sn_trace_export *export,
			 struct sn_error *error)
{
	struct sn_shown_callers callers = {0};
	*stack = (struct sn_chrome_stack){.db = export->db};
	stack->numbers = calloc(sonde_db_context_count(export->db) + 1ull, sizeof(*stack->numbers));
	int result = stack->numbers ? 0 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < sonde_db_profile_count(export->db) && !result; i++)
		if (sonde_trace_first_track(export->trace, i) != SONDE_NONE)
			result = take_profile(stack, &callers, export, i, error);
	sn_shown_callers_release(&callers);
	if (result)
		sn_chrome_stack_release(stack);
	return result;
}

void sn_chrome_stack_release(struct sn_chrome_stack *stack)
{
	sn_intern_release(&stack->frames);
	free(stack->numbers);
	*stack = (struct sn_chrome_stack){0};
}

static void put_text(FILE *out, const char *key, const char *text)
{
	fprintf(out, ",\"%s\":", key);
	sn_json_quote(out, text);
}

static void put_module(FILE *out, const struct sonde_db *db, const struct sonde_db_module *module)
{
	const char *build_id = sonde_db_string(db, module->build_id);
	put_text(out, "module", sonde_db_string(db, module->path));
	if (*build_id)
		put_text(out, "build_id", build_id);
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
		put_text(out, "name", sonde_db_string(stack->db, key.name));
		if (key.parent)
			fprintf(out, ",\"parent\":%u", key.parent);
		if (key.file != SONDE_NONE)
			put_text(out, "file", sonde_db_string(stack->db, key.file));
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

uint32_t sn_chrome_stack_find(const struct sn_chrome_stack *stack, uint32_t context)
{
	return stack->numbers ? stack->numbers[context] : 0;
}
