/* SPDX-License-Identifier: Apache-2.0 */
/* Reads all profiles of an import, folder by folder, and adds them to the builder. */
#include "hpctoolkit_measurement.h"

#include "base/progress/progress.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int is_profile(const struct dirent *entry)
{
	return sn_text_ends(entry->d_name, ".hpcrun");
}

bool sn_hpct_is_measurement(const char *folder)
{
	DIR *open = opendir(folder);
	bool found = false;
	if (!open)
		return false;
	for (const struct dirent *entry; !found && (entry = readdir(open));)
		found = is_profile(entry) || sn_text_ends(entry->d_name, ".hpctrace");
	closedir(open);
	return found;
}

/* The folder's path without symbolic links, because modules in it are named so. From malloc. */
static char *resolve(const char *folder)
{
	char *path = realpath(folder, NULL);
	return path ? path : strdup(folder);
}

static int read_structures(struct sn_hpct_import *import, const struct sn_import_request *request,
			   const char *base, struct sn_error *error)
{
	char path[PATH_MAX];
	struct stat status;
	import->code.no_structure = request->no_structure;
	snprintf(path, sizeof(path), "%s/structs", base);
	if (stat(path, &status) < 0)
		return 0;
	int code = sn_hpct_code_structures(&import->code, path, base, error);
	return code == SN_ERR_UNSUPPORTED && request->no_structure ? 0 : code;
}

/* Counts a profile that cannot be read; the others are read on. */
static int note_left_out(struct sn_hpct_import *import, struct sn_import_notes *notes,
			 struct sn_error *error)
{
	if (!notes->left_out++)
		notes->first = *error;
	error->text[0] = 0;
	sn_db_builder_drop(import->builder, "import-unreadable",
			   "profiles of other tools that could not be read", 1);
	return 0;
}

static int read_folder(struct sn_hpct_import *import, const struct sn_import_request *request,
		       const char *folder, struct sn_error *error)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_profile, alphasort);
	if (count < 0)
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", folder, strerror(errno));
	if (count == 0) {
		free(entries);
		return sn_fail(error, SN_ERR_FORMAT,
			       "cannot import '%s': traces (.hpctrace) without profiles (.hpcrun), "
			       "which have the call paths",
			       folder);
	}
	char *base = resolve(folder), path[PATH_MAX];
	int code = base ? read_structures(import, request, base, error) : sn_fail_memory(error);
	int left_out = 0;
	sn_progress_begin("reading profiles", (uint64_t)count);
	for (int i = 0; i < count; i++) {
		bool is_unreadable = false;
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		if (code == 0)
			code = sn_hpct_profile_read(import, path, base, &is_unreadable, error);
		/* damaged profiles are left out, unless no profile can be read */
		if (is_unreadable && ++left_out < count)
			code = note_left_out(import, request->notes, error);
		sn_progress_add(1);
		free(entries[i]);
	}
	free(entries);
	free(base);
	return code;
}

/* Reads one profile; its folder is the measurement's. */
static int read_single(struct sn_hpct_import *import, const struct sn_import_request *request,
		       const char *path, struct sn_error *error)
{
	bool is_unreadable;
	if (sn_text_ends(path, ".hpctrace"))
		return sn_fail(error, SN_ERR_FORMAT,
			       "cannot import '%s': a trace has no call paths: give its folder, or "
			       "the profile (.hpcrun) beside it",
			       path);
	char *copied = strdup(path);
	char *base = copied ? resolve(dirname(copied)) : NULL;
	int code = base ? read_structures(import, request, base, error) : sn_fail_memory(error);
	if (code == 0)
		code = sn_hpct_profile_read(import, path, base, &is_unreadable, error);
	free(copied);
	free(base);
	return code;
}

static void note_drops(const struct sn_hpct_import *import)
{
	if (import->demoted)
		sn_db_builder_drop(import->builder, "hpctoolkit_partial",
				   "call paths whose beginning is unknown", import->demoted);
	if (import->reconstruction.unresolved)
		sn_db_builder_drop(import->builder, "hpctoolkit_calls",
				   "places in GPU code whose callers could not be determined",
				   import->reconstruction.unresolved);
}

static int read_all(struct sn_hpct_import *import, const struct sn_import_request *request,
		    const char *const *paths, size_t count, bool runs, struct sn_error *error)
{
	int code = 0;
	for (size_t i = 0; code == 0 && !request->no_structure && i < request->structure_count; i++)
		code = sn_hpct_code_structures(&import->code, request->structures[i], NULL, error);
	for (size_t i = 0; code == 0 && i < count; i++) {
		struct stat status;
		import->run = runs ? (uint32_t)i : 0;
		if (stat(paths[i], &status) < 0)
			code = sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", paths[i],
				       strerror(errno));
		else if (S_ISDIR(status.st_mode))
			code = read_folder(import, request, paths[i], error);
		else
			code = read_single(import, request, paths[i], error);
	}
	for (size_t i = 0; code == 0 && i < import->merged_count; i++)
		code = sn_hpct_import_flush(import, import->merged[i], error);
	return code;
}

int sn_hpct_measurement_read(const struct sn_import_request *request, const char *const *paths,
			     size_t count, bool runs, struct sn_db_builder *builder,
			     struct sn_error *error)
{
	struct sn_hpct_import import = {.builder = builder, .events = request->events};
	import.tree.builder = builder;
	import.code.tree = &import.tree;
	import.reconstruction =
	    (struct sn_hpct_reconstruction){.code = &import.code,
					    .sample_metric = SONDE_NONE,
					    .launch_metric = SONDE_NONE,
					    .sampled_launch_metric = SONDE_NONE};
	int code = read_all(&import, request, paths, count, runs, error);
	note_drops(&import);
	for (size_t i = 0; i < import.merged_count; i++) {
		sn_hpct_thread_release(import.merged[i]);
		free(import.merged[i]);
	}
	free(import.merged);
	sn_table_release(&import.merged_keys);
	sn_hpct_reconstruction_release(&import.reconstruction);
	sn_hpct_code_release(&import.code);
	sn_hpct_tree_release(&import.tree);
	return code;
}
