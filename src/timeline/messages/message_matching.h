/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between ranks of which both ends are recorded: which end was late, and how long the
 * other one waited.
 *
 * The waiting states are those of Scalasca (Geimer and others, "The Scalasca performance toolset
 * architecture", 2010): a receiver that is in its call before the message is sent waits for a late
 * sender until then; a sender whose call, or whose later wait for it, lasts until the receive is
 * posted waits for a late receiver until then. The rest is transfer. Waits in collectives on
 * threads are of the same kind (ranks.h), and are listed together.
 */
#pragma once

#include "timeline/intervals.h"
#include "ranks.h"

struct sn_matched_message {
	uint64_t link, tag, bytes;
	uint64_t sent_ns, sent_end_ns;	 /* the sender's call */
	uint64_t gone_wait_ns, gone_ns;	 /* the sender's later wait until it is sent; or 0 */
	uint64_t waited_ns, received_ns; /* the receiver's call, until it had the message */
	uint64_t posted_ns;		 /* the begin of the receive: waited_ns or earlier */
	uint32_t sender, receiver;	 /* profiles: threads, or streams whose kernels do it */
	uint32_t sender_context, receiver_context;
	uint32_t gone_profile, gone_context;
};

/* Counts of a process's messages of which the other end is not recorded. */
struct sn_lone_messages {
	uint32_t profile;
	size_t sent, received;
};

/* A thread or stream that waits for another rank. */
struct sn_rank_wait {
	uint64_t from_ns, until_ns; /* the time of the event for which it waited */
	uint64_t end_ns;	    /* of the call */
	uint64_t cause_ns;	    /* the same as until_ns by the other rank's clock */
	uint32_t profile, cause;
	uint32_t context;
};

struct sn_message_matching {
	struct sn_matched_message *items; /* by when they were sent */
	size_t count, capacity;
	struct sn_lone_messages *lone;
	size_t lone_count, lone_capacity;
	struct sn_rank_wait *waits; /* of messages and collectives, by thread and begin */
	size_t wait_count, wait_capacity;
};

/* How long the receiver waited for the sender, the sender for the receiver, and the rest. */
uint64_t sn_matched_message_late_sender_ns(const struct sn_matched_message *message);
uint64_t sn_matched_message_late_receiver_ns(const struct sn_matched_message *message);
uint64_t sn_matched_message_transfer_ns(const struct sn_matched_message *message);

/* Reads tracks only where messages are recorded. 0 or a negative enum sn_err; release in either
 * case. */
int sn_message_matching(const struct sn_processes *processes,
			const struct sn_collectives *collectives, const struct sn_ranks *ranks,
			struct sn_message_matching *messages, struct sn_error *error);
void sn_message_matching_release(struct sn_message_matching *messages);

/* Adds when threads of the profile's process wait for another rank; to be settled. 0 or
 * SN_ERR_MEMORY. */
int sn_message_matching_waits(const struct sn_processes *processes,
			      const struct sn_message_matching *messages, uint32_t profile,
			      struct sn_intervals *set);
