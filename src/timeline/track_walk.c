/* SPDX-License-Identifier: Apache-2.0 */
/* Visits the wanted events of tracks; attributes are read only for blocks that have
 * such an event. */
#include "track_walk.h"

#include "track_blocks.h"

struct walking {
	const struct sn_track_walk *walk;
	struct sn_attributes attributes; /* of the current block */
};

static int visit_block(void *data, const struct sonde_track *track,
		       struct sonde_event_cursor *cursor, const struct sonde_event_block *block)
{
	struct walking *walking = data;
	const struct sn_track_walk *walk = walking->walk;
	bool is_read = false;
	int result = 0;
	for (size_t i = 0; i < block->count && !result; i++) {
		uint64_t value;
		if (walk->contexts && !walk->contexts[block->contexts[i]])
			continue;
		if (!is_read)
			sn_attributes_read(&walking->attributes, cursor, block->count);
		is_read = true;
		if (walk->needs_first && !sn_attributes_get(&walking->attributes, 0, i, &value))
			continue;
		struct sn_walked_event event = {
		    .track = track,
		    .start_ns = block->starts_ns[i],
		    .end_ns = block->ends_ns[i],
		    .link = block->links ? block->links[i] : 0,
		    .context = block->contexts[i],
		    .attributes = &walking->attributes,
		    .at = i,
		};
		result = walk->visit(walk->data, &event);
	}
	return result;
}

static bool has_wanted(const struct sn_processes *processes, const struct walking *walking)
{
	const struct sn_track_walk *walk = walking->walk;
	bool is_wanted = !walk->contexts;
	for (uint32_t i = 0; i < sonde_db_context_count(processes->db) && !is_wanted; i++)
		is_wanted = walk->contexts[i];
	return is_wanted && (!walk->needs_first || walking->attributes.keys[0] != SONDE_NONE);
}

int sn_track_walk(const struct sn_processes *processes, uint32_t profile,
		  const struct sn_track_walk *walk, struct sn_error *error)
{
	const struct sonde_trace *trace = processes->trace;
	struct walking walking = {.walk = walk};
	struct sn_event_window window = {.to_ns = UINT64_MAX, .reader = sn_event_reader_new(trace)};
	const uint32_t *tracks;
	int result = sn_attributes_init(&walking.attributes, processes->db, trace, walk->wishes,
					walk->wish_count);
	size_t count = !result && has_wanted(processes, &walking)
			   ? sn_processes_tracks(processes, profile, &tracks)
			   : 0;
	for (size_t i = 0; i < count && !result; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, tracks[i]);
		unsigned kind = sonde_db_profile(processes->db, track->profile)->kind;
		bool is_wanted = kind == SONDE_PROFILE_THREAD ? walk->tracks & SN_WALK_THREADS
							      : kind == SONDE_PROFILE_STREAM &&
								    walk->tracks & SN_WALK_STREAMS;
		if (track->kind == SONDE_TRACK_INTERVALS && is_wanted)
			result = sn_track_blocks(trace, tracks[i], &window, visit_block, &walking,
						 error);
	}
	sonde_event_cursor_free(window.reader);
	sn_attributes_release(&walking.attributes);
	return sn_fail_code(error, result);
}

bool sn_walked_value(const struct sn_walked_event *event, size_t wish, uint64_t *value)
{
	return sn_attributes_get(event->attributes, wish, event->at, value);
}

uint64_t sn_walked_number(const struct sn_walked_event *event, size_t wish)
{
	uint64_t value;
	return sn_walked_value(event, wish, &value) ? value : 0;
}

uint32_t sn_walked_process(const struct sn_processes *processes,
			   const struct sn_walked_event *event)
{
	return processes->callers[processes->of_profile[event->track->profile]];
}
