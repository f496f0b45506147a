/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's sampling state, of sample.c and charge.c: its timer and perf events, and how much of
 * its CPU time, real time and events has been charged.
 *
 * All functions here: AS-safe: yes. MT: the thread itself, or the thread that ends measuring.
 */
#pragma once

#include "collect/core/thread.h"
#include "collect/record/own_fd.h"
#include "event.h"

/* Amounts that a thread has used and no sample has charged yet. */
struct sn_amounts {
	uint64_t cpu_ns, wall_ns;
	uint64_t counts[SN_EVENT_MAX]; /* of each perf event */
};

struct sn_sampling {
	bool active;
	bool suspended; /* the program's signal stack is too small for a signal */
	int signal;	/* that timer and perf events send; 0: none is left */
	int timer;	/* kernel timer id, -1 none */
	struct sn_own_event perf[SN_EVENT_MAX];
	uint64_t counts[SN_EVENT_MAX]; /* of each perf event, already charged */
	uint64_t charged_cpu_ns;       /* thread CPU time already charged */
	uint64_t charged_wall_ns;      /* monotonic time already charged */
	uint64_t charged_own_ns;       /* of the thread's own_ns */
	struct sn_amounts carried;     /* from threads of this record that have ended */
	uint64_t ended_cpu_ns;	       /* CPU time of these threads in all */
	uint32_t driver_hz;	       /* of the perf event perf[driver]; 0: a timer drives */
	int driver;
	bool driver_is_seen;	   /* since the last watch */
	bool timer_stays;	   /* there is no event, or the program took it */
	unsigned timer_samples;	   /* since the timer was last judged */
	unsigned timer_periods;	   /* that ended meanwhile */
	unsigned slowness;	   /* periods of perf's events are 1 << slowness times as long */
	unsigned calm;		   /* samples since the last one that found another pending */
	uint64_t watched_ns;	   /* thread CPU time at the last watch */
	uint64_t done_ns, cost_ns; /* thread CPU time after the last sample, and the sample's own */
};

/* The requested events; constant after sn_sampling_init. */
struct sn_events {
	struct sn_sample_event list[SN_EVENT_MAX];
	uint32_t metrics[SN_EVENT_MAX];
	int count;
	int cpu, real; /* the positions of CPU time and real time; -1: not requested */
};
extern struct sn_events sn_events __attribute__((visibility("hidden")));

static inline bool sn_sampling_is_active(const struct sn_thread *thread)
{
	const struct sn_sampling *sampling = thread->sampling;
	return sampling && sampling->active;
}

/* Charges to `node` the amounts that the thread has used up to now, by its CPU clock and the
 * monotonic one. */
void sn_charge(struct sn_thread *thread, uint32_t node, uint64_t now_cpu_ns, uint64_t now_ns);
/* Carries the uncharged amounts over to the record's next thread, so that the threads of a record
 * are sampled as if they were one: of thousands that live for less than a period few are sampled,
 * and these represent the others. */
void sn_carry_rest(struct sn_thread *thread);
