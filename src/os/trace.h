/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operating system told, into a trace file: the sink of state.h.
 *
 * Each thread and each processor is a stream. Contexts are names of up to three levels, of which
 * the outermost is the layer ("thread state", "system calls", ...): it tells readers which line of
 * a thread an event belongs to (docs/design/os.md).
 */
#ifndef SN_OS_TRACE_H
#define SN_OS_TRACE_H

#include "state.h"

#include "format/trace_file_writer.h"

/* The name of a layer, as it is in files. */
const char *sn_os_layer_name(enum sn_os_layer layer);

struct sn_os_trace;

/* The file stays the caller's and must outlive it. NULL without memory. */
struct sn_os_trace *sn_os_trace_new(struct sn_trace_file *file);
void sn_os_trace_free(struct sn_os_trace *trace);

/* To be given to sn_os_states_new. */
struct sn_os_sink sn_os_trace_sink(struct sn_os_trace *trace);
/* How many events went into the file. */
uint64_t sn_os_trace_count(const struct sn_os_trace *trace);

#endif
