/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the events of a database. Data is checked when it is used: opening reads only the
 * directories, for any number of events.
 */
#pragma once

#include "format/events/block.h"
#include "format/events/pyramid.h"
#include "sonde/trace.h"

struct sonde_trace {
	const struct sonde_db *db;
	const struct sonde_track *tracks;
	const struct sonde_attribute_key *keys;
	const struct sn_block_entry *blocks;
	const struct sn_summary *summaries;
	const unsigned char *data;
	uint64_t track_count, key_count, block_count, summary_count, data_bytes;
	uint64_t event_count;
	struct sonde_track *kept; /* the tracks, if some were left out; NULL */
};

/* Leaves out the tracks of all other profiles in this handle; before the first read. 0 or
 * SN_ERR_MEMORY. */
int sn_trace_keep(struct sonde_trace *trace, const bool *profiles);

/* The entry and bytes of a track's block; false if the file is damaged. */
bool sn_trace_block(const struct sonde_trace *trace, const struct sonde_track *track,
		    uint64_t number, const struct sn_block_entry **entry,
		    const unsigned char **bytes);

/* A position in a track. Many may share one cursor alternately, so that each costs only this. */
struct sn_event_place {
	uint32_t track;
	unsigned flags; /* as of a cursor, as are the times */
	uint64_t from_ns, to_ns, next;
	const unsigned char *kept, *reached; /* the part of the file that is in memory for it */
};

/* A cursor for places alone; freed by sonde_event_cursor_free. NULL without memory. */
struct sonde_event_cursor *sn_event_reader_new(const struct sonde_trace *trace);
void sn_event_place_init(struct sn_event_place *place, const struct sonde_trace *trace,
			 uint32_t track, uint64_t from_ns, uint64_t to_ns, unsigned flags);
/* As sonde_event_cursor_next; the block and its attributes are valid until another place is read.
 * */
int sn_event_place_next(struct sn_event_place *place, struct sonde_event_cursor *reader,
			struct sonde_event_block *block, struct sonde_db_error *error);
void sn_event_place_release(struct sn_event_place *place);

/* The attributes of the cursor's block, one after the other: `left` is the result of
 * sn_event_attributes, then the remaining ones. 1, or 0 if there are no more or the file is
 * damaged. */
struct sn_block_rest sn_event_attributes(const struct sonde_event_cursor *cursor);
int sn_event_attribute_next(struct sonde_event_cursor *cursor, struct sn_block_rest *left,
			    uint32_t *key, struct sonde_attribute_column *column);

/* A place, and a copy of the last block in memory of the size of its events. */
struct sn_event_feed {
	struct sn_event_place place;
	const uint64_t *starts_ns, *ends_ns, *links; /* links NULL: none */
	const uint32_t *contexts;
	size_t count;
	uint64_t *buffer;
	size_t capacity; /* events */
};

/* The next block: 1, 0 at the end, or a negative enum sn_err. All but `place` are zeroes at first;
 * release in any case. */
int sn_event_feed_next(struct sn_event_feed *feed, struct sonde_event_cursor *reader,
		       struct sonde_db_error *error);
void sn_event_feed_release(struct sn_event_feed *feed);

/* Writes "cannot read events: ..." and returns `code`. */
int sn_trace_damaged(struct sonde_db_error *error, int code);
