/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of MPI: a region of the thread, in the profile as in the trace, and what it sends and
 * receives. A receive's communicator is needed once more when it is done, so it is kept with it.
 */
#include "mpi.h"

#include "collect/region.h"
#include "collect/trace.h"

#include <string.h>

/* Calls of MPI inside of calls of MPI are the library's own. */
static __thread int depth __attribute__((tls_model("initial-exec")));

static void start(struct sn_mpi_call *call, const char *name)
{
	call->name = name;
	call->token = 0;
	call->is_outer = !depth++ && sn_measuring();
	call->is_wanted = call->is_outer && sn_messages_are_wanted() && sn_mpi_library();
	call->is_settled = call->is_sent = call->is_received = call->is_posted = false;
	call->leaves_sent = false;
	call->together = NULL;
	call->waited = NULL;
	call->start_ns = 0;
}

void sn_mpi_begin(struct sn_mpi_call *call, const char *name, uintptr_t stack)
{
	start(call, name);
	if (!call->is_outer)
		return;
	call->token = sn_region_begin(&(struct sn_region_start){.name = name,
								.length = strlen(name),
								.stack = stack,
								.origin = SN_REGION_NATIVE,
								.user = SN_REGION_MPI});
	call->start_ns = sn_now_ns();
}

void sn_mpi_begin_quiet(struct sn_mpi_call *call, const char *name)
{
	start(call, name);
	if (call->is_wanted)
		call->start_ns = sn_now_ns();
}

/* ---- messages ---- */

static bool describe(const struct sn_mpi_envelope *envelope, struct sn_message *message,
		     struct sn_mpi_communicator **communicator)
{
	const struct sn_mpi_library *library = sn_mpi_library();
	int peer = (int)envelope->peer, count = (int)envelope->count;
	if (!library || peer == library->no_process)
		return false;
	struct sn_mpi_communicator *among = sn_mpi_communicator(envelope->communicator);
	if (!among)
		return false;
	*message = (struct sn_message){
	    .communicator = among->name,
	    .tag = (uint32_t)(int)envelope->tag,
	    .bytes = (count > 0 ? (uint64_t)count : 0) * sn_mpi_type_bytes(envelope->type),
	    .rank = among->rank,
	    .peer =
		peer == library->any_source ? SN_MESSAGE_ANYBODY : sn_mpi_world_rank(among, peer),
	};
	*communicator = among;
	return peer == library->any_source || message->peer != SN_MESSAGE_ANYBODY;
}

void sn_mpi_sends(struct sn_mpi_call *call, const struct sn_mpi_envelope *envelope)
{
	struct sn_mpi_communicator *among;
	if (!call->is_wanted || !describe(envelope, &call->sent, &among))
		return;
	call->is_sent = true;
	sn_message_send(&call->sent);
}

/* From anybody, or with any tag (which is -1 everywhere), is settled when it is done. */
static void post(struct sn_message *message)
{
	uint32_t peer = message->peer;
	if (message->tag == UINT32_MAX)
		message->peer = SN_MESSAGE_ANYBODY;
	sn_message_post(message);
	message->peer = peer;
}

void sn_mpi_receives(struct sn_mpi_call *call, const struct sn_mpi_envelope *envelope)
{
	if (!call->is_wanted || !describe(envelope, &call->received, &call->from))
		return;
	call->is_posted = true;
	post(&call->received);
	call->received.posted_ns = sn_now_ns();
	call->received.among = call->from;
}

void sn_mpi_together(struct sn_mpi_call *call, sn_word communicator, sn_word count, sn_word type)
{
	if (!call->is_wanted)
		return;
	call->together = sn_mpi_communicator(communicator);
	call->together_bytes = type ? (uint64_t)(uint32_t)(int)count * sn_mpi_type_bytes(type) : 0;
}

/* Done, as the status says. False where that names nobody. */
static bool settle(struct sn_message *message, const struct sn_mpi_status *status)
{
	struct sn_mpi_communicator *among = message->among;
	uint32_t peer = sn_mpi_world_rank(among, status->source);
	if (peer == SN_MESSAGE_ANYBODY)
		return false;
	message->bytes = status->bytes;
	sn_message_receive(message, peer, (uint32_t)status->tag);
	return true;
}

void sn_mpi_received(struct sn_mpi_call *call, const void *status)
{
	if (!call->is_posted)
		return;
	struct sn_mpi_status read = sn_mpi_status(sn_mpi_library(), status, 0);
	call->is_received = settle(&call->received, &read);
}

void sn_mpi_requested(struct sn_mpi_call *call, const void *request)
{
	struct sn_message *message = call->is_sent ? &call->sent : &call->received;
	if (!call->is_sent && !call->is_posted)
		return;
	if (call->is_sent)
		message->request = sn_message_request();
	sn_message_keep(sn_mpi_handle(sn_mpi_library(), request, 0), message);
}

/* ---- persistent requests ---- */

/* They are kept under another key as long as they live, and under their own while they run. */
static uintptr_t prepared_key(sn_word request)
{
	return sn_message_mix(request ^ 0x5065727369737421u) | 1u << 1;
}

void sn_mpi_prepared(const struct sn_mpi_envelope *envelope, bool is_sent, const void *request)
{
	struct sn_message message;
	struct sn_mpi_communicator *among;
	if (!sn_messages_are_wanted() || !sn_measuring() || !describe(envelope, &message, &among))
		return;
	message.is_sent = is_sent;
	message.among = among;
	sn_message_keep(prepared_key(sn_mpi_handle(sn_mpi_library(), request, 0)), &message);
}

void sn_mpi_starts(sn_word request)
{
	struct sn_message message;
	const char *name = "MPI_Start";
	if (!sn_messages_are_wanted() ||
	    !sn_message_take(prepared_key(request), SN_MESSAGE_ANYBODY, &message))
		return;
	sn_message_keep(prepared_key(request), &message);
	message.start_ns = message.end_ns = message.posted_ns = sn_now_ns();
	if (message.is_sent) {
		sn_message_send(&message);
		message.request = sn_message_request();
		struct sn_thread *thread = sn_enter();
		if (thread) {
			message.posted_ns = 0;
			sn_message_record(thread, sn_message_context(thread, name, SN_FRAME_REGION),
					  &message);
			sn_leave(thread);
		}
	} else {
		post(&message);
	}
	sn_message_keep(request, &message);
}

void sn_mpi_forgotten(sn_word request, bool is_cancelled)
{
	struct sn_message message;
	if (!sn_messages_are_wanted())
		return;
	sn_message_take(prepared_key(request), SN_MESSAGE_ANYBODY, &message);
	if (is_cancelled && sn_message_take(request, SN_MESSAGE_ANYBODY, &message))
		sn_message_lost(&message);
}

void sn_mpi_probed(const void *found, const void *status, sn_word communicator)
{
	const struct sn_mpi_library *library = sn_mpi_library();
	struct sn_mpi_communicator *among =
	    library && sn_messages_are_wanted() ? sn_mpi_communicator(communicator) : NULL;
	if (!among)
		return;
	struct sn_mpi_status read = sn_mpi_status(library, status, 0);
	struct sn_message message = {
	    .communicator = among->name,
	    .tag = (uint32_t)read.tag,
	    .rank = among->rank,
	    .peer = sn_mpi_world_rank(among, read.source),
	    .posted_ns = sn_now_ns(),
	    .among = among,
	};
	if (message.peer == SN_MESSAGE_ANYBODY)
		return;
	post(&message);
	sn_message_keep(sn_mpi_handle(library, found, 0), &message);
}

/* ---- the end of a call ---- */

static void record_one(struct sn_thread *thread, uint32_t node, struct sn_message *message,
		       uint64_t start_ns, uint64_t end_ns)
{
	message->start_ns = start_ns;
	message->end_ns = end_ns;
	if (thread && message->is_sent && message->request && message->is_gone)
		sn_message_record_wait(thread, node, message);
	else if (thread)
		sn_message_record(thread, node, message);
}

void sn_mpi_take(struct sn_mpi_request *request, sn_word handle)
{
	const struct sn_mpi_library *library = sn_mpi_library();
	bool is_there = handle != library->no_request &&
			sn_message_take(handle, SN_MESSAGE_ANYBODY, &request->message);
	request->handle = is_there ? handle : 0;
}

void sn_mpi_give_back(const struct sn_mpi_request *request)
{
	if (request->handle)
		sn_message_keep(request->handle, &request->message);
}

/* One request that is done; true where it is a message. */
static bool settle_request(struct sn_thread *thread, uint32_t node, const struct sn_mpi_call *call,
			   size_t index, size_t status_index, uint64_t end_ns)
{
	struct sn_mpi_request *request = call->waited->requests + index;
	struct sn_message *message = &request->message;
	if (!request->handle)
		return false;
	request->handle = 0;
	struct sn_mpi_status status =
	    sn_mpi_status(sn_mpi_library(), call->waited->statuses, status_index);
	message->is_gone = message->is_sent;
	if (!message->is_sent && !settle(message, &status))
		return false;
	record_one(thread, node, message, call->start_ns, end_ns);
	return true;
}

static bool settle_requests(struct sn_thread *thread, uint32_t node, const struct sn_mpi_call *call,
			    uint64_t end_ns)
{
	bool has_any = false;
	const struct sn_mpi_waited *waited = call->waited;
	for (size_t i = 0; waited && i < waited->count; i++)
		has_any |=
		    settle_request(thread, node, call,
				   waited->indices ? (size_t)waited->indices[i] : i, i, end_ns);
	return has_any;
}

static void finish(struct sn_thread *thread, uint32_t node, uint64_t start_ns, uint64_t end_ns,
		   void *data)
{
	struct sn_mpi_call *call = data;
	bool has_any = settle_requests(thread, node, call, end_ns);
	call->is_settled = true;
	if (call->is_sent)
		record_one(thread, node, &call->sent, start_ns,
			   call->leaves_sent ? start_ns : end_ns);
	if (call->is_received)
		record_one(thread, node, &call->received, start_ns, end_ns);
	if (call->together && thread)
		sn_collective_record(thread, node, call->together->name,
				     atomic_fetch_add_explicit(&call->together->collectives, 1,
							       memory_order_relaxed),
				     call->together_bytes, start_ns, end_ns);
	else if (call->together)
		atomic_fetch_add_explicit(&call->together->collectives, 1, memory_order_relaxed);
	bool is_message = has_any || call->is_sent || call->is_received || call->together;
	if (thread && node != SN_NODE_NONE &&
	    (!is_message || !sn_trace_wants(SN_TRACE_SOURCE_MESSAGES)) &&
	    sn_trace_wants(SN_TRACE_SOURCE_REGIONS | SN_TRACE_SOURCE_MESSAGES))
		sn_trace_interval(thread, node, start_ns, end_ns);
}

/* Calls that are no regions, here or at all. */
static void end_quiet(struct sn_mpi_call *call)
{
	if (!call->waited && !call->is_received && !call->is_sent && !call->together)
		return;
	struct sn_thread *thread = sn_trace_wants(SN_TRACE_SOURCE_MESSAGES) ? sn_enter() : NULL;
	uint32_t node =
	    thread ? sn_message_context(thread, call->name, SN_FRAME_REGION) : SN_NODE_NONE;
	finish(thread, node, call->start_ns, sn_now_ns(), call);
	if (thread)
		sn_leave(thread);
}

void sn_mpi_end(struct sn_mpi_call *call)
{
	depth--;
	if (call->token) {
		sn_region_end_traced(SN_REGION_MPI, call->token, finish, call);
		if (!call->is_settled)
			finish(NULL, SN_NODE_NONE, call->start_ns, call->start_ns, call);
	} else if (call->is_wanted) {
		end_quiet(call);
	}
}
