/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages in the trace files, and the matching of sends with receives.
 *
 * The n-th message that a rank sends to another with a tag is the n-th that the other receives from
 * it with that tag, in one communicator. The recorder numbers them (attribute `sequence`). Receives
 * from any source may have their place in the order of posting instead (`order`): they get the sent
 * numbers that no other receive has, if there are as many. Messages without numbers are counted
 * here, if as many were sent as received. A message is matched only if it occurs once as sent and
 * once as received, with equal sizes if both ends record them: a wrong match would be worse than
 * none.
 *
 * A group of processes may have a different name in each process (`group`). A message has the
 * sender's and the receiver's name, which shows that both mean the same group.
 */
#pragma once

#include "format/trace_file/trace_file_reader.h"

#include <stdbool.h>
#include <stddef.h>

struct sn_recorded_message {
	uint32_t file;
	uint32_t from, to; /* ranks in the communicator */
	bool is_sent, is_numbered;
	uint64_t communicator, group; /* 0: all processes; none */
	uint64_t tag, number, bytes;
	uint64_t order;		   /* of posting, where there is no number; or 0 */
	uint64_t recorded;	   /* the number as the event has it, or UINT64_MAX */
	uint64_t start_ns, end_ns; /* by the file's clock */
	uint64_t link;		   /* after matching; 0 none */
};

struct sn_message_pair {
	uint32_t from, to; /* files */
	uint64_t sent_ns;  /* when the send began, by the clock of `from` */
	uint64_t received_ns;
	uint64_t from_group, to_group; /* or 0 */
};

/* A file's name of a group. */
struct sn_message_group {
	uint32_t file;
	uint32_t same; /* position of another name for it, or the own one */
	uint64_t name;
};

struct sn_messages {
	struct sn_recorded_message *items;
	struct sn_message_pair *pairs;
	size_t count, capacity, pair_count, pair_capacity;
	struct sn_message_group *groups; /* by file and name */
	size_t group_count, group_capacity;
};

/* Numbers of the attributes in one file; SN_ID_NONE where it has none. */
struct sn_message_keys {
	uint32_t message, peer, tag, number, bytes, communicator, group, rank, order;
};

void sn_messages_release(struct sn_messages *messages);
void sn_message_keys_find(const struct sn_trace_directory *all, struct sn_message_keys *keys);
/* Whether the event, of a process with that rank (SN_ID_NONE: not known), is a message whose sender
 * and receiver are known; then which. */
bool sn_message_of(const struct sn_message_keys *keys, const struct sn_trace_event *event,
		   uint32_t file, uint32_t rank, struct sn_recorded_message *message);
/* 0 or SN_ERR_MEMORY. */
int sn_messages_add(struct sn_messages *messages, const struct sn_recorded_message *message);
/* Fills in pairs, and links from `first_link` on. 0 or SN_ERR_MEMORY. */
int sn_messages_match(struct sn_messages *messages, uint64_t first_link);
/* The link of a message that was added, after matching; 0 for none. */
uint64_t sn_messages_link(const struct sn_messages *messages,
			  const struct sn_recorded_message *message);

/* The name of a group of this file that is the same in all files, after matching. */
uint64_t sn_messages_group(const struct sn_messages *messages, uint32_t file, uint64_t name);
