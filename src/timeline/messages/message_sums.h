/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of messages, waits for other ranks and collectives, as views show them. */
#pragma once

#include "timeline/answers.h"

/* Messages from one process to another. */
struct sn_route {
	uint32_t from, to; /* profiles, one of each process */
	size_t count;
	double bytes, late_sender_ns, late_receiver_ns, transfer_ns;
};
/* Those that cost most first; the caller frees them. NULL without memory. */
struct sn_route *sn_routes(const struct sn_answers *answers, size_t *count);

/* Threads that wait for another rank in one node. */
struct sn_node_wait {
	uint32_t node;
	double time_ns;
	const struct sn_rank_wait *longest;
};
/* Most first; the caller frees them. NULL without memory. */
struct sn_node_wait *sn_node_waits(const struct sn_answers *answers, size_t *count);

/* All ranks' parts in one kind of call, of those that threads do themselves. */
struct sn_collective_sum {
	uint32_t frame;
	size_t count;
	double bytes;
	double apart_ns;	   /* under way beside other work */
	double called_ns, wait_ns; /* in calls; of that, for others */
};
/* Most time in calls first; the caller frees them. NULL without memory. */
struct sn_collective_sum *sn_collective_sums(const struct sn_answers *answers, size_t *count);

/* Numbers of messages, the longest waits first; the caller frees them. NULL without memory. */
uint32_t *sn_messages_by_wait(const struct sn_message_matching *messages);
