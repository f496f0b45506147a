/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between processes: what gloo, which carries torch.distributed's collective operations
 * on CPUs, sends and receives over TCP, to and from whom, and how long it waits for them. Recorded
 * over time alone (collect/trace.h).
 *
 * This library stands in front of gloo's virtual functions: the tables of its classes name them by
 * their symbols, which the loader binds to ours, whether gloo is a library of its own or a part of
 * libtorch_cpu. A send and the receive that takes it have one tag in both processes, gloo's slot.
 */
#include "torch.h"

#include "collect/intercept.h"
#include "collect/trace.h"

#include <string.h>

#define REAL(name)                                                                                 \
	({                                                                                         \
		static _Atomic(void *) known;                                                      \
		void *found = atomic_load_explicit(&known, memory_order_relaxed);                  \
		if (!found) {                                                                      \
			found = sn_torch_real(name);                                               \
			atomic_store_explicit(&known, found, memory_order_relaxed);                \
		}                                                                                  \
		found;                                                                             \
	})

#define BUFFER	     "_ZN4gloo9transport3tcp13UnboundBuffer"
#define MILLISECONDS "NSt6chrono8durationIlSt5ratioILl1ELl1000EEEE"

/* gloo::transport::UnboundBuffer */
struct buffer {
	const void *vtable;
	void *memory;
	size_t bytes;
};

struct message {
	const char *name;
	uint64_t start_ns;
	uint64_t peer, tag, bytes;
	bool has_tag; /* and bytes */
};

#define NO_PEER UINT64_MAX

static void record(const struct message *message)
{
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return;
	uint64_t end_ns = sn_now_ns();
	struct sn_trace_attribute attributes[3];
	uint32_t count = 0, node = sn_callpath(thread, NULL, 0);
	struct sn_frame frame = {
	    .kind = SN_FRAME_OS,
	    .id = sn_cct_string(&thread->cct, message->name, strlen(message->name))};
	if (node != SN_NODE_NONE)
		node = sn_cct_child(&thread->cct, node, &frame);
	if (message->peer != NO_PEER)
		attributes[count++] =
		    (struct sn_trace_attribute){.key = SN_TRACE_KEY_PEER, .value = message->peer};
	if (message->has_tag) {
		attributes[count++] =
		    (struct sn_trace_attribute){.key = SN_TRACE_KEY_TAG, .value = message->tag};
		attributes[count++] =
		    (struct sn_trace_attribute){.key = SN_TRACE_KEY_BYTES, .value = message->bytes};
	}
	if (node != SN_NODE_NONE)
		sn_trace_add(thread, &(struct sn_trace_event){.kind = SN_TRACE_INTERVAL,
							      .context = node,
							      .start_ns = message->start_ns,
							      .end_ns = end_ns,
							      .attributes = attributes,
							      .attribute_count = count});
	sn_leave(thread);
}

static bool is_wanted(void)
{
	return sn_trace_wants(SN_TRACE_SOURCE_MESSAGES);
}

/* All bytes from `offset` on are meant by the greatest number there is. */
static uint64_t bytes_of(const struct buffer *buffer, size_t offset, size_t bytes)
{
	return bytes == SIZE_MAX ? buffer->bytes - offset : bytes;
}

typedef void transfer(struct buffer *, int, uint64_t, size_t, size_t);

SN_EXPORT transfer sn_gloo_send __asm__(BUFFER "4sendEimmm");
void sn_gloo_send(struct buffer *buffer, int peer, uint64_t tag, size_t offset, size_t bytes)
{
	transfer *function = (transfer *)REAL(BUFFER "4sendEimmm");
	struct message message = {"gloo send", 0, (uint64_t)peer, tag, 0, true};
	bool wanted = is_wanted();
	if (wanted) {
		message.start_ns = sn_now_ns();
		message.bytes = bytes_of(buffer, offset, bytes);
	}
	function(buffer, peer, tag, offset, bytes);
	if (wanted)
		record(&message);
}

SN_EXPORT transfer sn_gloo_receive __asm__(BUFFER "4recvEimmm");
void sn_gloo_receive(struct buffer *buffer, int peer, uint64_t tag, size_t offset, size_t bytes)
{
	transfer *function = (transfer *)REAL(BUFFER "4recvEimmm");
	struct message message = {"gloo receive", 0, (uint64_t)peer, tag, 0, true};
	bool wanted = is_wanted();
	if (wanted) {
		message.start_ns = sn_now_ns();
		message.bytes = bytes_of(buffer, offset, bytes);
	}
	function(buffer, peer, tag, offset, bytes);
	if (wanted)
		record(&message);
}

typedef bool waiting(struct buffer *, int *, int64_t);

/* `peer` may be NULL; it is who the message went to or came from. */
static bool wait_for(waiting *function, const char *name, struct buffer *buffer, int *peer,
		     int64_t milliseconds)
{
	if (!is_wanted())
		return function(buffer, peer, milliseconds);
	int from = -1;
	struct message message = {.name = name, .start_ns = sn_now_ns(), .peer = NO_PEER};
	bool is_done = function(buffer, peer ? peer : &from, milliseconds);
	if (peer)
		from = *peer;
	if (is_done && from >= 0)
		message.peer = (uint64_t)from;
	record(&message);
	return is_done;
}

SN_EXPORT waiting sn_gloo_wait_send __asm__(BUFFER "8waitSendEPi" MILLISECONDS);
bool sn_gloo_wait_send(struct buffer *buffer, int *peer, int64_t milliseconds)
{
	return wait_for((waiting *)REAL(BUFFER "8waitSendEPi" MILLISECONDS), "gloo wait to send",
			buffer, peer, milliseconds);
}

SN_EXPORT waiting sn_gloo_wait_receive __asm__(BUFFER "8waitRecvEPi" MILLISECONDS);
bool sn_gloo_wait_receive(struct buffer *buffer, int *peer, int64_t milliseconds)
{
	return wait_for((waiting *)REAL(BUFFER "8waitRecvEPi" MILLISECONDS), "gloo wait to receive",
			buffer, peer, milliseconds);
}
