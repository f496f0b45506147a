/* SPDX-License-Identifier: Apache-2.0 */
/* See cursor.h. */
#include "cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const unsigned char *sn_import_cursor_next(struct sn_import_cursor *cursor, size_t length)
{
	if (cursor->failed || length > cursor->length - cursor->at) {
		cursor->failed = true;
		return NULL;
	}
	const unsigned char *taken = cursor->bytes + cursor->at;
	cursor->at += length;
	return taken;
}

uint64_t sn_import_cursor_number(struct sn_import_cursor *cursor, unsigned bytes)
{
	const unsigned char *at = sn_import_cursor_next(cursor, bytes);
	uint64_t number = 0;
	for (unsigned i = 0; at && i < bytes; i++)
		number = number << 8 | at[cursor->big_endian ? i : bytes - 1 - i];
	return number;
}

void sn_import_cursor_seek(struct sn_import_cursor *cursor, uint64_t at)
{
	if (at > cursor->length)
		cursor->failed = true;
	else
		cursor->at = (size_t)at;
}

double sn_import_cursor_double(struct sn_import_cursor *cursor)
{
	uint64_t bits = sn_import_cursor_number(cursor, 8);
	double value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static int read_all(int fd, unsigned char *bytes, size_t length)
{
	for (size_t used = 0; used < length;) {
		ssize_t got = read(fd, bytes + used, length - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0)
			errno = EIO; /* it shrank while we read it */
		if (got <= 0)
			return -1;
		used += (size_t)got;
	}
	return 0;
}

int sn_import_cursor_load(const char *path, unsigned char **bytes, size_t *length,
			  struct sn_error *error)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), code = 0;
	*bytes = NULL;
	if (fd < 0 || fstat(fd, &status) < 0) {
		code = sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
	} else if (!S_ISREG(status.st_mode)) {
		code = sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': not a file", path);
	} else {
		*length = (size_t)status.st_size;
		*bytes = malloc(*length + 1);
		if (!*bytes)
			code = sn_fail_memory(error);
		else if (read_all(fd, *bytes, *length) < 0)
			code = sn_fail(error, SN_ERR_IO, "cannot read '%s': %s", path,
				       strerror(errno));
		else
			(*bytes)[*length] = 0;
	}
	if (fd >= 0)
		close(fd);
	if (code != 0) {
		free(*bytes);
		*bytes = NULL;
	}
	return code;
}
