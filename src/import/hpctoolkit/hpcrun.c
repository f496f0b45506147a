/* SPDX-License-Identifier: Apache-2.0 */
/* Reads .hpcrun and .hpctrace files. Each count in a file is checked against the bytes left before
 * memory is allocated for it. */
#include "hpcrun.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAGIC_BYTES = 18,
	VERSION_BYTES = 5,
	FOOTER_BYTES = 14 * 8,
	NODE_BYTES = 19,
	VALUE_BYTES = 10,
	INDEX_BYTES = 12,
	ID_BYTES = 18,
	POINT_BYTES = 12,
};
#define FOOTER_MAGIC UINT64_C(0x48504352554e736d) /* "HPCRUNsm" */

struct span {
	uint64_t start, end;
};

/* The sections in the order of the footer's pointers. */
enum { HEADER, MODULES, NODES, METRICS, NAMES, VALUES, SECTIONS };

struct parser {
	struct sn_hpcrun *file;
	struct sn_import_cursor cursor;
	const char *path;
	struct sn_error *error;
};

static int damaged(const struct parser *parser, const char *what)
{
	return sn_fail(parser->error, SN_ERR_FORMAT, "cannot read '%s': %s", parser->path, what);
}

static uint16_t get_u16(struct sn_import_cursor *cursor)
{
	return (uint16_t)sn_import_cursor_number(cursor, 2);
}

static uint32_t get_u32(struct sn_import_cursor *cursor)
{
	return (uint32_t)sn_import_cursor_number(cursor, 4);
}

static uint64_t get_u64(struct sn_import_cursor *cursor)
{
	return sn_import_cursor_number(cursor, 8);
}

static struct sn_hpcrun_text get_text(struct sn_import_cursor *cursor)
{
	uint32_t length = get_u32(cursor);
	const char *text = (const char *)sn_import_cursor_next(cursor, length);
	return (struct sn_hpcrun_text){text ? text : "", text ? length : 0};
}

/* An array for `count` elements, each of which takes at least `least` bytes in the file. NULL if
 * fewer bytes are left or there is no memory; then the cursor has failed. */
static void *array(struct parser *parser, struct sn_import_cursor *cursor, uint64_t count,
		   size_t least, size_t size)
{
	void *items = cursor->failed || count > (cursor->length - cursor->at) / least
			  ? NULL
			  : sn_arena_allocate_array(&parser->file->arena, count, size);
	cursor->failed |= !items;
	return items;
}

/* 0, or the error for which the cursor failed. */
static int check(const struct parser *parser, const struct sn_import_cursor *cursor,
		 const char *what)
{
	if (parser->file->arena.failed)
		return sn_fail_memory(parser->error);
	return cursor->failed ? damaged(parser, what) : 0;
}

static bool is_text(struct sn_hpcrun_text text, const char *other)
{
	return text.length == strlen(other) && memcmp(text.text, other, text.length) == 0;
}

/* Whether the text has the form of a version, "04.00"; if not, the file is damaged rather than of
 * another version. */
static bool is_version(const unsigned char *text)
{
	return isdigit(text[0]) && isdigit(text[1]) && text[2] == '.' && isdigit(text[3]) &&
	       isdigit(text[4]);
}

/* Checks magic, version and byte order at the start; sets the cursor's byte order. */
static int check_head(struct parser *parser, const char *magic, const char *version,
		      const char *what)
{
	char found[VERSION_BYTES + 1] = "";
	const unsigned char *head = sn_import_cursor_next(&parser->cursor, MAGIC_BYTES);
	if (!head || memcmp(head, magic, MAGIC_BYTES) != 0)
		return sn_fail(parser->error, SN_ERR_FORMAT, "cannot read '%s': not an %s",
			       parser->path, what);
	const unsigned char *number = sn_import_cursor_next(&parser->cursor, VERSION_BYTES);
	if (!number)
		return damaged(parser, "cut short");
	memcpy(found, number, VERSION_BYTES);
	if (!is_version(number))
		return damaged(parser, "no version after its magic");
	if (memcmp(found, version, VERSION_BYTES) != 0)
		return sn_fail(parser->error, SN_ERR_VERSION,
			       "cannot read '%s': version %s of its format, only %s is known",
			       parser->path, found, version);
	uint64_t order = sn_import_cursor_number(&parser->cursor, 1);
	if (order != 'b' && order != 'l')
		return damaged(parser, "unknown byte order");
	parser->cursor.big_endian = order == 'b';
	return 0;
}

/* The header is pairs of name and value; only three are used. */
static int read_header(struct parser *parser)
{
	struct sn_import_cursor *cursor = &parser->cursor;
	uint32_t count = get_u32(cursor);
	for (uint32_t i = 0; i < count && !cursor->failed; i++) {
		struct sn_hpcrun_text name = get_text(cursor), value = get_text(cursor);
		if (is_text(name, "program-name"))
			parser->file->program = value;
		else if (is_text(name, "program-path"))
			parser->file->program_path = value;
		else if (is_text(name, "job-id"))
			parser->file->job = value;
	}
	return cursor->failed ? damaged(parser, "damaged header") : 0;
}

/* A cursor that cannot leave the section. */
static struct sn_import_cursor section(const struct parser *parser, struct span span)
{
	struct sn_import_cursor cursor = parser->cursor;
	cursor.failed = span.start > span.end || span.end > cursor.length;
	if (!cursor.failed) {
		cursor.at = (size_t)span.start;
		cursor.length = (size_t)span.end;
	}
	return cursor;
}

static int read_footer(struct parser *parser, struct span sections[SECTIONS])
{
	struct sn_import_cursor *cursor = &parser->cursor;
	if (cursor->length < FOOTER_BYTES)
		return damaged(parser, "cut short");
	sn_import_cursor_seek(cursor, cursor->length - FOOTER_BYTES);
	for (int i = 0; i < SECTIONS; i++) {
		sections[i].start = get_u64(cursor);
		sections[i].end = get_u64(cursor);
	}
	get_u64(cursor); /* the footer's own position */
	if (get_u64(cursor) != FOOTER_MAGIC)
		return damaged(parser, "cut short: it has no footer");
	return 0;
}

static int read_modules(struct parser *parser, struct span span)
{
	struct sn_hpcrun *file = parser->file;
	struct sn_import_cursor cursor = section(parser, span);
	uint32_t count = get_u32(&cursor);
	file->modules = array(parser, &cursor, count, 14, sizeof(*file->modules));
	for (uint32_t i = 0; i < count && !cursor.failed; i++) {
		file->modules[i].id = get_u16(&cursor);
		file->modules[i].path = get_text(&cursor);
		get_u64(&cursor); /* flags */
	}
	file->module_count = count;
	return check(parser, &cursor, "damaged list of modules");
}

static int read_nodes(struct parser *parser, struct span span)
{
	struct sn_hpcrun *file = parser->file;
	struct sn_import_cursor cursor = section(parser, span);
	uint64_t count = get_u64(&cursor);
	file->nodes = array(parser, &cursor, count, NODE_BYTES, sizeof(*file->nodes));
	for (uint64_t i = 0; i < count && !cursor.failed; i++) {
		struct sn_hpcrun_node *node = file->nodes + i;
		node->id = get_u32(&cursor);
		node->parent = get_u32(&cursor);
		node->module = get_u16(&cursor);
		node->ip = get_u64(&cursor);
		node->is_unwound = sn_import_cursor_number(&cursor, 1) & 1;
	}
	file->node_count = count;
	return check(parser, &cursor, "damaged calling context tree");
}

/*
 * A metric's flags are 16 bytes: kind, value type, value format, what it belongs to, a partner (2
 * bytes), how to show it, whether it is a percentage; the rest is 0. Older writers wrote two 64-bit
 * numbers instead, with other positions of the fields. Returns the format of the values.
 */
enum { FORMAT_INTEGER = 1, FORMAT_REAL = 2 };
static unsigned read_flags(struct sn_import_cursor *cursor, struct sn_hpcrun_metric *metric)
{
	enum { FINAL = 2 };
	const unsigned char *flags = sn_import_cursor_next(cursor, 16);
	static const unsigned char zeroes[8];
	if (!flags)
		return 0;
	unsigned format = flags[2];
	metric->is_relation = flags[3] != 0;
	if (flags[0] == 0 || flags[0] > FINAL || memcmp(flags + 8, zeroes, 8) != 0) {
		struct sn_import_cursor old = {flags, 16, 0, cursor->big_endian, false};
		uint64_t bits = sn_import_cursor_number(&old, 8);
		format = (bits >> 8) & 0xf;
		metric->is_relation = false;
	}
	metric->is_real = format == FORMAT_REAL;
	return format;
}

static int read_metrics(struct parser *parser, struct span span)
{
	struct sn_hpcrun *file = parser->file;
	struct sn_import_cursor cursor = section(parser, span);
	uint32_t count = get_u32(&cursor);
	file->metrics = array(parser, &cursor, count, 60, sizeof(*file->metrics));
	for (uint32_t i = 0; i < count && !cursor.failed; i++) {
		struct sn_hpcrun_metric *metric = file->metrics + i;
		metric->name = get_text(&cursor);
		get_text(&cursor); /* description */
		unsigned format = read_flags(&cursor, metric);
		metric->period = get_u64(&cursor);
		metric->formula = get_text(&cursor);
		get_text(&cursor);			       /* display format */
		sn_import_cursor_next(&cursor, 2 + 2 + 8 + 8); /* how it was sampled */
		/* a metric with a formula has no values of its own, so its format
		 * does not matter */
		if (metric->formula.length == 0 && format != FORMAT_INTEGER &&
		    format != FORMAT_REAL)
			return damaged(parser, "damaged list of metrics");
	}
	file->metric_count = count;
	return check(parser, &cursor, "damaged list of metrics");
}

static int read_names(struct parser *parser, struct span span)
{
	struct sn_hpcrun *file = parser->file;
	struct sn_import_cursor cursor = section(parser, span);
	uint16_t count = get_u16(&cursor);
	file->names = array(parser, &cursor, count, 6, sizeof(*file->names));
	for (uint16_t i = 0; i < count && !cursor.failed; i++) {
		file->names[i].kind = get_u16(&cursor);
		file->names[i].name = get_text(&cursor);
	}
	file->name_count = count;
	return check(parser, &cursor, "damaged names of identifiers");
}

static int read_tuple(struct parser *parser, struct sn_import_cursor *cursor)
{
	struct sn_hpcrun *file = parser->file;
	uint16_t count = get_u16(cursor);
	file->ids = array(parser, cursor, count, ID_BYTES, sizeof(*file->ids));
	for (uint16_t i = 0; i < count && !cursor->failed; i++) {
		file->ids[i].kind = get_u16(cursor);
		file->ids[i].physical = get_u64(cursor);
		file->ids[i].logical = get_u64(cursor);
	}
	file->id_count = count;
	return count ? check(parser, cursor, "it does not name its thread")
		     : damaged(parser, "it does not name its thread");
}

/* The index follows the values: for each node that has values, where they begin; and an entry after
 * the last, which marks the end. */
static int read_index(struct parser *parser, struct sn_import_cursor *cursor, uint32_t count)
{
	struct sn_hpcrun *file = parser->file;
	file->blocks =
	    array(parser, cursor, (uint64_t)count + 1, INDEX_BYTES, sizeof(*file->blocks));
	for (uint32_t i = 0; i <= count && !cursor->failed; i++) {
		file->blocks[i].node = get_u32(cursor);
		file->blocks[i].first = get_u64(cursor);
		if (i > 0)
			file->blocks[i - 1].end = file->blocks[i].first;
	}
	if (cursor->failed)
		return check(parser, cursor, "damaged values");
	file->block_count = count;
	for (uint32_t i = 0; i < count; i++)
		if (file->blocks[i].first > file->blocks[i].end ||
		    file->blocks[i].end > file->value_count)
			return damaged(parser, "damaged values");
	return 0;
}

static int read_values(struct parser *parser, struct span span)
{
	struct sn_hpcrun *file = parser->file;
	struct sn_import_cursor cursor = section(parser, span);
	int code = read_tuple(parser, &cursor);
	if (code != 0)
		return code;
	uint64_t count = get_u64(&cursor);
	uint32_t node_count = get_u32(&cursor);
	file->values = array(parser, &cursor, count, VALUE_BYTES, sizeof(*file->values));
	if (!file->values)
		return check(parser, &cursor, "damaged values");
	for (uint64_t i = 0; i < count && !cursor.failed; i++) {
		file->values[i].bits = get_u64(&cursor);
		file->values[i].metric = get_u16(&cursor);
		if (file->values[i].metric >= file->metric_count)
			return damaged(parser, "a value of a missing metric");
	}
	file->value_count = count;
	return read_index(parser, &cursor, node_count);
}

static int parse(struct parser *parser)
{
	static int (*const readers[SECTIONS])(struct parser *, struct span) = {
	    [MODULES] = read_modules, [NODES] = read_nodes,   [METRICS] = read_metrics,
	    [NAMES] = read_names,     [VALUES] = read_values,
	};
	struct span sections[SECTIONS];
	int code = check_head(parser, SN_HPCRUN_MAGIC, "04.00", "HPCToolkit profile");
	if (code == 0)
		code = read_footer(parser, sections);
	if (code != 0)
		return code;
	sn_import_cursor_seek(&parser->cursor,
			      sections[HEADER].start + MAGIC_BYTES + VERSION_BYTES + 1);
	code = read_header(parser);
	for (int i = MODULES; code == 0 && i < SECTIONS; i++)
		code = readers[i](parser, sections[i]);
	return code;
}

int sn_hpcrun_read(struct sn_hpcrun *file, const char *path, struct sn_error *error)
{
	struct parser parser = {
	    .file = file, .cursor = {.big_endian = true}, .path = path, .error = error};
	*file = (struct sn_hpcrun){0};
	int code = sn_import_cursor_load(path, &file->bytes, &parser.cursor.length, error);
	parser.cursor.bytes = file->bytes;
	return code != 0 ? code : parse(&parser);
}

void sn_hpcrun_release(struct sn_hpcrun *file)
{
	free(file->bytes);
	sn_arena_release(&file->arena);
	*file = (struct sn_hpcrun){0};
}

static int parse_trace(struct parser *parser, struct sn_hpctrace *trace)
{
	enum { DATA_CENTRIC = 1, CALL_TRACE = 4 };
	struct sn_import_cursor *cursor = &parser->cursor;
	int code = check_head(parser, SN_HPCTRACE_MAGIC, "01.01", "HPCToolkit trace");
	if (code != 0)
		return code;
	uint64_t flags = get_u64(cursor);
	size_t left = cursor->length - cursor->at;
	if (cursor->failed || (!(flags & DATA_CENTRIC) && left % POINT_BYTES != 0))
		return damaged(parser, "cut short");
	if (flags & DATA_CENTRIC)
		return sn_fail(parser->error, SN_ERR_UNSUPPORTED,
			       "cannot read '%s': data-centric traces are not known", parser->path);
	trace->is_call_trace = flags & CALL_TRACE;
	trace->count = left / POINT_BYTES;
	trace->points = malloc((trace->count + 1) * sizeof(*trace->points));
	if (!trace->points)
		return sn_fail_memory(parser->error);
	for (size_t i = 0; i < trace->count; i++) {
		trace->points[i].time_ns = get_u64(cursor);
		trace->points[i].node = get_u32(cursor);
	}
	return 0;
}

int sn_hpctrace_read(struct sn_hpctrace *trace, const char *path, struct sn_error *error)
{
	struct parser parser = {.cursor = {.big_endian = true}, .path = path, .error = error};
	unsigned char *bytes;
	*trace = (struct sn_hpctrace){0};
	int code = sn_import_cursor_load(path, &bytes, &parser.cursor.length, error);
	parser.cursor.bytes = bytes;
	if (code == 0)
		code = parse_trace(&parser, trace);
	free(bytes);
	return code;
}

void sn_hpctrace_release(struct sn_hpctrace *trace)
{
	free(trace->points);
	*trace = (struct sn_hpctrace){0};
}
