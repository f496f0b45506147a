/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MPI adapter's parts, to each other.
 *
 *	library.c	which implementation it is, and how large its handles are
 *	communicator.c	names of communicators, windows and files, and ranks in them as ranks of
 *			MPI_COMM_WORLD
 *	calls.def	the functions of MPI that this library stands in front of
 *	calls.c		... and their entry points
 *	run.c		a call: what its arguments say before it, and what came of it after
 *	request.c	calls about requests: waiting, starting, cancelling; messages looked for
 *			first
 *	amount.c	how many bytes
 *	epoch.c		who waits for whom between MPI_Win_post, start, complete and wait
 *	call.c		a call as a region, and what is recorded of it
 *	adapter.c	the line of `sonde info`
 *
 * No MPI is linked and no header of one is used: implementations differ in the size of handles and
 * in MPI_Status, which library.c knows of MPICH (and what has its binary interface: Intel MPI,
 * MVAPICH, Cray), of Open MPI and of the interface that MPI 5.0 defines for all (libmpi_abi). With
 * any other one calls are regions without messages. Handles and all other arguments travel as
 * words, as the calling conventions of 64-bit Linux have them.
 *
 * MPI_Init, MPI_Initialized, MPI_Comm_rank and the like are not stood in front of: by looking for
 * these do programs find out whether there is an MPI.
 *
 * What is wrong in a call is the library's to tell: nothing is asked of MPI about an argument
 * before the call has accepted it, since asking would call the program's error handler.
 *
 * All functions here: AS-safe: no. MT: yes.
 */
#ifndef SN_COLLECT_MPI_H
#define SN_COLLECT_MPI_H

#include "collect/intercept/intercept.h"
#include "collect/interface/message.h"
#include "collect/intercept/real_symbol.h"

typedef uintptr_t sn_word;

/* The program's definition of a function of MPI. */
#define SN_MPI_REAL(type, name) ((type *)SN_REAL_SYMBOL(name))

/* ---- library.c ---- */

/* Where MPI_Status has what is not MPI's own. */
enum sn_mpi_status_layout { SN_MPI_STATUS_MPICH, SN_MPI_STATUS_OPEN_MPI, SN_MPI_STATUS_ASKED };

struct sn_mpi_library {
	sn_word world, self, no_communicator, no_request, no_type;
	size_t handle_bytes, status_bytes;
	sn_word ignore_status; /* MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE */
	sn_word in_place;
	int any_source, any_tag, no_process;
	int cartesian, graph;		       /* what MPI_Topo_test says */
	int truncated, failed_status, pending; /* classes of errors */
	size_t source_at, tag_at, error_at;    /* in MPI_Status */
	enum sn_mpi_status_layout status;
};

/* NULL where there is none that is known. */
const struct sn_mpi_library *sn_mpi_library(void);
/* "Open MPI 4.1.4", or what an unknown one calls itself; asks the library. */
const char *sn_mpi_library_name(void);
sn_word sn_mpi_handle(const struct sn_mpi_library *library, const void *handles, size_t index);

/* Of a message that takes any, as `tag`. */
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
/* Of what a call returned. */
int sn_mpi_error_class(int result);
/* Of a datatype that a call has accepted. */
uint64_t sn_mpi_type_bytes(sn_word type);

/* ---- communicator.c ---- */

/* A communicator, or a window or file, which have the members of one. */
struct sn_mpi_communicator {
	_Atomic sn_word handle;
	uint64_t name;
	uint64_t members;	      /* a hash of who they are */
	_Atomic uint64_t collectives; /* so far */
	_Atomic uint64_t children;    /* windows and files made of it so far */
	uint32_t rank;		      /* of this process in MPI_COMM_WORLD */
	uint32_t local_rank;
	uint32_t size;	/* of whom messages go to */
	int32_t *world; /* their ranks in MPI_COMM_WORLD */
	uint32_t capacity;
	bool is_between;	      /* two groups: `world` is the other one */
	struct sn_mpi_epochs *epochs; /* of a window; or NULL */
};
enum sn_mpi_kind { SN_MPI_COMMUNICATOR, SN_MPI_WINDOW, SN_MPI_FILE };

/* NULL where it cannot be known. The handle is one that a call has accepted. */
struct sn_mpi_communicator *sn_mpi_communicator(sn_word handle);
/* The same of one that may be anything: NULL also where it has not been met. */
struct sn_mpi_communicator *sn_mpi_known(sn_word handle, enum sn_mpi_kind kind);
/* Where a communicator will be made of the same members: its place among these. */
uint64_t sn_mpi_communicator_reserve(const struct sn_mpi_communicator *parent);
/* Where one has been made, at the place reserved before or now. */
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
/* What is done to the memory of others, or to a file: the attribute `access`. */
enum sn_mpi_access {
	SN_MPI_TO = 1,
	SN_MPI_FROM,
	SN_MPI_BOTH,
	SN_MPI_SYNCHRONISED,
	SN_MPI_READ,
	SN_MPI_WRITTEN
};
enum sn_mpi_epoch { SN_MPI_POST = 1, SN_MPI_START, SN_MPI_COMPLETE, SN_MPI_WAIT };

/* Of calls that start or wait for requests: which arguments these are, and their number, where
 * there are several; what the call writes: statuses, whether anything is done, which one, or how
 * many and which ones. */
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
	uint8_t parts;		    /* by which the count is multiplied */
	bool is_wide;		    /* counts are MPI_Count */
	bool is_quiet;		 /* only looks: no region, and recorded where it finds something */
	bool is_prepared;	 /* begins when it is started */
	bool is_window, is_file; /* what `created`, `freed` and `together` mean */
};

/* ---- calls.c ---- */

/* A call as the program made it. */
struct sn_mpi_entry {
	const struct sn_mpi_function *function;
	sn_word *words;
	uintptr_t stack;   /* as for regions */
	bool is_profiling; /* PMPI_X was called */
};
int sn_mpi_do(const struct sn_mpi_entry *entry);
int sn_mpi_enter(const struct sn_mpi_entry *entry);
static inline sn_word sn_mpi_word(const struct sn_mpi_entry *entry, uint8_t number)
{
	return entry->words[number - 1];
}
static inline const void *sn_mpi_pointer(const struct sn_mpi_entry *entry, uint8_t number)
{
	return (const void *)entry->words[number - 1];
}

/* ---- call.c ---- */

/* Requests that a call has waited for. What they mean is taken before they are waited for: another
 * thread may be given the handle of one that is done at once. */
struct sn_mpi_request {
	sn_word handle; /* as it was before; 0: nothing that is kept, or no more */
	struct sn_message message;
};
enum { SN_MPI_FEW = 2 }; /* in a call's own memory */
struct sn_mpi_waited {
	struct sn_mpi_request *requests;
	const void *statuses;
	const int *indices; /* of those that are done; NULL: all */
	size_t count;
	bool has_errors; /* the statuses tell which are done */
};

struct sn_mpi_call {
	const struct sn_mpi_entry *entry;
	const struct sn_mpi_function *function;
	uint64_t start_ns;
	uint32_t token;			      /* of the region */
	bool is_wanted;			      /* messages are to be counted */
	bool is_settled;		      /* messages have been */
	bool is_sent, is_received, is_posted; /* which of the two are there */
	bool leaves_sent;		      /* the send's end is not the call's */
	bool is_part;			      /* there is a part */
	bool is_failed;
	union {
		struct {
			struct sn_message sent, received;
			/* In what all do together, of access to memory or files: number (in
			 * `communicator`) or SN_MESSAGE_NO_NUMBER, bytes, peer; `of` the function.
			 */
			struct sn_message part;
		};
		struct { /* of a call that waits for requests, where they are few */
			struct sn_mpi_request requests[SN_MPI_FEW];
			struct sn_mpi_own_status statuses[SN_MPI_FEW];
		} few;
	};
	struct sn_mpi_communicator *window; /* of an epoch */
	const struct sn_mpi_waited *waited;
	const void *started; /* requests */
	size_t started_count;
};

/* False for calls of the library itself, inside of calls. */
bool sn_mpi_begin(struct sn_mpi_call *call, const struct sn_mpi_entry *entry);
void sn_mpi_end(struct sn_mpi_call *call);
/* Between sn_enter and sn_leave where `thread` is there. */
void sn_mpi_record_part(struct sn_thread *thread, uint32_t node, const struct sn_message *part,
			uint64_t start_ns, uint64_t end_ns);
/* A receive is done, as the status says; false where that names nobody. */
bool sn_mpi_settle(struct sn_message *message, const struct sn_mpi_status *status);
/* The key under which a request that is started again and again is kept as long as it lives. */
uintptr_t sn_mpi_prepared_key(sn_word request);

/* ---- run.c ---- */

int sn_mpi_run(struct sn_mpi_call *call);
/* A receive that is posted; from anybody, or with any tag, it is settled when it is done. */
void sn_mpi_post(struct sn_message *message);
/* What a call counted did not come to be. */
void sn_mpi_failed(struct sn_mpi_call *call, int result);
/* A status of ours where the program wants none. */
void sn_mpi_want_status(struct sn_mpi_call *call, uint8_t argument, struct sn_mpi_own_status *own);

/* ---- request.c: for calls.def ---- */

typedef int sn_mpi_runner(struct sn_mpi_call *call);
sn_mpi_runner sn_mpi_start, sn_mpi_free_request, sn_mpi_cancel, sn_mpi_probe, sn_mpi_receive_found,
    sn_mpi_wait;

/* ---- amount.c ---- */

uint64_t sn_mpi_count(const struct sn_mpi_entry *entry, uint8_t argument);
/* What an accepted call says, among these. */
uint64_t sn_mpi_amount(const struct sn_mpi_entry *entry, const struct sn_mpi_communicator *among);

/* ---- epoch.c ---- */

/* Before the call: who takes part in the epoch. */
void sn_mpi_epoch_begins(struct sn_mpi_call *call);
/* After it: true where each of them has been recorded. */
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
/* The rank in MPI_COMM_WORLD and how many there are, from the first call in which it can be asked.
 */
void sn_mpi_learn(void);
/* Whether MPI has been initialised; not where there are sessions alone. */
bool sn_mpi_has_begun(void);

#endif
