/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a store; see epoch_folder.h. */
#include "epoch_folder.h"

#include "base/safe_path.h"
#include "base/sort_by.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX ".epoch"

static int open_folder(const char *path, struct sn_error *error)
{
	int folder = sn_path_open_folder(path);
	return folder >= 0 ? folder
			   : sn_fail(error, SN_ERR_IO, "cannot open the store '%s': %s", path,
				     sn_path_explain(folder));
}

int sn_epoch_folder_open_to_read(const char *path, int *folder, struct sn_error *error)
{
	*folder = open_folder(path, error);
	return *folder < 0 ? SN_ERR_IO : 0;
}

static int create(const char *path, bool group_reads, struct sn_error *error)
{
	struct sn_path place;
	int result = sn_path_open(&place, path);
	if (result == -EISDIR)
		return 0; /* "/", ".": it is there */
	if (result)
		return sn_fail(error, SN_ERR_IO, "cannot create the store '%s': %s", path,
			       sn_path_explain(result));
	/* the mode is set afterwards as well: the umask may have taken from it */
	mode_t mode = group_reads ? 0750 : 0700;
	int why = 0;
	if (mkdirat(place.folder, place.name, mode) < 0)
		why = errno == EEXIST ? 0 : errno;
	else if (fchmodat(place.folder, place.name, mode, 0) < 0)
		why = errno;
	sn_path_close(&place);
	return why ? sn_fail(error, SN_ERR_IO, "cannot create the store '%s': %s", path,
			     strerror(why))
		   : 0;
}

static int check(int folder, const char *path, struct sn_error *error)
{
	struct stat status;
	if (fstat(folder, &status) < 0)
		return sn_fail(error, SN_ERR_IO, "cannot open the store '%s': %s", path,
			       strerror(errno));
	if (status.st_uid != geteuid())
		return sn_fail(error, SN_ERR_IO,
			       "cannot write the store '%s': it belongs to "
			       "another user",
			       path);
	if (status.st_mode & (S_IWGRP | S_IWOTH))
		return sn_fail(error, SN_ERR_IO,
			       "cannot write the store '%s': other users can change names in it",
			       path);
	if (flock(folder, LOCK_EX | LOCK_NB) < 0)
		return sn_fail(error, SN_ERR_IO, "cannot write the store '%s': %s", path,
			       errno == EWOULDBLOCK ? "another process writes it"
						    : strerror(errno));
	return 0;
}

int sn_epoch_folder_open_to_write(const char *path, bool group_reads, int *folder,
				  struct sn_error *error)
{
	int result = create(path, group_reads, error);
	if (result)
		return result;
	int opened = open_folder(path, error);
	if (opened < 0)
		return SN_ERR_IO;
	result = check(opened, path, error);
	if (result)
		close(opened);
	else
		*folder = opened;
	return result;
}

void sn_epoch_name_make(char name[SN_EPOCH_NAME_BYTES], uint64_t begin_ns, uint64_t id)
{
	time_t seconds = (time_t)(begin_ns / 1000000000);
	struct tm parts;
	char time[32] = "";
	if (gmtime_r(&seconds, &parts))
		strftime(time, sizeof(time), "%Y%m%dT%H%M%SZ", &parts);
	snprintf(name, SN_EPOCH_NAME_BYTES, "%s-%010" PRIu64 SUFFIX, time, id);
}

bool sn_epoch_name_read(const char *name, uint64_t *id)
{
	size_t length = strlen(name);
	const char *dash = strrchr(name, '-');
	if (length >= SN_EPOCH_NAME_BYTES || length < strlen(SUFFIX) || !dash ||
	    strcmp(name + length - strlen(SUFFIX), SUFFIX) != 0)
		return false;
	char *end;
	errno = 0;
	*id = strtoull(dash + 1, &end, 10);
	return !errno && end > dash + 1 && strcmp(end, SUFFIX) == 0 && *id;
}

SN_SORT_BY(sort_entries, struct sn_epoch_entry, const void *,
	   SN_ORDER(!a->id, !b->id) ?: strcmp(a->name, b->name));

int sn_epoch_folder_list(int folder, struct sn_epoch_entry **entries, size_t *count,
			 struct sn_error *error)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *open = copy >= 0 ? fdopendir(copy) : NULL;
	size_t capacity = 0;
	*entries = NULL;
	*count = 0;
	if (!open) {
		int why = errno;
		if (copy >= 0)
			close(copy);
		return sn_fail(error, SN_ERR_IO, "cannot list the store: %s", strerror(why));
	}
	int result = 0;
	for (struct dirent *found; !result && (found = readdir(open));) {
		struct sn_epoch_entry entry = {.inode = found->d_ino};
		if (strcmp(found->d_name, SN_EPOCH_CURRENT) != 0 &&
		    !sn_epoch_name_read(found->d_name, &entry.id))
			continue;
		memcpy(entry.name, found->d_name, strlen(found->d_name) + 1);
		result = sn_vec_push(entries, &capacity, count, entry);
	}
	closedir(open);
	sort_entries(*entries, *count, NULL);
	return sn_fail_code(error, result);
}

int sn_epoch_folder_open_file(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 ? fd : -errno;
}

int sn_epoch_folder_create(int folder, const char *name, bool group_reads)
{
	mode_t mode = group_reads ? 0640 : 0600;
	if (unlinkat(folder, name, 0) < 0 && errno != ENOENT)
		return -errno;
	int fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, mode) < 0) {
		int why = errno;
		close(fd);
		return -why;
	}
	return fd;
}
