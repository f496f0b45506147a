/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of messages, incomplete receives, and recording of both; see message.h. */
#include "message.h"

#include "collect/core/adapter.h"
#include "collect/intercept/intercept.h"
#include "collect/record/trace.h"

#include <string.h>

/* Directions, peers and tags that are counted; with more of them messages have no number, and
 * readers count those they find. */
#define COUNTERS 4096u
#define PROBES	 16u

struct counter {
	_Atomic uint64_t key; /* 0: free */
	_Atomic uint64_t count;
};
static struct counter counters[COUNTERS];

uint64_t sn_message_mix(uint64_t value)
{
	value = (value ^ value >> 32) * 0xd6e8feb86659fd93u;
	value = (value ^ value >> 32) * 0xd6e8feb86659fd93u;
	return value ^ value >> 32;
}

static uint64_t kind_of(const struct sn_message *message)
{
	/* a process may have several ranks */
	uint64_t rank = sn_message_mix(message->rank);
	return sn_message_mix(sn_message_mix(message->tag + message->communicator) + rank +
			      ((uint64_t)message->peer << 1 | message->is_sent)) |
	       1;
}

/* The counter of a kind, new where `is_new` may be; NULL where there is none, or no room. */
static struct counter *find_counter(uint64_t key, bool is_new)
{
	for (unsigned probe = 0; probe < PROBES; probe++) {
		struct counter *counter = &counters[((key >> 1) + probe) % COUNTERS];
		/* relaxed: a counter's count means nothing but itself */
		uint64_t found = atomic_load_explicit(&counter->key, memory_order_relaxed);
		if (found == key ||
		    (is_new && !found &&
		     (atomic_compare_exchange_strong_explicit(
			  &counter->key, &found, key, memory_order_relaxed, memory_order_relaxed) ||
		      found == key)))
			return counter;
	}
	return NULL;
}

/* The message's number, from 0. */
static uint64_t count_message(const struct sn_message *message)
{
	struct counter *counter = find_counter(kind_of(message), true);
	return counter ? atomic_fetch_add_explicit(&counter->count, 1, memory_order_relaxed)
		       : SN_MESSAGE_NO_NUMBER;
}

bool sn_messages_are_wanted(void)
{
	return sn_trace_sources() & SN_TRACE_SOURCE_MESSAGES;
}

/* ---- what is sent and posted ---- */

/* Receives posted so far, and the incomplete ones among them from any sender, or after such. */
static _Atomic uint64_t posts, unsettled;

void sn_message_count(struct sn_message *message)
{
	message->number = count_message(message);
	message->is_counted = true;
}

void sn_message_send(struct sn_message *message)
{
	message->is_sent = true;
	sn_message_count(message);
}

void sn_message_post(struct sn_message *message)
{
	message->is_sent = false;
	message->number = SN_MESSAGE_NO_NUMBER;
	/* sequentially consistent, as all of these: a receive sees those posted before it */
	message->order = atomic_fetch_add(&posts, 1) + 1;
	bool is_settled = message->peer != SN_MESSAGE_ANYBODY && !atomic_load(&unsettled);
	if (is_settled)
		message->number = count_message(message);
	else
		atomic_fetch_add(&unsettled, 1);
	message->is_counted = is_settled;
}

void sn_message_enlist(struct sn_message *message)
{
	message->number = SN_MESSAGE_NO_NUMBER;
	message->order = atomic_fetch_add(&posts, 1) + 1;
	message->is_counted = true;
}

void sn_message_receive(struct sn_message *message, uint32_t peer, uint64_t tag)
{
	message->peer = peer;
	message->tag = tag;
	if (message->is_counted)
		return;
	/* it was alone from when it was posted until now: what is sent next was its */
	uint64_t number = count_message(message);
	bool is_alone = atomic_load(&unsettled) == 1 && atomic_load(&posts) == message->order;
	message->number = is_alone ? number : SN_MESSAGE_NO_NUMBER;
	message->is_counted = true;
	atomic_fetch_sub(&unsettled, 1);
}

/* ---- receives that are not done ---- */

#define KEPT   16384u
#define WINDOW 64u
#define BUSY   1u

static _Atomic uintptr_t kept_keys[KEPT]; /* 0: free; BUSY: being written or read */
static _Atomic(void *) kept_messages;	  /* KEPT struct sn_message, mapped at the first */
/* In which they were kept. */
static uint64_t kept_order[KEPT];
static _Atomic uint64_t kept_count;

static size_t place_of(uintptr_t key, unsigned probe)
{
	return (sn_message_mix(key) + probe) % KEPT;
}

bool sn_message_keep(uintptr_t key, const struct sn_message *message)
{
	struct sn_message *kept = sn_pages_once(&kept_messages, KEPT * sizeof(*kept));
	if (!kept)
		return false;
	for (unsigned probe = 0; probe < WINDOW; probe++) {
		size_t place = place_of(key, probe);
		uintptr_t found = 0;
		if (atomic_load_explicit(&kept_keys[place], memory_order_relaxed) ||
		    !atomic_compare_exchange_strong_explicit(&kept_keys[place], &found, BUSY,
							     memory_order_acquire,
							     memory_order_relaxed))
			continue;
		kept[place] = *message;
		kept_order[place] = atomic_fetch_add_explicit(&kept_count, 1, memory_order_relaxed);
		/* release: a thread that finds the key reads the message */
		atomic_store_explicit(&kept_keys[place], key, memory_order_release);
		return true;
	}
	return false;
}

/* Tries again where another thread removes the message that was chosen. */
bool sn_message_remove(uintptr_t key, uint32_t peer, struct sn_message *message)
{
	struct sn_message *kept = atomic_load_explicit(&kept_messages, memory_order_acquire);
	if (!kept)
		return false;
	for (;;) {
		size_t best = KEPT;
		bool is_best_from = false;
		for (unsigned probe = 0; probe < WINDOW; probe++) {
			size_t place = place_of(key, probe);
			if (atomic_load_explicit(&kept_keys[place], memory_order_acquire) != key)
				continue;
			bool is_from = kept[place].peer == peer;
			if (best == KEPT || is_from > is_best_from ||
			    (is_from == is_best_from && kept_order[place] < kept_order[best])) {
				best = place;
				is_best_from = is_from;
			}
		}
		if (best == KEPT)
			return false;
		uintptr_t expected = key;
		if (!atomic_compare_exchange_strong_explicit(&kept_keys[best], &expected, BUSY,
							     memory_order_acquire,
							     memory_order_relaxed))
			continue;
		*message = kept[best];
		atomic_store_explicit(&kept_keys[best], 0, memory_order_release);
		return true;
	}
}

/* ---- messages that were cancelled or failed ---- */

void sn_message_withdraw(struct sn_message *message)
{
	uint64_t key = kind_of(message);
	if (!message->is_counted) {
		atomic_fetch_sub(&unsettled, 1);
		return;
	}
	if (message->number == SN_MESSAGE_NO_NUMBER)
		return;
	struct counter *counter = find_counter(key, false);
	if (counter)
		atomic_fetch_sub_explicit(&counter->count, 1, memory_order_relaxed);
	struct sn_message *kept = atomic_load_explicit(&kept_messages, memory_order_acquire);
	/* none of these is done: messages are taken in the order of posting */
	for (size_t place = 0; kept && place < KEPT; place++) {
		uintptr_t owner = atomic_load_explicit(&kept_keys[place], memory_order_acquire);
		struct sn_message *one = kept + place;
		if (owner <= BUSY || one->is_sent || kind_of(one) != key ||
		    !atomic_compare_exchange_strong_explicit(&kept_keys[place], &owner, BUSY,
							     memory_order_acquire,
							     memory_order_relaxed))
			continue;
		if (one->is_counted && one->number != SN_MESSAGE_NO_NUMBER &&
		    one->number > message->number && kind_of(one) == key)
			one->number--;
		atomic_store_explicit(&kept_keys[place], owner, memory_order_release);
	}
}

/* ---- recording ---- */

uint32_t sn_message_context(struct sn_thread *thread, const char *name, uint32_t kind)
{
	return sn_cct_named_child(&thread->cct, sn_callpath(thread, NULL, 0), (uint8_t)kind, name,
				  strlen(name));
}

/* In its callers' frames, which lie on the program's stack. */
__attribute__((always_inline)) static inline void
record(struct sn_thread *thread, struct sn_trace_event event, const struct sn_message *message)
{
	struct sn_trace_attribute attributes[3 + 8] = {
	    {.key = SN_TRACE_KEY_MESSAGE, .value = message->is_sent ? 1 : 2},
	    {.key = SN_TRACE_KEY_PEER, .value = message->peer},
	    {.key = SN_TRACE_KEY_TAG, .value = message->tag},
	};
	event.kind = SN_TRACE_INTERVAL;
	event.start_ns = message->start_ns;
	event.end_ns = message->end_ns;
	event.attributes = attributes;
	event.attribute_count = 3;
	const struct {
		bool is_there;
		enum sn_trace_key key;
		uint64_t value;
	} more[] = {
	    {message->bytes != SN_MESSAGE_NO_BYTES, SN_TRACE_KEY_BYTES, message->bytes},
	    {message->number != SN_MESSAGE_NO_NUMBER, SN_TRACE_KEY_SEQUENCE, message->number},
	    {message->number == SN_MESSAGE_NO_NUMBER && message->order, SN_TRACE_KEY_ORDER,
	     message->order},
	    {message->communicator != 0, SN_TRACE_KEY_COMMUNICATOR, message->communicator},
	    {message->group != 0, SN_TRACE_KEY_GROUP, message->group},
	    {message->request != 0, SN_TRACE_KEY_REQUEST, message->request},
	    {message->rank != SN_ID_NONE, SN_TRACE_KEY_RANK, message->rank},
	    {message->posted_ns && message->posted_ns < message->start_ns, SN_TRACE_KEY_POSTED,
	     message->start_ns - message->posted_ns},
	};
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++)
		if (more[i].is_there)
			attributes[event.attribute_count++] =
			    (struct sn_trace_attribute){.key = more[i].key, .value = more[i].value};
	if (event.context != SN_NODE_NONE && sn_trace_wants(SN_TRACE_SOURCE_MESSAGES))
		sn_trace_message(thread, &event);
}

void sn_message_record(struct sn_thread *thread, uint32_t node, const struct sn_message *message)
{
	record(thread, (struct sn_trace_event){.context = node}, message);
}

void sn_message_record_on(struct sn_thread *owner, uint32_t node, uint32_t stream,
			  const struct sn_message *message)
{
	struct sn_thread *self = sn_thread_self();
	if (self)
		record(self,
		       (struct sn_trace_event){.context = node,
					       .has_stream = true,
					       .stream = stream,
					       .has_owner = owner != self,
					       .owner = owner->index},
		       message);
}

void sn_message_record_call(const char *name, const struct sn_message *message,
			    sn_message_recorder *as)
{
	struct sn_thread *thread = sn_trace_wants(SN_TRACE_SOURCE_MESSAGES) ? sn_enter() : NULL;
	if (!thread)
		return;
	as(thread, sn_message_context(thread, name, SN_FRAME_OS), message);
	sn_leave(thread);
}

uint64_t sn_message_request(void)
{
	static _Atomic uint64_t requests;
	return atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed) + 1;
}

/* A call's interval, at its context, with attributes, if messages are recorded now. */
static void record_interval(struct sn_thread *thread, uint32_t node, uint64_t start_ns,
			    uint64_t end_ns, struct sn_trace_attribute *attributes, uint32_t count)
{
	if (node != SN_NODE_NONE && sn_trace_wants(SN_TRACE_SOURCE_MESSAGES))
		SN_TRACE_ADD(thread, .kind = SN_TRACE_INTERVAL, .context = node,
			     .start_ns = start_ns, .end_ns = end_ns, .attributes = attributes,
			     .attribute_count = count);
}

void sn_message_record_wait(struct sn_thread *thread, uint32_t node,
			    const struct sn_message *message)
{
	struct sn_trace_attribute attributes[] = {
	    {.key = SN_TRACE_KEY_MESSAGE, .value = 3},
	    {.key = SN_TRACE_KEY_PEER, .value = message->peer},
	    {.key = SN_TRACE_KEY_REQUEST, .value = message->request},
	};
	record_interval(thread, node, message->start_ns, message->end_ns, attributes, 3);
}

void sn_collective_record(struct sn_thread *thread, uint32_t node, uint64_t group, uint64_t number,
			  uint64_t bytes, uint64_t start_ns, uint64_t end_ns)
{
	struct sn_trace_attribute attributes[] = {
	    {.key = SN_TRACE_KEY_GROUP, .value = group},
	    {.key = SN_TRACE_KEY_COLLECTIVE, .value = number},
	    {.key = SN_TRACE_KEY_BYTES, .value = bytes},
	};
	record_interval(thread, node, start_ns, end_ns, attributes, bytes ? 3 : 2);
}

/* ---- messages that a program reports itself ---- */

static uint64_t hook_begin(void)
{
	return sn_messages_are_wanted() ? sn_now_ns() : 0;
}

static void hook_end(uint64_t begun, int is_sent, uint32_t peer, uint64_t tag, uint64_t bytes)
{
	if (!begun)
		return;
	struct sn_message message = {.start_ns = begun,
				     .end_ns = sn_now_ns(),
				     .peer = peer,
				     .tag = tag,
				     .bytes = bytes,
				     .rank = SN_ID_NONE,
				     .is_sent = is_sent != 0};
	message.number = count_message(&message);
	sn_message_record_call(is_sent ? "send" : "receive", &message, sn_message_record);
}

const struct sonde_message_hooks sn_message_hooks = {hook_begin, hook_end};

/* For other languages, by dlsym. */
SN_PUBLIC(uint64_t, sonde_message_begin, (void))
{
	return hook_begin();
}

SN_PUBLIC(void, sonde_message_sent, (uint64_t begun, uint32_t peer, uint64_t tag, uint64_t bytes))
{
	hook_end(begun, 1, peer, tag, bytes);
}

SN_PUBLIC(void, sonde_message_received,
	  (uint64_t begun, uint32_t peer, uint64_t tag, uint64_t bytes))
{
	hook_end(begun, 0, peer, tag, bytes);
}
