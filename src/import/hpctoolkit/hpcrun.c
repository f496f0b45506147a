/* SPDX-License-Identifier: Apache-2.0 */
/* See hpcrun.h. Every count is checked against the bytes that are there before it is believed. */
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

/* What a footer points to, in its order. */
struct footer {
	struct span header, modules, nodes, metrics, names, values;
};

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

static int no_memory(const struct parser *parser)
{
	return sn_fail(parser->error, SN_ERR_MEMORY, "out of memory");
}

/* An array for `count` elements of which each takes at least `least` bytes of what is left. */
static void *array(struct sn_import_cursor *cursor, uint64_t count, size_t least, size_t size)
{
	if (cursor->failed || count > (cursor->length - cursor->at) / least) {
		cursor->failed = true;
		return NULL;
	}
	return calloc(count ? count : 1, size);
}

static struct sn_hpcrun_text take_text(struct sn_import_cursor *cursor)
{
	uint32_t length = (uint32_t)sn_import_cursor_number(cursor, 4);
	const char *text = (const char *)sn_import_cursor_take(cursor, length);
	return (struct sn_hpcrun_text){text ? text : "", text ? length : 0};
}

static bool is_text(struct sn_hpcrun_text text, const char *other)
{
	return text.length == strlen(other) && memcmp(text.text, other, text.length) == 0;
}

/* "04.00"; what is none is damage, not a version that we do not know. */
static bool is_version(const unsigned char *text)
{
	return isdigit(text[0]) && isdigit(text[1]) && text[2] == '.' && isdigit(text[3]) &&
	       isdigit(text[4]);
}

/* The magic, version and byte order at the start; sets the cursor's order. */
static int check_head(struct parser *parser, const char *magic, const char *version,
		      const char *what)
{
	char found[VERSION_BYTES + 1] = "";
	const unsigned char *head = sn_import_cursor_take(&parser->cursor, MAGIC_BYTES);
	if (!head || memcmp(head, magic, MAGIC_BYTES) != 0)
		return sn_fail(parser->error, SN_ERR_FORMAT, "cannot read '%s': not an %s",
			       parser->path, what);
	const unsigned char *number = sn_import_cursor_take(&parser->cursor, VERSION_BYTES);
	if (!number)
		return damaged(parser, "cut short");
	memcpy(found, number, VERSION_BYTES);
	if (!is_version(number))
		return damaged(parser, "no version behind its first words");
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

static uint64_t decimal(struct sn_hpcrun_text text)
{
	uint64_t number = 0;
	for (uint32_t i = 0; i < text.length && text.text[i] >= '0' && text.text[i] <= '9'; i++)
		number = number * 10 + (uint64_t)(text.text[i] - '0');
	return number;
}

/* Pairs of names and values; the ones that are not used are skipped. */
static int read_header(struct parser *parser)
{
	struct sn_import_cursor *cursor = &parser->cursor;
	uint32_t count = (uint32_t)sn_import_cursor_number(cursor, 4);
	for (uint32_t i = 0; i < count && !cursor->failed; i++) {
		struct sn_hpcrun_text name = take_text(cursor), value = take_text(cursor);
		if (is_text(name, "program-name"))
			parser->file->program = value;
		else if (is_text(name, "program-path"))
			parser->file->program_path = value;
		else if (is_text(name, "job-id"))
			parser->file->job = value;
		else if (is_text(name, "trace-disorder"))
			parser->file->trace_disorder = decimal(value);
	}
	return cursor->failed ? damaged(parser, "damaged header") : 0;
}

/* Goes to a section and keeps the cursor inside it. */
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

static int read_footer(struct parser *parser, struct footer *footer)
{
	struct sn_import_cursor *cursor = &parser->cursor;
	struct span *spans[] = {&footer->header,  &footer->modules, &footer->nodes,
				&footer->metrics, &footer->names,   &footer->values};
	if (cursor->length < FOOTER_BYTES)
		return damaged(parser, "cut short");
	sn_import_cursor_seek(cursor, cursor->length - FOOTER_BYTES);
	for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++) {
		spans[i]->start = sn_import_cursor_number(cursor, 8);
		spans[i]->end = sn_import_cursor_number(cursor, 8);
	}
	sn_import_cursor_number(cursor, 8); /* where the footer begins */
	if (sn_import_cursor_number(cursor, 8) != FOOTER_MAGIC)
		return damaged(parser, "cut short: it has no footer");
	return 0;
}

static int read_modules(struct parser *parser, struct span span)
{
	struct sn_hpcrun *file = parser->file;
	struct sn_import_cursor cursor = section(parser, span);
	uint32_t count = (uint32_t)sn_import_cursor_number(&cursor, 4);
	file->modules = array(&cursor, count, 14, sizeof(*file->modules));
	if (!file->modules && !cursor.failed)
		return no_memory(parser);
	for (uint32_t i = 0; i < count && !cursor.failed; i++) {
		file->modules[i].id = (uint16_t)sn_import_cursor_number(&cursor, 2);
		file->modules[i].path = take_text(&cursor);
		sn_import_cursor_number(&cursor, 8); /* flags */
	}
	file->module_count = count;
	return cursor.failed ? damaged(parser, "damaged list of modules") : 0;
}

static int read_nodes(struct parser *parser, struct span span)
{
	struct sn_hpcrun *file = parser->file;
	struct sn_import_cursor cursor = section(parser, span);
	uint64_t count = sn_import_cursor_number(&cursor, 8);
	file->nodes = array(&cursor, count, NODE_BYTES, sizeof(*file->nodes));
	if (!file->nodes && !cursor.failed)
		return no_memory(parser);
	for (uint64_t i = 0; i < count && !cursor.failed; i++) {
		struct sn_hpcrun_node *node = file->nodes + i;
		node->id = (uint32_t)sn_import_cursor_number(&cursor, 4);
		node->parent = (uint32_t)sn_import_cursor_number(&cursor, 4);
		node->module = (uint16_t)sn_import_cursor_number(&cursor, 2);
		node->ip = sn_import_cursor_number(&cursor, 8);
		node->is_unwound = sn_import_cursor_number(&cursor, 1) & 1;
	}
	file->node_count = count;
	return cursor.failed ? damaged(parser, "damaged calling context tree") : 0;
}

/*
 * 16 bytes of flags, written byte by byte: what it is, the type of value, the value's format, where
 * it belongs, a partner (2 bytes), how to show it, and whether in percent; the rest is 0. Older
 * writers wrote two 64-bit numbers instead, in which the fields have other places. Returns the
 * format of the values.
 */
enum { FORMAT_INTEGER = 1, FORMAT_REAL = 2 };
static unsigned read_flags(struct sn_import_cursor *cursor, struct sn_hpcrun_metric *metric)
{
	enum { FINAL = 2 };
	const unsigned char *flags = sn_import_cursor_take(cursor, 16);
	static const unsigned char zeroes[8];
	if (!flags)
		return 0;
	unsigned format = flags[2];
	metric->is_relation = flags[3] != 0;
	metric->show = flags[6];
	if (flags[0] == 0 || flags[0] > FINAL || memcmp(flags + 8, zeroes, 8) != 0) {
		struct sn_import_cursor old = {flags, 16, 0, cursor->big_endian, false};
		uint64_t bits = sn_import_cursor_number(&old, 8);
		format = (bits >> 8) & 0xf;
		metric->is_relation = false;
		metric->show = (bits >> 28) & 1;
	}
	metric->is_real = format == FORMAT_REAL;
	return format;
}

static int read_metrics(struct parser *parser, struct span span)
{
	struct sn_hpcrun *file = parser->file;
	struct sn_import_cursor cursor = section(parser, span);
	uint32_t count = (uint32_t)sn_import_cursor_number(&cursor, 4);
	file->metrics = array(&cursor, count, 60, sizeof(*file->metrics));
	if (!file->metrics && !cursor.failed)
		return no_memory(parser);
	for (uint32_t i = 0; i < count && !cursor.failed; i++) {
		struct sn_hpcrun_metric *metric = file->metrics + i;
		metric->name = take_text(&cursor);
		metric->description = take_text(&cursor);
		unsigned format = read_flags(&cursor, metric);
		metric->period = sn_import_cursor_number(&cursor, 8);
		metric->formula = take_text(&cursor);
		take_text(&cursor);			       /* how to print it */
		sn_import_cursor_take(&cursor, 2 + 2 + 8 + 8); /* of how it was sampled */
		/* one that is computed of others has no values of its own */
		if (metric->formula.length == 0 && format != FORMAT_INTEGER &&
		    format != FORMAT_REAL)
			return damaged(parser, "damaged list of metrics");
	}
	file->metric_count = count;
	return cursor.failed ? damaged(parser, "damaged list of metrics") : 0;
}

static int read_names(struct parser *parser, struct span span)
{
	struct sn_hpcrun *file = parser->file;
	struct sn_import_cursor cursor = section(parser, span);
	uint16_t count = (uint16_t)sn_import_cursor_number(&cursor, 2);
	file->names = array(&cursor, count, 6, sizeof(*file->names));
	if (!file->names && !cursor.failed)
		return no_memory(parser);
	for (uint16_t i = 0; i < count && !cursor.failed; i++) {
		file->names[i].kind = (uint16_t)sn_import_cursor_number(&cursor, 2);
		file->names[i].name = take_text(&cursor);
	}
	file->name_count = count;
	return cursor.failed ? damaged(parser, "damaged names of identifiers") : 0;
}

static int read_tuple(struct parser *parser, struct sn_import_cursor *cursor)
{
	struct sn_hpcrun *file = parser->file;
	uint16_t count = (uint16_t)sn_import_cursor_number(cursor, 2);
	file->ids = array(cursor, count, ID_BYTES, sizeof(*file->ids));
	if (!file->ids && !cursor->failed)
		return no_memory(parser);
	for (uint16_t i = 0; i < count && !cursor->failed; i++) {
		file->ids[i].kind = (uint16_t)sn_import_cursor_number(cursor, 2);
		file->ids[i].physical = sn_import_cursor_number(cursor, 8);
		file->ids[i].logical = sn_import_cursor_number(cursor, 8);
	}
	file->id_count = count;
	return cursor->failed || count == 0 ? damaged(parser, "it does not say whose it is") : 0;
}

/* After the values, for each node with any, where its own begin, and an end mark of the same form.
 */
static int read_index(struct parser *parser, struct sn_import_cursor *cursor, uint32_t count)
{
	struct sn_hpcrun *file = parser->file;
	file->blocks = array(cursor, (uint64_t)count + 1, INDEX_BYTES, sizeof(*file->blocks));
	if (!file->blocks && !cursor->failed)
		return no_memory(parser);
	for (uint32_t i = 0; i <= count && !cursor->failed; i++) {
		file->blocks[i].node = (uint32_t)sn_import_cursor_number(cursor, 4);
		file->blocks[i].first = sn_import_cursor_number(cursor, 8);
		if (i > 0)
			file->blocks[i - 1].end = file->blocks[i].first;
	}
	if (cursor->failed)
		return damaged(parser, "damaged values");
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
	uint64_t count = sn_import_cursor_number(&cursor, 8);
	uint32_t node_count = (uint32_t)sn_import_cursor_number(&cursor, 4);
	file->values = array(&cursor, count, VALUE_BYTES, sizeof(*file->values));
	if (!file->values)
		return cursor.failed ? damaged(parser, "damaged values") : no_memory(parser);
	for (uint64_t i = 0; i < count && !cursor.failed; i++) {
		file->values[i].bits = sn_import_cursor_number(&cursor, 8);
		file->values[i].metric = (uint16_t)sn_import_cursor_number(&cursor, 2);
		if (file->values[i].metric >= file->metric_count)
			return damaged(parser, "a value of a metric that is not there");
	}
	file->value_count = count;
	return read_index(parser, &cursor, node_count);
}

static int parse(struct parser *parser)
{
	struct footer footer;
	int code = check_head(parser, SN_HPCRUN_MAGIC, "04.00", "HPCToolkit profile");
	if (code == 0)
		code = read_footer(parser, &footer);
	if (code != 0)
		return code;
	sn_import_cursor_seek(&parser->cursor,
			      footer.header.start + MAGIC_BYTES + VERSION_BYTES + 1);
	if ((code = read_header(parser)) != 0 ||
	    (code = read_modules(parser, footer.modules)) != 0 ||
	    (code = read_nodes(parser, footer.nodes)) != 0 ||
	    (code = read_metrics(parser, footer.metrics)) != 0 ||
	    (code = read_names(parser, footer.names)) != 0)
		return code;
	return read_values(parser, footer.values);
}

int sn_hpcrun_parse(struct sn_hpcrun *file, unsigned char *bytes, size_t length, const char *path,
		    struct sn_error *error)
{
	struct parser parser = {file, {bytes, length, 0, true, false}, path, error};
	*file = (struct sn_hpcrun){.bytes = bytes};
	return parse(&parser);
}

int sn_hpcrun_read(struct sn_hpcrun *file, const char *path, struct sn_error *error)
{
	unsigned char *bytes;
	size_t length;
	*file = (struct sn_hpcrun){0};
	int code = sn_import_cursor_load(path, &bytes, &length, error);
	return code != 0 ? code : sn_hpcrun_parse(file, bytes, length, path, error);
}

void sn_hpcrun_release(struct sn_hpcrun *file)
{
	free(file->bytes);
	free(file->ids);
	free(file->names);
	free(file->metrics);
	free(file->modules);
	free(file->nodes);
	free(file->values);
	free(file->blocks);
	*file = (struct sn_hpcrun){0};
}

int sn_hpctrace_parse(struct sn_hpctrace *trace, const unsigned char *bytes, size_t length,
		      const char *path, struct sn_error *error)
{
	enum { DATA_CENTRIC = 1, CALL_TRACE = 4 };
	struct parser parser = {NULL, {bytes, length, 0, true, false}, path, error};
	struct sn_import_cursor *cursor = &parser.cursor;
	*trace = (struct sn_hpctrace){0};
	int code = check_head(&parser, SN_HPCTRACE_MAGIC, "01.01", "HPCToolkit trace");
	if (code != 0)
		return code;
	uint64_t flags = sn_import_cursor_number(cursor, 8);
	if (cursor->failed)
		return damaged(&parser, "cut short");
	if (flags & DATA_CENTRIC)
		return sn_fail(error, SN_ERR_UNSUPPORTED,
			       "cannot read '%s': data-centric traces are not known", path);
	trace->is_call_trace = flags & CALL_TRACE;
	trace->count = (length - cursor->at) / POINT_BYTES;
	if ((length - cursor->at) % POINT_BYTES != 0)
		return damaged(&parser, "cut short");
	trace->points = malloc((trace->count + 1) * sizeof(*trace->points));
	if (!trace->points)
		return no_memory(&parser);
	for (size_t i = 0; i < trace->count; i++) {
		trace->points[i].time_ns = sn_import_cursor_number(cursor, 8);
		trace->points[i].node = (uint32_t)sn_import_cursor_number(cursor, 4);
	}
	return 0;
}

int sn_hpctrace_read(struct sn_hpctrace *trace, const char *path, struct sn_error *error)
{
	unsigned char *bytes;
	size_t length;
	*trace = (struct sn_hpctrace){0};
	int code = sn_import_cursor_load(path, &bytes, &length, error);
	if (code == 0)
		code = sn_hpctrace_parse(trace, bytes, length, path, error);
	free(bytes);
	return code;
}

void sn_hpctrace_release(struct sn_hpctrace *trace)
{
	free(trace->points);
	*trace = (struct sn_hpctrace){0};
}
