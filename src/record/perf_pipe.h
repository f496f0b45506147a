/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing records as perf does into a pipe: what was there before the kernel's own records begin. All append to a buffer, whose failure is sticky.
 */
#pragma once

#include "base/buffer.h"
#include "system/mappings.h"
#include "system/perf_data.h"

#include <linux/perf_event.h>
#include <sys/types.h>

/* The header, the only event, and of the machine: its name, its kernel, the clock `clock` beside the time of day. */
void sn_perf_pipe_begin(struct sn_buffer *buffer, const struct perf_event_attr *attr,
			clockid_t clock);
/* What is measured, in words as a shell would have them: as many as `count`. */
void sn_perf_pipe_command(struct sn_buffer *buffer, const char *const *words, size_t count);
/* The name of a thread. */
void sn_perf_pipe_name(struct sn_buffer *buffer, const struct perf_event_attr *attr, pid_t pid,
		       pid_t tid, const char *name);

/* Code that a process had mapped already. `build_id`: of SN_PERF_BUILD_ID_BYTES; NULL: not known. */
void sn_perf_pipe_mapping(struct sn_buffer *buffer, const struct perf_event_attr *attr, pid_t pid,
			  const struct sn_mapping *mapping, const unsigned char *build_id);

/* Records of system/perf_data.h. */
void sn_perf_pipe_machine(struct sn_buffer *buffer);
void sn_perf_pipe_interpreter(struct sn_buffer *buffer, pid_t pid, uint64_t eval,
			      uint64_t eval_bytes, uint64_t since_ns);
void sn_perf_pipe_code(struct sn_buffer *buffer, uint32_t number, uint32_t first_line,
		       const char *file, const char *name);
struct sn_perf_pipe_frame {
	uint32_t code, line, is_entry;
};
void sn_perf_pipe_frames(struct sn_buffer *buffer, pid_t pid, pid_t tid, uint64_t time_ns,
			 const struct sn_perf_pipe_frame *frames, uint32_t count);
