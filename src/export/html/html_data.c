/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the data of an exported page. Only what the page shows goes in: frames that differ in
 * their instruction alone become one, inclusive values are left to the page to add up, and numbers
 * are written as varints wherever they are whole, so that 100,000 contexts are a few MB before
 * deflate.
 */
#include "html_data.h"

#include "formula_steps.h"

#include "base/escape.h"
#include "base/intern.h"
#include "format/measurement/measurement.h"
#include "frame/user_frame.h"
#include "show/page/viewer.h"
#include "show/source/source.h"
#include "show/tree/computation.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE_CHARS  256
#define MOST_PROFILES 4096 /* listed one by one; a page tells of them in one line */
/* The largest whole number up to which a double has all of them. */
#define LARGEST_WHOLE 9007199254740992.0

/* What the page tells frames apart by. Interned by its bytes: no padding. */
struct shown_frame {
	uint8_t kind, flags;
	uint16_t user; /* 1: the user's own code */
	uint32_t name, module, file, line, function_line, source;
};
_Static_assert(sizeof(struct shown_frame) == 28, "interned by its bytes");

/* What a compiled computation is made of: columns of numbers, as varints. */
enum operation_column {
	OPERATION_FRAME,
	OPERATION_NAME,
	OPERATION_PATH,
	OPERATION_FILE,
	OPERATION_LINE,
	OPERATION_CALLERS,
	OPERATION_COLUMNS
};

struct payload {
	const struct sonde_db *db;
	struct sonde_graph *graph; /* NULL: none */
	struct sn_buffer operations[OPERATION_COLUMNS];
	size_t operation_count;
	struct sn_buffer header; /* JSON */
	struct sn_buffer data;
	struct sn_buffer columns; /* JSON: the directory of `data` */
	struct sn_intern strings, frames;
	struct sn_source source;
	uint32_t *frame_of; /* database frame to shown frame */
	bool failed;
};

static void put_member(struct sn_buffer *buffer, const char *name, const char *text)
{
	sn_buffer_print(buffer, "\"%s\":", name);
	sn_quote_put(buffer, SN_ESCAPE_QUOTED, text);
	sn_buffer_byte(buffer, ',');
}

/* A list's last comma becomes its end. */
static void put_end(struct sn_buffer *buffer, char close)
{
	if (buffer->count && buffer->bytes[buffer->count - 1] == ',')
		buffer->count--;
	sn_buffer_byte(buffer, (unsigned char)close);
}

/* Lists in the directory the column whose bytes begin at `start` of the data. */
static void end_column(struct payload *payload, const char *name, const char *type, size_t start,
		       size_t count)
{
	sn_buffer_print(&payload->columns, "\"%s\":[\"%s\",%zu,%zu,%zu],", name, type, start,
			payload->data.count - start, count);
}

static uint32_t text_number(struct payload *payload, const char *text, size_t length)
{
	uint32_t number = sn_intern_add_text(&payload->strings, text, length);
	payload->failed |= number == SN_INTERN_NONE;
	return number;
}

static uint32_t text_or_none(struct payload *payload, const char *text)
{
	return text ? text_number(payload, text, strlen(text)) + 1 : 0;
}

static uint32_t string_number(struct payload *payload, uint32_t string)
{
	return text_number(payload, sonde_db_string(payload->db, string),
			   sonde_db_string_length(payload->db, string));
}

static uint32_t string_or_none(struct payload *payload, uint32_t string)
{
	return string == SONDE_NONE ? 0 : string_number(payload, string) + 1;
}

/* The text of a line of the user's own code, where the file is still as it was measured. */
static uint32_t source_line(struct payload *payload, const struct sonde_db_frame *frame)
{
	char text[SOURCE_CHARS];
	if (frame->file == SONDE_NONE ||
	    !sn_source_line(&payload->source, sonde_db_string(payload->db, frame->file),
			    frame->line, text, sizeof(text)))
		return 0;
	return text_or_none(payload, text);
}

/* Those of a computation, by which a page lists what the program wrote. */
static void note_operations(struct payload *payload, uint32_t id, uint32_t shown)
{
	struct sn_computation_part parts[SN_COMPUTATION_PARTS_MAX];
	uint32_t count = sn_computation_parts(payload->graph, payload->db, id, parts);
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t values[OPERATION_COLUMNS] = {
		    [OPERATION_FRAME] = shown,
		    [OPERATION_NAME] = text_number(payload, parts[i].name, strlen(parts[i].name)),
		    [OPERATION_PATH] = text_number(payload, parts[i].path, strlen(parts[i].path)),
		    [OPERATION_FILE] = text_or_none(payload, parts[i].file),
		    [OPERATION_LINE] = parts[i].line,
		    [OPERATION_CALLERS] = text_or_none(payload, parts[i].callers),
		};
		for (unsigned c = 0; c < OPERATION_COLUMNS; c++)
			sn_buffer_varint(&payload->operations[c], values[c]);
	}
	payload->operation_count += count;
}

static uint32_t show_frame(struct payload *payload, uint32_t id)
{
	const struct sonde_db_frame *frame = sonde_db_frame(payload->db, id);
	struct shown_frame shown = {
	    .kind = frame->kind,
	    .flags = frame->flags & ~(SN_FRAME_RETURN_ADDRESS | SN_FRAME_INTERRUPTED),
	    .name = string_number(payload, frame->name),
	    .file = string_or_none(payload, frame->file),
	    .line = frame->line,
	    .function_line = frame->function_line,
	};
	/* an instruction is of its line, which stands above it */
	if (frame->kind != SN_FRAME_GPU_INSTRUCTION && sn_frame_is_user(payload->db, frame)) {
		shown.user = 1;
		shown.source = source_line(payload, frame);
	}
	if (frame->module != SONDE_NONE)
		shown.module =
		    string_or_none(payload, sonde_db_module(payload->db, frame->module)->path);
	uint32_t known = payload->frames.count;
	uint32_t number = sn_intern_add(&payload->frames, &shown, sizeof(shown));
	payload->failed |= number == SN_INTERN_NONE;
	if (number == known)
		note_operations(payload, id, number);
	return number;
}

static void number_frames(struct payload *payload)
{
	uint32_t count = sonde_db_frame_count(payload->db);
	payload->frame_of = calloc(count ? count : 1, sizeof(*payload->frame_of));
	payload->failed |= !payload->frame_of;
	for (uint32_t i = 0; i < count && !payload->failed; i++)
		payload->frame_of[i] = show_frame(payload, i);
}

static const struct shown_frame *shown_frame(const struct payload *payload, uint32_t number)
{
	return sn_intern_at(&payload->frames, number, NULL);
}

#define PUT_FRAME_COLUMN(payload, column, type, put_value)                                         \
	do {                                                                                       \
		size_t start_ = (payload)->data.count;                                             \
		for (uint32_t i_ = 0; i_ < (payload)->frames.count; i_++)                          \
			put_value(&(payload)->data, shown_frame(payload, i_)->column);             \
		end_column(payload, "frame." #column, type, start_, (payload)->frames.count);      \
	} while (0)

static void put_frames(struct payload *payload)
{
	PUT_FRAME_COLUMN(payload, kind, "u8", sn_buffer_byte);
	PUT_FRAME_COLUMN(payload, flags, "u8", sn_buffer_byte);
	PUT_FRAME_COLUMN(payload, name, "varint", sn_buffer_varint);
	PUT_FRAME_COLUMN(payload, module, "varint", sn_buffer_varint);
	PUT_FRAME_COLUMN(payload, file, "varint", sn_buffer_varint);
	PUT_FRAME_COLUMN(payload, line, "varint", sn_buffer_varint);
	PUT_FRAME_COLUMN(payload, function_line, "varint", sn_buffer_varint);
	PUT_FRAME_COLUMN(payload, user, "varint", sn_buffer_varint);
	PUT_FRAME_COLUMN(payload, source, "varint", sn_buffer_varint);
}

static void put_operations(struct payload *payload)
{
	static const char *const names[OPERATION_COLUMNS] = {
	    "operation.frame", "operation.name", "operation.path",
	    "operation.file",  "operation.line", "operation.callers"};
	for (unsigned c = 0; c < OPERATION_COLUMNS && payload->operation_count; c++) {
		const struct sn_buffer *column = &payload->operations[c];
		size_t start = payload->data.count;
		sn_buffer_put(&payload->data, column->bytes, column->count);
		end_column(payload, names[c], "varint", start, payload->operation_count);
		payload->failed |= column->failed;
	}
}

/* Texts as they are shown, which the page need not look at again. */
static void put_strings(struct payload *payload)
{
	struct sn_buffer texts = {0};
	size_t start = payload->data.count;
	for (uint32_t i = 0; i < payload->strings.count; i++) {
		size_t before = texts.count;
		sn_escape_put(&texts, SN_ESCAPE_SHOWN, sn_intern_at(&payload->strings, i, NULL));
		sn_buffer_varint(&payload->data, texts.count - before);
	}
	end_column(payload, "string.length", "varint", start, payload->strings.count);
	start = payload->data.count;
	sn_buffer_put(&payload->data, texts.bytes, texts.count);
	payload->failed |= texts.failed;
	sn_buffer_release(&texts);
	end_column(payload, "string.bytes", "u8", start, payload->data.count - start);
}

static void put_contexts(struct payload *payload)
{
	uint32_t count = sonde_db_context_count(payload->db);
	size_t start = payload->data.count;
	for (uint32_t c = 0; c < count; c++)
		sn_buffer_varint(&payload->data,
				 payload->frame_of[sonde_db_context(payload->db, c)->frame]);
	end_column(payload, "context.frame", "varint", start, count);
	start = payload->data.count;
	for (uint32_t c = 0; c < count; c++)
		sn_buffer_varint(&payload->data, sonde_db_context(payload->db, c)->depth);
	end_column(payload, "context.depth", "varint", start, count);
}

/* One number of every exclusive statistic, as varints where all of them are whole. */
static void put_stat_part(struct payload *payload, const double *values, const char *owner,
			  size_t part, size_t entries)
{
	static const char *const names[] = {"count", "sum", "min", "max", "sum_squares"};
	bool whole = true;
	for (size_t i = 0; i < entries && whole; i++)
		whole =
		    values[i] >= 0 && values[i] <= LARGEST_WHOLE && values[i] == floor(values[i]);
	size_t start = payload->data.count;
	for (size_t i = 0; i < entries; i++)
		if (whole)
			sn_buffer_varint(&payload->data, (uint64_t)values[i]);
		else
			sn_buffer_put(&payload->data, values + i, sizeof(*values));
	char name[64];
	snprintf(name, sizeof(name), "%s.%s", owner, names[part]);
	end_column(payload, name, whole ? "varint" : "f64", start, entries);
}

/* Leaves out what has no exclusive value; in place. */
static size_t pack(const double *counts, size_t count, double *values)
{
	size_t packed = 0;
	for (size_t i = 0; i < count; i++)
		if (counts[i] > 0)
			values[packed++] = values[i];
	return packed;
}

/* Exclusive values of a metric as the columns of `owner`. */
static void put_metric_values(struct payload *payload, uint32_t metric, const char *owner)
{
	struct sonde_db_summary_plane plane = sonde_db_summary_plane(payload->db, metric);
	size_t start = payload->data.count, entries = 0;
	double *counts = malloc((plane.count + 1) * sizeof(*counts));
	double *values = malloc((plane.count + 1) * sizeof(*values));
	uint32_t previous = 0;
	payload->data.failed |= !counts || !values;
	if (!payload->data.failed)
		sonde_db_summary_numbers(&plane, SONDE_DB_EXCLUSIVE, SONDE_DB_COUNT, 0, plane.count,
					 counts);
	for (size_t i = 0; i < plane.count && !payload->data.failed; i++) {
		if (counts[i] <= 0)
			continue;
		sn_buffer_varint(&payload->data, plane.contexts[i] - previous);
		previous = plane.contexts[i];
		entries++;
	}
	char name[64];
	snprintf(name, sizeof(name), "%s.context", owner);
	end_column(payload, name, "delta", start, entries);
	for (size_t part = 0; part < 5 && !payload->data.failed; part++) {
		sonde_db_summary_numbers(&plane, SONDE_DB_EXCLUSIVE, part, 0, plane.count, values);
		put_stat_part(payload, values, owner, part, pack(counts, plane.count, values));
	}
	free(counts);
	free(values);
}

static void put_properties(struct payload *payload)
{
	struct sn_buffer *out = &payload->header;
	sn_buffer_text(out, "\"properties\":{");
	for (uint32_t i = 0; i < sonde_db_property_count(payload->db); i++) {
		sn_quote_put(out, SN_ESCAPE_QUOTED, sonde_db_property_key(payload->db, i));
		sn_buffer_byte(out, ':');
		sn_quote_put(out, SN_ESCAPE_QUOTED, sonde_db_property_value(payload->db, i));
		sn_buffer_byte(out, ',');
	}
	put_end(out, '}');
}

static void put_profiles(struct payload *payload)
{
	const struct sonde_db *db = payload->db;
	struct sn_buffer *out = &payload->header;
	uint32_t count = sonde_db_profile_count(db);
	uint64_t samples = 0;
	for (uint32_t i = 0; i < count; i++)
		samples += sonde_db_profile(db, i)->samples;
	sn_buffer_print(out, ",\"samples\":%" PRIu64, samples);
	sn_buffer_print(out, ",\"profile_count\":%" PRIu32 ",\"profiles\":[", count);
	for (uint32_t i = 0; i < count && i < MOST_PROFILES; i++) {
		const struct sonde_db_profile *profile = sonde_db_profile(db, i);
		sn_buffer_byte(out, '{');
		put_member(out, "host", sonde_db_string(db, profile->host));
		put_member(out, "program", sonde_db_string(db, profile->program));
		put_member(out, "thread", sonde_db_string(db, profile->thread));
		sn_buffer_print(out, "\"rank\":%" PRId32 ",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64,
				profile->rank, profile->pid, profile->tid);
		sn_buffer_print(out, ",\"device\":%s,\"start_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64,
				profile->kind == SONDE_PROFILE_STREAM ? "true" : "false",
				profile->start_ns, profile->end_ns);
		sn_buffer_print(out, ",\"cpu_ns\":%" PRIu64 ",\"samples\":%" PRIu64 "},",
				profile->cpu_ns, profile->samples);
	}
	put_end(out, ']');
}

static void put_drops(struct payload *payload)
{
	struct sn_buffer *out = &payload->header;
	sn_buffer_text(out, ",\"drops\":[");
	for (uint32_t i = 0; i < sonde_db_drop_count(payload->db); i++) {
		const struct sonde_db_drop *drop = sonde_db_drop(payload->db, i);
		sn_buffer_byte(out, '{');
		put_member(out, "cause", sonde_db_string(payload->db, drop->cause));
		put_member(out, "text", sonde_db_string(payload->db, drop->text));
		sn_buffer_print(out, "\"count\":%" PRIu64 "},", drop->count);
	}
	put_end(out, ']');
}

static void put_kinds(struct payload *payload)
{
	struct sn_buffer *out = &payload->header;
	sn_buffer_text(out, ",\"kinds\":[");
	for (unsigned kind = 1; kind < SN_FRAME_KIND_COUNT; kind++)
		sn_buffer_print(out, "{\"number\":%u,\"name\":\"%s\",\"layer\":\"%s\"},", kind,
				sonde_frame_kind_name(kind), sonde_frame_kind_layer(kind));
	put_end(out, ']');
}

static const char *metric_kind_name(uint32_t kind)
{
	switch (kind) {
	case SN_METRIC_TIME:
		return "time";
	case SN_METRIC_COUNT:
		return "count";
	case SN_METRIC_BYTES:
		return "bytes";
	case SN_METRIC_RATIO:
		return "ratio";
	}
	return "unknown";
}

static void put_metrics(struct payload *payload)
{
	struct sn_buffer *out = &payload->header;
	sn_buffer_text(out, ",\"metrics\":[");
	for (uint32_t i = 0; i < sonde_db_metric_count(payload->db); i++) {
		const struct sonde_db_metric *metric = sonde_db_metric(payload->db, i);
		sn_buffer_byte(out, '{');
		put_member(out, "name", sonde_db_string(payload->db, metric->name));
		put_member(out, "unit", sonde_db_string(payload->db, metric->unit));
		put_member(out, "source", sonde_db_string(payload->db, metric->source));
		put_member(out, "kind", metric_kind_name(metric->kind));
		put_member(out, "counts", sonde_db_metric_counts(payload->db, i));
		sn_buffer_print(out, "\"period\":%" PRIu64 "},", metric->period);
		uint32_t calls = sonde_db_metric_calls(payload->db, i);
		char owner[32], owner_of_calls[40];
		snprintf(owner, sizeof(owner), "metric.%" PRIu32, i);
		snprintf(owner_of_calls, sizeof(owner_of_calls), "%s.calls", owner);
		put_metric_values(payload, i, owner);
		if (calls != SONDE_NONE)
			put_metric_values(payload, calls, owner_of_calls);
	}
	put_end(out, ']');
}

/* A page's values are merged over the profiles, so that what is across these cannot be known. */
static void put_formula(struct payload *payload, const struct sn_formula *formula,
			const char *about)
{
	struct sn_buffer *out = &payload->header;
	sn_buffer_byte(out, '{');
	put_member(out, "name", formula->name);
	put_member(out, "text", formula->text);
	put_member(out, "about", about);
	put_member(out, "unit", formula->unit);
	sn_buffer_print(out, "\"scale\":%.17g,\"steps\":", formula->scale);
	char *steps = formula->needs_across ? NULL : sn_formula_steps_json(formula);
	payload->failed |= !steps && !formula->needs_across;
	sn_buffer_text(out, steps ? steps : "null");
	sn_buffer_text(out, "},");
	free(steps);
}

static void put_formulas(struct payload *payload, const struct sn_html_shown *shown)
{
	const struct sn_formulas *formulas = shown->formulas;
	int first = -1, count = 0;
	sn_buffer_text(&payload->header, ",\"formulas\":[");
	for (uint32_t i = 0; formulas && i < formulas->count; i++) {
		const struct sn_formula *formula = formulas->items[i];
		if (sn_formulas_index(formulas, formula->name) != i)
			continue; /* a later one has its name */
		put_formula(payload, formula, formulas->about[i]);
		if (formula == shown->formula)
			first = count;
		count++;
	}
	put_end(&payload->header, ']');
	sn_buffer_print(&payload->header, ",\"formula\":%d", first);
}

static void put_header_end(struct payload *payload)
{
	sn_buffer_text(&payload->header, ",\"columns\":{");
	sn_buffer_put(&payload->header, payload->columns.bytes, payload->columns.count);
	put_end(&payload->header, '}');
	sn_buffer_byte(&payload->header, '}');
	payload->failed |=
	    payload->header.failed || payload->data.failed || payload->columns.failed;
}

static uint64_t measured_until(const struct sonde_db *db)
{
	uint64_t end_ns = 0;
	for (uint32_t i = 0; i < sonde_db_profile_count(db); i++)
		if (sonde_db_profile(db, i)->end_ns > end_ns)
			end_ns = sonde_db_profile(db, i)->end_ns;
	return end_ns;
}

static void payload_release(struct payload *payload)
{
	sn_intern_release(&payload->strings);
	sn_intern_release(&payload->frames);
	sn_source_release(&payload->source);
	sn_buffer_release(&payload->header);
	sn_buffer_release(&payload->data);
	sn_buffer_release(&payload->columns);
	for (unsigned c = 0; c < OPERATION_COLUMNS; c++)
		sn_buffer_release(&payload->operations[c]);
	sonde_graph_close(payload->graph);
	free(payload->frame_of);
}

int sn_html_data_build(struct sn_buffer *data, const struct sonde_db *db,
		       const struct sn_html_shown *shown, struct sn_error *error)
{
	struct payload payload = {.db = db};
	*data = (struct sn_buffer){0};
	/* a damaged graph is a matter of 'sonde graph' */
	struct sonde_db_error ignored;
	sonde_graph_open(db, &payload.graph, &ignored);
	sn_source_init(&payload.source, db, shown->sources, measured_until(db));
	number_frames(&payload);
	if (!payload.failed) {
		sn_buffer_print(&payload.header, "{\"metric\":%" PRIu32 ",", shown->metric);
		put_strings(&payload);
		put_frames(&payload);
		put_operations(&payload);
		put_contexts(&payload);
		put_properties(&payload);
		put_profiles(&payload);
		put_drops(&payload);
		put_kinds(&payload);
		put_metrics(&payload);
		put_formulas(&payload, shown);
		put_header_end(&payload);
	}
	if (!payload.failed) {
		sn_viewer_payload(data, payload.header.bytes, payload.header.count, &payload.data);
		payload.failed = data->failed;
	}
	payload_release(&payload);
	return payload.failed ? sn_fail_memory(error) : 0;
}
