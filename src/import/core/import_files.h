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
};

/*
 * Expands the paths. A folder that is not itself of a known format is replaced by its files of
 * known formats, ordered by name with numbers by value; other files are skipped, Sonde's databases
 * too. 0 or a negative enum sn_err, also if a folder has no readable file; to be released in each
 * case.
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
 * needs no `events`. 0 or a negative enum sn_err.
 */
int sn_import(const struct sn_importer *importer, const struct sn_import_request *request,
	      const char *output, struct sn_import_counts *counts, struct sn_error *error);

#endif
