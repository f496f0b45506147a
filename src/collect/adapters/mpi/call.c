/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of MPI: a region of the thread, in the profile as in the trace, and the events of the
 * messages, collectives and accesses that it begins or ends. An operation that an earlier call
 * began and this one ends is shown by its own name below this one's.
 */
#include "mpi.h"

#include "collect/interface/region.h"
#include "collect/record/trace.h"

#include <string.h>

/* Where the thread's outermost call lies on the stack; 0 for none. Calls of MPI inside of calls of
 * MPI are the library's own. One that was left by longjmp is gone once others lie above it. */
static __thread uintptr_t outermost __attribute__((tls_model("initial-exec")));

bool sn_mpi_begin(struct sn_mpi_call *call, const struct sn_mpi_entry *entry)
{
	const struct sn_mpi_function *of = entry->function;
	const char *name = of->name + 1;
	if (outermost && entry->stack < outermost)
		return false;
	outermost = entry->stack;
	call->entry = entry;
	call->function = of;
	call->token = 0;
	call->is_wanted = sn_messages_are_wanted() && sn_mpi_library();
	call->is_settled = call->is_sent = call->is_received = call->is_posted = false;
	call->leaves_sent = call->is_part = false;
	call->window = NULL;
	call->waited = NULL;
	call->started = NULL;
	sn_mpi_counted(SN_MPI_CALLS);
	sn_mpi_learn();
	if (!of->is_quiet)
		call->token =
		    SN_REGION_BEGIN(.name = name, .length = strlen(name), .stack = entry->stack,
				    .origin = SN_REGION_NATIVE, .user = SN_REGION_MPI);
	call->start_ns = sn_now_ns();
	return true;
}

/* ---- what is recorded ---- */

bool sn_mpi_settle(struct sn_message *message, const struct sn_mpi_status *status)
{
	uint32_t peer = sn_mpi_world_rank(message->among, status->source);
	if (peer == SN_MESSAGE_ANYBODY)
		return false;
	message->bytes = status->bytes;
	sn_message_receive(message, peer, (uint32_t)status->tag);
	return true;
}

static void record_message(struct sn_thread *thread, uint32_t node, struct sn_message *message,
			   uint64_t start_ns, uint64_t end_ns)
{
	message->start_ns = start_ns;
	message->end_ns = end_ns;
	if (thread && message->is_sent && message->request && message->is_gone)
		sn_message_record_wait(thread, node, message);
	else if (thread)
		sn_message_record(thread, node, message);
	if (!message->is_gone)
		sn_mpi_counted(message->is_sent ? SN_MPI_SENT : SN_MPI_RECEIVED);
}

/* The node for what an earlier call began. */
static uint32_t node_of(struct sn_thread *thread, uint32_t node, const struct sn_message *message)
{
	const struct sn_mpi_function *of = message->of;
	const char *name = of->name + 1;
	return thread ? sn_cct_named_child(&thread->cct, node, SN_FRAME_REGION, name, strlen(name))
		      : SN_NODE_NONE;
}

static void count_part(const struct sn_mpi_function *of)
{
	if (of->together)
		sn_mpi_counted(SN_MPI_COLLECTIVES);
	if (of->access == SN_MPI_READ || of->access == SN_MPI_WRITTEN)
		sn_mpi_counted(SN_MPI_FILES);
	else if (of->access && of->access != SN_MPI_SYNCHRONISED)
		sn_mpi_counted(SN_MPI_ACCESSES);
}

void sn_mpi_record_part(struct sn_thread *thread, uint32_t node, const struct sn_message *part,
			uint64_t start_ns, uint64_t end_ns)
{
	const struct sn_mpi_function *of = part->of;
	bool is_numbered = part->number != SN_MESSAGE_NO_NUMBER;
	const struct {
		bool is_there;
		enum sn_trace_key key;
		uint64_t value;
	} all[] = {
	    {part->bytes != 0, SN_TRACE_KEY_BYTES, part->bytes},
	    {is_numbered, SN_TRACE_KEY_GROUP, part->communicator},
	    {is_numbered, SN_TRACE_KEY_COLLECTIVE, part->number},
	    {of->access != 0, SN_TRACE_KEY_ACCESS, of->access},
	    {of->access && part->peer != SN_MESSAGE_ANYBODY, SN_TRACE_KEY_PEER, part->peer},
	    {part->posted_ns < start_ns, SN_TRACE_KEY_POSTED, start_ns - part->posted_ns},
	};
	struct sn_trace_attribute attributes[sizeof(all) / sizeof(*all)];
	struct sn_trace_event event = {.kind = SN_TRACE_INTERVAL,
				       .context = node,
				       .start_ns = start_ns,
				       .end_ns = end_ns,
				       .attributes = attributes};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].is_there)
			attributes[event.attribute_count++] =
			    (struct sn_trace_attribute){.key = all[i].key, .value = all[i].value};
	if (thread && node != SN_NODE_NONE && sn_trace_wants(SN_TRACE_SOURCE_MESSAGES))
		sn_trace_add(thread, &event);
	count_part(of);
}

/* ---- requests that are done ---- */

static void settle_part(struct sn_thread *thread, uint32_t node, const struct sn_mpi_call *call,
			const struct sn_message *part, uint64_t end_ns)
{
	const struct sn_mpi_function *of = part->of;
	if (of->created)
		sn_mpi_communicator_created((const void *)(uintptr_t)part->request, part->tag);
	sn_mpi_record_part(thread, node_of(thread, node, part), part, call->start_ns, end_ns);
}

/* Of messages in parts the status is not said to tell, and MPICH forgets that of MPI_Isendrecv:
 * what says itself from whom it is then is what it says. */
static bool is_told_by(const struct sn_message *message, const struct sn_mpi_status *status)
{
	const struct sn_mpi_function *of = message->of;
	if (!of->parts && !of->sent.peer)
		return true;
	return message->peer == SN_MESSAGE_ANYBODY || message->tag == SN_MPI_ANY_TAG ||
	       (!of->parts && (uint32_t)status->tag == message->tag &&
		sn_mpi_world_rank(message->among, status->source) == message->peer);
}

/* One request that is done; true where it is one that is known. */
static bool settle_request(struct sn_thread *thread, uint32_t node, const struct sn_mpi_call *call,
			   size_t index, size_t status_index, uint64_t end_ns)
{
	struct sn_mpi_request *request = call->waited->requests + index;
	struct sn_message *message = &request->message;
	const struct sn_mpi_function *of = message->of;
	if (!request->handle)
		return false;
	struct sn_mpi_status status =
	    sn_mpi_status(sn_mpi_library(), call->waited->statuses, status_index);
	if (call->waited->has_errors && status.error)
		return false;
	request->handle = 0;
	if (!of->sent.peer && !of->received.peer) {
		settle_part(thread, node, call, message, end_ns);
		return true;
	}
	message->is_gone = message->is_sent;
	if (!message->is_sent && status.is_cancelled) {
		sn_message_withdraw(message);
		return false;
	}
	if (!message->is_sent && !is_told_by(message, &status))
		sn_message_receive(message, message->peer, message->tag);
	else if (!message->is_sent && !sn_mpi_settle(message, &status))
		return false;
	record_message(thread, node, message, call->start_ns, end_ns);
	return true;
}

static bool __attribute__((noinline))
settle_requests(struct sn_thread *thread, uint32_t node, const struct sn_mpi_call *call,
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

/* What was sent by starting requests; it is waited for later. */
static bool __attribute__((noinline))
record_started(struct sn_thread *thread, uint32_t node, const struct sn_mpi_call *call,
	       uint64_t end_ns)
{
	bool has_any = false;
	for (size_t i = 0; i < call->started_count && call->started; i++) {
		sn_word handle = sn_mpi_handle(sn_mpi_library(), call->started, i);
		struct sn_message message;
		if (!sn_message_remove(handle, SN_MESSAGE_ANYBODY, &message))
			continue;
		sn_message_keep(handle, &message);
		if (!message.is_sent)
			continue;
		message.posted_ns = 0;
		record_message(thread, node, &message, call->start_ns, end_ns);
		has_any = true;
	}
	return has_any;
}

/* ---- the end of a call ---- */

static void finish(struct sn_thread *thread, uint32_t node, uint64_t start_ns, uint64_t end_ns,
		   void *data)
{
	struct sn_mpi_call *call = data;
	bool has_any = settle_requests(thread, node, call, end_ns);
	has_any |= record_started(thread, node, call, end_ns);
	call->is_settled = true;
	if (call->is_sent)
		record_message(thread, node, &call->sent, start_ns,
			       call->leaves_sent ? start_ns : end_ns);
	if (call->is_received)
		record_message(thread, node, &call->received, start_ns, end_ns);
	if (call->is_part &&
	    !(call->window && sn_mpi_epoch_ends(call, thread, node, start_ns, end_ns)))
		sn_mpi_record_part(thread, node, &call->part, start_ns, end_ns);
	has_any |= call->is_sent || call->is_received || call->is_part;
	if (thread && node != SN_NODE_NONE &&
	    (!has_any || !sn_trace_wants(SN_TRACE_SOURCE_MESSAGES)) &&
	    sn_trace_wants(SN_TRACE_SOURCE_REGIONS | SN_TRACE_SOURCE_MESSAGES))
		sn_trace_interval(thread, node, start_ns, end_ns);
}

/* Calls that are no regions, here or at all. */
static void end_quiet(struct sn_mpi_call *call)
{
	if (!call->waited && !call->is_received && !call->is_sent && !call->is_part &&
	    !call->window && !call->started)
		return;
	struct sn_thread *thread = sn_trace_wants(SN_TRACE_SOURCE_MESSAGES) ? sn_enter() : NULL;
	uint32_t node = thread
			    ? sn_message_context(thread, call->function->name + 1, SN_FRAME_REGION)
			    : SN_NODE_NONE;
	finish(thread, node, call->start_ns, sn_now_ns(), call);
	if (thread)
		sn_leave(thread);
}

void sn_mpi_end(struct sn_mpi_call *call)
{
	outermost = 0;
	if (call->token) {
		sn_region_end_traced(SN_REGION_MPI, call->token, finish, call);
		if (!call->is_settled)
			finish(NULL, SN_NODE_NONE, call->start_ns, call->start_ns, call);
	} else if (call->is_wanted) {
		end_quiet(call);
	}
}
