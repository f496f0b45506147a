/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of JAX and TensorFlow; see frameworks.h. */
#include "frameworks.h"

#include "import/xplane_graphs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOOK	  "xla-hook"
#define DEPTH_MAX 8

/* frameworks.py, made a C array by export/embed.py */
extern const char sn_frameworks_python[];

bool sn_frameworks_owns(const char *name)
{
	return !strncmp(name, "xla-", 4) &&
	       (!strcmp(name, HOOK) || (name[4] && !name[4 + strspn(name + 4, "0123456789")]));
}

static void remove_tree(const char *path, unsigned depth)
{
	DIR *entries = depth ? opendir(path) : NULL;
	struct dirent *entry;
	while (entries && (entry = readdir(entries))) {
		char inner[4096];
		struct stat status;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name) >=
			(int)sizeof(inner) ||
		    lstat(inner, &status))
			continue;
		if (S_ISDIR(status.st_mode))
			remove_tree(inner, depth - 1);
		else
			unlink(inner);
	}
	if (entries)
		closedir(entries);
	rmdir(path);
}

void sn_frameworks_remove(const char *folder, const char *name)
{
	char path[4096];
	if (snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path))
		remove_tree(path, DEPTH_MAX);
}

static int write_hook(const char *folder, struct sn_error *error)
{
	char path[4608];
	snprintf(path, sizeof(path), "%s/" HOOK, folder);
	if (mkdir(path, 0777) && errno != EEXIST)
		return sn_fail(error, SN_ERR_IO, "cannot create '%s': %s", path, strerror(errno));
	snprintf(path, sizeof(path), "%s/" HOOK "/sitecustomize.py", folder);
	FILE *file = fopen(path, "w");
	bool is_written = file && fputs(sn_frameworks_python, file) >= 0;
	if (file && fclose(file))
		is_written = false;
	return is_written
		   ? 0
		   : sn_fail(error, SN_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
}

int sn_frameworks_begin(const char *folder, struct sn_error *error)
{
	const char *before = getenv("PYTHONPATH");
	int result = write_hook(folder, error);
	if (result)
		return result;
	size_t size = strlen(folder) + sizeof("/" HOOK ":") + (before ? strlen(before) : 0);
	char *path = malloc(size);
	if (!path)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	snprintf(path, size, "%s/" HOOK "%s%s", folder, before && *before ? ":" : "",
		 before ? before : "");
	bool failed = setenv("PYTHONPATH", path, 1) || setenv("SONDE_FRAMEWORKS", folder, 1);
	free(path);
	return failed ? sn_fail(error, SN_ERR_MEMORY, "out of memory") : 0;
}

void sn_frameworks_end(const char *folder)
{
	sn_frameworks_remove(folder, HOOK);
}

/* The profiles of one process, in its folder of the measurement. */
static int extend_by_process(struct sn_db_builder *builder, const char *folder, const char *name,
			     struct sn_error *error)
{
	static const char *const frameworks[] = {"jax", "tensorflow"};
	int result = 0;
	for (int i = 0; i < 2 && result != SN_ERR_MEMORY; i++) {
		char path[4096];
		if (snprintf(path, sizeof(path), "%s/%s/%s", folder, name, frameworks[i]) >=
		    (int)sizeof(path))
			continue;
		result = sn_xplane_add_graphs(path, builder, error);
		if (result && result != SN_ERR_MEMORY)
			sn_db_builder_drop(builder, "graph-unread",
					   "profiles of JAX or TensorFlow that could not be read",
					   1);
	}
	return result == SN_ERR_MEMORY ? result : 0;
}

static int compare_names(const struct dirent **left, const struct dirent **right)
{
	return strcmp((*left)->d_name, (*right)->d_name);
}

static int is_process(const struct dirent *entry)
{
	return sn_frameworks_owns(entry->d_name) && strcmp(entry->d_name, HOOK) != 0;
}

int sn_frameworks_extend(void *context, struct sn_db_builder *builder, struct sn_error *error)
{
	const struct sn_frameworks *frameworks = context;
	int result = 0;
	for (size_t i = 0; i < frameworks->count && !result; i++) {
		struct dirent **entries;
		int count = scandir(frameworks->folders[i], &entries, is_process, compare_names);
		for (int k = 0; k < count; k++) {
			if (!result)
				result = extend_by_process(builder, frameworks->folders[i],
							   entries[k]->d_name, error);
			free(entries[k]);
		}
		if (count >= 0)
			free(entries);
	}
	return result;
}
