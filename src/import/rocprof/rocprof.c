/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importer of rocprofv3's results. A run may have several CSV files, one for each kind of activity
 * ("908_kernel_trace.csv", "908_hip_api_trace.csv"): files of one folder whose names begin alike
 * are one recording. A JSON file or a database is a recording by itself.
 */
#include "rocprof.h"

#include "import/core/importer.h"
#include "import/sqlite/sqlite_cut.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(struct sn_track_attributes *attributes, uint32_t key, int64_t value)
{
	sn_track_attributes_put(attributes, key, (uint64_t)value);
}

/* Makes an event of an activity. 0 or SN_ERR_MEMORY. */
static int make(struct sn_rocprof *rocprof, const struct sn_track_place *place, uint32_t name,
		const struct sn_rocprof_activity *activity, struct sn_track_event *event)
{
	*event = (struct sn_track_event){
	    .track = sn_track_sink_track(rocprof->sink, place),
	    .name = name,
	    .start_ns = activity->start_ns < 0 ? INT64_MIN : activity->start_ns,
	    .end_ns = activity->end_ns,
	    .link = activity->correlation > 0 ? (uint64_t)activity->correlation : 0,
	};
	return event->track == SONDE_NONE ? SN_ERR_MEMORY : 0;
}

static int add(struct sn_rocprof *rocprof, const struct sn_track_place *place, uint32_t name,
	       const struct sn_rocprof_activity *activity,
	       const struct sn_track_attributes *attributes)
{
	struct sn_track_event event;
	if (make(rocprof, place, name, activity, &event))
		return SN_ERR_MEMORY;
	event.attributes = attributes->items;
	event.attribute_count = attributes->count;
	sn_track_sink_event(rocprof->sink, &event);
	return 0;
}

static struct sn_track_place device_of(const struct sn_rocprof *rocprof,
				       const struct sn_rocprof_activity *activity)
{
	return (struct sn_track_place){1, activity->agent, activity->queue, activity->stream,
				       rocprof->process};
}

int sn_rocprof_call(struct sn_rocprof *rocprof, enum sn_activity_category category,
		    const char *name, const struct sn_rocprof_activity *activity)
{
	struct sn_track_place place = {0, activity->pid, activity->tid, 0, 0};
	struct sn_rocprof_activity placed = *activity;
	struct sn_track_attributes none;
	uint32_t number;
	none.count = 0;
	if (category != SN_ACTIVITY_API)
		placed.correlation = 0;
	/* a marker without length is a mark */
	if (category == SN_ACTIVITY_ANNOTATION && placed.start_ns == placed.end_ns)
		category = SN_ACTIVITY_INSTANT;
	if (sn_track_sink_name(rocprof->sink, category, name, strlen(name), &number))
		return SN_ERR_MEMORY;
	return add(rocprof, &place, number, &placed, &none);
}

int sn_rocprof_dispatch(struct sn_rocprof *rocprof, const char *kernel,
			const struct sn_rocprof_activity *activity)
{
	struct sn_track_place place = device_of(rocprof, activity);
	struct sn_track_attributes attributes;
	uint32_t number;
	attributes.count = 0;
	if (sn_track_sink_name(rocprof->sink, SN_ACTIVITY_KERNEL, kernel, strlen(kernel), &number))
		return SN_ERR_MEMORY;
	for (unsigned i = 0; i < 3 && activity->workgroup[0] > 0; i++) {
		int64_t size = activity->workgroup[i] > 0 ? activity->workgroup[i] : 1;
		int64_t items = activity->grid[i] > 0 ? activity->grid[i] : 1;
		put(&attributes, rocprof->known[SN_TRACK_KEY_GRID_X + i], (items - 1) / size + 1);
		put(&attributes, rocprof->known[SN_TRACK_KEY_BLOCK_X + i], size);
	}
	put(&attributes, rocprof->known[SN_TRACK_KEY_REGISTERS], activity->vector_registers);
	put(&attributes, rocprof->known[SN_TRACK_KEY_SHARED], activity->shared_bytes);
	if (activity->accumulation_registers)
		put(&attributes, rocprof->keys[SN_ROCPROF_KEY_ACCUM],
		    activity->accumulation_registers);
	if (activity->scalar_registers)
		put(&attributes, rocprof->keys[SN_ROCPROF_KEY_SCALAR], activity->scalar_registers);
	if (activity->scratch_bytes)
		put(&attributes, rocprof->keys[SN_ROCPROF_KEY_SCRATCH], activity->scratch_bytes);
	if (activity->dispatch)
		put(&attributes, rocprof->keys[SN_ROCPROF_KEY_DISPATCH], activity->dispatch);
	return add(rocprof, &place, number, activity, &attributes);
}

/* Names a copy "[HIP memory copy host to device]", from "MEMORY_COPY_HOST_TO_DEVICE". */
int sn_rocprof_copy(struct sn_rocprof *rocprof, const char *direction,
		    const struct sn_rocprof_activity *activity)
{
	struct sn_track_place place = device_of(rocprof, activity);
	struct sn_track_attributes attributes;
	char text[128];
	uint32_t number;
	attributes.count = 0;
	int length = snprintf(text, sizeof(text), "[HIP %.100s]", direction);
	for (char *at = text + 5; *at; at++)
		*at = (char)(*at == '_' ? ' ' : tolower((unsigned char)*at));
	if (sn_track_sink_name(rocprof->sink, SN_ACTIVITY_COPY, text, (size_t)length, &number))
		return SN_ERR_MEMORY;
	if (activity->bytes >= 0)
		put(&attributes, rocprof->known[SN_TRACK_KEY_BYTES], activity->bytes);
	return add(rocprof, &place, number, activity, &attributes);
}

int sn_rocprof_counter(struct sn_rocprof *rocprof, const char *kernel, const char *counter,
		       double value, const struct sn_rocprof_activity *activity)
{
	struct sn_track_place place = device_of(rocprof, activity);
	struct sn_track_event event;
	uint32_t metric = sn_track_sink_metric(
	    rocprof->sink, sn_db_builder_string(rocprof->builder, counter), "1");
	uint32_t name, before = rocprof->dispatches.count;
	uint32_t at = sn_table_add(&rocprof->dispatches, (uint64_t)activity->dispatch);
	if (at == SN_TABLE_NONE ||
	    sn_track_sink_name(rocprof->sink, SN_ACTIVITY_KERNEL, kernel, strlen(kernel), &name))
		return SN_ERR_MEMORY;
	if (at == before && !rocprof->has_kernels && sn_rocprof_dispatch(rocprof, kernel, activity))
		return SN_ERR_MEMORY;
	if (make(rocprof, &place, name, activity, &event))
		return SN_ERR_MEMORY;
	sn_track_sink_value(rocprof->sink, &event, metric, rocprof->keys[SN_ROCPROF_KEY_COUNT],
			    value);
	return 0;
}

enum sn_activity_category sn_rocprof_category(const char *domain)
{
	/* RCCL_API, ROCDECODE_API and others also launch operations, if HIP itself is not traced */
	if (!strncmp(domain, "MARKER_", 7))
		return SN_ACTIVITY_ANNOTATION;
	return strstr(domain, "_API") ? SN_ACTIVITY_API : SN_ACTIVITY_OTHER;
}

/* Notes the size of an allocation; a release without a size gets the size that was
 * allocated there. */
static int keep_size(struct sn_rocprof *rocprof, bool is_release, int64_t address, int64_t *bytes)
{
	uint32_t at = sn_intern_item(&rocprof->addresses, &address, sizeof(address),
				     &rocprof->sizes, &rocprof->size_capacity, {0});
	if (at == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	if (is_release)
		*bytes = *bytes ? -*bytes : -rocprof->sizes[at];
	rocprof->sizes[at] = is_release ? 0 : *bytes;
	return 0;
}

int sn_rocprof_allocation(struct sn_rocprof *rocprof, bool is_release, int64_t address,
			  int64_t bytes, const struct sn_rocprof_activity *activity)
{
	bool is_known = activity->tid;
	struct sn_track_place place = {0, is_known ? activity->pid : -1,
				       is_known ? activity->tid : -2, 0, 0};
	struct sn_rocprof_activity instant = {.start_ns = activity->start_ns,
					      .end_ns = activity->start_ns};
	struct sn_track_attributes attributes;
	struct sn_track_event event;
	uint32_t name;
	attributes.count = 0;
	if (keep_size(rocprof, is_release, address, &bytes) ||
	    sn_track_sink_name(rocprof->sink, SN_ACTIVITY_INSTANT, "[memory]", 8, &name) ||
	    make(rocprof, &place, name, &instant, &event))
		return SN_ERR_MEMORY;
	if (!is_known)
		sn_track_sink_name_track(rocprof->sink, event.track,
					 sn_db_builder_string(rocprof->builder, "allocations"));
	put(&attributes, rocprof->known[SN_TRACK_KEY_BYTES], bytes);
	event.attributes = attributes.items;
	event.attribute_count = attributes.count;
	sn_track_sink_event(rocprof->sink, &event);
	return 0;
}

/* ---- files ---- */

/* Whether a word in a file's name tells its kind; the words before are the run's. */
static bool is_word_of_kind(const char *word, size_t length)
{
	static const char words[] =
	    " kernel hip hsa rccl rocdecode rocjpeg ompt kfd marker memory copy scratch"
	    " api runtime compiler core trace allocation counter agent info"
	    " collection stats domain pc sampling host trap stochastic ";
	char padded[32];
	return length &&
	       snprintf(padded, sizeof(padded), " %.*s ", (int)length, word) <
		   (int)sizeof(padded) &&
	       strstr(words, padded);
}

/* Length of the part of a path that the files of a run have in common: the folder, and the name
 * before the kind. In "before_hip_api_trace.csv" that is "before". */
static size_t stem_length(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t length = strlen(path), folder = (size_t)(name - path);
	if (length - folder < 4 || strcmp(path + length - 4, ".csv") != 0)
		return length;
	for (size_t end = length - 4;;) {
		size_t begin = end;
		while (begin > folder && path[begin - 1] != '_')
			begin--;
		if (!is_word_of_kind(path + begin, end - begin))
			return end == length - 4 ? length : end;
		if (begin == folder)
			return folder;
		end = begin - 1;
	}
}

static bool is_same_run(const char *a, const char *b)
{
	size_t length = stem_length(a);
	return length == stem_length(b) && !strncmp(a, b, length) && length < strlen(a);
}

static bool is_database(const char *path)
{
	unsigned char head[16];
	FILE *file = fopen(path, "re");
	size_t length = file ? fread(head, 1, sizeof(head), file) : 0;
	if (file)
		fclose(file);
	return sn_sqlite_is_begin(head, length);
}

static int read_one(struct sn_rocprof *rocprof, const char *path, struct sn_error *error)
{
	if (is_database(path))
		return sn_rocprof_read_rocpd(rocprof, path, error);
	return sn_rocprof_is_json(path) ? sn_rocprof_read_json(rocprof, path, error)
					: sn_rocprof_read_csv(rocprof, path, error);
}

/* Reads the run whose first file has that number. */
static int read_run(struct sn_rocprof *rocprof, const struct sn_import_request *request,
		    size_t first, struct sn_error *error)
{
	int result = sn_track_sink_open(rocprof->sink, request->paths[first], error);
	sn_table_clear(&rocprof->dispatches);
	sn_intern_release(&rocprof->addresses);
	rocprof->has_kernels = false;
	rocprof->process = 0;
	for (size_t i = first; i < request->path_count; i++)
		if (is_same_run(request->paths[first], request->paths[i]) &&
		    strstr(request->paths[i], "kernel_trace.csv"))
			rocprof->has_kernels = true;
	for (size_t i = first; i < request->path_count && !result; i++)
		if (i == first || is_same_run(request->paths[first], request->paths[i]))
			result = read_one(rocprof, request->paths[i], error);
	return result ? result : sn_track_sink_build(rocprof->sink, request->path_count, error);
}

static bool is_first_of_run(const struct sn_import_request *request, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (is_same_run(request->paths[i], request->paths[number]))
			return false;
	return true;
}

static void make_keys(struct sn_rocprof *rocprof)
{
	static const struct sn_track_key_name keys[SN_ROCPROF_KEYS] = {
	    [SN_ROCPROF_KEY_ACCUM] = {"accumulation registers", SONDE_ATTRIBUTE_SIGNED},
	    [SN_ROCPROF_KEY_SCALAR] = {"scalar registers", SONDE_ATTRIBUTE_SIGNED},
	    [SN_ROCPROF_KEY_SCRATCH] = {"scratch memory", SONDE_ATTRIBUTE_SIGNED},
	    [SN_ROCPROF_KEY_DISPATCH] = {"dispatch", SONDE_ATTRIBUTE_SIGNED},
	    [SN_ROCPROF_KEY_COUNT] = {"counted", SONDE_ATTRIBUTE_REAL},
	};
	static const struct sn_track_key_name sample_keys[SN_ROCPROF_SAMPLE_FIELDS] = {
	    [SN_ROCPROF_SAMPLE_TYPE] = {"instruction type", SONDE_ATTRIBUTE_STRING},
	    [SN_ROCPROF_SAMPLE_STALL] = {"stall reason", SONDE_ATTRIBUTE_STRING},
	    [SN_ROCPROF_SAMPLE_MASK] = {"execution mask", SONDE_ATTRIBUTE_UNSIGNED},
	    [SN_ROCPROF_SAMPLE_DISPATCH] = {"sampled dispatch", SONDE_ATTRIBUTE_UNSIGNED},
	    [SN_ROCPROF_SAMPLE_CORRELATION] = {"sampled correlation", SONDE_ATTRIBUTE_UNSIGNED},
	    [SN_ROCPROF_SAMPLE_ISSUED] = {"wave issued", SONDE_ATTRIBUTE_UNSIGNED},
	    [SN_ROCPROF_SAMPLE_WAVES] = {"waves", SONDE_ATTRIBUTE_UNSIGNED},
	};
	sn_track_sink_make_keys(rocprof->sink, keys, SN_ROCPROF_KEYS, rocprof->keys);
	sn_track_sink_make_keys(rocprof->sink, sample_keys, SN_ROCPROF_SAMPLE_FIELDS,
				rocprof->sample_keys);
}

static int read_all(const struct sn_import_request *request, struct sn_db_builder *builder,
		    struct sn_error *error)
{
	struct sn_rocprof rocprof = {0};
	int result = 0;
	rocprof.sink = sn_track_sink_new("rocprofv3", builder, request);
	if (!rocprof.sink)
		return sn_fail_memory(error);
	rocprof.builder = builder;
	rocprof.known = sn_track_sink_keys(rocprof.sink);
	make_keys(&rocprof);
	for (size_t i = 0; i < request->path_count && !result; i++)
		if (is_first_of_run(request, i))
			result = read_run(&rocprof, request, i, error);
	if (!result && rocprof.plain_files == request->path_count)
		result = sn_fail(error, SN_ERR_FORMAT,
				 "'%s' contains no activities: import the traces beside it",
				 request->paths[0]);
	sn_track_sink_lost(rocprof.sink, "import-summaries",
			   "files of sums, which are computed from the traces instead",
			   rocprof.summaries);
	if (!result)
		sn_track_sink_finish(rocprof.sink);
	sn_table_release(&rocprof.dispatches);
	sn_intern_release(&rocprof.addresses);
	free(rocprof.sizes);
	sn_track_sink_free(rocprof.sink);
	return result;
}

static bool probe(const struct sn_import_input *input)
{
	return !input->is_folder &&
	       (sn_rocprof_is_csv((const char *)input->head, input->head_bytes) ||
		sn_rocprof_is_rocpd(input) || sn_rocprof_is_json(input->path));
}

const struct sn_importer sn_importer_rocprof = {
    .name = "rocprof",
    .probe = probe,
    .read = read_all,
};
