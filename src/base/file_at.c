/* SPDX-License-Identifier: Apache-2.0 */
/* pread and pwrite until it is done; see file_at.h. */
#include "file_at.h"

#include <errno.h>
#include <unistd.h>

#define CALL_BYTES (1u << 30) /* Linux moves 2 GiB at most at once */

int sn_read_at(int fd, void *bytes, size_t length, uint64_t offset)
{
	unsigned char *to = bytes;
	while (length) {
		size_t part = length < CALL_BYTES ? length : CALL_BYTES;
		ssize_t got = pread(fd, to, part, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? errno : ENODATA;
		to += got;
		offset += (uint64_t)got;
		length -= (size_t)got;
	}
	return 0;
}

int sn_write_at(int fd, const void *bytes, size_t length, uint64_t offset)
{
	const unsigned char *from = bytes;
	while (length) {
		size_t part = length < CALL_BYTES ? length : CALL_BYTES;
		ssize_t wrote = pwrite(fd, from, part, (off_t)offset);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return wrote ? errno : EIO;
		from += wrote;
		offset += (uint64_t)wrote;
		length -= (size_t)wrote;
	}
	return 0;
}
