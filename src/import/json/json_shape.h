/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts between the values of events, so that of an event that resembles an earlier one only
 * the values are parsed: a program writes the same members in the same order again and again, with
 * the same white space.
 *
 * Shapes are a tree. A step is a text up to the begin of a value, as
 *
 *     ", "pid":               after which a number comes
 *     , "args": {"stream":
 *     }}                      after which the event is over
 *
 * and its children are the texts that have followed that value so far; the values of "ph" and
 * "cat", of which there are few, are part of the text, so that events of different categories are
 * distinguished at once. The general parser determines what a text says about its value, by the
 * texts alone: if all texts of an event are known, the result is the same. If one is not, that
 * parser parses the event, and its texts are added. (The idea is that of the pattern trees of
 * Mison: Li et al., A Fast JSON Parser for Data Analytics, VLDB 2017, which finds fields of queries
 * by their positions in an index of colons; here all values are wanted and no index is made.)
 */
#pragma once

#include "json_scan.h"
#include "trace_json.h"

/* Which member of an event a value is. */
enum sn_json_field {
	SN_JSON_FIELD_END, /* none: the event is over */
	SN_JSON_FIELD_PHASE,
	SN_JSON_FIELD_CATEGORY,
	SN_JSON_FIELD_NAME,
	SN_JSON_FIELD_TIME,
	SN_JSON_FIELD_DURATION,
	SN_JSON_FIELD_PID,
	SN_JSON_FIELD_TID,
	SN_JSON_FIELD_ID,
	SN_JSON_FIELD_SCOPE,
	SN_JSON_FIELD_STACK,
	SN_JSON_FIELD_ARG,
	SN_JSON_FIELD_OTHER, /* is left out */
};

enum { SN_JSON_STEP_BYTES = 112, SN_JSON_TRAIL_MAX = 96 };

/* Most texts are so short that with them a step is one line of the cache. */
struct sn_json_step {
	uint8_t length;
	uint8_t field;	  /* enum sn_json_field */
	uint8_t kind;	  /* enum sn_json_step_kind */
	bool has_phase;	  /* the text has the value of "ph" */
	char phase;	  /* of it the first character */
	uint8_t category; /* where in the text the value of "cat" is; 0: it is not there */
	uint8_t category_length;
	uint8_t name, name_length; /* of an argument: where in the text its name is */
	uint16_t child, next;	   /* the first child; the next of the same parent; 0: none */
	_Alignas(16) char text[SN_JSON_STEP_BYTES]; /* of a string with its opening quote; then
						     * zeroes */
};
_Static_assert(sizeof(struct sn_json_step) == 128, "steps begin where lines of the cache do");

/* How a value begins. */
enum sn_json_step_kind {
	SN_JSON_STEP_TEXT,
	SN_JSON_STEP_NUMBER, /* with a digit or a minus */
	SN_JSON_STEP_ANY,    /* otherwise */
};

/* The tree; all zeroes is an empty one. Step 0 is the root, the begin of an event. */
struct sn_json_shapes {
	struct sn_json_step *steps; /* room for SN_JSON_STEPS_MAX; NULL before the first */
	size_t count;
	uint32_t base; /* added to the numbers of its steps, which others do not use then */
};

/* An event while the general parser takes it: its steps, still without children. */
struct sn_json_trail {
	const char *from; /* where the text of the next step begins */
	bool is_lost;	  /* the event's texts cannot be added */
	size_t count;
	struct sn_json_step pending; /* what is known of the next step: phase and category */
	struct sn_json_step steps[SN_JSON_TRAIL_MAX];
};

void sn_json_shapes_release(struct sn_json_shapes *shapes);

void sn_json_trail_begin(struct sn_json_trail *trail, const char *at);
/*
 * Records a parsed value: it begins at `value`, and ends before `end`. `name` is its name, in the
 * file's text or elsewhere. At the end of the event value and end are the same.
 */
void sn_json_trail_note(struct sn_json_trail *trail, enum sn_json_field field,
			struct sn_json_text name, const char *value, const char *end);
/* Adds new texts. Does nothing if the event's texts cannot be added or there is no more room. */
void sn_json_shapes_learn(struct sn_json_shapes *shapes, const struct sn_json_trail *trail);

static inline bool sn_json_step_fits(const struct sn_json_step *step, const char *at)
{
	if (!sn_json_starts_with(at, step->text, step->length))
		return false;
	if (step->kind == SN_JSON_STEP_TEXT || step->field == SN_JSON_FIELD_END)
		return true; /* the quote or brace is part of the text */
	char first = at[step->length];
	bool is_number = (first >= '0' && first <= '9') || first == '-';
	return step->kind == SN_JSON_STEP_NUMBER ? is_number : !is_number && first != '"';
}

/* The step after `step` whose text is at `at`; 0: none is known. */
static inline uint16_t sn_json_shapes_follow(const struct sn_json_shapes *shapes, uint16_t step,
					     const char *at)
{
	uint16_t child = shapes->steps[step].child;
	while (child && !sn_json_step_fits(shapes->steps + child, at))
		child = shapes->steps[child].next;
	return child;
}
