/* SPDX-License-Identifier: Apache-2.0 */
/* Write beside, then rename; see output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define BUFFER_BYTES (256u << 10)

/* Why an output is refused, beside errno's and SN_PATH_PLANTED. */
enum { NAMED_PIPE = SN_PATH_PLANTED + 1, BLOCK_DEVICE, SOCKET };

/* The output as it was found. */
struct found {
	struct stat status;
	bool exists;
	bool is_direct; /* written directly */
};

/* A file beside the output, by its name in a folder that is open. */
struct sn_output_named {
	int folder;
	char name[NAME_MAX + 1];
};

/* What sn_output_tidy removes. Few outputs are open at once; one that finds no place is left behind
 * where the program is ended. */
static _Atomic(struct sn_output_named *) named[16];

static void note_named(struct sn_output_named *temporary)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		struct sn_output_named *none = NULL;
		if (atomic_compare_exchange_strong(named + i, &none, temporary))
			return;
	}
}

static void forget_named(struct sn_output_named *temporary)
{
	for (size_t i = 0; temporary && i < sizeof(named) / sizeof(*named); i++) {
		struct sn_output_named *found = temporary;
		atomic_compare_exchange_strong(named + i, &found, NULL);
	}
}

void sn_output_tidy(void)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		const struct sn_output_named *temporary = atomic_load(named + i);
		if (temporary)
			unlinkat(temporary->folder, temporary->name, 0);
	}
}

static void release(struct sn_output *output)
{
	forget_named(output->temporary);
	sn_path_close(&output->place);
	free(output->path);
	free(output->full_name);
	free(output->temporary);
	free(output->buffer);
	*output = (struct sn_output){.fd = -1, .place.folder = -1};
}

static mode_t permissions(void)
{
	mode_t mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

/* A file without a name in the folder of the output, where the file system has such. */
static int open_nameless(int folder)
{
	if (access("/proc/self/fd", F_OK)) /* how it gets its name */
		return -1;
	return openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

/* Calls `make` with unpredictable names until one is free; its result, or -1. */
static int with_new_name(struct sn_output *output, int (*make)(struct sn_output *output))
{
	for (unsigned attempt = 0; attempt < 100; attempt++) {
		char prefix[NAME_MAX + 1];
		/* a name of full length leaves no room for more */
		snprintf(prefix, sizeof(prefix), "%.*s.", NAME_MAX - 9, output->place.name);
		if (!sn_path_make_name(output->temporary->name, prefix))
			return -1;
		int result = make(output);
		if (result >= 0 || errno != EEXIST)
			return result;
	}
	return -1;
}

static int make_file(struct sn_output *output)
{
	return openat(output->place.folder, output->temporary->name,
		      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static int make_link(struct sn_output *output)
{
	char self[64];
	snprintf(self, sizeof(self), "/proc/self/fd/%d", output->fd);
	return linkat(AT_FDCWD, self, output->place.folder, output->temporary->name,
		      AT_SYMLINK_FOLLOW);
}

static int open_beside(struct sn_output *output)
{
	output->temporary = calloc(1, sizeof(*output->temporary));
	if (!output->temporary) {
		errno = ENOMEM;
		return -1;
	}
	output->temporary->folder = output->place.folder;
	output->fd = open_nameless(output->place.folder);
	output->is_nameless = output->fd >= 0;
	if (output->is_nameless)
		return 0;
	output->fd = with_new_name(output, make_file);
	if (output->fd >= 0)
		note_named(output->temporary);
	if (output->fd >= 0 && fchmod(output->fd, permissions()) < 0) {
		/* a file system without permissions: the default ones will do */
	}
	return output->fd;
}

/* Gives the nameless file its temporary name: a link cannot replace the output, a rename can. */
static int name_it(struct sn_output *output)
{
	if (with_new_name(output, make_link) < 0)
		return -1;
	output->is_nameless = false;
	note_named(output->temporary);
	return 0;
}

const char *sn_output_name(struct sn_output *output)
{
	char self[64], folder[PATH_MAX];
	if (output->is_nameless && name_it(output) < 0)
		return NULL;
	if (!output->temporary || output->full_name)
		return output->full_name ? output->full_name : output->path;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", output->place.folder);
	ssize_t length = readlink(self, folder, sizeof(folder) - 1);
	if (length < 0 || asprintf(&output->full_name, "%.*s/%s", (int)length, folder,
				   output->temporary->name) < 0)
		return NULL;
	return output->full_name;
}

static void make_private(struct sn_output *output)
{
	if (output->temporary && fchmod(output->fd, 0600) < 0) {
		/* a file system without permissions */
	}
}

/* What pipe(2) makes has no name, though /dev/stdout leads to it. */
static bool is_named_pipe(const char *path, const struct stat *status)
{
	struct statfs system;
	return S_ISFIFO(status->st_mode) &&
	       (statfs(path, &system) || system.f_type != PIPEFS_MAGIC);
}

/* Whether what is written directly may be written. 0, an errno, or one of our own reasons. */
static int check_direct(const char *path, const struct stat *status, bool is_database)
{
	bool is_pipe = is_named_pipe(path, status);
	/* another user's file would receive private data; one without a name may be written to,
	 * independent of its owner */
	if (is_pipe && !sn_path_is_own(status))
		return EPERM;
	if (is_pipe && is_database)
		return NAMED_PIPE;
	if (S_ISBLK(status->st_mode))
		return BLOCK_DEVICE;
	return S_ISSOCK(status->st_mode) ? SOCKET : 0;
}

/* What `status` says is a pipe, a terminal or a device. -1 with errno. */
static int open_direct(const char *path, const struct stat *status)
{
	struct stat opened;
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0 && (fstat(fd, &opened) || S_ISREG(opened.st_mode) ||
			opened.st_ino != status->st_ino || opened.st_dev != status->st_dev)) {
		close(fd);
		errno = EAGAIN; /* something else by now */
		return -1;
	}
	return fd;
}

/* Whether `place` is the file that `status` tells of. */
static bool is_there(const struct sn_path *place, const struct stat *status)
{
	struct stat found;
	return !fstatat(place->folder, place->name, &found, AT_SYMLINK_NOFOLLOW) &&
	       found.st_dev == status->st_dev && found.st_ino == status->st_ino;
}

/* Finds what is at the output's path, and the folder it is in. 0, an errno, or a reason of ours. */
static int find(struct sn_output *output, bool is_database, struct found *found)
{
	struct stat *status = &found->status;
	found->exists = stat(output->path, status) == 0;
	bool is_folder = found->exists && S_ISDIR(status->st_mode);
	found->is_direct = found->exists && !S_ISREG(status->st_mode) && !is_folder;
	/* through symbolic links, so that the link stays and its target is replaced; but what
	 * /dev/stdout leads to may be a pipe, which has no path */
	int result = sn_path_open(&output->place, output->path);
	if (is_folder)
		return result == -SN_PATH_PLANTED ? SN_PATH_PLANTED : EISDIR;
	if (result && (!found->is_direct || result == -SN_PATH_PLANTED))
		return -result;
	if (found->is_direct)
		return check_direct(output->path, status, is_database);
	return found->exists && !is_there(&output->place, status) ? ENOENT : 0;
}

/* Opens `output`, whose path is known; as find. */
static int open_output(struct sn_output *output, bool is_database)
{
	struct found found;
	int why = find(output, is_database, &found);
	if (why)
		return why;
	if (found.is_direct)
		output->fd = open_direct(output->path, &found.status);
	else
		open_beside(output);
	return output->fd < 0 ? errno : 0;
}

static const char *explain(int why)
{
	switch (why) {
	case NAMED_PIPE:
		return "a named pipe is there, and a database has to be a file";
	case BLOCK_DEVICE:
		return "a block device is there";
	case SOCKET:
		return "a socket is there";
	}
	return sn_path_explain(-why);
}

static int refuse(const char *path, int why, struct sn_error *error)
{
	if (why == ENOMEM)
		return sn_fail(error, SN_ERR_MEMORY, "cannot write '%s': out of memory", path);
	return sn_fail(error, SN_ERR_IO, "cannot write '%s': %s", path, explain(why));
}

static int open_as(struct sn_output *output, const char *path, bool is_database,
		   struct sn_error *error)
{
	*output = (struct sn_output){.fd = -1, .place.folder = -1};
	output->path = strdup(path);
	output->buffer = malloc(BUFFER_BYTES);
	int why = output->path && output->buffer ? open_output(output, is_database) : ENOMEM;
	if (!why)
		return 0;
	release(output);
	return refuse(path, why, error);
}

int sn_output_open(struct sn_output *output, const char *path, struct sn_error *error)
{
	return open_as(output, path, false, error);
}

int sn_output_open_database(struct sn_output *output, const char *path, bool is_shared,
			    struct sn_error *error)
{
	int result = open_as(output, path, true, error);
	if (!result && !is_shared)
		make_private(output);
	return result;
}

int sn_output_check_database(const char *path, struct sn_error *error)
{
	struct sn_output output = {.fd = -1, .place.folder = -1, .path = strdup(path)};
	struct found found;
	int why = output.path ? find(&output, true, &found) : ENOMEM;
	release(&output);
	return why ? refuse(path, why, error) : 0;
}

static void flush(struct sn_output *output)
{
	const unsigned char *bytes = output->buffer;
	while (output->buffered && !output->failed) {
		ssize_t done = write(output->fd, bytes, output->buffered);
		if (done < 0 && errno != EINTR)
			output->failed = errno;
		if (done > 0) {
			bytes += done;
			output->buffered -= (size_t)done;
		}
	}
	output->buffered = 0;
}

void sn_output_write(struct sn_output *output, const void *bytes, size_t length)
{
	output->written += length;
	while (length && !output->failed) {
		size_t room = BUFFER_BYTES - output->buffered;
		size_t consumed = length < room ? length : room;
		memcpy(output->buffer + output->buffered, bytes, consumed);
		output->buffered += consumed;
		bytes = (const unsigned char *)bytes + consumed;
		length -= consumed;
		if (output->buffered == BUFFER_BYTES)
			flush(output);
	}
}

static void remove_temporary(const struct sn_output *output)
{
	if (output->temporary && !output->is_nameless)
		unlinkat(output->place.folder, output->temporary->name, 0);
}

static ssize_t write_stream(void *output, const char *bytes, size_t length)
{
	struct sn_output *to = output;
	sn_output_write(to, bytes, length);
	errno = to->failed;
	return to->failed ? 0 : (ssize_t)length;
}

FILE *sn_output_stream(struct sn_output *output)
{
	return fopencookie(output, "w", (cookie_io_functions_t){.write = write_stream});
}

int sn_output_commit(struct sn_output *output, struct sn_error *error)
{
	flush(output);
	if (!output->failed && output->is_nameless && name_it(output) < 0)
		output->failed = errno;
	/* NFS and quota report a full disk only here */
	if (close(output->fd) < 0 && !output->failed)
		output->failed = errno;
	output->fd = -1;
	if (!output->failed && output->temporary &&
	    renameat(output->place.folder, output->temporary->name, output->place.folder,
		     output->place.name) < 0)
		output->failed = errno;
	int result = 0;
	if (output->failed) {
		remove_temporary(output);
		result = sn_fail(error, SN_ERR_IO, "cannot write '%s': %s", output->path,
				 strerror(output->failed));
	}
	release(output);
	return result;
}

void sn_output_abandon(struct sn_output *output)
{
	if (output->fd >= 0)
		close(output->fd);
	remove_temporary(output);
	release(output);
}
