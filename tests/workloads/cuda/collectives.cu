/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of RANKS devices, as often and as large as is known: collectives RANKS. Ranks are processes, of which the last is 20 ms late
 * at each of its first collectives. With "lookup" NCCL's functions are looked up by name, as bindings do it; with "devices" one process
 * has all ranks.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct communicator *comm;
struct unique_id {
	char bytes[128];
};
enum { FLOAT32 = 7, FLOAT64 = 8, SUM = 0 };

/* NCCL's functions, as its documentation declares them. */
#define FUNCTIONS(F)                                                                                                   \
	F(ncclGetUniqueId, unique_id *)                                                                                \
	F(ncclCommInitRank, comm *, int, unique_id, int)                                                               \
	F(ncclCommInitRankScalable, comm *, int, int, int, unique_id *, void *)                                        \
	F(ncclCommInitAll, comm *, int, const int *)                                                                   \
	F(ncclCommSplit, comm, int, int, comm *, void *)                                                               \
	F(ncclCommShrink, comm, int *, int, comm *, void *, int)                                                       \
	F(ncclCommDestroy, comm)                                                                                       \
	F(ncclGroupStart)                                                                                              \
	F(ncclGroupEnd)                                                                                                \
	F(ncclAllReduce, const void *, void *, size_t, int, int, comm, cudaStream_t)                                   \
	F(ncclBroadcast, const void *, void *, size_t, int, int, comm, cudaStream_t)                                   \
	F(ncclAllGather, const void *, void *, size_t, int, comm, cudaStream_t)                                        \
	F(ncclReduceScatter, const void *, void *, size_t, int, int, comm, cudaStream_t)                               \
	F(ncclGather, const void *, void *, size_t, int, int, comm, cudaStream_t)                                      \
	F(ncclScatter, const void *, void *, size_t, int, int, comm, cudaStream_t)                                     \
	F(ncclAlltoAll, const void *, void *, size_t, int, comm, cudaStream_t)                                         \
	F(ncclAllToAll, const void *, void *, size_t, int, comm, cudaStream_t)                                         \
	F(ncclAllToAllv, const void *, const size_t *, const size_t *, void *, const size_t *, const size_t *, int,    \
	  comm, cudaStream_t)                                                                                          \
	F(ncclSend, const void *, size_t, int, int, comm, cudaStream_t)                                                \
	F(ncclRecv, void *, size_t, int, int, comm, cudaStream_t)

#define DECLARE(name, ...) extern "C" int name(__VA_ARGS__);
FUNCTIONS(DECLARE)

static struct {
#define POINTER(name, ...) int (*name)(__VA_ARGS__);
	FUNCTIONS(POINTER)
} nccl = {
#define LINKED(name, ...) ::name,
    FUNCTIONS(LINKED)};

static void look_up(void)
{
	void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
#define FOUND(name, ...) *(void **)&nccl.name = dlsym(library, #name);
	FUNCTIONS(FOUND)
}

static float *data;
static cudaStream_t stream;

static void reduce_often(comm all, int times, bool is_late)
{
	for (int i = 0; i < times; i++) {
		if (is_late)
			usleep(20000);
		nccl.ncclAllReduce(data, data, 1000, FLOAT32, SUM, all, stream); // reduced
	}
}

static void group(comm all, int rank, int ranks)
{
	nccl.ncclGroupStart();
	nccl.ncclAllReduce(data, data, 500, FLOAT64, SUM, all, stream);
	nccl.ncclAllReduce(data, data, 500, FLOAT64, SUM, all, stream);
	nccl.ncclGroupEnd(); // grouped
	nccl.ncclGroupStart();
	nccl.ncclSend(data, 10, FLOAT32, (rank + 1) % ranks, all, stream);
	nccl.ncclRecv(data, 10, FLOAT32, (rank + ranks - 1) % ranks, all, stream);
	nccl.ncclGroupEnd(); // sent
}

static void exchange(comm all, int ranks)
{
	size_t counts[16], places[16] = {0};
	for (int rank = 0; rank < ranks; rank++)
		counts[rank] = 5 + rank;
	nccl.ncclGather(data, data, 50, FLOAT32, 1, all, stream);			     // collected
	nccl.ncclScatter(data, data, 60, FLOAT32, 0, all, stream);			     // spread
	nccl.ncclAlltoAll(data, data, 20, FLOAT32, all, stream);			     // exchanged
	nccl.ncclAllToAll(data, data, 30, FLOAT32, all, stream);			     // by RCCL's name
	nccl.ncclAllToAllv(data, counts, places, data, counts, places, FLOAT32, all, stream); // unevenly
}

/* The sender is late. One that is refused does not count. */
static void pass(comm all, int rank)
{
	for (int i = 0; i < 4; i++) {
		if (rank == 0) {
			usleep(20000);
			nccl.ncclSend(data, 1, FLOAT32, 99, all, stream);
			nccl.ncclSend(data, 11 + i, FLOAT32, 1, all, stream); // passed
		} else if (rank == 1) {
			nccl.ncclRecv(data, 11 + i, FLOAT32, 0, all, stream); // taken
		}
	}
}

/* Each rank has all ids, of which one makes the communicator. */
static void scale(unique_id *id, int rank, int ranks)
{
	comm scaled;
	id->bytes[0] ^= 1;
	if (!nccl.ncclCommInitRankScalable(&scaled, ranks, rank, 1, id, NULL))
		nccl.ncclAllReduce(data, data, 90, FLOAT32, SUM, scaled, stream); // scaled
}

static int act(const unique_id *id, int rank, int ranks)
{
	unique_id other = *id;
	comm all, same;
	cudaSetDevice(rank);
	if (cudaMalloc(&data, 1 << 20) || cudaStreamCreate(&stream) || nccl.ncclCommInitRank(&all, ranks, *id, rank))
		return 1;
	reduce_often(all, 5, rank == ranks - 1);
	nccl.ncclBroadcast(data, data, 100, FLOAT32, 0, all, stream);	      // broadcast
	nccl.ncclAllGather(data, data, 200, FLOAT32, all, stream);	      // gathered
	nccl.ncclReduceScatter(data, data, 300, FLOAT32, SUM, all, stream); // scattered
	group(all, rank, ranks);
	exchange(all, ranks);
	scale(&other, rank, ranks);
	nccl.ncclCommSplit(all, 1, rank, &same, NULL);
	for (int i = 0; i < 3; i++)
		nccl.ncclReduceScatter(data, data, 70, FLOAT32, SUM, same, stream); // split
	if (rank < ranks - 1) {
		int last[16]; // at another address in each rank
		comm fewer;
		last[rank] = ranks - 1;
		nccl.ncclCommShrink(all, &last[rank], 1, &fewer, NULL, 0);
		for (int i = 0; i < 2; i++)
			nccl.ncclAllReduce(data, data, 40, FLOAT32, SUM, fewer, stream); // shrunk
	}
	pass(all, rank);
	int refused = nccl.ncclAllReduce(data, data, 1000, FLOAT32, SUM, NULL, stream);
	cudaStreamSynchronize(stream);
	nccl.ncclCommDestroy(same);
	nccl.ncclCommDestroy(all);
	return refused != 4;
}

static int act_for_all(int ranks)
{
	comm all[16];
	cudaStream_t streams[16];
	if (nccl.ncclCommInitAll(all, ranks, NULL) || cudaMalloc(&data, 1 << 20))
		return 1;
	for (int rank = 0; rank < ranks; rank++) {
		cudaSetDevice(rank);
		cudaStreamCreate(&streams[rank]);
	}
	for (int i = 0; i < 4; i++) {
		nccl.ncclGroupStart();
		for (int rank = 0; rank < ranks; rank++)
			nccl.ncclAllReduce(data, data, 1000, FLOAT32, SUM, all[rank], streams[rank]);
		nccl.ncclGroupEnd(); // devices
	}
	nccl.ncclGroupStart();
	for (int rank = 0; rank < ranks; rank++) {
		nccl.ncclSend(data, 10, FLOAT32, (rank + 1) % ranks, all[rank], streams[rank]);
		nccl.ncclRecv(data, 10, FLOAT32, (rank + ranks - 1) % ranks, all[rank], streams[rank]);
	}
	nccl.ncclGroupEnd(); // around
	for (int rank = 0; rank < ranks; rank++)
		cudaStreamSynchronize(streams[rank]);
	return 0;
}

int main(int argc, char **argv)
{
	int ranks = argc > 1 ? atoi(argv[1]) : 2, failed = 0, status;
	const char *how = argc > 2 ? argv[2] : "";
	unique_id id;
	char text[8];
	if (!strcmp(how, "lookup"))
		look_up();
	if (!strcmp(how, "devices"))
		return act_for_all(ranks);
	nccl.ncclGetUniqueId(&id);
	for (int rank = 0; rank < ranks; rank++) {
		snprintf(text, sizeof(text), "%d", rank);
		setenv("RANK", text, 1);
		if (!fork())
			exit(act(&id, rank, ranks));
	}
	while (wait(&status) > 0) {
		failed += status != 0;
		if (status)
			fprintf(stderr, "a rank ended with status %#x\n", status);
	}
	printf("%d of %d ranks failed\n", failed, ranks);
	return failed;
}
