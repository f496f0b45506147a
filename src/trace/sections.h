/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events as they lie in a database, and reading them from there. What is read is checked where it
 * is used: opening costs the directories, whatever the number of events.
 */
#ifndef SN_TRACE_SECTIONS_H
#define SN_TRACE_SECTIONS_H

#include "block.h"
#include "pyramid.h"

struct sonde_trace {
	const struct sonde_db *db;
	const struct sonde_track *tracks;
	const struct sonde_attribute_key *keys;
	const struct sn_block_entry *blocks;
	const struct sn_summary *summaries;
	const unsigned char *data;
	uint64_t track_count, key_count, block_count, summary_count, data_bytes;
	uint64_t event_count;
};

/* The entry and bytes of a track's block; false where the file is damaged. */
bool sn_trace_block(const struct sonde_trace *trace, const struct sonde_track *track,
		    uint64_t number, const struct sn_block_entry **entry,
		    const unsigned char **bytes);

/* As sonde_event_cursor_new, with a decoder that several cursors use by turns, so that each of them
 * costs its block alone. Links of a block stay; its attributes are gone once another one has read.
 * The codec is the caller's and must outlive the cursor. */
struct sonde_event_cursor *sn_event_cursor_sharing(const struct sonde_trace *trace, uint32_t track,
						   uint64_t from_ns, uint64_t to_ns, unsigned flags,
						   struct sn_block_codec *codec);

/* Writes "cannot read events: ..." and returns `code`. */
int sn_trace_damaged(struct sonde_db_error *error, int code);

#endif
