/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of event shapes: how it learns. */
#include "json_shape.h"

#include <stdlib.h>

/* Comparing as many texts takes about as long as the general parser, so no more are added. */
#define CHILDREN_MAX 24u

void sn_json_shapes_release(struct sn_json_shapes *shapes)
{
	free(shapes->steps);
	*shapes = (struct sn_json_shapes){0};
}

void sn_json_trail_begin(struct sn_json_trail *trail, const char *at)
{
	trail->from = at;
	trail->is_lost = false;
	trail->count = 0;
	trail->pending = (struct sn_json_step){.child = 0};
}

static bool is_text_without_escapes(const char *value, const char *end)
{
	return end - value >= 2 && *value == '"' && !memchr(value, '\\', (size_t)(end - value));
}

/* The values of "ph" and "cat" become part of the step's text instead of ending it. */
static bool note_constant(struct sn_json_trail *trail, enum sn_json_field field, const char *value,
			  const char *end)
{
	struct sn_json_step *step = &trail->pending;
	size_t length = (size_t)(end - value) - 2;
	if (end - trail->from >= SN_JSON_STEP_BYTES || !is_text_without_escapes(value, end))
		return false;
	if (field == SN_JSON_FIELD_PHASE) {
		step->has_phase = true;
		step->phase = length ? value[1] : 0;
	} else {
		step->category = (uint8_t)(value + 1 - trail->from);
		step->category_length = (uint8_t)length;
	}
	return true;
}

static bool note_step(struct sn_json_trail *trail, enum sn_json_field field,
		      struct sn_json_text name, const char *value)
{
	struct sn_json_step *step = &trail->pending;
	bool is_text = field != SN_JSON_FIELD_END && *value == '"';
	size_t length = (size_t)(value - trail->from) + is_text;
	/* a text with a NUL could match the zeroes behind a piece and whatever follows them */
	if (length > SN_JSON_STEP_BYTES || trail->count == SN_JSON_TRAIL_MAX ||
	    memchr(trail->from, 0, length))
		return false;
	if (field == SN_JSON_FIELD_ARG) {
		/* a name with escapes was resolved elsewhere and is not in the text */
		if (name.text < trail->from || name.text >= value)
			return false;
		step->name = (uint8_t)(name.text - trail->from);
		step->name_length = (uint8_t)name.length;
	}
	memcpy(step->text, trail->from, length);
	step->length = (uint8_t)length;
	step->field = (uint8_t)field;
	step->kind = is_text						 ? SN_JSON_STEP_TEXT
		     : (*value >= '0' && *value <= '9') || *value == '-' ? SN_JSON_STEP_NUMBER
									 : SN_JSON_STEP_ANY;
	trail->steps[trail->count++] = *step;
	*step = (struct sn_json_step){.child = 0};
	return true;
}

void sn_json_trail_note(struct sn_json_trail *trail, enum sn_json_field field,
			struct sn_json_text name, const char *value, const char *end)
{
	if (trail->is_lost)
		return;
	if (field == SN_JSON_FIELD_PHASE || field == SN_JSON_FIELD_CATEGORY) {
		trail->is_lost = !note_constant(trail, field, value, end);
		return;
	}
	trail->is_lost = !note_step(trail, field, name, value);
	trail->from = *value == '"' ? end - 1 : end;
}

static bool is_same(const struct sn_json_step *a, const struct sn_json_step *b)
{
	return a->length == b->length && a->kind == b->kind && a->field == b->field &&
	       !memcmp(a->text, b->text, a->length);
}

/* The child of `parent` that equals `step`, added if there is none; 0 if there is no room. */
static uint16_t child_of(struct sn_json_shapes *shapes, uint16_t parent,
			 const struct sn_json_step *step)
{
	unsigned children = 0;
	for (uint16_t i = shapes->steps[parent].child; i; i = shapes->steps[i].next, children++)
		if (is_same(shapes->steps + i, step))
			return i;
	if (children >= CHILDREN_MAX || shapes->count >= SN_JSON_STEPS_MAX)
		return 0;
	uint16_t added = (uint16_t)shapes->count++;
	shapes->steps[added] = *step;
	shapes->steps[added].next = shapes->steps[parent].child;
	shapes->steps[parent].child = added;
	return added;
}

void sn_json_shapes_learn(struct sn_json_shapes *shapes, const struct sn_json_trail *trail)
{
	uint16_t at = 0;
	if (trail->is_lost)
		return;
	if (!shapes->steps) {
		/* untouched pages of the array take no memory */
		size_t bytes = SN_JSON_STEPS_MAX * sizeof(*shapes->steps);
		shapes->steps = aligned_alloc(sizeof(*shapes->steps), bytes);
		if (!shapes->steps)
			return;
		shapes->steps[shapes->count++] = (struct sn_json_step){.child = 0};
	}
	for (size_t i = 0; i < trail->count; i++) {
		at = child_of(shapes, at, trail->steps + i);
		if (!at)
			return;
	}
}
