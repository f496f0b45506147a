/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intervals from the kernel's events: threads running, ready and blocked, system calls, interrupts
 * and I/O.
 *
 * The states are those of scheduler.h. This file finds the thread of each event, by our number or
 * the kernel's; a switch may be recorded twice, once, or only follow from other events. A blocked
 * thread is in its present system call, or outside of one in a page fault.
 *
 * UNKNOWN is where records were lost: from the last record before the loss to the thread's next
 * one. Without the scheduler's tracepoints there are no wakeups, and BLOCKED lasts until the thread
 * runs again.
 *
 * An interval is passed to the sink when it ends. Memory is proportional to the threads alive and
 * bounded (SN_OS_THREADS_MAX); further threads are counted. Single-threaded.
 */
#pragma once

#include "event.h"

#include "base/error.h"

#define SN_OS_THREADS_MAX (1u << 20)

/* The layers of a thread or processor, each a line of a timeline. */
enum sn_os_layer {
	SN_OS_LAYER_STATE,     /* of a thread, without gaps while it lives */
	SN_OS_LAYER_SYSCALL,   /* of a thread */
	SN_OS_LAYER_BLOCK,     /* of a thread: requests to disks, may overlap */
	SN_OS_LAYER_EVENT,     /* of a thread: instants: faults, packets, wakeups */
	SN_OS_LAYER_OCCUPANCY, /* of a processor: which thread it runs */
	SN_OS_LAYER_INTERRUPT, /* of a processor */
	SN_OS_LAYER_PACKET,    /* of a processor: instants */
	SN_OS_LAYER_FREQUENCY, /* of a processor: a counter, Hz */
	SN_OS_LAYERS
};

enum sn_os_key {
	SN_OS_KEY_CPU,	    /* of STATE: where it ran */
	SN_OS_KEY_WAKER,    /* the thread that ended the waiting; 0 an interrupt */
	SN_OS_KEY_NEXT,	    /* the thread that ran instead */
	SN_OS_KEY_WOKEN,    /* of a wakeup: the thread that was woken */
	SN_OS_KEY_RESULT,   /* of a system call; negative: an error's number */
	SN_OS_KEY_ARGUMENT, /* the first one, if it is small: a file descriptor */
	SN_OS_KEY_BYTES,
	SN_OS_KEY_ADDRESS, /* of a page fault */
	SN_OS_KEY_DEVICE,  /* of a block request: major << 20 | minor */
	SN_OS_KEY_SECTOR,
	SN_OS_KEY_ERROR, /* of a block request */
	SN_OS_KEYS
};

/* An interval, instant or value, with a name of two levels: `group` may be NULL. */
struct sn_os_item {
	enum sn_os_layer layer;
	int32_t pid, tid;	      /* of a processor's layers tid is its number */
	uint64_t start_ns, end_ns;    /* CLOCK_MONOTONIC */
	const char *group, *name;     /* "blocked", "futex"; static or until the next event */
	int32_t named_pid, named_tid; /* of OCCUPANCY instead of a name: which thread */
	int64_t value;		      /* of a counter */
	uint64_t link;		      /* equal for a wakeup and the wait that it ended; 0: none */
	uint32_t present;	      /* 1 << enum sn_os_key */
	int64_t values[SN_OS_KEYS];
};

struct sn_os_sink {
	void (*item)(void *context, const struct sn_os_item *item);
	/* A thread has this name from now on. */
	void (*thread)(void *context, int32_t pid, int32_t tid, const char *name);
	void *context;
};

enum sn_os_loss {
	SN_OS_LOSS_RECORDS,  /* the kernel's buffer was full */
	SN_OS_LOSS_DISORDER, /* came after later events */
	SN_OS_LOSS_THREADS,  /* more than SN_OS_THREADS_MAX, or no memory */
	SN_OS_LOSS_REQUESTS, /* block requests in flight beyond 4,096 */
	SN_OS_LOSS_DAMAGED,  /* records that could not be read */
	SN_OS_LOSSES
};

struct sn_os_states;

/* `is_wide`: all threads, not only those that perf follows. NULL without memory. */
struct sn_os_states *sn_os_states_new(const struct sn_os_sink *sink, bool is_wide);
void sn_os_states_free(struct sn_os_states *states);

/* The next event, in order of time, as far as records came in order. */
void sn_os_states_add(struct sn_os_states *states, const struct sn_os_event *event);
/* Ends all open intervals at that time. */
void sn_os_states_finish(struct sn_os_states *states, uint64_t end_ns);
/* Counts by enum sn_os_loss; the caller adds its own losses. */
uint64_t *sn_os_states_losses(struct sn_os_states *states);
