/* SPDX-License-Identifier: Apache-2.0 */
/* A file without a name; see overflow.h. */
#include "overflow.h"

#include "format/database/database_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the file system has none without a name: one whose name is taken away at once. */
static int open_unlinked(const char *folder)
{
	char *name;
	if (asprintf(&name, "%s/.sonde-XXXXXX", folder) < 0)
		return -1;
	int fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	free(name);
	return fd;
}

/* A device or a pipe has nothing beside it that is for files. */
static char *folder_of(const char *output)
{
	struct stat status;
	if (!stat(output, &status) && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
		const char *temporary = getenv("TMPDIR");
		return strdup(temporary && *temporary ? temporary : "/tmp");
	}
	const char *slash = strrchr(output, '/');
	return slash ? strndup(output, (size_t)(slash - output) + 1) : strdup(".");
}

int sn_overflow_open(struct sn_overflow *spill, const char *output, struct sn_error *error)
{
	spill->fd = -1;
	atomic_store(&spill->end, 0);
	char *folder = folder_of(output);
	if (!folder)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	spill->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (spill->fd < 0)
		spill->fd = open_unlinked(folder);
	int why = errno;
	free(folder);
	if (spill->fd < 0)
		return sn_fail(error, SN_ERR_IO, "cannot write '%s': %s", output, strerror(why));
	return 0;
}

void sn_overflow_release(struct sn_overflow *spill)
{
	if (spill->fd >= 0)
		close(spill->fd);
	spill->fd = -1;
}

int sn_overflow_append(struct sn_overflow *spill, const void *bytes, size_t length,
		       uint64_t *offset, struct sn_error *error)
{
	*offset = atomic_fetch_add(&spill->end, length);
	int failed = sn_db_file_put(spill->fd, bytes, length, *offset);
	return failed ? sn_fail(error, SN_ERR_IO, "cannot write a temporary file: %s",
				strerror(failed))
		      : 0;
}

int sn_overflow_read(const struct sn_overflow *spill, uint64_t offset, void *bytes, size_t length,
		     struct sn_error *error)
{
	unsigned char *to = bytes;
	while (length) {
		ssize_t got =
		    pread(spill->fd, to, length < 1u << 30 ? length : 1u << 30, (off_t)offset);
		if (got == 0 || (got < 0 && errno != EINTR))
			return sn_fail(error, SN_ERR_IO, "cannot read a temporary file: %s",
				       got ? strerror(errno) : "it is shorter than it was");
		if (got > 0) {
			to += got;
			offset += (uint64_t)got;
			length -= (size_t)got;
		}
	}
	return 0;
}
