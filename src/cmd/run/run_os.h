/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sonde run --os`: recording the operating system beside the program. What cannot be recorded is
 * said in one line, and the program runs whatever happens here.
 */
#ifndef SN_CMD_RUN_OS_H
#define SN_CMD_RUN_OS_H

#include "launch.h"
#include "system/recorder.h"

struct sn_run_os {
	struct sn_os_options options; /* no sources: not asked for */
	uint64_t limit_bytes;
	struct sn_trace_file *file;
	struct sn_os_recorder *recorder;
	struct sn_os_result result; /* after sn_run_os_end */
};

#define SN_RUN_OS_LIMIT_MB 1024u

/* Creates the file in the measurement folder, if anything was asked for. */
void sn_run_os_prepare(struct sn_run_os *os, const struct sn_launch_request *launch,
		       const char *program);
/* A callback for sn_launch: `os` is the struct. */
void sn_run_os_begin(void *os, int pid);
/* The program has ended. Says what was lost. */
void sn_run_os_end(struct sn_run_os *os);

#endif
