/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface through which importers add the contents of a file: tracks, events, attributes,
 * counters, states, links and losses, in any order, in the clock of the file. The sink builds a
 * database's calling contexts, metrics and events from them.
 *
 *   struct sn_track_sink *sink = sn_track_sink_new("nsys", builder, writer);
 *   for each file
 *       sn_track_sink_open
 *       in any order: sn_track_sink_track, _name, _event, _begin, _end, _sample, _counter, ...
 *       sn_track_sink_close    no more events come; names of tracks and the like still may
 *       sn_track_sink_build
 *   sn_track_sink_finish, sn_track_sink_free
 *
 * A track is a row of a timeline: a thread, a stream of a device, a processor. The nesting of a
 * thread's events gives calling contexts. A link is a number that an API call and the device
 * operation that it started have in common: the operation goes below the call. If the file has
 * none, they are matched by order (track_order.c); operations of a replayed graph go below the call
 * that captured them (track_graph.c).
 *
 * Times are nanoseconds of the file's clock; sn_track_sink_set_base converts them to the Unix epoch
 * and may be called last. Events without a valid time (beyond SN_TRACK_TIME_MAX) are left out and
 * counted.
 *
 * Strings, frames, contexts and metrics are the builder's numbers, SONDE_NONE for none. Functions
 * that return int: 0 or a negative enum sn_err; without `error` that is SN_ERR_MEMORY. One thread.
 */
#pragma once

#include "format/database/database_writer.h"
#include "trace/event.h"
#include "trace/writer.h"

#define SN_TRACK_TIME_MAX (1ll << 61)

struct sn_import_request;
struct sonde_graph_model;
struct sn_track_sink;

/* ---- files ---- */

/* `source`, which outlives the sink, is the source of all metrics. Events go to the request's
 * writer, with its number of threads. NULL without memory. */
struct sn_track_sink *sn_track_sink_new(const char *source, struct sn_db_builder *builder,
					const struct sn_import_request *request);
void sn_track_sink_free(struct sn_track_sink *sink);
/* Begins a file: numbers of tracks and names start again. */
int sn_track_sink_open(struct sn_track_sink *sink, const char *path, struct sn_error *error);
/* Ends what is still open. */
int sn_track_sink_close(struct sn_track_sink *sink);
/* Makes profiles, contexts and events of the file; closes it if that was not done. `path_count`:
 * the number of files. */
int sn_track_sink_build(struct sn_track_sink *sink, size_t path_count, struct sn_error *error);
/* After the last file: adds properties of the whole, and what could not be read or placed. */
void sn_track_sink_finish(struct sn_track_sink *sink);

/* Operators become a graph for `sonde graph`, with the steps that annotations mark. Must come
 * before any file; reads the execution traces among the inputs (those with are_traces[i]). */
int sn_track_sink_make_graph(struct sn_track_sink *sink, const struct sn_import_request *request,
			     bool *are_traces, struct sn_error *error);
/* After the last file: adds models of execution traces for which no file has times. */
int sn_track_sink_finish_graph(struct sn_track_sink *sink, struct sn_error *error);

/* ---- who was measured ---- */

void sn_track_sink_set_host(struct sn_track_sink *sink, uint32_t host);
void sn_track_sink_set_program(struct sn_track_sink *sink, uint32_t program);
/* The whole is named after the program of the track with most events that has one. */
void sn_track_sink_set_busiest_program(struct sn_track_sink *sink);
/* Of the file being read: its rank, the process of tracks that have none (-1), and what is added to
 * its times. */
void sn_track_sink_set_rank(struct sn_track_sink *sink, int32_t rank);
void sn_track_sink_set_pid(struct sn_track_sink *sink, int64_t pid);
int64_t sn_track_sink_pid(const struct sn_track_sink *sink);
void sn_track_sink_set_base(struct sn_track_sink *sink, int64_t base_ns);
/* Nanoseconds since the Unix epoch. */
uint64_t sn_track_sink_time(const struct sn_track_sink *sink, int64_t time_ns);
/* Fills in a graph's program, rank and run. */
void sn_track_sink_sign(const struct sn_track_sink *sink, struct sonde_graph_model *model);

/* ---- tracks ---- */

/* The thread (process, thread, 0) or stream (device, context, stream) of a track. `process`
 * distinguishes streams of several processes in one file. */
struct sn_track_place {
	int64_t is_device, first, second, third, process;
};

/* A track; only the functions below change it. */
struct sn_track {
	bool is_device, is_processor;
	bool nests;	  /* of a device: its events contain each other, nothing launched them */
	uint32_t profile; /* builder's, once made */
	uint32_t name, program, host; /* builder's strings; SONDE_NONE: those of the whole */
	int32_t rank;		      /* -1: that of the file */
	int64_t pid, tid;	      /* -1: not a number, then the name is the text */
	uint32_t device, context, stream, process;
	uint64_t forward_count; /* operators that a backward pass may refer to */
	uint64_t start_ns, end_ns, event_count, sample_count;
};

/* The number of the track at that place, new where it is; SONDE_NONE without memory. */
uint32_t sn_track_sink_track(struct sn_track_sink *sink, const struct sn_track_place *place);
/* The same, SONDE_NONE where there is none. */
uint32_t sn_track_sink_find(const struct sn_track_sink *sink, const struct sn_track_place *place);
/* The track of a processor, for which threads it ran. */
uint32_t sn_track_sink_processor(struct sn_track_sink *sink, uint32_t cpu);
uint32_t sn_track_sink_count(const struct sn_track_sink *sink);
/* Valid until the next track is made. */
const struct sn_track *sn_track_sink_at(const struct sn_track_sink *sink, uint32_t track);
const struct sn_track_place *sn_track_sink_place(const struct sn_track_sink *sink, uint32_t track);
void sn_track_sink_name_track(struct sn_track_sink *sink, uint32_t track, uint32_t name);
void sn_track_sink_set_track_program(struct sn_track_sink *sink, uint32_t track, uint32_t program);
void sn_track_sink_set_track_rank(struct sn_track_sink *sink, uint32_t track, int32_t rank);
void sn_track_sink_set_track_pid(struct sn_track_sink *sink, uint32_t track, int64_t pid);
void sn_track_sink_set_track_tid(struct sn_track_sink *sink, uint32_t track, int64_t tid);
/* The track existed at that time, even without an event. */
void sn_track_sink_touch(struct sn_track_sink *sink, uint32_t track, int64_t time_ns);
/* The track is of a device that runs a program by itself: its events contain each other. */
void sn_track_sink_nest_track(struct sn_track_sink *sink, uint32_t track, bool nests);

/* ---- names of events ---- */

enum sn_activity_category {
	SN_ACTIVITY_OTHER, /* an unknown category: an interval of its thread */
	SN_ACTIVITY_OPERATOR,
	SN_ACTIVITY_ANNOTATION,
	SN_ACTIVITY_PYTHON,
	SN_ACTIVITY_API,
	SN_ACTIVITY_OVERHEAD,
	SN_ACTIVITY_SYSTEM,  /* a call of the operating system's libraries */
	SN_ACTIVITY_RANGE,   /* begins and ends anywhere, so it neither calls nor is called */
	SN_ACTIVITY_INSTANT, /* has no length; "[memory]" with `bytes` is an allocation */
	SN_ACTIVITY_KERNEL,  /* this and all following: on a device */
	SN_ACTIVITY_COPY,
	SN_ACTIVITY_FILL,
	SN_ACTIVITY_GRAPH, /* a launch of many operations as a whole */
	SN_ACTIVITY_DEVICE_ANNOTATION,
	SN_ACTIVITY_DEVICE_OTHER,
	SN_ACTIVITY_CATEGORIES
};

/* The number of a name of events of a category, within the file. */
int sn_track_sink_name(struct sn_track_sink *sink, enum sn_activity_category category,
		       const char *text, size_t length, uint32_t *number);
/* The same for a string of the builder. */
int sn_track_sink_name_string(struct sn_track_sink *sink, enum sn_activity_category category,
			      uint32_t text, uint32_t *number);
/*
 * The same for an event that is below the frame of another name, independent of its caller or
 * launch: an operation of a compiled program. `within` is the number of that name. If the launching
 * call already has that frame, the operation does not repeat it.
 */
int sn_track_sink_name_within(struct sn_track_sink *sink, enum sn_activity_category category,
			      uint32_t text, uint32_t within, uint32_t *number);
/* The builder's string of a name. */
uint32_t sn_track_sink_text(const struct sn_track_sink *sink, uint32_t name);
/* Sets a name's frame, if it is not the one that follows from category and text. */
void sn_track_sink_set_frame(struct sn_track_sink *sink, uint32_t name, uint32_t frame);

/* ---- attributes ---- */

/* Attributes that the sink itself uses. */
enum sn_track_key {
	SN_TRACK_KEY_VALUE,
	SN_TRACK_KEY_SEQUENCE,
	SN_TRACK_KEY_FORWARD_THREAD,
	SN_TRACK_KEY_BYTES,
	SN_TRACK_KEY_GRID_X,
	SN_TRACK_KEY_GRID_Y,
	SN_TRACK_KEY_GRID_Z,
	SN_TRACK_KEY_BLOCK_X,
	SN_TRACK_KEY_BLOCK_Y,
	SN_TRACK_KEY_BLOCK_Z,
	SN_TRACK_KEY_REGISTERS,
	SN_TRACK_KEY_SHARED,
	SN_TRACK_KEY_ALLOCATED,
	SN_TRACK_KEY_RESERVED,
	SN_TRACK_KEY_ITERATION, /* set by the sink: the number in the name of an iteration */
	SN_TRACK_KEYS
};

/* The writer's numbers of these; all are signed. */
const uint32_t *sn_track_sink_keys(const struct sn_track_sink *sink);
/* The number of any other attribute, which is only passed on. */
uint32_t sn_track_sink_key(struct sn_track_sink *sink, const char *name, size_t length,
			   enum sonde_attribute_type type);

/* Attributes that only an importer knows, by its own numbers. */
struct sn_track_key_name {
	const char *name;
	enum sonde_attribute_type type;
};
void sn_track_sink_make_keys(struct sn_track_sink *sink, const struct sn_track_key_name *names,
			     size_t count, uint32_t *keys);

/* The attributes of an event while it is put together; those for which there is no room are left
 * out. */
#define SN_TRACK_ATTRIBUTES_MAX 48
struct sn_track_attributes {
	uint16_t count;
	struct sn_attribute items[SN_TRACK_ATTRIBUTES_MAX];
};

static inline void sn_track_attributes_put(struct sn_track_attributes *attributes, uint32_t key,
					   uint64_t value)
{
	if (attributes->count < SN_TRACK_ATTRIBUTES_MAX)
		attributes->items[attributes->count++] = (struct sn_attribute){key, 0, value};
}

/* ---- events ---- */

struct sn_track_event {
	uint32_t track, name;
	int64_t start_ns, end_ns;
	uint64_t link; /* 0 none */
	const struct sn_attribute *attributes;
	uint16_t attribute_count;
};

/* Any event; for kinds without intervals event->name is a context; `metric` of a counter, else
 * SONDE_NONE. */
void sn_track_sink_add(struct sn_track_sink *sink, const struct sn_track_event *event,
		       uint16_t kind, uint32_t metric);
static inline void sn_track_sink_event(struct sn_track_sink *sink,
				       const struct sn_track_event *event)
{
	sn_track_sink_add(sink, event, SONDE_TRACK_INTERVALS, SONDE_NONE);
}
/* Adds a value of a metric at the context of a device operation. */
void sn_track_sink_value(struct sn_track_sink *sink, const struct sn_track_event *operation,
			 uint32_t metric, uint32_t key, double value);
/* A call path seen on a thread; event->name is a context. */
static inline void sn_track_sink_sample(struct sn_track_sink *sink,
					const struct sn_track_event *event)
{
	sn_track_sink_add(sink, event, SONDE_TRACK_SAMPLES, SONDE_NONE);
}
/* The same, but counts `value` of a metric in place of one sample. */
void sn_track_sink_weighted_sample(struct sn_track_sink *sink, const struct sn_track_event *event,
				   uint32_t metric, double value);
/* A sample without an event: only its value is added to the context. */
void sn_track_sink_cost(struct sn_track_sink *sink, uint32_t track, uint32_t context,
			uint32_t metric, double value);
/* An instant on a thread at a known call path; event->name is a context. */
void sn_track_sink_instant(struct sn_track_sink *sink, const struct sn_track_event *event);
/* Contexts of samples, costs and instants of the file are indices of this array, which is read when
 * the file is built: for paths that are resolved once all are known. */
void sn_track_sink_set_contexts(struct sn_track_sink *sink, const uint32_t *contexts);
/* A counter's metric, with this sink's source; its kind follows from the unit. */
uint32_t sn_track_sink_metric(struct sn_track_sink *sink, uint32_t name, const char *unit);
/* A metric's value at a time; `bits` are those of an int64_t or a double. */
void sn_track_sink_counter(struct sn_track_sink *sink, uint32_t track, uint32_t metric,
			   int64_t time_ns, bool is_real, uint64_t bits);

/*
 * An event in two parts. Those of one key nest: an end belongs to the last begin. A begin without
 * an end lasts until the end of the recording and is counted, as is an end without a begin.
 */
int sn_track_sink_begin(struct sn_track_sink *sink, const void *key, size_t key_bytes,
			const struct sn_track_event *event);

struct sn_track_end {
	const void *key;
	size_t key_bytes;
	int64_t time_ns;
	const struct sn_attribute *attributes; /* added to the begin's */
	uint16_t attribute_count;
	bool begin_prevails; /* where both have an attribute */
	/* If begins of one key need not nest: the end belongs to the last begin of this process and
	 * name, else to the last of this process. */
	bool is_async;
	int64_t pid;
	uint32_t name; /* builder's string; SONDE_NONE */
};

/* 1; 0 if it has no begin; or SN_ERR_MEMORY. */
int sn_track_sink_end(struct sn_track_sink *sink, const struct sn_track_end *end);
/* The recording lasts at least until then. */
void sn_track_sink_lasts(struct sn_track_sink *sink, int64_t time_ns);
/* The recording's end, as far as is known. */
int64_t sn_track_sink_last(const struct sn_track_sink *sink);

/* ---- the scheduler ---- */

/* The track of a thread that the scheduler knows by number, named where its name is known;
 * SONDE_NONE without memory. */
struct sn_track_threads {
	uint32_t (*track)(void *context, uint32_t tid);
	void *context;
	bool without_processors; /* only states of threads count as time */
};

struct sn_sched;

/* The state machine (system/scheduler.h) that turns switches and wakeups, in order of time by the
 * file's clock, into states of threads and processors. NULL without memory. */
struct sn_sched *sn_track_sink_scheduler(struct sn_track_sink *sink,
					 const struct sn_track_threads *threads);

/* ---- losses ---- */

/* Events of a kind that is not read. */
void sn_track_sink_unread(struct sn_track_sink *sink, uint64_t count);
uint64_t sn_track_sink_unread_count(const struct sn_track_sink *sink);
/* Events without a valid time, where the importer finds that out. */
void sn_track_sink_untimed(struct sn_track_sink *sink, uint64_t count);
/* Parts of events that cannot be joined, where the importer joins them. */
void sn_track_sink_unpaired(struct sn_track_sink *sink, uint64_t count);
void sn_track_sink_unended(struct sn_track_sink *sink, uint64_t count);
/* Losses of any other cause; none if the count is 0. */
void sn_track_sink_lost(struct sn_track_sink *sink, const char *cause, const char *text,
			uint64_t count);
