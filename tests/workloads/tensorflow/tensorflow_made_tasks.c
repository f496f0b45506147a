/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tasks that ask each other for tensors by what tensorflow_made.c makes: `PROGRAM LIBRARY`, or
 * `PROGRAM LIBRARY none`, where none asks. First the worker asks the parameter server, then the
 * other way round, each time for
 *
 *	tensors of 1000, 2000, 3000 and 4000 bytes, one after the other; of these the third comes
 *	LATE_US late
 *	two at once, of 7001 and 7002 bytes, of which the second is answered first
 *	one that fails, then one of 9000 bytes with its answer at the same address where it is asked
 *	one that fails, then one of 9500 bytes with its answer at the same address where it is given
 *	buffers of 4096 and 8192 bytes
 *
 * As with gRPC another thread than asked takes the answer, and another than was asked gives it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LATE_US = 500000, TENSORS = 4, BUFFERS = 2 };

struct request {
	size_t length;
	unsigned char bytes[4096];
};
struct message {
	bool is_buffer;
	void *answer;
	uint64_t bytes;
	struct request request;
};

static void (*ask)(int, const struct request *, bool, void *);
static void (*receive_next)(int);
static void (*accept_next)(int, struct message *, void *);
static void (*give)(int, struct message *, uint64_t, void *);
static char answers[4][64] __attribute__((aligned(64)));

struct work {
	int socket;
	struct message *message; /* to be answered; NULL: an answer is to be received */
	uint64_t bytes;
	void *answer;
};

static void *do_work(void *argument)
{
	const struct work *work = argument;
	if (work->message)
		give(work->socket, work->message, work->bytes, work->answer);
	else if (work->socket >= 0)
		receive_next(work->socket);
	return NULL;
}

static void in_another_thread(struct work work)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, do_work, &work) || pthread_join(thread, NULL))
		abort();
}

static void receive(int socket)
{
	in_another_thread((struct work){.socket = socket});
}

static void answer_to(int socket, struct message *message, uint64_t bytes, void *answer)
{
	in_another_thread((struct work){socket, message, bytes, answer});
}

static void put_number(struct request *request, unsigned field, uint64_t value)
{
	request->bytes[request->length++] = (unsigned char)(field << 3);
	for (; value >= 0x80; value >>= 7)
		request->bytes[request->length++] = (unsigned char)(value | 0x80);
	request->bytes[request->length++] = (unsigned char)value;
}

static void put_text(struct request *request, unsigned field, const char *text)
{
	size_t length = strlen(text);
	request->bytes[request->length++] = (unsigned char)(field << 3 | 2);
	request->bytes[request->length++] = (unsigned char)(length | 0x80);
	request->bytes[request->length++] = (unsigned char)(length >> 7);
	memcpy(request->bytes + request->length, text, length);
	request->length += length;
}

static const char *device_of(bool is_worker)
{
	return is_worker ? "/job:worker/replica:0/task:0/device:CPU:0"
			 : "/job:ps/replica:0/task:0/device:CPU:0";
}

static void ask_for_tensor(int socket, bool is_worker, unsigned number, void *answer)
{
	struct request request = {0};
	char key[256];
	snprintf(key, sizeof(key), "%s;0123456789abcdef;%s;edge_%u_made;0:0", device_of(!is_worker),
		 device_of(is_worker), number);
	put_number(&request, 1, 300);
	put_text(&request, 2, key);
	put_number(&request, 7, (is_worker ? 5000000000 : 6000000000) + number);
	ask(socket, &request, false, answer);
}

static void ask_for_buffer(int socket, bool is_worker, unsigned number, uint64_t bytes,
			   void *answer)
{
	struct request request = {0};
	put_number(&request, 1, 300);
	put_text(&request, 2, "1:5:0:0:2");
	put_number(&request, 3, bytes);
	request.bytes[request.length++] = 4 << 3 | 1; /* an address */
	memset(request.bytes + request.length, 0x7f, 8);
	request.length += 8;
	put_text(&request, 5, "");
	put_text(&request, 6, "");
	put_text(&request, 8, device_of(!is_worker));
	put_text(&request, 9, device_of(is_worker));
	put_number(&request, 10, (is_worker ? 7000000000 : 8000000000) + number);
	put_number(&request, 11, 1234567890123456789); /* the sender's incarnation */
	ask(socket, &request, true, answer);
}

static void ask_for_all(int socket, bool is_worker)
{
	unsigned number = 0;
	for (int i = 0; i < TENSORS; i++) {
		ask_for_tensor(socket, is_worker, ++number, answers[0]);
		receive(socket);
	}
	ask_for_tensor(socket, is_worker, ++number, answers[0]);
	ask_for_tensor(socket, is_worker, ++number, answers[1]);
	receive(socket);
	receive(socket);
	ask_for_tensor(socket, is_worker, ++number, answers[2]); /* fails */
	ask_for_tensor(socket, is_worker, ++number, answers[2]);
	receive(socket);
	ask_for_tensor(socket, is_worker, ++number, answers[1]); /* fails */
	ask_for_tensor(socket, is_worker, ++number, answers[2]);
	receive(socket);
	for (unsigned i = 0; i < BUFFERS; i++) {
		ask_for_buffer(socket, is_worker, i, 4096 * (i + 1), answers[3]);
		receive(socket);
	}
}

static void give_all(int socket)
{
	struct message first, second;
	for (int i = 0; i < TENSORS; i++) {
		accept_next(socket, &first, answers[0]);
		if (i == 2)
			usleep(LATE_US);
		answer_to(socket, &first, 1000u * (i + 1u), answers[0]);
	}
	accept_next(socket, &first, answers[0]);
	accept_next(socket, &second, answers[1]);
	answer_to(socket, &second, 7002, answers[1]);
	answer_to(socket, &first, 7001, answers[0]);
	accept_next(socket, &first, answers[2]);
	accept_next(socket, &first, answers[1]);
	answer_to(socket, &first, 9000, answers[1]);
	accept_next(socket, &first, answers[0]);
	accept_next(socket, &first, answers[0]);
	answer_to(socket, &first, 9500, answers[0]);
	for (int i = 0; i < BUFFERS; i++) {
		accept_next(socket, &first, answers[3]);
		answer_to(socket, &first, 0, answers[3]);
	}
}

/* Long enough to be seen in the library, by samples; then a thread starts. */
static void compute(void *library)
{
	void (*function)(void) = (void (*)(void))dlsym(library, "made_compute");
	function();
	receive(-1);
}

static int run_task(const char *path, bool is_worker, int socket)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return 2;
	*(void **)&ask = dlsym(library, "made_ask");
	*(void **)&receive_next = dlsym(library, "made_receive");
	*(void **)&accept_next = dlsym(library, "made_accept");
	*(void **)&give = dlsym(library, "made_answer");
	if (socket < 0)
		compute(library);
	for (int turn = 0; turn < 2 && socket >= 0; turn++)
		if (is_worker == !turn)
			ask_for_all(socket, is_worker);
		else
			give_all(socket);
	return 0;
}

int main(int argc, char **argv)
{
	int sockets[2], status, worst = 0;
	bool is_none = argc == 3 && !strcmp(argv[2], "none");
	if (argc == 4)
		return run_task(argv[1], argv[2][0] == 'w', atoi(argv[3]));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets))
		return 1;
	for (int task = 0; task < 2; task++)
		if (!fork()) {
			char number[16];
			snprintf(number, sizeof(number), "%d", is_none ? -1 : sockets[task]);
			close(sockets[!task]);
			execl(argv[0], argv[0], argv[1], task ? "ps" : "worker", number, NULL);
			_exit(3);
		}
	close(sockets[0]);
	close(sockets[1]);
	while (wait(&status) > 0)
		worst |= status;
	puts(worst ? "failed" : "done");
	return worst != 0;
}
