/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts the scheduler's events by time, since files hold them processor by processor, and passes
 * them to the state machine in system/scheduler.h.
 */
#pragma once

#include "system/scheduler.h"
#include "trace/sorter.h"

enum sn_sched_kind { SN_SCHED_SWITCH, SN_SCHED_OUT, SN_SCHED_IN, SN_SCHED_WAKE };

struct sn_sched_record {
	enum sn_sched_kind kind;
	uint64_t time_ns;
	uint32_t cpu;
	uint32_t tid;	/* SWITCH, IN: the thread that begins to run; OUT: leaves; WAKE: is woken */
	uint32_t other; /* SWITCH: the thread that leaves, SN_SCHED_UNTOLD; WAKE: the waker, 0 */
	uint64_t state; /* of the thread that leaves: the kernel's bits */
	uint32_t name;	/* of `tid`: builder's string, or SONDE_NONE */
};

/* *sorter is NULL before the first one. 0 or SN_ERR_MEMORY. */
int sn_sched_sorter_add(struct sn_sorter **sorter, const struct sn_sched_record *record);
/* Passes on all events. `name`, if not NULL, is first called with each event's thread and name, and
 * returns 0 or SN_ERR_MEMORY. */
int sn_sched_sorter_feed(struct sn_sorter *sorter, struct sn_sched *sched,
			 int (*name)(void *context, uint32_t tid, uint32_t name), void *context,
			 struct sn_error *error);
