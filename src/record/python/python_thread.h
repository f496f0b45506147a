/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that reads what Python sampled threads run (python_pipe.h). A process's memory may take for ever to answer, as a page of it may be another program's to
 * give: rings are taken and signals heard meanwhile.
 */
#pragma once

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sn_python_thread;

/* NULL without memory. */
struct sn_python_thread *sn_python_thread_start(void);
/* A sample has been taken of a thread: read it, unless `late_ns` have gone by since. */
void sn_python_thread_see(struct sn_python_thread *thread, pid_t pid, pid_t tid, uint64_t time_ns,
			  uint64_t late_ns);
/* A process executes another program. */
void sn_python_thread_forget(struct sn_python_thread *thread, pid_t pid);
/* Of a recording that another one follows: waits a little for what is still to be read; then tells what the other one must know first. */
void sn_python_thread_settle(struct sn_python_thread *thread);
void sn_python_thread_again(struct sn_python_thread *thread);
/* Moves what has been read to the end of a buffer. */
void sn_python_thread_take(struct sn_python_thread *thread, struct sn_buffer *buffer);

struct sn_python_result {
	uint64_t late; /* samples of processes with Python that were not read in time */
	char gap[256]; /* why there is none of a process that has it, a line; "": there is of all */
};
/* Waits for what is to be read still, but not for what does not answer; call sn_python_thread_take once more. */
void sn_python_thread_finish(struct sn_python_thread *thread, struct sn_python_result *result);
/* NULL does nothing. What does not answer is left to the end of this process. */
void sn_python_thread_free(struct sn_python_thread *thread);
