/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an SQLite file is complete, by its header; without SQLite itself. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a file begins as one of SQLite does. */
bool sn_sqlite_is_begin(const unsigned char *head, size_t length);
/* Whether the file at `path` is one and shorter than its header says; stores its size and the
 * expected one. */
bool sn_sqlite_is_cut(const char *path, uint64_t *bytes, uint64_t *expected);
