/* SPDX-License-Identifier: Apache-2.0 */
/* Trace events out of JSON; see trace_json.h. */
#include "json_event.h"

#include "base/vec.h"

#include <string.h>

#define PROBE_BYTES (1u << 20)

struct sn_trace_json {
	struct sn_json_window window;
	struct sn_json_shapes shapes;
	char *path;
	enum { BEFORE, MEMBERS, EVENTS, AFTER, OVER } state;
	bool is_bare, is_first;
};

/* Room for the escaped texts of any event that the window can hold. */
static int reserve_scratch(struct sn_json_window *window)
{
	window->scratch_count = 0;
	return sn_vec_reserve(&window->scratch, &window->scratch_capacity, window->capacity);
}

int sn_trace_json_open(const char *path, struct sn_trace_json **result, struct sn_error *error)
{
	struct sn_trace_json *reader = calloc(1, sizeof(*reader));
	if (!reader || !(reader->path = strdup(path))) {
		free(reader);
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	}
	int opened = sn_json_window_open(&reader->window, reader->path, error);
	if (opened) {
		sn_trace_json_close(reader);
		return opened;
	}
	*result = reader;
	return 0;
}

void sn_trace_json_close(struct sn_trace_json *reader)
{
	if (!reader)
		return;
	sn_json_window_close(&reader->window);
	sn_json_shapes_release(&reader->shapes);
	free(reader->path);
	free(reader);
}

/* Before an element of an array or object: its separator. At the end *found is SN_TRACE_JSON_END
 * and the bracket is taken. */
static enum sn_json_result separate(struct sn_trace_json *reader, struct sn_json_parse *parse,
				    char close, int *found)
{
	if (sn_json_peek(parse) == close) {
		parse->at++;
		*found = SN_TRACE_JSON_END;
		return SN_JSON_DONE;
	}
	enum sn_json_result result = reader->is_first ? SN_JSON_DONE : sn_json_expect(parse, ',');
	/* many write a comma behind the last element as well */
	if (!result && !reader->is_first && sn_json_peek(parse) == close) {
		parse->at++;
		*found = SN_TRACE_JSON_END;
	}
	return result;
}

static enum sn_json_result step_event(struct sn_trace_json *reader, struct sn_json_parse *parse,
				      struct sn_json_event *event, int *found)
{
	*found = SN_TRACE_JSON_EVENT;
	enum sn_json_result result = separate(reader, parse, ']', found);
	if (!result && *found == SN_TRACE_JSON_EVENT)
		result = sn_json_event(parse, &reader->shapes, event);
	if (result)
		return result;
	if (*found == SN_TRACE_JSON_END)
		reader->state = reader->is_bare ? AFTER : MEMBERS;
	reader->is_first = false;
	return SN_JSON_DONE;
}

static enum sn_json_result step_member(struct sn_trace_json *reader, struct sn_json_parse *parse,
				       struct sn_json_member *member, int *found)
{
	*found = SN_TRACE_JSON_MEMBER;
	enum sn_json_result result = separate(reader, parse, '}', found);
	if (result)
		return result;
	if (*found == SN_TRACE_JSON_END) {
		reader->state = AFTER;
		return SN_JSON_DONE;
	}
	if ((result = sn_json_text(parse, &member->name)) || (result = sn_json_expect(parse, ':')))
		return result;
	if (sn_json_is(member->name, "traceEvents")) {
		result = sn_json_expect(parse, '[');
		if (result)
			return result;
		reader->state = EVENTS;
		reader->is_first = true;
		*found = SN_TRACE_JSON_END;
		return SN_JSON_DONE;
	}
	result = sn_json_value(parse, &member->value);
	if (!result)
		reader->is_first = false;
	return result;
}

static enum sn_json_result step_begin(struct sn_trace_json *reader, struct sn_json_parse *parse,
				      int *found)
{
	static const char mark[] = "\xef\xbb\xbf"; /* of byte order, as some editors write it */
	if (parse->end - parse->at >= 3 && !memcmp(parse->at, mark, 3))
		parse->at += 3;
	char first = sn_json_peek(parse);
	*found = SN_TRACE_JSON_END;
	if (first != '[' && first != '{')
		return parse->at >= parse->end ? SN_JSON_SHORT : SN_JSON_WRONG;
	parse->at++;
	reader->is_bare = first == '[';
	reader->is_first = true;
	reader->state = reader->is_bare ? EVENTS : MEMBERS;
	return SN_JSON_DONE;
}

/* Behind the end: nothing, or all that is there would be lost in silence. */
static enum sn_json_result step_after(struct sn_trace_json *reader, struct sn_json_parse *parse,
				      int *found)
{
	*found = SN_TRACE_JSON_END;
	sn_json_peek(parse);
	if (parse->at < parse->end)
		return SN_JSON_WRONG;
	if (!reader->window.is_over)
		return SN_JSON_SHORT;
	reader->state = OVER;
	return SN_JSON_DONE;
}

static enum sn_json_result step(struct sn_trace_json *reader, struct sn_json_parse *parse,
				struct sn_json_event *event, struct sn_json_member *member,
				int *found)
{
	switch (reader->state) {
	case BEFORE:
		return step_begin(reader, parse, found);
	case EVENTS:
		return step_event(reader, parse, event, found);
	case AFTER:
		return step_after(reader, parse, found);
	default:
		return step_member(reader, parse, member, found);
	}
}

static int damaged(struct sn_trace_json *reader, const struct sn_json_parse *parse, const char *why,
		   struct sn_error *error)
{
	uint64_t at = reader->window.consumed + (uint64_t)(parse->at - reader->window.buffer) -
		      reader->window.begin;
	return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': %s at byte %llu", reader->path, why,
		       (unsigned long long)at);
}

/* Chrome's format lets an array without an object around it end without its bracket, so that a
 * program may write until it dies. */
static bool ends_open(const struct sn_trace_json *reader)
{
	const char *at = reader->window.buffer + reader->window.begin;
	at += strspn(at, " \t\r\n");
	at += !reader->is_first && *at == ',';
	at += strspn(at, " \t\r\n");
	return reader->state == EVENTS && reader->is_bare &&
	       at == reader->window.buffer + reader->window.end;
}

int sn_trace_json_next(struct sn_trace_json *reader, struct sn_json_event *event,
		       struct sn_json_member *member, struct sn_error *error)
{
	while (reader->state != OVER) {
		int found;
		if (reserve_scratch(&reader->window) < 0)
			return sn_fail(error, SN_ERR_MEMORY, "out of memory");
		struct sn_json_parse parse = sn_json_parse_begin(&reader->window);
		enum sn_json_result result = step(reader, &parse, event, member, &found);
		if (result == SN_JSON_DONE) {
			sn_json_parse_end(&parse);
			if (found != SN_TRACE_JSON_END)
				return found;
		} else if (result == SN_JSON_SHORT) {
			int more = sn_json_window_more(&reader->window, error);
			if (more < 0)
				return more;
			if (!more && ends_open(reader))
				return SN_TRACE_JSON_END;
			if (!more && reader->state != AFTER)
				return damaged(reader, &parse, "it ends too early,", error);
		} else {
			return damaged(reader, &parse,
				       reader->state == AFTER ? "more follows its end,"
							      : "not the JSON of a trace",
				       error);
		}
	}
	return SN_TRACE_JSON_END;
}

uint64_t sn_trace_json_bytes(const struct sn_trace_json *reader)
{
	return reader->window.consumed;
}

bool sn_trace_json_probe(const char *path)
{
	/* texts of metadata may come first */
	char *head = malloc(PROBE_BYTES);
	bool is_trace = false;
	if (head && sn_json_window_head(path, head, PROBE_BYTES) > 0) {
		const char *text = head + (strncmp(head, "\xef\xbb\xbf", 3) ? 0 : 3);
		text += strspn(text, " \t\r\n");
		if (*text == '{')
			is_trace =
			    strstr(text, "\"traceEvents\"") || strstr(text, "\"schemaVersion\"");
		else
			is_trace = *text == '[' && strstr(text, "\"ph\"");
	}
	free(head);
	return is_trace;
}
