/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL between processes of one machine, and devices of one process, and what RCCL has besides. A collective is one kernel on each
 * rank, and none ends before all have begun; so is a message on the two ranks that exchange it. What is in one group is one kernel
 * for each communicator. As an operation's end must be known when it is enqueued, the host waits there until all ranks have come,
 * which the real one does not. Small data is moved by what gathers and broadcasts, for programs compare it; no other.
 */
#include "compute.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MOST_GROUPED	 1024
#define LAST_WAIT_NS	 60000000000u
#define INVALID_ARGUMENT 4

enum { VERSION = 22900 };

struct unique_id {
	uint64_t words[16];
};

/* In memory that all ranks share: where they meet. A slot is that of each SLOTS-th collective. */
#define SLOTS	   256u
#define MOST_RANKS 16
#define SMALL	   4096u
struct meeting {
	_Atomic uint64_t arrived, start_ns;
};
struct board {
	_Atomic uint32_t joined;
	struct slot {
		struct meeting meeting;
		char data[MOST_RANKS][SMALL];
	} slots[SLOTS];
	struct meeting messages[MOST_RANKS][MOST_RANKS][SLOTS]; /* from, to */
};

struct communicator {
	struct unique_id id;
	int ranks, rank, device;
	uint64_t collectives, splits;
	uint64_t sent[MOST_RANKS], received[MOST_RANKS];
	struct board *board;
};

/* ---- communicators ---- */

static uint64_t hash_of(const struct unique_id *id)
{
	uint64_t hash = 14695981039346656037u;
	for (unsigned i = 0; i < 16; i++)
		hash = (hash ^ id->words[i]) * 1099511628211u;
	return hash;
}

/* The last to join removes the name. */
static struct board *join(const struct unique_id *id, int ranks)
{
	char path[80];
	snprintf(path, sizeof(path), "/dev/shm/fake-nccl-%016llx", (unsigned long long)hash_of(id));
	int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct board *board = MAP_FAILED;
	if (file >= 0 && !ftruncate(file, sizeof(*board)))
		board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (file >= 0)
		close(file);
	if (board == MAP_FAILED)
		return NULL;
	if (++board->joined == (uint32_t)ranks)
		unlink(path);
	return board;
}

static int new_communicator(struct communicator **made, const struct unique_id *id, int ranks,
			    int rank, int device)
{
	struct board *board =
	    rank >= 0 && rank < ranks && ranks <= MOST_RANKS ? join(id, ranks) : NULL;
	if (!board)
		return INVALID_ARGUMENT;
	*made = malloc(sizeof(**made));
	**made = (struct communicator){
	    .id = *id, .ranks = ranks, .rank = rank, .device = device, .board = board};
	return 0;
}

int ncclGetUniqueId(struct unique_id *id)
{
	int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	bool is_read = file >= 0 && read(file, id, sizeof(*id)) == (ssize_t)sizeof(*id);
	if (file >= 0)
		close(file);
	return is_read ? 0 : 2;
}

int ncclCommInitRankConfig(struct communicator **made, int ranks, struct unique_id id, int rank,
			   void *config)
{
	(void)config;
	return new_communicator(made, &id, ranks, rank, fake_current_device());
}

int ncclCommInitRank(struct communicator **made, int ranks, struct unique_id id, int rank)
{
	return ncclCommInitRankConfig(made, ranks, id, rank, NULL);
}

int ncclCommInitRankScalable(struct communicator **made, int ranks, int rank, int count,
			     struct unique_id *ids, void *config)
{
	return count > 0 ? ncclCommInitRankConfig(made, ranks, ids[0], rank, config)
			 : INVALID_ARGUMENT;
}

int ncclCommInitAll(struct communicator **made, int count, const int *devices)
{
	struct unique_id id;
	int error = ncclGetUniqueId(&id);
	for (int rank = 0; rank < count && !error; rank++)
		error =
		    new_communicator(&made[rank], &id, count, rank, devices ? devices[rank] : rank);
	return error;
}

/* Colours and keys are not exchanged: a split keeps all ranks of its colour only where that is all of them, or the rank alone. */
int ncclCommSplit(struct communicator *of, int color, int key, struct communicator **made,
		  void *config)
{
	struct unique_id id = of->id;
	(void)key, (void)config;
	*made = NULL;
	id.words[0] += ++of->splits;
	id.words[1] += (uint64_t)(int64_t)color << 32;
	return color < 0 ? 0 : new_communicator(made, &id, of->ranks, of->rank, of->device);
}

/* Those that are left out do not call it. */
int ncclCommShrink(struct communicator *of, const int *left_out, int count,
		   struct communicator **made, void *config, int how)
{
	struct unique_id id = of->id;
	int rank = of->rank;
	(void)config, (void)how;
	for (int i = 0; i < count; i++)
		rank -= left_out[i] < of->rank;
	id.words[0] += ++of->splits;
	id.words[2] ^= 1;
	return new_communicator(made, &id, of->ranks - count, rank, of->device);
}

int ncclCommDestroy(struct communicator *communicator)
{
	munmap(communicator->board, sizeof(*communicator->board));
	free(communicator);
	return 0;
}

int ncclCommAbort(struct communicator *communicator)
{
	return ncclCommDestroy(communicator);
}

int ncclCommGetAsyncError(const struct communicator *communicator, int *error)
{
	(void)communicator;
	*error = 0;
	return 0;
}

int ncclCommCount(const struct communicator *communicator, int *count)
{
	*count = communicator->ranks;
	return 0;
}

int ncclCommUserRank(const struct communicator *communicator, int *rank)
{
	*rank = communicator->rank;
	return 0;
}

int ncclGetVersion(int *version)
{
	*version = VERSION;
	return 0;
}

const char *ncclGetErrorString(int error)
{
	return error ? "an error" : "no error";
}

const char *ncclGetLastError(const struct communicator *communicator)
{
	(void)communicator;
	return "";
}

int ncclMemAlloc(void **memory, size_t bytes)
{
	*memory = fake_memory_new(bytes, FAKE_DEVICE, fake_current_device());
	return *memory ? 0 : 1;
}

int ncclMemFree(void *memory)
{
	return fake_memory_free(memory) ? 0 : INVALID_ARGUMENT;
}

/* ---- operations ---- */

enum moves { NOTHING, GATHERS, BROADCASTS };
enum kind { COLLECTIVE, SEND, RECEIVE };

struct operation {
	struct communicator *communicator;
	const char *kernel;
	void *stream;
	enum kind kind;
	enum moves moves;
	int root; /* of a message, the other rank */
	const void *from;
	void *to;
	size_t bytes;
	struct slot *slot;	 /* of a collective */
	struct meeting *meeting; /* NULL: no other rank is waited for */
	uint64_t target;
};

static __thread struct {
	int depth;
	unsigned count;
	struct operation waiting[MOST_GROUPED];
} group;

static size_t bytes_of(int type)
{
	static const uint8_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
	return (size_t)type < sizeof(bytes) ? bytes[type] : 0;
}

/* Where it meets those of the other ranks, or of the other one: they come in the same order everywhere. */
static void find_meeting(struct operation *one)
{
	struct communicator *communicator = one->communicator;
	struct board *board = communicator->board;
	bool is_sent = one->kind == SEND;
	uint64_t *count = one->kind == COLLECTIVE ? &communicator->collectives
			  : is_sent		  ? &communicator->sent[one->root]
						  : &communicator->received[one->root];
	uint64_t number = (*count)++, turn = number / SLOTS + 1;
	if (one->kind == COLLECTIVE) {
		one->slot = &board->slots[number % SLOTS];
		one->meeting = &one->slot->meeting;
		one->target = turn * (uint64_t)communicator->ranks;
		return;
	}
	int from = is_sent ? communicator->rank : one->root,
	    to = is_sent ? one->root : communicator->rank;
	one->meeting = &board->messages[from][to][number % SLOTS];
	one->target = turn * 2;
}

/* This rank begins its part. */
static void arrive(struct operation *one)
{
	uint64_t start_ns = fake_stream_next_ns(fake_stream_of(one->stream));
	find_meeting(one);
	if (one->moves && one->bytes <= SMALL)
		memcpy(one->slot->data[one->communicator->rank], one->from, one->bytes);
	uint64_t latest = one->meeting->start_ns;
	while (latest < start_ns &&
	       !atomic_compare_exchange_weak(&one->meeting->start_ns, &latest, start_ns))
		;
	++one->meeting->arrived;
}

static void move(const struct operation *one)
{
	if (!one->moves || one->bytes > SMALL)
		return;
	for (int rank = 0; one->moves == GATHERS && rank < one->communicator->ranks; rank++)
		memcpy((char *)one->to + (size_t)rank * one->bytes, one->slot->data[rank],
		       one->bytes);
	if (one->moves == BROADCASTS)
		memcpy(one->to, one->slot->data[one->root], one->bytes);
}

/* All of the communicator's in the group: when all ranks have begun them. */
static uint64_t meet(void *data)
{
	const struct communicator *communicator = data;
	uint64_t since_ns = fake_now_ns(), all_ns = 0;
	for (unsigned i = 0; i < group.count; i++) {
		struct operation *one = &group.waiting[i];
		if (one->communicator != communicator || !one->meeting)
			continue;
		while (one->meeting->arrived < one->target &&
		       fake_now_ns() - since_ns < LAST_WAIT_NS)
			nanosleep(&(struct timespec){0, 20000}, NULL);
		move(one);
		all_ns = one->meeting->start_ns > all_ns ? one->meeting->start_ns : all_ns;
	}
	return all_ns;
}

static bool is_first_of_its(unsigned number)
{
	for (unsigned i = 0; i < number; i++)
		if (group.waiting[i].communicator == group.waiting[number].communicator)
			return false;
	return true;
}

/* One kernel for each communicator, of its first operation's name. */
static int launch_group(void)
{
	int error = 0, device = fake_current_device();
	for (unsigned i = 0; i < group.count; i++)
		if (!fake_capture_of(fake_stream_of(group.waiting[i].stream), NULL, NULL))
			arrive(&group.waiting[i]);
	for (unsigned i = 0; i < group.count && !error; i++) {
		struct operation *one = &group.waiting[i];
		if (!is_first_of_its(i))
			continue;
		if (one->meeting)
			fake_next_meets(meet, one->communicator);
		fake_set_current_device(one->communicator->device);
		error = fake_compute_in(one->stream, one->kernel) ? 1 : 0;
	}
	group.count = 0;
	fake_set_current_device(device);
	return error;
}

int ncclGroupStart(void)
{
	group.depth++;
	return 0;
}

int ncclGroupEnd(void)
{
	if (!group.depth)
		return 5;
	return --group.depth ? 0 : launch_group();
}

static int operate(struct operation one)
{
	const struct communicator *of = one.communicator;
	if (!of || one.root < 0 || one.root >= of->ranks || group.count == MOST_GROUPED)
		return INVALID_ARGUMENT;
	group.waiting[group.count++] = one;
	return group.depth ? 0 : launch_group();
}

/* As the compiler names a function of a kernel's arguments. */
#define KERNEL(length, name)                                                                       \
	"_Z" #length "ncclDevKernel_" name "24ncclDevKernelArgsStorageILm4096EE"

#define OF .communicator = communicator, .stream = stream

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op,
		  struct communicator *communicator, void *stream)
{
	(void)from, (void)to, (void)count, (void)type, (void)op;
	return operate((struct operation){OF, .kernel = KERNEL(39, "AllReduce_Sum_f32_RING_LL")});
}

int ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
		  struct communicator *communicator, void *stream)
{
	return operate((struct operation){OF, .kernel = KERNEL(31, "Broadcast_RING_LL"),
					  .moves = BROADCASTS, .root = root, .from = from, .to = to,
					  .bytes = count * bytes_of(type)});
}

int ncclBcast(void *at, size_t count, int type, int root, struct communicator *communicator,
	      void *stream)
{
	return ncclBroadcast(at, at, count, type, root, communicator, stream);
}

int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root,
	       struct communicator *communicator, void *stream)
{
	(void)from, (void)to, (void)count, (void)type, (void)op;
	return operate(
	    (struct operation){OF, .kernel = KERNEL(36, "Reduce_Sum_f32_RING_LL"), .root = root});
}

int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op,
		      struct communicator *communicator, void *stream)
{
	(void)from, (void)to, (void)count, (void)type, (void)op;
	return operate(
	    (struct operation){OF, .kernel = KERNEL(43, "ReduceScatter_Sum_f32_RING_LL")});
}

int ncclAllGather(const void *from, void *to, size_t count, int type,
		  struct communicator *communicator, void *stream)
{
	return operate((struct operation){OF, .kernel = KERNEL(31, "AllGather_RING_LL"),
					  .moves = GATHERS, .from = from, .to = to,
					  .bytes = count * bytes_of(type)});
}

/* What is made of messages has their kernel. */
static int exchange(struct communicator *communicator, int root, void *stream)
{
	return operate((struct operation){OF, .kernel = KERNEL(22, "SendRecv"), .root = root});
}

int ncclAlltoAll(const void *from, void *to, size_t count, int type,
		 struct communicator *communicator, void *stream)
{
	(void)from, (void)to, (void)count, (void)type;
	return exchange(communicator, 0, stream);
}

/* RCCL's name for it. */
int ncclAllToAll(const void *from, void *to, size_t count, int type,
		 struct communicator *communicator, void *stream)
{
	return ncclAlltoAll(from, to, count, type, communicator, stream);
}

int ncclAllToAllv(const void *from, const size_t *send_counts, const size_t *send_places, void *to,
		  const size_t *counts, const size_t *places, int type,
		  struct communicator *communicator, void *stream)
{
	(void)from, (void)send_counts, (void)send_places, (void)to, (void)counts, (void)places,
	    (void)type;
	return exchange(communicator, 0, stream);
}

int ncclGather(const void *from, void *to, size_t count, int type, int root,
	       struct communicator *communicator, void *stream)
{
	(void)from, (void)to, (void)count, (void)type;
	return exchange(communicator, root, stream);
}

int ncclScatter(const void *from, void *to, size_t count, int type, int root,
		struct communicator *communicator, void *stream)
{
	(void)from, (void)to, (void)count, (void)type;
	return exchange(communicator, root, stream);
}

static int message(enum kind kind, int peer, struct communicator *communicator, void *stream)
{
	return operate(
	    (struct operation){OF, .kernel = KERNEL(22, "SendRecv"), .kind = kind, .root = peer});
}

int ncclSend(const void *from, size_t count, int type, int peer, struct communicator *communicator,
	     void *stream)
{
	(void)from, (void)count, (void)type;
	return message(SEND, peer, communicator, stream);
}

int ncclRecv(void *to, size_t count, int type, int peer, struct communicator *communicator,
	     void *stream)
{
	(void)to, (void)count, (void)type;
	return message(RECEIVE, peer, communicator, stream);
}
