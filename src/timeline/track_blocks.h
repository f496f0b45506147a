/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All events of one track from its first to its last, a block at a time.
 */
#ifndef SN_TIMELINE_TRACK_BLOCKS_H
#define SN_TIMELINE_TRACK_BLOCKS_H

#include "base/error.h"
#include "sonde/trace.h"

/* What is done with a block, which is valid until it returns, as what `cursor` tells of it is. 0,
 * or a negative enum sn_err to end: SN_ERR_MEMORY, or another one that has its text already. */
typedef int sn_take_block(void *context, const struct sonde_track *track,
			  struct sonde_event_cursor *cursor, const struct sonde_event_block *block);

/* `flags` as of sonde_event_cursor_new. 0 or a negative enum sn_err. */
int sn_track_blocks(const struct sonde_trace *trace, uint32_t track, unsigned flags,
		    sn_take_block *take, void *context, struct sn_error *error);

#endif
