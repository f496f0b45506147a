/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens perf events for the requested sources, on every processor, with one ring for each.
 *
 * Records a program from the moment of exec, with all its future threads and processes; or the
 * whole machine. Refused or missing sources are reported, and the others are recorded: a program's
 * own context switches and page faults need no privilege.
 */
#pragma once

#include "decode.h"
#include "ring.h"

#include "base/error.h"

#include <sys/types.h>

#define SN_OS_SOURCES_ALL ((1u << SN_OS_SOURCES) - 1)

/* "scheduler", "syscalls", ...; and a description. */
const char *sn_os_source_name(enum sn_os_source source);
const char *sn_os_source_text(enum sn_os_source source);
/* Parses a list of names, separated by commas. 0 if one is unknown: *wrong is its begin. */
uint32_t sn_os_sources_parse(const char *list, const char **wrong);

struct sn_os_options {
	uint32_t sources; /* 1 << enum sn_os_source */
	bool is_wide;
	size_t ring_bytes; /* of each processor; 0: as much as is sensible and allowed */
};

/* The requested sources that are not available, why, and how to enable them ("" unknown). */
struct sn_os_gap {
	bool is_missing;
	char why[200], fix[200];
};
struct sn_os_coverage {
	struct sn_os_gap gaps[SN_OS_SOURCES];
	bool
	    has_switches; /* scheduler is missing, but a program's own context switches are there */
};

struct sn_os_perf;

/*
 * `pid`: the process that is about to execute the program; ignored for the whole machine. 0, or a
 * negative enum sn_err if nothing can be recorded. *perf is set only on success.
 */
int sn_os_perf_open(const struct sn_os_options *options, pid_t pid, struct sn_os_perf **perf,
		    struct sn_os_coverage *coverage, struct sn_error *error);
void sn_os_perf_close(struct sn_os_perf *perf);
/* Stops writing into the rings. */
void sn_os_perf_disable(struct sn_os_perf *perf);

/* Waits until rings fill or the time is over; `wake_fd` ends the wait as well. */
void sn_os_perf_wait(struct sn_os_perf *perf, int wake_fd, int timeout_ms);
/* Calls `handle` with each event up to that time, in order. */
void sn_os_perf_read(struct sn_os_perf *perf, uint64_t until_ns,
		     void (*handle)(void *context, const struct sn_os_event *event), void *context);
/* Records that could not be read. */
uint64_t sn_os_perf_damaged(const struct sn_os_perf *perf);
