/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the operating system's events into a trace file: the sink of state.h.
 *
 * Each thread and each processor is a stream. States and the kernel's operations for a thread are
 * kinds of events of their own; contexts are names of one or two levels: "running", "blocked" and
 * below it "futex", "system call" and below it "read" (docs/design/os.md).
 */
#pragma once

#include "state.h"

#include "format/trace_file/trace_file_writer.h"

struct sn_os_trace;

/* The file stays the caller's and must outlive it. NULL without memory. */
struct sn_os_trace *sn_os_trace_new(struct sn_trace_file *file);
void sn_os_trace_free(struct sn_os_trace *trace);

/* To be given to sn_os_states_new. */
struct sn_os_sink sn_os_trace_sink(struct sn_os_trace *trace);
