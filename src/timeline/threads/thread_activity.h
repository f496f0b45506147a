/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The innermost activity of the threads of a process: each thread's nested calls, flattened into
 * parts that lie in one call and none of its callees. One thread after the other, or all at once in
 * order of time. Memory is a block for each lane of one thread, or of all that run.
 */
#pragma once

#include "base/error.h"
#include "timeline/processes.h"
#include "sonde/trace.h"

struct sn_activity_part {
	uint64_t start_ns, end_ns;	     /* longer than nothing */
	uint64_t call_start_ns, call_end_ns; /* of the call that this is a part of */
	uint64_t link;			     /* of that call */
	uint32_t context, profile;
	/* Where the kernel was asked: how long the thread was blocked, without CPU because it
	 * waited, just before the end of the part, and just before its start where a call begins
	 * there. */
	uint64_t blocked_ns, blocked_before_ns;
	bool is_blocked; /* all of the part: of parts with samples alone (activity_flow.h) */
	bool is_sampled; /* what the context says comes from a sample */
};

/* Handles a part. Each thread in turn gives its parts in order of time. A negative result ends the
 * walk with it. */
typedef int sn_visit_part(void *data, const struct sn_activity_part *part);

/* The threads of the process that the profile (a stream, or one of its threads) belongs to; all
 * threads for SONDE_NONE. `flags` as of a cursor: brief ones have no links. */
int sn_activity_walk(const struct sn_processes *processes, uint32_t profile, unsigned flags,
		     sn_visit_part *visit, void *data, struct sn_error *error);

/* The same for [from_ns, to_ns) only, at a cost that depends on that window. Parts may extend
 * beyond it, and are not valid there. */
int sn_activity_walk_window(const struct sn_processes *processes, uint32_t profile,
			    uint64_t from_ns, uint64_t to_ns, unsigned flags, sn_visit_part *visit,
			    void *data, struct sn_error *error);

/* A thread stops doing one thing, or starts, or both. */
struct sn_activity_change {
	uint64_t time_ns;
	size_t thread;				      /* 0, 1, ... by profile */
	const struct sn_activity_part *ended, *begun; /* NULL: none; valid until the next call */
};

struct sn_activity_threads;

/* The threads of the process that the profile belongs to, without links; with what their samples
 * tell of the time between calls, as activity_flow.h says. 0 or a negative enum sn_err; free them
 * in either case. */
int sn_activity_threads_open(const struct sn_processes *processes, uint32_t profile,
			     bool with_samples, struct sn_activity_threads **threads,
			     struct sn_error *error);
void sn_activity_threads_free(struct sn_activity_threads *threads);
size_t sn_activity_threads_count(const struct sn_activity_threads *threads);
/* The number of the thread with that profile, SIZE_MAX: not of this process. */
size_t sn_activity_threads_find(const struct sn_activity_threads *threads, uint32_t profile);
/* When the next change is; UINT64_MAX once there is none. */
uint64_t sn_activity_threads_peek(const struct sn_activity_threads *threads);
/* In order of time, of equal times the lower thread's first. 1, 0 at the end, or a negative enum
 * sn_err. */
int sn_activity_threads_next(struct sn_activity_threads *threads, struct sn_activity_change *change,
			     struct sn_error *error);

/* Whether a call only waits for another thread: a lock, a queue, a poll, an array. */
bool sn_activity_is_waiting(const struct sonde_db *db, uint32_t context);
/* Whether it waits for an array of JAX, which a device computes, or other threads do. */
bool sn_activity_is_awaiting(const struct sonde_db *db, uint32_t context);
/* Whether it is the own work of the profiler that recorded the trace, told by names. */
bool sn_activity_is_recorder(const struct sonde_db *db, uint32_t context);
/* Whether samples met a kernel: a device that is a processor runs it on threads of this process, and
 * what they do is the device's work, not the host's. Told by PoCL's names. */
bool sn_activity_is_kernel(const struct sonde_db *db, uint32_t context);
/* Whether a call of a device's interface waits for the device. */
bool sn_activity_is_synchronizing(const struct sonde_db *db, uint32_t context);
/* Whether it asks whether the device has got somewhere, and does not wait: many do in a loop. */
bool sn_activity_is_asking(const struct sonde_db *db, uint32_t context);
/* Whether it is on the way to work of devices: an operator or generated function below which there
 * is some, a call of the interface that launches, or one that such an operator makes for it. */
bool sn_activity_is_dispatching(const struct sonde_db *db, uint32_t context);
/* Whether it does neither. `known`, by context, is the caller's cache, zero at first. */
bool sn_activity_does_something(const struct sonde_db *db, uint8_t *known, uint32_t context);
