/* SPDX-License-Identifier: Apache-2.0 */
/* Events out of JSON, in general and by the shapes of those before; see json_event.h. */
#include "json_event.h"

#include <stdlib.h>

/* ---- times ---- */

static bool is_digit(const char *at, const char *end)
{
	return at < end && *at >= '0' && *at <= '9';
}

bool sn_trace_json_time(struct sn_json_text text, int64_t *time_ns)
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
		/* the text is followed by something that is no number */
		double value = strtod(text.text, NULL);
		*time_ns = (int64_t)(value * 1000);
		return value > -9e15 && value < 9e15;
	}
	*time_ns = is_negative ? -time : time;
	return at == end;
}

static enum sn_json_result take_time(struct sn_json_parse *parse, bool *has_time, int64_t *time_ns)
{
	struct sn_json_value value;
	enum sn_json_result result = sn_json_value(parse, &value);
	*has_time = !result && value.text.text && sn_trace_json_time(value.text, time_ns);
	return result;
}

/* The same of a number that is written as times are: of up to 4e15 us, without exponent. False for
 * all others, and parsing stands where it stood. */
static bool take_plain_time(struct sn_json_parse *parse, bool *has_time, int64_t *time_ns)
{
	const char *at = parse->at;
	unsigned digit_count;
	bool is_negative = *at == '-';
	at += is_negative;
	uint64_t us = sn_json_digits(&at, &digit_count);
	int64_t time = (int64_t)us * 1000;
	if (!digit_count || digit_count > 18 || us > 4000000000000000)
		return false;
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

/* ---- any event ---- */

static enum sn_json_field field_of(struct sn_json_text name, char first_of_value)
{
	if (sn_json_is(name, "ph"))
		return SN_JSON_FIELD_PHASE;
	if (sn_json_is(name, "name"))
		return SN_JSON_FIELD_NAME;
	if (sn_json_is(name, "cat"))
		return SN_JSON_FIELD_CATEGORY;
	if (sn_json_is(name, "ts"))
		return SN_JSON_FIELD_TIME;
	if (sn_json_is(name, "dur"))
		return SN_JSON_FIELD_DURATION;
	if (sn_json_is(name, "pid"))
		return SN_JSON_FIELD_PID;
	if (sn_json_is(name, "tid"))
		return SN_JSON_FIELD_TID;
	if (sn_json_is(name, "id") || sn_json_is(name, "id2"))
		return SN_JSON_FIELD_ID;
	if (sn_json_is(name, "scope"))
		return SN_JSON_FIELD_SCOPE;
	if (sn_json_is(name, "sf"))
		return SN_JSON_FIELD_STACK;
	if (sn_json_is(name, "args") && first_of_value == '{')
		return SN_JSON_FIELD_ARG;
	return SN_JSON_FIELD_OTHER;
}

static enum sn_json_result take_args(struct sn_json_parse *parse, struct sn_json_trail *trail,
				     struct sn_json_event *event)
{
	bool is_first = true;
	enum sn_json_result result = sn_json_expect(parse, '{');
	while (!result) {
		struct sn_json_arg spare;
		bool has_room = event->arg_count < SN_JSON_ARGS_MAX;
		struct sn_json_arg *arg = has_room ? event->args + event->arg_count : &spare;
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

/* A value into the member of the event that it is; not of arguments. */
static enum sn_json_result take_field(struct sn_json_parse *parse, enum sn_json_field field,
				      struct sn_json_event *event)
{
	struct sn_json_value other;
	enum sn_json_result result;
	switch (field) {
	case SN_JSON_FIELD_TIME:
		return take_time(parse, &event->has_time, &event->time_ns);
	case SN_JSON_FIELD_DURATION:
		return take_time(parse, &event->has_duration, &event->duration_ns);
	case SN_JSON_FIELD_PID:
		return sn_json_value(parse, &event->pid);
	case SN_JSON_FIELD_TID:
		return sn_json_value(parse, &event->tid);
	case SN_JSON_FIELD_ID:
		return sn_json_value(parse, &event->id);
	case SN_JSON_FIELD_SCOPE:
		return sn_json_value(parse, &event->scope);
	case SN_JSON_FIELD_STACK:
		return sn_json_value(parse, &event->stack);
	default:
		result = sn_json_value(parse, &other);
	}
	if (field == SN_JSON_FIELD_PHASE)
		event->phase = !result && other.text.length ? *other.text.text : 0;
	else if (field == SN_JSON_FIELD_NAME)
		event->name = other.text;
	else if (field == SN_JSON_FIELD_CATEGORY)
		event->category = other.text;
	return result;
}

static enum sn_json_result take_member(struct sn_json_parse *parse, struct sn_json_text name,
				       struct sn_json_trail *trail, struct sn_json_event *event)
{
	enum sn_json_field field = field_of(name, sn_json_peek(parse));
	if (field == SN_JSON_FIELD_ARG)
		return take_args(parse, trail, event);
	const char *value = parse->at;
	enum sn_json_result result = take_field(parse, field, event);
	if (trail && !result)
		sn_json_trail_note(trail, field, name, value, parse->at);
	return result;
}

static void clear(struct sn_json_event *event)
{
	static const struct sn_json_value nothing;
	event->phase = 0;
	event->name = event->category = (struct sn_json_text){NULL, 0};
	event->pid = event->tid = event->id = event->scope = event->stack = nothing;
	event->has_time = event->has_duration = false;
	event->arg_count = event->args_lost = 0;
}

static enum sn_json_result take_event(struct sn_json_parse *parse, struct sn_json_trail *trail,
				      struct sn_json_event *event)
{
	bool is_first = true;
	clear(event);
	enum sn_json_result result = sn_json_expect(parse, '{');
	while (!result) {
		struct sn_json_text name;
		result = sn_json_member(parse, &is_first, &name);
		if (result || !name.text)
			break;
		result = take_member(parse, name, trail, event);
	}
	if (trail && !result)
		sn_json_trail_note(trail, SN_JSON_FIELD_END, (struct sn_json_text){NULL, 0},
				   parse->at, parse->at);
	return result;
}

/* ---- events of known shapes ---- */

/* A string after its opening quote; the closing one belongs to the next step. */
static inline bool take_known_text(struct sn_json_parse *parse, struct sn_json_value *value)
{
	const char *begin = parse->at, *end = sn_json_special(begin, parse->end);
	if (end >= parse->end)
		return false;
	if (*end == '\\') {
		parse->at--;
		bool is_taken = !sn_json_text(parse, &value->text);
		end = parse->at - 1;
		if (!is_taken)
			return false;
	} else {
		value->text = (struct sn_json_text){begin, (size_t)(end - begin)};
	}
	value->kind = SN_JSON_TEXT;
	parse->at = end;
	return true;
}

static inline bool take_known_value(struct sn_json_parse *parse, const struct sn_json_step *step,
				    struct sn_json_value *value)
{
	if (step->kind == SN_JSON_STEP_TEXT)
		return take_known_text(parse, value);
	if (step->kind == SN_JSON_STEP_NUMBER)
		return sn_json_whole_number(parse, value) || !sn_json_number_value(parse, value);
	return !sn_json_value(parse, value);
}

/* The value behind a step. False leaves the event to the general parser. */
static bool take_known(struct sn_json_parse *parse, const struct sn_json_step *step,
		       uint16_t number, struct sn_json_event *event)
{
	struct sn_json_value other;
	struct sn_json_arg *arg;
	switch (step->field) {
	case SN_JSON_FIELD_TIME:
		return take_plain_time(parse, &event->has_time, &event->time_ns);
	case SN_JSON_FIELD_DURATION:
		return take_plain_time(parse, &event->has_duration, &event->duration_ns);
	case SN_JSON_FIELD_PID:
		return take_known_value(parse, step, &event->pid);
	case SN_JSON_FIELD_TID:
		return take_known_value(parse, step, &event->tid);
	case SN_JSON_FIELD_ID:
		return take_known_value(parse, step, &event->id);
	case SN_JSON_FIELD_SCOPE:
		return take_known_value(parse, step, &event->scope);
	case SN_JSON_FIELD_STACK:
		return take_known_value(parse, step, &event->stack);
	case SN_JSON_FIELD_ARG: /* of which a trail has fewer than there is room for */
		arg = event->args + event->arg_count++;
		arg->name =
		    (struct sn_json_text){parse->at - step->length + step->name, step->name_length};
		arg->step = number;
		return take_known_value(parse, step, &arg->value);
	case SN_JSON_FIELD_NAME:
		if (!take_known_value(parse, step, &other))
			return false;
		event->name = other.text;
		return true;
	default:
		return take_known_value(parse, step, &other);
	}
}

static bool take_known_event(struct sn_json_parse *parse, const struct sn_json_shapes *shapes,
			     struct sn_json_event *event)
{
	uint16_t number = 0;
	clear(event);
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
		if (!take_known(parse, step, number, event))
			return false;
	}
	return false;
}
_Static_assert((int)SN_JSON_TRAIL_MAX < SN_JSON_ARGS_MAX, "all arguments of a shape have room");

enum sn_json_result sn_json_event(struct sn_json_parse *parse, struct sn_json_shapes *shapes,
				  struct sn_json_event *event)
{
	const char *begin = (sn_json_peek(parse), parse->at);
	if (shapes && shapes->count) {
		if (take_known_event(parse, shapes, event))
			return SN_JSON_DONE;
		parse->at = begin;
		sn_json_window_forget(parse->window);
	}
	if (!shapes || shapes->count == SN_JSON_STEPS_MAX)
		return take_event(parse, NULL, event);
	struct sn_json_trail trail;
	sn_json_trail_begin(&trail, begin);
	enum sn_json_result result = take_event(parse, &trail, event);
	if (!result)
		sn_json_shapes_learn(shapes, &trail);
	return result;
}
