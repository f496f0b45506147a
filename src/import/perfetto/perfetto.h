/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the importer of Perfetto's traces share. A trace is packets of many writers,
 * each a sequence with its own interned texts and clocks:
 *
 *   perfetto.c           the file and its packets, each to the reader of its kind
 *   perfetto_clock.c     all clocks to nanoseconds since the Unix epoch
 *   perfetto_interned.c  texts, frames and call paths by number, per sequence
 *   perfetto_track.c     tracks to threads, streams and rows of their own; slices that nest
 *   perfetto_event.c     track events with their annotations; samples
 *   perfetto_gpu.c       render stages: kernels and copies of GPUs
 *   perfetto_rocm.c      the same of rocprofv3, which are track events
 *   perfetto_sched.c     the scheduler's switches: states of threads, what ran on each CPU
 *
 * The file is read twice: descriptions of tracks, processes and clocks may come after what they
 * describe. Numbers of fields are those of protos/perfetto/trace of google/perfetto.
 */
#pragma once

#include "base/intern.h"
#include "import/core/importer.h"
#include "import/core/protobuf.h"
#include "import/core/track_sink.h"
#include "trace/sorter.h"

#define SN_PERFETTO_ATTRIBUTES_MAX 256

enum sn_perfetto_clock_id {
	SN_PERFETTO_REALTIME = 1,
	SN_PERFETTO_MONOTONIC = 3,
	SN_PERFETTO_BOOTTIME = 6,
};

/* ---- clocks ---- */

/* The same instant by a clock and by CLOCK_BOOTTIME, the base of all. */
struct sn_perfetto_instant {
	uint64_t clock_ns, boot_ns;
};

/* A clock of the trace, or of a sequence. */
struct sn_perfetto_clock {
	uint32_t id;
	bool is_incremental;
	uint64_t unit_ns;
	uint64_t last_ns; /* of an incremental one */
	struct sn_perfetto_instant *instants;
	size_t count, capacity;
};

struct sn_perfetto_clocks {
	struct sn_perfetto_clock items[16];
	size_t count;
	int64_t to_real_ns; /* from the base to the Unix epoch */
	bool has_real;
};

/* ---- sequences ---- */

enum sn_perfetto_kind { /* the field of InternedData */
			SN_PERFETTO_CATEGORY = 1,
			SN_PERFETTO_NAME = 2,
			SN_PERFETTO_ANNOTATION = 3,
			SN_PERFETTO_FUNCTION = 5,
			SN_PERFETTO_FRAME = 6,
			SN_PERFETTO_CALLSTACK = 7,
			SN_PERFETTO_BUILD_ID = 16,
			SN_PERFETTO_PATH = 17,
			SN_PERFETTO_SOURCE = 18,
			SN_PERFETTO_MAPPING = 19,
			SN_PERFETTO_GRAPHICS_CONTEXT = 23,
			SN_PERFETTO_GPU_STAGE = 24,
			SN_PERFETTO_STRING = 29,
			SN_PERFETTO_KERNEL = 1000,
			SN_PERFETTO_ARGUMENT = 1001,
};

struct sn_perfetto_item {
	uint32_t value; /* builder's string, frame, module or context by kind */
	uint32_t category;
	uint32_t keys[5]; /* of an annotation's name: attribute by type, one more; 0 not known */
};

struct sn_perfetto_sequence {
	struct sn_intern numbers; /* {kind, iid} */
	struct sn_perfetto_item *items;
	size_t item_capacity;
	struct sn_perfetto_clocks clocks; /* its own: 64 to 127 */
	uint32_t default_clock;		  /* 0: that of the trace */
	uint64_t default_track;
	bool has_default_track;
	uint64_t counter_tracks[16]; /* for extra values */
	size_t counter_track_count;
	int64_t pid, tid;  /* of a descriptor in it; -1 */
	int64_t legacy_us; /* time of old events */
	bool has_legacy_time;
};

/* ---- tracks ---- */

/* An interval that is open; or that has ended and waits, because an outer one that ends at the same
 * time must be added first. */
struct sn_perfetto_slice {
	struct sn_track_event event;
	struct sn_attribute *attributes;
	size_t capacity;
};

struct sn_perfetto_track {
	uint64_t uuid, parent;
	bool has_thread, has_process, is_counter, is_incremental, is_merged;
	int64_t pid, tid;
	uint32_t name, unit; /* builder's strings; SONDE_NONE */
	int64_t multiplier, sum;
	/* once asked for: */
	uint32_t number; /* the sink's; SONDE_NONE before */
	bool is_beside;	 /* its slices call nothing: others overlap with them */
	uint32_t metric; /* SONDE_NONE before */
	/* items[0 .. open - 1] are open, those up to `total` have ended at `ended_ns` */
	struct sn_perfetto_slice *items;
	size_t open, total, capacity;
	uint64_t ended_ns;
};

/* What is known of a process. */
struct sn_perfetto_process {
	uint32_t name; /* builder's, SONDE_NONE */
};

struct sn_perfetto_thread {
	uint32_t name; /* SONDE_NONE */
	int64_t pid;   /* -1 */
};

#define SN_PERFETTO_PACKETS 1024

struct sn_perfetto {
	struct sn_db_builder *builder;
	struct sn_track_sink *sink;
	struct sn_perfetto_clocks clocks;
	struct sn_intern sequence_ids, track_ids, process_ids, thread_ids, siblings;
	struct sn_perfetto_sequence *sequences;
	struct sn_perfetto_track *tracks;
	struct sn_perfetto_process *processes;
	struct sn_perfetto_thread *threads;
	uint32_t *sibling_counts;
	size_t sequence_capacity, track_capacity, process_capacity, thread_capacity,
	    sibling_capacity;
	bool has_program;		      /* of the whole: that of the first process */
	uint64_t open_count;		      /* slices in all tracks */
	struct sn_sorter *switches;	      /* of the scheduler, by time */
	uint64_t unread[SN_PERFETTO_PACKETS]; /* packets by field */
	uint64_t undecoded, annotations_lost;
	uint32_t cpu_key;
};

/* A packet while it is looked at. */
struct sn_perfetto_packet {
	struct sn_perfetto_sequence *sequence;
	uint64_t timestamp;
	uint32_t clock;
	bool has_timestamp;
	struct sn_proto_field data; /* number 0: there is none */
};

/* Attributes of an event while it is put together. */
struct sn_perfetto_attributes {
	struct sn_attribute items[SN_PERFETTO_ATTRIBUTES_MAX];
	uint16_t count;
};

/* Clocks. A snapshot is taken by the trace (first pass), or by the sequence (second). */
int sn_perfetto_clock_snapshot(struct sn_perfetto *perfetto, struct sn_perfetto_clocks *clocks,
			       struct sn_proto snapshot, bool is_own);
void sn_perfetto_clocks_release(struct sn_perfetto_clocks *clocks);
/* The time by the Unix epoch of a clock's; false where it is not known or out of range. */
bool sn_perfetto_time(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
		      uint32_t clock, uint64_t time, uint64_t *time_ns);
/* That of a packet; call it once per packet, since it advances incremental clocks. */
bool sn_perfetto_packet_time(struct sn_perfetto *perfetto, const struct sn_perfetto_packet *packet,
			     uint64_t *time_ns);

/* Interned data. */
int sn_perfetto_intern(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
		       struct sn_proto interned);
/* NULL: the trace lost it. */
struct sn_perfetto_item *sn_perfetto_item(const struct sn_perfetto_sequence *sequence,
					  enum sn_perfetto_kind kind, uint64_t iid);
/* A builder's string; `lost` if the trace lost it. */
uint32_t sn_perfetto_text(struct sn_perfetto *perfetto, const struct sn_perfetto_sequence *sequence,
			  enum sn_perfetto_kind kind, uint64_t iid, const char *lost);
uint32_t sn_perfetto_string(struct sn_perfetto *perfetto, const struct sn_proto_field *field);
void sn_perfetto_forget(struct sn_perfetto_sequence *sequence);

/* Tracks. Those that return pointers: valid until the next is made, NULL without memory. */
int sn_perfetto_describe_track(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
			       struct sn_proto descriptor);
struct sn_perfetto_track *sn_perfetto_track(struct sn_perfetto *perfetto, uint64_t uuid);
/* By the thread's number alone, which is unique in the system. */
struct sn_perfetto_thread *sn_perfetto_thread(struct sn_perfetto *perfetto, int64_t tid);
/* Reads a thread's numbers, which are left as they are if it has none, and its name. */
int sn_perfetto_describe_thread(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
				struct sn_proto descriptor, int64_t *pid, int64_t *tid);
int sn_perfetto_process_tree(struct sn_perfetto *perfetto, struct sn_proto tree);
/* The sink's track of a thread; SONDE_NONE without memory. */
uint32_t sn_perfetto_thread_track(struct sn_perfetto *perfetto, int64_t pid, int64_t tid);
/* The process to which a track belongs; -1. */
int64_t sn_perfetto_track_pid(const struct sn_perfetto *perfetto,
			      const struct sn_perfetto_track *track);
/* Finds the sink's track of a track. 0 or SN_ERR_MEMORY. */
int sn_perfetto_place_track(struct sn_perfetto *perfetto, struct sn_perfetto_track *track);
/* Once all tracks are known: siblings of one name become one. */
int sn_perfetto_merge_tracks(struct sn_perfetto *perfetto);
int sn_perfetto_slice_begin(struct sn_perfetto *perfetto, struct sn_perfetto_track *track,
			    const struct sn_track_event *event);
/* More attributes may come with the end. */
int sn_perfetto_slice_end(struct sn_perfetto *perfetto, struct sn_perfetto_track *track,
			  uint64_t time_ns, const struct sn_perfetto_attributes *more);
/* What is still open lasts until the end of the trace. */
void sn_perfetto_end_slices(struct sn_perfetto *perfetto);
void sn_perfetto_tracks_release(struct sn_perfetto *perfetto);
/* Tells the sink's tracks of their processes, once all are there. */
void sn_perfetto_name_tracks(struct sn_perfetto *perfetto);

/* Events. 0 or SN_ERR_MEMORY. */
int sn_perfetto_track_event(struct sn_perfetto *perfetto, const struct sn_perfetto_packet *packet);
int sn_perfetto_perf_sample(struct sn_perfetto *perfetto, const struct sn_perfetto_packet *packet);
int sn_perfetto_profile(struct sn_perfetto *perfetto, const struct sn_perfetto_packet *packet);
int sn_perfetto_gpu_stage(struct sn_perfetto *perfetto, const struct sn_perfetto_packet *packet);
void sn_perfetto_add_attribute(struct sn_perfetto *perfetto,
			       struct sn_perfetto_attributes *attributes, uint32_t key,
			       uint64_t value);

/* Events of rocprofv3. The category of one by its text; SN_ACTIVITY_OTHER: it is of none. */
enum sn_activity_category sn_perfetto_rocm_category(const char *category);
/* The sink's track of a kernel or copy of that name on a row; SONDE_NONE without memory. */
uint32_t sn_perfetto_rocm_track(struct sn_perfetto *perfetto, const struct sn_perfetto_track *track,
				const char *name, const struct sn_perfetto_attributes *attributes);
/* Adds the bytes of a copy as all importers name them. */
void sn_perfetto_rocm_copy(struct sn_perfetto *perfetto, struct sn_perfetto_attributes *attributes);

/* The scheduler. */
int sn_perfetto_ftrace(struct sn_perfetto *perfetto, struct sn_proto bundle);
/* Turns the switches into states of threads. 0 or a negative enum sn_err. */
int sn_perfetto_sched(struct sn_perfetto *perfetto, struct sn_error *error);
