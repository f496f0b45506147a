/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of threads as recorded by the operating system: running, ready but waiting for a
 * processor, blocked and in what; who ended the waiting; which system calls they made; and which
 * threads processors ran. Exact sums over all events of tracks of states and of the system.
 */
#pragma once

#include "base/error.h"
#include "base/intern.h"
#include "sonde/trace.h"

enum sn_thread_state {
	SN_THREAD_RUNNING,
	SN_THREAD_READY,
	SN_THREAD_BLOCKED,
	SN_THREAD_UNKNOWN, /* records were lost */
	SN_THREAD_STATES
};

/* A thread, or a processor: then RUNNING is when it ran one of the threads. */
struct sn_thread_time {
	uint32_t profile;
	uint64_t start_ns, end_ns;
	uint64_t times_ns[SN_THREAD_STATES];
};

/* Time in one context of one profile: blocked in a call, or a processor's thread. */
struct sn_state_share {
	uint32_t profile, context;
	uint64_t time_ns, longest_ns, count;
};

/* How often one thread ended another's wait, and the total length of these waits. */
struct sn_wakeup_sum {
	uint32_t profile; /* who had waited */
	uint32_t waker;	  /* a thread's number, 0 an interrupt */
	uint64_t count, waited_ns;
};

/* All calls of one name, or requests, or interrupts: a context of a track of the system. Or page
 * faults, which have no length. */
struct sn_system_sum {
	uint32_t context;
	uint64_t count, error_count, time_ns, longest_ns, bytes;
	uint64_t results; /* of calls: the sum of results without error */
};

struct sn_thread_times {
	const struct sonde_db *db;
	struct sn_thread_time *threads; /* by profile; processors too */
	size_t thread_count, thread_capacity;
	struct sn_intern share_keys;   /* profile, context: */
	struct sn_state_share *shares; /* most first */
	size_t share_capacity;
	struct sn_intern wakeup_keys;  /* profile, waker: */
	struct sn_wakeup_sum *wakeups; /* most first */
	size_t wakeup_capacity;
	struct sn_intern system_keys;  /* context: */
	struct sn_system_sum *systems; /* most time first */
	size_t system_capacity;
};

/* 0 or a negative enum sn_err; release in either case. */
int sn_thread_times(const struct sonde_db *db, const struct sonde_trace *trace,
		    struct sn_thread_times *times, struct sn_error *error);
/* Whether instants of that context are page faults. */
bool sn_is_page_fault(const struct sonde_db *db, uint32_t context);
void sn_thread_times_release(struct sn_thread_times *times);

/* Whether there are events of threads from the operating system. */
bool sn_threads_are_known(const struct sonde_trace *trace);
/* Which state a context of a track of states says. */
enum sn_thread_state sn_state_of(const struct sonde_db *db, uint32_t context);
/* Whether a profile is a processor's, and whether a context says that a thread was blocked. */
bool sn_is_processor(const struct sonde_db *db, uint32_t profile);
bool sn_is_blocked(const struct sonde_db *db, uint32_t context);
/* The name of a context's frame, as recorded, and of the one above: states, calls, requests. */
const char *sn_state_name(const struct sonde_db *db, uint32_t context);
const char *sn_state_group(const struct sonde_db *db, uint32_t context);

/* Threads, or processors, by their running time, most first; the caller frees them. NULL without
 * memory. */
const struct sn_thread_time **sn_threads_by_running(const struct sn_thread_times *times,
						    bool are_processors, size_t *count);
/* All states together. */
double sn_thread_whole_ns(const struct sn_thread_time *thread);
/* What a thread was blocked in most, or NULL. */
const struct sn_state_share *sn_thread_worst(const struct sn_thread_times *times, uint32_t profile);
/* The profile of the thread of that number; SONDE_NONE. */
uint32_t sn_thread_profile(const struct sn_thread_times *times, uint32_t tid);
/* How many bytes system calls of one name have moved; NAN where they do not say. */
double sn_system_call_bytes(const struct sonde_db *db, const struct sn_system_sum *sum);
