/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What processes sent each other, as their trace files have it, and which send is which receive.
 *
 * The n-th message that a rank sends to another with a tag is the n-th that the other receives from
 * it with that tag. The recorder numbers them (attribute `sequence`); where it could not, they are
 * counted here. What is not there once as sent and once as received, with the same number of bytes,
 * stays without a partner: a wrong pair would be worse for the clocks than none.
 */
#ifndef SN_AGGREGATE_MESSAGES_H
#define SN_AGGREGATE_MESSAGES_H

#include "format/trace_file_reader.h"

#include <stdbool.h>
#include <stddef.h>

struct sn_message {
	uint32_t file;
	uint32_t from, to; /* ranks */
	bool is_sent, is_numbered;
	uint64_t tag, number, bytes;
	uint64_t start_ns, end_ns; /* by the file's clock */
	uint64_t link;		   /* after matching; 0 none */
};

struct sn_message_pair {
	uint32_t from, to; /* files */
	uint64_t sent_ns;  /* when the send began, by the clock of `from` */
	uint64_t received_ns;
};

struct sn_messages {
	struct sn_message *items;
	struct sn_message_pair *pairs;
	size_t count, capacity, pair_count, pair_capacity;
};

/* Numbers of the attributes in one file; SN_ID_NONE where it has none. */
struct sn_message_keys {
	uint32_t message, peer, tag, number, bytes;
};

void sn_messages_release(struct sn_messages *messages);
void sn_message_keys_find(const struct sn_trace_directory *all, struct sn_message_keys *keys);
/* Whether the event, of a process with that rank, is a message; then which. */
bool sn_message_of(const struct sn_message_keys *keys, const struct sn_trace_event *event,
		   uint32_t file, uint32_t rank, struct sn_message *message);
/* 0 or SN_ERR_MEMORY. */
int sn_messages_add(struct sn_messages *messages, const struct sn_message *message);
/* Fills in pairs, and links from `first_link` on. 0 or SN_ERR_MEMORY. */
int sn_messages_match(struct sn_messages *messages, uint64_t first_link);
/* The link of a message that was added, after matching; 0 for none. */
uint64_t sn_messages_link(const struct sn_messages *messages, const struct sn_message *message);

#endif
