/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads rocpd databases, which rocprofiler-sdk's tools write as SQLite (schema version 3). The
 * tables of a recording end in its id, "rocpd_region_00006d4f_..."; a file may have several
 * recordings. Rows refer to others by id: strings, threads, agents, events. An API call and the
 * operation it started have events with the same stack id.
 *
 * Counters are read side by side with the kernels or samples they belong to, in the order of
 * events, so that nothing has to be kept.
 */
#include "rocprof.h"

#include "base/text.h"
#include "import/sqlite/sqlite_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRING_TABLE "rocpd_string"
#define NAME_BYTES   4096

enum lookup {
	STRING,
	THREAD,
	PROCESS,
	AGENT,
	QUEUE,
	STREAM,
	SYMBOL,
	EVENT,
	COUNTER,
	TRACK,
	LOOKUPS
};

static const struct {
	const char *table;
	const char *columns[6];
} lookups[LOOKUPS] = {
    [STRING] = {"string", {"string"}},
    [THREAD] = {"info_thread", {"tid", "pid", "name"}},
    [PROCESS] = {"info_process", {"pid", "command"}},
    [AGENT] = {"info_agent", {"absolute_index"}},
    [QUEUE] = {"info_queue", {"name"}},
    [STREAM] = {"info_stream", {"name"}},
    [SYMBOL] = {"info_kernel_symbol",
		{"display_name", "kernel_name", "arch_vgpr_count", "accum_vgpr_count",
		 "sgpr_count"}},
    [EVENT] = {"event", {"stack_id", "correlation_id", "category_id"}},
    [COUNTER] = {"info_pmc", {"symbol", "name"}},
    [TRACK] = {"track", {"pid", "tid"}},
};

struct rocpd {
	struct sn_rocprof *rocprof;
	struct sn_sqlite file;
	char suffix[128]; /* the end of this recording's table names */
	uint32_t number;  /* of this recording in the file; each numbers its calls from 1 */
	sqlite3_stmt *lookups[LOOKUPS];
	sqlite3_stmt *counters; /* rows of rocpd_pmc_event, or NULL */
	bool has_counter;	/* the statement is at a row */
};

bool sn_rocprof_is_rocpd(const struct sn_import_input *input)
{
	struct sn_sqlite file;
	struct sn_error ignored;
	char name[128];
	if (!sn_sqlite_is_file(input))
		return false;
	bool is_ours = sn_sqlite_open(&file, input->path, &ignored) == 0 &&
		       sn_sqlite_find(&file, STRING_TABLE, name, sizeof(name));
	sn_sqlite_close(&file);
	return is_ours;
}

static void table_name(const struct rocpd *rocpd, const char *table, char *name, size_t size)
{
	snprintf(name, size, "rocpd_%s%s", table, rocpd->suffix);
}

static int open_lookups(struct rocpd *rocpd, struct sn_error *error)
{
	char name[256];
	int result = 0;
	for (unsigned i = 0; i < LOOKUPS && !result; i++) {
		table_name(rocpd, lookups[i].table, name, sizeof(name));
		result = sn_sqlite_select(&rocpd->file, name, lookups[i].columns, "WHERE id=?1",
					  rocpd->lookups + i, error);
	}
	return result;
}

/* The row of that id, or NULL; valid until the next lookup in the same table. */
static sqlite3_stmt *look(struct rocpd *rocpd, enum lookup which, sqlite3_stmt *row, int column)
{
	sqlite3_stmt *found = rocpd->lookups[which];
	if (!found || sn_sqlite_is_null(row, column))
		return NULL;
	sqlite3_reset(found);
	if (sqlite3_bind_int64(found, 1, sqlite3_column_int64(row, column)) != SQLITE_OK ||
	    sqlite3_step(found) != SQLITE_ROW)
		return NULL;
	return found;
}

/* The number in a name such as "Queue 3", or else the row's id. */
static int64_t number_of(struct rocpd *rocpd, enum lookup which, sqlite3_stmt *row, int column)
{
	sqlite3_stmt *found = look(rocpd, which, row, column);
	const char *name = found ? sn_sqlite_text(found, 0) : "";
	const char *digits = name + strcspn(name, "0123456789");
	return *digits && !digits[strspn(digits, "0123456789")] && strlen(digits) < 10
		   ? strtoll(digits, NULL, 10)
		   : sqlite3_column_int64(row, column);
}

static int64_t agent_of(struct rocpd *rocpd, sqlite3_stmt *row, int column)
{
	sqlite3_stmt *found = look(rocpd, AGENT, row, column);
	return found ? sqlite3_column_int64(found, 0) : sqlite3_column_int64(row, column);
}

static int64_t correlation_of(struct rocpd *rocpd, sqlite3_stmt *row, int column)
{
	sqlite3_stmt *found = look(rocpd, EVENT, row, column);
	if (!found)
		return 0;
	int64_t stack = sqlite3_column_int64(found, 0);
	int64_t correlation = stack ? stack : sqlite3_column_int64(found, 1);
	return correlation ? (int64_t)rocpd->number << 40 | correlation : 0;
}

static void string_of(struct rocpd *rocpd, sqlite3_stmt *row, int column, char *text, size_t size)
{
	sqlite3_stmt *found = look(rocpd, STRING, row, column);
	snprintf(text, size, "%s", found ? sn_sqlite_text(found, 0) : "[unnamed]");
}

/* The category of a row's event, such as "HIP_RUNTIME_API". */
static void category_of(struct rocpd *rocpd, sqlite3_stmt *row, int column, char *text, size_t size)
{
	sqlite3_stmt *event = look(rocpd, EVENT, row, column);
	*text = 0;
	if (event)
		string_of(rocpd, event, 2, text, size);
}

/* Sets process and thread from the first two columns of a row, and names the thread's track. */
static void who_of(struct rocpd *rocpd, sqlite3_stmt *row, struct sn_rocprof_activity *activity)
{
	sqlite3_stmt *found = look(rocpd, PROCESS, row, 0);
	activity->pid = found ? sqlite3_column_int64(found, 0) : sqlite3_column_int64(row, 0);
	found = look(rocpd, THREAD, row, 1);
	activity->tid = found ? sqlite3_column_int64(found, 0) : sqlite3_column_int64(row, 1);
	const char *name = found ? sn_sqlite_text(found, 2) : "";
	struct sn_track_place place = {0, activity->pid, activity->tid, 0, 0};
	if (!*name)
		return;
	uint32_t track = sn_track_sink_track(rocpd->rocprof->sink, &place);
	if (track != SONDE_NONE &&
	    sn_track_sink_at(rocpd->rocprof->sink, track)->name == SONDE_NONE)
		sn_track_sink_name_track(rocpd->rocprof->sink, track,
					 sn_db_builder_string(rocpd->rocprof->builder, name));
}

/* ---- calls ---- */

static const char *const region_columns[] = {"pid",	"tid",	    "start",   "end",
					     "name_id", "event_id", "extdata", NULL};

/* Replaces a marker's name by its text, {"message": "..."} in the call's extra data. */
static void message_of(struct rocpd *rocpd, const char *extra, char *text, size_t size)
{
	sqlite3_stmt *query = NULL;
	if (strstr(extra, "\"message\"") &&
	    sqlite3_prepare_v2(rocpd->file.db, "SELECT json_extract(?1, '$.message')", -1, &query,
			       NULL) == SQLITE_OK &&
	    sqlite3_bind_text(query, 1, extra, -1, SQLITE_TRANSIENT) == SQLITE_OK &&
	    sqlite3_step(query) == SQLITE_ROW && *sn_sqlite_text(query, 0))
		snprintf(text, size, "%s", sn_sqlite_text(query, 0));
	sqlite3_finalize(query);
}

static int add_region(void *context, sqlite3_stmt *row)
{
	struct rocpd *rocpd = context;
	char name[NAME_BYTES], category[128];
	struct sn_rocprof_activity activity = {.bytes = -1};
	who_of(rocpd, row, &activity);
	activity.start_ns = sqlite3_column_int64(row, 2);
	activity.end_ns = sqlite3_column_int64(row, 3);
	string_of(rocpd, row, 4, name, sizeof(name));
	category_of(rocpd, row, 5, category, sizeof(category));
	activity.correlation = correlation_of(rocpd, row, 5);
	enum sn_activity_category kind = sn_rocprof_category(category);
	if (kind == SN_ACTIVITY_ANNOTATION)
		message_of(rocpd, sn_sqlite_text(row, 6), name, sizeof(name));
	return sn_rocprof_call(rocpd->rocprof, kind, name, &activity);
}

/* ---- kernels and their counters ---- */

static const char *const counter_columns[] = {"event_id", "pmc_id", "value", NULL};

static int open_counters(struct rocpd *rocpd, struct sn_error *error)
{
	char name[256];
	table_name(rocpd, "pmc_event", name, sizeof(name));
	sqlite3_finalize(rocpd->counters);
	int result = sn_sqlite_select(&rocpd->file, name, counter_columns,
				      "WHERE event_id IS NOT NULL ORDER BY event_id, id",
				      &rocpd->counters, error);
	rocpd->has_counter = rocpd->counters && sqlite3_step(rocpd->counters) == SQLITE_ROW;
	return result;
}

/* The next counter of an event. Events must come in ascending order. */
static bool next_counter(struct rocpd *rocpd, int64_t event, char *name, size_t size, double *value)
{
	while (rocpd->has_counter) {
		int64_t at = sqlite3_column_int64(rocpd->counters, 0);
		if (at > event)
			return false;
		sqlite3_stmt *found = look(rocpd, COUNTER, rocpd->counters, 1);
		snprintf(name, size, "%s", found ? sn_sqlite_text(found, 0) : "[unnamed]");
		*value = sqlite3_column_double(rocpd->counters, 2);
		rocpd->has_counter = sqlite3_step(rocpd->counters) == SQLITE_ROW;
		if (at == event)
			return true;
	}
	return false;
}

static const char *const kernel_columns[] = {"pid",
					     "tid",
					     "agent_id",
					     "queue_id",
					     "stream_id",
					     "start",
					     "end",
					     "dispatch_id",
					     "private_segment_size",
					     "group_segment_size",
					     "workgroup_size_x",
					     "workgroup_size_y",
					     "workgroup_size_z",
					     "grid_size_x",
					     "grid_size_y",
					     "grid_size_z",
					     "kernel_id",
					     "event_id",
					     NULL};

static void name_kernel(struct rocpd *rocpd, sqlite3_stmt *row, char *name, size_t size,
			struct sn_rocprof_activity *activity)
{
	sqlite3_stmt *symbol = look(rocpd, SYMBOL, row, 16);
	snprintf(name, size, "[unnamed kernel]");
	if (!symbol)
		return;
	const char *text = sn_sqlite_text(symbol, sn_sqlite_is_null(symbol, 0) ? 1 : 0);
	if (*text)
		snprintf(name, size, "%s", text);
	activity->vector_registers = sqlite3_column_int64(symbol, 2);
	activity->accumulation_registers = sqlite3_column_int64(symbol, 3);
	activity->scalar_registers = sqlite3_column_int64(symbol, 4);
}

static int add_kernel(void *context, sqlite3_stmt *row)
{
	struct rocpd *rocpd = context;
	char name[NAME_BYTES], counter[256];
	double value;
	struct sn_rocprof_activity activity = {
	    .bytes = -1,
	    .agent = agent_of(rocpd, row, 2),
	    .queue = number_of(rocpd, QUEUE, row, 3),
	    .stream = number_of(rocpd, STREAM, row, 4),
	    .start_ns = sqlite3_column_int64(row, 5),
	    .end_ns = sqlite3_column_int64(row, 6),
	    .dispatch = sqlite3_column_int64(row, 7),
	    .scratch_bytes = sqlite3_column_int64(row, 8),
	    .shared_bytes = sqlite3_column_int64(row, 9),
	};
	for (int i = 0; i < 3; i++) {
		activity.workgroup[i] = sqlite3_column_int64(row, 10 + i);
		activity.grid[i] = sqlite3_column_int64(row, 13 + i);
	}
	who_of(rocpd, row, &activity);
	name_kernel(rocpd, row, name, sizeof(name), &activity);
	activity.correlation = correlation_of(rocpd, row, 17);
	int result = sn_rocprof_dispatch(rocpd->rocprof, name, &activity);
	while (!result &&
	       next_counter(rocpd, sqlite3_column_int64(row, 17), counter, sizeof(counter), &value))
		result = sn_rocprof_counter(rocpd->rocprof, name, counter, value, &activity);
	return result;
}

/* ---- copies, allocations, samples ---- */

static const char *const copy_columns[] = {"pid",	"tid",	    "dst_agent_id", "queue_id",
					   "stream_id", "start",    "end",	    "name_id",
					   "size",	"event_id", "src_agent_id", NULL};

static int add_copy(void *context, sqlite3_stmt *row)
{
	struct rocpd *rocpd = context;
	char name[128];
	struct sn_rocprof_activity activity = {
	    .agent = agent_of(rocpd, row, 2),
	    .queue = number_of(rocpd, QUEUE, row, 3),
	    .stream = number_of(rocpd, STREAM, row, 4),
	    .start_ns = sqlite3_column_int64(row, 5),
	    .end_ns = sqlite3_column_int64(row, 6),
	    .bytes = sqlite3_column_int64(row, 8),
	};
	who_of(rocpd, row, &activity);
	string_of(rocpd, row, 7, name, sizeof(name));
	/* a copy to the host is an operation of the device it comes from */
	if (strstr(name, "TO_HOST"))
		activity.agent = agent_of(rocpd, row, 10);
	activity.correlation = correlation_of(rocpd, row, 9);
	return sn_rocprof_copy(rocpd->rocprof, name, &activity);
}

static const char *const allocation_columns[] = {"pid",	    "tid",  "type",	"start",
						 "address", "size", "agent_id", NULL};

static int add_allocation(void *context, sqlite3_stmt *row)
{
	struct rocpd *rocpd = context;
	struct sn_rocprof_activity activity = {.start_ns = sqlite3_column_int64(row, 3)};
	bool is_release = !strcmp(sn_sqlite_text(row, 2), "FREE");
	who_of(rocpd, row, &activity);
	return sn_rocprof_allocation(rocpd->rocprof, is_release, sqlite3_column_int64(row, 4),
				     sqlite3_column_int64(row, 5), &activity);
}

static const char *const sample_columns[] = {"track_id", "timestamp", "event_id", NULL};

/* Values of counters over time; rounded to integers, as counters of a timeline are. */
static int add_sample(void *context, sqlite3_stmt *row)
{
	struct rocpd *rocpd = context;
	struct sn_track_sink *sink = rocpd->rocprof->sink;
	struct sn_rocprof_activity activity = {.start_ns = sqlite3_column_int64(row, 1)};
	char counter[256];
	double value;
	sqlite3_stmt *whose = look(rocpd, TRACK, row, 0);
	if (whose)
		who_of(rocpd, whose, &activity);
	struct sn_track_place place = {0, activity.pid, activity.tid, 0, 0};
	uint32_t track = sn_track_sink_track(sink, &place);
	while (track != SONDE_NONE && next_counter(rocpd, sqlite3_column_int64(row, 2), counter,
						   sizeof(counter), &value)) {
		bool fits = value > -9e18 && value < 9e18;
		uint32_t metric = sn_track_sink_metric(
		    sink, sn_db_builder_string(rocpd->rocprof->builder, counter), "1");
		sn_track_sink_counter(sink, track, metric,
				      activity.start_ns < 0 ? INT64_MIN : activity.start_ns, false,
				      fits ? (uint64_t)(int64_t)value : 0);
	}
	return track == SONDE_NONE ? SN_ERR_MEMORY : 0;
}

/* ---- who was measured ---- */

static const char *const agent_columns[] = {"absolute_index", "type", "product_name", "name", NULL};

static int add_agent(void *context, sqlite3_stmt *row)
{
	struct rocpd *rocpd = context;
	char key[64];
	if (strcmp(sn_sqlite_text(row, 1), "GPU") != 0)
		return 0;
	snprintf(key, sizeof(key), "rocprof.gpu.%lld", (long long)sqlite3_column_int64(row, 0));
	sn_db_builder_property(rocpd->rocprof->builder, key,
			       sn_sqlite_text(row, sn_sqlite_is_null(row, 2) ? 3 : 2));
	return 0;
}

static const char *const node_columns[] = {"hostname", NULL};

static int add_node(void *context, sqlite3_stmt *row)
{
	struct rocpd *rocpd = context;
	sn_track_sink_set_host(rocpd->rocprof->sink, sn_db_builder_string(rocpd->rocprof->builder,
									  sn_sqlite_text(row, 0)));
	return 0;
}

static const char *const process_columns[] = {"command", NULL};

static int add_process(void *context, sqlite3_stmt *row)
{
	struct rocpd *rocpd = context;
	const char *command = sn_sqlite_text(row, 0);
	char word[256];
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(command, " "), command);
	if (*word)
		sn_track_sink_set_program(
		    rocpd->rocprof->sink,
		    sn_db_builder_string(rocpd->rocprof->builder, sn_text_base_name(word)));
	return 0;
}

/* ---- the file ---- */

/* In the order of reading. */
static const struct {
	const char *name;
	const char *const *columns;
	const char *rest;
	int (*add)(void *context, sqlite3_stmt *row);
	bool has_counters; /* the counters must be read again from the start */
} tables[] = {
    {"info_node", node_columns, "LIMIT 1", add_node, false},
    {"info_process", process_columns, "LIMIT 1", add_process, false},
    {"info_agent", agent_columns, "LIMIT 1024", add_agent, false},
    {"region", region_columns, "ORDER BY start, id", add_region, false},
    {"kernel_dispatch", kernel_columns, "ORDER BY event_id, id", add_kernel, true},
    {"memory_copy", copy_columns, "ORDER BY start, id", add_copy, false},
    {"memory_allocate", allocation_columns, "ORDER BY start, id", add_allocation, false},
    {"sample", sample_columns, "ORDER BY event_id, id", add_sample, true},
};

static int read_tables(struct rocpd *rocpd, struct sn_error *error)
{
	char name[256];
	int result = open_lookups(rocpd, error);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && !result; i++) {
		if (tables[i].has_counters)
			result = open_counters(rocpd, error);
		table_name(rocpd, tables[i].name, name, sizeof(name));
		if (!result)
			result = sn_sqlite_each(&rocpd->file, name, tables[i].columns,
						tables[i].rest, tables[i].add, rocpd, error);
	}
	return result;
}

static void close_tables(struct rocpd *rocpd)
{
	for (unsigned i = 0; i < LOOKUPS; i++) {
		sqlite3_finalize(rocpd->lookups[i]);
		rocpd->lookups[i] = NULL;
	}
	sqlite3_finalize(rocpd->counters);
	rocpd->counters = NULL;
	sn_intern_release(&rocpd->rocprof->addresses);
}

/* Reads each recording of the file; there is one for each table of strings. */
static int read_recordings(struct rocpd *rocpd, struct sn_error *error)
{
	sqlite3_stmt *names = NULL;
	int found = 0;
	if (sqlite3_prepare_v2(rocpd->file.db,
			       "SELECT substr(name, 13) FROM sqlite_master WHERE type='table' AND "
			       "substr(name, 1, 12)='" STRING_TABLE "' ORDER BY name",
			       -1, &names, NULL) != SQLITE_OK)
		return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': %s", rocpd->file.path,
			       sqlite3_errmsg(rocpd->file.db));
	while (!found && (found = sn_sqlite_next(&rocpd->file, names, error)) > 0) {
		snprintf(rocpd->suffix, sizeof(rocpd->suffix), "%s", sn_sqlite_text(names, 0));
		rocpd->rocprof->process = rocpd->number;
		found = read_tables(rocpd, error);
		close_tables(rocpd);
		rocpd->number++;
	}
	sqlite3_finalize(names);
	return found;
}

int sn_rocprof_read_rocpd(struct sn_rocprof *rocprof, const char *path, struct sn_error *error)
{
	struct rocpd rocpd = {.rocprof = rocprof};
	int result = sn_sqlite_open(&rocpd.file, path, error);
	rocprof->has_kernels = true; /* so that counters do not become kernels */
	if (!result && sn_sqlite_has(&rocpd.file, "rocpd_api", NULL))
		result = sn_fail(
		    error, SN_ERR_UNSUPPORTED,
		    "cannot read '%s': written by the older RPD tool, not by rocprofiler-sdk",
		    path);
	if (!result)
		result = read_recordings(&rocpd, error);
	sn_sqlite_close(&rocpd.file);
	return result;
}
