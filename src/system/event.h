/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event of the kernel: a record of perf with its tracepoint's fields decoded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sources that can be requested (`--os=...`), and what each needs. */
enum sn_os_source {
	SN_OS_SOURCE_SCHEDULER,
	SN_OS_SOURCE_SYSCALLS,
	SN_OS_SOURCE_FAULTS,
	SN_OS_SOURCE_INTERRUPTS,
	SN_OS_SOURCE_BLOCK,
	SN_OS_SOURCE_NETWORK,
	SN_OS_SOURCE_FREQUENCY,
	SN_OS_SOURCES
};

enum sn_os_scope { SN_OS_SCOPE_THREADS, SN_OS_SCOPE_CPUS, SN_OS_SCOPE_WIDE };

enum sn_os_event_kind {
#define SN_TRACEPOINT(kind, ...) SN_OS_##kind,
#include "tracepoints.def"
#undef SN_TRACEPOINT
	SN_OS_TRACEPOINTS,
	/* perf's own, for which no tracefs is needed */
	SN_OS_SWITCH_OUT = SN_OS_TRACEPOINTS, /* number: 1 it was preempted */
	SN_OS_SWITCH_IN,
	SN_OS_FAULT_MINOR,  /* number: the address */
	SN_OS_FAULT_MAJOR,  /* the same; with a read from disk */
	SN_OS_NAMED,	    /* other: the thread, number: its process; text */
	SN_OS_THREAD_BEGIN, /* the same, by `tid` */
	SN_OS_THREAD_END,
	SN_OS_LOST, /* number: how many records of this processor; value: since when, ns */
	SN_OS_EVENT_KINDS
};

/* Fields by kind are in tracepoints.def and above. */
struct sn_os_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t kind;	  /* enum sn_os_event_kind */
	uint32_t cpu;
	/* The running thread, in our pid namespace; kernel_tid is the kernel's number, as is
	 * `other` of the scheduler's tracepoints: -1 unknown. */
	int32_t pid, tid, kernel_tid;
	bool in_interrupt;
	int32_t other;
	int64_t number, value;
	const char *text; /* text_length bytes, of the record */
	size_t text_length;
};
