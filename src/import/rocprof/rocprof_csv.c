/* SPDX-License-Identifier: Apache-2.0 */
/* Reads rocprofv3's CSV files. The columns, which may be in any order, tell what a
 * file contains. */
#include "rocprof.h"

#include "base/csv/csv_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define COLUMNS_READ(COLUMN) \
	COLUMN(DOMAIN, "Domain") COLUMN(FUNCTION, "Function") COLUMN(DIRECTION, "Direction") \
	COLUMN(AGENT, "Agent_Id") COLUMN(SOURCE, "Source_Agent_Id") \
	COLUMN(TARGET, "Destination_Agent_Id") COLUMN(QUEUE, "Queue_Id") \
	COLUMN(STREAM, "Stream_Id") COLUMN(PROCESS, "Process_Id") \
	COLUMN(THREAD, "Thread_Id") COLUMN(DISPATCH, "Dispatch_Id") \
	COLUMN(KERNEL, "Kernel_Name") COLUMN(CORRELATION, "Correlation_Id") \
	COLUMN(START, "Start_Timestamp") COLUMN(END, "End_Timestamp") \
	COLUMN(SHARED, "LDS_Block_Size") COLUMN(SCRATCH, "Scratch_Size") \
	COLUMN(VECTOR, "VGPR_Count") COLUMN(ACCUM, "Accum_VGPR_Count") \
	COLUMN(SCALAR, "SGPR_Count") COLUMN(GROUP_X, "Workgroup_Size_X") \
	COLUMN(GROUP_Y, "Workgroup_Size_Y") COLUMN(GROUP_Z, "Workgroup_Size_Z") \
	COLUMN(GRID_X, "Grid_Size_X") COLUMN(GRID_Y, "Grid_Size_Y") \
	COLUMN(GRID_Z, "Grid_Size_Z") COLUMN(COUNTER, "Counter_Name") \
	COLUMN(VALUE, "Counter_Value") COLUMN(SAMPLE_TIME, "Sample_Timestamp") \
	COLUMN(INSTRUCTION, "Instruction") COLUMN(COMMENT, "Instruction_Comment") \
	COLUMN(TYPE, "Instruction_Type") COLUMN(STALL, "Stall_Reason") \
	COLUMN(MASK, "Exec_Mask") COLUMN(ISSUED, "Wave_Issued_Instruction") \
	COLUMN(WAVES, "Wave_Count") COLUMN(OPERATION, "Operation") \
	COLUMN(SIZE, "Allocation_Size") COLUMN(ADDRESS, "Address") COLUMN(NODE, "Node_Id") \
	COLUMN(AGENT_TYPE, "Agent_Type") COLUMN(PRODUCT, "Product_Name") \
	COLUMN(CALLS, "Calls") COLUMN(SUM, "TotalDurationNs")
/* clang-format on */

#define COLUMN(name, text) name,
enum column { COLUMNS_READ(COLUMN) COLUMNS };
#undef COLUMN
#define COLUMN(name, text) text,
static const char *const names[COLUMNS] = {COLUMNS_READ(COLUMN)};
#undef COLUMN

struct table {
	struct sn_rocprof *rocprof;
	struct sn_csv_reader csv;
	int at[COLUMNS]; /* -1: the file has no such column */
};

static void find_columns(struct table *table, const char *const *fields, size_t count)
{
	for (unsigned i = 0; i < COLUMNS; i++) {
		table->at[i] = -1;
		for (size_t field = 0; field < count; field++)
			if (!strcmp(fields[field], names[i]))
				table->at[i] = (int)field;
	}
	/* files of counters have one size for all dimensions; the last two names are ROCm 6.2's */
	static const struct {
		const char *name;
		enum column column;
	} others[] = {{"Grid_Size", GRID_X},
		      {"Workgroup_Size", GROUP_X},
		      {"Group_Segment_Size", SHARED},
		      {"Private_Segment_Size", SCRATCH}};
	for (size_t field = 0; field < count; field++)
		for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
			if (!strcmp(fields[field], others[i].name))
				table->at[others[i].column] = (int)field;
}

static const char *text(const struct table *table, enum column column)
{
	return table->at[column] < 0 ? "" : table->csv.fields[table->at[column]];
}

static int64_t number(const struct table *table, enum column column)
{
	return (int64_t)strtoll(text(table, column), NULL, 10);
}

/* "Agent 4" or "4". */
static int64_t agent(const struct table *table, enum column column)
{
	const char *at = text(table, column);
	return (int64_t)strtoll(at + strcspn(at, "0123456789"), NULL, 10);
}

static struct sn_rocprof_activity activity_of(const struct table *table)
{
	struct sn_rocprof_activity activity = {
	    .start_ns = number(table, START),
	    .end_ns = number(table, END),
	    .correlation = number(table, CORRELATION),
	    .pid = number(table, PROCESS),
	    .tid = number(table, THREAD),
	    .agent = agent(table, AGENT),
	    .queue = number(table, QUEUE),
	    .stream = number(table, table->at[STREAM] < 0 ? QUEUE : STREAM),
	    .vector_registers = number(table, VECTOR),
	    .accumulation_registers = number(table, ACCUM),
	    .scalar_registers = number(table, SCALAR),
	    .shared_bytes = number(table, SHARED),
	    .scratch_bytes = number(table, SCRATCH),
	    .dispatch = number(table, DISPATCH),
	    .bytes = -1,
	};
	for (unsigned i = 0; i < 3; i++) {
		activity.workgroup[i] = number(table, GROUP_X + i);
		activity.grid[i] = number(table, GRID_X + i);
	}
	return activity;
}

static int add_sample(struct table *table)
{
	struct sn_rocprof_sample sample = {
	    .time_ns = number(table, SAMPLE_TIME),
	    .instruction = text(table, INSTRUCTION),
	    .comment = text(table, COMMENT),
	    .fields =
		{
		    [SN_ROCPROF_SAMPLE_TYPE] = text(table, TYPE),
		    [SN_ROCPROF_SAMPLE_STALL] = text(table, STALL),
		    [SN_ROCPROF_SAMPLE_MASK] = text(table, MASK),
		    [SN_ROCPROF_SAMPLE_DISPATCH] = text(table, DISPATCH),
		    [SN_ROCPROF_SAMPLE_CORRELATION] = text(table, CORRELATION),
		    [SN_ROCPROF_SAMPLE_ISSUED] = text(table, ISSUED),
		    [SN_ROCPROF_SAMPLE_WAVES] = text(table, WAVES),
		},
	};
	return sn_rocprof_sample(table->rocprof, &sample);
}

/* An allocation of memory, known by its address, or of scratch memory, known by its queue. */
static int add_allocation(struct table *table)
{
	struct sn_rocprof_activity activity = activity_of(table);
	const char *operation = text(table, OPERATION);
	bool is_release = strstr(operation, "FREE") || strstr(operation, "RECLAIM");
	int64_t address = table->at[ADDRESS] < 0 ? activity.queue
						 : (int64_t)strtoull(text(table, ADDRESS), NULL, 0);
	activity.pid = activity.pid ? activity.pid : sn_track_sink_pid(table->rocprof->sink);
	return sn_rocprof_allocation(table->rocprof, is_release, address, number(table, SIZE),
				     &activity);
}

static int add_agent(struct table *table)
{
	char key[64];
	if (strcmp(text(table, AGENT_TYPE), "GPU") != 0)
		return 0;
	snprintf(key, sizeof(key), "rocprof.gpu.%lld", (long long)number(table, NODE));
	sn_db_builder_property(table->rocprof->builder, key, text(table, PRODUCT));
	return 0;
}

static int add_row(struct table *table)
{
	if (table->at[SAMPLE_TIME] >= 0)
		return add_sample(table);
	if (table->at[AGENT_TYPE] >= 0)
		return add_agent(table);
	if (table->at[SUM] >= 0)
		return 0;
	if (table->at[SIZE] >= 0)
		return add_allocation(table);
	struct sn_rocprof_activity activity = activity_of(table);
	struct sn_rocprof *rocprof = table->rocprof;
	if (table->at[COUNTER] >= 0)
		return sn_rocprof_counter(rocprof, text(table, KERNEL), text(table, COUNTER),
					  strtod(text(table, VALUE), NULL), &activity);
	if (table->at[KERNEL] >= 0)
		return sn_rocprof_dispatch(rocprof, text(table, KERNEL), &activity);
	if (table->at[DIRECTION] < 0)
		return sn_rocprof_call(rocprof, sn_rocprof_category(text(table, DOMAIN)),
				       text(table, FUNCTION), &activity);
	/* a copy is an operation of the device it goes to, or comes from if it goes to the host */
	bool is_to_host = strstr(text(table, DIRECTION), "TO_HOST");
	activity.agent = agent(table, is_to_host ? SOURCE : TARGET);
	return sn_rocprof_copy(rocprof, text(table, DIRECTION), &activity);
}

/* Whether the file has no activities: a list of agents, or sums (kernel_stats.csv). */
static bool is_plain(const struct table *table)
{
	return (table->at[AGENT_TYPE] >= 0 && table->at[NODE] >= 0) ||
	       (table->at[SUM] >= 0 && table->at[CALLS] >= 0);
}

static bool is_known(const struct table *table)
{
	if (is_plain(table))
		return true;
	if (table->at[SAMPLE_TIME] >= 0)
		return table->at[INSTRUCTION] >= 0;
	/* in ROCm 6.2 counters have no time */
	if (table->at[COUNTER] >= 0 && table->at[VALUE] >= 0 && table->at[KERNEL] >= 0)
		return true;
	bool is_allocation = table->at[OPERATION] >= 0 && table->at[SIZE] >= 0;
	return table->at[START] >= 0 && table->at[END] >= 0 &&
	       (table->at[KERNEL] >= 0 || table->at[FUNCTION] >= 0 || table->at[DIRECTION] >= 0 ||
		is_allocation);
}

bool sn_rocprof_is_csv(const char *head, size_t length)
{
	const char *end = memchr(head, '\n', length);
	struct table table;
	if (!end)
		return false;
	bool is_ours = !sn_csv_open_text(&table.csv, head, (size_t)(end - head), ',', NULL) &&
		       sn_csv_next(&table.csv, NULL) > 0;
	if (is_ours) {
		find_columns(&table, table.csv.fields, table.csv.count);
		is_ours = is_known(&table);
	}
	sn_csv_close(&table.csv);
	return is_ours;
}

static int read_rows(struct table *table, struct sn_error *error)
{
	int found = sn_csv_next(&table->csv, error);
	if (found <= 0)
		return found;
	size_t count = table->csv.count;
	find_columns(table, table->csv.fields, count);
	if (!is_known(table))
		return sn_fail(error, SN_ERR_FORMAT, "'%s' does not have the columns of rocprofv3",
			       table->csv.path);
	table->rocprof->plain_files += is_plain(table);
	table->rocprof->summaries += table->at[SUM] >= 0;
	while ((found = sn_csv_next(&table->csv, error)) > 0) {
		if (table->csv.count != count)
			return sn_fail(error, SN_ERR_FORMAT,
				       "'%s' is damaged in line %llu: %zu fields, not %zu",
				       table->csv.path, (unsigned long long)table->csv.line_number,
				       table->csv.count, count);
		if (add_row(table))
			return sn_fail_memory(error);
	}
	return found;
}

int sn_rocprof_read_csv(struct sn_rocprof *rocprof, const char *path, struct sn_error *error)
{
	struct table table = {.rocprof = rocprof};
	int result = sn_csv_open(&table.csv, path, ',', error);
	if (!result)
		result = read_rows(&table, error);
	sn_csv_close(&table.csv);
	return result;
}
