/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads trace events from JSON with several threads.
 *
 * The text is read in pieces, which threads parse in parallel and which are passed to the visitor
 * in order (base/pool.h). A piece should begin where an event ends, but only a parser that started
 * at the begin of the file knows such places. So the reader guesses: an event ends where "}, {" and
 * a quote follow. The guess is wrong if a string, or a list of objects in an argument, contains the
 * same; the piece is then parsed a second time.
 * The visiting stage knows where the pieces before have ended. A guess was right if that is exactly
 * the end of the piece before, among the events. Otherwise the rest of the text before is put in
 * front of the piece, and both are parsed.
 */
#include "json_event.h"

#include "base/buffer.h"
#include "base/pool.h"
#include "base/vec.h"
#include "import/core/packed_file.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PROBE_BYTES (1u << 20)
#define PIECE_BYTES (256u << 10)
#define REST_MAX    (4u << 20) /* what a piece grows by, at most, while a value continues */
#define SLOTS_EACH  4u
#define EVENTS_MAX  (32u << 10) /* in a piece at once; four arguments count as one event */
#define THREADS_MAX 8u		/* visiting takes about as long as parsing with this number */

/* Where in the structure of the file parsing is. */
struct place {
	enum { BEFORE, MEMBERS, EVENTS, AFTER } state;
	bool is_bare; /* the array has no object around it */
	bool is_first;
};

struct member {
	size_t event; /* it comes before the event of this number */
	struct sn_json_member member;
};

struct piece {
	/* the text; bytes before `begin` have been parsed */
	struct sn_json_window text;
	struct place from, to; /* where parsing began and ended */
	enum sn_json_result result;
	size_t stopped; /* a place in the buffer, not before `begin` */
	struct sn_json_event *events;
	struct sn_json_arg *args; /* all events' arguments, one after the other */
	struct member *members;
	size_t event_count, event_capacity, arg_count, arg_capacity, member_count, member_capacity;
	bool is_last, is_large; /* is_large: a value exceeds the limit */
	int failed;		/* the error of reading what follows the piece */
	struct sn_error why;
};

struct reader {
	const char *path;
	const struct sn_trace_json_visitor *visitor;
	struct piece pieces[SLOTS_EACH * THREADS_MAX];
	struct sn_json_shapes shapes[THREADS_MAX]; /* by worker */
	/* state of the reading stage */
	void *file;
	struct sn_buffer tail; /* read, but behind the end of the last piece */
	bool is_begun, is_over, is_bare;
	/* state of the visiting stage */
	struct place place;
	struct sn_buffer rest; /* unparsed: an event or member that continues */
	uint64_t consumed;     /* bytes of the file before `rest` */
	struct sn_error *error;
	/* Shared by both stages: about the size of `rest`. Relaxed, because it only determines how
	 * much is read at once, so that a long value is not parsed again too often. */
	atomic_size_t rest_bytes;
};

/* ---- reading ---- */

static bool is_space(char character)
{
	return character == ' ' || character == '\n' || character == '\t' || character == '\r';
}

/* The last place in the text where an event seems to end; the text's end if there is none. */
static size_t guess_end(const char *text, size_t length)
{
	for (const char *open = text + length; open > text;) {
		if (*--open != '{')
			continue;
		const char *next = open + 1, *before = open;
		while (next < text + length && is_space(*next))
			next++;
		while (before > text && is_space(before[-1]))
			before--;
		if (next == text + length || *next != '"' || before == text || *--before != ',')
			continue;
		while (before > text && is_space(before[-1]))
			before--;
		if (before > text && before[-1] == '}')
			return (size_t)(before - text);
	}
	return length;
}

/* Skips a byte order mark, which some editors write, and white space. */
static const char *begin_of(const char *text)
{
	text += strncmp(text, "\xef\xbb\xbf", 3) ? 0 : 3;
	return text + strspn(text, " \t\r\n");
}

/* Fills a piece with the tail of the piece before and more of the file; sets is_last at
 * the file's end. */
static int fill(struct reader *reader, struct piece *piece)
{
	struct sn_json_window *text = &piece->text;
	size_t rest = atomic_load_explicit(&reader->rest_bytes, memory_order_relaxed);
	size_t wanted = reader->tail.count + PIECE_BYTES + (rest < REST_MAX ? rest : REST_MAX);
	if (sn_vec_reserve(&text->buffer, &text->capacity, wanted + SN_JSON_SLACK) < 0)
		return sn_fail_memory(&piece->why);
	if (reader->tail.count)
		memcpy(text->buffer, reader->tail.bytes, reader->tail.count);
	int64_t got = 1;
	for (text->end = reader->tail.count; got > 0 && text->end < wanted;
	     text->end += (size_t)got) {
		got = sn_json_file_read(reader->file, reader->path, text->buffer + text->end,
					wanted - text->end, &piece->why);
		if (got < 0)
			return (int)got;
	}
	piece->is_last = !got;
	return 0;
}

static int read_piece(void *context, unsigned worker, size_t slot)
{
	struct reader *reader = context;
	struct piece *piece = reader->pieces + slot;
	struct sn_json_window *text = &piece->text;
	if (reader->is_over)
		return SN_STAGES_END;
	text->end = 0;
	piece->failed = fill(reader, piece);
	piece->is_last |= piece->failed != 0;
	size_t end = piece->is_last ? text->end : guess_end(text->buffer, text->end);
	reader->tail.count = 0;
	sn_buffer_put(&reader->tail, text->buffer + end, text->end - end);
	if (reader->tail.failed && !piece->failed)
		piece->failed = sn_fail_memory(&piece->why);
	text->end = end;
	if (text->buffer)
		memset(text->buffer + end, 0, SN_JSON_SLACK);
	if (!reader->is_begun)
		reader->is_bare = text->buffer && *begin_of(text->buffer) == '[';
	piece->from = (struct place){reader->is_begun ? EVENTS : BEFORE,
				     reader->is_begun && reader->is_bare, false};
	reader->is_begun = true;
	reader->is_over = piece->is_last || piece->failed;
	return 0;
}

/* ---- parsing ---- */

/* Takes the separator before an element of an array or object, or its closing bracket. */
static enum sn_json_result separate(const struct place *place, struct sn_json_parse *parse,
				    char close, bool *is_over)
{
	enum sn_json_result result = SN_JSON_DONE;
	*is_over = sn_json_peek(parse) == close;
	if (!*is_over && !place->is_first) {
		result = sn_json_expect(parse, ',');
		/* many programs write a comma after the last element */
		*is_over = !result && sn_json_peek(parse) == close;
	}
	parse->at += *is_over;
	return result;
}

static enum sn_json_result parse_event(struct piece *piece, struct sn_json_parse *parse,
				       struct sn_json_shapes *shapes)
{
	struct place *place = &piece->to;
	bool is_over;
	enum sn_json_result result = separate(place, parse, ']', &is_over);
	if (result)
		return result;
	if (is_over) {
		*place = (struct place){place->is_bare ? AFTER : MEMBERS, place->is_bare, false};
		return SN_JSON_DONE;
	}
	if (sn_vec_reserve(&piece->events, &piece->event_capacity, piece->event_count + 1) < 0 ||
	    sn_vec_reserve(&piece->args, &piece->arg_capacity,
			   piece->arg_count + SN_JSON_ARGS_MAX) < 0)
		return SN_JSON_MEMORY;
	struct sn_json_event *event = piece->events + piece->event_count;
	result = sn_json_event(parse, shapes, piece->args + piece->arg_count, event);
	if (result)
		return result;
	piece->event_count++;
	piece->arg_count += event->arg_count;
	place->is_first = false;
	return SN_JSON_DONE;
}

static enum sn_json_result parse_member(struct piece *piece, struct sn_json_parse *parse)
{
	struct place *place = &piece->to;
	struct sn_json_member member;
	bool is_over;
	enum sn_json_result result = separate(place, parse, '}', &is_over);
	if (result)
		return result;
	if (is_over) {
		place->state = AFTER;
		return SN_JSON_DONE;
	}
	if ((result = sn_json_text(parse, &member.name)) || (result = sn_json_expect(parse, ':')))
		return result;
	bool is_events = sn_json_is(member.name, "traceEvents");
	result = is_events ? sn_json_expect(parse, '[') : sn_json_value(parse, &member.value);
	if (result)
		return result;
	*place = (struct place){is_events ? EVENTS : MEMBERS, place->is_bare, is_events};
	if (!is_events &&
	    sn_vec_push(&piece->members, &piece->member_capacity, &piece->member_count,
			(struct member){piece->event_count, member}))
		return SN_JSON_MEMORY;
	return SN_JSON_DONE;
}

static enum sn_json_result parse_begin(struct piece *piece, struct sn_json_parse *parse)
{
	parse->at = begin_of(parse->at);
	char first = *parse->at;
	if (first != '[' && first != '{')
		return sn_json_wrong(parse);
	parse->at++;
	piece->to = (struct place){first == '[' ? EVENTS : MEMBERS, first == '[', true};
	return SN_JSON_DONE;
}

/* Only white space may follow the end; otherwise the data after it would be lost silently. */
static enum sn_json_result parse_after(struct sn_json_parse *parse)
{
	sn_json_peek(parse);
	return sn_json_wrong(parse);
}

/* Parses a piece's text until an element is incomplete or wrong, or until the piece has as many
 * events as may be in memory (SN_JSON_DONE). */
static void parse_text(struct piece *piece, struct sn_json_shapes *shapes)
{
	struct sn_json_window *text = &piece->text;
	struct sn_json_parse parse;
	piece->event_count = piece->arg_count = piece->member_count = text->scratch_count = 0;
	piece->is_large = false;
	/* room for all texts of the piece, because resolving escapes makes them shorter */
	bool has_room = text->buffer &&
			sn_vec_reserve(&text->scratch, &text->scratch_capacity, text->end + 1) == 0;
	piece->result = has_room ? SN_JSON_DONE : SN_JSON_MEMORY;
	while (!piece->result && piece->event_count + piece->arg_count / 4 < EVENTS_MAX) {
		parse = sn_json_parse_begin(text);
		piece->result = piece->to.state == EVENTS    ? parse_event(piece, &parse, shapes)
				: piece->to.state == MEMBERS ? parse_member(piece, &parse)
				: piece->to.state == BEFORE  ? parse_begin(piece, &parse)
							     : parse_after(&parse);
		piece->stopped = (size_t)(parse.at - text->buffer);
		piece->is_large = piece->stopped - text->begin > SN_JSON_VALUE_BYTES_MAX;
		if (!piece->result && piece->is_large)
			piece->result = SN_JSON_SHORT; /* whole, but refused as too large */
		if (!piece->result)
			sn_json_parse_end(&parse);
	}
	/* set at the end, because the array moves while it grows */
	const struct sn_json_arg *args = piece->args;
	for (size_t i = 0; i < piece->event_count; i++) {
		piece->events[i].args = args;
		args += piece->events[i].arg_count;
	}
}

/* Parses a piece from its first byte. */
static void begin_text(struct piece *piece, struct place from, struct sn_json_shapes *shapes)
{
	piece->from = piece->to = from;
	piece->text.begin = piece->text.consumed = 0;
	parse_text(piece, shapes);
}

static int parse_piece(void *context, unsigned worker, size_t slot)
{
	struct reader *reader = context;
	struct piece *piece = reader->pieces + slot;
	begin_text(piece, piece->from, reader->shapes + worker);
	return 0;
}

/* ---- visiting ---- */

static int damaged(const struct reader *reader, const struct piece *piece, const char *why)
{
	uint64_t at = reader->consumed + piece->stopped - piece->text.begin;
	return sn_fail(reader->error, SN_ERR_FORMAT, "cannot read '%s': %s at byte %llu",
		       reader->path, why, (unsigned long long)at);
}

/* Puts the rest of the pieces before in front of this one's text. */
static int join(struct reader *reader, struct piece *piece)
{
	struct sn_json_window *text = &piece->text;
	struct sn_buffer *rest = &reader->rest;
	if (sn_vec_reserve(&text->buffer, &text->capacity,
			   rest->count + text->end + SN_JSON_SLACK) < 0)
		return SN_ERR_MEMORY;
	memmove(text->buffer + rest->count, text->buffer, text->end + SN_JSON_SLACK);
	if (rest->count)
		memcpy(text->buffer, rest->bytes, rest->count);
	text->end += rest->count;
	return 0;
}

/* Whether a bare array ends after an event, without its bracket. Chrome's format allows that, so
 * that a program may write until it is killed. */
static bool ends_open(const struct piece *piece)
{
	const char *at = piece->text.buffer + piece->text.begin;
	at += strspn(at, " \t\r\n");
	at += !piece->to.is_first && *at == ',';
	at += strspn(at, " \t\r\n");
	return piece->to.state == EVENTS && piece->to.is_bare &&
	       at == piece->text.buffer + piece->text.end;
}

/* Returns the error that ends reading after this piece; else keeps the unparsed rest. */
static int go_on(struct reader *reader, const struct piece *piece)
{
	const struct sn_json_window *text = &piece->text;
	struct sn_buffer *rest = &reader->rest;
	bool is_after = piece->to.state == AFTER;
	if (piece->result == SN_JSON_WRONG)
		return damaged(reader, piece,
			       is_after ? "more follows its end," : "not the JSON of a trace");
	if (piece->is_large)
		return sn_json_too_large(reader->path, reader->consumed, reader->error);
	if (piece->result == SN_JSON_SHORT && piece->failed)
		return sn_fail_again(reader->error, piece->failed, &piece->why);
	if (piece->result == SN_JSON_SHORT && piece->is_last)
		return is_after || ends_open(piece) ? 0
						    : damaged(reader, piece, "it ends too early,");
	if (piece->result == SN_JSON_MEMORY)
		return sn_fail_memory(reader->error);
	rest->count = 0;
	if (text->end > text->begin)
		sn_buffer_put(rest, text->buffer + text->begin, text->end - text->begin);
	atomic_store_explicit(&reader->rest_bytes, rest->count, memory_order_relaxed);
	if (rest->failed)
		return sn_fail_memory(reader->error);
	return rest->count >= SN_JSON_VALUE_BYTES_MAX
		   ? sn_json_too_large(reader->path, reader->consumed, reader->error)
		   : 0;
}

static int visit(const struct sn_trace_json_visitor *visitor, const struct piece *piece)
{
	size_t next = 0;
	int result = 0;
	for (size_t i = 0; i <= piece->event_count && !result; i++) {
		for (; next < piece->member_count && piece->members[next].event == i &&
		       visitor->member && !result;
		     next++)
			result = visitor->member(visitor->context, &piece->members[next].member);
		if (i < piece->event_count && visitor->event && !result)
			result = visitor->event(visitor->context, piece->events + i);
	}
	return result;
}

static int visit_piece(void *context, unsigned worker, size_t slot)
{
	struct reader *reader = context;
	struct piece *piece = reader->pieces + slot;
	struct sn_json_shapes *shapes = reader->shapes + worker;
	const struct place *from = &piece->from, *place = &reader->place;
	int result = 0;
	if (reader->rest.count || from->state != place->state || from->is_bare != place->is_bare ||
	    from->is_first != place->is_first) {
		result = join(reader, piece);
		begin_text(piece, *place, shapes);
	}
	if (!result)
		result = visit(reader->visitor, piece);
	while (!result && piece->result == SN_JSON_DONE) {
		parse_text(piece, shapes);
		result = visit(reader->visitor, piece);
	}
	if (result)
		return result == SN_ERR_MEMORY ? sn_fail_memory(reader->error) : result;
	reader->place = piece->to;
	reader->consumed += piece->text.consumed;
	result = go_on(reader, piece);
	/* a long value must not leave every piece with a large buffer */
	if (piece->text.capacity > 2 * REST_MAX)
		sn_json_window_close(&piece->text);
	return result;
}

/* ---- the file ---- */

static void release(struct reader *reader)
{
	for (unsigned i = 0; i < SLOTS_EACH * THREADS_MAX; i++) {
		struct piece *piece = reader->pieces + i;
		sn_json_window_close(&piece->text);
		free(piece->events);
		free(piece->args);
		free(piece->members);
	}
	for (unsigned i = 0; i < THREADS_MAX; i++)
		sn_json_shapes_release(reader->shapes + i);
	sn_buffer_release(&reader->tail);
	sn_buffer_release(&reader->rest);
	sn_packed_file_close(reader->file);
	free(reader);
}

size_t sn_trace_json_steps(unsigned threads)
{
	return (threads < THREADS_MAX ? threads : THREADS_MAX) * (size_t)SN_JSON_STEPS_MAX;
}

int sn_trace_json_read(const char *path, unsigned threads,
		       const struct sn_trace_json_visitor *visitor, struct sn_error *error)
{
	static const struct sn_stage stages[] = {
	    {read_piece}, {parse_piece, .is_parallel = true}, {visit_piece}};
	struct reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return sn_fail_memory(error);
	reader->path = path;
	reader->visitor = visitor;
	reader->error = error;
	reader->file = sn_packed_file_open(path);
	for (uint32_t i = 0; i < THREADS_MAX; i++)
		reader->shapes[i].base = i * SN_JSON_STEPS_MAX;
	threads = threads < THREADS_MAX ? threads : THREADS_MAX;
	int result =
	    reader->file
		? sn_stages_run(threads, stages, 3, threads > 1 ? SLOTS_EACH * threads : 1, reader)
		: sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
	release(reader);
	return result;
}

bool sn_trace_json_probe(const char *path)
{
	/* long texts of metadata may come before the events */
	char *head = malloc(PROBE_BYTES);
	bool is_trace = false;
	if (head && sn_json_window_head(path, head, PROBE_BYTES) > 0) {
		const char *text = begin_of(head);
		is_trace = *text == '{' ? strstr(text, "\"traceEvents\"") ||
					      strstr(text, "\"schemaVersion\"")
					: *text == '[' && strstr(text, "\"ph\"");
	}
	free(head);
	return is_trace;
}
