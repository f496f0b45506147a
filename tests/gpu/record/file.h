/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a recording: a shared mapping of its full size, to which threads append without a lock. So it is readable whenever
 * the process ends, and never longer than its limit: what has no room is counted. All functions: MT: yes.
 */
#ifndef RECORD_FILE_H
#define RECORD_FILE_H

#include "recording.h"

#include <stdbool.h>
#include <stddef.h>

/* False where it cannot be made; the reason is on standard error. */
bool record_open(const char *path, uint64_t limit_bytes);
/* Adds an entry: its fields, and what follows them. False where it had no room. */
bool record_add(uint32_t kind, const void *fields, size_t fields_bytes, const void *more,
		size_t more_bytes);
/* Half of the file would be left for what comes after so much. */
bool record_leaves_half(size_t bytes);
void record_text(uint32_t kind, const void *fields, size_t fields_bytes, const char *text);
/* "KEY=VALUE" */
void record_fact(const char *key, const char *value);
/* The text at an address, unless it was the last one there. */
void record_string(const char *text);
/* Writes how much had no room, and cuts the file to its length. Nothing is added after it. */
void record_close(void);
/* Nothing is added any more: in a child, whose parent has the file. */
void record_forget(void);

#endif
