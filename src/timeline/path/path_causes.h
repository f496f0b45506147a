/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a critical path is spent on, as causes of which each asks for another remedy. Every
 * nanosecond of the path has one. docs/design/answers.md defines them.
 */
#ifndef SN_TIMELINE_PATH_CAUSES_H
#define SN_TIMELINE_PATH_CAUSES_H

#include <stddef.h>
#include <stdint.h>

enum sn_path_cause {
	SN_CAUSE_COMPUTATION,	/* kernels */
	SN_CAUSE_COMMUNICATION, /* collectives and messages */
	SN_CAUSE_COPIES,
	SN_CAUSE_LAUNCHING, /* operators and calls that launch, and from there to the start */
	SN_CAUSE_HOST,	    /* all else that threads do */
	SN_CAUSE_WAITING,   /* threads that wait, calls that do not return, what is held back */
	SN_PATH_CAUSES
};
/* "computation". */
const char *sn_path_cause_name(enum sn_path_cause cause);

/* The longest that a path has of a cause, in one piece. */
struct sn_path_longest {
	double time_ns;
	uint32_t context; /* SONDE_NONE: of no call: an operation held back, nothing recorded */
	uint32_t within;  /* while it is held back: the call in which a thread waits; SONDE_NONE */
};

struct sn_path_causes {
	double time_ns[SN_PATH_CAUSES];
	struct sn_path_longest longest[SN_PATH_CAUSES];
	uint32_t most_contexts[SN_PATH_CAUSES]; /* of the frame with most of it; SONDE_NONE: none */
	double most_ns[SN_PATH_CAUSES];
	size_t launch_count; /* operations of devices that the time on the path launches */
};

#endif
