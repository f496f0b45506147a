/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All events of a profile in order of time with their attributes, for exporters of traces; and the
 * names of processes, threads and events in those formats.
 *
 * Of events that start together intervals come first, the longer before the shorter, then those of
 * the lower lane: a call before what it calls. Memory is a block for each track of a profile.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/table.h"
#include "sonde/trace.h"

#include <stdbool.h>

struct sn_walk_attribute {
	uint32_t key, at; /* of the trace; place in the block */
	uint64_t value;	  /* as the key's type says */
};

struct sn_walk_event {
	uint64_t start_ns, end_ns, link;
	uint32_t context, metric; /* SONDE_NONE but for a counter */
	uint16_t kind;		  /* enum sonde_track_kind */
	uint32_t attribute_count;
	const struct sn_walk_attribute
	    *attributes; /* by name and type; valid until the next event */
};

/* Called with each event: 0, or a code that ends the walk. */
typedef int sn_event_visit(void *context, const struct sn_walk_event *event);

struct sn_trace_export;

/* Calls `visit` with all events of a profile. 0 or a negative enum sn_err: for SN_ERR_MEMORY the
 * text is set; other codes of `visit` are returned unchanged. */
int sn_event_walk(struct sn_trace_export *export, uint32_t profile, sn_event_visit *visit,
		  void *context, struct sn_error *error);
/* The same, but only instants have their attributes, which determine their kind. */
int sn_event_walk_brief(struct sn_trace_export *export, uint32_t profile, sn_event_visit *visit,
			void *context, struct sn_error *error);

/* The process and thread under which viewers show a profile. Numbers of processes and threads that
 * were measured twice (by several hosts, one after another) are replaced by free ones, since in one
 * file they must be unique. */
struct sn_trace_place {
	uint64_t pid, tid;
	uint64_t device_pid; /* of a stream: where devices are "processes" */
	uint32_t process;    /* numbered from 0; profiles of one process share it */
	uint32_t device;     /* the same of devices; SONDE_NONE of a thread */
};

/* A database's trace while it is exported. */
struct sn_trace_export {
	const struct sonde_db *db;
	struct sonde_trace *trace;
	struct sn_trace_place *places; /* by profile */
	uint32_t process_count, device_count;
	unsigned char *uses; /* by context: enum sn_context_use, 0 unknown yet */
	/* Keys of attributes ordered by name and type, and the place of each key in that order. */
	uint32_t *keys, *key_places;
	struct sn_table iterated; /* frames of iterations of the profile, */
	uint64_t *iterations;	  /* and how many of each were written */
	size_t iteration_capacity;
	struct sn_arena arena; /* freed with this struct */
	uint32_t metrics[4];
	unsigned link_bits;  /* of the lower part of links */
	uint64_t link_group; /* least upper part */
	uint64_t origin_ns;  /* of the first event */
};

/* Opens the events of a database; SN_ERR_ARGUMENT if there are none. */
int sn_trace_export_open(struct sn_trace_export *export, const struct sonde_db *db,
			 const char *path, struct sn_error *error);
void sn_trace_export_close(struct sn_trace_export *export);
/* Whether there are events of a profile. */
bool sn_trace_export_has(const struct sn_trace_export *export, uint32_t profile);
/* Whether a profile is a device's stream. */
bool sn_trace_export_is_device(const struct sn_trace_export *export, uint32_t profile);
/* Called before the events of each profile. */
void sn_trace_export_begin(struct sn_trace_export *export);

/* A small number for a link, the same after an import; 0 none. */
uint64_t sn_trace_export_link(const struct sn_trace_export *export, uint64_t link);

/* The frame of a context. */
static inline const struct sonde_db_frame *
sn_trace_export_frame(const struct sn_trace_export *export, uint32_t context)
{
	return sonde_db_frame(export->db, sonde_db_context(export->db, context)->frame);
}

/* The category of torch.profiler for an event: "cpu_op", "kernel", "range", ... */
const char *sn_trace_export_category(struct sn_trace_export *export,
				     const struct sn_walk_event *event, bool is_device);
/* Whether the event is an interval without callees that may overlap with calls. */
bool sn_trace_export_is_range(struct sn_trace_export *export, const struct sn_walk_event *event);
/* Whether the event is of memory: its context is its cause. */
bool sn_trace_export_is_memory(const struct sn_trace_export *export,
			       const struct sn_walk_event *event);
/* The name of an event, as torch.profiler has it: "train.py(12): step", "ProfilerStep#3".
 * Iterations are numbered in order of the calls: call it once for each event. */
void sn_trace_export_name(struct sn_trace_export *export, const struct sn_walk_event *event,
			  char *text, size_t size);
/* Whether the name is that of the frame alone, the same for each event of a context. */
bool sn_trace_export_has_own_name(const struct sn_trace_export *export,
				  const struct sn_walk_event *event);
/* "rank 3, host node7": distinguishes a process from others; "" if unknown. */
void sn_trace_export_label(const struct sn_trace_export *export, uint32_t profile, char *text,
			   size_t size);
