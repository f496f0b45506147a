/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python frames of sampled threads as records of our own (system/perf_data.h) in the recording, which the importer joins with the native path.
 */
#pragma once

#include "base/buffer.h"
#include "remote/python_reader.h"

struct sn_python_pipe;

/* NULL without memory. */
struct sn_python_pipe *sn_python_pipe_new(void);
void sn_python_pipe_free(struct sn_python_pipe *pipe);
const struct sn_python_reader *sn_python_pipe_reader(const struct sn_python_pipe *pipe);
/* The process executes another program. */
void sn_python_pipe_forget(struct sn_python_pipe *pipe, pid_t pid);
/* Of a thread that a sample of that time is of. Nothing where it runs no Python. */
void sn_python_pipe_see(struct sn_python_pipe *pipe, struct sn_buffer *buffer, pid_t pid, pid_t tid,
			uint64_t time_ns);
/* Tells what is known of processes and codes, for another recording that begins. */
void sn_python_pipe_again(struct sn_python_pipe *pipe, struct sn_buffer *buffer);
