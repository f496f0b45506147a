/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's calls of NCCL. Between ncclGroupStart and ncclGroupEnd operations are only noted: the group's end launches them, and
 * has the name and the size of what it launches. Numbers of collectives are counted whether or not anything is measured, so that
 * those of all ranks agree.
 */
#include "nccl.h"

#include "collect/core/line.h"
#include "collect/interface/message.h"
#include "collect/sample/program_memory.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum role {
	COLLECTIVE,
	SEND,
	RECEIVE,
	GROUP_START,
	GROUP_END,
	INIT,
	INIT_SCALABLE,
	INIT_ALL,
	SPLIT,
	SHRINK,
	END
};

/* What a rank gives, or gets if it gives nothing. */
enum amount {
	COUNT,
	COUNT_FOR_EACH,
	COUNT_FOR_EACH_OF_ROOT,
	COUNT_OF_EACH /* there is one for each rank, in memory */
};

enum { NOWHERE = SN_CONFIGURED_NOWHERE };

static const struct nccl_call {
	const char *name;
	uint8_t role, words, count, type, communicator, stream, root, amount;
} calls[] = {
#define SN_NCCL_CALL(name, ...) {#name, __VA_ARGS__},
#include "calls.def"
#undef SN_NCCL_CALL
};

#define CALLS (sizeof(calls) / sizeof(*calls))

/* Success, and what goes on without blocking. */
#define IN_PROGRESS 7u
static bool succeeds(uint64_t result)
{
	return !(uint32_t)result || (uint32_t)result == IN_PROGRESS;
}

static struct sn_gpu_interface interface =
    SN_GPU_INTERFACE(nccl, .device = "NCCL ", .bytes = SN_GPU_COMMUNICATION_BYTES);

/* ---- what a thread is doing ---- */

/* Where NCCL stores a handle, at the latest when the group ends. */
struct creation {
	uintptr_t place;
	uint64_t group;
	int32_t ranks, rank;
};

#define CREATIONS 16u

static __thread struct {
	uint32_t depth; /* of groups */
	/* of the operations in the group, or of the one that is called by itself; those that NCCL refuses in a group are among them */
	const char *name; /* NULL: none yet; "": several */
	uint64_t bytes, stream;
	struct sn_gpu_collective part; /* group 0: none, or of several communicators */
	bool has_several_groups;
	/* of the first operation; of another one: there are several kernels, and whose messages are whose is not known */
	struct sn_nccl_communicator *first;
	bool has_several_members;
	struct sn_nccl_communicator *counting; /* that of the collective being called */
	struct sn_message message;	       /* being asked for, if it is counted */
	uint32_t creation_count, creations_before;
	struct creation creations[CREATIONS];
} current __attribute__((tls_model("initial-exec")));

/* ---- communicators ---- */

static void note_creation(uintptr_t place, uint64_t group, int32_t ranks, int32_t rank)
{
	if (place && current.creation_count < CREATIONS)
		current.creations[current.creation_count++] =
		    (struct creation){place, group, ranks, rank};
}

/* In a group handles may come with its end. */
static void take_creations(void)
{
	if (current.depth)
		return;
	for (uint32_t i = 0; i < current.creation_count; i++) {
		const struct creation *one = &current.creations[i];
		uintptr_t handle = 0;
		if (sn_program_read((const void *)one->place, &handle, sizeof(handle)))
			sn_nccl_communicator_made(handle, one->group, one->ranks, one->rank);
	}
	current.creation_count = 0;
}

#define ID_WORDS 16u

static uint64_t group_of_id(const uint64_t *words)
{
	uint64_t group = 0;
	for (uint32_t i = 0; i < ID_WORDS; i++)
		group = sn_message_mix(group + words[i]);
	return group;
}

static void note_split(const struct sn_configured_arguments *arguments, uint32_t color)
{
	struct sn_nccl_communicator *of =
	    sn_nccl_communicator(sn_configured_argument(arguments, 0));
	if (!of)
		return;
	uint64_t number = atomic_fetch_add_explicit(&of->splits, 1, memory_order_relaxed);
	note_creation(sn_configured_argument(arguments, 3),
		      sn_message_mix(of->group + sn_message_mix(number << 32 | color)), 0, -1);
}

/* All of one process: their common number is like no other's. */
static void note_all(uintptr_t place, uint32_t count)
{
	uint64_t group = sn_message_mix(sn_now_ns() + ((uint64_t)getpid() << 40));
	for (uint32_t rank = 0; rank < count && rank < CREATIONS; rank++)
		note_creation(place + rank * sizeof(uintptr_t), group, (int32_t)count,
			      (int32_t)rank);
}

static void note_creations(enum role role, const struct sn_configured_arguments *arguments)
{
	uintptr_t place = sn_configured_argument(arguments, 0);
	uint32_t second = (uint32_t)sn_configured_argument(arguments, 1),
		 third = (uint32_t)sn_configured_argument(arguments, 2);
	uint64_t id[ID_WORDS];
	switch (role) {
	case INIT:
		note_creation(place, group_of_id(arguments->stack), (int32_t)second,
			      (int32_t)third);
		break;
	case INIT_SCALABLE:
		if (sn_program_read((const void *)sn_configured_argument(arguments, 4), id,
				    sizeof(id)))
			note_creation(place, group_of_id(id), (int32_t)second, (int32_t)third);
		break;
	case INIT_ALL:
		note_all(place, second);
		break;
	default:
		/* what is shrunk has no colour, and is like no split */
		note_split(arguments, role == SPLIT ? second : 1u << 31);
	}
}

/* ---- operations ---- */

/* By ncclDataType_t. */
static uint64_t element_bytes(uint64_t type)
{
	static const uint8_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
	return type < sizeof(bytes) ? bytes[type] : 0;
}

static uint64_t sum_of_counts(uintptr_t place, uint64_t count)
{
	size_t counts[64];
	uint64_t sum = 0;
	for (uint64_t done = 0, now; done < count; done += now) {
		now = count - done < 64 ? count - done : 64;
		if (!sn_program_read((const size_t *)place + done, counts, now * sizeof(*counts)))
			return sum;
		for (uint64_t i = 0; i < now; i++)
			sum += counts[i];
	}
	return sum;
}

static uint64_t elements_of(const struct nccl_call *call, struct sn_nccl_communicator *communicator,
			    const struct sn_configured_arguments *arguments)
{
	uint64_t count = sn_configured_argument(arguments, call->count);
	uint64_t ranks = communicator && call->amount != COUNT ? sn_nccl_ranks(communicator) : 1;
	int32_t root = (int32_t)sn_configured_argument(arguments, call->root);
	switch (call->amount) {
	case COUNT_OF_EACH:
		return communicator ? sum_of_counts(count, ranks) : 0;
	case COUNT_FOR_EACH_OF_ROOT:
		return communicator && sn_nccl_rank(communicator) == root ? count * ranks : count;
	default:
		return count * ranks;
	}
}

static uint64_t bytes_of(const struct nccl_call *call, struct sn_nccl_communicator *communicator,
			 const struct sn_configured_arguments *arguments)
{
	return elements_of(call, communicator, arguments) *
	       element_bytes((uint32_t)sn_configured_argument(arguments, call->type));
}

/* A group's first collective stands for it, for all are one kernel; not where there are several communicators, and so several
 * kernels. */
static void note_part(struct sn_nccl_communicator *communicator, bool is_collective)
{
	if (current.part.group && (!communicator || communicator->group != current.part.group))
		current.has_several_groups = true;
	if (!communicator || (current.first && communicator != current.first))
		current.has_several_members = true;
	if (!communicator)
		return;
	current.first = communicator;
	if (!current.part.group)
		current.part = (struct sn_gpu_collective){.group = communicator->group,
							  .number = SN_GPU_NOT_TOGETHER};
	if (is_collective && current.part.number == SN_GPU_NOT_TOGETHER)
		current.part.number =
		    atomic_load_explicit(&communicator->collectives, memory_order_relaxed);
}

static void add_message(void)
{
	const struct sn_message *message = &current.message;
	sn_gpu_note_message(&(struct sn_gpu_message){.bytes = message->bytes,
						     .number = message->number,
						     .rank = message->rank,
						     .peer = message->peer,
						     .is_sent = message->is_sent});
	current.part.message_count++;
}

/* NCCL pairs those of two ranks in the order in which each asks for them. In a group it may yet refuse one, which then has no
 * number. */
static void note_message(const struct nccl_call *call, struct sn_nccl_communicator *communicator,
			 uint64_t bytes, uint32_t peer)
{
	int32_t rank = sn_nccl_rank(communicator);
	if (rank < 0)
		return;
	current.message = (struct sn_message){.communicator = communicator->group,
					      .bytes = bytes,
					      .rank = (uint32_t)rank,
					      .peer = peer,
					      .is_sent = call->role == SEND};
	sn_message_count(&current.message);
	if (!current.depth)
		add_message();
}

static void note_operation(const struct nccl_call *call,
			   const struct sn_configured_arguments *arguments)
{
	struct sn_nccl_communicator *communicator =
	    sn_nccl_communicator(sn_configured_argument(arguments, call->communicator));
	uint64_t bytes = bytes_of(call, communicator, arguments);
	current.bytes += bytes;
	current.stream = sn_configured_argument(arguments, call->stream);
	if (!current.name)
		current.name = call->name;
	else if (current.name != call->name)
		current.name = "";
	note_part(communicator, call->role == COLLECTIVE);
	if (call->role == COLLECTIVE)
		current.counting = communicator;
	else if (communicator && sn_messages_are_wanted())
		note_message(call, communicator, bytes,
			     (uint32_t)sn_configured_argument(arguments, call->root));
}

/* Of communicators. */
static void enter_call(const char *name, const struct sn_configured_arguments *arguments)
{
	sn_gpu_call_enter(&interface, &(struct sn_gpu_api_call){
					  .name = name, .stack = (uintptr_t)arguments->stack});
}

/* An operation, or a group of them. */
static void enter_operations(const char *name, const struct sn_configured_arguments *arguments)
{
	sn_gpu_call_enter(&interface,
			  &(struct sn_gpu_api_call){.name = name,
						    .stack = (uintptr_t)arguments->stack,
						    .has_stream = current.name,
						    .stream = current.stream,
						    .bytes = current.bytes});
	if (current.has_several_members) {
		sn_drop(NULL, SN_DROP_TRACE_SOURCE, current.part.message_count);
		current.part.message_count = 0;
	}
	if (!current.part.group || current.has_several_groups)
		return;
	current.part.bytes = current.bytes;
	sn_gpu_call_is_part(&current.part);
}

static void forget_operations(void)
{
	current.name = NULL;
	current.bytes = current.stream = 0;
	current.part = (struct sn_gpu_collective){0};
	current.has_several_groups = current.has_several_members = false;
	current.first = NULL;
}

/* ---- the stubs' calls ---- */

static void enter(const struct sn_configured_call *call,
		  const struct sn_configured_arguments *arguments)
{
	const struct nccl_call *it = &calls[call->of_adapter];
	bool is_operation = it->role <= RECEIVE;
	if (is_operation)
		note_operation(it, arguments);
	else if (it->role >= INIT && it->role <= SHRINK) {
		current.creations_before = current.creation_count;
		note_creations(it->role, arguments);
	} else if (it->role == END)
		sn_nccl_communicator_ended(sn_configured_argument(arguments, it->communicator));
	if (it->role == GROUP_END && current.depth == 1)
		enter_operations(current.name && *current.name ? current.name : it->name,
				 arguments);
	else if (is_operation && !current.depth)
		enter_operations(it->name, arguments);
	else if (it->role >= INIT)
		enter_call(it->name, arguments);
}

static void leave_operation(bool is_done)
{
	if (is_done && current.counting)
		atomic_fetch_add_explicit(&current.counting->collectives, 1, memory_order_relaxed);
	current.counting = NULL;
	if (current.message.is_counted && !is_done)
		sn_message_withdraw(&current.message);
	else if (current.message.is_counted && current.depth)
		add_message();
	current.message.is_counted = false;
	if (current.depth)
		return;
	if (!is_done)
		sn_gpu_call_fails();
	sn_gpu_call_exit();
	forget_operations();
}

static void leave_group(bool is_done)
{
	if (!current.depth || --current.depth)
		return;
	if (!is_done)
		sn_gpu_call_fails();
	sn_gpu_call_exit();
	forget_operations();
	take_creations();
}

static void leave(const struct sn_configured_call *call,
		  const struct sn_configured_arguments *arguments, uint64_t result)
{
	(void)arguments;
	switch (calls[call->of_adapter].role) {
	case COLLECTIVE:
	case SEND:
	case RECEIVE:
		leave_operation(succeeds(result));
		break;
	case GROUP_START:
		current.depth += succeeds(result);
		break;
	case GROUP_END:
		leave_group(succeeds(result));
		break;
	case END:
		sn_gpu_call_exit();
		break;
	default:
		sn_gpu_call_exit();
		if (!succeeds(result))
			current.creation_count = current.creations_before;
		take_creations();
	}
}

/* ---- the adapter ---- */

static const char *const libraries[] = {"libnccl.so", "librccl.so"};
static _Atomic bool is_added[sizeof(libraries) / sizeof(*libraries)];

static bool add_calls(const char *library)
{
	struct sn_configured_device *device = sn_configured_add_device("nccl", library);
	for (uint32_t i = 0; device && i < CALLS; i++) {
		struct sn_configured_call call = {.words = calls[i].words,
						  .of_adapter = (uint8_t)i,
						  .enter = enter,
						  .leave = leave};
		sn_line_add(&SN_LINE(call.name), calls[i].name);
		if (!sn_configured_add_call(device, &call))
			return false;
	}
	return device;
}

static int attach(void)
{
	bool are_all = true;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		if (!is_added[i] && sn_configured_is_loaded(libraries[i])) {
			is_added[i] = true;
			if (!add_calls(libraries[i]))
				return -ENOMEM;
		}
		are_all = are_all && is_added[i];
	}
	sn_configured_find();
	return are_all ? 0 : -EAGAIN;
}

void sn_nccl_noticed(void)
{
	if (!sn_measuring() || !sn_thread_self())
		return;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (!is_added[i] && sn_configured_is_loaded(libraries[i])) {
			sn_adapters_retry();
			sn_adapters_attach();
			return;
		}
}

static const char *status(void)
{
	static char text[64];
	struct sn_line line = SN_LINE(text);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (is_added[i])
			SN_LINE_ADD(&line, line.length ? ", " : "collectives of ", libraries[i]);
	return line.length ? text : NULL;
}

const struct sn_adapter sn_adapter_nccl = {
    .name = "nccl",
    .attach = attach,
    .status = status,
};
