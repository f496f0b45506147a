/* SPDX-License-Identifier: Apache-2.0 */
/* Importing on the way; see command.h. */
#include "base/spill.h"
#include "cmd/command.h"
#include "import/core/import_files.h"
#include "sonde/db.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int import(void *context, const char *output, struct sn_error *error)
{
	const struct sn_import_files *inputs = context;
	struct sn_import_notes notes = {0};
	struct sn_import_request request = {
	    .notes = &notes,
	    .paths = (const char *const *)inputs->paths,
	    .path_count = inputs->count,
	};
	struct sn_import_counts counts;
	const struct sn_importer *importer =
	    sn_importer_recognise(request.paths, request.path_count, error);
	if (!importer)
		return SN_ERR_FORMAT;
	int result = sn_import(importer, &request, output, &counts, error);
	if (!result)
		sn_command_import_notes(&notes);
	return result;
}

void sn_command_import_notes(const struct sn_import_notes *notes)
{
	if (*notes->unread)
		sn_command_warn("not read: %s", notes->unread);
	if (*notes->cut)
		sn_command_warn("%s", notes->cut);
	if (*notes->lost)
		sn_command_warn("not read: %s", notes->lost);
	if (notes->left_out)
		sn_command_warn("%" PRIu64 " file%s left out; the first: %s", notes->left_out,
				notes->left_out == 1 ? " was" : "s were", notes->first.text);
}

void sn_command_import_skipped(const struct sn_import_files *inputs)
{
	if (inputs->folder_count)
		sn_command_warn("%zu folder%s not read: %s", inputs->folder_count,
				inputs->folder_count == 1 ? " was" : "s were", inputs->folders);
}

int sn_command_open_hidden(int (*make)(void *context, const char *path, struct sn_error *error),
			   void *context, struct sonde_db **db, struct sn_error *error)
{
	const char *folder = sn_spill_folder(NULL);
	char name[4096], path[4200];
	snprintf(name, sizeof(name), "%s/sonde-XXXXXX", folder);
	if (!mkdtemp(name))
		return sn_fail(error, SN_ERR_IO, "cannot create a folder in '%s': %s", folder,
			       strerror(errno));
	snprintf(path, sizeof(path), "%s/trace.sdb", name);
	int result = make(context, path, error);
	struct sonde_db_error why = {""};
	if (!result && sonde_db_open(path, db, &why))
		result = sn_fail(error, SN_ERR_FORMAT, "%s", why.text);
	unlink(path);
	rmdir(name);
	return result;
}

int sn_command_open_trace(const char *const *paths, size_t count, struct sonde_db **db)
{
	struct sn_import_files inputs = {0};
	struct sn_error error = {""};
	struct stat status;
	/* what cannot be read is explained as a database's */
	if (count == 1 && (stat(paths[0], &status) < 0 || sn_is_database(paths[0])))
		return sn_command_open(paths[0], db);
	int result = sn_import_files_list(&inputs, paths, count, &error);
	if (!result)
		result = sn_command_open_hidden(import, &inputs, db, &error);
	if (!result)
		sn_command_import_skipped(&inputs);
	sn_import_files_release(&inputs);
	return result ? sn_command_fail("%s", error.text) : SN_EXIT_DONE;
}
