/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Python the sampled threads run: read from their processes right after each sample, and appended to the recording as records of our own
 * (system/perf_data.h), which the importer joins with the native path.
 */
#pragma once

#include "base/buffer.h"

#include <stdbool.h>
#include <sys/types.h>

struct sn_python_reader;

/* NULL without memory. */
struct sn_python_reader *sn_python_reader_new(void);
void sn_python_reader_free(struct sn_python_reader *reader);
/* The process executes another program. */
void sn_python_reader_forget(struct sn_python_reader *reader, pid_t pid);
/* Whether the process is known to run CPython. */
bool sn_python_reader_has(const struct sn_python_reader *reader, pid_t pid);
/* Of a thread that a sample of that time is of. Nothing where it runs no Python. */
void sn_python_reader_see(struct sn_python_reader *reader, struct sn_buffer *buffer, pid_t pid,
			  pid_t tid, uint64_t time_ns);
/* Tells what is known of processes and codes, for another recording that begins. */
void sn_python_reader_again(struct sn_python_reader *reader, struct sn_buffer *buffer);
/* Why no Python was read of a process that has it, a line; NULL: of all it was. */
const char *sn_python_reader_gap(const struct sn_python_reader *reader);
