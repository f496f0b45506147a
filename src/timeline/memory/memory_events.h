/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations and releases of all threads in order of time; at equal times releases first, so that
 * there are no false peaks. Memory is a block for each thread that has any.
 */
#pragma once

#include "base/error.h"
#include "sonde/trace.h"

struct sn_memory_event {
	uint64_t time_ns, address;
	int64_t bytes;		     /* negative: released */
	int64_t allocated, reserved; /* by the allocator, thereafter; INT64_MIN not recorded */
	uint32_t context, profile;
	uint32_t type, id; /* of the device; type 0: the host's memory */
	uint32_t track;	   /* and the position in it */
	uint64_t position;
};

struct sn_memory_events;

/* 0 or a negative enum sn_err; free in either case. */
int sn_memory_events_open(const struct sonde_db *db, const struct sonde_trace *trace,
			  struct sn_memory_events **events, struct sn_error *error);
void sn_memory_events_free(struct sn_memory_events *events);
/* 1 and the next one, 0 at the end, or a negative enum sn_err. */
int sn_memory_events_next(struct sn_memory_events *events, struct sn_memory_event *event,
			  struct sn_error *error);
