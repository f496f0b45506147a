/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file read from its begin to its end, unpacked on the way where it is one of gzip. Without zlib
 * files are read as they are. What of the file has been read is told as progress
 * (base/progress/progress.h).
 */
#ifndef SN_IMPORT_PACKED_FILE_H
#define SN_IMPORT_PACKED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL and errno where it cannot be opened; errno is ENOMEM where it was not set. */
void *sn_packed_file_open(const char *path);
void sn_packed_file_close(void *file); /* NULL is nothing */

/* As read(2); a negative result sets *why to a text that lasts until the file is closed. A packed
 * file that ends in the middle is one that fails, with SN_PACKED_FILE_CUT_OFF. */
enum { SN_PACKED_FILE_CUT_OFF = -2 };
int64_t sn_packed_file_read(void *file, void *bytes, size_t length, const char **why);
/* Skips bytes, by seeking if the file is not packed; also beyond the end, which the next read
 * notices. 0 or -1. */
int sn_packed_file_skip(void *file, uint64_t length);

#endif
