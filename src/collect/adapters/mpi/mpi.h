/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces between the parts of the MPI adapter.
 *
 *	library.c	which implementation it is, and how large its handles are
 *	communicator.c	names of communicators, windows and files, and ranks in them as ranks of
 *			MPI_COMM_WORLD
 *	calls.def	the functions of MPI that this library wraps
 *	calls.c		... and their entry points
 *	run.c		a call: its arguments before it, and its results after it
 *	request.c	calls about requests: waiting, starting, cancelling; probed messages
 *	amount.c	numbers of bytes
 *	epoch.c		who waits for whom between MPI_Win_post, start, complete and wait
 *	call.c		a call as a region, and its events
 *	adapter.c	the line of `sonde info`
 *
 * No MPI is linked and no header of one is used. Implementations differ in the size of handles and
 * in MPI_Status; library.c knows these for MPICH (and libraries with its binary interface: Intel
 * MPI, MVAPICH, Cray), for Open MPI and for the interface of MPI 5.0 (libmpi_abi). With any other
 * library calls are regions without messages. Handles and all other arguments are passed as words,
 * by the calling conventions of 64-bit Linux.
 *
 * MPI_Init, MPI_Initialized, MPI_Comm_rank and the like are not wrapped, because programs look for
 * these symbols to find out whether there is an MPI.
 *
 * Errors in arguments are left to the library: the adapter queries MPI about an argument only after
 * the call has accepted it, because a failed query would call the program's error handler.
 *
 * All functions here: AS-safe: no. MT: yes.
 */
#pragma once

#include "collect/intercept/intercept.h"
#include "collect/interface/message.h"
#include "collect/intercept/real_symbol.h"

typedef uintptr_t sn_word;

/* The program's definition of a function of MPI. */
#define SN_MPI_REAL(type, name) ((type *)SN_REAL_SYMBOL(name))

/* ---- library.c ---- */

/* The layout of MPI_Status. */
enum sn_mpi_status_layout { SN_MPI_STATUS_MPICH, SN_MPI_STATUS_OPEN_MPI, SN_MPI_STATUS_ASKED };

struct sn_mpi_library {
	sn_word world, self, no_communicator, no_request, no_type;
	size_t handle_bytes, status_bytes;
	sn_word ignore_status; /* MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE */
	sn_word in_place;
	int any_source, any_tag, no_process;
	int cartesian, graph;		    /* results of MPI_Topo_test */
	int truncated, failed_status;	    /* classes of errors */
	size_t source_at, tag_at, error_at; /* in MPI_Status */
	enum sn_mpi_status_layout status;
};

/* NULL if there is none or it is unknown. */
const struct sn_mpi_library *sn_mpi_library(void);
/* "Open MPI 4.1.4", or an unknown library's own name; calls the library. */
const char *sn_mpi_library_name(void);
sn_word sn_mpi_handle(const struct sn_mpi_library *library, const void *handles, size_t index);

/* The `tag` of a receive that takes any. */
#define SN_MPI_ANY_TAG UINT32_MAX

struct sn_mpi_status {
	int source, tag, error;
	uint64_t bytes;
	bool is_cancelled;
};
struct sn_mpi_status sn_mpi_status(const struct sn_mpi_library *library, const void *statuses,
				   size_t index);
enum { SN_MPI_STATUS_WORDS = 8 }; /* more than any MPI_Status needs */
struct sn_mpi_own_status {
	sn_word words[SN_MPI_STATUS_WORDS];
};
/* The error class of a call's result. */
int sn_mpi_error_class(int result);
/* The size of a datatype that a call has accepted. */
uint64_t sn_mpi_type_bytes(sn_word type);

/* ---- communicator.c ---- */

/* A communicator, or a window or file, which has a communicator's members. */
struct sn_mpi_communicator {
	_Atomic sn_word handle;
	uint64_t name;
	uint64_t members;	      /* a hash of the members */
	_Atomic uint64_t collectives; /* so far */
	_Atomic uint64_t children;    /* windows and files created from it so far */
	uint32_t rank;		      /* of this process in MPI_COMM_WORLD */
	uint32_t local_rank;
	uint32_t size;	/* of the group that messages go to */
	int32_t *world; /* their ranks in MPI_COMM_WORLD */
	uint32_t capacity;
	bool is_between;	      /* an intercommunicator: `world` is the remote group */
	struct sn_mpi_epochs *epochs; /* of a window; or NULL */
};
enum sn_mpi_kind { SN_MPI_COMMUNICATOR, SN_MPI_WINDOW, SN_MPI_FILE };

/* NULL if it cannot be determined. The handle is one that a call has accepted. */
struct sn_mpi_communicator *sn_mpi_communicator(sn_word handle);
/* The same for a handle that may be invalid: NULL also if it is not known yet. */
struct sn_mpi_communicator *sn_mpi_known(sn_word handle, enum sn_mpi_kind kind);
/* Reserves a number for a communicator that will be created from the same members. */
uint64_t sn_mpi_communicator_reserve(const struct sn_mpi_communicator *parent);
/* A communicator has been created, with the number reserved before or now. */
#define SN_MPI_NOT_RESERVED UINT64_MAX
void sn_mpi_communicator_created(const void *handle, uint64_t reserved);
/* A window or file of a communicator. */
void sn_mpi_child_created(struct sn_mpi_communicator *parent, sn_word handle,
			  enum sn_mpi_kind kind);
void sn_mpi_freed(sn_word handle, enum sn_mpi_kind kind);
/* A rank in MPI_COMM_WORLD; SN_MESSAGE_ANYBODY for none. */
uint32_t sn_mpi_world_rank(const struct sn_mpi_communicator *communicator, int rank);
/* The ranks in MPI_COMM_WORLD of a group's members, at most `room`; their number. */
size_t sn_mpi_group_ranks(sn_word group, uint32_t *ranks, size_t room);

/* ---- calls.def ---- */

/* Which of the arguments, from 1; 0: none. */
struct sn_mpi_envelope {
	uint8_t count, type, peer, tag, communicator;
};
enum sn_mpi_how {
	SN_MPI_NOTHING,
	SN_MPI_ONE,
	SN_MPI_EACH,
	SN_MPI_SUM,
	SN_MPI_TYPES,
	SN_MPI_OWN,
	SN_MPI_NEAR = 16 /* of the neighbours in a topology, not of all members */
};
struct sn_mpi_amount {
	uint8_t how, buffer, count, type;
};
/* The kind of access to the memory of others, or to a file: the attribute `access`. */
enum sn_mpi_access {
	SN_MPI_TO = 1,
	SN_MPI_FROM,
	SN_MPI_BOTH,
	SN_MPI_SYNCHRONISED,
	SN_MPI_READ,
	SN_MPI_WRITTEN
};
enum sn_mpi_epoch { SN_MPI_POST = 1, SN_MPI_START, SN_MPI_COMPLETE, SN_MPI_WAIT };

/* For calls that start or wait for requests: the arguments with the requests and their number, and
 * the outputs: statuses, whether any is complete, which one, or how many and which ones. */
struct sn_mpi_waits {
	uint8_t count, requests, statuses, flag, index, done_count, indices;
};

struct sn_mpi_call;
struct sn_mpi_function {
	const char *name;	/* "PMPI_Send" */
	_Atomic(void *) *reals; /* the next MPI_Send and PMPI_Send; calls.c */
	/* does the call and ends it; NULL: sn_mpi_run */
	int (*run)(struct sn_mpi_call *call);
	struct sn_mpi_envelope sent, received;
	struct sn_mpi_amount amount, in_place;
	struct sn_mpi_waits waits;
	uint8_t words;
	uint8_t status, request,
	    flag;		/* which of the arguments; `request` may be a message found */
	uint8_t together;	/* the communicator, or window or file, whose members all call */
	uint8_t created, freed; /* pointers to handles */
	uint8_t access, target, of; /* enum sn_mpi_access; whose memory, in which window */
	uint8_t epoch, members;	    /* enum sn_mpi_epoch; the group */
	uint8_t parts;		    /* factor of the count */
	bool is_wide;		    /* counts are MPI_Count */
	bool is_quiet;		    /* a probe: no region, recorded only if it finds a message */
	bool is_prepared;	    /* a persistent request: begins when it is started */
	bool is_window, is_file;    /* what `created`, `freed` and `together` mean */
};

/* ---- calls.c ---- */

/* A call by the program. */
struct sn_mpi_entry {
	const struct sn_mpi_function *function;
	sn_word *words;
	uintptr_t stack;   /* as for regions */
	bool is_profiling; /* PMPI_X was called */
};
int sn_mpi_do(const struct sn_mpi_entry *entry);
static inline sn_word sn_mpi_word(const struct sn_mpi_entry *entry, uint8_t number)
{
	return entry->words[number - 1];
}
static inline const void *sn_mpi_pointer(const struct sn_mpi_entry *entry, uint8_t number)
{
	return (const void *)entry->words[number - 1];
}

/* ---- call.c ---- */

/* Requests for which a call waits. Their data is read before the wait, because the handle of a
 * completed request may be reused by another thread at once. */
struct sn_mpi_request {
	sn_word handle; /* before the call; 0: not kept, or no longer */
	struct sn_message message;
};
enum { SN_MPI_FEW = 2 }; /* stored in the call itself */
struct sn_mpi_waited {
	struct sn_mpi_request *requests;
	const void *statuses;
	const int *indices; /* of the completed ones; NULL: all */
	size_t count;
	bool has_errors; /* the statuses say which are complete */
};

struct sn_mpi_call {
	const struct sn_mpi_entry *entry;
	const struct sn_mpi_function *function;
	uint64_t start_ns;
	uint32_t token;			      /* of the region */
	bool is_wanted;			      /* messages are counted */
	bool is_settled;		      /* messages have been counted */
	bool is_sent, is_received, is_posted; /* which messages there are */
	bool leaves_sent;		      /* the send's end is not the call's */
	bool is_part;			      /* `part` is set */
	union {
		struct {
			struct sn_message sent, received;
			/* The part in a collective, or in an access to memory or files: number (in
			 * `communicator`) or SN_MESSAGE_NO_NUMBER, bytes, peer; `of` the function.
			 * */
			struct sn_message part;
		};
		struct { /* of a call that waits for few requests */
			struct sn_mpi_request requests[SN_MPI_FEW];
			struct sn_mpi_own_status statuses[SN_MPI_FEW];
		} few;
	};
	struct sn_mpi_communicator *window; /* of an epoch */
	const struct sn_mpi_waited *waited;
	const void *started; /* requests */
	size_t started_count;
};

/* False for calls that the library itself makes inside calls. */
bool sn_mpi_begin(struct sn_mpi_call *call, const struct sn_mpi_entry *entry);
void sn_mpi_end(struct sn_mpi_call *call);
/* Between sn_enter and sn_leave if `thread` is not NULL. */
void sn_mpi_record_part(struct sn_thread *thread, uint32_t node, const struct sn_message *part,
			uint64_t start_ns, uint64_t end_ns);
/* A receive is complete, by its status; false if the status has no source. */
bool sn_mpi_settle(struct sn_message *message, const struct sn_mpi_status *status);
/* The key under which a persistent request is kept until it is freed. */
uintptr_t sn_mpi_prepared_key(sn_word request);

/* ---- run.c ---- */

int sn_mpi_run(struct sn_mpi_call *call);
/* A receive is posted; from any source, or with any tag, it is matched when it completes. */
void sn_mpi_post(struct sn_message *message);
/* Passes a status of the adapter if the program passes none. */
void sn_mpi_want_status(struct sn_mpi_call *call, uint8_t argument, struct sn_mpi_own_status *own);

/* ---- request.c: for calls.def ---- */

typedef int sn_mpi_runner(struct sn_mpi_call *call);
sn_mpi_runner sn_mpi_start, sn_mpi_free_request, sn_mpi_cancel, sn_mpi_probe, sn_mpi_receive_found,
    sn_mpi_wait;

/* ---- amount.c ---- */

uint64_t sn_mpi_count(const struct sn_mpi_entry *entry, uint8_t argument);
/* The bytes of an accepted call in this communicator. */
uint64_t sn_mpi_amount(const struct sn_mpi_entry *entry, const struct sn_mpi_communicator *among);

/* ---- epoch.c ---- */

/* Before the call: finds the members of the epoch. */
void sn_mpi_epoch_begins(struct sn_mpi_call *call);
/* After it: true if each of them has been recorded. */
bool sn_mpi_epoch_ends(const struct sn_mpi_call *call, struct sn_thread *thread, uint32_t node,
		       uint64_t start_ns, uint64_t end_ns);

/* ---- adapter.c ---- */

enum sn_mpi_counted {
	SN_MPI_CALLS,
	SN_MPI_SENT,
	SN_MPI_RECEIVED,
	SN_MPI_COLLECTIVES,
	SN_MPI_ACCESSES,
	SN_MPI_FILES,
	SN_MPI_COUNTED
};
void sn_mpi_counted(enum sn_mpi_counted what);
/* Reads rank and size of MPI_COMM_WORLD, in the first call in which that is possible.
 */
void sn_mpi_learn(void);
/* Whether MPI has been initialised; false if only sessions are used. */
bool sn_mpi_has_begun(void);
