/* SPDX-License-Identifier: Apache-2.0 */
/* An input as a file that has a path. */
#ifndef SN_TESTS_FUZZ_FILE_H
#define SN_TESTS_FUZZ_FILE_H

#include "fuzz_database_checksums.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FUZZ_PATH_MAX = 64 };

/* Writes the path of a file in memory that holds these bytes; it lasts until the descriptor that is
 * returned is closed. */
static inline int fuzz_file(const uint8_t *data, size_t size, char *path)
{
	int file = memfd_create("input", MFD_CLOEXEC);
	if (file < 0 || write(file, data, size) != (ssize_t)size)
		abort();
	snprintf(path, FUZZ_PATH_MAX, "/proc/self/fd/%d", file);
	return file;
}

/* The same of a database, whose checksums are made right; `patch` (or NULL) does so with those of
 * what lies in its sections. */
static inline int fuzz_database_file(const uint8_t *data, size_t size,
				     void (*patch)(uint8_t *bytes, size_t size), char *path)
{
	uint8_t *copy = malloc(size + 1);
	memcpy(copy, data, size);
	if (size >= sizeof(struct sn_container_header) && fuzz_should_patch(size)) {
		if (patch)
			patch(copy, size);
		fuzz_patch_database(copy, size);
	}
	int file = fuzz_file(copy, size, path);
	free(copy);
	return file;
}

#endif
