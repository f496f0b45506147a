/* SPDX-License-Identifier: Apache-2.0 */
/* What ran on devices in an Nsight Systems export: kernels, graphs, copies, fills, waits. */
#include "nsys.h"

#include <stdio.h>

/* The first columns of each of these tables. */
#define COMMON "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid"
enum { START, END, DEVICE, CONTEXT, STREAM, CORRELATION, PROCESS, SPECIFIC };

static uint64_t context_key(struct sn_nsys *nsys, sqlite3_stmt *row)
{
	return (uint64_t)sn_nsys_process(nsys, sqlite3_column_int64(row, PROCESS)) << 32 |
	       (sqlite3_column_int64(row, CONTEXT) & 0xffffffff);
}

static int add_on(struct sn_nsys *nsys, sqlite3_stmt *row, int64_t device, uint32_t name,
		  const struct sn_track_attributes *attributes)
{
	int64_t global = sqlite3_column_int64(row, PROCESS);
	uint32_t track = sn_nsys_stream(nsys, global, device, sqlite3_column_int64(row, CONTEXT),
					sqlite3_column_int64(row, STREAM));
	return sn_nsys_add(
	    nsys, track, name, sqlite3_column_int64(row, START), sqlite3_column_int64(row, END),
	    sn_nsys_correlation(nsys, global, sqlite3_column_int64(row, CORRELATION)), attributes);
}

static void put(struct sn_track_attributes *attributes, sqlite3_stmt *row, int column, uint32_t key)
{
	if (!sn_sqlite_is_null(row, column))
		sn_track_attributes_put(attributes, key,
					(uint64_t)sqlite3_column_int64(row, column));
}

/* Adds an operation and notes the device of its context. */
static int add(struct sn_nsys *nsys, sqlite3_stmt *row, uint32_t name,
	       const struct sn_track_attributes *attributes)
{
	int64_t device = sqlite3_column_int64(row, DEVICE);
	if (sn_table_put(&nsys->contexts, context_key(nsys, row), (uint32_t)device))
		return SN_ERR_MEMORY;
	return add_on(nsys, row, device, name, attributes);
}

/* The device of a row's context, as noted. The row's own device, which is always 0 in waits, is
 * used only if no operation ran in the context. */
static int64_t device_of(struct sn_nsys *nsys, sqlite3_stmt *row)
{
	uint32_t device = sn_table_find(&nsys->contexts, context_key(nsys, row));
	return device == SN_TABLE_NONE ? sqlite3_column_int64(row, DEVICE) : device;
}

/* ---- kernels ---- */

enum {
	DEMANGLED = SPECIFIC,
	SHORT,
	GRID,
	BLOCK = GRID + 3,
	REGISTERS = BLOCK + 3,
	SHARED,
	DYNAMIC,
	LOCAL,
	NODE,
	GRAPH,
};
static const char *const kernel_columns[] = {COMMON,
					     "demangledName",
					     "shortName",
					     "gridX",
					     "gridY",
					     "gridZ",
					     "blockX",
					     "blockY",
					     "blockZ",
					     "registersPerThread",
					     "staticSharedMemory",
					     "dynamicSharedMemory",
					     "localMemoryPerThread",
					     "graphNodeId",
					     "graphId",
					     NULL};

static int add_kernel(void *context, sqlite3_stmt *row)
{
	struct sn_nsys *nsys = context;
	const uint32_t *keys = nsys->known;
	struct sn_track_attributes attributes;
	attributes.count = 0;
	int64_t shared = sqlite3_column_int64(row, SHARED) + sqlite3_column_int64(row, DYNAMIC);
	uint32_t name;
	for (unsigned i = 0; i < 3; i++)
		put(&attributes, row, GRID + (int)i, keys[SN_TRACK_KEY_GRID_X + i]);
	for (unsigned i = 0; i < 3; i++)
		put(&attributes, row, BLOCK + (int)i, keys[SN_TRACK_KEY_BLOCK_X + i]);
	put(&attributes, row, REGISTERS, keys[SN_TRACK_KEY_REGISTERS]);
	sn_track_attributes_put(&attributes, keys[SN_TRACK_KEY_SHARED], (uint64_t)shared);
	if (sqlite3_column_int64(row, LOCAL))
		put(&attributes, row, LOCAL, nsys->keys[SN_NSYS_KEY_LOCAL]);
	put(&attributes, row, NODE, nsys->keys[SN_NSYS_KEY_GRAPH_NODE]);
	put(&attributes, row, GRAPH, nsys->keys[SN_NSYS_KEY_GRAPH]);
	int column = sn_sqlite_is_null(row, DEMANGLED) ? SHORT : DEMANGLED;
	if (sn_nsys_name(nsys, SN_ACTIVITY_KERNEL, sqlite3_column_int64(row, column), &name))
		return SN_ERR_MEMORY;
	return add(nsys, row, name, &attributes);
}

/* With graphs recorded as a whole, their kernels are not recorded. */
static const char *const graph_columns[] = {COMMON, "graphId", NULL};

static int add_graph(void *context, sqlite3_stmt *row)
{
	struct sn_nsys *nsys = context;
	static const char text[] = "[CUDA graph]";
	struct sn_track_attributes attributes;
	attributes.count = 0;
	uint32_t name;
	put(&attributes, row, SPECIFIC, nsys->keys[SN_NSYS_KEY_GRAPH]);
	if (sn_track_sink_name(nsys->sink, SN_ACTIVITY_GRAPH, text, sizeof(text) - 1, &name))
		return SN_ERR_MEMORY;
	return add(nsys, row, name, &attributes);
}

/* ---- copies, fills, waits ---- */

static int named(struct sn_nsys *nsys, enum sn_activity_category category, const char *prefix,
		 const char *kind, uint32_t *name)
{
	char text[128];
	int length = snprintf(text, sizeof(text), "[CUDA %s%s%s]", prefix, kind ? " " : "",
			      kind ? kind : "");
	return sn_track_sink_name(nsys->sink, category, text, (size_t)length, name);
}

static const char *const copy_columns[] = {COMMON,	  "bytes",	 "copyKind", "srcDeviceId",
					   "dstDeviceId", "graphNodeId", NULL};

static int add_copy(void *context, sqlite3_stmt *row)
{
	struct sn_nsys *nsys = context;
	/* CUpti_ActivityMemcpyKind */
	static const char *const kinds[] = {"Unknown",
					    "Host-to-Device",
					    "Device-to-Host",
					    "Host-to-Array",
					    "Array-to-Host",
					    "Array-to-Array",
					    "Array-to-Device",
					    "Device-to-Array",
					    "Device-to-Device",
					    "Host-to-Host",
					    "Peer-to-Peer",
					    "Unified Host-to-Device",
					    "Unified Device-to-Host",
					    "Unified Device-to-Device"};
	struct sn_track_attributes attributes;
	attributes.count = 0;
	int64_t kind = sqlite3_column_int64(row, SPECIFIC + 1);
	uint32_t name;
	bool is_known = kind >= 0 && kind < (int64_t)(sizeof(kinds) / sizeof(*kinds));
	put(&attributes, row, SPECIFIC, nsys->known[SN_TRACK_KEY_BYTES]);
	put(&attributes, row, SPECIFIC + 2, nsys->keys[SN_NSYS_KEY_SOURCE]);
	put(&attributes, row, SPECIFIC + 3, nsys->keys[SN_NSYS_KEY_TARGET]);
	put(&attributes, row, SPECIFIC + 4, nsys->keys[SN_NSYS_KEY_GRAPH_NODE]);
	if (named(nsys, SN_ACTIVITY_COPY, "memcpy", kinds[is_known ? kind : 0], &name))
		return SN_ERR_MEMORY;
	return add(nsys, row, name, &attributes);
}

static const char *const fill_columns[] = {COMMON, "bytes", "value", "graphNodeId", NULL};

static int add_fill(void *context, sqlite3_stmt *row)
{
	struct sn_nsys *nsys = context;
	struct sn_track_attributes attributes;
	attributes.count = 0;
	uint32_t name;
	put(&attributes, row, SPECIFIC, nsys->known[SN_TRACK_KEY_BYTES]);
	put(&attributes, row, SPECIFIC + 1, nsys->keys[SN_NSYS_KEY_FILL]);
	put(&attributes, row, SPECIFIC + 2, nsys->keys[SN_NSYS_KEY_GRAPH_NODE]);
	if (named(nsys, SN_ACTIVITY_FILL, "memset", NULL, &name))
		return SN_ERR_MEMORY;
	return add(nsys, row, name, &attributes);
}

static const char *const wait_columns[] = {COMMON, "syncType", NULL};

static int add_wait(void *context, sqlite3_stmt *row)
{
	struct sn_nsys *nsys = context;
	/* CUpti_ActivitySynchronizationType */
	static const char *const kinds[] = {"sync", "Event sync", "Stream wait sync", "Stream sync",
					    "Context sync"};
	struct sn_track_attributes attributes;
	attributes.count = 0;
	int64_t kind = sqlite3_column_int64(row, SPECIFIC);
	uint32_t name;
	bool is_known = kind >= 0 && kind < (int64_t)(sizeof(kinds) / sizeof(*kinds));
	if (named(nsys, SN_ACTIVITY_DEVICE_OTHER, kinds[is_known ? kind : 0], NULL, &name))
		return SN_ERR_MEMORY;
	return add_on(nsys, row, device_of(nsys, row), name, &attributes);
}

/* ---- graphics ---- */

static const char *const workload_columns[] = {"start",	    "end",	     "gpu",    "contextId",
					       "globalTid", "longContextId", "nameId", NULL};

static int add_workload(void *context, sqlite3_stmt *row)
{
	struct sn_nsys *nsys = context;
	struct sn_track_attributes attributes;
	attributes.count = 0;
	uint32_t name;
	uint32_t track =
	    sn_nsys_stream(nsys, sqlite3_column_int64(row, 4), sqlite3_column_int64(row, 2),
			   sqlite3_column_int64(row, sn_sqlite_is_null(row, 3) ? 5 : 3), 0);
	if (sn_nsys_name(nsys, SN_ACTIVITY_DEVICE_OTHER, sqlite3_column_int64(row, 6), &name))
		return SN_ERR_MEMORY;
	return sn_nsys_add(nsys, track, name, sqlite3_column_int64(row, 0),
			   sqlite3_column_int64(row, 1), 0, &attributes);
}

int sn_nsys_workloads(struct sn_nsys *nsys, const char *table, struct sn_error *error)
{
	return sn_sqlite_each(&nsys->file, table, workload_columns, "", add_workload, nsys, error);
}

/* ---- memory of devices ---- */

static const char *const memory_columns[] = {"start", "globalPid", "bytes", "memoryOperationType",
					     NULL};

/* Adds allocations and releases; the table does not have the thread. */
static int add_memory(void *context, sqlite3_stmt *row)
{
	struct sn_nsys *nsys = context;
	enum { ALLOCATION, RELEASE };
	struct sn_track_attributes attributes;
	attributes.count = 0;
	int64_t operation = sqlite3_column_int64(row, 3), bytes = sqlite3_column_int64(row, 2);
	int64_t start = sqlite3_column_int64(row, 0);
	uint32_t name;
	if (operation != ALLOCATION && operation != RELEASE) {
		sn_track_sink_unread(nsys->sink, 1);
		return 0;
	}
	uint32_t track = sn_nsys_thread(nsys, sqlite3_column_int64(row, 1));
	if (track == SONDE_NONE ||
	    sn_track_sink_name(nsys->sink, SN_ACTIVITY_INSTANT, "[memory]", 8, &name))
		return SN_ERR_MEMORY;
	sn_track_sink_name_track(nsys->sink, track,
				 sn_db_builder_string(nsys->builder, "memory of devices"));
	sn_track_attributes_put(&attributes, nsys->known[SN_TRACK_KEY_BYTES],
				(uint64_t)(operation == RELEASE ? -bytes : bytes));
	return sn_nsys_add(nsys, track, name, start, start, 0, &attributes);
}

int sn_nsys_devices(struct sn_nsys *nsys, struct sn_error *error)
{
	static const struct {
		const char *table;
		const char *const *columns;
		int (*add)(void *context, sqlite3_stmt *row);
	} tables[] = {{"CUPTI_ACTIVITY_KIND_KERNEL", kernel_columns, add_kernel},
		      {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graph_columns, add_graph},
		      {"CUPTI_ACTIVITY_KIND_MEMCPY", copy_columns, add_copy},
		      {"CUPTI_ACTIVITY_KIND_MEMSET", fill_columns, add_fill},
		      {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", wait_columns, add_wait},
		      {"CUDA_GPU_MEMORY_USAGE_EVENTS", memory_columns, add_memory}};
	int result = 0;
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && !result; i++)
		result = sn_sqlite_each(&nsys->file, tables[i].table, tables[i].columns, "",
					tables[i].add, nsys, error);
	return result;
}
