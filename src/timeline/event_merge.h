/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of several tracks as one sequence in order of start; of equal starts the lower track's
 * first, so that a call comes before what it calls. Memory is one block of events for each track
 * that has begun and not ended at the current position.
 */
#pragma once

#include "track_blocks.h"

struct sn_merged_event {
	uint64_t start_ns, end_ns, link;
	uint32_t context;
	uint32_t track;
	uint64_t position; /* in the track */
	/* of the event, by the numbers of wishes; until the next event is asked for */
	const struct sn_attributes *attributes;
	size_t at; /* among those, for sn_attributes_get */
};

struct sn_event_merge;

/* Tracks hold events of one kind. NULL without memory. */
struct sn_event_merge *sn_event_merge_new(const struct sonde_trace *trace, const uint32_t *tracks,
					  size_t count, const struct sn_event_window *window);
void sn_event_merge_free(struct sn_event_merge *merge);
/* 1 and the next event, 0 at the end, or a negative enum sn_err. */
int sn_event_merge_next(struct sn_event_merge *merge, struct sn_merged_event *event,
			struct sn_error *error);
