/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MPI adapter's parts, to each other.
 *
 *	library.c	which implementation it is, and how large its handles are
 *	communicator.c	names of communicators, and ranks in them as ranks of MPI_COMM_WORLD
 *	call.c		a call as a region, and the messages that it sends and receives
 *	calls.c		the functions of MPI that this library stands in front of
 *
 * No MPI is linked and no header of one is used: implementations differ in the size of handles and
 * in MPI_Status, which library.c knows of MPICH (and what has its binary interface: Intel MPI,
 * MVAPICH, Cray) and of Open MPI. With any other one calls are regions without messages. Handles
 *and all other arguments travel as words, as the calling conventions of 64-bit Linux have them.
 *
 * MPI_Init, MPI_Initialized, MPI_Comm_rank and the like are not stood in front of: by looking for
 * these do programs find out whether there is an MPI.
 */
#ifndef SN_COLLECT_MPI_H
#define SN_COLLECT_MPI_H

#include "collect/intercept.h"
#include "collect/message.h"

typedef uintptr_t sn_word;

/* ---- library.c ---- */

struct sn_mpi_library {
	sn_word world, no_communicator, no_request;
	size_t handle_bytes, status_bytes;
	sn_word ignore_status; /* MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE */
	int any_source, no_process;
	size_t source_at, tag_at; /* in MPI_Status */
	bool is_open_mpi;
};

/* NULL where there is none that is known. */
const struct sn_mpi_library *sn_mpi_library(void);
/* The next definition of a function, looked up once. */
void *sn_mpi_real(_Atomic(void *) *known, const char *name);
sn_word sn_mpi_handle(const struct sn_mpi_library *library, const void *handles, size_t index);

struct sn_mpi_status {
	int source, tag;
	uint64_t bytes;
};
struct sn_mpi_status sn_mpi_status(const struct sn_mpi_library *library, const void *statuses,
				   size_t index);
enum { SN_MPI_STATUS_WORDS = 8 }; /* more than any MPI_Status needs */
/* Of a datatype. */
uint64_t sn_mpi_type_bytes(sn_word type);

/* ---- communicator.c ---- */

struct sn_mpi_communicator {
	_Atomic sn_word handle;
	uint64_t name;
	_Atomic uint64_t collectives; /* so far */
	uint32_t rank;		      /* of this process in MPI_COMM_WORLD */
	uint32_t size;		      /* of whom messages go to */
	int32_t *world;		      /* their ranks in MPI_COMM_WORLD */
	uint32_t capacity;
};

/* NULL where it cannot be known. */
struct sn_mpi_communicator *sn_mpi_communicator(sn_word handle);
/* Where a communicator has been made; in the order in which they are made. */
void sn_mpi_communicator_made(const void *handle);
void sn_mpi_communicator_gone(sn_word handle);
/* A rank in MPI_COMM_WORLD; SN_MESSAGE_ANYBODY for none. */
uint32_t sn_mpi_world_rank(const struct sn_mpi_communicator *communicator, int rank);

/* ---- call.c ---- */

/* What a call says it sends or wants to receive. */
struct sn_mpi_envelope {
	sn_word count, type, peer, tag, communicator;
};

struct sn_mpi_call {
	const char *name;
	uint64_t start_ns;
	uint32_t token;			      /* of the region */
	bool is_outer;			      /* the program's own, and measured */
	bool is_wanted;			      /* messages are to be counted */
	bool is_settled;		      /* messages have been */
	bool is_sent, is_received, is_posted; /* which of the two are there */
	bool leaves_sent;		      /* the send's end is not the call's */
	struct sn_message sent, received;
	struct sn_mpi_communicator *from; /* of what is received */
	struct sn_mpi_communicator *together;
	uint64_t together_bytes;
	const struct sn_mpi_waited *waited;
};

/* Requests that a call has waited for. What they mean is taken before they are waited for: another
 * thread may be given the handle of one that is done at once. */
struct sn_mpi_request {
	sn_word handle; /* as it was before; 0: nothing that is kept, or no more */
	struct sn_message message;
};
struct sn_mpi_waited {
	struct sn_mpi_request *requests;
	const void *statuses;
	const int *indices; /* of those that are done; NULL: all */
	size_t count;
};

/* `stack` as for regions. */
void sn_mpi_begin(struct sn_mpi_call *call, const char *name, uintptr_t stack);
/* The same for calls that only look, and are no regions unless they find something. */
void sn_mpi_begin_quiet(struct sn_mpi_call *call, const char *name);
void sn_mpi_end(struct sn_mpi_call *call);

/* Before the real call. */
void sn_mpi_sends(struct sn_mpi_call *call, const struct sn_mpi_envelope *envelope);
void sn_mpi_receives(struct sn_mpi_call *call, const struct sn_mpi_envelope *envelope);
void sn_mpi_together(struct sn_mpi_call *call, sn_word communicator, sn_word count, sn_word type);
/* Takes what requests mean, and gives back what was not done. */
void sn_mpi_take(struct sn_mpi_request *request, sn_word handle);
void sn_mpi_give_back(const struct sn_mpi_request *request);
/* After it: the receive is done, or the request of what was sent or posted. */
void sn_mpi_received(struct sn_mpi_call *call, const void *status);
void sn_mpi_requested(struct sn_mpi_call *call, const void *request);
/* Persistent ones: made, and started. */
void sn_mpi_prepared(const struct sn_mpi_envelope *envelope, bool is_sent, const void *request);
void sn_mpi_starts(sn_word request);
void sn_mpi_forgotten(sn_word request, bool is_cancelled);
/* A message found by MPI_Mprobe, to be received later. */
void sn_mpi_probed(const void *message, const void *status, sn_word communicator);

#endif
