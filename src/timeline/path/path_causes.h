/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides the time of a critical path by cause. Each cause has another remedy, and every nanosecond
 * of the path has one cause. docs/design/answers.md defines them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum sn_path_cause {
	SN_CAUSE_COMPUTATION,	/* kernels */
	SN_CAUSE_COMMUNICATION, /* collectives and messages */
	SN_CAUSE_COPIES,
	SN_CAUSE_LAUNCHING, /* operators and calls that launch, and from there to the start */
	SN_CAUSE_HOST,	    /* all else that threads do */
	SN_CAUSE_WAITING,   /* threads that wait, calls that do not return, what is held back */
	SN_CAUSE_RECORDER,  /* what the profiler that recorded the trace did meanwhile */
	SN_PATH_CAUSES
};
/* "computation". */
const char *sn_path_cause_name(enum sn_path_cause cause);

/* The longest uninterrupted part of a path that has one cause. */
struct sn_path_longest {
	double time_ns;
	uint32_t context; /* SONDE_NONE: no call, but an operation held back or nothing recorded */
	uint32_t
	    within; /* the call in which a thread waits while an operation is held back; or SONDE_NONE */
};

struct sn_path_causes {
	double time_ns[SN_PATH_CAUSES];
	struct sn_path_longest longest[SN_PATH_CAUSES];
	uint32_t
	    most_contexts[SN_PATH_CAUSES]; /* of the frame with most of that time; or SONDE_NONE */
	double most_ns[SN_PATH_CAUSES];
	size_t launch_count; /* operations of devices launched by calls on the path */
};
