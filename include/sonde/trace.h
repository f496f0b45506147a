/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the events of a Sonde database. Library: libsonde-db.so (pkg-config sonde-db), since 2.1.
 *
 * Events lie in tracks. A track belongs to one profile (a thread, a device stream) and holds events
 * of one kind in order of time; intervals of one track never overlap, so that nested calls and
 * concurrent kernels of one stream lie in several lanes, each a track. A timeline has a row for
 * each track.
 *
 * Times are nanoseconds since the Unix epoch. Finding a window costs a binary search; drawing it
 * costs time proportional to its pixels, not to its events (docs/design/trace.md).
 *
 * Functions that can fail return 0 or a negative enum sonde_db_code, and store a text in `error`,
 * which may be NULL. Events are checked when they are read, not on opening.
 *
 * MT: all functions but sonde_trace_close may be called by several threads at once on one struct
 * sonde_trace; a cursor is used by one thread at a time.
 */
#ifndef SONDE_TRACE_H
#define SONDE_TRACE_H

#include "sonde/db.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_trace;

/*
 * Opens the events of an open database, which must stay open as long: tracks and keys belong to the
 * database. *trace is set only on success (also without tracks, for a database without events);
 * free it with sonde_trace_close, after its cursors.
 */
int sonde_trace_open(const struct sonde_db *db, struct sonde_trace **trace,
		     struct sonde_db_error *error);
void sonde_trace_close(struct sonde_trace *trace);

enum sonde_track_kind {
	/* The thread's context from the sample's time until the next sample. */
	SONDE_TRACK_SAMPLES = 1,
	SONDE_TRACK_INTERVALS = 2,
	SONDE_TRACK_INSTANTS = 3,
	/* The value of the track's metric from then on: attribute "value" of each event. */
	SONDE_TRACK_COUNTER = 4,
	/* Recorded by the operating system for a thread or a processor: intervals as well, but no
	 * calls. The state (running, ready, blocked and in what), without gaps while it is known;
	 * */
	SONDE_TRACK_STATES = 5,
	/* operations for it: system calls, requests to disks, interrupts. */
	SONDE_TRACK_SYSTEM = 6,
};

/* Whether events of tracks of that kind have a duration. */
static inline int sonde_track_lasts(uint32_t kind)
{
	return kind == SONDE_TRACK_INTERVALS || kind == SONDE_TRACK_STATES ||
	       kind == SONDE_TRACK_SYSTEM;
}

/* Flag of a track: events of this lane overlap, in order of start, because there were more
 * overlapping events than lanes. */
#define SONDE_TRACK_OVERLAPS 1u

struct sonde_track {
	uint32_t profile;
	uint16_t kind;	 /* enum sonde_track_kind */
	uint16_t flags;	 /* SONDE_TRACK_OVERLAPS; ignore others */
	uint32_t metric; /* of a counter; else SONDE_NONE. Not checked on opening */
	uint32_t lane;	 /* 0 is the outermost */
	uint64_t event_count;
	uint64_t start_ns, end_ns; /* from the first start to the last end */
	uint64_t first_block;	   /* of the file's blocks */
	uint64_t first_summary;	   /* of the file's summaries */
	uint32_t block_count, summary_count;
};

/* Tracks are ordered by profile, kind, metric, lane. NULL for an invalid number. */
uint32_t sonde_trace_track_count(const struct sonde_trace *trace);
const struct sonde_track *sonde_trace_track(const struct sonde_trace *trace, uint32_t track);
/* The first track of the profile, whose tracks have consecutive numbers; SONDE_NONE without one.
 */
uint32_t sonde_trace_first_track(const struct sonde_trace *trace, uint32_t profile);
/* Of all tracks. */
uint64_t sonde_trace_event_count(const struct sonde_trace *trace);

/* Types of an event's attributes. */
enum sonde_attribute_type {
	SONDE_ATTRIBUTE_UNSIGNED = 1,
	SONDE_ATTRIBUTE_SIGNED = 2,
	SONDE_ATTRIBUTE_REAL = 3,   /* the bits of a double */
	SONDE_ATTRIBUTE_STRING = 4, /* a string of the database */
};
struct sonde_attribute_key {
	uint32_t name; /* string: "bytes", "grid.x", ... */
	uint32_t unit; /* string, or SONDE_NONE */
	uint32_t type; /* enum sonde_attribute_type */
	uint32_t reserved;
};
uint32_t sonde_trace_key_count(const struct sonde_trace *trace);
/* NULL for an invalid number. */
const struct sonde_attribute_key *sonde_trace_key(const struct sonde_trace *trace, uint32_t key);
/* The key of that name, or SONDE_NONE. */
uint32_t sonde_trace_key_by_name(const struct sonde_trace *trace, const char *name);

/*
 * Up to 4,096 events of a track, as parallel arrays. Valid until the cursor moves.
 */
struct sonde_event_block {
	size_t count;
	uint64_t first; /* number of the first event in its track */
	const uint64_t *starts_ns;
	const uint64_t *ends_ns; /* the start itself for instants, samples and counters */
	const uint32_t *contexts;
	/* Events of different tracks that belong together (a launch and its kernel) have equal
	 * numbers; 0 is none. NULL if no event of the block has one, or the cursor is brief. */
	const uint64_t *links;
};

struct sonde_event_cursor;

#define SONDE_EVENTS_BRIEF                                                                         \
	1u /* flag of a cursor: neither links nor attributes, which is faster                      \
	    */

/*
 * A cursor over the blocks that may have events in [from_ns, to_ns]; 0 and UINT64_MAX for all. The
 * first and last block may extend beyond. `flags` is 0 or SONDE_EVENTS_BRIEF. NULL without memory,
 * or for an invalid track; free it with sonde_event_cursor_free.
 */
struct sonde_event_cursor *sonde_event_cursor_new(const struct sonde_trace *trace, uint32_t track,
						  uint64_t from_ns, uint64_t to_ns, unsigned flags);
void sonde_event_cursor_free(struct sonde_event_cursor *cursor);
/* 1: *block is the next one; 0: there is none; negative: the file is damaged there, memory is
 * exhausted, or this build cannot decompress. */
int sonde_event_cursor_next(struct sonde_event_cursor *cursor, struct sonde_event_block *block,
			    struct sonde_db_error *error);

/* Column of an attribute in the cursor's block: values[count], and which events have one. Valid
 * until the cursor moves or returns another column. */
struct sonde_attribute_column {
	const uint64_t *values; /* of the key's type; 0 if the event has none */
	const bool *is_present; /* NULL: all events have it */
};
/* False if no event of the block has the attribute, or the cursor is brief. */
bool sonde_event_cursor_attribute(struct sonde_event_cursor *cursor, uint32_t key,
				  struct sonde_attribute_column *column);

/* What to draw in one pixel. */
struct sonde_pixel {
	uint32_t context; /* the one with most of the time, SONDE_NONE: no event */
	float busy;	  /* share of the pixel's time that any event took, 0 to 1 */
};

/*
 * Draws [from_ns, to_ns) of a track into pixels[count], left to right. Exact, except that 32
 * consecutive events (64 samples) that take less than four pixels are drawn as one, with the
 * context that took most of their time. 0, or a negative code as from a cursor. An invalid track
 * has no events.
 */
int sonde_trace_draw(const struct sonde_trace *trace, uint32_t track, uint64_t from_ns,
		     uint64_t to_ns, struct sonde_pixel *pixels, size_t count,
		     struct sonde_db_error *error);

#ifdef __cplusplus
}
#endif
#endif
