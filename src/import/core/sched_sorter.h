/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts events of the scheduler, which files hold processor by processor, by time, and feeds them
 * to the state machine in system/scheduler.h.
 */
#ifndef SN_IMPORT_SCHED_SORTER_H
#define SN_IMPORT_SCHED_SORTER_H

#include "system/scheduler.h"
#include "trace/sorter.h"

enum sn_sched_kind { SN_SCHED_SWITCH, SN_SCHED_OUT, SN_SCHED_IN, SN_SCHED_WAKE };

struct sn_sched_record {
	enum sn_sched_kind kind;
	uint64_t time_ns;
	uint32_t cpu;
	uint32_t tid;	/* who comes to the processor, of OUT who leaves it, of WAKE who is woken */
	uint32_t other; /* of SWITCH who leaves, or SN_SCHED_UNTOLD; of WAKE who wakes, 0 unknown */
	uint64_t state; /* of who leaves: the kernel's bits */
	uint32_t name;	/* of `tid`: builder's string; SONDE_NONE */
};

/* *sorter is NULL before the first one. 0 or SN_ERR_MEMORY. */
int sn_sched_sorter_add(struct sn_sorter **sorter, const struct sn_sched_record *record);
/* Feeds all of them. `name`, if not NULL, is called with the name in each event first, and returns
 * 0 or SN_ERR_MEMORY. */
int sn_sched_sorter_feed(struct sn_sorter *sorter, struct sn_sched *sched,
			 int (*name)(void *context, uint32_t tid, uint32_t name), void *context,
			 struct sn_error *error);

#endif
