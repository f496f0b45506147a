/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What TensorFlow is to the collector when it sends tensors by gRPC: its functions of those names,
 * with those arguments, called in that order; over a socket and without tensors.
 *
 *	-DFRAMEWORK	libtensorflow_framework: tensors, and the protobuf that writes requests out
 *	else		libtensorflow_cc: workers, and what gRPC makes of answers
 *
 * -DDATE=N is Abseil's, by which the releases differ; with -DNO_STATUS the encoder returns nothing,
 * as in some. Test programs use the functions made_*.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct request {
	size_t length;
	unsigned char bytes[4096];
};
struct tensor {
	uint64_t bytes;
};

bool write_out(const struct request *, void *,
	       int) __asm__("_ZNK6google8protobuf11MessageLite16SerializeToArrayEPvi");
size_t total_bytes(const struct tensor *) __asm__("_ZNK10tensorflow6Tensor10TotalBytesEv");

#ifdef FRAMEWORK

bool write_out(const struct request *request, void *to, int size)
{
	if (request->length > (size_t)size)
		return false;
	memcpy(to, request->bytes, request->length);
	return true;
}

size_t total_bytes(const struct tensor *tensor)
{
	return tensor->bytes;
}

#else

#define TEXT_OF(number) #number
#define TEXT(number)	TEXT_OF(number)
#define WORKER		"_ZN10tensorflow10GrpcWorker"
#define REMOTE		"_ZN10tensorflow16GrpcRemoteWorker"
#define OPTIONS		"EPN3tsl11CallOptionsEPKNS_"
#define DONE		"ESt8functionIFvRKN4absl12lts_" TEXT(DATE) "6StatusEEE"

/* What goes over the socket, both ways. */
struct message {
	bool is_buffer;
	void *answer; /* the asking end's */
	uint64_t bytes;
	struct request request;
};
struct remote {
	const void *const *table;
	int socket;
};
typedef void asking(void *, void *, const struct request *, void *, void *);

asking ask_tensor __asm__(REMOTE "15RecvTensorAsync" OPTIONS
				 "17RecvTensorRequestEPNS_14TensorResponse" DONE);
asking ask_buffer __asm__(REMOTE "12RecvBufAsync" OPTIONS
				 "14RecvBufRequestEPNS_15RecvBufResponse" DONE);
asking tensor_asked __asm__(WORKER "19GrpcRecvTensorAsync" OPTIONS
				   "17RecvTensorRequestEPN4grpc10ByteBuffer" DONE);
asking buffer_asked __asm__(WORKER "12RecvBufAsync" OPTIONS
				   "14RecvBufRequestEPNS_15RecvBufResponse" DONE);
bool parse_tensor(void *, void *) __asm__("_ZN10tensorflow28GrpcMaybeParseTensorResponseEPN4grpc10"
					  "ByteBufferEPNS_14TensorResponseE");
bool parse_message(void *, void *) __asm__("_ZN3tsl19GrpcMaybeParseProtoEPN4grpc10ByteBufferEPN6"
					   "google8protobuf7MessageE");
size_t byte_size(const void *) __asm__("_ZNK10tensorflow15RecvBufResponse12ByteSizeLongEv");
#define ENCODE		"_ZN10tensorflow4grpc24EncodeTensorToByteBufferEbRKNS_6TensorEbPN4grpc10ByteBufferE"
#ifdef NO_STATUS
void encode(bool, const struct tensor *, bool, void *) __asm__(ENCODE);
#else
void *encode(void *, bool, const struct tensor *, bool, void *) __asm__(ENCODE);
#endif

static void put(int socket, const struct message *message)
{
	if (write(socket, message, sizeof(*message)) != sizeof(*message))
		abort();
}

static void ask(const struct remote *remote, const struct request *request, void *answer,
		bool is_buffer)
{
	struct message message = {.is_buffer = is_buffer, .answer = answer, .request = *request};
	put(remote->socket, &message);
}

void ask_tensor(void *worker, void *options, const struct request *request, void *answer,
		void *done)
{
	ask(worker, request, answer, false);
}

void ask_buffer(void *worker, void *options, const struct request *request, void *answer,
		void *done)
{
	ask(worker, request, answer, true);
}

/* The real ones leave the answer to who has the tensor. */
void tensor_asked(void *worker, void *options, const struct request *request, void *answer,
		  void *done)
{
}

void buffer_asked(void *worker, void *options, const struct request *request, void *answer,
		  void *done)
{
}

bool parse_tensor(void *bytes, void *answer)
{
	return bytes && answer;
}

bool parse_message(void *bytes, void *answer)
{
	return bytes && answer;
}

size_t byte_size(const void *answer)
{
	return answer ? 16 : 0;
}

#ifdef NO_STATUS
void encode(bool is_dead, const struct tensor *tensor, bool wants_acknowledgement, void *bytes)
{
	*(uint64_t *)bytes = total_bytes(tensor);
}
#else
void *encode(void *status, bool is_dead, const struct tensor *tensor, bool wants_acknowledgement,
	     void *bytes)
{
	*(uint64_t *)bytes = total_bytes(tensor);
	return memset(status, 0, sizeof(uintptr_t));
}
#endif

/* Functions of classes are called by their tables, which name them by their symbols. */
static const void *const remote_table[] = {(void *)ask_tensor, (void *)ask_buffer};
static const void *const worker_table[] = {(void *)tensor_asked, (void *)buffer_asked};

void made_ask(int socket, const struct request *request, bool is_buffer, void *answer)
{
	struct remote remote = {remote_table, socket};
	((asking *)remote.table[is_buffer])(&remote, NULL, request, answer, NULL);
}

void made_compute(void)
{
	enum { CLOCKS = CLOCKS_PER_SEC * 3 / 10 }; /* of the processor's time */
	for (clock_t begin = clock(); clock() - begin < CLOCKS;)
		for (volatile int i = 0; i < 1000000; i++)
			;
}

/* Waits for the next answer. */
void made_receive(int socket)
{
	struct message message;
	if (read(socket, &message, sizeof(message)) != sizeof(message))
		abort();
	parse_message(&message.bytes, &message); /* others are answered as well */
	bool is_parsed = message.is_buffer ? parse_message(&message.bytes, message.answer)
					   : parse_tensor(&message.bytes, message.answer);
	if (!is_parsed)
		abort();
}

/* The next request arrives: what it asks for goes to *answer. */
void made_accept(int socket, struct message *message, void *answer)
{
	if (read(socket, message, sizeof(*message)) != sizeof(*message))
		abort();
	((asking *)worker_table[message->is_buffer])(NULL, NULL, &message->request, answer, NULL);
}

/* What it asked for is there. */
void made_answer(int socket, struct message *message, uint64_t bytes, void *answer)
{
	const struct tensor tensor = {bytes};
	uintptr_t status = 0;
	if (message->is_buffer)
		byte_size(answer);
	else
#ifdef NO_STATUS
		encode(false, &tensor, false, answer);
#else
		encode(&status, false, &tensor, false, answer);
#endif
	(void)status;
	put(socket, message);
}

#endif
