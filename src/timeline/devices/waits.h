/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reasons why a device does not compute: every nanosecond without a kernel between its first
 * and its last operation gets one reason, so that reasons add up to that time. And how long the
 * device and the threads of its process were in each combination of states.
 */
#pragma once

#include "blame.h"
#include "device_time.h"
#include "timeline/intervals.h"
#include "timeline/node.h"

enum sn_wait {
	/* A collective runs here, and another rank has not arrived at it; or nothing runs, and the
	 * thread that launches what comes next waits in a call for another rank. */
	SN_WAIT_RANK,
	/* Collectives of which all ranks have arrived, or with unknown partners. */
	SN_WAIT_COMMUNICATION,
	/* Copies run, and nothing else. */
	SN_WAIT_COPY,
	/* Nothing runs. The call that launches what comes next has not begun, and its thread is
	 * in an operator that launches work for devices, or in the device's interface, for up to
	 * SN_PATH_HELD_UP_NS at a time: it would have to launch faster or less often. */
	SN_WAIT_DISPATCH,
	/* The same, but the thread does something else: no work was requested. */
	SN_WAIT_NO_WORK,
	/* That call has begun: the usual launch latency. */
	SN_WAIT_LAUNCH,
	/* That call, or one of the device's interface before it, has begun and does not return for
	 * longer than that. */
	SN_WAIT_CALL,
	/* It was launched longer ago than launching takes, and has not started: it waits for an
	 * event, a transfer that is not recorded, another program on the device. */
	SN_WAIT_HELD,
	/* The launch of the next operation is not recorded. */
	SN_WAIT_UNKNOWN,
	SN_WAITS
};
/* "launch-bound", and a description of one line. */
const char *sn_wait_name(enum sn_wait wait);
const char *sn_wait_meaning(enum sn_wait wait);

/* States of a device and its process, as bits. */
enum { SN_STATE_THREADS = 1, SN_STATE_COMPUTE = 2, SN_STATE_COMMUNICATION = 4, SN_STATE_COPY = 8 };

struct sn_waits {
	uint64_t reasons_ns[SN_WAITS]; /* add up to no_compute_ns */
	uint64_t no_compute_ns;
	uint64_t states_ns[16]; /* by combination; add up to the device's whole time */
	/* time before the first operation of the device, by node of the threads' activity */
	double *before; /* of all nodes */
};

struct sn_answers;
/* Reads the operations of one device and the threads of its process once, and computes reasons and
 * blame. Devices and ranks must be loaded. 0 or a negative enum sn_err; release both in either
 * case. */
int sn_waits(const struct sn_answers *answers, size_t device, struct sn_waits *waits,
	     struct sn_blame *blame, struct sn_error *error);
/* How long the device was in any of the states `of`, and how much of that also in any of `beside`.
 */
struct sn_overlap {
	uint64_t all_ns, hidden_ns;
};
struct sn_overlap sn_waits_overlap(const struct sn_waits *waits, unsigned of, unsigned beside);
void sn_waits_release(struct sn_waits *waits);
