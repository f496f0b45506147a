/* SPDX-License-Identifier: Apache-2.0 */
/* See copies.h. */
#include "copies.h"

#include "timeline/attributes.h"
#include "timeline/threads/thread_activity.h"
#include "operations.h"
#include "timeline/track_blocks.h"

#include <math.h>

static const struct sn_attribute_wish wishes[] = {{"bytes", SONDE_ATTRIBUTE_SIGNED}};

struct walk {
	struct sn_device_works works;
	struct sn_attributes attributes; /* of the block being read */
	sn_copies_take take;
	void *data;
};

static int take_block(void *data, const struct sonde_track *track,
		      struct sonde_event_cursor *cursor, const struct sonde_event_block *block)
{
	struct walk *walk = data;
	bool is_read = false;
	for (size_t i = 0; i < block->count; i++) {
		uint64_t bytes;
		if (sn_device_works_of(&walk->works, block->contexts[i]) != SN_WORK_COPY)
			continue;
		if (!is_read)
			sn_attributes_read(&walk->attributes, cursor, block);
		is_read = true;
		bool has_bytes = sn_attributes_get(&walk->attributes, 0, i, &bytes);
		struct sn_copy copy = {
		    .start_ns = block->starts_ns[i],
		    .end_ns = block->ends_ns[i],
		    .bytes = has_bytes ? (double)(int64_t)bytes : (double)NAN,
		    .context = block->contexts[i],
		    .profile = track->profile,
		};
		walk->take(walk->data, &copy);
	}
	return 0;
}

static bool has_copies(const struct walk *walk)
{
	for (uint32_t i = 0; i < sonde_db_context_count(walk->works.db); i++)
		if (sn_device_works_of(&walk->works, i) == SN_WORK_COPY)
			return true;
	return false;
}

int sn_copies_walk(const struct sn_processes *processes, uint32_t profile, sn_copies_take take,
		   void *data, struct sn_error *error)
{
	const struct sonde_db *db = processes->db;
	const struct sonde_trace *trace = processes->trace;
	const uint32_t *tracks;
	size_t count = sn_processes_tracks(processes, profile, &tracks);
	struct walk walk = {.take = take, .data = data};
	int result = !sn_device_works_init(&walk.works, db, false) &&
			     !sn_attributes_init(&walk.attributes, db, trace, wishes, 1)
			 ? 0
			 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	bool has_any = !result && has_copies(&walk);
	for (size_t i = 0; i < count && !result && has_any; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, tracks[i]);
		if (track->kind == SONDE_TRACK_INTERVALS &&
		    sonde_db_profile(db, track->profile)->kind == SONDE_PROFILE_STREAM)
			result = sn_track_blocks(trace, tracks[i], 0, take_block, &walk, error);
	}
	sn_attributes_release(&walk.attributes);
	sn_device_works_release(&walk.works);
	return result;
}
