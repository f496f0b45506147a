/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a trace file (trace_file.h) from a program of Sonde, such as the launcher, which records
 * other processes. One chunk is filled at a time with events of all streams, so that thousands of
 * streams with few events each need no chunks of their own.
 *
 * Records are kept in memory and written when a chunk is full, by sn_trace_file_flush and at the
 * end: if others truncate the file or the disk is full, events are lost, and nothing else happens.
 * When this program ends, the file has what was flushed. Failures to write are counted as lost
 * events, in the file too. Single-threaded.
 */
#pragma once

#include "base/error.h"
#include "trace_encode.h"

#include <sys/types.h>

struct sn_trace_file;

/*
 * Creates HOST-PID-START.sonde-trace in a measurement folder, a descriptor, of this process; its
 * permissions are `mode` less the umask. `limit_bytes`: if the file would become larger, new events
 * replace the oldest; 0: no limit. `program`: what the events are about, as reports name it. 0 or a
 * negative enum sn_err. *file is set only on success.
 */
int sn_trace_file_create(int folder, mode_t mode, const char *program, uint64_t limit_bytes,
			 struct sn_trace_file **file, struct sn_error *error);
/* Closes the file. NULL does nothing. */
void sn_trace_file_close(struct sn_trace_file *file);

/* Numbers that events refer to, from 0 for each kind of definition, never SN_ID_NONE: if a
 * definition cannot be written, it is lost with its events. Texts are copied. */
uint32_t sn_trace_file_stream(struct sn_trace_file *file, const struct sn_trace_stream *stream);
uint32_t sn_trace_file_name(struct sn_trace_file *file, uint32_t frame_kind, uint32_t parent,
			    const char *text);
uint32_t sn_trace_file_counter(struct sn_trace_file *file, uint32_t metric_kind, const char *name,
			       const char *unit);
uint32_t sn_trace_file_key(struct sn_trace_file *file, uint32_t attribute_type, const char *name,
			   const char *unit);

/* Adds an event of event->stream whose context is a name; has_stream, has_owner and owner are set
 * here. Times are of CLOCK_MONOTONIC. */
void sn_trace_file_add(struct sn_trace_file *file, struct sn_trace_event *event);
/* Writes what is not in the file yet. */
void sn_trace_file_flush(struct sn_trace_file *file);
/* Counts events that are not in the file. */
void sn_trace_file_lose(struct sn_trace_file *file, enum sn_trace_lost cause, uint64_t count);
