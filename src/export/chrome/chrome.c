/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON of Chrome's trace viewer as torch.profiler writes it, so that what reads its files reads
 * these: times are microseconds with three decimals from baseTimeNanoseconds on, which a double
 * holds exactly; streams are threads of "processes" that are devices; a launch and its kernel have
 * one "correlation" and an arrow.
 */
#include "export/exporter.h"

#include "chrome_stack.h"
#include "chrome_value.h"
#include "export/event_walk.h"
#include "show/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARS 8192

struct chrome {
	const struct sonde_db *db;
	FILE *out;
	struct sn_trace_export export;
	struct sn_chrome_stack stack;
	struct sn_shown_callers callers;
	uint64_t range_count;
	const struct sonde_db_profile *profile;
	uint64_t pid, tid; /* of the profile */
	bool is_device, needs_comma;
};

static void begin_event(struct chrome *chrome, char phase)
{
	fprintf(chrome->out, "%s\n{\"ph\":\"%c\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64,
		chrome->needs_comma ? "," : "", phase, chrome->pid, chrome->tid);
	chrome->needs_comma = true;
}

static void put_time(struct chrome *chrome, const char *key, uint64_t ns)
{
	fprintf(chrome->out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

/* ---- processes and threads ---- */

static void put_metadata(struct chrome *chrome, const char *what, const char *key, const char *text)
{
	begin_event(chrome, 'M');
	sn_chrome_put_text(chrome->out, "name", what);
	fprintf(chrome->out, ",\"args\":{\"%s\":", key);
	sn_json_quote(chrome->out, text);
	fputs("}}", chrome->out);
}

static void set_profile(struct chrome *chrome, uint32_t number)
{
	const struct sn_trace_place *place = chrome->export.places + number;
	chrome->profile = sonde_db_profile(chrome->db, number);
	chrome->is_device = sn_trace_export_is_device(&chrome->export, number);
	chrome->pid = chrome->is_device ? place->device_pid : place->pid;
	chrome->tid = place->tid;
}

static void write_process(struct chrome *chrome, uint32_t number)
{
	char known[512], label[640];
	sn_trace_export_label(&chrome->export, number, known, sizeof(known));
	put_metadata(chrome, "process_name", "name",
		     sonde_db_string(chrome->db, chrome->profile->program));
	if (chrome->is_device)
		snprintf(label, sizeof(label), "GPU %u, of %" PRIu64 "%s%s",
			 chrome->profile->device, chrome->export.places[number].pid,
			 *known ? ", " : "", known);
	else
		snprintf(label, sizeof(label), "%s", known);
	if (*label)
		put_metadata(chrome, "process_labels", "labels", label);
}

static void write_thread(struct chrome *chrome)
{
	char name[64];
	const char *text = sonde_db_string(chrome->db, chrome->profile->thread);
	snprintf(name, sizeof(name), "stream %u", chrome->profile->stream);
	if (!*text && chrome->is_device)
		text = name;
	if (*text)
		put_metadata(chrome, "thread_name", "name", text);
}

/* Processes and threads in the order of the profiles. */
static int write_places(struct chrome *chrome)
{
	uint32_t count = chrome->export.process_count + chrome->export.device_count;
	bool *is_named = sn_arena_array(&chrome->export.arena, bool, count + 1ull);
	if (!is_named)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < sonde_db_profile_count(chrome->db); i++) {
		const struct sn_trace_place *place = chrome->export.places + i;
		if (!sn_trace_export_has(&chrome->export, i))
			continue;
		set_profile(chrome, i);
		uint32_t process = chrome->is_device ? chrome->export.process_count + place->device
						     : place->process;
		if (!is_named[process])
			write_process(chrome, i);
		is_named[process] = true;
		write_thread(chrome);
	}
	return 0;
}

/* ---- events ---- */

static void put_real(FILE *out, double value)
{
	char text[40];
	if (!isfinite(value)) {
		fputs(isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"", out);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	/* a whole number would be read as an integer */
	fprintf(out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

static void put_string(struct chrome *chrome, const char *text)
{
	if (sn_chrome_is_list(text))
		fputs(text, chrome->out);
	else
		sn_json_quote(chrome->out, text);
}

static void put_value(struct chrome *chrome, uint32_t type, uint64_t value)
{
	double real;
	switch (type) {
	case SONDE_ATTRIBUTE_UNSIGNED:
		fprintf(chrome->out, "%" PRIu64, value);
		break;
	case SONDE_ATTRIBUTE_SIGNED:
		fprintf(chrome->out, "%" PRId64, (int64_t)value);
		break;
	case SONDE_ATTRIBUTE_REAL:
		memcpy(&real, &value, sizeof(real));
		put_real(chrome->out, real);
		break;
	default:
		put_string(chrome, sonde_db_string(chrome->db, (uint32_t)value));
	}
}

static const char *key_name(const struct chrome *chrome, const struct sn_walk_attribute *attribute)
{
	return sonde_db_string(chrome->db,
			       sonde_trace_key(chrome->export.trace, attribute->key)->name);
}

/* Three attributes as one list, as torch.profiler has grids and blocks. */
static bool put_sizes(struct chrome *chrome, const struct sn_walk_event *event, const char *name,
		      const char *separator)
{
	const struct sn_walk_attribute *found[3] = {NULL, NULL, NULL};
	char text[16];
	for (unsigned i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "%s.%c", name, "xyz"[i]);
		for (uint32_t j = 0; j < event->attribute_count && !found[i]; j++)
			if (!strcmp(key_name(chrome, event->attributes + j), text))
				found[i] = event->attributes + j;
		if (!found[i])
			return false;
	}
	fprintf(chrome->out, "%s\"%s\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", separator, name,
		found[0]->value, found[1]->value, found[2]->value);
	return true;
}

static bool is_size(const char *name, const char *of)
{
	size_t length = strlen(of);
	return !strncmp(name, of, length) && name[length] == '.' && name[length + 1] &&
	       strchr("xyz", name[length + 1]) && !name[length + 2];
}

static const char *counter_series(const struct chrome *chrome, uint32_t metric)
{
	const struct sonde_db_metric *counter = sonde_db_metric(chrome->db, metric);
	const char *unit = counter ? sonde_db_string(chrome->db, counter->unit) : "";
	return *unit && strcmp(unit, "1") ? unit : "value";
}

static void put_attributes(struct chrome *chrome, const struct sn_walk_event *event)
{
	const char *separator = "";
	uint64_t link = sn_trace_export_link(&chrome->export, event->link);
	fputs(",\"args\":{", chrome->out);
	if (chrome->is_device && event->kind != SONDE_TRACK_COUNTER) {
		fprintf(chrome->out, "\"device\":%u,\"context\":%u,\"stream\":%u",
			chrome->profile->device, chrome->profile->device_context,
			chrome->profile->stream);
		separator = ",";
	}
	if (link) {
		fprintf(chrome->out, "%s\"correlation\":%" PRIu64, separator, link);
		separator = ",";
	}
	bool has_grid = event->attribute_count && put_sizes(chrome, event, "grid", separator);
	separator = has_grid ? "," : separator;
	bool has_block = event->attribute_count && put_sizes(chrome, event, "block", separator);
	separator = has_block ? "," : separator;
	for (uint32_t i = 0; i < event->attribute_count; i++) {
		const struct sn_walk_attribute *one = event->attributes + i;
		const char *name = key_name(chrome, one);
		if ((has_grid && is_size(name, "grid")) || (has_block && is_size(name, "block")))
			continue;
		/* a counter's series is called by its unit */
		if (event->kind == SONDE_TRACK_COUNTER && !strcmp(name, "value"))
			name = counter_series(chrome, event->metric);
		fputs(separator, chrome->out);
		sn_json_quote(chrome->out, name);
		fputc(':', chrome->out);
		put_value(chrome, sonde_trace_key(chrome->export.trace, one->key)->type,
			  one->value);
		separator = ",";
	}
	fputc('}', chrome->out);
}

/* An arrow's end. Its begin is the host's, but where that receives. */
static void write_arrow(struct chrome *chrome, const struct sn_walk_event *event, const char *name)
{
	bool is_target =
	    chrome->is_device || strcasestr(name, "recv") || strcasestr(name, "receive");
	begin_event(chrome, is_target ? 'f' : 's');
	fprintf(chrome->out, ",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":%" PRIu64,
		sn_trace_export_link(&chrome->export, event->link));
	put_time(chrome, "ts", event->start_ns - chrome->export.origin_ns);
	fputs(is_target ? ",\"bp\":\"e\"" : "", chrome->out);
	fputc('}', chrome->out);
}

static void write_range_end(struct chrome *chrome, const struct sn_walk_event *event,
			    const char *name)
{
	begin_event(chrome, 'e');
	sn_chrome_put_text(chrome->out, "cat",
			   sn_trace_export_category(&chrome->export, event, chrome->is_device));
	sn_chrome_put_text(chrome->out, "name", name);
	put_time(chrome, "ts", event->end_ns - chrome->export.origin_ns);
	fprintf(chrome->out, ",\"id\":%" PRIu64, chrome->range_count);
	fputc('}', chrome->out);
}

static int write_interval(struct chrome *chrome, const struct sn_walk_event *event)
{
	char name[NAME_CHARS];
	int needs_path = sn_shown_callers_needs_path(&chrome->callers, &chrome->export, event,
						     chrome->is_device);
	if (needs_path < 0)
		return needs_path;
	bool is_instant = event->kind == SONDE_TRACK_INSTANTS;
	bool is_range =
	    !is_instant && !chrome->is_device && sn_trace_export_is_range(&chrome->export, event);
	sn_trace_export_name(&chrome->export, event, name, sizeof(name));
	begin_event(chrome, is_instant ? 'i' : is_range ? 'b' : 'X');
	sn_chrome_put_text(chrome->out, "cat",
			   sn_trace_export_category(&chrome->export, event, chrome->is_device));
	sn_chrome_put_text(chrome->out, "name", name);
	put_time(chrome, "ts", event->start_ns - chrome->export.origin_ns);
	if (is_instant)
		sn_chrome_put_text(chrome->out, "s", "t");
	else if (is_range)
		fprintf(chrome->out, ",\"id\":%" PRIu64, ++chrome->range_count);
	else
		put_time(chrome, "dur", event->end_ns - event->start_ns);
	if (needs_path) /* 0 is of no call */
		fprintf(chrome->out, ",\"sf\":%u", chrome->stack.numbers[event->context]);
	put_attributes(chrome, event);
	fputc('}', chrome->out);
	if (is_range)
		write_range_end(chrome, event, name);
	if (event->link)
		write_arrow(chrome, event, name);
	return 0;
}

static void write_counter(struct chrome *chrome, const struct sn_walk_event *event)
{
	const struct sonde_db_metric *metric = sonde_db_metric(chrome->db, event->metric);
	begin_event(chrome, 'C');
	sn_chrome_put_text(chrome->out, "name",
			   metric ? sonde_db_string(chrome->db, metric->name) : "");
	put_time(chrome, "ts", event->start_ns - chrome->export.origin_ns);
	put_attributes(chrome, event);
	fputc('}', chrome->out);
}

static void write_sample(struct chrome *chrome, const struct sn_walk_event *event)
{
	begin_event(chrome, 'P');
	sn_chrome_put_text(chrome->out, "cat", "sample");
	sn_chrome_put_text(chrome->out, "name", "sample");
	put_time(chrome, "ts", event->start_ns - chrome->export.origin_ns);
	uint32_t frame = chrome->stack.numbers[event->context];
	if (frame) /* without one the sample is of no call at all */
		fprintf(chrome->out, ",\"sf\":%u", frame);
	if (event->attribute_count || chrome->is_device)
		put_attributes(chrome, event);
	fputc('}', chrome->out);
}

static int write_event(void *context, const struct sn_walk_event *event)
{
	struct chrome *chrome = context;
	int result = 0;
	if (event->kind == SONDE_TRACK_COUNTER)
		write_counter(chrome, event);
	else if (event->kind == SONDE_TRACK_SAMPLES)
		write_sample(chrome, event);
	else
		result = write_interval(chrome, event);
	return ferror(chrome->out) ? SN_ERR_IO : result; /* the caller has the reason */
}

static int write_profile(struct chrome *chrome, uint32_t number, struct sn_error *error)
{
	set_profile(chrome, number);
	sn_trace_export_begin(&chrome->export);
	sn_shown_callers_begin(&chrome->callers);
	return sn_event_walk(&chrome->export, number, write_event, chrome, error);
}

/* The rank that all profiles have, or -1. */
static int common_rank(const struct sonde_db *db)
{
	int rank = sonde_db_profile_count(db) ? sonde_db_profile(db, 0)->rank : -1;
	for (uint32_t i = 1; i < sonde_db_profile_count(db); i++)
		if (sonde_db_profile(db, i)->rank != rank)
			return -1;
	return rank;
}

static int write_all(struct chrome *chrome, struct sn_error *error)
{
	FILE *out = chrome->out;
	int rank = common_rank(chrome->db);
	fprintf(out, "{\"schemaVersion\":1,\"sonde\":\"%s\",\"displayTimeUnit\":\"ms\"",
		SN_VERSION);
	fprintf(out, ",\"baseTimeNanoseconds\":%" PRIu64, chrome->export.origin_ns);
	if (rank >= 0)
		fprintf(out, ",\"distributedInfo\":{\"rank\":%d}", rank);
	sn_chrome_stack_write(&chrome->stack, out);
	fputs(",\"traceEvents\":[", out);
	int result = write_places(chrome);
	if (result)
		return sn_fail_memory(error);
	for (uint32_t i = 0; i < sonde_db_profile_count(chrome->db) && !result; i++)
		if (sn_trace_export_has(&chrome->export, i))
			result = write_profile(chrome, i, error);
	fputs("\n]}\n", out);
	return result;
}

static int write_chrome(const struct sn_export_request *request, FILE *out, struct sn_error *error)
{
	struct chrome chrome = {.db = request->db, .out = out};
	int result = sn_trace_export_open(&chrome.export, request->db, request->path, error);
	if (result)
		return result;
	result = sn_chrome_stack_init(&chrome.stack, &chrome.export, error);
	if (!result)
		result = write_all(&chrome, error);
	sn_chrome_stack_release(&chrome.stack);
	sn_shown_callers_release(&chrome.callers);
	sn_trace_export_close(&chrome.export);
	return result;
}

const struct sn_exporter sn_exporter_chrome = {
    .name = "chrome",
    .extension = "trace.json",
    .write = write_chrome,
    .has_events = true,
};
