/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches calls with the device operations that they launched if the file has no correlation for
 * them: operations of one queue run in the order of their launches (Zins and Dagenais 2019,
 * Algorithm 2). Such matches are marked as inferred.
 *
 * Wrong matches are worse than none. The recording is divided where a call has waited for the
 * device: everything launched before has run by then. Between two such moments the kernels, the
 * copies or the fills are matched only if there are as many operations as calls, all in the same
 * order, none starts before its call begins, and no two calls of different threads overlap; else
 * none of that interval is matched. Nothing is matched if several streams, or several processes,
 * have operations without a correlation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_track_sink;
struct sn_event;

struct sn_order_item {
	uint64_t start_ns, end_ns; /* as in the file */
	uint64_t correlation;	   /* the one it got; 0: none */
	uint32_t track;
	uint32_t work; /* of a launch or an operation: enum sn_activity_category; 0: a wait */
};

/* Calls and operations without correlation of the file being read. All zeroes is empty. */
struct sn_order {
	struct sn_order_item *calls, *operations;
	size_t call_count, call_capacity, operation_count, operation_capacity;
	uint64_t matched, refused; /* operations, of all files */
	bool has_failed;	   /* out of memory */
};

void sn_order_release(struct sn_order *order);
/* Adds an event without correlation, before all of them are known. */
void sn_order_add(struct sn_track_sink *sink, uint32_t track, uint32_t category,
		  const struct sn_event *event);
/* All events are there: matches. 0 or SN_ERR_MEMORY. */
int sn_order_match(struct sn_track_sink *sink);
/* The correlation that an event got, times as they were added; 0 none. */
uint64_t sn_order_find(const struct sn_order *order, bool is_operation, uint32_t track,
		       uint64_t start_ns, uint64_t end_ns);
