/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a file from its begin to its end, and unpacks it if gzip packed it. Without zlib, files are
 * read as they are. Reports what has been read as progress (base/progress/progress.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL and errno if it cannot be opened (ENOMEM if errno was not set). */
void *sn_packed_file_open(const char *path);
void sn_packed_file_close(void *file); /* NULL does nothing */

/* As read(2); a negative result sets *why to a text that lasts until the file is closed. A
 * truncated packed file fails with SN_PACKED_FILE_CUT_OFF. */
enum { SN_PACKED_FILE_CUT_OFF = -2 };
int64_t sn_packed_file_read(void *file, void *bytes, size_t length, const char **why);
/* Skips bytes, by seeking if the file is not packed; also beyond the end, which the next read
 * notices. 0 or -1. */
int sn_packed_file_skip(void *file, uint64_t length);
