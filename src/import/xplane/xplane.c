/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importer of XPlane files (*.xplane.pb, plain or gzip): finding inputs, and data about the whole.
 * A folder stands for the files that jax.profiler or tf.profiler wrote below it; files of one
 * folder are the hosts of one run, and each host is a rank.
 */
#include "xplane.h"

#include "base/sort_by.h"
#include "base/text.h"
#include "import/core/cursor.h"
#include "import/core/import_files.h"
#include "xplane_graphs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SUFFIX	  ".xplane.pb"
#define DEPTH_MAX 4 /* DIR/plugins/profile/RUN/HOST.xplane.pb */
#define FILES_MAX 65536u

/* ---- inputs ---- */

static bool is_named_so(const char *name)
{
	size_t length = strlen(name) - (sn_text_ends(name, ".gz") ? 3 : 0), suffix = strlen(SUFFIX);
	return length > suffix && !strncmp(name + length - suffix, SUFFIX, suffix);
}

/* Finds files below a folder that are named as the profilers name them. */
static int find_files(struct sn_import_files *files, const char *folder, unsigned depth)
{
	DIR *entries = opendir(folder);
	struct dirent *entry;
	int result = 0;
	while (entries && !result && files->count < FILES_MAX && (entry = readdir(entries))) {
		char path[4096];
		struct stat status;
		if (entry->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >=
			(int)sizeof(path) ||
		    stat(path, &status) < 0)
			continue;
		if (S_ISDIR(status.st_mode) && depth)
			result = find_files(files, path, depth - 1);
		else if (S_ISREG(status.st_mode) && is_named_so(entry->d_name))
			result = sn_import_files_add(files, folder, entry->d_name);
	}
	if (entries)
		closedir(entries);
	return result;
}

SN_SORT_BY(sort_paths, char *, const void *, strcmp(*a, *b));

/*
 * Whether the head is that of an XSpace: the first field is a plane, whose first fields are a
 * number and a name. A Perfetto trace begins with the same field number, but the fields of its
 * packets have larger numbers.
 */
static bool is_space(const unsigned char *head, size_t length)
{
	struct sn_proto message = sn_proto_of(head, length);
	struct sn_proto_field field;
	/* the plane is longer than the head, so its tag and length are skipped by hand */
	size_t at = 1;
	while (at < length && at < 11 && head[at] >= 0x80)
		at++;
	message = sn_proto_of(head + at + 1, length > at + 1 ? length - at - 1 : 0);
	for (int i = 0; i < 2 && sn_proto_next(&message, &field); i++) {
		if (field.number == 1 && field.wire == SN_PROTO_VARINT)
			continue;
		return field.number == 2 && field.wire == SN_PROTO_BYTES && field.length &&
		       field.length < 256 &&
		       (field.bytes[0] == '/' || field.bytes[0] == '#' ||
			(field.bytes[0] >= 'A' && field.bytes[0] <= 'Z'));
	}
	return false;
}

static bool probe(const struct sn_import_input *input)
{
	unsigned char head[512];
	size_t length;
	if (!input->is_folder)
		return sn_proto_probe(input->path, 1, head, sizeof(head), &length) &&
		       is_space(head, length);
	struct sn_import_files files = {0};
	find_files(&files, input->path, DEPTH_MAX);
	bool any = files.count > 0;
	sn_import_files_release(&files);
	return any;
}

/* ---- a file ---- */

/* The host in a file's name, "HOST.xplane.pb". */
static uint32_t host_of(struct sn_xplane *xplane, const char *path)
{
	const char *name = sn_text_base_name(path);
	const char *suffix = strstr(name, SUFFIX);
	return suffix && suffix > name
		   ? sn_db_builder_string_n(xplane->builder, name, (size_t)(suffix - name))
		   : sn_db_builder_string(xplane->builder, "");
}

static bool same_folder(const char *left, const char *right)
{
	size_t length = (size_t)(sn_text_base_name(left) - left);
	return length == (size_t)(sn_text_base_name(right) - right) &&
	       !strncmp(left, right, length);
}

/* The file's number among those of its folder; -1 if it is the only one. */
static int32_t rank_of(const struct sn_import_files *files, size_t index)
{
	size_t first = index, last = index;
	while (first && same_folder(files->paths[first - 1], files->paths[index]))
		first--;
	while (last + 1 < files->count && same_folder(files->paths[last + 1], files->paths[index]))
		last++;
	return first == last ? -1 : (int32_t)(index - first);
}

static void release_file(struct sn_xplane *xplane)
{
	sn_proto_stream_close(&xplane->stream);
	sn_xplane_release_names(xplane);
	sn_xplane_release_programs(&xplane->programs);
	sn_intern_release(&xplane->contexts);
	free(xplane->steps);
	free(xplane->marks);
	xplane->marks = NULL;
	xplane->mark_count = xplane->mark_capacity = 0;
	xplane->marks_are_cut = false;
	xplane->steps = NULL;
	xplane->step_count = xplane->step_capacity = 0;
}

static int read_file(struct sn_xplane *xplane, const struct sn_import_files *files, size_t index,
		     struct sn_error *error)
{
	const char *path = files->paths[index];
	xplane->pid = -1;
	xplane->start_time_ns = 0;
	xplane->host = host_of(xplane, path);
	int result = sn_proto_stream_open(&xplane->stream, path, error);
	if (!result)
		result = sn_track_sink_open(xplane->sink, path, error);
	if (!result)
		result = sn_xplane_names(xplane, error);
	if (!result)
		result = sn_proto_stream_rewind(&xplane->stream, error);
	if (!result)
		result = sn_xplane_events(xplane, error);
	if (!result)
		sn_track_sink_set_host(xplane->sink, xplane->host);
	if (!result && sn_xplane_executions(xplane))
		result = sn_fail_memory(error);
	if (!result && !xplane->graphs_only) {
		sn_track_sink_set_rank(xplane->sink, rank_of(files, index));
		if (xplane->pid >= 0)
			sn_track_sink_set_pid(xplane->sink, xplane->pid);
		result = sn_track_sink_build(xplane->sink, files->count, error);
	}
	if (!result && sn_xplane_graphs(xplane))
		result = sn_fail_memory(error);
	release_file(xplane);
	return result;
}

static void finish(struct sn_xplane *xplane)
{
	sn_track_sink_finish(xplane->sink);
	sn_track_sink_lost(xplane->sink, "import-oversized", "records larger than the limit",
			   xplane->oversized);
	sn_track_sink_lost(xplane->sink, "import-program",
			   "compiled programs that could not be read", xplane->damaged_programs);
}

static int list_files(const struct sn_import_request *request, struct sn_import_files *files)
{
	int result = 0;
	for (size_t i = 0; i < request->path_count && !result; i++) {
		struct stat status;
		bool is_folder = stat(request->paths[i], &status) == 0 && S_ISDIR(status.st_mode);
		result = is_folder ? find_files(files, request->paths[i], DEPTH_MAX)
				   : sn_import_files_add(files, "", request->paths[i]);
	}
	sort_paths(files->paths, files->count, NULL);
	return result;
}

static struct sn_xplane *new (struct sn_db_builder *builder,
			      const struct sn_import_request *request)
{
	struct sn_xplane *xplane = calloc(1, sizeof(*xplane));
	if (!xplane)
		return NULL;
	xplane->builder = builder;
	xplane->writer = request->events;
	xplane->sink = sn_track_sink_new("xplane", builder, request);
	if (xplane->sink)
		return xplane;
	free(xplane);
	return NULL;
}

static void release(struct sn_xplane *xplane)
{
	if (!xplane)
		return;
	sn_track_sink_free(xplane->sink);
	free(xplane->planes);
	free(xplane);
}

/* Reads all files and releases them and `xplane`, which may be NULL. */
static int read_files(struct sn_xplane *xplane, struct sn_import_files *files, int result,
		      struct sn_error *error)
{
	if (result || !xplane)
		result = sn_fail_memory(error);
	for (size_t i = 0; i < files->count && !result; i++)
		result = read_file(xplane, files, i, error);
	if (!result && !xplane->graphs_only)
		finish(xplane);
	sn_import_files_release(files);
	release(xplane);
	return result;
}

static int read_all(const struct sn_import_request *request, struct sn_db_builder *builder,
		    struct sn_error *error)
{
	struct sn_xplane *xplane = new (builder, request);
	struct sn_import_files files = {0};
	if (xplane)
		sn_track_sink_set_program(xplane->sink, sn_db_builder_string(builder, "python"));
	return read_files(xplane, &files, list_files(request, &files), error);
}

int sn_xplane_add_graphs(const char *folder, struct sn_db_builder *builder, struct sn_error *error)
{
	/* only attribute names are added to this writer, no events */
	struct sn_trace_writer *writer = sn_trace_writer_new(1 << 16, NULL);
	struct sn_import_request request = {.events = writer};
	struct sn_xplane *xplane = writer ? new (builder, &request) : NULL;
	struct sn_import_files files = {0};
	int result = find_files(&files, folder, DEPTH_MAX);
	if (xplane) {
		xplane->graphs_only = true;
		xplane->beside = folder;
	}
	sort_paths(files.paths, files.count, NULL);
	result = read_files(xplane, &files, result, error);
	sn_trace_writer_free(writer);
	return result;
}

int sn_xplane_add_programs(const struct sn_xplane_programs_file *file,
			   struct sn_db_builder *builder, struct sn_error *error)
{
	struct sn_trace_writer *writer = sn_trace_writer_new(1 << 16, NULL);
	struct sn_import_request request = {.events = writer};
	struct sn_xplane *xplane = writer ? new (builder, &request) : NULL;
	unsigned char *bytes = NULL;
	size_t length = 0;
	int result = xplane ? sn_import_cursor_load(file->path, &bytes, &length, error) : 0;
	if (xplane && !result) {
		xplane->pid = file->pid;
		xplane->host = sn_db_builder_string(builder, file->host);
		xplane->graphs_only = true;
		result = file->is_hlo
			     ? sn_xplane_compiled(xplane, bytes, length, file->has_profile)
			     : sn_xplane_programs(xplane, (const char *)bytes,
						  (const char *)bytes + length, !file->has_profile);
		if (xplane->damaged_programs)
			sn_db_builder_drop(builder, "import-program",
					   "compiled programs that could not be read",
					   xplane->damaged_programs);
		release_file(xplane);
	} else if (!xplane)
		result = sn_fail_memory(error);
	if (result == SN_ERR_MEMORY)
		sn_fail_memory(error);
	free(bytes);
	release(xplane);
	sn_trace_writer_free(writer);
	return result;
}

const struct sn_importer sn_importer_xplane = {
    .name = "xplane",
    .probe = probe,
    .read = read_all,
};
