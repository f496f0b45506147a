/* SPDX-License-Identifier: Apache-2.0 */
/* Call paths of samples in Chrome's JSON; see chrome_stack.h. */
#include "chrome_stack.h"

#include "report/json.h"

#include <stdlib.h>
#include <string.h>

struct frame_key {
	uint32_t parent; /* number; 0 none */
	uint32_t kind, name, file, line, function_line, module;
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
		struct frame_key key = {stack->numbers[node->parent],
					frame->kind,
					frame->name,
					frame->file,
					frame->line,
					frame->function_line,
					frame->module};
		uint32_t number = sn_intern_add(&stack->frames, &key, sizeof(key));
		if (number == SN_INTERN_NONE)
			break;
		stack->numbers[path[count]] = number + 1;
	}
	free(path);
	return stack->numbers[context] || !context ? 0 : SN_ERR_MEMORY;
}

static int take_track(struct sn_chrome_stack *stack, const struct sonde_trace *trace,
		      uint32_t track, struct sn_error *error)
{
	struct sonde_event_cursor *cursor =
	    sonde_event_cursor_new(trace, track, 0, UINT64_MAX, SONDE_EVENTS_BRIEF);
	struct sonde_event_block block;
	struct sonde_db_error why = {"out of memory"};
	int result = cursor ? 1 : SN_ERR_MEMORY;
	while (result > 0 && (result = sonde_event_cursor_next(cursor, &block, &why)) > 0)
		for (size_t i = 0; i < block.count && result > 0; i++)
			if (!stack->numbers[block.contexts[i]] &&
			    number_context(stack, block.contexts[i]))
				result = SN_ERR_MEMORY;
	sonde_event_cursor_free(cursor);
	return result ? sn_fail(error, result, "%s", why.text) : 0;
}

int sn_chrome_stack_init(struct sn_chrome_stack *stack, const struct sonde_db *db,
			 const struct sonde_trace *trace, struct sn_error *error)
{
	*stack = (struct sn_chrome_stack){.db = db};
	int result = 0;
	for (uint32_t i = 0; i < sonde_trace_track_count(trace) && !result; i++) {
		if (sonde_trace_track(trace, i)->kind != SONDE_TRACK_SAMPLES)
			continue;
		if (!stack->numbers)
			stack->numbers =
			    calloc(sonde_db_context_count(db), sizeof(*stack->numbers));
		if (!stack->numbers)
			result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
		else
			result = take_track(stack, trace, i, error);
	}
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
		if (key.module != SONDE_NONE)
			put_text(out, "module",
				 sonde_db_string(stack->db,
						 sonde_db_module(stack->db, key.module)->path));
		fputc('}', out);
	}
	fputs("\n}", out);
}

uint32_t sn_chrome_stack_find(const struct sn_chrome_stack *stack, uint32_t context)
{
	return stack->numbers ? stack->numbers[context] : 0;
}
