/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HPCToolkit: measurement folders and single profiles of hpcrun, and databases of hpcprof. Which of
 * them an input is, its contents say; docs/design/hpctoolkit.md has the whole picture.
 */
#include "hpctoolkit_measurement.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool probe(const struct sn_import_input *input)
{
	if (input->is_folder)
		return sn_hpct_is_database(input->path) || sn_hpct_is_measurement(input->path);
	size_t length = strlen(SN_HPCRUN_MAGIC); /* that of a trace is as long */
	return input->head_bytes >= length && (memcmp(input->head, SN_HPCRUN_MAGIC, length) == 0 ||
					       memcmp(input->head, SN_HPCTRACE_MAGIC, length) == 0);
}

static int read_inputs(const struct sn_import_request *request, struct sn_db_builder *builder,
		       struct sn_error *error)
{
	const char **measurements = calloc(2 * request->path_count + 1, sizeof(*measurements));
	const char **databases = measurements + request->path_count;
	size_t measurement_count = 0, database_count = 0;
	if (!measurements)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < request->path_count; i++) {
		if (sn_hpct_is_database(request->paths[i]))
			databases[database_count++] = request->paths[i];
		else
			measurements[measurement_count++] = request->paths[i];
	}
	int code =
	    sn_hpct_measurement_read(request, measurements, measurement_count, builder, error);
	if (code == 0)
		code = sn_hpct_database_read(request, databases, database_count, builder, error);
	free(measurements);
	return code;
}

const struct sn_importer sn_importer_hpctoolkit = {
    "hpctoolkit", "measurements (.m folders, .hpcrun) and databases (.d folders) of HPCToolkit",
    probe, read_inputs};
