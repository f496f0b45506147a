/* SPDX-License-Identifier: Apache-2.0 */
/* Parses events: any event by the general parser, and events of a known shape by the tree of
 * json_shape.h, which is faster. */
#include "json_event.h"

#include <stdlib.h>

/* ---- times ---- */

static bool is_digit(const char *at, const char *end)
{
	return at < end && *at >= '0' && *at <= '9';
}

/* Converts a decimal number of microseconds to nanoseconds; false if it is none. */
static bool read_time(struct sn_json_text text, int64_t *time_ns)
{
	const char *at = text.text, *end = at + text.length;
	bool is_negative = at < end && *at == '-';
	int64_t time = 0;
	at += is_negative;
	if (!is_digit(at, end))
		return false;
	for (; is_digit(at, end); at++) {
		if (time > INT64_MAX / 20000)
			return false;
		time = 10 * time + (*at - '0');
	}
	time *= 1000;
	if (at < end && *at == '.')
		at++;
	for (int64_t place = 100; is_digit(at, end); at++, place /= 10)
		time += place * (*at - '0');
	if (at < end && (*at == 'e' || *at == 'E')) {
		/* strtod stops where the number ends */
		double value = strtod(text.text, NULL);
		*time_ns = (int64_t)(value * 1000);
		return value > -9e15 && value < 9e15;
	}
	*time_ns = is_negative ? -time : time;
	return at == end;
}

/* Parses a number in the usual form of times: up to 4e15 us, without an exponent. Any other number
 * gives false and is not consumed. */
static bool parse_plain_time(struct sn_json_parse *parse, bool *has_time, int64_t *time_ns)
{
	const char *at = parse->at;
	unsigned digit_count;
	bool is_negative = *at == '-';
	at += is_negative;
	uint64_t us = sn_json_digits(&at, &digit_count);
	if (!digit_count || digit_count > 18 || us > 4000000000000000)
		return false;
	int64_t time = (int64_t)us * 1000;
	if (*at == '.')
		for (int64_t place = 100; is_digit(++at, parse->end); place /= 10)
			time += place * (*at - '0');
	if (at >= parse->end || *at == 'e' || *at == 'E')
		return false;
	parse->at = at;
	*has_time = true;
	*time_ns = is_negative ? -time : time;
	return true;
}

/* ---- members ---- */

static enum sn_json_field field_of(struct sn_json_text name, char first_of_value)
{
	static const struct {
		char name[6];
		uint8_t field;
	} known[] = {{"ph", SN_JSON_FIELD_PHASE},     {"name", SN_JSON_FIELD_NAME},
		     {"cat", SN_JSON_FIELD_CATEGORY}, {"ts", SN_JSON_FIELD_TIME},
		     {"dur", SN_JSON_FIELD_DURATION}, {"pid", SN_JSON_FIELD_PID},
		     {"tid", SN_JSON_FIELD_TID},      {"id", SN_JSON_FIELD_ID},
		     {"id2", SN_JSON_FIELD_ID},	      {"scope", SN_JSON_FIELD_SCOPE},
		     {"sf", SN_JSON_FIELD_STACK}};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (sn_json_is(name, known[i].name))
			return known[i].field;
	return sn_json_is(name, "args") && first_of_value == '{' ? SN_JSON_FIELD_ARG
								 : SN_JSON_FIELD_OTHER;
}

/* Where a member's value is stored; `other` for members whose value needs a conversion. */
static struct sn_json_value *value_of(struct sn_json_event *event, enum sn_json_field field,
				      struct sn_json_value *other)
{
	switch (field) {
	case SN_JSON_FIELD_PID:
		return &event->pid;
	case SN_JSON_FIELD_TID:
		return &event->tid;
	case SN_JSON_FIELD_ID:
		return &event->id;
	case SN_JSON_FIELD_SCOPE:
		return &event->scope;
	case SN_JSON_FIELD_STACK:
		return &event->stack;
	default:
		return other;
	}
}

const struct sn_json_value *sn_json_find_arg(const struct sn_json_event *event, const char *name)
{
	for (size_t i = 0; i < event->arg_count; i++)
		if (sn_json_is(event->args[i].name, name))
			return &event->args[i].value;
	return NULL;
}

static void clear(struct sn_json_event *event, const struct sn_json_arg *args)
{
	static const struct sn_json_value nothing;
	event->phase = 0;
	event->name = event->category = (struct sn_json_text){NULL, 0};
	event->pid = event->tid = event->id = event->scope = event->stack = nothing;
	event->has_time = event->has_duration = false;
	event->arg_count = event->args_lost = 0;
	event->args = args;
}

/* ---- any event ---- */

static enum sn_json_result parse_args(struct sn_json_parse *parse, struct sn_json_trail *trail,
				      struct sn_json_arg *args, struct sn_json_event *event)
{
	bool is_first = true;
	enum sn_json_result result = sn_json_expect(parse, '{');
	while (!result) {
		struct sn_json_arg spare;
		bool has_room = event->arg_count < SN_JSON_ARGS_MAX;
		struct sn_json_arg *arg = has_room ? args + event->arg_count : &spare;
		result = sn_json_member(parse, &is_first, &arg->name);
		if (result || !arg->name.text)
			break;
		arg->step = 0;
		sn_json_peek(parse);
		const char *value = parse->at;
		result = sn_json_value(parse, &arg->value);
		event->arg_count += has_room;
		event->args_lost += !has_room;
		if (trail && !result)
			sn_json_trail_note(trail, SN_JSON_FIELD_ARG, arg->name, value, parse->at);
	}
	return result;
}

static enum sn_json_result parse_member(struct sn_json_parse *parse, struct sn_json_text name,
					struct sn_json_trail *trail, struct sn_json_arg *args,
					struct sn_json_event *event)
{
	struct sn_json_value other, *value;
	enum sn_json_field field = field_of(name, sn_json_peek(parse));
	if (field == SN_JSON_FIELD_ARG)
		return parse_args(parse, trail, args, event);
	const char *begin = parse->at;
	enum sn_json_result result = sn_json_value(parse, value = value_of(event, field, &other));
	if (field == SN_JSON_FIELD_PHASE)
		event->phase = !result && value->text.length ? *value->text.text : 0;
	else if (field == SN_JSON_FIELD_NAME)
		event->name = value->text;
	else if (field == SN_JSON_FIELD_CATEGORY)
		event->category = value->text;
	else if (field == SN_JSON_FIELD_TIME)
		event->has_time =
		    !result && value->text.text && read_time(value->text, &event->time_ns);
	else if (field == SN_JSON_FIELD_DURATION)
		event->has_duration =
		    !result && value->text.text && read_time(value->text, &event->duration_ns);
	if (trail && !result)
		sn_json_trail_note(trail, field, name, begin, parse->at);
	return result;
}

static enum sn_json_result parse_any(struct sn_json_parse *parse, struct sn_json_trail *trail,
				     struct sn_json_arg *args, struct sn_json_event *event)
{
	bool is_first = true;
	clear(event, args);
	enum sn_json_result result = sn_json_expect(parse, '{');
	while (!result) {
		struct sn_json_text name;
		result = sn_json_member(parse, &is_first, &name);
		if (result || !name.text)
			break;
		result = parse_member(parse, name, trail, args, event);
	}
	if (trail && !result)
		sn_json_trail_note(trail, SN_JSON_FIELD_END, (struct sn_json_text){NULL, 0},
				   parse->at, parse->at);
	return result;
}

/* ---- events of known shapes ---- */

/* The string whose opening quote has been taken; the closing one belongs to the
 * next step's text. */
static inline bool parse_known_text(struct sn_json_parse *parse, struct sn_json_value *value)
{
	const char *begin = parse->at, *end = sn_json_special(begin, parse->end);
	value->kind = SN_JSON_TEXT;
	if (end >= parse->end)
		return false;
	if (*end == '"') {
		value->text = (struct sn_json_text){begin, (size_t)(end - begin)};
		parse->at = end;
		return true;
	}
	parse->at--;
	bool is_parsed = !sn_json_text(parse, &value->text);
	parse->at--;
	return is_parsed;
}

static inline bool parse_known_value(struct sn_json_parse *parse, const struct sn_json_step *step,
				     struct sn_json_value *value)
{
	if (step->kind == SN_JSON_STEP_TEXT)
		return parse_known_text(parse, value);
	if (step->kind == SN_JSON_STEP_NUMBER)
		return sn_json_whole_number(parse, value) || !sn_json_number_value(parse, value);
	return !sn_json_value(parse, value);
}

/* Parses the value that follows a step. False if the general parser has to parse the event. */
static inline bool parse_known(struct sn_json_parse *parse, const struct sn_json_step *step,
			       uint32_t number, struct sn_json_arg *args,
			       struct sn_json_event *event)
{
	struct sn_json_value other, *value;
	enum sn_json_field field = step->field;
	if (field == SN_JSON_FIELD_TIME)
		return parse_plain_time(parse, &event->has_time, &event->time_ns);
	if (field == SN_JSON_FIELD_DURATION)
		return parse_plain_time(parse, &event->has_duration, &event->duration_ns);
	if (field == SN_JSON_FIELD_ARG) { /* a trail has fewer arguments than there is room for */
		struct sn_json_arg *arg = args + event->arg_count++;
		arg->name =
		    (struct sn_json_text){parse->at - step->length + step->name, step->name_length};
		arg->step = number;
		value = &arg->value;
	} else {
		value = value_of(event, field, &other);
	}
	if (!parse_known_value(parse, step, value))
		return false;
	if (field == SN_JSON_FIELD_NAME)
		event->name = value->text;
	return true;
}

static bool parse_by_shape(struct sn_json_parse *parse, const struct sn_json_shapes *shapes,
			   struct sn_json_arg *args, struct sn_json_event *event)
{
	uint16_t number = 0;
	clear(event, args);
	while ((number = sn_json_shapes_follow(shapes, number, parse->at))) {
		const struct sn_json_step *step = shapes->steps + number;
		if (step->has_phase)
			event->phase = step->phase;
		if (step->category)
			event->category = (struct sn_json_text){parse->at + step->category,
								step->category_length};
		parse->at += step->length;
		if (step->field == SN_JSON_FIELD_END)
			return true;
		if (!parse_known(parse, step, shapes->base + number, args, event))
			return false;
	}
	return false;
}
_Static_assert((int)SN_JSON_TRAIL_MAX < SN_JSON_ARGS_MAX, "all arguments of a shape have room");

/* Parses by the general parser and learns the event's shape. Not inlined, because it is rare. */
static __attribute__((noinline)) enum sn_json_result parse_and_learn(struct sn_json_parse *parse,
								     struct sn_json_shapes *shapes,
								     struct sn_json_arg *args,
								     struct sn_json_event *event)
{
	struct sn_json_trail trail;
	sn_json_trail_begin(&trail, parse->at);
	enum sn_json_result result = parse_any(parse, &trail, args, event);
	if (!result)
		sn_json_shapes_learn(shapes, &trail);
	return result;
}

enum sn_json_result sn_json_event(struct sn_json_parse *parse, struct sn_json_shapes *shapes,
				  struct sn_json_arg *args, struct sn_json_event *event)
{
	const char *begin = (sn_json_peek(parse), parse->at);
	size_t scratch_count = parse->window->scratch_count;
	if (shapes && shapes->count) {
		if (parse_by_shape(parse, shapes, args, event))
			return SN_JSON_DONE;
		parse->at = begin;
		parse->window->scratch_count = scratch_count;
	}
	return shapes && shapes->count < SN_JSON_STEPS_MAX
		   ? parse_and_learn(parse, shapes, args, event)
		   : parse_any(parse, NULL, args, event);
}
