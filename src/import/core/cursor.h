/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads numbers of either byte order from untrusted bytes, and whole files.
 *
 * A cursor never leaves its bytes: a read beyond them gives zero and sets `failed`, so that a
 * sequence of fields is checked once at its end.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_import_cursor {
	const unsigned char *bytes;
	size_t length, at;
	bool big_endian;
	bool failed;
};

uint64_t sn_import_cursor_number(struct sn_import_cursor *cursor,
				 unsigned bytes); /* 1, 2, 4 or 8 */
/* The next bytes themselves, or NULL. */
const unsigned char *sn_import_cursor_next(struct sn_import_cursor *cursor, size_t length);
/* Goes to an absolute place. */
void sn_import_cursor_seek(struct sn_import_cursor *cursor, uint64_t at);

/* A whole regular file. Free *bytes with free(); a NUL follows the last byte. */
int sn_import_cursor_load(const char *path, unsigned char **bytes, size_t *length,
			  struct sn_error *error);
