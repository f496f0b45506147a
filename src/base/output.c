/* SPDX-License-Identifier: Apache-2.0 */
/* Write beside, then rename; see output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES (256u << 10)

/* What sn_output_tidy removes. Few outputs are open at once; one that finds no place is left behind
 * where the program is ended. */
static _Atomic(char *) named[16];

static void note_named(char *temporary)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		char *none = NULL;
		if (atomic_compare_exchange_strong(named + i, &none, temporary))
			return;
	}
}

static void forget_named(char *temporary)
{
	for (size_t i = 0; temporary && i < sizeof(named) / sizeof(*named); i++) {
		char *found = temporary;
		atomic_compare_exchange_strong(named + i, &found, NULL);
	}
}

void sn_output_tidy(void)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		const char *temporary = atomic_load(named + i);
		if (temporary)
			unlink(temporary);
	}
}

static void release(struct sn_output *output)
{
	forget_named(output->temporary);
	free(output->path);
	free(output->temporary);
	free(output->buffer);
	*output = (struct sn_output){.fd = -1};
}

static mode_t permissions(void)
{
	mode_t mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

/* A file without a name in the folder of the output, where the file system has such. */
static int open_nameless(const char *path)
{
	if (access("/proc/self/fd", F_OK)) /* how it gets its name */
		return -1;
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd = folder ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
	free(folder);
	return fd;
}

static int open_beside(struct sn_output *output)
{
	if (asprintf(&output->temporary, "%s.XXXXXX", output->path) < 0) {
		output->temporary = NULL;
		return -1;
	}
	output->fd = open_nameless(output->path);
	output->is_nameless = output->fd >= 0;
	if (output->is_nameless)
		return 0;
	output->fd = mkostemp(output->temporary, O_CLOEXEC);
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
	char self[64];
	snprintf(self, sizeof(self), "/proc/self/fd/%d", output->fd);
	char *suffix = output->temporary + strlen(output->temporary) - 6;
	for (unsigned attempt = 0; attempt < 100; attempt++) {
		snprintf(suffix, 7, "%06u", ((unsigned)getpid() + attempt * 7919u) % 1000000u);
		if (!linkat(AT_FDCWD, self, AT_FDCWD, output->temporary, AT_SYMLINK_FOLLOW)) {
			output->is_nameless = false;
			note_named(output->temporary);
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	return -1;
}

const char *sn_output_name(struct sn_output *output)
{
	if (output->is_nameless && name_it(output) < 0)
		return NULL;
	return output->temporary ? output->temporary : output->path;
}

int sn_output_open(struct sn_output *output, const char *path, struct sn_error *error)
{
	*output = (struct sn_output){.fd = -1};
	struct stat status;
	bool exists = stat(path, &status) == 0;
	bool is_direct = exists && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
	/* through symbolic links, so that the link stays and its target is replaced; but what
	 * /dev/stdout leads to may be a pipe, which has no path */
	output->path = exists && !is_direct ? realpath(path, NULL) : strdup(path);
	int why = output->path ? 0 : errno;
	output->buffer = malloc(BUFFER_BYTES);
	if (!output->path || !output->buffer) {
		release(output);
		return why && why != ENOMEM
			   ? sn_fail(error, SN_ERR_IO, "cannot write '%s': %s", path, strerror(why))
			   : sn_fail(error, SN_ERR_MEMORY, "cannot write '%s': out of memory",
				     path);
	}
	if (exists && S_ISDIR(status.st_mode))
		errno = EISDIR;
	else if (is_direct)
		output->fd = open(path, O_WRONLY | O_CLOEXEC);
	else
		open_beside(output);
	if (output->fd >= 0)
		return 0;
	why = errno;
	release(output);
	return sn_fail(error, SN_ERR_IO, "cannot write '%s': %s", path, strerror(why));
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
		size_t taken = length < room ? length : room;
		memcpy(output->buffer + output->buffered, bytes, taken);
		output->buffered += taken;
		bytes = (const unsigned char *)bytes + taken;
		length -= taken;
		if (output->buffered == BUFFER_BYTES)
			flush(output);
	}
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
	if (!output->failed && output->temporary && rename(output->temporary, output->path) < 0)
		output->failed = errno;
	int result = 0;
	if (output->failed) {
		if (output->temporary && !output->is_nameless)
			unlink(output->temporary);
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
	if (output->temporary && !output->is_nameless)
		unlink(output->temporary);
	release(output);
}
