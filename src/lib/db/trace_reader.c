/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks, cursors and attributes of the events of a database; see sonde/trace.h. */
#include "trace_reader.h"

#include "base/search.h"
#include "database_access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* So much is read of a file before its pages are given back. */
#define FORGET_BYTES (1u << 20)

int sn_trace_damaged(struct sonde_db_error *error, int code)
{
	const char *why = code == SN_ERR_MEMORY	       ? "out of memory"
			  : code == SN_ERR_UNSUPPORTED ? "this build cannot decompress them (zstd)"
						       : "the file is damaged";
	if (error)
		snprintf(error->text, sizeof(error->text), "cannot read events: %s", why);
	return code;
}

/* Every track's part of the directories lies within them, and is as large as its events say. */
static bool are_tracks_sound(struct sonde_trace *trace)
{
	uint32_t profile_count = sonde_db_profile_count(trace->db);
	for (uint64_t i = 0; i < trace->track_count; i++) {
		const struct sonde_track *track = trace->tracks + i;
		struct sn_pyramid_shape shape;
		sn_pyramid_shape(track->kind, track->event_count, &shape);
		bool is_within =
		    track->first_block <= trace->block_count &&
		    track->block_count <= trace->block_count - track->first_block &&
		    track->first_summary <= trace->summary_count &&
		    track->summary_count <= trace->summary_count - track->first_summary;
		uint64_t blocks = track->event_count / SN_BLOCK_EVENTS +
				  (track->event_count % SN_BLOCK_EVENTS != 0);
		if (!is_within || !track->event_count || blocks != track->block_count ||
		    shape.total != track->summary_count || track->profile >= profile_count ||
		    (i && track->profile < track[-1].profile))
			return false;
		trace->event_count += track->event_count;
	}
	return true;
}

int sonde_trace_open(const struct sonde_db *db, struct sonde_trace **result,
		     struct sonde_db_error *error)
{
	struct sonde_trace *trace = calloc(1, sizeof(*trace));
	if (!trace)
		return sn_trace_damaged(error, SN_ERR_MEMORY);
	trace->db = db;
#define SECTION(type, array, number)                                                               \
	trace->array = sn_db_section(db, type, &trace->number);                                    \
	trace->number /= sizeof(*trace->array)
	SECTION(SN_DATABASE_EVENT_TRACKS, tracks, track_count);
	SECTION(SN_DATABASE_EVENT_KEYS, keys, key_count);
	SECTION(SN_DATABASE_EVENT_BLOCKS, blocks, block_count);
	SECTION(SN_DATABASE_EVENT_DATA, data, data_bytes);
	SECTION(SN_DATABASE_EVENT_SUMMARIES, summaries, summary_count);
#undef SECTION
	if (trace->track_count > UINT32_MAX || !are_tracks_sound(trace)) {
		free(trace);
		return sn_trace_damaged(error, SN_ERR_FORMAT);
	}
	*result = trace;
	return 0;
}

void sonde_trace_close(struct sonde_trace *trace)
{
	if (trace)
		free(trace->kept);
	free(trace);
}

int sn_trace_keep(struct sonde_trace *trace, const bool *profiles)
{
	struct sonde_track *kept = malloc((trace->track_count + 1) * sizeof(*kept));
	uint64_t count = 0;
	if (!kept)
		return SN_ERR_MEMORY;
	trace->event_count = 0;
	for (uint64_t i = 0; i < trace->track_count; i++) {
		if (!profiles[trace->tracks[i].profile])
			continue;
		kept[count++] = trace->tracks[i];
		trace->event_count += trace->tracks[i].event_count;
	}
	free(trace->kept);
	trace->tracks = trace->kept = kept;
	trace->track_count = count;
	return 0;
}

uint32_t sonde_trace_track_count(const struct sonde_trace *trace)
{
	return (uint32_t)trace->track_count;
}

const struct sonde_track *sonde_trace_track(const struct sonde_trace *trace, uint32_t track)
{
	return track < trace->track_count ? trace->tracks + track : NULL;
}

uint32_t sonde_trace_first_track(const struct sonde_trace *trace, uint32_t profile)
{
	uint64_t at = sn_search(i, trace->track_count, trace->tracks[i].profile < profile);
	bool is_there = at < trace->track_count && trace->tracks[at].profile == profile;
	return is_there ? (uint32_t)at : SONDE_NONE;
}

uint64_t sonde_trace_event_count(const struct sonde_trace *trace)
{
	return trace->event_count;
}

uint32_t sonde_trace_key_count(const struct sonde_trace *trace)
{
	return (uint32_t)trace->key_count;
}

const struct sonde_attribute_key *sonde_trace_key(const struct sonde_trace *trace, uint32_t key)
{
	return key < trace->key_count ? trace->keys + key : NULL;
}

uint32_t sonde_trace_key_by_name(const struct sonde_trace *trace, const char *name)
{
	for (uint32_t i = 0; i < trace->key_count; i++)
		if (!strcmp(sonde_db_string(trace->db, trace->keys[i].name), name))
			return i;
	return SONDE_NONE;
}

bool sn_trace_block(const struct sonde_trace *trace, const struct sonde_track *track,
		    uint64_t number, const struct sn_block_entry **entry,
		    const unsigned char **bytes)
{
	*entry = trace->blocks + track->first_block + number;
	uint64_t length = (uint64_t)(*entry)->core_bytes + (*entry)->rest_bytes;
	uint64_t expected = track->event_count - number * SN_BLOCK_EVENTS;
	if (!length || (*entry)->offset > trace->data_bytes ||
	    length > trace->data_bytes - (*entry)->offset)
		return false;
	*bytes = trace->data + (*entry)->offset;
	return (*entry)->count == (expected < SN_BLOCK_EVENTS ? expected : SN_BLOCK_EVENTS);
}

struct sonde_event_cursor {
	const struct sonde_trace *trace;
	/* `kept` to `reached`: from the first page that was not given back to the last block */
	struct sn_event_place place;
	struct sn_block_codec codec;
	struct sn_block block;
	struct sn_block_rest rest;
	uint64_t values[SN_BLOCK_EVENTS];
	bool is_present[SN_BLOCK_EVENTS];
};

struct sonde_event_cursor *sn_event_reader_new(const struct sonde_trace *trace)
{
	struct sonde_event_cursor *cursor = calloc(1, sizeof(*cursor));
	if (cursor)
		cursor->trace = trace;
	return cursor;
}

struct sonde_event_cursor *sonde_event_cursor_new(const struct sonde_trace *trace, uint32_t track,
						  uint64_t from_ns, uint64_t to_ns, unsigned flags)
{
	struct sonde_event_cursor *cursor =
	    track < trace->track_count ? sn_event_reader_new(trace) : NULL;
	if (cursor)
		sn_event_place_init(&cursor->place, trace, track, from_ns, to_ns, flags);
	return cursor;
}

void sn_event_place_init(struct sn_event_place *place, const struct sonde_trace *trace,
			 uint32_t number, uint64_t from_ns, uint64_t to_ns, unsigned flags)
{
	const struct sonde_track *track = trace->tracks + number;
	*place = (struct sn_event_place){
	    .track = number, .flags = flags, .from_ns = from_ns, .to_ns = to_ns};
	/* the last ends of blocks ascend, but where events overlap: there all are looked at */
	if (track->flags & SONDE_TRACK_OVERLAPS)
		return;
	const struct sn_block_entry *blocks = trace->blocks + track->first_block;
	place->next = sn_search(i, track->block_count, blocks[i].end_ns < from_ns);
	/* a sample lasts until the next one */
	if (place->next && !sonde_track_lasts(track->kind))
		place->next--;
}

static int decode(struct sonde_event_cursor *cursor, const struct sn_block_entry *entry,
		  const unsigned char *bytes)
{
	int result = sn_block_decode(&cursor->codec, entry, bytes, &cursor->block);
	cursor->rest = (struct sn_block_rest){0};
	if (!result && !(cursor->place.flags & SONDE_EVENTS_BRIEF))
		result = sn_block_decode_rest(&cursor->codec, entry, bytes, &cursor->block,
					      &cursor->rest);
	for (size_t i = 0; i < cursor->block.count && !result; i++)
		if (cursor->block.contexts[i] >= sonde_db_context_count(cursor->trace->db))
			result = SN_ERR_FORMAT;
	return result;
}

/* What has been read stays in the system's cache, but not in the process: else its memory would
 * grow with the file. Pages that are still needed are read again. */
static void forget(struct sn_event_place *place)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)place->kept & -page, to = (uintptr_t)place->reached & -page;
	if (from < to)
		madvise((void *)from, to - from, MADV_DONTNEED);
	place->kept = place->reached;
}

/* The block at `bytes` is read next. */
static void reach(struct sn_event_place *place, const unsigned char *bytes)
{
	if (!place->kept || bytes < place->kept)
		place->kept = bytes;
	place->reached = bytes;
	if ((size_t)(bytes - place->kept) >= FORGET_BYTES)
		forget(place);
}

void sonde_event_cursor_free(struct sonde_event_cursor *cursor)
{
	if (!cursor)
		return;
	forget(&cursor->place);
	sn_block_codec_release(&cursor->codec);
	free(cursor);
}

int sn_event_place_next(struct sn_event_place *place, struct sonde_event_cursor *reader,
			struct sonde_event_block *block, struct sonde_db_error *error)
{
	reader->place = *place;
	int result = sonde_event_cursor_next(reader, block, error);
	*place = reader->place;
	reader->place.kept = reader->place.reached = NULL;
	return result;
}

void sn_event_place_release(struct sn_event_place *place)
{
	forget(place);
}

int sn_event_feed_next(struct sn_event_feed *feed, struct sonde_event_cursor *reader,
		       struct sonde_db_error *error)
{
	struct sonde_event_block block;
	int result = sn_event_place_next(&feed->place, reader, &block, error);
	if (result <= 0)
		return result;
	size_t count = block.count;
	if (count > feed->capacity) {
		free(feed->buffer);
		feed->capacity = count;
		feed->buffer = malloc(count * (3 * sizeof(uint64_t) + sizeof(uint32_t)));
	}
	if (!feed->buffer) {
		feed->capacity = 0;
		return sn_trace_damaged(error, SN_ERR_MEMORY);
	}
	uint64_t *ends = feed->buffer + count, *links = ends + count;
	uint32_t *contexts = (uint32_t *)(links + count);
	memcpy(feed->buffer, block.starts_ns, count * sizeof(uint64_t));
	memcpy(ends, block.ends_ns, count * sizeof(uint64_t));
	if (block.links)
		memcpy(links, block.links, count * sizeof(uint64_t));
	memcpy(contexts, block.contexts, count * sizeof(uint32_t));
	feed->starts_ns = feed->buffer;
	feed->ends_ns = ends;
	feed->links = block.links ? links : NULL;
	feed->contexts = contexts;
	feed->count = count;
	return 1;
}

void sn_event_feed_release(struct sn_event_feed *feed)
{
	sn_event_place_release(&feed->place);
	free(feed->buffer);
	feed->buffer = NULL;
	feed->capacity = feed->count = 0;
}

int sonde_event_cursor_next(struct sonde_event_cursor *cursor, struct sonde_event_block *block,
			    struct sonde_db_error *error)
{
	struct sn_event_place *place = &cursor->place;
	const struct sonde_track *track = cursor->trace->tracks + place->track;
	const struct sn_block_entry *entry;
	const unsigned char *bytes;
	do {
		if (place->next == track->block_count)
			return 0;
		uint64_t number = place->next++;
		if (!sn_trace_block(cursor->trace, track, number, &entry, &bytes))
			return sn_trace_damaged(error, SN_ERR_FORMAT);
		if (entry->start_ns > place->to_ns)
			return 0;
	} while (entry->end_ns < place->from_ns && track->flags & SONDE_TRACK_OVERLAPS);
	reach(place, bytes);
	int result = decode(cursor, entry, bytes);
	if (result)
		return sn_trace_damaged(error, result);
	*block = (struct sonde_event_block){
	    .count = cursor->block.count,
	    .first = (place->next - 1) * SN_BLOCK_EVENTS,
	    .starts_ns = cursor->block.starts_ns,
	    .ends_ns = cursor->block.ends_ns,
	    .contexts = cursor->block.contexts,
	    .links = cursor->rest.has_links ? cursor->block.links : NULL,
	};
	return 1;
}

/* Values of the cursor's attribute at hand. */
static struct sonde_attribute_column column_of(const struct sonde_event_cursor *cursor)
{
	bool has_all = true;
	for (size_t i = 0; i < cursor->block.count && has_all; i++)
		has_all = cursor->is_present[i];
	return (struct sonde_attribute_column){cursor->values, has_all ? NULL : cursor->is_present};
}

struct sn_block_rest sn_event_attributes(const struct sonde_event_cursor *cursor)
{
	return cursor->rest;
}

int sn_event_attribute_next(struct sonde_event_cursor *cursor, struct sn_block_rest *left,
			    uint32_t *key, struct sonde_attribute_column *column)
{
	if (sn_block_attribute_next(left, cursor->block.count, key, cursor->values,
				    cursor->is_present) <= 0)
		return 0;
	*column = column_of(cursor);
	return 1;
}

bool sonde_event_cursor_attribute(struct sonde_event_cursor *cursor, uint32_t key,
				  struct sonde_attribute_column *column)
{
	if (sn_block_attribute(&cursor->rest, key, cursor->block.count, cursor->values,
			       cursor->is_present) <= 0)
		return false;
	*column = column_of(cursor);
	return true;
}
