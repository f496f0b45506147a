/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between processes: what gloo, which performs torch.distributed's operations on CPUs,
 * sends and receives over TCP, to and from which rank, how long it waits, and in which collective
 * operation. Recorded as events only (interface/message.h).
 *
 * This library replaces gloo's virtual functions: the tables of its classes refer to them by
 * symbol, and the loader binds the symbols to ours, whether gloo is a library of its own or a part
 * of libtorch_cpu. C++ exceptions may pass through, because nothing is left open.
 *
 * A connection is identified at both ends by the addresses on which the ends listen, which gloo
 * exchanges. gloo has no name for a process group: each process names it after one of its
 * connections, and analysis finds out from the messages which names mean the same group. A send and
 * the receive that takes it have the same tag, gloo's slot: the program's own, or for collectives
 * their kind and their number in the group.
 */
#include "torch.h"

#include "collect/core/word_table.h"
#include "collect/intercept/intercept.h"
#include "collect/interface/message.h"
#include "collect/record/property.h"
#include "collect/intercept/real_symbol.h"
#include "collect/record/trace.h"

#include <netinet/in.h>
#include <string.h>

#define TCP	     "_ZN4gloo9transport3tcp"
#define BUFFER	     TCP "13UnboundBuffer"
#define MILLISECONDS "NSt6chrono8durationIlSt5ratioILl1ELl1000EEEE"

/* gloo::transport::Context */
struct context {
	const void *vtable;
	int rank, size;
};

/* gloo::transport::tcp::UnboundBuffer */
struct buffer {
	const void *vtable;
	void *memory;
	size_t bytes;
	const struct context *context;
};

/* std::vector<char> */
struct bytes {
	const char *begin, *end;
};

/* ---- connections and groups ---- */

/* Connections by gloo::transport::tcp::Pair; they are established before anything is sent. */
#define PAIR_BITS 12u
static struct sn_word_table connections = {.bits = PAIR_BITS};
/* The size of the largest group so far, which is all processes; a process that has no other rank
 * gets its rank there. */
static _Atomic int largest_group;
static _Atomic bool has_rank;

/* The address on which an end listens; several connections may share the socket. */
struct end {
	struct sockaddr_storage address;
	int64_t sequence;
};

/* A hash that is the same at both ends; 0 if there is none. */
static uint64_t hash_end(const struct end *end)
{
	const struct sockaddr_in *four = (const void *)&end->address;
	const struct sockaddr_in6 *six = (const void *)&end->address;
	uint64_t words[2] = {0, 0}, port;
	switch (end->address.ss_family) {
	case AF_INET:
		words[0] = four->sin_addr.s_addr;
		port = four->sin_port;
		break;
	case AF_INET6:
		memcpy(words, &six->sin6_addr, sizeof(words));
		port = six->sin6_port;
		break;
	default:
		return 0;
	}
	words[0] = sn_message_mix(words[0]) + words[1];
	return sn_message_mix(sn_message_mix(words[0]) + (port << 32) + (uint64_t)end->sequence);
}

/* void Pair::connect(const std::vector<char> &other_end). The call may change this end's address,
 * const Address &Pair::address() const, so that is read before. */
#define CONNECT TCP "4Pair7connectERKSt6vectorIcSaIcEE"
SN_REPLACES(CONNECT, void, sn_gloo_connect, (void *pair, const struct bytes *other_end))
{
	struct address {
		const void *vtable;
		struct end end;
	};
	void (*function)(void *, const struct bytes *) = SN_REAL_SYMBOL(CONNECT);
	const struct address *(*address)(const void *) =
	    SN_REAL_SYMBOL("_ZNK4gloo9transport3tcp4Pair7addressEv");
	struct end other;
	if (sn_messages_are_wanted() && address &&
	    (size_t)(other_end->end - other_end->begin) >= sizeof(other)) {
		memcpy(&other, other_end->begin, sizeof(other));
		uint64_t ends[] = {hash_end(&address(pair)->end), hash_end(&other)};
		uint32_t connection = (uint32_t)sn_message_mix(ends[0] + ends[1]) | 1;
		sn_word_set(&connections, (uintptr_t)pair, ends[0] && ends[1] ? connection : 0);
	}
	function(pair, other_end);
}

/* The number of the connection to another rank; 0 if it is unknown. */
static uint32_t connection_to(const struct context *context, uint32_t peer)
{
	/* std::unique_ptr<Pair> &Context::getPair(int) of the base class, which has
	 * no side effects */
	const uintptr_t *(*function)(const struct context *, int) =
	    SN_REAL_SYMBOL("_ZN4gloo9transport7Context7getPairEi");
	if (!function || context->rank < 0 || context->rank >= context->size ||
	    peer >= (uint32_t)context->size)
		return 0;
	uintptr_t pair = *function(context, (int)peer);
	return pair ? (uint32_t)sn_word_get(&connections, pair) : 0;
}

/* This process's name of the group. */
static uint32_t group_of(const struct context *context)
{
	return connection_to(context, context->rank ? 0 : 1);
}

static void learn_rank(const struct context *context)
{
	int largest = atomic_load_explicit(&largest_group, memory_order_relaxed);
	if (__builtin_expect(context->size <= largest, 1))
		return;
	if (!atomic_compare_exchange_strong(&largest_group, &largest, context->size))
		return;
	if (!largest)
		atomic_store(&has_rank, sn_property_has("rank"));
	if (!atomic_load(&has_rank))
		sn_property_set_number("rank", (uint32_t)context->rank);
}

/* ---- collectives ---- */

/* The collective of the calling thread. */
struct collective {
	uint64_t number; /* in the group; SN_MESSAGE_NO_NUMBER: nothing has been sent yet */
	uint32_t group;
};
static __thread struct collective *innermost __attribute__((tls_model("initial-exec")));

/* gloo::Slot: for collectives the kind, the caller's number, and the step. */
enum { SLOT_KIND_SHIFT = 56, SLOT_NUMBER_SHIFT = 24 };

static bool is_of_collective(uint64_t slot)
{
	return slot >> SLOT_KIND_SHIFT != 0;
}

static void note_collective(const struct sn_message *message)
{
	struct collective *collective = innermost;
	if (!collective || collective->number != SN_MESSAGE_NO_NUMBER ||
	    !is_of_collective(message->tag))
		return;
	collective->number = (uint32_t)(message->tag >> SLOT_NUMBER_SHIFT);
	collective->group = (uint32_t)message->group;
}

typedef void operation(void *);

static void run(operation *function, void *options, const char *name)
{
	/* an exception leaves `innermost` set; the thread's next collective corrects it */
	struct collective collective = {.number = SN_MESSAGE_NO_NUMBER};
	if (!sn_trace_wants(SN_TRACE_SOURCE_MESSAGES)) {
		function(options);
		return;
	}
	uint64_t start_ns = sn_now_ns();
	innermost = &collective;
	function(options);
	innermost = NULL;
	struct sn_thread *thread =
	    collective.number == SN_MESSAGE_NO_NUMBER || !collective.group ? NULL : sn_enter();
	if (!thread)
		return;
	sn_collective_record(thread, sn_message_context(thread, name, SN_FRAME_REGION),
			     collective.group, collective.number, 0, start_ns, sn_now_ns());
	sn_leave(thread);
}

#define COLLECTIVE(name, symbol)                                                                   \
	SN_REPLACES(symbol, void, sn_gloo_##name, (void *options))                                 \
	{                                                                                          \
		run(SN_REAL_SYMBOL(symbol), options, "gloo:" #name);                               \
	}
COLLECTIVE(allgather, "_ZN4gloo9allgatherERNS_16AllgatherOptionsE")
COLLECTIVE(allgatherv, "_ZN4gloo10allgathervERNS_17AllgathervOptionsE")
COLLECTIVE(allreduce, "_ZN4gloo9allreduceERKNS_16AllreduceOptionsE")
COLLECTIVE(alltoall, "_ZN4gloo8alltoallERNS_15AlltoallOptionsE")
COLLECTIVE(alltoallv, "_ZN4gloo9alltoallvERNS_16AlltoallvOptionsE")
COLLECTIVE(barrier, "_ZN4gloo7barrierERNS_14BarrierOptionsE")
COLLECTIVE(broadcast, "_ZN4gloo9broadcastERNS_16BroadcastOptionsE")
COLLECTIVE(gather, "_ZN4gloo6gatherERNS_13GatherOptionsE")
COLLECTIVE(reduce, "_ZN4gloo6reduceERNS_13ReduceOptionsE")
COLLECTIVE(scatter, "_ZN4gloo7scatterERNS_14ScatterOptionsE")

/* ---- messages ---- */

/* The key under which a buffer's sent, or received, messages are kept. */
static uintptr_t key_of(const struct buffer *buffer, bool is_sent)
{
	return (uintptr_t)buffer | is_sent; /* buffers are aligned, so the lowest bit is free */
}

/* SIZE_MAX means all bytes from `offset` on. */
static uint64_t bytes_of(const struct buffer *buffer, size_t offset, size_t bytes)
{
	return bytes == SIZE_MAX ? buffer->bytes - offset : bytes;
}

static struct sn_message describe(const struct buffer *buffer, uint32_t peer, uint64_t slot,
				  uint64_t bytes, bool is_sent)
{
	struct sn_message message = {
	    .communicator = connection_to(buffer->context, peer),
	    .group = group_of(buffer->context),
	    .rank = (uint32_t)buffer->context->rank,
	    .peer = peer,
	    .tag = slot,
	    .bytes = bytes,
	    .request = is_sent ? sn_message_request() : 0,
	    .start_ns = sn_now_ns(),
	    .is_sent = is_sent,
	};
	learn_rank(buffer->context);
	note_collective(&message);
	/* each slot of a collective is used once, so counting messages by slot would
	 * fill any table */
	if (is_of_collective(slot))
		sn_message_enlist(&message);
	else if (is_sent)
		sn_message_send(&message);
	else
		sn_message_post(&message);
	return message;
}

typedef void transfer(struct buffer *, int, uint64_t, size_t, size_t);

static void transfer_to_or_from(transfer *function, bool is_sent, struct buffer *buffer, int peer,
				uint64_t slot, size_t offset, size_t bytes)
{
	struct sn_message message;
	bool wanted = sn_messages_are_wanted();
	if (wanted) {
		message = describe(buffer, (uint32_t)peer, slot, bytes_of(buffer, offset, bytes),
				   is_sent);
		sn_message_keep(key_of(buffer, is_sent), &message);
	}
	function(buffer, peer, slot, offset, bytes);
	if (!wanted || !is_sent)
		return;
	message.end_ns = sn_now_ns();
	sn_message_record_call("gloo send", &message, sn_message_record);
}

#define TRANSFERS(name, symbol, is_sent)                                                           \
	SN_REPLACES(                                                                               \
	    symbol, void, name,                                                                    \
	    (struct buffer * buffer, int peer, uint64_t slot, size_t offset, size_t bytes))        \
	{                                                                                          \
		transfer_to_or_from(SN_REAL_SYMBOL(symbol), is_sent, buffer, peer, slot, offset,   \
				    bytes);                                                        \
	}
TRANSFERS(sn_gloo_send, BUFFER "4sendEimmm", true)
TRANSFERS(sn_gloo_receive, BUFFER "4recvEimmm", false)

/* Receives from any of a list of ranks; C++ passes the std::vector<int> by address. */
#define RECEIVE_ANY BUFFER "4recvESt6vectorIiSaIiEEmmm"
SN_REPLACES(RECEIVE_ANY, void, sn_gloo_receive_any,
	    (struct buffer * buffer, void *ranks, uint64_t slot, size_t offset, size_t bytes))
{
	void (*function)(struct buffer *, void *, uint64_t, size_t, size_t) =
	    SN_REAL_SYMBOL(RECEIVE_ANY);
	if (sn_messages_are_wanted()) {
		struct sn_message message = describe(buffer, SN_MESSAGE_ANYBODY, slot,
						     bytes_of(buffer, offset, bytes), false);
		sn_message_keep(key_of(buffer, false), &message);
	}
	function(buffer, ranks, slot, offset, bytes);
}

typedef bool waiting(struct buffer *, int *, int64_t);

/* Records the wait for a send. With one buffer the first message to that rank is waited for. */
static void record_sent(struct buffer *buffer, uint32_t peer, uint64_t start_ns)
{
	struct sn_message message;
	if (!sn_message_remove(key_of(buffer, true), peer, &message))
		return;
	message.start_ns = start_ns;
	message.end_ns = sn_now_ns();
	sn_message_record_call("gloo wait to send", &message, sn_message_record_wait);
}

static void record_received(struct buffer *buffer, uint32_t peer, uint64_t start_ns)
{
	struct sn_message message;
	if (!sn_message_remove(key_of(buffer, false), peer, &message))
		return;
	/* if several messages have come, gloo returns only the last one's rank, and the others left
	 * in the buffer have come as well */
	if (message.peer == SN_MESSAGE_ANYBODY)
		message.communicator = connection_to(buffer->context, peer);
	else
		peer = message.peer;
	sn_message_receive(&message, peer, message.tag);
	message.posted_ns = message.start_ns;
	message.start_ns = start_ns;
	message.end_ns = sn_now_ns();
	sn_message_record_call("gloo receive", &message, sn_message_record);
}

/* `peer` may be NULL; it receives the rank of the message. */
static bool wait_for(waiting *function, bool is_sent, struct buffer *buffer, int *peer,
		     int64_t milliseconds)
{
	if (!sn_messages_are_wanted())
		return function(buffer, peer, milliseconds);
	int other = -1;
	uint64_t start_ns = sn_now_ns();
	bool is_done = function(buffer, peer ? peer : &other, milliseconds);
	if (peer)
		other = *peer;
	if (is_done && other >= 0)
		(is_sent ? record_sent : record_received)(buffer, (uint32_t)other, start_ns);
	return is_done;
}

#define WAITS_FOR(name, symbol, is_sent)                                                           \
	SN_REPLACES(symbol, bool, name, (struct buffer * buffer, int *peer, int64_t milliseconds)) \
	{                                                                                          \
		return wait_for(SN_REAL_SYMBOL(symbol), is_sent, buffer, peer, milliseconds);      \
	}
WAITS_FOR(sn_gloo_wait_send, BUFFER "8waitSendEPi" MILLISECONDS, true)
WAITS_FOR(sn_gloo_wait_receive, BUFFER "8waitRecvEPi" MILLISECONDS, false)
