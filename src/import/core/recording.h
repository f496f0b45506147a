/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What importers of recorded activities share: calls on threads, and what they started on devices.
 * A file (or several that make one recording) is read in three steps:
 *
 *   the importer           every activity to its line (a thread or a stream), with its name,
 *                          category and attributes, into a sorter (trace/sorter.h)
 *   recording_thread.c     each thread in order of time: what is nested in what gives calling
 *                          contexts; backward operators go under the forward ones that caused them
 *   recording_device.c     each stream: a kernel goes under the call that launched it, by
 *                          correlation
 *   recording_graph.c      what a replayed graph runs goes under the path that captured it, below
 *                          the one that replays it
 *   recording_dataflow.c   operators become nodes of a graph, where the importer wants one
 *   recording_order.c      where the file has no correlation at all, by the order of launches
 *   recording_nested.c     each line of a device that runs a program by itself
 *
 * Use: sn_recording_begin; for each file sn_recording_open, sn_recording_line, _name and _add for
 * each activity, sn_recording_build; then sn_recording_finish and sn_recording_release.
 *
 * Nothing is matched by Kineto's "External id": it means the operator in some versions and the
 * correlation in others, and flow arrows, of which many ends have no start, are not needed.
 */
#ifndef SN_IMPORT_RECORDING_H
#define SN_IMPORT_RECORDING_H

#include "base/intern.h"
#include "base/vec.h"
#include "recording_order.h"
#include "totals.h"
#include "trace/sorter.h"
#include "trace/writer.h"

#include <string.h>

enum sn_activity_category {
	SN_ACTIVITY_OTHER, /* any that is not known: an interval of its thread */
	SN_ACTIVITY_OPERATOR,
	SN_ACTIVITY_ANNOTATION,
	SN_ACTIVITY_PYTHON,
	SN_ACTIVITY_API,
	SN_ACTIVITY_OVERHEAD,
	SN_ACTIVITY_SYSTEM,  /* a call of the operating system's libraries */
	SN_ACTIVITY_RANGE,   /* begins and ends anywhere: calls nothing, is called by nothing */
	SN_ACTIVITY_INSTANT, /* has no length */
	SN_ACTIVITY_KERNEL,  /* from here on on a device */
	SN_ACTIVITY_COPY,
	SN_ACTIVITY_FILL,
	SN_ACTIVITY_DEVICE_ANNOTATION,
	SN_ACTIVITY_DEVICE_OTHER,
	SN_ACTIVITY_CATEGORIES
};

enum sn_activity_metric {
	SN_ACTIVITY_REAL_TIME,
	SN_ACTIVITY_API_TIME,
	SN_ACTIVITY_RANGE_TIME,
	SN_ACTIVITY_KERNEL_TIME,
	SN_ACTIVITY_COPY_TIME,
	SN_ACTIVITY_FILL_TIME,
	SN_ACTIVITY_COPY_BYTES,
	SN_ACTIVITY_FILL_BYTES,
	SN_ACTIVITY_BLOCKS,
	SN_ACTIVITY_BLOCK_THREADS,
	SN_ACTIVITY_REGISTERS,
	SN_ACTIVITY_SHARED_BYTES,
	SN_ACTIVITY_ALLOC,
	SN_ACTIVITY_FREE,
	SN_ACTIVITY_SAMPLES,
	SN_ACTIVITY_STATE_TIME,
	SN_ACTIVITY_ALLOCATED, /* counters */
	SN_ACTIVITY_RESERVED,
	SN_ACTIVITY_METRICS
};

/* A category and a name; what events are of. */
struct sn_recording_name {
	uint32_t category; /* enum sn_activity_category */
	uint32_t text;	   /* builder's string */
	uint32_t within;   /* one more than the number of a name; see sn_recording_name_within */
};

/* What the text of a name says; found out once, as names are few and events are many. */
enum sn_recording_trait {
	SN_RECORDING_BACKWARD = 1, /* an operator of a backward pass */
	SN_RECORDING_MEMORY = 2,   /* an allocation or release */
	SN_RECORDING_GRAPH_LAUNCH = 4,
	SN_RECORDING_BEGINS_CAPTURE = 8, /* of a graph */
	SN_RECORDING_ENDS_CAPTURE = 16,
};

/* Attributes that the importer itself looks at; the others are only passed on. */
enum sn_recording_key {
	SN_RECORDING_KEY_VALUE,
	SN_RECORDING_KEY_SEQUENCE,
	SN_RECORDING_KEY_FORWARD_THREAD,
	SN_RECORDING_KEY_BYTES,
	SN_RECORDING_KEY_GRID_X,
	SN_RECORDING_KEY_GRID_Y,
	SN_RECORDING_KEY_GRID_Z,
	SN_RECORDING_KEY_BLOCK_X,
	SN_RECORDING_KEY_BLOCK_Y,
	SN_RECORDING_KEY_BLOCK_Z,
	SN_RECORDING_KEY_REGISTERS,
	SN_RECORDING_KEY_SHARED,
	SN_RECORDING_KEY_ALLOCATED,
	SN_RECORDING_KEY_RESERVED,
	SN_RECORDING_KEYS
};

/* Which thread (process, thread, 0) or stream (device, context, stream) a line is. Streams of
 * several processes are told apart by `process`, where the file has several. */
struct sn_recording_place {
	int64_t is_device, first, second, third, process;
};

/* A thread or a stream. */
struct sn_recording_line {
	bool is_device, is_processor;
	bool nests;	  /* of a device: its events contain each other, nothing launched them */
	uint32_t profile; /* builder's, once it is made */
	uint32_t name;	  /* builder's string, or SONDE_NONE */
	uint32_t program; /* the same; SONDE_NONE: that of the recording */
	uint32_t host;	  /* the same */
	int32_t rank;	  /* -1: that of the file */
	int64_t pid, tid; /* -1: not a number, then the name is the text */
	uint32_t device, context, stream, process;
	uint64_t forward_count; /* operators that a backward pass may refer to */
	uint64_t start_ns, end_ns, event_count;
};

/* An API call that may have started something. */
struct sn_recording_launch {
	uint64_t correlation;
	uint32_t context;
	uint32_t node;	/* of the graph: sn_dataflow_operator */
	bool is_within; /* a frame that its name brought along */
	bool is_graph;	/* it launched a graph: what runs was captured elsewhere */
};

/* Something that was not run but captured into a graph. */
struct sn_recording_captured {
	uint32_t context; /* of the call */
	uint32_t name; /* builder's string: the kernel's; SONDE_NONE where the call does not say */
	uint32_t category; /* enum sn_activity_category */
};

/* Graphs that were captured, of all files; recording_graph.c. */
struct sn_recording_capture {
	uint32_t first, count; /* captured */
	uint32_t context;      /* of the call that began it */
};

struct sn_recording_graphs {
	struct sn_recording_capture *captures;
	struct sn_recording_captured *captured;
	size_t capture_count, capture_capacity, captured_count, captured_capacity;
	uint32_t kernel_key, node_key, how_key; /* attributes; the writer's */
	uint64_t matched, unmatched;
};

/* An operator of the forward pass. */
struct sn_recording_forward {
	uint32_t next; /* with this sequence number; SONDE_NONE */
	uint32_t line, context, name;
	uint32_t node; /* of the graph: sn_dataflow_operator */
	uint64_t start_ns;
};

/* Operations that one launch of a graph started on one stream, until they are placed. */
struct sn_recording_replay {
	uint64_t correlation;
	uint32_t launch;	 /* context */
	struct sn_event *events; /* context is a name's number; attributes by position in `items` */
	size_t count, capacity;
	struct sn_attribute *items;
	size_t item_count, item_capacity;
	uint64_t used_correlation; /* what of the capture the streams before had, */
	uint32_t used_capture;	   /* where one launch has several */
	bool *used;
	size_t used_capacity;
};

#define SN_RECORDING_RECENT 16

struct sn_recording {
	const char *source; /* who measured: of all metrics */
	struct sn_db_builder *builder;
	struct sn_trace_writer *writer;
	uint32_t metrics[SN_ACTIVITY_METRICS]; /* SONDE_NONE before the first use */
	uint32_t keys[SN_RECORDING_KEYS];
	struct sn_totals totals;
	struct sn_recording_graphs graphs;
	struct sn_recording_replay replay;
	struct sn_order order;	      /* of calls and operations without a correlation */
	struct sn_dataflow *dataflow; /* NULL: no graph of operators is made */
	struct sn_intern ranks;	      /* of files that were read, int32_t */
	uint32_t *rank_counts;
	size_t rank_capacity;
	const char *first_path;
	uint64_t unread, unlaunched, misplaced, file_count;
	uint64_t start_ns, end_ns; /* of all files */
	uint32_t host, program;	   /* builder's strings */
	/* of the file being read */
	const char *path;
	struct sn_sorter *sorter;
	struct sn_intern names; /* struct sn_recording_name */
	uint32_t *frames;	/* by name: builder's frame, SONDE_NONE not made yet */
	uint8_t *traits;	/* by name: enum sn_recording_trait */
	uint32_t *text_names;	/* by builder's string: one more than a name of that text; 0 */
	struct sn_intern places;
	uint32_t
	    recent_lines[SN_RECORDING_RECENT]; /* by a hash of the place: one more than a line */
	struct sn_recording_line *lines;
	struct sn_recording_launch *launches;
	struct sn_intern sequences; /* sequence number: forward_heads */
	uint32_t *forward_heads;
	struct sn_recording_forward *forwards;
	size_t frame_capacity, trait_capacity, text_name_count, text_name_capacity, line_capacity,
	    launch_count, launch_capacity, head_capacity, forward_count, forward_capacity;
	bool are_launches_ordered;
	size_t last_launch; /* found */
	int64_t base_ns;    /* added to all times; may become known last */
	int32_t rank;
	uint32_t run;
	int64_t pid; /* of most operators and API calls; -1 unknown */
};

/* `recording` is uninitialised; `source` outlives it. */
void sn_recording_begin(struct sn_recording *recording, const char *source,
			struct sn_db_builder *builder, struct sn_trace_writer *writer);
/* What is known of the whole: who was measured, when, and what of it could not be placed. */
void sn_recording_finish(struct sn_recording *recording);
void sn_recording_release(struct sn_recording *recording);

/* Sets about a file: numbers of lines and names begin anew. */
int sn_recording_open(struct sn_recording *recording, const char *path, struct sn_error *error);
/* Makes profiles, contexts and events of what was added. `path_count`: how many files there are. */
int sn_recording_build(struct sn_recording *recording, size_t path_count, struct sn_error *error);

/* The line at that place, new where it is; valid until the next one is. NULL without memory. */
struct sn_recording_line *sn_recording_line(struct sn_recording *recording,
					    const struct sn_recording_place *place);
/* The number of a name; 0 or SN_ERR_MEMORY. */
int sn_recording_name_number(struct sn_recording *recording, enum sn_activity_category category,
			     const char *text, size_t length, uint32_t *number);
/* The same by a string of the builder. */
int sn_recording_name_text(struct sn_recording *recording, enum sn_activity_category category,
			   uint32_t text, uint32_t *number);
/*
 * The same for what stands below the frame of another name, whatever calls or launches it: an
 * operation of a compiled program. `within` is that name's number; its frame may be set in
 * recording->frames. What a call launched does not bring it along where the call did already.
 */
int sn_recording_name_within(struct sn_recording *recording, enum sn_activity_category category,
			     uint32_t text, uint32_t within, uint32_t *number);
/* The context below which events of that name stand, of one that calls or launches them. */
uint32_t sn_recording_under(struct sn_recording *recording, uint32_t parent, uint32_t name);

/*
 * While a file is read its base time is not known yet (it may come last), and times may lie before
 * it: those added are the file's plus this, and are made times since the Unix epoch by
 * sn_recording_time.
 */
#define SN_RECORDING_BIAS_NS (1ll << 61)

/*
 * Adds an event to a line. event->context is a name's number (for kind SONDE_TRACK_SAMPLES,
 * _STATES, _SYSTEM and _COUNTER a context of the builder), event->link a correlation,
 * equal in a call and what it started, 0 none; kind is SONDE_TRACK_INTERVALS for all else;
 * event->profile is set here.
 */
void sn_recording_add(struct sn_recording *recording, struct sn_recording_line *line,
		      struct sn_event *event);

/* The builder's metric; made when it is first used, so that reports show no empty ones. */
uint32_t sn_recording_metric(struct sn_recording *recording, enum sn_activity_metric metric);
/* The writer's number of an attribute. */
uint32_t sn_recording_attribute_key(struct sn_recording *recording, const char *name, size_t length,
				    enum sonde_attribute_type type);
static inline struct sn_recording_name sn_recording_name(const struct sn_recording *recording,
							 uint32_t name)
{
	struct sn_recording_name found;
	memcpy(&found, recording->names.bytes + name * sizeof(found), sizeof(found));
	return found;
}
/* Whether a name has that trait. */
static inline bool sn_recording_is(const struct sn_recording *recording, uint32_t name,
				   enum sn_recording_trait trait)
{
	return recording->traits[name] & trait;
}
/* The builder's frame for a name. */
uint32_t sn_recording_frame(struct sn_recording *recording, uint32_t name);
/* The value of an attribute of the event; false without. */
bool sn_recording_attribute(const struct sn_recording *recording, const struct sn_event *event,
			    enum sn_recording_key key, uint64_t *value);
uint64_t sn_recording_time(struct sn_recording *recording, uint64_t raw_ns);
/* Makes the line's profile. */
void sn_recording_profile(struct sn_recording *recording, struct sn_recording_line *line);
/* A number for what events of this file have in common; never 0, and of no other file. */
uint64_t sn_recording_link(const struct sn_recording *recording, uint64_t correlation);

/* recording_graph.c. A call of a device's interface on a thread: begins or ends a capture, or is
 * captured. `capture`: of that thread, SONDE_NONE while there is none. 0 or SN_ERR_MEMORY. */
int sn_recording_graph_call(struct sn_recording *recording, const struct sn_event *event,
			    uint32_t context, uint32_t *capture);
/* The traits that a text has of those. */
unsigned sn_recording_graph_traits(const char *text);

int sn_recording_replay_add(struct sn_recording_replay *replay, const struct sn_event *event);
/*
 * Finds out what each event is of the captures. parents[i]: below which context it belongs: that of
 * its call at capture, below the launch; the launch itself where it was not captured in these
 * files. Events get an attribute that says how they were matched. 0 or SN_ERR_MEMORY.
 */
int sn_recording_replay_match(struct sn_recording *recording, struct sn_recording_replay *replay,
			      uint32_t *parents);
void sn_recording_replay_release(struct sn_recording_replay *replay);

/* All events of a thread, all of whose line is known, into builder and writer. */
int sn_recording_thread(struct sn_recording *recording, uint32_t line, struct sn_error *error);
/* The same for a stream; all threads must be done. */
int sn_recording_device(struct sn_recording *recording, uint32_t line, struct sn_error *error);
/* The same for a line of a device whose events contain each other (recording_nested.c). */
int sn_recording_nested(struct sn_recording *recording, uint32_t line, struct sn_error *error);

#endif
