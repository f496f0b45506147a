/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between MPI_Win_post, start, complete and wait, each process waits for those it names: start (or
 * the first access, or complete) for each target's post, wait for each origin's complete. Each such
 * pair is a collective operation of two processes, so that analysis finds which of them came late
 * (docs/design/messages.md). Both count the pairs, and so know a pair by its number.
 */
#include "mpi.h"

#include "collect/core/arena.h"

enum { ROOM = 64 }; /* more members of an epoch are not told apart: it is recorded without */

struct side {
	uint32_t ranks[ROOM];
	size_t count;
};

/* Of one window; by the threads that synchronise it, one after the other. */
struct sn_mpi_epochs {
	struct side exposed, accessed; /* whom this process has posted to, and started with */
};

static struct side *side_of(struct sn_mpi_communicator *window, uint8_t epoch)
{
	bool is_exposed = epoch == SN_MPI_POST || epoch == SN_MPI_WAIT;
	return is_exposed ? &window->epochs->exposed : &window->epochs->accessed;
}

void sn_mpi_epoch_begins(struct sn_mpi_call *call)
{
	struct sn_mpi_communicator *window = call->is_part ? call->part.among : NULL;
	if (window && SN_PAGES_ONCE(window->epochs))
		call->window = window;
}

/* The number of what two do: the n-th of that kind and side. */
static uint64_t count_pair(const struct sn_mpi_communicator *window, uint8_t epoch, uint32_t peer)
{
	struct sn_message pair = {
	    .communicator = sn_message_mix(window->name + 0x506f7374u), .peer = peer, .tag = epoch};
	sn_message_send(&pair);
	return pair.number;
}

static void record_pair(struct sn_thread *thread, uint32_t node, const struct sn_mpi_call *call,
			uint32_t peer, uint64_t start_ns, uint64_t end_ns)
{
	const struct sn_mpi_communicator *window = call->window;
	uint8_t epoch = call->function->epoch;
	bool is_target = epoch == SN_MPI_POST || epoch == SN_MPI_WAIT;
	bool is_begin = epoch == SN_MPI_POST || epoch == SN_MPI_START;
	uint32_t origin = is_target ? peer : window->rank, target = is_target ? window->rank : peer;
	uint64_t who = sn_message_mix((uint64_t)origin << 33 | (uint64_t)target << 1 | is_begin);
	struct sn_message pair = call->part;
	pair.peer = peer;
	pair.number = count_pair(window, epoch, peer);
	pair.communicator = (uint32_t)sn_message_mix(window->name + who) | 1;
	sn_mpi_record_part(thread, node, &pair, start_ns, end_ns);
}

bool sn_mpi_epoch_ends(const struct sn_mpi_call *call, struct sn_thread *thread, uint32_t node,
		       uint64_t start_ns, uint64_t end_ns)
{
	const struct sn_mpi_function *of = call->function;
	struct side *side = side_of(call->window, of->epoch);
	size_t count = side->count;
	if (of->members) /* of a call that has accepted the group */
		count = side->count =
		    sn_mpi_group_ranks(sn_mpi_word(call->entry, of->members), side->ranks, ROOM);
	for (size_t i = 0; i < count; i++)
		record_pair(thread, node, call, side->ranks[i], start_ns, end_ns);
	if (!of->members)
		side->count = 0;
	return count != 0;
}
