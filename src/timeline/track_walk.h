/* SPDX-License-Identifier: Apache-2.0 */
/* The intervals of threads or streams with some of their attributes, one track after the other. */
#pragma once

#include "attributes.h"
#include "base/error.h"
#include "processes.h"

struct sn_walked_event {
	const struct sonde_track *track;
	uint64_t start_ns, end_ns, link; /* link 0: none */
	uint32_t context;
	/* for sn_walked_value */
	const struct sn_attributes *attributes;
	size_t at;
};

/* Handles an event. Returns 0, or a negative enum sn_err to end: SN_ERR_MEMORY, or another one that
 * has its text already. */
typedef int sn_visit_event(void *data, const struct sn_walked_event *event);

enum { SN_WALK_THREADS = 1, SN_WALK_STREAMS = 2 };

struct sn_track_walk {
	unsigned tracks;      /* SN_WALK_ */
	const bool *contexts; /* those wanted; NULL: all */
	const struct sn_attribute_wish *wishes;
	size_t wish_count;
	bool needs_first; /* events without the first wish are not wanted */
	sn_visit_event *visit;
	void *data;
};

/* Over the process that the profile belongs to, or all for SONDE_NONE. Nothing is read where the
 * trace has no such context or no such attribute. 0 or a negative enum sn_err. */
int sn_track_walk(const struct sn_processes *processes, uint32_t profile,
		  const struct sn_track_walk *walk, struct sn_error *error);
/* The attribute by the number of its wish; false where the event has none. */
bool sn_walked_value(const struct sn_walked_event *event, size_t wish, uint64_t *value);
/* The same, and 0 where it has none. */
uint64_t sn_walked_number(const struct sn_walked_event *event, size_t wish);
/* The process of the event's thread, by the profile that it is called by. */
uint32_t sn_walked_process(const struct sn_processes *processes,
			   const struct sn_walked_event *event);
