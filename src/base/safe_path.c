/* SPDX-License-Identifier: Apache-2.0 */
/* Walking paths; see safe_path.h. */
#include "safe_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MOST_LINKS  40
#define MOST_LEVELS 64

struct walk {
	int folder;
	unsigned links;
	char rest[2 * PATH_MAX]; /* what is still to be walked */
};

bool sn_path_is_own(const struct stat *status)
{
	return status->st_uid == geteuid() || status->st_uid == 0;
}

bool sn_path_is_others_to_write(const struct stat *status)
{
	return (status->st_mode & (S_IWGRP | S_IWOTH)) && !(status->st_mode & S_ISVTX);
}

const char *sn_path_explain(int result)
{
	return result == -SN_PATH_PLANTED ? "a symbolic link on the way is another user's"
					  : strerror(-result);
}

/* Whether we and root alone decide what the names in a folder lead to. One of ours that our own
 * group may write to is usual (umask 002). */
static bool is_own_to_name(const struct stat *folder)
{
	struct stat status = *folder;
	if (status.st_gid == getegid())
		status.st_mode &= ~(mode_t)S_IWGRP;
	return sn_path_is_own(&status) && !sn_path_is_others_to_write(&status);
}

static bool can_be_followed(int folder, const struct stat *link)
{
	struct stat status;
	return !fstat(folder, &status) && sn_path_is_own(link) && is_own_to_name(&status);
}

static int enter(struct walk *walk, int folder)
{
	if (folder < 0)
		return -errno;
	close(walk->folder);
	walk->folder = folder;
	return 0;
}

static bool is_of_proc(int fd)
{
	struct statfs system;
	return !fstatfs(fd, &system) && system.f_type == PROC_SUPER_MAGIC;
}

/* Puts the link's target in front of `rest`, which is what follows the link. */
static int follow(struct walk *walk, int link, const char *name, const char *rest)
{
	char target[PATH_MAX], joined[2 * PATH_MAX];
	if (++walk->links > MOST_LINKS)
		return -ELOOP;
	/* what a descriptor under /proc leads to need not have a name, or not that one any more */
	if (*rest && is_of_proc(link)) {
		int result =
		    enter(walk, openat(walk->folder, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
		memmove(walk->rest, rest, strlen(rest) + 1);
		return result;
	}
	ssize_t length = readlinkat(link, "", target, sizeof(target) - 1);
	if (length < 0)
		return -errno;
	target[length] = 0;
	if (snprintf(joined, sizeof(joined), "%s%s", target, rest) >= (int)sizeof(joined))
		return -ENAMETOOLONG;
	strcpy(walk->rest, joined);
	return *target == '/' ? enter(walk, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) : 0;
}

/* Takes the next component into `name`; what follows it, slashes included, is returned. */
static const char *next_name(const struct walk *walk, char name[NAME_MAX + 1])
{
	const char *at = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(at, "/");
	if (length > NAME_MAX)
		return NULL;
	memcpy(name, at, length);
	name[length] = 0;
	return at + length;
}

static bool is_folder_name(const char *name)
{
	return !*name || !strcmp(name, ".") || !strcmp(name, "..");
}

/* One component. 1: it was the last one, and is in `name`; 0: go on; or a negative errno. */
static int step(struct walk *walk, char name[NAME_MAX + 1])
{
	struct stat status;
	const char *rest = next_name(walk, name);
	if (!rest)
		return -ENAMETOOLONG;
	bool is_last = !rest[strspn(rest, "/")];
	if (is_last && is_folder_name(name))
		return -EISDIR;
	int fd = openat(walk->folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return !is_last || errno != ENOENT ? -errno : *rest ? -ENOTDIR : 1;
	int result = fstat(fd, &status) ? -errno : 0;
	if (!result && S_ISLNK(status.st_mode)) {
		result = can_be_followed(walk->folder, &status) ? follow(walk, fd, name, rest)
								: -SN_PATH_PLANTED;
	} else if (!result && (!is_last || *rest) && !S_ISDIR(status.st_mode)) {
		result = -ENOTDIR;
	} else if (!result && is_last) {
		result = 1;
	} else if (!result) {
		memmove(walk->rest, rest, strlen(rest) + 1);
		return enter(walk, fd);
	}
	close(fd);
	return result;
}

int sn_path_open(struct sn_path *path, const char *text)
{
	struct walk walk = {0};
	path->folder = -1;
	if (strlen(text) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (!*text)
		return -ENOENT;
	strcpy(walk.rest, text);
	walk.folder = open(*text == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int result = walk.folder < 0 ? -errno : 0;
	while (!result)
		result = step(&walk, path->name);
	if (result > 0)
		path->folder = walk.folder;
	else if (walk.folder >= 0)
		close(walk.folder);
	return result > 0 ? 0 : result;
}

void sn_path_close(struct sn_path *path)
{
	if (path->folder >= 0)
		close(path->folder);
	path->folder = -1;
}

int sn_path_open_folder(const char *text)
{
	struct sn_path path;
	char inside[PATH_MAX + 2];
	/* with a component behind it the folder is walked into as all before it */
	if (snprintf(inside, sizeof(inside), "%s/-", text) >= PATH_MAX)
		return -ENAMETOOLONG;
	int result = sn_path_open(&path, inside);
	if (result)
		return result;
	int fd = openat(path.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	result = fd < 0 ? -errno : fd;
	sn_path_close(&path);
	return result;
}

/* The folder, or what of its path is there; *is_whole: all of it. */
static int open_nearest(const char *folder, bool *is_whole)
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof(path), "%s", folder) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	int fd = sn_path_open_folder(path);
	*is_whole = fd >= 0;
	while (fd == -ENOENT || fd == -ENOTDIR) {
		char *slash = strrchr(path, '/');
		if (slash)
			*slash = 0;
		fd = sn_path_open_folder(!slash ? "." : *path ? path : "/");
		if (!slash)
			break;
	}
	return fd;
}

bool sn_path_is_guarded(const char *folder)
{
	struct stat nearest;
	bool is_whole, is_root = false;
	int fd = open_nearest(folder, &is_whole);
	/* where all may create names, a missing one may be another user's by the time we create it
	 */
	bool is_guarded =
	    fd >= 0 && !fstat(fd, &nearest) && (is_whole || !(nearest.st_mode & S_IWOTH));
	while (is_guarded && !is_root) {
		struct stat status, above;
		int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		is_guarded =
		    up >= 0 && !fstat(fd, &status) && !fstat(up, &above) && is_own_to_name(&status);
		is_root =
		    is_guarded && status.st_dev == above.st_dev && status.st_ino == above.st_ino;
		close(fd);
		fd = up;
	}
	if (fd >= 0)
		close(fd);
	return is_guarded;
}

bool sn_path_make_name(char name[NAME_MAX + 1], const char *prefix)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuv";
	uint64_t chance = 0;
	size_t length = strlen(prefix);
	if (length + 8 > NAME_MAX || getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
		return false;
	memcpy(name, prefix, length);
	for (unsigned i = 0; i < 8; i++, chance >>= 5)
		name[length + i] = digits[chance & 31];
	name[length + 8] = 0;
	return true;
}

static void remove_tree(int folder, const char *name, unsigned levels)
{
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *entries = fd >= 0 && levels ? fdopendir(fd) : NULL;
	if (!entries && fd >= 0)
		close(fd);
	for (struct dirent *entry; entries && (entry = readdir(entries));)
		if (!is_folder_name(entry->d_name) && unlinkat(fd, entry->d_name, 0) &&
		    (errno == EISDIR || errno == EPERM))
			remove_tree(fd, entry->d_name, levels - 1);
	if (entries)
		closedir(entries);
	unlinkat(folder, name, AT_REMOVEDIR);
}

void sn_path_remove_tree(int folder, const char *name)
{
	remove_tree(folder, name, MOST_LEVELS);
}
