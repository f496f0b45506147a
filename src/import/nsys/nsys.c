/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importer of Nsight Systems' SQLite exports (`nsys export --type sqlite`).
 *
 * A table exists only if it has rows, and columns differ between versions; so each table is asked
 * for the columns that are of use. Calls on threads nest by time; operations of devices go below
 * the call with the same process and correlation. An unknown table whose rows are named calls of
 * threads is read as one; rows of other tables with times are counted as unread.
 *
 * Times are nanoseconds of the target's clock. The file has the session's start in that clock and
 * since the Unix epoch.
 */
#include "nsys.h"

#include <stdio.h>
#include <string.h>

/* A globalTid has hardware, virtual machine, process and thread in one number. */
#define PROCESS_OF(global) ((int64_t)((uint64_t)(global) >> 24))
#define PID_OF(global)	   ((int64_t)((uint64_t)(global) >> 24 & 0xffffff))
#define TID_OF(global)	   ((int64_t)((uint64_t)(global)&0xffffff))

const char *sn_nsys_string(struct sn_nsys *nsys, int64_t id)
{
	sqlite3_reset(nsys->strings);
	if (!nsys->strings || sqlite3_bind_int64(nsys->strings, 1, id) != SQLITE_OK ||
	    sqlite3_step(nsys->strings) != SQLITE_ROW)
		return "[unnamed]";
	return sn_sqlite_text(nsys->strings, 0);
}

uint32_t sn_nsys_process(struct sn_nsys *nsys, int64_t global)
{
	return sn_table_add(&nsys->processes, (uint64_t)PROCESS_OF(global));
}

static uint32_t program_of(struct sn_nsys *nsys, uint32_t process)
{
	return process < nsys->program_count ? nsys->programs[process] : SONDE_NONE;
}

uint32_t sn_nsys_thread(struct sn_nsys *nsys, int64_t global)
{
	uint32_t process = sn_nsys_process(nsys, global);
	struct sn_track_place place = {0, PID_OF(global), TID_OF(global), 0, process};
	uint32_t track = sn_track_sink_track(nsys->sink, &place);
	if (track != SONDE_NONE)
		sn_track_sink_set_track_program(nsys->sink, track, program_of(nsys, process));
	return track;
}

uint32_t sn_nsys_stream(struct sn_nsys *nsys, int64_t global, int64_t device, int64_t context,
			int64_t stream)
{
	uint32_t process = sn_nsys_process(nsys, global);
	struct sn_track_place place = {1, device, context, stream, process};
	uint32_t track = sn_track_sink_track(nsys->sink, &place);
	if (track == SONDE_NONE)
		return track;
	sn_track_sink_set_track_pid(nsys->sink, track, PID_OF(global));
	sn_track_sink_set_track_program(nsys->sink, track, program_of(nsys, process));
	return track;
}

uint64_t sn_nsys_correlation(struct sn_nsys *nsys, int64_t global, int64_t correlation)
{
	if (!correlation)
		return 0;
	return (uint64_t)sn_nsys_process(nsys, global) << 32 | (correlation & 0xffffffff);
}

/* The length without the version of CUPTI's names: "cudaLaunchKernel_v7000", but not that of
 * "cuMemcpyHtoDAsync_v2", which belongs to the name. */
static size_t api_length(const char *text)
{
	const char *version = strrchr(text, '_');
	size_t digits = version && version[1] == 'v' ? strspn(version + 2, "0123456789") : 0;
	return digits >= 4 && !version[2 + digits] ? (size_t)(version - text) : strlen(text);
}

int sn_nsys_name(struct sn_nsys *nsys, enum sn_activity_category category, int64_t id,
		 uint32_t *number)
{
	int64_t key[2] = {category, id};
	uint32_t before = nsys->name_ids.count;
	uint32_t at = sn_intern_item(&nsys->name_ids, key, sizeof(key), &nsys->name_numbers,
				     &nsys->name_capacity, {0});
	if (at == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	if (at == before) {
		const char *text = sn_nsys_string(nsys, id);
		size_t length = category == SN_ACTIVITY_API ? api_length(text) : strlen(text);
		if (sn_track_sink_name(nsys->sink, category, text, length, nsys->name_numbers + at))
			return SN_ERR_MEMORY;
	}
	*number = nsys->name_numbers[at];
	return 0;
}

int sn_nsys_add(struct sn_nsys *nsys, uint32_t track, uint32_t name, int64_t start_ns,
		int64_t end_ns, uint64_t link, const struct sn_track_attributes *attributes)
{
	if (track == SONDE_NONE)
		return SN_ERR_MEMORY;
	struct sn_track_event event = {
	    track, name, start_ns, end_ns, link, attributes->items, attributes->count};
	sn_track_sink_event(nsys->sink, &event);
	return 0;
}

/* ---- calls on threads ---- */

static enum sn_activity_category category_of(const char *table)
{
	if (!strncmp(table, "CUPTI_ACTIVITY_KIND_RUNTIME", 27) ||
	    !strncmp(table, "CUPTI_ACTIVITY_KIND_DRIVER", 26))
		return SN_ACTIVITY_API;
	if (!strncmp(table, "OSRT_", 5) || !strncmp(table, "SYSCALL", 7))
		return SN_ACTIVITY_SYSTEM;
	if (strstr(table, "OVERHEAD"))
		return SN_ACTIVITY_OVERHEAD;
	return SN_ACTIVITY_OTHER;
}

static const char *const call_columns[] = {"start",  "end",	      "globalTid",   "nameId",
					   "textId", "correlationId", "returnValue", NULL};
enum { START, END, THREAD, NAME, TEXT, CORRELATION, RETURNED };

static int add_call(struct sn_nsys *nsys, sqlite3_stmt *row, enum sn_activity_category category)
{
	struct sn_track_attributes attributes;
	attributes.count = 0;
	int64_t global = sqlite3_column_int64(row, THREAD);
	int64_t start = sqlite3_column_int64(row, START);
	int64_t end = sn_sqlite_is_null(row, END) ? start : sqlite3_column_int64(row, END);
	int64_t id = sqlite3_column_int64(row, sn_sqlite_is_null(row, NAME) ? TEXT : NAME);
	uint64_t link = 0;
	uint32_t name;
	if (sn_nsys_name(nsys, category, id, &name))
		return SN_ERR_MEMORY;
	if (category == SN_ACTIVITY_API)
		link = sn_nsys_correlation(nsys, global, sqlite3_column_int64(row, CORRELATION));
	if (sqlite3_column_int64(row, RETURNED))
		sn_track_attributes_put(&attributes, nsys->keys[SN_NSYS_KEY_RETURNED],
					(uint64_t)sqlite3_column_int64(row, RETURNED));
	return sn_nsys_add(nsys, sn_nsys_thread(nsys, global), name, start, end, link, &attributes);
}

/* The context of reading a table of calls. */
struct calls {
	struct sn_nsys *nsys;
	enum sn_activity_category category;
};

static int add_call_row(void *context, sqlite3_stmt *row)
{
	const struct calls *calls = context;
	return add_call(calls->nsys, row, calls->category);
}

static int read_calls(struct sn_nsys *nsys, const char *table, struct sn_error *error)
{
	struct calls calls = {nsys, category_of(table)};
	return sn_sqlite_each(&nsys->file, table, call_columns, "", add_call_row, &calls, error);
}

/* ---- the tables of a file ---- */

/* Tables that other functions read, and tables that repeat data of others. */
static bool is_read_elsewhere(const char *table)
{
	static const char *const known[] = {"CUPTI_ACTIVITY_KIND_KERNEL",
					    "CUPTI_ACTIVITY_KIND_MEMCPY",
					    "CUPTI_ACTIVITY_KIND_MEMSET",
					    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
					    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
					    "NVTX_EVENTS",
					    "COMPOSITE_EVENTS",
					    "CUDA_GPU_MEMORY_USAGE_EVENTS",
					    "DIAGNOSTIC_EVENT",
					    "ANALYSIS_DETAILS",
					    NULL};
	for (int i = 0; known[i]; i++)
		if (!strcmp(table, known[i]))
			return true;
	return false;
}

static int count_unread(struct sn_nsys *nsys, const char *table, struct sn_error *error)
{
	char *sql = sqlite3_mprintf("SELECT count(*) FROM \"%w\"", table);
	char cause[128], text[128];
	sqlite3_stmt *rows = NULL;
	int result = 0;
	snprintf(cause, sizeof(cause), "import-%.100s", table);
	snprintf(text, sizeof(text), "rows of %.64s, a table that is not read", table);
	if (!sql || sqlite3_prepare_v2(nsys->file.db, sql, -1, &rows, NULL) != SQLITE_OK)
		result = sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': %s", nsys->file.path,
				 sqlite3_errmsg(nsys->file.db));
	else if ((result = sn_sqlite_next(&nsys->file, rows, error)) > 0)
		sn_track_sink_lost(nsys->sink, cause, text,
				   (uint64_t)sqlite3_column_int64(rows, 0));
	sqlite3_finalize(rows);
	sqlite3_free(sql);
	return result < 0 ? result : 0;
}

static int read_table(struct sn_nsys *nsys, const char *table, struct sn_error *error)
{
	const struct sn_sqlite *file = &nsys->file;
	bool is_timed = sn_sqlite_has(file, table, "start");
	if (is_read_elsewhere(table))
		return 0;
	/* DX12_WORKLOAD, OPENGL_WORKLOAD, VULKAN_WORKLOAD; globalTid is the thread of the call */
	if (is_timed && sn_sqlite_has(file, table, "gpu") && sn_sqlite_has(file, table, "nameId") &&
	    strstr(table, "_WORKLOAD"))
		return sn_nsys_workloads(nsys, table, error);
	if (is_timed && sn_sqlite_has(file, table, "globalTid") &&
	    (sn_sqlite_has(file, table, "nameId") || sn_sqlite_has(file, table, "textId")))
		return read_calls(nsys, table, error);
	if (is_timed || sn_sqlite_has(file, table, "timestamp"))
		return count_unread(nsys, table, error);
	return 0;
}

static int read_tables(struct sn_nsys *nsys, struct sn_error *error)
{
	sqlite3_stmt *rows = NULL;
	if (sqlite3_prepare_v2(nsys->file.db,
			       "SELECT name FROM sqlite_master WHERE type='table' ORDER BY name",
			       -1, &rows, NULL) != SQLITE_OK)
		return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': %s", nsys->file.path,
			       sqlite3_errmsg(nsys->file.db));
	int found = 0;
	while (!found && (found = sn_sqlite_next(&nsys->file, rows, error)) > 0)
		found = read_table(nsys, sn_sqlite_text(rows, 0), error);
	sqlite3_finalize(rows);
	return found;
}

/* ---- who was measured ---- */

/* A column of the table's first row, or `missing`. */
static int64_t look_up(struct sn_nsys *nsys, const char *table, const char *column, int64_t missing)
{
	const char *const columns[] = {column, NULL};
	sqlite3_stmt *rows;
	struct sn_error ignored;
	if (sn_sqlite_select(&nsys->file, table, columns, "LIMIT 1", &rows, &ignored) == 0 &&
	    rows && sn_sqlite_next(&nsys->file, rows, &ignored) > 0 && !sn_sqlite_is_null(rows, 0))
		missing = sqlite3_column_int64(rows, 0);
	sqlite3_finalize(rows);
	return missing;
}

static int read_session(struct sn_nsys *nsys, struct sn_error *error)
{
	static const char *const columns[] = {"name", "value", NULL};
	sqlite3_stmt *rows;
	int64_t begin = look_up(nsys, "ANALYSIS_DETAILS", "startTime", 0);
	int64_t epoch = look_up(nsys, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs", begin);
	sn_track_sink_set_base(nsys->sink, epoch - begin);
	nsys->end_ns = look_up(nsys, "ANALYSIS_DETAILS", "stopTime", 0);
	int result = sn_sqlite_select(&nsys->file, "TARGET_INFO_SYSTEM_ENV", columns,
				      "WHERE name='Hostname'", &rows, error);
	if (!result && rows && (result = sn_sqlite_next(&nsys->file, rows, error)) > 0)
		sn_track_sink_set_host(
		    nsys->sink, sn_db_builder_string(nsys->builder, sn_sqlite_text(rows, 1)));
	sqlite3_finalize(rows);
	return result < 0 ? result : 0;
}

static int add_device(void *context, sqlite3_stmt *row)
{
	struct sn_nsys *nsys = context;
	char key[64];
	snprintf(key, sizeof(key), "nsys.gpu.%lld", (long long)sqlite3_column_int64(row, 0));
	sn_db_builder_property(nsys->builder, key, sn_sqlite_text(row, 1));
	return 0;
}

static int add_process(void *context, sqlite3_stmt *row)
{
	struct sn_nsys *nsys = context;
	uint32_t process = sn_nsys_process(nsys, sqlite3_column_int64(row, 0));
	const char *text = sn_sqlite_text(row, 1), *slash = strrchr(text, '/');
	if (process == SN_TABLE_NONE ||
	    sn_vec_reserve(&nsys->programs, &nsys->program_capacity, process + 1ull) < 0)
		return SN_ERR_MEMORY;
	for (; nsys->program_count <= process; nsys->program_count++)
		nsys->programs[nsys->program_count] = SONDE_NONE;
	if (*text)
		nsys->programs[process] =
		    sn_db_builder_string(nsys->builder, slash ? slash + 1 : text);
	return 0;
}

static int add_thread_name(void *context, sqlite3_stmt *row)
{
	struct sn_nsys *nsys = context;
	uint32_t track = sn_nsys_thread(nsys, sqlite3_column_int64(row, 0));
	if (track == SONDE_NONE)
		return SN_ERR_MEMORY;
	sn_track_sink_name_track(
	    nsys->sink, track,
	    sn_db_builder_string(nsys->builder,
				 sn_nsys_string(nsys, sqlite3_column_int64(row, 1))));
	return 0;
}

static int read_names(struct sn_nsys *nsys, struct sn_error *error)
{
	static const char *const devices[] = {"id", "name", NULL};
	static const char *const processes[] = {"globalPid", "name", NULL};
	static const char *const threads[] = {"globalTid", "nameId", NULL};
	int result = sn_sqlite_each(&nsys->file, "TARGET_INFO_GPU", devices, "LIMIT 1024",
				    add_device, nsys, error);
	if (!result)
		result = sn_sqlite_each(&nsys->file, "PROCESSES", processes, "", add_process, nsys,
					error);
	return result ? result
		      : sn_sqlite_each(&nsys->file, "ThreadNames", threads, "", add_thread_name,
				       nsys, error);
}

/* Sets the rank of an MPI process: of all its threads and streams. */
static int add_rank(void *context, sqlite3_stmt *row)
{
	struct sn_nsys *nsys = context;
	uint32_t process = sn_nsys_process(nsys, sqlite3_column_int64(row, 0));
	for (uint32_t i = 0; i < sn_track_sink_count(nsys->sink); i++)
		if (sn_track_sink_place(nsys->sink, i)->process == process)
			sn_track_sink_set_track_rank(nsys->sink, i, sqlite3_column_int(row, 1));
	return 0;
}

static int read_ranks(struct sn_nsys *nsys, struct sn_error *error)
{
	static const char *const columns[] = {"globalTid", "rank", NULL};
	return sn_sqlite_each(&nsys->file, "MPI_RANKS", columns, "LIMIT 65536", add_rank, nsys,
			      error);
}

/* ---- files ---- */

static int open_file(struct sn_nsys *nsys, const char *path, struct sn_error *error)
{
	int result = sn_sqlite_open(&nsys->file, path, error);
	if (result)
		return result;
	if (sn_sqlite_has(&nsys->file, "StringIds", "value") &&
	    sqlite3_prepare_v2(nsys->file.db, "SELECT value FROM StringIds WHERE id=?1", -1,
			       &nsys->strings, NULL) != SQLITE_OK)
		return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': %s", path,
			       sqlite3_errmsg(nsys->file.db));
	sn_track_sink_lost(nsys->sink, "import-unnamed",
			   "files without their table of names, StringIds", !nsys->strings);
	return sn_track_sink_open(nsys->sink, path, error);
}

static void close_file(struct sn_nsys *nsys)
{
	sqlite3_finalize(nsys->strings);
	nsys->strings = NULL;
	sn_sqlite_close(&nsys->file);
	sn_table_release(&nsys->processes);
	sn_table_release(&nsys->contexts);
	sn_intern_release(&nsys->name_ids);
	sn_intern_release(&nsys->domains);
	nsys->program_count = 0;
}

static int read_file(struct sn_nsys *nsys, const char *path, size_t path_count,
		     struct sn_error *error)
{
	static int (*const steps[])(struct sn_nsys * nsys, struct sn_error * error) = {
	    read_session,   read_names,	     read_tables, sn_nsys_devices,
	    sn_nsys_ranges, sn_nsys_samples, read_ranks};
	int result = open_file(nsys, path, error);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && !result; i++)
		result = steps[i](nsys, error);
	close_file(nsys);
	sn_track_sink_set_busiest_program(nsys->sink);
	return result ? result : sn_track_sink_build(nsys->sink, path_count, error);
}

static void make_keys(struct sn_nsys *nsys)
{
	static const struct sn_track_key_name keys[SN_NSYS_KEYS] = {
	    [SN_NSYS_KEY_RETURNED] = {"return value", SONDE_ATTRIBUTE_SIGNED},
	    [SN_NSYS_KEY_GRAPH_NODE] = {"graph node id", SONDE_ATTRIBUTE_SIGNED},
	    [SN_NSYS_KEY_GRAPH] = {"graph id", SONDE_ATTRIBUTE_SIGNED},
	    [SN_NSYS_KEY_LOCAL] = {"local memory per thread", SONDE_ATTRIBUTE_SIGNED},
	    [SN_NSYS_KEY_SOURCE] = {"source device", SONDE_ATTRIBUTE_SIGNED},
	    [SN_NSYS_KEY_TARGET] = {"target device", SONDE_ATTRIBUTE_SIGNED},
	    [SN_NSYS_KEY_FILL] = {"value", SONDE_ATTRIBUTE_SIGNED},
	    [SN_NSYS_KEY_PAYLOAD] = {"payload", SONDE_ATTRIBUTE_STRING},
	    [SN_NSYS_KEY_CATEGORY] = {"category", SONDE_ATTRIBUTE_SIGNED},
	    [SN_NSYS_KEY_SIZES] = {"sizes", SONDE_ATTRIBUTE_STRING},
	};
	sn_track_sink_make_keys(nsys->sink, keys, SN_NSYS_KEYS, nsys->keys);
}

static int read_all(const struct sn_import_request *request, struct sn_db_builder *builder,
		    struct sn_error *error)
{
	struct sn_nsys nsys = {0};
	int result = sn_sqlite_load(request->paths[0], error);
	if (result)
		return result;
	nsys.sink = sn_track_sink_new("nsys", builder, request);
	if (!nsys.sink)
		return sn_fail_memory(error);
	nsys.builder = builder;
	nsys.known = sn_track_sink_keys(nsys.sink);
	make_keys(&nsys);
	for (size_t i = 0; i < request->path_count && !result; i++)
		result = read_file(&nsys, request->paths[i], request->path_count, error);
	if (!result)
		sn_track_sink_finish(nsys.sink);
	sn_track_sink_free(nsys.sink);
	free(nsys.programs);
	free(nsys.name_numbers);
	free(nsys.domain_names);
	return result;
}

static bool probe(const struct sn_import_input *input)
{
	struct sn_sqlite file;
	struct sn_error ignored;
	if (!sn_sqlite_is_file(input))
		return false;
	int result = sn_sqlite_open(&file, input->path, &ignored);
	/* without SQLite the tables cannot be examined; reading the file reports why */
	if (result == SN_ERR_UNSUPPORTED)
		return true;
	bool is_ours =
	    result == 0 && (sn_sqlite_has(&file, "META_DATA_EXPORT", NULL) ||
			    sn_sqlite_has(&file, "EXPORT_META_DATA", NULL) ||
			    (sn_sqlite_has(&file, "StringIds", NULL) &&
			     (sn_sqlite_has(&file, "TARGET_INFO_SESSION_START_TIME", NULL) ||
			      sn_sqlite_has(&file, "TARGET_INFO_GPU", NULL) ||
			      sn_sqlite_has(&file, "OSRT_API", NULL)))); /* until 2020 */
	sn_sqlite_close(&file);
	return is_ours;
}

const struct sn_importer sn_importer_nsys = {
    .name = "nsys",
    .probe = probe,
    .read = read_all,
};
