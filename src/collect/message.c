/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that a program tells of; see message.h. */
#include "message.h"

#include "adapter.h"
#include "intercept.h"
#include "trace.h"

#include <string.h>

/* Directions, peers and tags that are counted; with more of them messages have no number, and
 * whoever reads counts those it finds. */
#define COUNTERS 4096u
#define PROBES	 16u

struct counter {
	_Atomic uint64_t key; /* 0: free */
	_Atomic uint64_t count;
};
static struct counter counters[COUNTERS];

#define NO_NUMBER UINT64_MAX

static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 32) * 0xd6e8feb86659fd93u;
	value = (value ^ value >> 32) * 0xd6e8feb86659fd93u;
	return value ^ value >> 32;
}

/* The message's number, from 0. */
static uint64_t count_message(bool is_sent, uint32_t peer, uint64_t tag)
{
	uint64_t key = mix(mix(tag) + ((uint64_t)peer << 1 | is_sent)) | 1;
	for (unsigned probe = 0; probe < PROBES; probe++) {
		struct counter *counter = &counters[((key >> 1) + probe) % COUNTERS];
		uint64_t found = 0;
		/* relaxed: a counter's count means nothing but itself */
		if (atomic_compare_exchange_strong_explicit(
			&counter->key, &found, key, memory_order_relaxed, memory_order_relaxed) ||
		    found == key)
			return atomic_fetch_add_explicit(&counter->count, 1, memory_order_relaxed);
	}
	return NO_NUMBER;
}

static uint64_t hook_begin(void)
{
	return sn_trace_sources() & SN_TRACE_SOURCE_MESSAGES ? sn_now_ns() : 0;
}

static uint32_t context_of(struct sn_thread *thread, const char *name)
{
	uint32_t node = sn_callpath(thread, NULL, 0);
	struct sn_frame frame = {.kind = SN_FRAME_OS,
				 .id = sn_cct_string(&thread->cct, name, strlen(name))};
	return node == SN_NODE_NONE ? node : sn_cct_child(&thread->cct, node, &frame);
}

static void hook_end(uint64_t begun, int is_sent, uint32_t peer, uint64_t tag, uint64_t bytes)
{
	if (!begun)
		return;
	uint64_t now_ns = sn_now_ns(), number = count_message(is_sent, peer, tag);
	struct sn_thread *thread = sn_trace_wants(SN_TRACE_SOURCE_MESSAGES) ? sn_enter() : NULL;
	if (!thread)
		return;
	struct sn_trace_attribute attributes[] = {
	    {.key = SN_TRACE_KEY_MESSAGE, .value = is_sent ? 1 : 2},
	    {.key = SN_TRACE_KEY_PEER, .value = peer},
	    {.key = SN_TRACE_KEY_TAG, .value = tag},
	    {.key = SN_TRACE_KEY_BYTES, .value = bytes},
	    {.key = SN_TRACE_KEY_SEQUENCE, .value = number},
	};
	struct sn_trace_event event = {.kind = SN_TRACE_INTERVAL,
				       .context = context_of(thread, is_sent ? "send" : "receive"),
				       .start_ns = begun,
				       .end_ns = now_ns,
				       .attributes = attributes,
				       .attribute_count = number == NO_NUMBER ? 4 : 5};
	if (event.context != SN_NODE_NONE)
		sn_trace_message(thread, &event);
	sn_leave(thread);
}

const struct sonde_message_hooks sn_message_hooks = {hook_begin, hook_end};

SN_EXPORT void sonde_register_message_hooks_v1(const struct sonde_message_hooks *volatile *pointer);

void sonde_register_message_hooks_v1(const struct sonde_message_hooks *volatile *pointer)
{
	if (sn_measuring())
		*pointer = &sn_message_hooks;
}

/* For other languages, by dlsym. */
SN_EXPORT uint64_t sonde_message_begin(void);
SN_EXPORT void sonde_message_sent(uint64_t begun, uint32_t peer, uint64_t tag, uint64_t bytes);
SN_EXPORT void sonde_message_received(uint64_t begun, uint32_t peer, uint64_t tag, uint64_t bytes);

uint64_t sonde_message_begin(void)
{
	return hook_begin();
}

void sonde_message_sent(uint64_t begun, uint32_t peer, uint64_t tag, uint64_t bytes)
{
	hook_end(begun, 1, peer, tag, bytes);
}

void sonde_message_received(uint64_t begun, uint32_t peer, uint64_t tag, uint64_t bytes)
{
	hook_end(begun, 0, peer, tag, bytes);
}
