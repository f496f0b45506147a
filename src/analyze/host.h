/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of a process as what they did innermost: each thread's nested calls, flattened into
 * parts of which each lies in one call and none of its callees. Memory is a block for each lane of
 * one thread.
 */
#ifndef SN_ANALYZE_HOST_H
#define SN_ANALYZE_HOST_H

#include "base/error.h"
#include "sonde/trace.h"

struct sn_host_part {
	uint64_t start_ns, end_ns;	     /* longer than nothing */
	uint64_t call_start_ns, call_end_ns; /* of the call that this is a part of */
	uint64_t link;			     /* of that call */
	uint32_t context, profile;
};

/* Of each thread in turn the parts in order of time. A negative result ends the walk with it. */
typedef int (*sn_host_take)(void *data, const struct sn_host_part *part);

/* The threads of the process that the profile (a stream, or one of its threads) belongs to; all
 * threads for SONDE_NONE. `flags` as of a cursor: brief ones have no links. */
int sn_host_walk(const struct sonde_db *db, const struct sonde_trace *trace, uint32_t profile,
		 unsigned flags, sn_host_take take, void *data, struct sn_error *error);

/* Whether both profiles are of one process. */
bool sn_host_is_same_process(const struct sonde_db *db, uint32_t left, uint32_t right);

/* Whether a call only waits for another thread: a lock, a queue, a poll. */
bool sn_host_is_waiting(const struct sonde_db *db, uint32_t context);
/* Whether a call of a device's interface waits for the device. */
bool sn_host_is_synchronizing(const struct sonde_db *db, uint32_t context);

#endif
