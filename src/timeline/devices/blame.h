/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idleness blame (HPCToolkit, section 7.2): the idle time of a device is charged to the calls of
 * the host at that time. Each moment is divided equally among the threads of the device's process
 * that were in some call, and charged to the innermost call of each. Threads that wait for others
 * are not charged (sn_activity_is_waiting in thread_activity.h).
 */
#pragma once

#include "sonde/db.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_blame_share {
	uint32_t context;
	double time_ns;
};

struct sn_blame {
	struct sn_blame_share *shares; /* most first */
	size_t count;
	double blamed_ns;
	double unblamed_ns; /* idle time when no thread was in any call */
};
void sn_blame_release(struct sn_blame *blame);

/*
 * Accumulation in order of time: threads enter and leave calls, the device becomes idle and busy.
 * The functions must be called in order of time; at equal times ends before begins.
 */
struct sn_blame_thread {
	uint32_t context; /* SONDE_NONE: it does nothing, or only waits */
	double begin;	  /* of its share */
};
struct sn_blaming {
	struct sn_blame_thread *threads;
	uint64_t *busy;		      /* a bit for each thread that is in a call */
	size_t thread_count, running; /* running: those that share idle time now */
	bool is_idle;
	uint64_t now_ns;
	double *charged;   /* by context */
	double per_thread; /* charged to each of the running ones since the beginning */
	double blamed_ns;
};
/* 0 or SN_ERR_MEMORY; release in either case. */
int sn_blaming_init(struct sn_blaming *blaming, const struct sonde_db *db, size_t thread_count);
void sn_blaming_release(struct sn_blaming *blaming);
void sn_blaming_begin_idle(struct sn_blaming *blaming, uint64_t time_ns);
void sn_blaming_end_idle(struct sn_blaming *blaming, uint64_t time_ns);
void sn_blaming_begin(struct sn_blaming *blaming, size_t thread, uint32_t context,
		      uint64_t time_ns);
void sn_blaming_end(struct sn_blaming *blaming, size_t thread, uint64_t time_ns);
/* The result, for a device with that idle time. 0 or SN_ERR_MEMORY. */
int sn_blaming_finish(const struct sn_blaming *blaming, const struct sonde_db *db, uint64_t idle_ns,
		      struct sn_blame *blame);
