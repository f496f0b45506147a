/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summaries of a track, for drawing events narrower than a pixel.
 *
 * A summary stands for a group of consecutive events: when it begins and ends, what share of that
 * time was taken by any event, and which context took most of it. The lowest level has a summary
 * for each 32 events (64 samples), every further one a summary for each 8 of the level below, up
 * to a single one. Groups are of equal count and not of equal time, so that a burst within a long
 * silence costs nothing and is found as quickly.
 *
 * All levels of a track lie together, the lowest first. Their sizes follow from the event count.
 */
#pragma once

#include "sonde/trace.h"

#define SN_PYRAMID_FANOUT 8u
#define SN_PYRAMID_LEVELS 24u /* 32 * 8^23 events are enough for everybody */
#define SN_PYRAMID_ONE	  UINT16_MAX

struct sn_summary {
	uint64_t start_ns, end_ns;
	uint32_t context;	/* took most of the busy time */
	uint16_t busy_share;	/* of the time, in units of 1 / SN_PYRAMID_ONE */
	uint16_t context_share; /* of the busy time, likewise */
};
_Static_assert(sizeof(struct sn_summary) == 24, "summary is on disk");

/* Events in a summary of the lowest level. */
unsigned sn_pyramid_leaf_events(unsigned kind);

struct sn_pyramid_shape {
	unsigned level_count;
	uint64_t firsts[SN_PYRAMID_LEVELS]; /* of each level among the track's summaries */
	uint64_t counts[SN_PYRAMID_LEVELS];
	uint64_t total;
};
void sn_pyramid_shape(unsigned kind, uint64_t event_count, struct sn_pyramid_shape *shape);

#define SN_PYRAMID_LEAF_MAX 64u

/* Builds the summaries of one track; all zeroes but for `kind` is ready. */
struct sn_pyramid {
	unsigned kind;
	unsigned pending; /* events of the group begun, of which the last may lack its end */
	uint64_t starts_ns[SN_PYRAMID_LEAF_MAX + 1], ends_ns[SN_PYRAMID_LEAF_MAX + 1];
	uint32_t contexts[SN_PYRAMID_LEAF_MAX + 1];
	struct sn_summary *summaries; /* from malloc; the caller frees */
	size_t count, capacity;
};

/* Events in order of start. 0 or SN_ERR_MEMORY. */
int sn_pyramid_add(struct sn_pyramid *pyramid, uint64_t start_ns, uint64_t end_ns,
		   uint32_t context);
/* Ends the last group and builds the upper levels. 0 or SN_ERR_MEMORY. */
int sn_pyramid_finish(struct sn_pyramid *pyramid);
