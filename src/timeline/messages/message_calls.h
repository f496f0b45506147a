/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that send, receive, or wait for either, each by itself: events of threads that name a peer,
 * as those of gloo, MPI and sonde_message_* do, and of streams whose kernels exchange messages of NCCL's. By process, peer and calling function: the number
 * of messages, their bytes, and the time in the calls; also for messages with only one end in the
 * trace.
 */
#pragma once

#include "timeline/answers.h"

struct sn_message_call {
	int64_t peer;		  /* a rank */
	uint32_t process, number; /* process: a profile of it; number: in order of begin */
	uint32_t node;		  /* one that says how much, where any does */
	bool is_sent;
	double count, bytes, time_ns, longest_ns;
};

struct sn_message_calls {
	struct sn_message_call *items; /* most bytes first */
	size_t count, capacity;
};

/* 0 or a negative enum sn_err; free the items in either case. */
int sn_message_calls(const struct sn_answers *answers, struct sn_message_calls *calls,
		     struct sn_error *error);
