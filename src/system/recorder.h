/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording the operating system while a program runs: a thread of the launcher copies the kernel's
 * rings into a trace file.
 */
#pragma once

#include "perf.h"
#include "state.h"

#include "format/trace_file/trace_file_writer.h"

struct sn_os_recorder;

struct sn_os_result {
	uint64_t losses[SN_OS_LOSSES];
};

/*
 * Begins with the moment that `pid` executes the program (with the whole machine at once). The file
 * stays the caller's, must be valid until the recorder is stopped, and may not be used otherwise
 * until then. 0 or a negative enum sn_err. *recorder is set only on success.
 */
int sn_os_recorder_start(const struct sn_os_options *options, pid_t pid, struct sn_trace_file *file,
			 struct sn_os_recorder **recorder, struct sn_os_coverage *coverage,
			 struct sn_error *error);
/* Reads the rest of the rings and ends. `result` may be NULL. NULL does nothing. */
void sn_os_recorder_stop(struct sn_os_recorder *recorder, struct sn_os_result *result);
