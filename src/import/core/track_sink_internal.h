/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the track sink (track_sink.h): calls on threads, and what they started on devices.
 *
 *   track_add.c        passes what importers add to a sorter (trace/sorter.h), by track
 *   track_name.c       names of events with their frames, keys, metrics
 *   track_state.c      the scheduler's switches become states
 *   track_build.c      at the end of a file, each track in order of time, with these:
 *   track_thread.c       a thread: its nesting gives calling contexts; backward operators go below
 *                        the forward ones that caused them
 *   track_device.c       a stream: a kernel goes below the call that launched it, by correlation
 *   track_graph.c        a replayed graph: its operations go below the launch, on the path that
 *                        captured them
 *   track_order.c        a file without correlations: kernels by the order of launches
 *   track_nested.c       a device that runs a program by itself
 *   track_dataflow.c   operators become nodes of a graph, if the importer wants one
 *
 * Nothing is matched by Kineto's "External id": it means the operator in some versions and the
 * correlation in others, and flow arrows, of which many ends have no start, are not needed.
 */
#pragma once

#include "base/arena.h"
#include "base/intern.h"
#include "base/table.h"
#include "base/vec.h"
#include "begin_end.h"
#include "totals.h"
#include "trace/sorter.h"
#include "track_order.h"
#include "track_sink.h"

#include <string.h>

enum sn_activity_metric {
	SN_ACTIVITY_REAL_TIME,
	SN_ACTIVITY_REAL_CALLS,
	SN_ACTIVITY_API_TIME,
	SN_ACTIVITY_RANGE_TIME,
	SN_ACTIVITY_KERNEL_TIME,
	SN_ACTIVITY_KERNEL_CALLS, /* of operations that contain each other */
	SN_ACTIVITY_COPY_TIME,
	SN_ACTIVITY_FILL_TIME,
	SN_ACTIVITY_GRAPH_TIME,
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

/* A name of events, with its category. */
struct sn_track_name {
	uint32_t category; /* enum sn_activity_category */
	uint32_t text;	   /* builder's string */
	uint32_t within;   /* one more than the number of a name; see sn_track_sink_name_within */
};

/* Properties of a name's text; computed once for each name, because names are few and events are
 * many. */
enum sn_track_trait {
	SN_TRAIT_BACKWARD = 1, /* an operator of a backward pass */
	SN_TRAIT_MEMORY = 2,   /* an allocation or release */
	SN_TRAIT_GRAPH_LAUNCH = 4,
	SN_TRAIT_BEGINS_CAPTURE = 8, /* of a graph */
	SN_TRAIT_ENDS_CAPTURE = 16,
	SN_TRAIT_STEP = 32, /* of the profiler: an iteration */
};

/* An API call that may have started something. */
struct sn_sink_launch {
	uint64_t correlation;
	uint32_t context;
	uint32_t node;	/* of the graph: of sn_dataflow_event */
	bool is_within; /* the context includes the frame that the name is below (`within`) */
	bool is_graph;	/* it launched a graph: its operations were captured elsewhere */
};

/* A call that was not run but captured into a graph. */
struct sn_sink_captured {
	uint32_t context; /* of the call */
	uint32_t name; /* builder's string: the kernel's; SONDE_NONE where the call does not say */
	uint32_t category; /* enum sn_activity_category */
};

/* A graph that was captured in any of the files; track_graph.c. */
struct sn_sink_capture {
	uint32_t first, count; /* captured */
	uint32_t context;      /* of the call that began it */
	uint32_t file;	       /* of sn_sink_graphs.files */
};

/* A file's part in capturing and replaying graphs. */
struct sn_sink_graph_file {
	int64_t rank, pid;
	uint32_t run;
	uint32_t captured, launched; /* graphs */
	bool replays_others; /* it has operations that another file of its process captured */
};

struct sn_sink_graphs {
	struct sn_sink_capture *captures;
	struct sn_sink_captured *captured;
	struct sn_sink_graph_file *files; /* the last is being read */
	size_t capture_count, capture_capacity, captured_count, captured_capacity;
	size_t file_count, file_capacity;
	uint32_t kernel_key, node_key, how_key; /* attributes; the writer's */
	uint64_t matched, unmatched;
};

/* An operator of the forward pass. */
struct sn_sink_forward {
	uint32_t next; /* the next with this sequence number, or SONDE_NONE */
	uint32_t track, context, name;
	uint32_t node; /* of the graph: of sn_dataflow_event */
	uint64_t start_ns;
};

/* Operations that one launch of a graph started on one stream, until they are placed. */
struct sn_sink_replay {
	uint64_t correlation;
	uint32_t launch;	  /* context */
	struct sn_event **events; /* whose context is a name's number */
	size_t count, capacity;
	struct sn_arena memory;	   /* of the events, and while they are matched */
	uint64_t used_correlation; /* what of the capture the streams before had, */
	uint32_t used_capture;	   /* where one launch has several */
	bool *used;
	size_t used_capacity;
};

/* The gradient that an operator computes or needs; many have none. */
struct sn_sink_gradient {
	uint64_t sequence; /* UINT64_MAX: none */
	bool is_backward;  /* it computes that gradient */
};

/* Events of a track on their way from the sorter to the writer; track_build.c. */
struct sn_sink_batch {
	uint32_t track;
	bool is_first, is_last;		    /* of the track */
	struct sn_event *events;	    /* as they were sorted */
	struct sn_sink_gradient *gradients; /* of the events of a thread */
	struct sn_attribute *attributes;
	size_t event_count, attribute_count, attribute_capacity;
	const struct sn_event **ready; /* for the writer: some of these, and some in `more` */
	size_t ready_count, ready_capacity;
	struct sn_arena more; /* events and attributes that were made or changed here */
	char apart[128]; /* the next batch, another thread's, gets no part of this cache line */
};

#define SN_SINK_RECENT 16

enum sn_sink_loss {
	SN_SINK_UNLAUNCHED,
	SN_SINK_UNREAD,
	SN_SINK_UNTIMED,
	SN_SINK_UNPAIRED,
	SN_SINK_UNENDED,
	SN_SINK_LOSSES
};

struct sn_track_sink {
	const char *source; /* of all metrics: who measured */
	struct sn_db_builder *builder;
	struct sn_trace_writer *writer;
	unsigned jobs; /* threads, as the user wants; 0: one for each processor */
	uint32_t metrics[SN_ACTIVITY_METRICS]; /* SONDE_NONE before the first use */
	uint32_t keys[SN_TRACK_KEYS];
	uint32_t real_value_key; /* SONDE_NONE before the first use */
	struct sn_totals totals;
	struct sn_sink_graphs graphs;
	struct sn_sink_replay replay;
	struct sn_order order;	      /* of calls and operations without a correlation */
	struct sn_dataflow *dataflow; /* NULL: no graph of operators is made */
	struct sn_table ranks;	      /* of files that were read: the number of files of each */
	const char *first_path;
	uint64_t losses[SN_SINK_LOSSES];
	uint64_t file_count;
	uint64_t start_ns, end_ns; /* of all files */
	uint32_t host, program;	   /* builder's strings */
	/* of the file being read */
	const char *path;
	struct sn_sorter *sorter;
	struct sn_intern names;	 /* struct sn_track_name */
	uint32_t *frames;	 /* by name: builder's frame, SONDE_NONE not made yet */
	uint8_t *traits;	 /* by name: enum sn_track_trait */
	uint32_t *text_names;	 /* by builder's string: one more than a name of that text; 0 */
	struct sn_intern places; /* struct sn_track_place */
	uint32_t recent_tracks[SN_SINK_RECENT]; /* by a hash of the place: one more than a track */
	struct sn_track *tracks;
	struct sn_sink_launch *launches;
	struct sn_table sequences; /* sequence number: the last of forwards */
	struct sn_table callees;   /* contexts of a thread's events: caller's context, name */
	struct sn_sink_forward *forwards;
	size_t frame_capacity, trait_capacity, text_name_count, text_name_capacity, track_capacity,
	    launch_count, launch_capacity, forward_count, forward_capacity;
	bool are_launches_ordered;
	size_t last_launch; /* found */
	struct sn_sink_batch *batch;
	struct sn_sink_thread *thread; /* NULL before the first */
	struct sn_sink_nested *nested; /* NULL before the first */
	struct sn_begins begins;
	struct sn_sink_states *states; /* NULL: nothing of the scheduler */
	bool has_thread_time_alone;    /* states of processors do not count as time */
	uint64_t last_ns;	       /* the file lasts at least until then; biased */
	const uint32_t *contexts;      /* of samples, by the number added in their place; or NULL */
	bool is_closed;
	int64_t base_ns; /* added to all times; may become known last */
	int32_t rank;
	uint32_t run;
	int64_t pid; /* of most operators and API calls; -1 unknown */
	uint64_t pid_votes;
};

/* The context that events of that name are below, if `parent` calls or launches them. */
uint32_t sn_sink_under(struct sn_track_sink *sink, uint32_t parent, uint32_t name);

/* Times in the sorter are the file's plus this; see track_add.c. */
#define SN_SINK_BIAS_NS	  SN_TRACK_TIME_MAX
/* `third` of the place of a processor's track. */
#define SN_SINK_PROCESSOR 3

/* Ends the begins that got no end, when the recording ends. */
int sn_sink_end_begun(struct sn_track_sink *sink);
/* track_state.c: what threads and processors do at the end of the file; forgets the scheduler. */
int sn_sink_states_finish(struct sn_track_sink *sink);
void sn_sink_states_release(struct sn_track_sink *sink);

/* Makes keys and forgets metrics. */
void sn_sink_make_keys(struct sn_track_sink *sink);
/* The builder's metric; made when it is first used, so that reports show no empty ones. */
uint32_t sn_sink_metric(struct sn_track_sink *sink, enum sn_activity_metric metric);
static inline struct sn_track_name sn_sink_name(const struct sn_track_sink *sink, uint32_t name)
{
	struct sn_track_name found;
	memcpy(&found, sink->names.bytes + name * sizeof(found), sizeof(found));
	return found;
}
/* Whether a name has that trait. */
static inline bool sn_sink_is(const struct sn_track_sink *sink, uint32_t name,
			      enum sn_track_trait trait)
{
	return sink->traits[name] & trait;
}
/* The builder's frame for a name. */
uint32_t sn_sink_frame(struct sn_track_sink *sink, uint32_t name);
/* The number of the iteration that a name marks, as "ProfilerStep#7" does; false: it marks none. */
bool sn_sink_iteration(const struct sn_track_sink *sink, uint32_t name, uint64_t *number);
/* The value of the event's attribute by the writer's key; false: it has none. */
static inline bool sn_sink_value(const struct sn_event *event, uint32_t key, uint64_t *value)
{
	for (unsigned i = 0; i < event->attribute_count; i++) {
		if (event->attributes[i].key != key)
			continue;
		*value = event->attributes[i].value;
		return true;
	}
	return false;
}
static inline bool sn_sink_attribute(const struct sn_track_sink *sink, const struct sn_event *event,
				     enum sn_track_key key, uint64_t *value)
{
	return sn_sink_value(event, sink->keys[key], value);
}
/* By the event's attributes and name. */
struct sn_sink_gradient sn_sink_gradient(const struct sn_track_sink *sink,
					 const struct sn_event *event);
uint64_t sn_sink_time(const struct sn_track_sink *sink, uint64_t raw_ns);
/* Makes the track's profile. */
void sn_sink_profile(struct sn_track_sink *sink, struct sn_track *track);
/* A new link number for events of this file; never 0, and used in no other file. */
uint64_t sn_sink_link(const struct sn_track_sink *sink, uint64_t correlation);

/* track_graph.c. A call of a device's interface on a thread: begins or ends a capture, or is
 * captured. `capture`: of that thread, SONDE_NONE while there is none. 0 or SN_ERR_MEMORY. */
int sn_sink_graph_call(struct sn_track_sink *sink, const struct sn_event *event, uint32_t context,
		       uint32_t *capture);
/* Before the calls of a file, whose rank, process and run are known. 0 or SN_ERR_MEMORY. */
int sn_sink_graph_file(struct sn_track_sink *sink);
/* After all files: tells the database which of them only explain others by their captures. */
void sn_sink_graph_finish(struct sn_track_sink *sink);
/* The traits of those about graphs that a text has. */
unsigned sn_sink_graph_traits(const char *text);

int sn_sink_replay_add(struct sn_sink_replay *replay, const struct sn_event *event);
/*
 * Matches each event with the captured calls. parents[i]: its parent context: that of its call at
 * capture, below the launch; the launch itself if the graph was not captured in these files. Events
 * get an attribute that says how they were matched. 0 or SN_ERR_MEMORY.
 */
int sn_sink_replay_match(struct sn_track_sink *sink, struct sn_sink_replay *replay,
			 uint32_t *parents);
void sn_sink_replay_release(struct sn_sink_replay *replay);

/* Builder and writer get all events of the file, which is closed. */
int sn_sink_build(struct sn_track_sink *sink, struct sn_error *error);
/* For the functions below: passes an event whose context is known to the writer. It and its
 * attributes lie in the batch, or in the batch's arena. */
void sn_sink_write(struct sn_track_sink *sink, const struct sn_event *event);
/* A copy in an arena, with room for one more attribute; NULL without memory. */
struct sn_event *sn_sink_copy(struct sn_arena *arena, const struct sn_event *event);

/* Events of a track in their order, which lose their names for contexts: of a thread, of a stream
 * (after all threads), of a device's track whose events contain each other. 0 or SN_ERR_MEMORY. */
int sn_sink_thread_begin(struct sn_track_sink *sink, uint32_t track);
int sn_sink_thread_event(struct sn_track_sink *sink, struct sn_event *event,
			 struct sn_sink_gradient gradient);
int sn_sink_thread_end(struct sn_track_sink *sink);
void sn_sink_thread_release(struct sn_track_sink *sink);
int sn_sink_device_begin(struct sn_track_sink *sink);
int sn_sink_device_event(struct sn_track_sink *sink, struct sn_event *event);
int sn_sink_device_end(struct sn_track_sink *sink);
int sn_sink_nested_event(struct sn_track_sink *sink, struct sn_event *event);
int sn_sink_nested_end(struct sn_track_sink *sink);
void sn_sink_nested_release(struct sn_track_sink *sink);
