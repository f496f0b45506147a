/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row for each event, for spreadsheets, pandas and databases: times in nanoseconds, the whole
 * call path, and a column for each attribute.
 */
#include "exporter.h"

#include "base/vec.h"
#include "event_walk.h"
#include "show/csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct events {
	const struct sonde_db *db;
	FILE *out;
	struct sn_trace_export export;
	uint32_t profile; /* the one being written */
	uint32_t *path;
	size_t path_capacity;
};

static void put_cell(struct events *events, const char *text)
{
	fputc(',', events->out);
	sn_csv_text(events->out, text);
}

/* Keys of one name that differ by type share a column. */
static bool begins_column(const struct events *events, uint32_t position)
{
	const struct sonde_trace *trace = events->export.trace;
	return position == 0 || sonde_trace_key(trace, events->export.keys[position])->name !=
				    sonde_trace_key(trace, events->export.keys[position - 1])->name;
}

static void write_head(struct events *events)
{
	fputs(
	    "profile,rank,host,pid,tid,thread,device,context,stream,kind,start_ns,end_ns,category,"
	    "name,path,link",
	    events->out);
	for (uint32_t i = 0; i < sonde_trace_key_count(events->export.trace); i++) {
		const struct sonde_attribute_key *key =
		    sonde_trace_key(events->export.trace, events->export.keys[i]);
		char name[512];
		snprintf(name, sizeof(name), "attribute.%s",
			 sonde_db_string(events->db, key->name));
		if (begins_column(events, i))
			put_cell(events, name);
	}
	fputc('\n', events->out);
}

static void put_number(struct events *events, uint32_t number)
{
	if (number == SONDE_NONE)
		fputc(',', events->out);
	else
		fprintf(events->out, ",%u", number);
}

static void write_profile_cells(struct events *events, uint32_t number)
{
	const struct sonde_db_profile *profile = sonde_db_profile(events->db, number);
	fprintf(events->out, "%u", number);
	put_number(events, profile->rank < 0 ? SONDE_NONE : (uint32_t)profile->rank);
	put_cell(events, sonde_db_string(events->db, profile->host));
	fprintf(events->out, ",%" PRIu64 ",%" PRIu64, profile->pid, profile->tid);
	put_cell(events, sonde_db_string(events->db, profile->thread));
	bool is_stream = profile->kind == SONDE_PROFILE_STREAM;
	put_number(events, is_stream ? profile->device : SONDE_NONE);
	put_number(events, is_stream ? profile->device_context : SONDE_NONE);
	put_number(events, is_stream ? profile->stream : SONDE_NONE);
}

static const char *name_at(const struct events *events, uint32_t context)
{
	return sonde_db_string(events->db, sn_trace_export_frame(&events->export, context)->name);
}

/* The frames from the root, ";" between them; one in a name becomes ":". */
static int write_path(struct events *events, uint32_t context)
{
	size_t count = 0;
	for (; context; context = sonde_db_context(events->db, context)->parent)
		if (sn_vec_push(&events->path, &events->path_capacity, &count, context))
			return SN_ERR_MEMORY;
	fputs(",\"", events->out);
	if (count && sn_csv_is_formula(name_at(events, events->path[count - 1])))
		fputc('\'', events->out);
	while (count--) {
		sn_csv_part(events->out, name_at(events, events->path[count]), ';');
		if (count)
			fputc(';', events->out);
	}
	fputc('"', events->out);
	return 0;
}

static void write_attributes(struct events *events, const struct sn_walk_event *event)
{
	uint32_t next = 0;
	for (uint32_t i = 0; i < sonde_trace_key_count(events->export.trace); i++) {
		uint32_t key = events->export.keys[i];
		if (begins_column(events, i))
			fputc(',', events->out);
		if (next == event->attribute_count || event->attributes[next].key != key)
			continue;
		uint64_t value = event->attributes[next++].value;
		double real;
		memcpy(&real, &value, sizeof(real));
		switch (sonde_trace_key(events->export.trace, key)->type) {
		case SONDE_ATTRIBUTE_UNSIGNED:
			fprintf(events->out, "%" PRIu64, value);
			break;
		case SONDE_ATTRIBUTE_SIGNED:
			fprintf(events->out, "%" PRId64, (int64_t)value);
			break;
		case SONDE_ATTRIBUTE_REAL:
			fprintf(events->out, "%.17g", real);
			break;
		default:
			sn_csv_text(events->out, sonde_db_string(events->db, (uint32_t)value));
		}
	}
}

static int write_event(void *context, const struct sn_walk_event *event)
{
	struct events *events = context;
	static const char *const kinds[] = {"",	       "sample", "interval", "instant",
					    "counter", "state",	 "system"};
	char name[8192] = "";
	bool is_device = sn_trace_export_is_device(&events->export, events->profile);
	const char *category = "";
	if (event->kind == SONDE_TRACK_COUNTER && sonde_db_metric(events->db, event->metric)) {
		snprintf(
		    name, sizeof(name), "%s",
		    sonde_db_string(events->db, sonde_db_metric(events->db, event->metric)->name));
	} else if (event->context || event->kind != SONDE_TRACK_SAMPLES) {
		sn_trace_export_name(&events->export, event, name, sizeof(name));
		category = sn_trace_export_category(&events->export, event, is_device);
	}
	write_profile_cells(events, events->profile);
	fprintf(events->out, ",%s,%" PRIu64 ",%" PRIu64, kinds[event->kind % 7], event->start_ns,
		event->end_ns);
	put_cell(events, category);
	put_cell(events, name);
	if (write_path(events, event->context))
		return SN_ERR_MEMORY;
	if (event->link)
		fprintf(events->out, ",%" PRIu64,
			sn_trace_export_link(&events->export, event->link));
	else
		fputc(',', events->out);
	write_attributes(events, event);
	fputc('\n', events->out);
	return ferror(events->out) ? SN_ERR_IO : 0;
}

static int write_events(const struct sn_export_request *request, FILE *out, struct sn_error *error)
{
	struct events events = {.db = request->db, .out = out};
	int result = sn_trace_export_open(&events.export, request->db, request->path, error);
	if (result)
		return result;
	write_head(&events);
	for (uint32_t i = 0; i < sonde_db_profile_count(request->db) && !result; i++) {
		if (!sn_trace_export_has(&events.export, i))
			continue;
		events.profile = i;
		sn_trace_export_begin(&events.export);
		result = sn_event_walk(&events.export, i, write_event, &events, error);
	}
	free(events.path);
	sn_trace_export_close(&events.export);
	return result;
}

const struct sn_exporter sn_exporter_events = {
    .name = "events",
    .extension = "events.csv",
    .write = write_events,
    .has_events = true,
};
