/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of one track in order of time, a block at a time.
 */
#ifndef SN_TIMELINE_TRACK_BLOCKS_H
#define SN_TIMELINE_TRACK_BLOCKS_H

#include "base/error.h"
#include "sonde/trace.h"

/* What is done with a block, which is valid until it returns, as what `cursor` tells of it is. 0;
 * 1: no more are wanted; or a negative enum sn_err to end: SN_ERR_MEMORY, or another one that has
 * its text already. */
typedef int sn_visit_block(void *data, const struct sonde_track *track,
			   struct sonde_event_cursor *cursor,
			   const struct sonde_event_block *block);

/* All of them; `flags` as of sonde_event_cursor_new. 0 or a negative enum sn_err. */
int sn_track_blocks(const struct sonde_trace *trace, uint32_t track, unsigned flags,
		    sn_visit_block *visit, void *data, struct sn_error *error);
/* The same of the window of a cursor. */
int sn_track_blocks_within(const struct sonde_trace *trace, uint32_t track, uint64_t from_ns,
			   uint64_t to_ns, unsigned flags, sn_visit_block *visit, void *data,
			   struct sn_error *error);

#endif
