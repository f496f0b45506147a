/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `sonde run` has recorded over time: by the collector (--trace), and of the operating system
 * beside the program (--os). What of that cannot be recorded is said in one line, and the program
 * runs whatever happens here.
 */
#pragma once

#include "cmd/command.h"
#include "launch.h"
#include "system/recorder.h"

struct sn_run_trace {
	const char *sources; /* NULL: nothing is recorded; "default" */
	char limit[24];	     /* bytes, decimal; "" the collector's default */
	char window_ms[48];  /* START:LENGTH */
	char signal[8];	     /* number, decimal */
	bool is_paused;
	bool has_metrics; /* of devices: they are recorded whatever the sources */
};

/* For a struct sn_option; `trace` is a struct sn_run_trace. 0, or SN_EXIT_USAGE with a message. */
int sn_run_trace_limit(void *trace, const struct sn_options *options, const char *text);
int sn_run_trace_window(void *trace, const struct sn_options *options, const char *text);
int sn_run_trace_signal(void *trace, const struct sn_options *options, const char *text);
/* Options that mean nothing without --trace. 0, or SN_EXIT_USAGE with a message. */
int sn_run_trace_check(const struct sn_run_trace *trace, const struct sn_options *options);
/* Into this process's environment, for the program's. */
void sn_run_trace_tell(const struct sn_run_trace *trace);

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
