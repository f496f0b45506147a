/* SPDX-License-Identifier: Apache-2.0 */
/* What the user of `sonde run` asks to be recorded over time, and telling the collector. */
#ifndef SN_CMD_RUN_TRACE_H
#define SN_CMD_RUN_TRACE_H

#include "cmd/command.h"

#include <stdbool.h>

struct sn_run_trace {
	const char *sources; /* NULL: nothing is recorded; "default" */
	char limit[24];	     /* bytes, decimal; "" the collector's default */
	char window_ms[48];  /* START:LENGTH */
	char signal[8];	     /* number, decimal */
	bool is_paused;
};

/* For a struct sn_option; `trace` is a struct sn_run_trace. 0, or SN_EXIT_USAGE with a message. */
int sn_run_trace_limit(void *trace, const struct sn_options *options, const char *text);
int sn_run_trace_window(void *trace, const struct sn_options *options, const char *text);
int sn_run_trace_signal(void *trace, const struct sn_options *options, const char *text);
/* Options that mean nothing without --trace. 0, or SN_EXIT_USAGE with a message. */
int sn_run_trace_check(const struct sn_run_trace *trace, const struct sn_options *options);
/* Into this process's environment, for the program's. */
void sn_run_trace_tell(const struct sn_run_trace *trace);

#endif
