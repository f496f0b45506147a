/* SPDX-License-Identifier: Apache-2.0 */
/* See folder.h. */
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status, (void)type, (void)place;
	return remove(path);
}

static void remove_tree(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static bool is_one_of(const char *name, const char *const *own)
{
	while (*own && strcmp(*own, name) != 0)
		own++;
	return *own || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Somebody's own file between ours must not vanish with them. */
static int check_entries(const char *path, const char *const *own, struct sn_error *error)
{
	int code = 0;
	struct dirent *entry;
	DIR *folder = opendir(path);
	if (!folder)
		return sn_fail(error, SN_ERR_IO, "cannot replace '%s': %s", path, strerror(errno));
	while (code == 0 && (entry = readdir(folder)))
		if (!is_one_of(entry->d_name, own))
			code = sn_fail(error, SN_ERR_IO,
				       "cannot replace '%s': there is something else in it, '%s'",
				       path, entry->d_name);
	closedir(folder);
	return code;
}

/* 0 where there is nothing, or something that may be replaced. */
static int check_place(const char *path, const char *const *own, struct sn_error *error)
{
	struct stat status;
	char marked[PATH_MAX];
	if (lstat(path, &status) < 0)
		return errno == ENOENT ? 0
				       : sn_fail(error, SN_ERR_IO, "cannot create '%s': %s", path,
						 strerror(errno));
	snprintf(marked, sizeof(marked), "%s/%s", path, own[0]);
	if (S_ISDIR(status.st_mode) && access(marked, F_OK) == 0)
		return check_entries(path, own, error);
	if (S_ISDIR(status.st_mode) && rmdir(path) == 0)
		return 0;
	return sn_fail(error, SN_ERR_IO,
		       "cannot create '%s': it is there already and is something else", path);
}

static void release(struct sn_folder *folder)
{
	free(folder->path);
	free(folder->temporary);
	*folder = (struct sn_folder){0};
}

int sn_folder_open(struct sn_folder *folder, const char *path, const char *const *own,
		   struct sn_error *error)
{
	*folder = (struct sn_folder){0};
	int code = check_place(path, own, error);
	if (code != 0)
		return code;
	size_t length = strlen(path);
	folder->path = strdup(path);
	while (folder->path && length > 1 && folder->path[length - 1] == '/')
		folder->path[--length] = '\0';
	if (!folder->path || asprintf(&folder->temporary, "%s.XXXXXX", folder->path) < 0) {
		folder->temporary = NULL;
		release(folder);
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	}
	if (!mkdtemp(folder->temporary)) {
		code = sn_fail(error, SN_ERR_IO, "cannot create '%s': %s", path, strerror(errno));
		release(folder);
		return code;
	}
	mode_t mask = umask(0);
	umask(mask);
	chmod(folder->temporary, 0777 & ~mask);
	return 0;
}

/* A folder with something in it cannot be renamed over: it is moved aside first. */
int sn_folder_commit(struct sn_folder *folder, struct sn_error *error)
{
	char *old = NULL;
	int code = 0, why = ENOMEM;
	if (asprintf(&old, "%s.old", folder->temporary) < 0)
		old = NULL;
	bool has_old = old && rename(folder->path, old) == 0;
	if (old && !has_old)
		why = errno == ENOENT ? 0 : errno;
	if (has_old || !why)
		why = rename(folder->temporary, folder->path) < 0 ? errno : 0;
	if (why) {
		code = sn_fail(error, SN_ERR_IO, "cannot create '%s': %s", folder->path,
			       strerror(why));
		if (has_old && rename(old, folder->path) == 0)
			has_old = false;
		remove_tree(folder->temporary);
	}
	if (has_old)
		remove_tree(old);
	free(old);
	release(folder);
	return code;
}

void sn_folder_abandon(struct sn_folder *folder)
{
	remove_tree(folder->temporary);
	release(folder);
}
