/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importer of HPCToolkit's data: measurement folders and single profiles of hpcrun, databases of
 * hpcprof. The contents of an input tell which of them it is; docs/design/hpctoolkit.md describes
 * all.
 */
#include "hpctoolkit_measurement.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool probe(const struct sn_import_input *input)
{
	if (input->is_folder)
		return sn_hpct_is_database(input->path) || sn_hpct_is_measurement(input->path);
	size_t length = strlen(SN_HPCRUN_MAGIC); /* the magic of a trace has the same length */
	return input->head_bytes >= length && (memcmp(input->head, SN_HPCRUN_MAGIC, length) == 0 ||
					       memcmp(input->head, SN_HPCTRACE_MAGIC, length) == 0);
}

static size_t count_folders(const struct sn_import_request *request)
{
	size_t count = 0;
	for (size_t i = 0; i < request->path_count; i++) {
		struct stat status;
		count += stat(request->paths[i], &status) == 0 && S_ISDIR(status.st_mode);
	}
	return count;
}

static void name_run(struct sn_db_builder *builder, uint32_t run, const char *path)
{
	char key[32], name[NAME_MAX + 1];
	size_t length = strlen(path), start;
	while (length > 1 && path[length - 1] == '/')
		length--;
	for (start = length; start > 0 && path[start - 1] != '/'; start--)
		;
	snprintf(key, sizeof(key), "run.%u", run);
	snprintf(name, sizeof(name), "%.*s", (int)(length - start), path + start);
	sn_db_builder_property(builder, key, name);
}

static int read_inputs(const struct sn_import_request *request, struct sn_db_builder *builder,
		       struct sn_error *error)
{
	const char **measurements = calloc(2 * request->path_count + 1, sizeof(*measurements));
	const char **databases = measurements + request->path_count;
	size_t measurement_count = 0, database_count = 0;
	if (!measurements)
		return sn_fail_memory(error);
	bool runs = count_folders(request) > 1;
	for (size_t i = 0; i < request->path_count; i++) {
		if (sn_hpct_is_database(request->paths[i]))
			databases[database_count++] = request->paths[i];
		else
			measurements[measurement_count++] = request->paths[i];
	}
	int code = sn_hpct_measurement_read(request, measurements, measurement_count, runs, builder,
					    error);
	for (size_t i = 0; code == 0 && i < database_count; i++) {
		uint32_t run = runs ? (uint32_t)(measurement_count + i) : 0;
		code = sn_hpct_database_read(request, databases[i], run, builder, error);
	}
	for (size_t i = 0; runs && i < measurement_count; i++)
		name_run(builder, (uint32_t)i, measurements[i]);
	for (size_t i = 0; runs && i < database_count; i++)
		name_run(builder, (uint32_t)(measurement_count + i), databases[i]);
	free(measurements);
	return code;
}

const struct sn_importer sn_importer_hpctoolkit = {"hpctoolkit", probe, read_inputs};
