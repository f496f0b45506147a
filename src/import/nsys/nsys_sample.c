/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call-path samples of an Nsight Systems export: times in COMPOSITE_EVENTS, frames in
 * SAMPLING_CALLCHAINS, one row each. Both are read side by side by ascending id, chains from the
 * outermost frame inwards, so that nothing has to be kept.
 */
#include "nsys.h"

#include "format/measurement/measurement.h"

#include <stdio.h>
#include <string.h>

static const char *const sample_columns[] = {"id", "start", "globalTid", NULL};
enum { ID, START, THREAD };
static const char *const frame_columns[] = {"id",	  "symbol",	"module",
					    "kernelMode", "unresolved", NULL};
enum { FRAME_ID, SYMBOL, MODULE, KERNEL, UNRESOLVED };

/* Code without symbols is one frame for each file, "[libgomp.so.1]", since the addresses that the export
 * has for it are of the process's memory, and each instruction would be a function. */
static uint32_t name_of(struct sn_nsys *nsys, sqlite3_stmt *row)
{
	struct sn_db_builder *builder = nsys->builder;
	char text[300];
	const char *module = sn_sqlite_is_null(row, MODULE)
				 ? ""
				 : sn_nsys_string(nsys, sqlite3_column_int64(row, MODULE));
	const char *slash = strrchr(module, '/');
	bool is_named = !sqlite3_column_int(row, UNRESOLVED);
	if (!is_named && *module) {
		module = slash ? slash + 1 : module;
		snprintf(text, sizeof(text), *module == '[' ? "%.280s" : "[%.280s]", module);
		return sn_db_builder_string(builder, text);
	}
	const char *name = sn_nsys_string(nsys, sqlite3_column_int64(row, SYMBOL));
	return sn_db_builder_string(builder, *name ? name : "[unknown]");
}

static uint32_t frame_of(struct sn_nsys *nsys, sqlite3_stmt *row)
{
	struct sn_db_builder *builder = nsys->builder;
	struct sonde_db_module module = {.build_id = SONDE_NONE};
	struct sonde_db_frame frame = {.kind = SN_FRAME_NATIVE,
				       .linkage_name = SONDE_NONE,
				       .module = SONDE_NONE,
				       .file = SONDE_NONE};
	frame.name = name_of(nsys, row);
	if (sqlite3_column_int(row, KERNEL))
		frame.kind = SN_FRAME_OS;
	const char *path = sn_sqlite_is_null(row, MODULE)
			       ? ""
			       : sn_nsys_string(nsys, sqlite3_column_int64(row, MODULE));
	if (*path && frame.kind == SN_FRAME_NATIVE) {
		module.path = sn_db_builder_string(builder, path);
		frame.module = sn_db_builder_module(builder, &module);
	}
	return sn_db_builder_frame(builder, &frame);
}

/* The context of the call chain of that id; `*found` tells whether `frames` is at a row. */
static int context_of(struct sn_nsys *nsys, sqlite3_stmt *frames, int64_t id, int *found,
		      uint32_t *context, struct sn_error *error)
{
	*context = 0;
	while (*found > 0 && sqlite3_column_int64(frames, FRAME_ID) <= id) {
		if (sqlite3_column_int64(frames, FRAME_ID) == id)
			*context =
			    sn_db_builder_context(nsys->builder, *context, frame_of(nsys, frames));
		*found = sn_sqlite_next(&nsys->file, frames, error);
	}
	return *found < 0 ? *found : 0;
}

static int add(struct sn_nsys *nsys, sqlite3_stmt *row, uint32_t context)
{
	uint32_t track = sn_nsys_thread(nsys, sqlite3_column_int64(row, THREAD));
	int64_t time = sqlite3_column_int64(row, START);
	if (track == SONDE_NONE)
		return SN_ERR_MEMORY;
	struct sn_track_event event = {
	    .track = track, .name = context, .start_ns = time, .end_ns = time};
	sn_track_sink_sample(nsys->sink, &event);
	return 0;
}

static int merge(struct sn_nsys *nsys, sqlite3_stmt *samples, sqlite3_stmt *frames,
		 struct sn_error *error)
{
	int has_frame = frames ? sn_sqlite_next(&nsys->file, frames, error) : 0;
	int result = has_frame < 0 ? has_frame : 0;
	while (!result && (result = sn_sqlite_next(&nsys->file, samples, error)) > 0) {
		uint32_t context;
		result = context_of(nsys, frames, sqlite3_column_int64(samples, ID), &has_frame,
				    &context, error);
		if (!result && (result = add(nsys, samples, context)))
			sn_fail_memory(error);
	}
	return result;
}

int sn_nsys_samples(struct sn_nsys *nsys, struct sn_error *error)
{
	sqlite3_stmt *samples, *frames = NULL;
	int result = sn_sqlite_select(&nsys->file, "COMPOSITE_EVENTS", sample_columns,
				      "ORDER BY id", &samples, error);
	if (!result && samples)
		result = sn_sqlite_select(&nsys->file, "SAMPLING_CALLCHAINS", frame_columns,
					  "ORDER BY id, stackDepth DESC", &frames, error);
	if (!result && samples)
		result = merge(nsys, samples, frames, error);
	sqlite3_finalize(samples);
	sqlite3_finalize(frames);
	return result;
}
