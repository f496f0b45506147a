/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between processes, into the trace file: those that a program tells of (sonde.h), and
 * what adapters know of the libraries that carry them (gloo, MPI). docs/design/messages.md.
 *
 * A message is known in both processes by who sent it to whom, among whom (a "communicator": a
 * number that all its members come to by themselves), by its tag, and by its number among those of
 * that kind. Numbers are counted also while nothing is recorded: so the send and the receive of one
 * message are found in two files of which each may have only a part.
 *
 * Which message a receive takes is settled when it is posted, not when it is done. One that says
 * from whom gets its number then; one from anybody when it is done, and then only if no other was
 * posted meanwhile, because nobody tells in which order those took theirs. What has no number has
 * its place in the order of posting instead, and analysis finds what is left for it, or nothing.
 *
 * All functions here: AS-safe: yes. MT: yes; of a `thread`, that thread itself.
 */
#ifndef SN_COLLECT_MESSAGE_H
#define SN_COLLECT_MESSAGE_H

#define SONDE_TYPES_ONLY
#include "sonde/sonde.h"

#include "collect/core/thread.h"

extern const struct sonde_message_hooks sn_message_hooks;

#define SN_MESSAGE_NO_NUMBER UINT64_MAX
#define SN_MESSAGE_ANYBODY   UINT32_MAX
#define SN_MESSAGE_NO_BYTES  UINT64_MAX /* not known at this end */

struct sn_message {
	uint64_t communicator; /* 0: all processes; of two alone: their connection */
	uint64_t group;	       /* of that, what this process calls it; 0: the communicator */
	uint64_t tag, bytes;
	uint64_t number;  /* or SN_MESSAGE_NO_NUMBER */
	uint64_t order;	  /* in which receives were posted, from 1; 0 where the number is enough */
	uint64_t request; /* of what is sent and waited for later: tells which; or 0 */
	uint64_t start_ns, end_ns;
	uint64_t posted_ns; /* 0: at the start */
	uint32_t rank;	    /* in the communicator, as `peer`; SN_ID_NONE: what the launcher said */
	uint32_t peer;	    /* SN_MESSAGE_ANYBODY: of a receive that is not done */
	bool is_sent;
	bool is_counted; /* its number, or that it has none, is settled */
	bool is_gone;	 /* what is recorded is the wait for it, not the sending */
	void *among;	 /* an adapter's own: whom it is between, and what began it */
	const void *of;
};

/* True where messages may be recorded now or later, so that they have to be counted. */
bool sn_messages_are_wanted(void);

/* Before it is sent. */
void sn_message_send(struct sn_message *message);
/* Before it is posted, or waited for. */
void sn_message_post(struct sn_message *message);
/* Instead of either, where the tag is used for a moment only: of those the order is enough. */
void sn_message_enlist(struct sn_message *message);
/* A posted one is done: who sent it, with which tag. */
void sn_message_receive(struct sn_message *message, uint32_t peer, uint64_t tag);

/* What was counted did not come to be (it was cancelled, or its call failed): those of its kind
 * that were counted later, and are kept, have the number before theirs. */
void sn_message_withdraw(struct sn_message *message);

/* Keeps a posted receive until it is done; false where there is no room. */
bool sn_message_keep(uintptr_t key, const struct sn_message *message);
/* Takes the one that was kept first with that key and from that peer; else, where there is none,
 * the first with that key. False for none. */
bool sn_message_remove(uintptr_t key, uint32_t peer, struct sn_message *message);

/* Into the trace, at a context of `thread`, if that is recorded now. */
void sn_message_record(struct sn_thread *thread, uint32_t node, const struct sn_message *message);
/* The context of a call: its name below the caller's call path. SN_NODE_NONE without memory. */
uint32_t sn_message_context(struct sn_thread *thread, const char *name, uint32_t kind);
/* Both of the calling thread, outside sn_enter: records the message at the context of a call, if
 * messages are recorded now. `as` is sn_message_record or sn_message_record_wait. */
typedef void sn_message_recorder(struct sn_thread *, uint32_t, const struct sn_message *);
void sn_message_record_call(const char *name, const struct sn_message *message,
			    sn_message_recorder *as);
/* A number for `request`. */
uint64_t sn_message_request(void);
/* That the process waits until what it has sent is gone: message->start_ns to end_ns. */
void sn_message_record_wait(struct sn_thread *thread, uint32_t node,
			    const struct sn_message *message);
/* A part in the n-th thing that all of a communicator, or group, do together. */
void sn_collective_record(struct sn_thread *thread, uint32_t node, uint64_t group, uint64_t number,
			  uint64_t bytes, uint64_t start_ns, uint64_t end_ns);

/* A hash, the same in all processes. */
uint64_t sn_message_mix(uint64_t value);

#endif
