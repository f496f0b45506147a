/* SPDX-License-Identifier: Apache-2.0 */
/* Unnamed files; see spill.h. */
#include "spill.h"

#include "file_at.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES (256u << 10)

/* Where the file system has none without a name: one whose name is taken away at once. */
static int open_unnamed(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char *name;
	if (fd >= 0 || asprintf(&name, "%s/.sonde-XXXXXX", folder) < 0)
		return fd;
	fd = mkostemp(name, O_CLOEXEC);
	int why = errno;
	if (fd >= 0)
		unlink(name);
	free(name);
	errno = why;
	return fd;
}

const char *sn_spill_folder(const char *folder)
{
	if (!folder || !*folder)
		folder = getenv("TMPDIR");
	return folder && *folder ? folder : "/tmp";
}

static char *folder_beside(const char *output)
{
	struct stat status;
	if (!stat(output, &status) && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
		return strdup(sn_spill_folder(NULL));
	const char *slash = strrchr(output, '/');
	return slash ? strndup(output, (size_t)(slash - output) + 1) : strdup(".");
}

int sn_spill_open_beside(struct sn_spill *spill, const char *output, struct sn_error *error)
{
	*spill = (struct sn_spill){.fd = -1};
	char *folder = folder_beside(output);
	if (!folder)
		return sn_fail_memory(error);
	spill->fd = open_unnamed(folder);
	int why = errno;
	free(folder);
	return spill->fd >= 0
		   ? 0
		   : sn_fail(error, SN_ERR_IO, "cannot write '%s': %s", output, strerror(why));
}

void sn_spill_close(struct sn_spill *spill)
{
	free(spill->buffer);
	spill->buffer = NULL;
	if (spill->fd >= 0)
		close(spill->fd);
	spill->fd = -1;
}

static void write_out(struct sn_spill *spill, const void *bytes, size_t length, uint64_t offset)
{
	if (spill->fd < 0 && !spill->failed) {
		spill->fd = open_unnamed(spill->folder);
		spill->failed = spill->fd < 0 ? errno : 0;
	}
	if (!spill->failed)
		spill->failed = sn_write_at(spill->fd, bytes, length, offset);
}

static void flush(struct sn_spill *spill)
{
	if (spill->buffered)
		write_out(spill, spill->buffer, spill->buffered, spill->length - spill->buffered);
	spill->buffered = 0;
}

void sn_spill_write(struct sn_spill *spill, const void *bytes, size_t length)
{
	if (!spill->buffer)
		spill->buffer = malloc(BUFFER_BYTES);
	if (!spill->buffer)
		spill->failed = ENOMEM;
	if (spill->buffered + length > BUFFER_BYTES)
		flush(spill);
	if (length >= BUFFER_BYTES) {
		write_out(spill, bytes, length, spill->length);
	} else if (length && !spill->failed) {
		memcpy(spill->buffer + spill->buffered, bytes, length);
		spill->buffered += length;
	}
	spill->length += length;
}

static int fail_to_write(const struct sn_spill *spill, int why, struct sn_error *error)
{
	if (why == ENOMEM)
		return sn_fail_memory(error);
	if (!spill->folder)
		return sn_fail(error, SN_ERR_IO, "cannot write a temporary file: %s",
			       strerror(why));
	return sn_fail(error, SN_ERR_IO, "cannot write a temporary file in '%s': %s", spill->folder,
		       strerror(why));
}

int sn_spill_finish(struct sn_spill *spill, struct sn_error *error)
{
	flush(spill);
	return spill->failed ? fail_to_write(spill, spill->failed, error) : 0;
}

int sn_spill_append(struct sn_spill *spill, const void *bytes, size_t length, uint64_t *offset,
		    struct sn_error *error)
{
	/* relaxed: only the place is shared, not what lies there */
	*offset = atomic_fetch_add_explicit(&spill->length, length, memory_order_relaxed);
	int failed = sn_write_at(spill->fd, bytes, length, *offset);
	return failed ? fail_to_write(spill, failed, error) : 0;
}

int sn_spill_read(const struct sn_spill *spill, void *bytes, size_t length, uint64_t offset,
		  struct sn_error *error)
{
	int failed = sn_read_at(spill->fd, bytes, length, offset);
	return failed ? sn_fail(error, SN_ERR_IO, "cannot read a temporary file: %s",
				failed == ENODATA ? "it is shorter than it was" : strerror(failed))
		      : 0;
}
