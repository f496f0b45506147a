/* SPDX-License-Identifier: Apache-2.0 */
/* Compares an SQLite file's size with that in its header (https://sqlite.org/fileformat2.html,
 * section 1.3). */
#include "sqlite_cut.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "SQLite format 3"
enum { PAGE_BYTES = 16, CHANGES = 24, PAGES = 28, CHANGES_THEN = 92, HEADER_BYTES = 100 };

bool sn_sqlite_is_begin(const unsigned char *head, size_t length)
{
	return length >= sizeof(MAGIC) && !memcmp(head, MAGIC, sizeof(MAGIC));
}

static uint32_t number_at(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

/* The size in bytes by the header; 0 if unknown: the number of pages is valid only if it was
 * written with the last change. */
static uint64_t expected_bytes(const unsigned char *head)
{
	uint64_t page = (uint64_t)head[PAGE_BYTES] << 8 | head[PAGE_BYTES + 1];
	bool is_valid = !memcmp(head + CHANGES, head + CHANGES_THEN, 4);
	return is_valid ? number_at(head + PAGES) * (page == 1 ? 65536 : page) : 0;
}

bool sn_sqlite_is_cut(const char *path, uint64_t *bytes, uint64_t *expected)
{
	unsigned char head[HEADER_BYTES] = {0};
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode)
			  ? pread(fd, head, sizeof(head), 0)
			  : -1;
	if (fd >= 0)
		close(fd);
	if (got <= 0 || !sn_sqlite_is_begin(head, (size_t)got))
		return false;
	*bytes = (uint64_t)status.st_size;
	*expected = got < HEADER_BYTES ? HEADER_BYTES : expected_bytes(head);
	return *bytes < *expected;
}
