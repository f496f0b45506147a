/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of threads and processors from the scheduler's events: a thread runs, is ready, or is
 * blocked; a processor runs a thread.
 *
 *            switched in                       woken
 *   READY ───────────────> RUNNING   BLOCKED ─────────> READY
 *     ^                     │    │      ^
 *     └─── switched out, ───┘    └──────┘ switched out, waiting
 *          could go on
 *
 * A thread that is switched out is blocked until it is woken; without a wakeup, until it runs
 * again. A thread's state is UNKNOWN before its first event, after its last one, and where events
 * were lost; it is never guessed.
 *
 * There are two interfaces. Files of other tools have switches and wakeups by number of thread and
 * processor, in order of time: sn_sched_switch and similar functions keep the threads and
 * processors. Sonde's recordings have more data of a thread (state.h), and keep their threads
 * themselves: they pass the thread to sn_sched_run and similar functions.
 */
#pragma once

#include "base/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_sched_state { SN_SCHED_UNKNOWN, SN_SCHED_RUNNING, SN_SCHED_READY, SN_SCHED_BLOCKED };

/* "unknown", "running", "ready", "blocked". */
const char *sn_sched_state_name(enum sn_sched_state state);
/* "interruptible", "uninterruptible", "stopped", ...: why a thread is blocked. */
const char *sn_sched_reason(char why);
/* The letter of prev_state in sched_switch; 0 could continue. */
char sn_sched_letter(uint64_t state, bool *could_go_on);

struct sn_sched_thread {
	uint32_t tid;
	enum sn_sched_state state;
	char why; /* of BLOCKED: 'S' can be interrupted, 'D' not, 'T', 't', 'X', 'Z', 'P', 'I' */
	uint32_t cpu;	   /* of RUNNING */
	uint32_t waker;	   /* of READY, if it was woken: by which thread; 0 unknown */
	uint64_t since_ns; /* 0: unknown */
};

struct sn_sched_processor {
	uint32_t tid; /* 0: idle, or not known */
	uint64_t since_ns;
};

/* An interval that is over. `processor` is UINT32_MAX for a thread's. */
struct sn_sched_interval {
	uint32_t processor, tid;
	struct sn_sched_thread thread; /* of a thread's: what its state was */
	uint64_t start_ns, end_ns;
};

/* Initialised by zeroes, the callback and its context. */
struct sn_sched {
	/* Called with each interval. 0, or a negative number that the caller gets. */
	int (*interval)(void *context, const struct sn_sched_interval *interval);
	void *context;
	bool has_unknown; /* also report intervals of UNKNOWN after a known state */
	struct sn_table tids;
	struct sn_sched_thread *threads;
	struct sn_sched_processor *processors;
	size_t thread_capacity, processor_count, processor_capacity;
	uint64_t last_ns, disorder; /* disorder: times before the thread's last one, put right */
};

#define SN_SCHED_PROCESSORS_MAX 65536u
/* A switch without the previous thread: the processor's last thread leaves it. */
#define SN_SCHED_UNTOLD		UINT32_MAX

void sn_sched_release(struct sn_sched *sched);

/* ---- by number; each 0, SN_ERR_MEMORY or what the callback returned ---- */

/* A processor goes from one thread to another; 0 is the idle thread. `could_go_on`: the first was
 * preempted; else it waits, `why` as above. */
int sn_sched_switch(struct sn_sched *sched, uint64_t time_ns, uint32_t cpu, uint32_t from,
		    bool could_go_on, char why, uint32_t to);
/* Only one of the two, if the other is unknown. */
int sn_sched_out(struct sn_sched *sched, uint64_t time_ns, uint32_t cpu, uint32_t tid,
		 bool could_go_on, char why);
int sn_sched_in(struct sn_sched *sched, uint64_t time_ns, uint32_t cpu, uint32_t tid);
int sn_sched_wake(struct sn_sched *sched, uint64_t time_ns, uint32_t tid, uint32_t waker);
/* Ends all open intervals at the last event. */
int sn_sched_finish(struct sn_sched *sched);

/* ---- by thread, which is the caller's; each 0 or what the callback returned ---- */

int sn_sched_run(struct sn_sched *sched, struct sn_sched_thread *thread, uint64_t time_ns,
		 uint32_t cpu);
int sn_sched_leave(struct sn_sched *sched, struct sn_sched_thread *thread, uint64_t time_ns,
		   bool could_go_on, char why);
int sn_sched_ready(struct sn_sched *sched, struct sn_sched_thread *thread, uint64_t time_ns,
		   uint32_t waker);
/* From now on its state is unknown. */
int sn_sched_forget(struct sn_sched *sched, struct sn_sched_thread *thread, uint64_t time_ns);
