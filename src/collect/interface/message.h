/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records messages between processes in the trace file: those that a program reports (sonde.h), and
 * those that adapters find in libraries (gloo, MPI). docs/design/messages.md.
 *
 * Both processes identify a message by sender, receiver, communicator (a number that all its
 * members compute independently), tag, and its number among messages with the same values. Numbers
 * are counted also while nothing is recorded: so the send and the receive of one message can be
 * matched even if each file has only a part of the messages.
 *
 * MPI decides which message a receive gets when it is posted, not when it completes. A receive with
 * a known sender gets its number at that time; one from any sender when it completes, and only if
 * no other was posted meanwhile, because the order in which these got their messages is unknown. A
 * receive without a number has its position in the order of posting instead, and analysis matches
 * it with a remaining send, if there is one.
 *
 * All functions here: AS-safe: yes. MT: yes; functions with a `thread`: that thread itself.
 */
#pragma once

#define SONDE_TYPES_ONLY
#include "sonde/sonde.h"

#include "collect/core/thread.h"

extern const struct sonde_message_hooks sn_message_hooks;

#define SN_MESSAGE_NO_NUMBER UINT64_MAX
#define SN_MESSAGE_ANYBODY   UINT32_MAX
#define SN_MESSAGE_NO_BYTES  UINT64_MAX /* not known at this end */

struct sn_message {
	uint64_t communicator; /* 0: all processes; of only two: their connection */
	uint64_t group;	       /* this process's own number for it; 0: the communicator */
	uint64_t tag, bytes;
	uint64_t number;  /* or SN_MESSAGE_NO_NUMBER */
	uint64_t order;	  /* of posting receives, from 1; 0 if the number suffices */
	uint64_t request; /* identifies a send that is waited for later; or 0 */
	uint64_t start_ns, end_ns;
	uint64_t posted_ns; /* 0: at the start */
	uint32_t rank;	    /* in the communicator, as `peer`; SN_ID_NONE: the launcher's */
	uint32_t peer;	    /* SN_MESSAGE_ANYBODY: a receive that is not complete */
	bool is_sent;
	bool is_counted; /* its number is assigned, or it has none */
	bool is_gone;	 /* the wait for its completion is recorded, not the sending */
	void *among;	 /* for the adapter: its communicator, and what started it */
	const void *of;
};

/* True if messages may be recorded now or later and so must be counted. */
bool sn_messages_are_wanted(void);

/* Before it is sent. */
void sn_message_send(struct sn_message *message);
/* Where receives take messages in the order in which both are asked for: of either direction. */
void sn_message_count(struct sn_message *message);
/* Before a receive is posted, or waited for. */
void sn_message_post(struct sn_message *message);
/* Instead of either, if a tag is only used for one message: the order suffices for these. */
void sn_message_enlist(struct sn_message *message);
/* A posted receive is complete: its sender and tag. */
void sn_message_receive(struct sn_message *message, uint32_t peer, uint64_t tag);

/* A counted message was cancelled, or its call failed: decrements the numbers of kept messages with
 * the same values that were counted later. */
void sn_message_withdraw(struct sn_message *message);

/* Keeps a posted receive until it is complete; false if there is no room. */
bool sn_message_keep(uintptr_t key, const struct sn_message *message);
/* Removes the message that was kept first with that key and peer; else the first with that key.
 * False for none. */
bool sn_message_remove(uintptr_t key, uint32_t peer, struct sn_message *message);

/* Records the message at a context of `thread`, if messages are recorded now. */
void sn_message_record(struct sn_thread *thread, uint32_t node, const struct sn_message *message);
/* The same for one that a device sends or receives, in the stream with this number, at a context of `owner`. Between sn_enter and
 * sn_leave of the calling thread, which may be another. */
void sn_message_record_on(struct sn_thread *owner, uint32_t node, uint32_t stream,
			  const struct sn_message *message);
/* The context of a call: a frame with its name below the caller's call path. SN_NODE_NONE without
 * memory. */
uint32_t sn_message_context(struct sn_thread *thread, const char *name, uint32_t kind);
/* For the calling thread, outside sn_enter: records the message at the context of a call, if
 * messages are recorded now. `as` is sn_message_record or sn_message_record_wait. */
typedef void sn_message_recorder(struct sn_thread *, uint32_t, const struct sn_message *);
void sn_message_record_call(const char *name, const struct sn_message *message,
			    sn_message_recorder *as);
/* A number for `request`. */
uint64_t sn_message_request(void);
/* Records that the process waits for the completion of a send, from message->start_ns to end_ns. */
void sn_message_record_wait(struct sn_thread *thread, uint32_t node,
			    const struct sn_message *message);
/* Records this process's part in collective operation `number` of a communicator or group. */
void sn_collective_record(struct sn_thread *thread, uint32_t node, uint64_t group, uint64_t number,
			  uint64_t bytes, uint64_t start_ns, uint64_t end_ns);

/* A hash that is the same in all processes. */
uint64_t sn_message_mix(uint64_t value);
