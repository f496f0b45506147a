/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports the paths that a user names into a database: folders are replaced by their files, and one
 * importer reads all.
 */
#pragma once

#include "importer.h"

struct sn_import_files {
	char **paths;
	size_t count, capacity;
	/* Folders inside named folders; they are skipped. */
	size_t folder_count;
	char folders[256]; /* the first of their names: "logs, old" */
};

/*
 * The inputs that these paths stand for: each path itself, but for a folder that is not of a known
 * format, the files in it that are, ordered by name with numbers by value. Other files there are
 * skipped, Sonde's databases too; folders there are skipped and listed. 0 or a negative enum
 * sn_err, which includes a folder with nothing to read; release in either case.
 */
int sn_import_files_list(struct sn_import_files *files, const char *const *paths, size_t count,
			 struct sn_error *error);
/* Adds FOLDER/NAME, or NAME alone if the folder is "". 0 or SN_ERR_MEMORY. */
int sn_import_files_add(struct sn_import_files *files, const char *folder, const char *name);
void sn_import_files_release(struct sn_import_files *files);

/* Whether the file is one of Sonde's databases. */
bool sn_is_database(const char *path);

/* How much was imported. */
struct sn_import_counts {
	uint32_t contexts;
	uint64_t events;
};

/*
 * Reads the request's files and writes the database `output`, whole or not at all. The request
 * needs no `events`. If an importer's library may end the process (see importer.h), the
 * import happens in a child process, request->complete too. 0 or a negative enum sn_err.
 */
int sn_import(const struct sn_importer *importer, const struct sn_import_request *request,
	      const char *output, struct sn_import_counts *counts, struct sn_error *error);
