/* SPDX-License-Identifier: Apache-2.0 */
/* The events of one track in order of time, a block at a time. */
#pragma once

#include "attributes.h"
#include "base/error.h"
#include "lib/db/trace_reader.h"
#include "sonde/trace.h"

/* What is read of tracks. */
struct sn_event_window {
	uint64_t from_ns, to_ns; /* all for 0 and UINT64_MAX; more may come, as of a cursor */
	unsigned flags;		 /* as of a cursor */
	/* of sn_event_reader_new, shared by all tracks that are read alternately; NULL: one of its
	 * own */
	struct sonde_event_cursor *reader;
	const struct sn_attribute_wish *wishes; /* attributes that sn_event_merge reads as well */
	size_t wish_count;
};
#define SN_EVENT_WINDOW_ALL(its_flags)                                                             \
	&(struct sn_event_window)                                                                  \
	{                                                                                          \
		.to_ns = UINT64_MAX, .flags = its_flags                                            \
	}

/* Handles a block. The block and the cursor's data of it are valid until it returns. Returns 0 to
 * go on, 1 to end, or a negative enum sn_err: SN_ERR_MEMORY, or another one that has its text
 * already. */
typedef int sn_visit_block(void *data, const struct sonde_track *track,
			   struct sonde_event_cursor *cursor,
			   const struct sonde_event_block *block);

/* 0 or a negative enum sn_err. */
int sn_track_blocks(const struct sonde_trace *trace, uint32_t track,
		    const struct sn_event_window *window, sn_visit_block *visit, void *data,
		    struct sn_error *error);
