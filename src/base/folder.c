/* SPDX-License-Identifier: Apache-2.0 */
/* Output folders, filled under a temporary name and then renamed; see folder.h. */
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_one_of(const char *name, const char *const *own)
{
	while (*own && strcmp(*own, name) != 0)
		own++;
	return *own || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* A user's file in the folder must not be removed with ours. */
static int check_entries(int fd, const char *path, const char *const *own, struct sn_error *error)
{
	int code = 0;
	struct dirent *entry;
	DIR *folder = fdopendir(fd);
	if (!folder) {
		close(fd);
		return sn_fail(error, SN_ERR_IO, "cannot replace '%s': %s", path, strerror(errno));
	}
	while (code == 0 && (entry = readdir(folder)))
		if (!is_one_of(entry->d_name, own))
			code = sn_fail(error, SN_ERR_IO,
				       "cannot replace '%s': there is something else in it, '%s'",
				       path, entry->d_name);
	closedir(folder);
	return code;
}

/* 0 where there is nothing, or something that may be replaced. */
static int check_place(const struct sn_path *place, const char *path, const char *const *own,
		       struct sn_error *error)
{
	struct stat status;
	int fd =
	    openat(place->folder, place->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd >= 0 && fstatat(fd, own[0], &status, AT_SYMLINK_NOFOLLOW) == 0)
		return check_entries(fd, path, own, error);
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && unlinkat(place->folder, place->name, AT_REMOVEDIR) == 0)
		return 0;
	return sn_fail(error, SN_ERR_IO,
		       "cannot create '%s': it is there already and is something else", path);
}

static void release(struct sn_folder *folder)
{
	sn_path_close(&folder->place);
	if (folder->fd >= 0)
		close(folder->fd);
	free(folder->path);
	*folder = (struct sn_folder){.fd = -1, .place.folder = -1};
}

/* A new folder for us alone, beside where it is going. 0 or -1 with errno. */
static int make_beside(struct sn_folder *folder)
{
	for (unsigned attempt = 0; attempt < 100; attempt++) {
		char prefix[NAME_MAX + 1];
		snprintf(prefix, sizeof(prefix), "%.*s.", NAME_MAX - 13, folder->place.name);
		if (!sn_path_make_name(folder->beside, prefix))
			return -1;
		if (mkdirat(folder->place.folder, folder->beside, 0700) < 0) {
			if (errno == EEXIST)
				continue;
			return -1;
		}
		folder->fd = openat(folder->place.folder, folder->beside,
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		struct stat status;
		/* one that another user put in its place has that owner */
		if (folder->fd >= 0 && !fstat(folder->fd, &status) && status.st_uid == geteuid())
			return 0;
		errno = EAGAIN;
		return -1;
	}
	return -1;
}

int sn_folder_open(struct sn_folder *folder, const char *path, const char *const *own,
		   struct sn_error *error)
{
	*folder = (struct sn_folder){.fd = -1};
	folder->path = strdup(path);
	if (!folder->path) {
		folder->place.folder = -1;
		return sn_fail_memory(error);
	}
	for (size_t length = strlen(path); length > 1 && folder->path[length - 1] == '/';)
		folder->path[--length] = '\0';
	int result = sn_path_open(&folder->place, folder->path), code = 0;
	if (result)
		code = sn_fail(error, SN_ERR_IO, "cannot create '%s': %s", path,
			       sn_path_explain(result));
	else
		code = check_place(&folder->place, path, own, error);
	if (code == 0 && make_beside(folder))
		code = sn_fail(error, SN_ERR_IO, "cannot create '%s': %s", path, strerror(errno));
	if (code != 0) {
		release(folder);
		return code;
	}
	/* by its descriptor, for its name may be given to another folder meanwhile */
	snprintf(folder->temporary, sizeof(folder->temporary), "/proc/self/fd/%d", folder->fd);
	if (access(folder->temporary, F_OK))
		snprintf(folder->temporary, sizeof(folder->temporary), "%.*s.%s", PATH_MAX - 10,
			 folder->path, folder->beside + strlen(folder->beside) - 8);
	return 0;
}

void sn_folder_explain(const struct sn_folder *folder, struct sn_error *error)
{
	sn_error_rename(error, folder->temporary, folder->path);
}

static void open_to_others(const struct sn_folder *folder)
{
	mode_t mask = umask(0);
	umask(mask);
	if (fchmod(folder->fd, 0777 & ~mask) < 0) {
		/* a file system without permissions: the default ones will do */
	}
}

/* A folder with something in it cannot be renamed over: it is moved aside first. */
int sn_folder_commit(struct sn_folder *folder, struct sn_error *error)
{
	char old[NAME_MAX + 1];
	int code = 0, why = 0, at = folder->place.folder;
	const char *name = folder->place.name;
	snprintf(old, sizeof(old), "%.*s.old", NAME_MAX - 4, folder->beside);
	open_to_others(folder);
	bool has_old = renameat(at, name, at, old) == 0;
	if (!has_old && errno != ENOENT)
		why = errno;
	if (!why && renameat(at, folder->beside, at, name) < 0)
		why = errno;
	if (why) {
		code = sn_fail(error, SN_ERR_IO, "cannot create '%s': %s", folder->path,
			       strerror(why));
		if (has_old && renameat(at, old, at, name) == 0)
			has_old = false;
		sn_path_remove_tree(at, folder->beside);
	}
	if (has_old)
		sn_path_remove_tree(at, old);
	release(folder);
	return code;
}

void sn_folder_abandon(struct sn_folder *folder)
{
	sn_path_remove_tree(folder->place.folder, folder->beside);
	release(folder);
}
