/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded reading of numbers in either byte order, and of whole files. */
#include "cursor.h"

#include "base/file_at.h"

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

int sn_import_cursor_load(const char *path, unsigned char **bytes, size_t *length,
			  struct sn_error *error)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), code = 0, why;
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
		else if ((why = sn_read_at(fd, *bytes, *length, 0)))
			code =
			    sn_fail(error, SN_ERR_IO, "cannot read '%s': %s", path, strerror(why));
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
