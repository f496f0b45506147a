/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a thread was blocked between two of its events in the trace file, as the kernel counts
 * it: the time without CPU, if the thread gave up its processor by itself meanwhile, less the time
 * in which it could run and had no processor. A thread that was only preempted still does what it
 * did.
 *
 * The kernel is asked at begins and ends of calls and at samples, but only where the one before is
 * LEAST_NS ago or more: one system call, a second one where the thread has waited, and once a
 * millisecond of waiting a file of the kernel's. What was blocked in shorter times counts where the
 * kernel is asked next, as far as there is room.
 *
 * All functions here: AS-safe: yes. MT: the thread itself.
 */
#pragma once

#include <stdint.h>
#include <sys/resource.h>

enum { SN_TRACE_BLOCKED_BEGINS = 8 };

/* Zeroes are a thread that has recorded nothing. */
struct sn_trace_blocked {
	uint64_t boundary_ns;		   /* the latest begin, end or sample */
	uint64_t asked_ns, cpu_ns, yields; /* when the kernel was asked, and what it said */
	uint64_t ready_ns;		   /* what it said last of the time without a processor */
	uint64_t unasked_ns;		   /* without CPU since then, in times that are told; */
	uint64_t guessed_ns; /* of these, what was taken to be blocked without asking */
	/* calls that have begun after a time in which the thread was blocked, and not ended */
	struct {
		uint64_t start_ns, blocked_ns;
	} begins[SN_TRACE_BLOCKED_BEGINS];
	uint32_t begin_count;
	struct rusage usage; /* as last asked; here, for it is large for a hook's stack */
};

/* At a begin, an end or a sample: for how long the thread was blocked since the last of those, but
 * not before `from_ns`. */
uint64_t sn_trace_blocked_until(struct sn_trace_blocked *blocked, uint64_t from_ns,
				uint64_t now_ns);
/* The collector may have been blocked just now: that was not the program. */
void sn_trace_blocked_forget(struct sn_trace_blocked *blocked);
/* A call begins: keeps what sn_trace_blocked_until says for sn_trace_blocked_before. */
void sn_trace_blocked_begin(struct sn_trace_blocked *blocked, uint64_t start_ns);
/* A call that began then has ended: for how long the thread was blocked before it. Forgets it, and
 * what began later. */
uint64_t sn_trace_blocked_before(struct sn_trace_blocked *blocked, uint64_t start_ns);
