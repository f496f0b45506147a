/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a call of MPI and reads its arguments as calls.def describes them: messages are counted
 * before the call, sizes are read once it has accepted its arguments. Only then is MPI queried
 * about a new communicator.
 */
#include "mpi.h"

/* ---- messages ---- */

/* Sender, receiver, communicator and tag. False for MPI_PROC_NULL, and if they are unknown. */
static bool address(const struct sn_mpi_entry *entry, const struct sn_mpi_envelope *envelope,
		    bool is_accepted, struct sn_message *message)
{
	const struct sn_mpi_library *library = sn_mpi_library();
	int peer = (int)sn_mpi_word(entry, envelope->peer),
	    tag = (int)sn_mpi_word(entry, envelope->tag);
	sn_word comm = sn_mpi_word(entry, envelope->communicator);
	if (peer == library->no_process)
		return false;
	struct sn_mpi_communicator *among =
	    is_accepted ? sn_mpi_communicator(comm) : sn_mpi_known(comm, SN_MPI_COMMUNICATOR);
	if (!among)
		return false;
	bool is_from_anybody =
	    peer == library->any_source && envelope == &entry->function->received;
	*message = (struct sn_message){
	    .communicator = among->name,
	    .tag = tag == library->any_tag ? SN_MPI_ANY_TAG : (uint32_t)tag,
	    .rank = among->rank,
	    .peer = is_from_anybody ? SN_MESSAGE_ANYBODY : sn_mpi_world_rank(among, peer),
	    .among = among,
	    .of = entry->function,
	};
	return is_from_anybody || message->peer != SN_MESSAGE_ANYBODY;
}

static uint64_t bytes_of(const struct sn_mpi_entry *entry, const struct sn_mpi_envelope *envelope)
{
	uint64_t parts = 1, count = sn_mpi_count(entry, envelope->count);
	if (entry->function->parts) {
		int given = (int)sn_mpi_word(entry, entry->function->parts);
		parts = given > 0 ? (uint64_t)given : 0;
	}
	return count * parts * sn_mpi_type_bytes(sn_mpi_word(entry, envelope->type));
}

void sn_mpi_post(struct sn_message *message)
{
	uint32_t peer = message->peer;
	if (message->tag == SN_MPI_ANY_TAG)
		message->peer = SN_MESSAGE_ANYBODY;
	sn_message_post(message);
	message->peer = peer;
	message->posted_ns = sn_now_ns();
}

static void count_sent(struct sn_mpi_call *call, bool is_accepted)
{
	if (call->is_sent || !address(call->entry, &call->function->sent, is_accepted, &call->sent))
		return;
	call->is_sent = true;
	sn_message_send(&call->sent);
}

static void count_received(struct sn_mpi_call *call, bool is_accepted)
{
	if (call->is_posted ||
	    !address(call->entry, &call->function->received, is_accepted, &call->received))
		return;
	call->is_posted = true;
	sn_mpi_post(&call->received);
}

/* ---- what all do together, and accesses ---- */

static enum sn_mpi_kind kind_of(const struct sn_mpi_function *of)
{
	return of->is_window ? SN_MPI_WINDOW : of->is_file ? SN_MPI_FILE : SN_MPI_COMMUNICATOR;
}

/* What an argument points to; files are pointers everywhere. */
static sn_word handle_at(const struct sn_mpi_entry *entry, uint8_t argument)
{
	const void *at = sn_mpi_pointer(entry, argument);
	return entry->function->is_file ? *(const sn_word *)at
					: sn_mpi_handle(sn_mpi_library(), at, 0);
}

/* Members of what this call is about; NULL where that is not known. */
static struct sn_mpi_communicator *members(const struct sn_mpi_entry *entry, bool is_accepted)
{
	const struct sn_mpi_function *of = entry->function;
	enum sn_mpi_kind kind = of->created ? SN_MPI_COMMUNICATOR : kind_of(of);
	if (of->of)
		return sn_mpi_known(sn_mpi_word(entry, of->of), SN_MPI_WINDOW);
	if (of->freed && kind != SN_MPI_COMMUNICATOR)
		return sn_mpi_known(handle_at(entry, of->freed), kind);
	if (!of->together)
		return NULL;
	sn_word handle = sn_mpi_word(entry, of->together);
	return is_accepted && kind == SN_MPI_COMMUNICATOR ? sn_mpi_communicator(handle)
							  : sn_mpi_known(handle, kind);
}

static bool is_together(const struct sn_mpi_function *of)
{
	return of->together || (of->freed && (of->is_window || of->is_file));
}

static void count_part(struct sn_mpi_call *call, bool is_accepted)
{
	const struct sn_mpi_function *of = call->function;
	if (call->is_part || (!is_together(of) && !of->access))
		return;
	struct sn_mpi_communicator *among = members(call->entry, is_accepted);
	if (!among && !is_accepted)
		return;
	int target = of->target ? (int)sn_mpi_word(call->entry, of->target) : -1;
	if (of->target && target == sn_mpi_library()->no_process)
		return;
	call->part = (struct sn_message){
	    .number = SN_MESSAGE_NO_NUMBER,
	    .peer = among && of->target ? sn_mpi_world_rank(among, target) : SN_MESSAGE_ANYBODY,
	    .posted_ns = call->start_ns,
	    .among = among,
	    .of = of,
	};
	call->is_part = among || of->access;
	if (!among || !is_together(of))
		return;
	/* relaxed: calls of one communicator come one after the other, as its members make them */
	call->part.communicator = among->name;
	call->part.number = atomic_fetch_add_explicit(&among->collectives, 1, memory_order_relaxed);
}

/* ---- before and after ---- */

static void __attribute__((noinline)) before(struct sn_mpi_call *call)
{
	const struct sn_mpi_function *of = call->function;
	if (of->is_prepared)
		return;
	call->leaves_sent = of->sent.peer && of->received.peer;
	if (of->sent.peer)
		count_sent(call, false);
	if (of->received.peer)
		count_received(call, false);
	count_part(call, false);
	if (of->epoch)
		sn_mpi_epoch_begins(call);
	if (of->freed)
		sn_mpi_freed(handle_at(call->entry, of->freed), kind_of(of));
}

/* Kept until a call waits for it. */
static void keep(struct sn_mpi_call *call)
{
	const struct sn_mpi_function *of = call->function;
	const void *request = sn_mpi_pointer(call->entry, of->request);
	struct sn_message *message = call->is_posted ? &call->received
				     : call->is_sent ? &call->sent
						     : &call->part;
	if (!call->is_posted && !call->is_sent && !call->is_part)
		return;
	if (message == &call->sent)
		message->request = sn_message_request();
	if (of->created) {
		message->request = sn_mpi_word(call->entry, of->created);
		message->tag = sn_mpi_communicator_reserve(message->among);
	}
	sn_message_keep(sn_mpi_handle(sn_mpi_library(), request, 0), message);
	/* what is recorded is its end; what it sent is recorded now */
	call->is_posted = call->is_part = false;
}

static void make(const struct sn_mpi_call *call)
{
	const struct sn_mpi_function *of = call->function;
	const void *created = sn_mpi_pointer(call->entry, of->created);
	if (of->request)
		return;
	if (!of->is_window && !of->is_file)
		sn_mpi_communicator_created(created, SN_MPI_NOT_RESERVED);
	else if (call->part.among && call->is_part)
		sn_mpi_child_created(call->part.among, handle_at(call->entry, of->created),
				     kind_of(of));
}

/* In parts they have their own order, in which they are made: each is a channel by itself. */
static void number_channel(struct sn_message *message)
{
	struct sn_message channel = *message;
	channel.communicator =
	    sn_message_mix(message->communicator + 0x50617274u) + !message->is_sent;
	sn_message_send(&channel);
	message->communicator =
	    (uint32_t)sn_message_mix(message->communicator + (channel.number + 1) * 0x50617274u) |
	    1;
}

static void prepare(struct sn_mpi_call *call)
{
	const struct sn_mpi_function *of = call->function;
	sn_word request =
	    sn_mpi_handle(sn_mpi_library(), sn_mpi_pointer(call->entry, of->request), 0);
	const struct sn_mpi_envelope *envelope = of->sent.peer	     ? &of->sent
						 : of->received.peer ? &of->received
								     : NULL;
	struct sn_message message;
	if (envelope) {
		if (!address(call->entry, envelope, true, &message))
			return;
		message.bytes = bytes_of(call->entry, envelope);
		message.is_sent = of->sent.peer != 0;
		if (of->parts)
			number_channel(&message);
	} else {
		count_part(call, true);
		if (!call->is_part)
			return;
		message = call->part;
		message.bytes = sn_mpi_amount(call->entry, message.among);
		/* started in any order: each counts for itself, in a group of its own */
		message.communicator =
		    (uint32_t)sn_message_mix(message.communicator + message.number + 1) | 1;
		message.number = SN_MESSAGE_NO_NUMBER;
		call->is_part = false;
	}
	sn_message_keep(sn_mpi_prepared_key(request), &message);
}

/* Of a file what was moved, else what was asked for. */
static uint64_t part_bytes(const struct sn_mpi_call *call)
{
	const struct sn_mpi_function *of = call->function;
	if (of->status && sn_mpi_word(call->entry, of->status) != sn_mpi_library()->ignore_status)
		return sn_mpi_status(sn_mpi_library(), sn_mpi_pointer(call->entry, of->status), 0)
		    .bytes;
	return sn_mpi_amount(call->entry, call->part.among);
}

/* Not in sn_mpi_run, whose frame lies below the MPI library's own. */
static void __attribute__((noinline)) after(struct sn_mpi_call *call)
{
	const struct sn_mpi_function *of = call->function;
	if (of->is_prepared) {
		prepare(call);
		return;
	}
	if (of->sent.peer)
		count_sent(call, true);
	if (of->received.peer)
		count_received(call, true);
	count_part(call, true);
	if (call->is_sent)
		call->sent.bytes = bytes_of(call->entry, &of->sent);
	if (call->is_posted && of->sent.peer) /* in case that no status tells */
		call->received.bytes = bytes_of(call->entry, &of->received);
	if (call->is_part)
		call->part.bytes = part_bytes(call);
	if (of->flag && !*(const int *)sn_mpi_pointer(call->entry, of->flag)) {
		call->is_part = false;
		call->window = NULL;
	}
	if (of->created)
		make(call);
	if (of->request) {
		keep(call);
		return;
	}
	if (call->is_posted) {
		struct sn_mpi_status status =
		    sn_mpi_status(sn_mpi_library(), sn_mpi_pointer(call->entry, of->status), 0);
		call->is_received = sn_mpi_settle(&call->received, &status);
	}
}

/* Withdraws what a failed call has counted. */
static void withdraw(struct sn_mpi_call *call, int result)
{
	/* a message that was too long has been taken */
	bool is_taken = sn_mpi_error_class(result) == sn_mpi_library()->truncated;
	if (call->is_posted && !is_taken)
		sn_message_withdraw(&call->received);
	if (call->is_sent && !is_taken)
		sn_message_withdraw(&call->sent);
	if (call->is_part && call->part.number != SN_MESSAGE_NO_NUMBER) {
		struct sn_mpi_communicator *among = call->part.among;
		uint64_t next = call->part.number + 1;
		atomic_compare_exchange_strong(&among->collectives, &next, call->part.number);
	}
	call->is_sent = call->is_posted = call->is_part = false;
	call->window = NULL;
}

void sn_mpi_want_status(struct sn_mpi_call *call, uint8_t argument, struct sn_mpi_own_status *own)
{
	sn_word *word = call->entry->words + argument - 1;
	if (*word == sn_mpi_library()->ignore_status)
		*word = (sn_word)own;
}

int sn_mpi_run(struct sn_mpi_call *call)
{
	struct sn_mpi_own_status own;
	if (call->is_wanted) {
		before(call);
		if (call->function->status)
			sn_mpi_want_status(call, call->function->status, &own);
	}
	int result = sn_mpi_do(call->entry);
	if (call->is_wanted && result)
		withdraw(call, result);
	else if (call->is_wanted)
		after(call);
	sn_mpi_end(call);
	return result;
}
