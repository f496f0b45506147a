/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads and processors did, out of the scheduler's events that a file of another tool holds:
 * a thread runs, is ready, or is blocked; a processor runs a thread.
 *
 * A thread that is switched out is ready if it could have gone on, else blocked until it is woken;
 * without a wakeup, until it runs again. What it did before its first event is not known and is not
 * guessed. Events must come in order of time.
 */
#ifndef SN_SYSTEM_SCHEDULER_H
#define SN_SYSTEM_SCHEDULER_H

#include "base/intern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_sched_state { SN_SCHED_UNKNOWN, SN_SCHED_RUNNING, SN_SCHED_READY, SN_SCHED_BLOCKED };

/* "running", "ready", "blocked". */
const char *sn_sched_state_name(enum sn_sched_state state);
/* "interruptible", "uninterruptible", "stopped", ...: why a thread is blocked. */
const char *sn_sched_reason(char why);

struct sn_sched_thread {
	uint32_t tid;
	enum sn_sched_state state;
	char why; /* of BLOCKED: 'S' can be interrupted, 'D' not, 'T', 't', 'X', 'Z', 'P', 'I' */
	uint32_t cpu;	/* of RUNNING */
	uint32_t waker; /* of READY, if it was woken: by which thread; 0 unknown */
	uint64_t since_ns;
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

struct sn_sched {
	int (*take)(void *context, const struct sn_sched_interval *interval); /* 0 or negative */
	void *context;
	struct sn_intern tids; /* uint32_t */
	struct sn_sched_thread *threads;
	struct sn_sched_processor *processors;
	size_t thread_capacity, processor_count, processor_capacity;
	uint64_t last_ns;
};

#define SN_SCHED_PROCESSORS_MAX 65536u
/* The thread that leaves a processor where its event does not tell: the one that ran there. */
#define SN_SCHED_UNTOLD		UINT32_MAX

/* All zeroes but for take and context is ready. */
void sn_sched_release(struct sn_sched *sched);

/* A processor goes from one thread to another; 0 is the idle thread. `could_go_on`: the first was
 * preempted; else it waits, `why` as above. 0, SN_ERR_MEMORY or what take returned. */
int sn_sched_switch(struct sn_sched *sched, uint64_t time_ns, uint32_t cpu, uint32_t from,
		    bool could_go_on, char why, uint32_t to);
/* One of the two alone, where both are not known. */
int sn_sched_out(struct sn_sched *sched, uint64_t time_ns, uint32_t cpu, uint32_t tid,
		 bool could_go_on, char why);
int sn_sched_in(struct sn_sched *sched, uint64_t time_ns, uint32_t cpu, uint32_t tid);
int sn_sched_wake(struct sn_sched *sched, uint64_t time_ns, uint32_t tid, uint32_t waker);
/* Ends what has not ended with the last event. */
int sn_sched_finish(struct sn_sched *sched);

/* What the kernel calls prev_state in sched_switch: 0 could go on; else the letter. */
char sn_sched_letter(uint64_t state, bool *could_go_on);

#endif
