/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of devices that belong to a window of a process. Only these are in memory while a
 * critical path is computed.
 */
#pragma once

#include "critical_path.h"

/* Of a call that waits, so many operations before it are candidates. */
enum { SN_PATH_LOOK_BACK = 64 };

struct sn_path_operation {
	struct sn_operation operation;
	bool is_in_window; /* launched or running in it, or before one of these begins */
	bool is_earlier;   /* launched before it */
};

/* The operations of one device in order of start: all that start in the window, SN_PATH_LOOK_BACK
 * before these, and whatever else is in the window. */
struct sn_path_operations {
	struct sn_path_operation *items;
	size_t count, capacity;
};

/* 0 or a negative enum sn_err; release in either case. */
int sn_path_operations(const struct sn_answers *answers, size_t device,
		       const struct sn_path_window *window, struct sn_path_operations *operations,
		       struct sn_error *error);
void sn_path_operations_release(struct sn_path_operations *operations);
/* How many start before that time, by the clock of their process. */
size_t sn_path_operations_before(const struct sn_path_operations *operations, uint64_t time_ns);

/* A call that launched something, in the clock of its process, as operations are. */
struct sn_path_call {
	uint64_t start_ns, end_ns, link; /* 0: it launched nothing */
};

/*
 * The end of the operation that its launching call waited for; 0: the call did not wait.
 *
 * Interfaces have many calls that may block (cudaMemcpy, of pageable memory cudaMemcpyAsync,
 * clEnqueueWriteBuffer by one of its arguments, every launch under CUDA_LAUNCH_BLOCKING), so times
 * decide, and not names. The operation must have ended before its call returned, and the call must
 * have returned soon after: within the time that it takes to wake a thread, or less than a quarter
 * of the time from its begin to that end. A call that does not wait has mostly returned before its
 * operation begins; where it was held up, by a lock or the scheduler, the operation ended at any
 * time in it.
 *
 * Kernels are often so short that they end before a launch that does not wait returns. So a call is
 * taken to wait for a kernel only if the wait is at least half of the call's time. This does not
 * apply to copies: a call that waits for a copy also waits for all work launched before it. One
 * exception: a copy may seem to end after its call, by no more than clocks differ.
 */
uint64_t sn_path_waited_for_own(const struct sn_path_operations *devices, size_t count,
				const struct sn_path_call *call);

/*
 * The end of a thread's wait for a device that no call shows, between two times, in which the
 * thread is in no call; 0: it did not wait.
 *
 * A program may wait by reading what a kernel writes, or in a library of which nothing is recorded.
 * Then a stream has run out of work: its last operation was launched before and ended in the last
 * ninth of that time, or just after it, since a kernel may go on when it has written; and the next
 * one in it was launched afterwards. A program that computes meanwhile meets such a moment only by
 * chance, and then the device limits the progress as much as the program does.
 */
uint64_t sn_path_waited_for_stream(const struct sn_path_operations *devices, size_t count,
				   struct sn_launches *launches, uint64_t from_ns, uint64_t to_ns);
