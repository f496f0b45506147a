/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a measurement folder; see measurement_reader.h. */
#include "measurement_reader.h"
#include "format/trace_file/trace_file.h"

#include "base/sort_by.h"
#include "base/text.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct list {
	char **files;
	size_t count, capacity;
};

/* Appends FOLDER/NAME, or the folder itself; -1 without memory. The array always ends with NULL. */
static int append(struct list *list, const char *folder, const char *name)
{
	if (sn_vec_reserve(&list->files, &list->capacity, list->count + 2) < 0)
		return -1;
	char *file = NULL;
	if (name ? asprintf(&file, "%s/%s", folder, name) < 0 : !(file = strdup(folder)))
		return -1;
	list->files[list->count++] = file;
	list->files[list->count] = NULL;
	return 0;
}

/* A trace that lies alone counts as a measurement. */
static bool is_lone_trace(const char *folder, const char *name)
{
	size_t stem = strlen(name) - strlen(SN_TRACE_FILE_SUFFIX);
	char *beside = NULL;
	if (!sn_text_ends(name, SN_TRACE_FILE_SUFFIX) ||
	    asprintf(&beside, "%s/%.*s" SN_MEASUREMENT_SUFFIX, folder, (int)stem, name) < 0)
		return false;
	struct stat status;
	bool is_alone = lstat(beside, &status) < 0;
	free(beside);
	return is_alone;
}

SN_SORT_BY(sort_names, char *, const void *, strcmp(*a, *b));

static int list_folder(const char *path, struct list *list, struct sn_error *error)
{
	DIR *folder = opendir(path);
	if (!folder)
		return sn_fail(error, SN_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
	int failed = 0;
	for (struct dirent *entry; !failed && (entry = readdir(folder));)
		if (sn_text_ends(entry->d_name, SN_MEASUREMENT_SUFFIX) ||
		    is_lone_trace(path, entry->d_name))
			failed = append(list, path, entry->d_name);
	closedir(folder);
	if (failed)
		return sn_fail_prefix(error, sn_fail_memory(error), "cannot read '%s'", path);
	if (!list->count)
		return sn_fail(error, SN_ERR_MISSING, "cannot read '%s': no measurement in it",
			       path);
	sort_names(list->files, list->count, NULL);
	return 0;
}

/* A link that the user names is followed here, as those in a folder never are. */
static int append_file(struct list *list, const char *path)
{
	struct stat status;
	bool is_link = !lstat(path, &status) && S_ISLNK(status.st_mode);
	char *target = is_link ? realpath(path, NULL) : NULL;
	int failed = append(list, target ? target : path, NULL);
	free(target);
	return failed;
}

int sn_measurement_list(const char *path, char ***files, size_t *count, struct sn_error *error)
{
	struct list list = {0};
	struct stat status;
	int result = 0;
	if (stat(path, &status) < 0)
		result = sn_fail(error, SN_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
	else if (S_ISDIR(status.st_mode))
		result = list_folder(path, &list, error);
	else if (append_file(&list, path) < 0)
		result = sn_fail_prefix(error, sn_fail_memory(error), "cannot read '%s'", path);
	if (result) {
		sn_measurement_free_list(list.files);
		return result;
	}
	*files = list.files;
	*count = list.count;
	return 0;
}

void sn_measurement_free_list(char **files)
{
	for (char **file = files; file && *file; file++)
		free(*file);
	free(files);
}
