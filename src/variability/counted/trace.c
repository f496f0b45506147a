/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of a file as events of a database; see counted.h. */
#include "counted.h"

#include "import/core/import_files.h"
#include "import/core/track_sink.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where a table has no column of kernels. */
#define ALL_ROWS "all rows"

struct writing {
	const struct sn_counted *counted;
	size_t file;
};

/* The number in a device's name, or of the device in the order of rows. */
static int64_t device_of(const struct sn_counted *counted, size_t row)
{
	if (counted->device == UINT32_MAX)
		return 0;
	const struct sn_causal_column *column = &counted->table.columns[counted->device];
	double value = column->values[row];
	if (isnan(value))
		return 0;
	const char *name = column->level_names[(size_t)value];
	const char *digit = name + strcspn(name, "0123456789");
	return *digit ? strtoll(digit, NULL, 10) : (int64_t)value;
}

static int add_launch(struct sn_track_sink *sink, const struct sn_counted *counted, size_t row,
		      uint64_t start_ns, uint64_t duration)
{
	static const enum sn_track_key keys[SN_CONFIGURATION_SIZES] = {
	    SN_TRACK_KEY_GRID_X,  SN_TRACK_KEY_GRID_Y,	SN_TRACK_KEY_GRID_Z, SN_TRACK_KEY_BLOCK_X,
	    SN_TRACK_KEY_BLOCK_Y, SN_TRACK_KEY_BLOCK_Z, SN_TRACK_KEY_SHARED};
	const struct sn_causal_column *kernels =
	    counted->kernel == UINT32_MAX ? NULL : &counted->table.columns[counted->kernel];
	const char *kernel =
	    kernels ? kernels->level_names[(size_t)kernels->values[row]] : ALL_ROWS;
	struct sn_track_place place = {1, device_of(counted, row), 0, 0, 0};
	struct sn_track_attributes attributes;
	struct sn_track_event event = {.start_ns = (int64_t)start_ns,
				       .end_ns = (int64_t)(start_ns + duration)};
	attributes.count = 0;
	event.track = sn_track_sink_track(sink, &place);
	if (event.track == SONDE_NONE ||
	    sn_track_sink_name(sink, SN_ACTIVITY_KERNEL, kernel, strlen(kernel), &event.name))
		return SN_ERR_MEMORY;
	for (unsigned size = 0; size < SN_CONFIGURATION_SIZES; size++) {
		uint64_t value = sn_counted_size(counted, size, row);
		if (value != SN_SIZE_UNKNOWN)
			sn_track_attributes_put(&attributes, sn_track_sink_keys(sink)[keys[size]],
						value);
	}
	event.attributes = attributes.items;
	event.attribute_count = attributes.count;
	sn_track_sink_event(sink, &event);
	return 0;
}

static int add_rows(struct sn_track_sink *sink, const struct writing *writing)
{
	const struct sn_counted *counted = writing->counted;
	const struct sn_causal_column *columns = counted->table.columns;
	const double *durations = columns[counted->duration].values;
	uint64_t now = 0;
	int result = 0;
	for (size_t row = counted->first_rows[writing->file];
	     row < counted->first_rows[writing->file + 1] && !result; row++) {
		if (isnan(durations[row]) ||
		    (counted->kernel != UINT32_MAX && isnan(columns[counted->kernel].values[row])))
			continue;
		uint64_t duration = (uint64_t)llround(durations[row] * counted->ticks);
		uint64_t start =
		    counted->has_times ? (uint64_t)columns[counted->start].values[row] : now;
		result = add_launch(sink, counted, row, start, duration);
		now += duration;
	}
	return result;
}

static int read_rows(const struct sn_import_request *request, struct sn_db_builder *builder,
		     struct sn_error *error)
{
	const struct writing *writing = request->own;
	struct sn_track_sink *sink = sn_track_sink_new("table", builder, request);
	int result = sink ? sn_track_sink_open(sink, request->paths[0], error) : SN_ERR_MEMORY;
	result = result ? result : sn_fail_code(error, add_rows(sink, writing));
	result = result ? result : sn_track_sink_build(sink, 1, error);
	if (!result)
		sn_track_sink_finish(sink);
	sn_track_sink_free(sink);
	return sn_fail_code(error, result);
}

int sn_counted_write(const struct sn_counted *counted, size_t file, const char *output,
		     struct sn_error *error)
{
	static const struct sn_importer importer = {.name = "table", .read = read_rows};
	const struct writing writing = {counted, file};
	struct sn_import_notes notes = {0};
	const struct sn_import_request request = {
	    .notes = &notes, .paths = &counted->paths[file], .path_count = 1, .own = &writing};
	struct sn_import_counts counts;
	return sn_import(&importer, &request, output, &counts, error);
}
