/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports the paths that a user names into a database: folders are replaced by their files, and one
 * importer reads all.
 */
#ifndef SN_IMPORT_IMPORT_FILES_H
#define SN_IMPORT_IMPORT_FILES_H

#include "importer.h"

struct sn_import_files {
	char **paths;
	size_t count, capacity;
	/* Folders in the folders that stand for their files; they are passed over. */
	size_t folder_count;
	char folders[256]; /* "logs, old": the first of their names */
};

/*
 * What these paths name: themselves, and for a folder that is not of a known format itself the
 * files in it that are, in the order of their names with numbers by value; what else lies there is
 * passed over, Sonde's databases too, and folders are named. 0 or a negative enum sn_err, so where a folder holds nothing
 * that can be read; to be released in each case.
 */
int sn_import_files_list(struct sn_import_files *files, const char *const *paths, size_t count,
			 struct sn_error *error);
/* Adds FOLDER/NAME, of the folder "" NAME alone. 0 or SN_ERR_MEMORY. */
int sn_import_files_add(struct sn_import_files *files, const char *folder, const char *name);
void sn_import_files_release(struct sn_import_files *files);

/* Whether the file is one of Sonde's databases. */
bool sn_is_database(const char *path);

/* How much there was. */
struct sn_import_counts {
	uint32_t contexts;
	uint64_t events;
};

/*
 * Reads the request's files and writes the database `output`, whole or not at all. The request
 * needs no `events`. What an importer's library may not survive happens in a child process, with
 * request->complete. 0 or a negative enum sn_err.
 */
int sn_import(const struct sn_importer *importer, const struct sn_import_request *request,
	      const char *output, struct sn_import_counts *counts, struct sn_error *error);

#endif
