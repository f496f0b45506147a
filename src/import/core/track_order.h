/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which call launched which operation of a device, where the file has no correlation for them:
 * they run in the order in which they were launched (Zins and Dagenais 2019, Algorithm 2), if one
 * queue has all of them. What is found so is marked as inferred.
 *
 * Wrong guesses are worse than none. The recording is cut where a call has waited for the device:
 * all that was launched before has run by then. Between two such moments the kernels, the copies
 * or the fills are given to calls only if there are as many of them as of calls, all of these in
 * the same order, none starts before its call begins, and no two calls of different threads
 * overlap; else none of that stretch is. Nothing is
 * matched where several streams, or several processes, have operations without a correlation.
 */
#ifndef SN_IMPORT_RECORDING_ORDER_H
#define SN_IMPORT_RECORDING_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_track_sink;
struct sn_event;

struct sn_order_item {
	uint64_t start_ns, end_ns; /* as in the file */
	uint64_t correlation;	   /* what it was given; 0 none */
	uint32_t track;
	uint32_t work; /* of a launch and an operation: enum sn_activity_category; 0 waits */
};

/* Calls and operations without correlation of the file being read. All zeroes is empty. */
struct sn_order {
	struct sn_order_item *calls, *operations;
	size_t call_count, call_capacity, operation_count, operation_capacity;
	uint64_t matched, refused; /* operations, of all files */
	bool has_failed;	   /* out of memory */
};

void sn_order_release(struct sn_order *order);
/* An event without correlation, before it is known what others there are. */
void sn_order_add(struct sn_track_sink *sink, uint32_t track, uint32_t category,
		  const struct sn_event *event);
/* All events are there: matches. 0 or SN_ERR_MEMORY. */
int sn_order_match(struct sn_track_sink *sink);
/* The correlation that an event got, times as they were added; 0 none. */
uint64_t sn_order_find(const struct sn_order *order, bool is_operation, uint32_t track,
		       uint64_t start_ns, uint64_t end_ns);

#endif
