/* SPDX-License-Identifier: Apache-2.0 */
/* Calls about requests, and messages that are probed before they are received; see mpi.h. */
#include "mpi.h"

#include "collect/core/arena.h"

/* ---- started again and again ---- */

/* They are kept under another key as long as they live, and under their own while they run. */
uintptr_t sn_mpi_prepared_key(sn_word request)
{
	return sn_message_mix(request ^ 0x5065727369737421u) | 1u << 1;
}

static void __attribute__((noinline)) count_start(sn_word request)
{
	struct sn_message message, left;
	uintptr_t key = sn_mpi_prepared_key(request);
	if (!sn_message_remove(key, SN_MESSAGE_ANYBODY, &message))
		return;
	/* one that failed may have left something */
	sn_message_remove(request, SN_MESSAGE_ANYBODY, &left);
	const struct sn_mpi_function *of = message.of;
	message.start_ns = message.posted_ns = sn_now_ns();
	if (of->sent.peer) {
		sn_message_send(&message);
		message.request = sn_message_request();
	} else if (of->received.peer) {
		sn_mpi_post(&message);
	} else {
		message.number++; /* from 0: it was SN_MESSAGE_NO_NUMBER */
	}
	sn_message_keep(key, &message);
	sn_message_keep(request, &message);
}

static void __attribute__((noinline)) withdraw(sn_word handle)
{
	struct sn_message message;
	if (sn_message_remove(handle, SN_MESSAGE_ANYBODY, &message))
		sn_message_withdraw(&message);
}

static int start(struct sn_mpi_call *call, const void *requests, size_t count)
{
	const struct sn_mpi_library *library = sn_mpi_library();
	for (size_t i = 0; i < count && call->is_wanted; i++)
		count_start(sn_mpi_handle(library, requests, i));
	int result = sn_mpi_do(call->entry);
	for (size_t i = 0; i < count && call->is_wanted && result; i++)
		withdraw(sn_mpi_handle(library, requests, i));
	if (call->is_wanted && !result) {
		call->started = requests;
		call->started_count = count;
	}
	sn_mpi_end(call);
	return result;
}

int sn_mpi_start(struct sn_mpi_call *call)
{
	const struct sn_mpi_waits *starts = &call->function->waits;
	return start(call, sn_mpi_pointer(call->entry, starts->requests),
		     starts->count ? sn_mpi_count(call->entry, starts->count) : 1);
}

/* The end of the operation will not be seen. */
int sn_mpi_free_request(struct sn_mpi_call *call)
{
	struct sn_message message;
	if (call->is_wanted) {
		sn_word request =
		    sn_mpi_handle(sn_mpi_library(), sn_mpi_pointer(call->entry, 1), 0);
		sn_message_remove(sn_mpi_prepared_key(request), SN_MESSAGE_ANYBODY, &message);
		if (request != sn_mpi_library()->no_request)
			sn_message_remove(request, SN_MESSAGE_ANYBODY, &message);
	}
	int result = sn_mpi_do(call->entry);
	sn_mpi_end(call);
	return result;
}

static bool __attribute__((noinline)) is_cancelled(sn_word request)
{
	typedef int ask(sn_word, int *, void *);
	ask *look = SN_MPI_REAL(ask, "PMPI_Request_get_status");
	struct sn_mpi_own_status own;
	int is_done = 0;
	return look && !look(request, &is_done, &own) && is_done &&
	       sn_mpi_status(sn_mpi_library(), &own, 0).is_cancelled;
}

/* What has been cancelled by now has taken no message, and has no number. What is later is found so
 * when it is waited for. */
int sn_mpi_cancel(struct sn_mpi_call *call)
{
	int result = sn_mpi_do(call->entry);
	if (call->is_wanted && !result) {
		sn_word request =
		    sn_mpi_handle(sn_mpi_library(), sn_mpi_pointer(call->entry, 1), 0);
		if (is_cancelled(request))
			withdraw(request);
	}
	sn_mpi_end(call);
	return result;
}

/* ---- messages that are looked for first ---- */

static void __attribute__((noinline))
keep_found(const struct sn_mpi_call *call, uint8_t found, uint8_t at)
{
	const struct sn_mpi_library *library = sn_mpi_library();
	struct sn_mpi_communicator *among = sn_mpi_communicator(sn_mpi_word(call->entry, 3));
	struct sn_mpi_status status = sn_mpi_status(library, sn_mpi_pointer(call->entry, at), 0);
	if (!among || status.source == library->no_process)
		return;
	struct sn_message message = {
	    .communicator = among->name,
	    .tag = (uint32_t)status.tag,
	    .rank = among->rank,
	    .peer = sn_mpi_world_rank(among, status.source),
	    .among = among,
	    .of = call->function,
	};
	if (message.peer == SN_MESSAGE_ANYBODY)
		return;
	sn_mpi_post(&message);
	sn_message_keep(sn_mpi_handle(library, sn_mpi_pointer(call->entry, found), 0), &message);
}

int sn_mpi_probe(struct sn_mpi_call *call)
{
	const struct sn_mpi_function *of = call->function;
	struct sn_mpi_own_status own;
	if (call->is_wanted)
		sn_mpi_want_status(call, of->status, &own);
	int result = sn_mpi_do(call->entry);
	if (!result && call->is_wanted &&
	    (!of->flag || *(const int *)sn_mpi_pointer(call->entry, of->flag)))
		keep_found(call, of->request, of->status);
	sn_mpi_end(call);
	return result;
}

/* MPI_Mrecv and MPI_Imrecv: a message has been found, and is received now. */
int sn_mpi_receive_found(struct sn_mpi_call *call)
{
	const struct sn_mpi_library *library = call->is_wanted ? sn_mpi_library() : NULL;
	const struct sn_mpi_function *of = call->function;
	struct sn_mpi_own_status own;
	if (library)
		call->is_posted =
		    sn_message_remove(sn_mpi_handle(library, sn_mpi_pointer(call->entry, 4), 0),
				      SN_MESSAGE_ANYBODY, &call->received);
	if (library && of->status)
		sn_mpi_want_status(call, of->status, &own);
	int result = sn_mpi_do(call->entry);
	if (call->is_posted && !result && of->request) {
		sn_message_keep(sn_mpi_handle(library, sn_mpi_pointer(call->entry, of->request), 0),
				&call->received);
	} else if (call->is_posted && !result) {
		struct sn_mpi_status status =
		    sn_mpi_status(library, sn_mpi_pointer(call->entry, of->status), 0);
		call->is_received = sn_mpi_settle(&call->received, &status);
	}
	sn_mpi_end(call);
	return result;
}

/* ---- waiting ---- */

/* What requests and statuses need beside the program's own arrays. */
struct waiting {
	struct sn_mpi_waited waited;
	const void *requests; /* the program's */
	size_t count;
	void *pages; /* for both, where there are many; NULL */
	size_t page_bytes;
};

static void read_request(struct sn_mpi_request *request, sn_word handle)
{
	bool is_there = handle != sn_mpi_library()->no_request &&
			sn_message_remove(handle, SN_MESSAGE_ANYBODY, &request->message);
	request->handle = is_there ? handle : 0;
}

/* Without memory requests stay where they are, and are never told to be done. */
static void __attribute__((noinline)) prepare(struct sn_mpi_call *call, struct waiting *waiting)
{
	const struct sn_mpi_waits *waits = &call->function->waits;
	uint64_t count = waits->count ? sn_mpi_count(call->entry, waits->count) : 1;
	const struct sn_mpi_library *library = call->is_wanted ? sn_mpi_library() : NULL;
	size_t wanted = library ? count : 0;
	struct sn_mpi_own_status *own = call->few.statuses;
	waiting->pages = NULL;
	waiting->count = 0;
	waiting->requests = sn_mpi_pointer(call->entry, waits->requests);
	waiting->waited = (struct sn_mpi_waited){.requests = call->few.requests};
	if (wanted > SN_MPI_FEW) {
		waiting->page_bytes = wanted * (sizeof(struct sn_mpi_request) + sizeof(*own));
		waiting->pages = sn_pages_map(waiting->page_bytes);
		waiting->waited.requests = waiting->pages;
		own = waiting->pages ? (void *)(waiting->waited.requests + wanted) : NULL;
	}
	if (!wanted || !own)
		return;
	waiting->count = wanted;
	for (size_t i = 0; i < wanted; i++)
		read_request(waiting->waited.requests + i,
			     sn_mpi_handle(library, waiting->requests, i));
	sn_mpi_want_status(call, waits->statuses, own);
	waiting->waited.statuses = sn_mpi_pointer(call->entry, waits->statuses);
}

/* Of a call that failed: what is done is gone, and only the statuses may tell how it ended. */
static void look_after(const struct waiting *waiting)
{
	const struct sn_mpi_library *library = sn_mpi_library();
	for (size_t i = 0; i < waiting->count; i++)
		if (sn_mpi_handle(library, waiting->requests, i) == library->no_request)
			waiting->waited.requests[i].handle = 0;
}

/* `done` of them, all where the call tells no indices; which mean nothing where it failed. */
static void finish(struct sn_mpi_call *call, struct waiting *waiting, int result, int done)
{
	const struct sn_mpi_waits *waits = &call->function->waits;
	uint8_t indices = waits->index ? waits->index : waits->indices;
	waiting->waited.has_errors = waiting->count && result &&
				     sn_mpi_error_class(result) == sn_mpi_library()->failed_status;
	if (waiting->count && ((!result && done > 0) || waiting->waited.has_errors)) {
		waiting->waited.indices = indices ? sn_mpi_pointer(call->entry, indices) : NULL;
		waiting->waited.count = indices ? (size_t)done : waiting->count;
		call->waited = &waiting->waited;
	}
	sn_mpi_end(call);
	if (result)
		look_after(waiting);
	for (size_t i = 0; i < waiting->count; i++)
		if (waiting->waited.requests[i].handle)
			sn_message_keep(waiting->waited.requests[i].handle,
					&waiting->waited.requests[i].message);
	if (waiting->pages)
		sn_pages_unmap(waiting->pages, waiting->page_bytes);
}

/* What a call wrote through its argument; MPI_UNDEFINED, which is negative: there was nothing to
 * wait for. */
static int written(const struct sn_mpi_call *call, uint8_t argument)
{
	return *(const int *)sn_mpi_pointer(call->entry, argument);
}

/* How many requests the call found done, where that cannot be seen in statuses alone. */
static int __attribute__((noinline))
count_done(const struct sn_mpi_call *call, const struct waiting *waiting, int result)
{
	const struct sn_mpi_waits *waits = &call->function->waits;
	int done = !result;
	if (waits->done_count)
		done = waiting->count ? written(call, waits->done_count) : 0;
	if (done && waits->flag)
		done = written(call, waits->flag) != 0;
	if (done && waits->index)
		done = written(call, waits->index) >= 0;
	return done > 0 ? done : 0;
}

int sn_mpi_wait(struct sn_mpi_call *call)
{
	struct waiting waiting;
	prepare(call, &waiting);
	int result = sn_mpi_do(call->entry);
	finish(call, &waiting, result, count_done(call, &waiting, result));
	return result;
}
