/* SPDX-License-Identifier: Apache-2.0 */
/* The importers of SQLite files in a build without SQLite: they refuse such files
 * with that reason. */
#include "import/rocprof/rocprof.h"
#include "import/sqlite/sqlite_cut.h"

static bool probe(const struct sn_import_input *input)
{
	return sn_sqlite_is_begin(input->head, input->head_bytes);
}

static int read_all(const struct sn_import_request *request, struct sn_db_builder *builder,
		    struct sn_error *error)
{
	return sn_fail(error, SN_ERR_UNSUPPORTED,
		       "cannot read '%s': this Sonde is built without SQLite (libsqlite3-dev)",
		       request->paths[0]);
}

const struct sn_importer sn_importer_nsys = {
    .name = "nsys",
    .probe = probe,
    .read = read_all,
};

bool sn_rocprof_is_rocpd(const struct sn_import_input *input)
{
	return false;
}

int sn_rocprof_read_rocpd(struct sn_rocprof *rocprof, const char *path, struct sn_error *error)
{
	return sn_fail(error, SN_ERR_UNSUPPORTED,
		       "cannot read '%s': this Sonde is built without SQLite (libsqlite3-dev)",
		       path);
}
