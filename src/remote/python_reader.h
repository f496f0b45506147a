/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Python the sampled threads run: read from their processes right after each sample. Whoever listens hears of interpreters and code objects before the first frames that have
 * them.
 */
#pragma once

#include "frames.h"
#include "python_join.h"

#include <stdbool.h>
#include <sys/types.h>

struct sn_python_listener {
	void *context;
	/* The evaluation loop of a process, since that sample; NULL is allowed. */
	void (*interpreter)(void *context, pid_t pid, uint64_t eval, uint64_t eval_bytes,
			    uint64_t time_ns);
	void (*code)(void *context, uint32_t number, uint32_t first_line, const char *file,
		     const char *name);
};

struct sn_python_reader;

/* NULL without memory. */
struct sn_python_reader *sn_python_reader_new(const struct sn_python_listener *listener);
void sn_python_reader_free(struct sn_python_reader *reader);
/* Forgets all processes and codes, whose numbers begin anew. */
void sn_python_reader_clear(struct sn_python_reader *reader);
/* How many processes are known. */
uint32_t sn_python_reader_processes(const struct sn_python_reader *reader);
/* The process executes another program. */
void sn_python_reader_forget(struct sn_python_reader *reader, pid_t pid);
/* Whether the process is known to run CPython. */
bool sn_python_reader_has(const struct sn_python_reader *reader, pid_t pid);
/* The evaluation loop of a process; false: it is not known to run CPython. */
bool sn_python_reader_eval(const struct sn_python_reader *reader, pid_t pid, uint64_t *eval,
			   uint64_t *bytes);
/* Of a thread that a sample of that time is of: the frames, innermost first, into frames[SN_REMOTE_FRAMES_MOST]. Their number: 0 where it runs no Python. */
uint32_t sn_python_reader_see(struct sn_python_reader *reader, pid_t pid, pid_t tid,
			      uint64_t time_ns, struct sn_numbered_frame *frames);
/* Why no Python was read of a process that has it, a line; NULL: of all it was. */
const char *sn_python_reader_gap(const struct sn_python_reader *reader);
