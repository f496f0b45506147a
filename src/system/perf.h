/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking the kernel: perf events for what was chosen, on every processor, into one ring for each.
 *
 * A program is followed from the moment it is executed, with all threads and processes that come of
 * it; or the whole machine is. What is refused or not there is said for each source, and the rest
 * goes on: a program's own context switches and page faults need no privilege.
 */
#ifndef SN_SYSTEM_PERF_H
#define SN_SYSTEM_PERF_H

#include "decode.h"
#include "ring.h"

#include "base/error.h"

#include <sys/types.h>

#define SN_OS_SOURCES_ALL ((1u << SN_OS_SOURCES) - 1)

/* "scheduler", "syscalls", ...; what it is for people. */
const char *sn_os_source_name(enum sn_os_source source);
const char *sn_os_source_text(enum sn_os_source source);
/* A list of names, separated by commas. 0 where one is unknown: *wrong is where it begins. */
uint32_t sn_os_sources_parse(const char *list, const char **wrong);

struct sn_os_options {
	uint32_t sources; /* 1 << enum sn_os_source */
	bool is_wide;
	size_t ring_bytes; /* of each processor; 0: as much as is sensible and allowed */
};

/* What of the sources asked for cannot be had, why, and how it could ("" unknown). */
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
 * `pid`: the process that is about to execute the program; of the whole machine ignored. 0 or a
 * negative enum sn_err where nothing at all can be recorded. *perf is set only on success.
 */
int sn_os_perf_open(const struct sn_os_options *options, pid_t pid, struct sn_os_perf **perf,
		    struct sn_os_coverage *coverage, struct sn_error *error);
void sn_os_perf_close(struct sn_os_perf *perf);
/* Nothing is written into the rings from now on. */
void sn_os_perf_disable(struct sn_os_perf *perf);

/* Waits until rings fill or the time is over. `wake_fd` ends it as well. */
void sn_os_perf_wait(struct sn_os_perf *perf, int wake_fd, int timeout_ms);
/* Calls `handle` with each event up to that time, in order. */
void sn_os_perf_read(struct sn_os_perf *perf, uint64_t until_ns,
		     void (*handle)(void *context, const struct sn_os_event *event), void *context);
/* Records that could not be read. */
uint64_t sn_os_perf_damaged(const struct sn_os_perf *perf);

#endif
