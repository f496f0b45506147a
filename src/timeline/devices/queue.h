/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The length of a device's queue: operations whose launching call has begun and that have not
 * started. Operations without a recorded launch are left out and counted.
 */
#pragma once

#include "timeline/answers.h"

enum { SN_QUEUE_STEPS = 240 };

struct sn_queue {
	uint64_t start_ns, end_ns; /* the device's, or the stream's */
	size_t count, unknown_count;
	double mean; /* over time */
	uint64_t most;
	uint64_t median, p95;	  /* the length that is not exceeded for that share of the time */
	double empty_share;	  /* of the time */
	uint64_t median_delay_ns; /* begin of the launch to start */
	uint64_t p95_delay_ns;
	float means[SN_QUEUE_STEPS]; /* over equal parts of the time */
};

/* Measures the queue of one stream's profile, or of all streams for SONDE_NONE. 0 or a negative
 * enum sn_err. */
int sn_queue(const struct sn_answers *answers, size_t device, uint32_t profile,
	     struct sn_queue *queue, struct sn_error *error);
