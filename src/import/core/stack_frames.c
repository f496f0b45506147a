/* SPDX-License-Identifier: Apache-2.0 */
/* Call paths of samples in Chrome's JSON: the "stackFrames" object. */
#include "stack_frames.h"

#include "base/vec.h"
#include "format/measurement/measurement.h"

#include <string.h>

void sn_stack_frames_release(struct sn_stack_frames *frames)
{
	sn_intern_release(&frames->keys);
	free(frames->frames);
	*frames = (struct sn_stack_frames){0};
}

/* The number of a frame's key, new where it is; SONDE_NONE without memory. */
static uint32_t number_of(struct sn_stack_frames *frames, struct sn_json_text key)
{
	uint32_t before = frames->keys.count;
	uint32_t number = sn_intern_add(&frames->keys, key.text, key.length);
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&frames->frames, &frames->capacity, number + 1ull) < 0)
		return SONDE_NONE;
	if (number == before)
		frames->frames[number] =
		    (struct sn_stack_frame){SONDE_NONE, SONDE_NONE, SONDE_NONE};
	return number;
}

static uint8_t kind_of(struct sn_json_text category)
{
	for (uint8_t kind = 1; kind <= SN_FRAME_GPU_OP; kind++)
		if (sn_json_is(category, sonde_frame_kind_name(kind)))
			return kind;
	return SN_FRAME_NATIVE;
}

static uint32_t string(struct sn_db_builder *builder, const struct sn_json_value *value)
{
	return value->text.text
		   ? sn_db_builder_string_n(builder, value->text.text, value->text.length)
		   : SONDE_NONE;
}

/* Parses one frame's object. */
static enum sn_json_result parse_frame(struct sn_stack_frames *frames, uint32_t number,
				       struct sn_json_parse *parse, struct sn_db_builder *builder)
{
	struct sonde_db_frame frame = {.kind = SN_FRAME_NATIVE,
				       .name = sn_db_builder_string(builder, ""),
				       .linkage_name = SONDE_NONE,
				       .module = SONDE_NONE,
				       .file = SONDE_NONE};
	uint32_t parent = SONDE_NONE;
	bool is_first = true;
	enum sn_json_result result = sn_json_expect(parse, '{');
	while (!result) {
		struct sn_json_text name;
		struct sn_json_value value;
		result = sn_json_member(parse, &is_first, &name);
		if (result || !name.text)
			break;
		result = sn_json_value(parse, &value);
		if (result)
			break;
		if (sn_json_is(name, "name"))
			frame.name = string(builder, &value);
		else if (sn_json_is(name, "category"))
			frame.kind = kind_of(value.text);
		else if (sn_json_is(name, "parent") && value.text.text)
			parent = number_of(frames, value.text);
		else if (sn_json_is(name, "file"))
			frame.file = string(builder, &value);
		else if (sn_json_is(name, "line") && value.integer > 0 && value.integer < INT32_MAX)
			frame.line = (uint32_t)value.integer;
	}
	frames->frames[number].parent = parent;
	frames->frames[number].frame = sn_db_builder_frame(builder, &frame);
	return result;
}

int sn_stack_frames_parse(struct sn_stack_frames *frames, struct sn_json_text object,
			  struct sn_db_builder *builder)
{
	/* a window that holds the whole object */
	struct sn_json_window window = {.buffer = calloc(object.length + SN_JSON_SLACK, 1),
					.end = object.length,
					.capacity = object.length};
	if (!window.buffer ||
	    sn_vec_reserve(&window.scratch, &window.scratch_capacity, object.length + 1) < 0) {
		free(window.buffer);
		return SN_ERR_MEMORY;
	}
	memcpy(window.buffer, object.text, object.length);
	struct sn_json_parse parse = sn_json_parse_begin(&window);
	bool is_first = true, failed = false;
	enum sn_json_result result = sn_json_expect(&parse, '{');
	while (!result) {
		struct sn_json_text key;
		result = sn_json_member(&parse, &is_first, &key);
		if (result || !key.text)
			break;
		uint32_t number = number_of(frames, key);
		failed = number == SONDE_NONE;
		if (failed)
			break;
		result = parse_frame(frames, number, &parse, builder);
	}
	free(window.buffer);
	free(window.scratch);
	return failed ? SN_ERR_MEMORY : result ? SN_ERR_FORMAT : 0;
}

uint32_t sn_stack_frames_context(struct sn_stack_frames *frames, const struct sn_json_value *key,
				 struct sn_db_builder *builder)
{
	if (!key->text.text)
		return 0;
	uint32_t leaf = sn_intern_find(&frames->keys, key->text.text, key->text.length);
	if (leaf != SN_INTERN_NONE && frames->frames[leaf].context != SONDE_NONE)
		return frames->frames[leaf].context;
	/* from the frame outwards to the first one that has a context; a cycle of callers ends the
	 * path */
	size_t count = 0, limit = frames->keys.count;
	uint32_t *path = malloc((limit + 1) * sizeof(*path));
	uint32_t context = 0;
	for (uint32_t at = leaf; path && at != SONDE_NONE && at < limit && count < limit;
	     at = frames->frames[at].parent) {
		context = frames->frames[at].context;
		if (context != SONDE_NONE)
			break;
		path[count++] = at;
		context = 0;
	}
	while (path && count--) {
		struct sn_stack_frame *frame = frames->frames + path[count];
		if (frame->frame != SONDE_NONE)
			context = sn_db_builder_context(builder, context, frame->frame);
		frame->context = context;
	}
	free(path);
	return context;
}
