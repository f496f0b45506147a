/* SPDX-License-Identifier: Apache-2.0 */
/* Unnamed files; see spill.h. */
#include "spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES (256u << 10)

static int open_unnamed(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char *name;
	if (fd >= 0 || asprintf(&name, "%s/sonde-events-XXXXXX", folder) < 0)
		return fd;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	free(name);
	return fd;
}

static void write_out(struct sn_spill *spill, const unsigned char *bytes, size_t length)
{
	if (spill->fd < 0 && !spill->failed)
		spill->fd = open_unnamed(spill->folder);
	if (spill->fd < 0 && !spill->failed)
		spill->failed = errno;
	while (length && !spill->failed) {
		ssize_t wrote = write(spill->fd, bytes, length);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0) {
			spill->failed = wrote ? errno : EIO;
			return;
		}
		bytes += wrote;
		length -= (size_t)wrote;
	}
}

void sn_spill_write(struct sn_spill *spill, const void *bytes, size_t length)
{
	spill->length += length;
	if (!spill->buffer)
		spill->buffer = malloc(BUFFER_BYTES);
	if (!spill->buffer)
		spill->failed = ENOMEM;
	if (spill->failed || !length)
		return;
	if (spill->buffered + length > BUFFER_BYTES) {
		write_out(spill, spill->buffer, spill->buffered);
		spill->buffered = 0;
	}
	if (length >= BUFFER_BYTES) {
		write_out(spill, bytes, length);
	} else {
		memcpy(spill->buffer + spill->buffered, bytes, length);
		spill->buffered += length;
	}
}

int sn_spill_finish(struct sn_spill *spill, struct sn_error *error)
{
	if (spill->buffered)
		write_out(spill, spill->buffer, spill->buffered);
	spill->buffered = 0;
	if (spill->failed)
		return sn_fail(error, SN_ERR_IO, "cannot write a temporary file in '%s': %s",
			       spill->folder, strerror(spill->failed));
	return 0;
}

int sn_spill_read(const struct sn_spill *spill, void *bytes, size_t length, uint64_t offset)
{
	unsigned char *at = bytes;
	while (length) {
		ssize_t got = pread(spill->fd, at, length, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got ? errno : EIO;
			return -1;
		}
		at += got;
		length -= (size_t)got;
		offset += (uint64_t)got;
	}
	return 0;
}

void sn_spill_close(struct sn_spill *spill)
{
	free(spill->buffer);
	spill->buffer = NULL;
	if (spill->fd >= 0)
		close(spill->fd);
	spill->fd = -1;
}
