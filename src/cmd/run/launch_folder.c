/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates the measurement folder, or uses an existing one, where other users may have changed
 * names; see launch.h and docs/design/privilege.md.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static mode_t folder_mode(const struct sn_launch_request *launch)
{
	return launch->is_shared ? 0777 : 0700;
}

int sn_launch_reserve(const struct sn_launch_request *launch, const char *folder)
{
	struct sn_path place;
	int result = sn_path_open(&place, folder);
	if (!result && mkdirat(place.folder, place.name, folder_mode(launch)))
		result = -errno;
	sn_path_close(&place);
	return result;
}

/* Who owns a file that we make in the folder: a file system of another machine may give all that
 * root makes to somebody else. */
static bool owns_what_we_make(int fd, uid_t owner)
{
	struct stat status;
	char name[NAME_MAX + 1];
	int file = openat(fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	bool is_named = file < 0 && sn_path_make_name(name, ".sonde-");
	if (is_named)
		file = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return false;
	bool is_owner = !fstat(file, &status) && status.st_uid == owner;
	close(file);
	if (is_named)
		unlinkat(fd, name, 0);
	return is_owner;
}

static int refuse_owner(const char *folder, uid_t owner, struct sn_error *error)
{
	const struct passwd *user = getpwuid(owner);
	char number[16];
	snprintf(number, sizeof(number), "%u", (unsigned)owner);
	return sn_fail(error, SN_ERR_ARGUMENT,
		       "cannot measure into '%s': it belongs to another user (%s): choose another "
		       "-o",
		       folder, user ? user->pw_name : number);
}

static int check(const struct sn_launch_request *launch, const char *folder, struct stat *status,
		 struct sn_error *error)
{
	if (fstat(launch->directory, status))
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", folder, strerror(errno));
	if (!sn_path_is_own(status) && !owns_what_we_make(launch->directory, status->st_uid))
		return refuse_owner(folder, status->st_uid, error);
	if (sn_path_is_others_to_write(status) && !launch->is_shared)
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "cannot measure into '%s': others can write to it (mode %04o): "
			       "chmod go-w it, choose another -o, or --share",
			       folder, (unsigned)status->st_mode & 07777);
	return 0;
}

/* Its path for the program, in which no link is left. */
static int find_path(struct sn_launch_request *launch, const char *folder, struct sn_error *error)
{
	char self[64];
	snprintf(self, sizeof(self), "/proc/self/fd/%d", launch->directory);
	ssize_t length = readlink(self, launch->folder, sizeof(launch->folder) - 1);
	if (length > 0)
		launch->folder[length] = 0;
	else if (!realpath(folder, launch->folder))
		return sn_fail(error, SN_ERR_IO, "cannot find '%s': %s", folder, strerror(errno));
	return 0;
}

/* What the collector compares the folder with; see own_file.c. */
static void identify(struct sn_launch_request *launch, const struct stat *status)
{
	struct utsname host = {.nodename = ""};
	uname(&host);
	snprintf(launch->identity, sizeof(launch->identity), "%llu:%llu:%u:%s",
		 (unsigned long long)status->st_dev, (unsigned long long)status->st_ino,
		 (unsigned)status->st_uid, host.nodename);
}

int sn_launch_open_folder(struct sn_launch_request *launch, const char *folder, bool *is_new,
			  struct sn_error *error)
{
	struct stat status;
	int result = sn_path_open(&launch->place, folder);
	*is_new =
	    !result && !mkdirat(launch->place.folder, launch->place.name, folder_mode(launch));
	if (!result && !*is_new && errno != EEXIST)
		result = -errno;
	if (result)
		return sn_fail(error, SN_ERR_IO, "cannot create '%s': %s", folder,
			       sn_path_explain(result));
	launch->directory = openat(launch->place.folder, launch->place.name,
				   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (launch->directory < 0)
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", folder, strerror(errno));
	result = check(launch, folder, &status, error);
	if (!result)
		result = find_path(launch, folder, error);
	if (!result)
		identify(launch, &status);
	return result;
}

bool sn_launch_is_in_place(const struct sn_launch_request *launch, const char *folder)
{
	struct stat own, named;
	return !fstat(launch->directory, &own) && !stat(folder, &named) &&
	       own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

void sn_launch_remove_folder(const struct sn_launch_request *launch, const char *folder)
{
	if (sn_launch_is_in_place(launch, folder))
		unlinkat(launch->place.folder, launch->place.name, AT_REMOVEDIR);
}
