/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between processes: the tensors that TensorFlow sends by gRPC, for graphs that are spread
 * over processes (RecvTensor) and for its collectives (RecvBuf). Recorded over time alone
 * (interface/message.h).
 *
 * The receiver sends a request, and the answer is the tensor. Each request has a unique number, so
 * both ends can identify the message. Wrapped are
 *
 *	GrpcRemoteWorker::Recv..Async	the receiver asks
 *	GrpcMaybeParse..		it has the answer: known by where the answer goes
 *	GrpcWorker::..Recv..Async	the sender is asked
 *	EncodeTensorToByteBuffer,	it answers: likewise
 *	RecvBufResponse::ByteSizeLong
 *
 * which the library reaches by their symbols (its tables of virtual functions, its linkage table),
 * as gloo does (adapters/torch/gloo.c). Nothing of TensorFlow's objects is read: a request is
 * written out by its own public function and decoded as protobuf, an answer is an address. The
 * names of types in the symbols are the check of the release: another one has other symbols, and
 * then nothing is recorded. Arguments are passed on in their registers, because a function's
 * mangled name does not contain its result, which may take the first register.
 */
#include "tensorflow.h"

#include "collect/core/adapter.h"
#include "collect/core/line.h"
#include "collect/intercept/intercept.h"
#include "collect/interface/message.h"
#include "collect/record/property.h"
#include "collect/intercept/real_symbol.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* The ends of messages of TensorFlow's know each other by nothing but tasks: no other library's do
 * so among the same processes. */
#define COMMUNICATOR  0x7466u
#define REQUEST_BYTES 1024
/* Lower "addresses" are other arguments. */
#define ADDRESS_MIN   65536u

enum duty { NOT_LOADED, NOT_KNOWN, NOTHING_SENT, WORKS, CANNOT_WRITE_OUT };
static _Atomic int duty;

/* ---- requests ---- */

typedef bool write_out(const void *, void *, int);

/* Of the protobuf that `library`, a function of TensorFlow's, is linked with: a process may have
 * several. */
static write_out *writer_of(const void *library)
{
	static _Atomic(void *) known;
	void *found = atomic_load_explicit(&known, memory_order_relaxed);
	Dl_info info;
	if (found || !dladdr(library, &info) || !info.dli_fname)
		return (write_out *)found;
	void *handle = dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
	if (!handle)
		return NULL;
	found = dlsym(handle, "_ZNK6google8protobuf11MessageLite16SerializeToArrayEPvi");
	/* it stays: TensorFlow is never unloaded */
	atomic_store_explicit(&known, found, memory_order_relaxed);
	return (write_out *)found;
}

static bool decode_at(const void *request, const void *library, bool is_buffer,
		      struct sn_tf_request *decoded)
{
	unsigned char bytes[REQUEST_BYTES];
	write_out *write = writer_of(library);
	/* what is written out ends where there is no further field: the length is not told */
	memset(bytes, 0, sizeof(bytes));
	bool is_written = write && write(request, bytes, sizeof(bytes) - 1);
	atomic_store_explicit(&duty, is_written ? WORKS : CANNOT_WRITE_OUT, memory_order_relaxed);
	return is_written && sn_tf_decode(bytes, sizeof(bytes), is_buffer, decoded);
}

/* ---- both ends ---- */

static void learn_rank(uint32_t rank)
{
	static _Atomic bool is_known;
	if (atomic_exchange_explicit(&is_known, true, memory_order_relaxed))
		return;
	if (!sn_property_has("rank"))
		sn_property_set_number("rank", rank);
}

/* Where a message's answer will be is its key; one that was there before got none. */
static void keep(const void *answer, bool is_sent, const struct sn_tf_request *request)
{
	uint32_t own = is_sent ? request->sender : request->receiver;
	uintptr_t key = (uintptr_t)answer | is_sent; /* it is aligned */
	struct sn_message message = {
	    .communicator = COMMUNICATOR,
	    .rank = own,
	    .peer = is_sent ? request->receiver : request->sender,
	    .tag = request->id,
	    .bytes = request->bytes,
	    .number = 0, /* no other message has the tag */
	    .start_ns = sn_now_ns(),
	    .is_sent = is_sent,
	    .is_counted = true,
	};
	struct sn_message before;
	if ((uintptr_t)answer < ADDRESS_MIN)
		return;
	while (sn_message_remove(key, SN_MESSAGE_ANYBODY, &before))
		;
	learn_rank(own);
	sn_message_keep(key, &message);
}

static bool remove_message(uintptr_t answer, bool is_sent, struct sn_message *message)
{
	return answer >= ADDRESS_MIN &&
	       sn_message_remove(answer | is_sent, SN_MESSAGE_ANYBODY, message);
}

static void record(const char *name, struct sn_message *message)
{
	message->end_ns = sn_now_ns();
	sn_message_record_call(name, message, sn_message_record);
}

typedef uintptr_t any(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

/* A receiver asks, or a sender is asked: (worker, options, request, answer, what is to be done
 * then). */
#define ASKED(name, symbol, is_sent, is_buffer)                                                    \
	SN_REPLACES(symbol, uintptr_t, name,                                                       \
		    (uintptr_t a, uintptr_t b, uintptr_t request, uintptr_t answer, uintptr_t e,   \
		     uintptr_t f))                                                                 \
	{                                                                                          \
		any *function = (any *)SN_REAL_SYMBOL(symbol);                                     \
		struct sn_tf_request decoded;                                                      \
		if (sn_messages_are_wanted() &&                                                    \
		    decode_at((const void *)request, (const void *)function, is_buffer, &decoded)) \
			keep((const void *)answer, is_sent, &decoded);                             \
		return function(a, b, request, answer, e, f);                                      \
	}
/* Releases of TensorFlow differ in the date of Abseil: 2.18 and 2.19, 2.20, 2.21. */
#define STATUS(date) "FvRKN4absl12lts_" date "6StatusEEE"
#define BUFFER_ASKED(date)                                                                         \
	"_ZN10tensorflow10GrpcWorker12RecvBufAsyncEPN3tsl11CallOptionsEPKNS_"                      \
	"14RecvBufRequestEPNS_15RecvBufResponseESt8functionI" STATUS(date)
#define ASKED_BY(date)                                                                             \
	ASKED(sn_tf_ask_tensor_##date,                                                             \
	      "_ZN10tensorflow16GrpcRemoteWorker15RecvTensorAsyncEPN3tsl11CallOptionsEPKNS_"       \
	      "17RecvTensorRequestEPNS_14TensorResponseESt8functionI" STATUS(#date),               \
	      false, false)                                                                        \
	ASKED(sn_tf_ask_buffer_##date,                                                             \
	      "_ZN10tensorflow16GrpcRemoteWorker12RecvBufAsyncEPN3tsl11CallOptionsEPKNS_"          \
	      "14RecvBufRequestEPNS_15RecvBufResponseESt8functionI" STATUS(#date),                 \
	      false, true)                                                                         \
	ASKED(sn_tf_tensor_asked_##date,                                                           \
	      "_ZN10tensorflow10GrpcWorker19GrpcRecvTensorAsyncEPN3tsl11CallOptionsEPKNS_"         \
	      "17RecvTensorRequestEPN4grpc10ByteBufferESt8functionI" STATUS(#date),                \
	      true, false)                                                                         \
	ASKED(sn_tf_buffer_asked_##date, BUFFER_ASKED(#date), true, true)
ASKED_BY(20230802)
ASKED_BY(20250127)
ASKED_BY(20250814)

/* ---- answers ---- */

/* The receiver reads the answer: (bytes, answer), after where a status goes in other releases. It
 * waited since it asked. */
#define ANSWERED(name, symbol)                                                                     \
	SN_REPLACES(                                                                               \
	    symbol, uintptr_t, name,                                                               \
	    (uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f))        \
	{                                                                                          \
		struct sn_message message;                                                         \
		bool is_one = sn_messages_are_wanted() && remove_message(b, false, &message);      \
		uintptr_t result = ((any *)SN_REAL_SYMBOL(symbol))(a, b, c, d, e, f);              \
		if (is_one)                                                                        \
			record("gRPC receive", &message);                                          \
		return result;                                                                     \
	}
ANSWERED(sn_tf_parse_tensor,
	 "_ZN10tensorflow28GrpcMaybeParseTensorResponseEPN4grpc10ByteBufferEPNS_14TensorResponseE")
ANSWERED(sn_tf_parse_buffer,
	 "_ZN3tsl19GrpcMaybeParseProtoEPN4grpc10ByteBufferEPN6google8protobuf7MessageE")

#define ENCODE "_ZN10tensorflow4grpc24EncodeTensorToByteBufferEbRKNS_6TensorEbPN4grpc10ByteBufferE"

/* (is it dead, tensor, is an acknowledgement wanted, bytes), after where a status goes. */
SN_REPLACES(ENCODE, uintptr_t, sn_tf_encode,
	    (uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f))
{
	size_t (*bytes_of)(uintptr_t) =
	    (size_t(*)(uintptr_t))SN_REAL_SYMBOL("_ZNK10tensorflow6Tensor10TotalBytesEv");
	struct sn_message message;
	bool is_one = false;
	if (sn_messages_are_wanted()) {
		bool is_after_status = remove_message(e, true, &message);
		is_one = is_after_status || remove_message(d, true, &message);
		if (is_one && bytes_of)
			message.bytes = bytes_of(is_after_status ? c : b);
	}
	if (is_one)
		message.start_ns = sn_now_ns(); /* now there is what it was asked for */
	uintptr_t result = ((any *)SN_REAL_SYMBOL(ENCODE))(a, b, c, d, e, f);
	if (is_one)
		record("gRPC send", &message);
	return result;
}

#define BYTE_SIZE "_ZNK10tensorflow15RecvBufResponse12ByteSizeLongEv"

SN_REPLACES(BYTE_SIZE, size_t, sn_tf_byte_size, (uintptr_t answer))
{
	struct sn_message message;
	bool is_one = sn_messages_are_wanted() && remove_message(answer, true, &message);
	if (is_one)
		message.start_ns = sn_now_ns();
	size_t result = ((size_t(*)(uintptr_t))SN_REAL_SYMBOL(BYTE_SIZE))(answer);
	if (is_one)
		record("gRPC send", &message);
	return result;
}

/* ---- the adapter ---- */

/* By what is exported alone: nothing is called. */
static int tensorflow_attach(void)
{
	static const char *const known[] = {BUFFER_ASKED("20230802"), BUFFER_ASKED("20250127"),
					    BUFFER_ASKED("20250814")};
	int loaded = NOT_LOADED;
	if (!sn_real_symbol(ENCODE))
		return -EAGAIN;
	bool is_known = false;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		is_known |= sn_real_symbol(known[i]) != NULL;
	atomic_compare_exchange_strong(&duty, &loaded, is_known ? NOTHING_SENT : NOT_KNOWN);
	return is_known ? 0 : -ENOTSUP;
}

static const char *status_of_messages(void)
{
	switch (atomic_load_explicit(&duty, memory_order_relaxed)) {
	case WORKS:
		return "tensors that are sent by gRPC";
	case CANNOT_WRITE_OUT:
		return "sends by gRPC, but its protobuf cannot write requests out: no messages";
	case NOTHING_SENT:
		return "nothing was sent by gRPC";
	case NOT_KNOWN:
		return "messages of this release of TensorFlow are not known";
	default:
		return "no TensorFlow in this process";
	}
}

static const char *tensorflow_status(void)
{
	static char text[192];
	struct sn_line line = SN_LINE(text);
	if (!sn_tf_executes())
		return status_of_messages();
	bool has_messages = atomic_load_explicit(&duty, memory_order_relaxed) != NOT_LOADED;
	SN_LINE_ADD(&line, "operations and functions as operators", has_messages ? "; " : NULL,
		    has_messages ? status_of_messages() : NULL);
	return text;
}

const struct sn_adapter sn_adapter_tensorflow = {
    .name = "tensorflow",
    .attach = tensorflow_attach,
    .status = tensorflow_status,
};
