/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of MPI that this library stands in front of. Each does the real work, of the next
 * definition of its name, whatever happens to ours; see mpi.h. What is left out is not lost: its
 * samples have their native frames.
 *
 * Functions that only look whether something is there (MPI_Test, MPI_Iprobe) are called in loops:
 * they are no regions, and are recorded where they find a message done.
 */
#include "mpi.h"

#include "collect/arena.h"

#include <string.h>

#define NO_FUNCTION 16 /* MPI_ERR_OTHER, of those that we know */
#define EXPORT(name, ...)                                                                          \
	SN_EXPORT int name(__VA_ARGS__);                                                           \
	int name(__VA_ARGS__)
/* Words travel alike to functions of any prototype. */
typedef int any_function(sn_word, ...);
#define DO(name, ...)                                                                              \
	({                                                                                         \
		static _Atomic(void *) known;                                                      \
		any_function *function = (any_function *)sn_mpi_real(&known, #name);               \
		function ? function(__VA_ARGS__) : NO_FUNCTION;                                    \
	})
#define BEGIN(name)                                                                                \
	struct sn_mpi_call call;                                                                   \
	sn_mpi_begin(&call, #name, SN_CALLER_STACK)
#define BEGIN_QUIET(name)                                                                          \
	struct sn_mpi_call call;                                                                   \
	sn_mpi_begin_quiet(&call, #name)

/* A status of ours where the program wants none. */
struct status {
	sn_word words[SN_MPI_STATUS_WORDS];
};

static sn_word status_or(const struct sn_mpi_call *call, sn_word status, struct status *own)
{
	return call->is_wanted && status == sn_mpi_library()->ignore_status ? (sn_word)own : status;
}

static const void *pointer(sn_word word)
{
	return (const void *)word;
}

/* ---- one message ---- */

#define SEND(name)                                                                                 \
	EXPORT(name, sn_word buffer, sn_word count, sn_word type, sn_word peer, sn_word tag,       \
	       sn_word comm)                                                                       \
	{                                                                                          \
		BEGIN(name);                                                                       \
		sn_mpi_sends(&call, &(struct sn_mpi_envelope){count, type, peer, tag, comm});      \
		int result = DO(name, buffer, count, type, peer, tag, comm);                       \
		sn_mpi_end(&call);                                                                 \
		return result;                                                                     \
	}
SEND(MPI_Send)
SEND(MPI_Bsend)
SEND(MPI_Ssend)
SEND(MPI_Rsend)

#define SEND_LATER(name)                                                                           \
	EXPORT(name, sn_word buffer, sn_word count, sn_word type, sn_word peer, sn_word tag,       \
	       sn_word comm, sn_word request)                                                      \
	{                                                                                          \
		BEGIN(name);                                                                       \
		sn_mpi_sends(&call, &(struct sn_mpi_envelope){count, type, peer, tag, comm});      \
		int result = DO(name, buffer, count, type, peer, tag, comm, request);              \
		if (!result)                                                                       \
			sn_mpi_requested(&call, pointer(request));                                 \
		sn_mpi_end(&call);                                                                 \
		return result;                                                                     \
	}
SEND_LATER(MPI_Isend)
SEND_LATER(MPI_Ibsend)
SEND_LATER(MPI_Issend)
SEND_LATER(MPI_Irsend)

EXPORT(MPI_Recv, sn_word buffer, sn_word count, sn_word type, sn_word peer, sn_word tag,
       sn_word comm, sn_word status)
{
	BEGIN(MPI_Recv);
	struct status own;
	status = status_or(&call, status, &own);
	sn_mpi_receives(&call, &(struct sn_mpi_envelope){count, type, peer, tag, comm});
	int result = DO(MPI_Recv, buffer, count, type, peer, tag, comm, status);
	if (!result)
		sn_mpi_received(&call, pointer(status));
	sn_mpi_end(&call);
	return result;
}

EXPORT(MPI_Irecv, sn_word buffer, sn_word count, sn_word type, sn_word peer, sn_word tag,
       sn_word comm, sn_word request)
{
	BEGIN(MPI_Irecv);
	sn_mpi_receives(&call, &(struct sn_mpi_envelope){count, type, peer, tag, comm});
	int result = DO(MPI_Irecv, buffer, count, type, peer, tag, comm, request);
	if (!result)
		sn_mpi_requested(&call, pointer(request));
	sn_mpi_end(&call);
	return result;
}

EXPORT(MPI_Sendrecv, sn_word buffer, sn_word count, sn_word type, sn_word to, sn_word tag,
       sn_word buffer2, sn_word count2, sn_word type2, sn_word from, sn_word tag2, sn_word comm,
       sn_word status)
{
	BEGIN(MPI_Sendrecv);
	struct status own;
	status = status_or(&call, status, &own);
	call.leaves_sent = true;
	sn_mpi_sends(&call, &(struct sn_mpi_envelope){count, type, to, tag, comm});
	sn_mpi_receives(&call, &(struct sn_mpi_envelope){count2, type2, from, tag2, comm});
	int result = DO(MPI_Sendrecv, buffer, count, type, to, tag, buffer2, count2, type2, from,
			tag2, comm, status);
	if (!result)
		sn_mpi_received(&call, pointer(status));
	sn_mpi_end(&call);
	return result;
}

EXPORT(MPI_Sendrecv_replace, sn_word buffer, sn_word count, sn_word type, sn_word to, sn_word tag,
       sn_word from, sn_word tag2, sn_word comm, sn_word status)
{
	BEGIN(MPI_Sendrecv_replace);
	struct status own;
	status = status_or(&call, status, &own);
	call.leaves_sent = true;
	sn_mpi_sends(&call, &(struct sn_mpi_envelope){count, type, to, tag, comm});
	sn_mpi_receives(&call, &(struct sn_mpi_envelope){count, type, from, tag2, comm});
	int result =
	    DO(MPI_Sendrecv_replace, buffer, count, type, to, tag, from, tag2, comm, status);
	if (!result)
		sn_mpi_received(&call, pointer(status));
	sn_mpi_end(&call);
	return result;
}

/* ---- persistent requests ---- */

#define PREPARE(name, sends)                                                                       \
	EXPORT(name, sn_word buffer, sn_word count, sn_word type, sn_word peer, sn_word tag,       \
	       sn_word comm, sn_word request)                                                      \
	{                                                                                          \
		int result = DO(name, buffer, count, type, peer, tag, comm, request);              \
		if (!result)                                                                       \
			sn_mpi_prepared(&(struct sn_mpi_envelope){count, type, peer, tag, comm},   \
					sends, pointer(request));                                  \
		return result;                                                                     \
	}
PREPARE(MPI_Send_init, true)
PREPARE(MPI_Bsend_init, true)
PREPARE(MPI_Ssend_init, true)
PREPARE(MPI_Rsend_init, true)
PREPARE(MPI_Recv_init, false)

static void starts(sn_word requests, size_t count)
{
	const struct sn_mpi_library *library = sn_measuring() ? sn_mpi_library() : NULL;
	for (size_t i = 0; library && i < count; i++)
		sn_mpi_starts(sn_mpi_handle(library, pointer(requests), i));
}

EXPORT(MPI_Start, sn_word request)
{
	starts(request, 1);
	return DO(MPI_Start, request);
}

EXPORT(MPI_Startall, sn_word count, sn_word requests)
{
	starts(requests, (int)count > 0 ? (size_t)(int)count : 0);
	return DO(MPI_Startall, count, requests);
}

static void forgets(sn_word request, bool is_cancelled)
{
	const struct sn_mpi_library *library = sn_measuring() ? sn_mpi_library() : NULL;
	if (library)
		sn_mpi_forgotten(sn_mpi_handle(library, pointer(request), 0), is_cancelled);
}

EXPORT(MPI_Request_free, sn_word request)
{
	forgets(request, false);
	return DO(MPI_Request_free, request);
}

EXPORT(MPI_Cancel, sn_word request)
{
	forgets(request, true);
	return DO(MPI_Cancel, request);
}

/* ---- messages that are looked for first ---- */

EXPORT(MPI_Probe, sn_word peer, sn_word tag, sn_word comm, sn_word status)
{
	BEGIN(MPI_Probe);
	int result = DO(MPI_Probe, peer, tag, comm, status);
	sn_mpi_end(&call);
	return result;
}

EXPORT(MPI_Mprobe, sn_word peer, sn_word tag, sn_word comm, sn_word message, sn_word status)
{
	BEGIN(MPI_Mprobe);
	struct status own;
	status = status_or(&call, status, &own);
	int result = DO(MPI_Mprobe, peer, tag, comm, message, status);
	if (!result && call.is_wanted)
		sn_mpi_probed(pointer(message), pointer(status), comm);
	sn_mpi_end(&call);
	return result;
}

EXPORT(MPI_Improbe, sn_word peer, sn_word tag, sn_word comm, sn_word flag, sn_word message,
       sn_word status)
{
	BEGIN_QUIET(MPI_Improbe);
	struct status own;
	status = status_or(&call, status, &own);
	int result = DO(MPI_Improbe, peer, tag, comm, flag, message, status);
	if (!result && *(const int *)flag && call.is_wanted)
		sn_mpi_probed(pointer(message), pointer(status), comm);
	sn_mpi_end(&call);
	return result;
}

EXPORT(MPI_Mrecv, sn_word buffer, sn_word count, sn_word type, sn_word message, sn_word status)
{
	BEGIN(MPI_Mrecv);
	struct status own;
	sn_word handle = 0;
	status = status_or(&call, status, &own);
	if (call.is_wanted)
		handle = sn_mpi_handle(sn_mpi_library(), pointer(message), 0);
	int result = DO(MPI_Mrecv, buffer, count, type, message, status);
	if (!result && call.is_wanted &&
	    sn_message_take(handle, SN_MESSAGE_ANYBODY, &call.received)) {
		call.is_posted = true;
		sn_mpi_received(&call, pointer(status));
	}
	sn_mpi_end(&call);
	return result;
}

EXPORT(MPI_Imrecv, sn_word buffer, sn_word count, sn_word type, sn_word message, sn_word request)
{
	BEGIN(MPI_Imrecv);
	sn_word handle = 0;
	if (call.is_wanted)
		handle = sn_mpi_handle(sn_mpi_library(), pointer(message), 0);
	int result = DO(MPI_Imrecv, buffer, count, type, message, request);
	if (!result && call.is_wanted &&
	    sn_message_take(handle, SN_MESSAGE_ANYBODY, &call.received)) {
		call.is_posted = true;
		sn_mpi_requested(&call, pointer(request));
	}
	sn_mpi_end(&call);
	return result;
}

/* ---- requests ---- */

/* What requests and statuses need beside the program's own arrays. */
enum { FEW = 16 };
struct waiting {
	struct sn_mpi_waited waited;
	size_t count;
	struct sn_mpi_request few_requests[FEW];
	struct status few_statuses[FEW];
	void *pages; /* for both, where there are many; NULL */
	size_t page_bytes;
	sn_word statuses; /* what to call with */
};

/* Without memory requests stay where they are, and are never told to be done. */
static void prepare(struct sn_mpi_call *call, struct waiting *waiting, sn_word count,
		    sn_word requests, sn_word statuses)
{
	const struct sn_mpi_library *library = call->is_wanted ? sn_mpi_library() : NULL;
	size_t wanted = library && (int)count > 0 ? (size_t)(int)count : 0;
	void *own = waiting->few_statuses;
	waiting->pages = NULL;
	waiting->statuses = statuses;
	waiting->count = 0;
	waiting->waited = (struct sn_mpi_waited){.requests = waiting->few_requests};
	if (wanted > FEW) {
		waiting->page_bytes =
		    wanted * (sizeof(struct sn_mpi_request) + sizeof(struct status));
		waiting->pages = sn_pages_map(waiting->page_bytes);
		waiting->waited.requests = waiting->pages;
		own = waiting->pages ? waiting->waited.requests + wanted : NULL;
	}
	if (!wanted || !own)
		return;
	waiting->count = wanted;
	for (size_t i = 0; i < wanted; i++)
		sn_mpi_take(waiting->waited.requests + i,
			    sn_mpi_handle(library, pointer(requests), i));
	if (statuses == library->ignore_status)
		waiting->statuses = (sn_word)own;
	waiting->waited.statuses = pointer(waiting->statuses);
}

/* `done` of them, all without `indices`. */
static void finish(struct sn_mpi_call *call, struct waiting *waiting, int result,
		   const int *indices, int done)
{
	if (!result && waiting->count && done > 0) {
		waiting->waited.indices = indices;
		waiting->waited.count = indices ? (size_t)done : waiting->count;
		call->waited = &waiting->waited;
	}
	sn_mpi_end(call);
	for (size_t i = 0; i < waiting->count; i++)
		sn_mpi_give_back(waiting->waited.requests + i);
	if (waiting->pages)
		sn_pages_unmap(waiting->pages, waiting->page_bytes);
}

/* MPI_UNDEFINED is negative: there was nothing to wait for. */
EXPORT(MPI_Wait, sn_word request, sn_word status)
{
	BEGIN(MPI_Wait);
	struct waiting waiting;
	prepare(&call, &waiting, 1, request, status);
	int result = DO(MPI_Wait, request, waiting.statuses);
	finish(&call, &waiting, result, NULL, 1);
	return result;
}

EXPORT(MPI_Waitall, sn_word count, sn_word requests, sn_word statuses)
{
	BEGIN(MPI_Waitall);
	struct waiting waiting;
	prepare(&call, &waiting, count, requests, statuses);
	int result = DO(MPI_Waitall, count, requests, waiting.statuses);
	finish(&call, &waiting, result, NULL, 1);
	return result;
}

EXPORT(MPI_Waitany, sn_word count, sn_word requests, sn_word index, sn_word status)
{
	BEGIN(MPI_Waitany);
	struct waiting waiting;
	prepare(&call, &waiting, count, requests, status);
	int result = DO(MPI_Waitany, count, requests, index, waiting.statuses);
	finish(&call, &waiting, result, (const int *)index, *(const int *)index >= 0);
	return result;
}

EXPORT(MPI_Waitsome, sn_word count, sn_word requests, sn_word done, sn_word indices,
       sn_word statuses)
{
	BEGIN(MPI_Waitsome);
	struct waiting waiting;
	prepare(&call, &waiting, count, requests, statuses);
	int result = DO(MPI_Waitsome, count, requests, done, indices, waiting.statuses);
	finish(&call, &waiting, result, (const int *)indices, *(const int *)done);
	return result;
}

EXPORT(MPI_Test, sn_word request, sn_word flag, sn_word status)
{
	BEGIN_QUIET(MPI_Test);
	struct waiting waiting;
	prepare(&call, &waiting, 1, request, status);
	int result = DO(MPI_Test, request, flag, waiting.statuses);
	finish(&call, &waiting, result, NULL, *(const int *)flag);
	return result;
}

EXPORT(MPI_Testall, sn_word count, sn_word requests, sn_word flag, sn_word statuses)
{
	BEGIN_QUIET(MPI_Testall);
	struct waiting waiting;
	prepare(&call, &waiting, count, requests, statuses);
	int result = DO(MPI_Testall, count, requests, flag, waiting.statuses);
	finish(&call, &waiting, result, NULL, *(const int *)flag);
	return result;
}

EXPORT(MPI_Testany, sn_word count, sn_word requests, sn_word index, sn_word flag, sn_word status)
{
	BEGIN_QUIET(MPI_Testany);
	struct waiting waiting;
	prepare(&call, &waiting, count, requests, status);
	int result = DO(MPI_Testany, count, requests, index, flag, waiting.statuses);
	finish(&call, &waiting, result, (const int *)index,
	       *(const int *)flag && *(const int *)index >= 0);
	return result;
}

EXPORT(MPI_Testsome, sn_word count, sn_word requests, sn_word done, sn_word indices,
       sn_word statuses)
{
	BEGIN_QUIET(MPI_Testsome);
	struct waiting waiting;
	prepare(&call, &waiting, count, requests, statuses);
	int result = DO(MPI_Testsome, count, requests, done, indices, waiting.statuses);
	finish(&call, &waiting, result, (const int *)indices, *(const int *)done);
	return result;
}

/* ---- all together ---- */

/* The words of a call by position, up to nine; which of them are the communicator, the count and
 * the type that say how large it is (type NONE: nothing does). */
#define NONE	0
#define WORDS_1 sn_word a
#define WORDS_5 sn_word a, sn_word b, sn_word c, sn_word d, sn_word e
#define WORDS_6 WORDS_5, sn_word f
#define WORDS_7 WORDS_6, sn_word g
#define WORDS_8 WORDS_7, sn_word h
#define WORDS_9 WORDS_8, sn_word i
#define NAMES_1 a
#define NAMES_5 a, b, c, d, e
#define NAMES_6 NAMES_5, f
#define NAMES_7 NAMES_6, g
#define NAMES_8 NAMES_7, h
#define NAMES_9 NAMES_8, i
#define TOGETHER(name, words, comm, count, type)                                                   \
	EXPORT(name, WORDS_##words)                                                                \
	{                                                                                          \
		BEGIN(name);                                                                       \
		sn_mpi_together(&call, comm, count, type);                                         \
		int result = DO(name, NAMES_##words);                                              \
		sn_mpi_end(&call);                                                                 \
		return result;                                                                     \
	}
TOGETHER(MPI_Barrier, 1, a, NONE, NONE)
TOGETHER(MPI_Bcast, 5, e, b, c)
TOGETHER(MPI_Reduce, 7, g, c, d)
TOGETHER(MPI_Allreduce, 6, f, c, d)
TOGETHER(MPI_Scan, 6, f, c, d)
TOGETHER(MPI_Exscan, 6, f, c, d)
TOGETHER(MPI_Reduce_scatter, 6, f, NONE, NONE)
TOGETHER(MPI_Reduce_scatter_block, 6, f, c, d)
TOGETHER(MPI_Gather, 8, h, NONE, NONE)
TOGETHER(MPI_Gatherv, 9, i, NONE, NONE)
TOGETHER(MPI_Scatter, 8, h, NONE, NONE)
TOGETHER(MPI_Scatterv, 9, i, NONE, NONE)
TOGETHER(MPI_Allgather, 7, g, NONE, NONE)
TOGETHER(MPI_Allgatherv, 8, h, NONE, NONE)
TOGETHER(MPI_Alltoall, 7, g, NONE, NONE)
TOGETHER(MPI_Alltoallv, 9, i, NONE, NONE)
TOGETHER(MPI_Alltoallw, 9, i, NONE, NONE)

/* ---- communicators ---- */

#define WORDS_2	 sn_word a, sn_word b
#define WORDS_3	 WORDS_2, sn_word c
#define WORDS_4	 WORDS_3, sn_word d
#define WORDS_10 WORDS_9, sn_word j
#define NAMES_2	 a, b
#define NAMES_3	 NAMES_2, c
#define NAMES_4	 NAMES_3, d
#define NAMES_10 NAMES_9, j
#define MAKE(name, words, made)                                                                    \
	EXPORT(name, WORDS_##words)                                                                \
	{                                                                                          \
		BEGIN(name);                                                                       \
		int result = DO(name, NAMES_##words);                                              \
		if (!result)                                                                       \
			sn_mpi_communicator_made(pointer(made));                                   \
		sn_mpi_end(&call);                                                                 \
		return result;                                                                     \
	}
MAKE(MPI_Comm_dup, 2, b)
MAKE(MPI_Comm_dup_with_info, 3, c)
MAKE(MPI_Comm_split, 4, d)
MAKE(MPI_Comm_split_type, 5, e)
MAKE(MPI_Comm_create, 3, c)
MAKE(MPI_Comm_create_group, 4, d)
MAKE(MPI_Cart_create, 6, f)
MAKE(MPI_Cart_sub, 3, c)
MAKE(MPI_Graph_create, 6, f)
MAKE(MPI_Dist_graph_create, 9, i)
MAKE(MPI_Dist_graph_create_adjacent, 10, j)
MAKE(MPI_Intercomm_create, 6, f)
MAKE(MPI_Intercomm_merge, 3, c)

#define UNMAKE(name)                                                                               \
	EXPORT(name, sn_word comm)                                                                 \
	{                                                                                          \
		const struct sn_mpi_library *library = sn_measuring() ? sn_mpi_library() : NULL;   \
		if (library)                                                                       \
			sn_mpi_communicator_gone(sn_mpi_handle(library, pointer(comm), 0));        \
		return DO(name, comm);                                                             \
	}
UNMAKE(MPI_Comm_free)
UNMAKE(MPI_Comm_disconnect)
