/* SPDX-License-Identifier: Apache-2.0 */
/* Command lists and queues. A command's start and end are planned when it is given to a stream; a list keeps its own until a
 * queue executes it. */
#include "driver.h"

#include "../device/place.h"

#include <stdlib.h>
#include <string.h>

/* Of one instruction of a kernel: much longer than code.c takes for it, so that a host that waits has waited for the device. */
#define STEP_NS	   100u
/* From a queue's call to the first command of its lists: until then events are as they were. */
#define EXECUTE_NS (fake_fails("late-start") ? 5000000u : 50000u)

/* ---- how a command runs ---- */

static __thread struct fake_run last;

static void ran(const struct fake_run *run)
{
	last = *run;
}

void command_begin(void)
{
	static const struct fake_listener listener = {.run = ran};
	fake_listen(&listener, &listener);
}

static void do_bytes(const struct command *command)
{
	if (command->operation.kind == FAKE_COPY)
		memmove(command->to, command->from, command->bytes);
	if (command->operation.kind == FAKE_SET)
		for (size_t at = 0; at < command->bytes; at++)
			((char *)command->to)[at] = command->pattern[at % command->pattern_bytes];
}

/* What a kernel computes is there at once, as what a copy does; it takes as long as its longest item. */
static void operate(const struct command *command, struct fake_stream *stream)
{
	struct fake_call call = {.domain = FAKE_DRIVER, .name = "zeCommandListAppendLaunchKernel"};
	struct fake_operation operation = command->operation;
	operation.least_ns = code_run(&command->work) * STEP_NS;
	place_is(command->place);
	fake_call_begin(&call);
	fake_enqueue(stream, &operation);
	fake_call_end(&call);
	place_is(NULL);
	do_bytes(command);
}

static uint64_t stream_ns(struct fake_stream *stream)
{
	fake_lock();
	uint64_t ns = fake_ready_ns(stream), now_ns = fake_now_ns();
	fake_unlock();
	return ns > now_ns ? ns : now_ns;
}

static void stream_after(struct fake_stream *stream, uint64_t ns)
{
	fake_lock();
	if (stream->end_ns < ns)
		stream->end_ns = ns;
	fake_unlock();
}

/* What is not planned to be signalled is not waited for. */
static void wait_for(const struct command *command, struct fake_stream *stream)
{
	for (uint32_t index = 0; index < command->wait_count; index++) {
		const struct event *event = command->waits[index];
		for (uint32_t at = 0; at < event->count; at++)
			if (event->changes[at].is_signalled)
				stream_after(stream, event->changes[at].ns);
	}
}

static void read_times(const struct command *command, uint64_t ns)
{
	for (uint32_t index = 0; index < command->wait_count; index++)
		command->times[index] = event_times(event_at(command->waits[index], ns));
}

/* With the lock. */
static void run(const struct command *command, struct fake_stream *stream)
{
	if (command->kind != READ)
		wait_for(command, stream);
	if (command->kind == RUN)
		operate(command, stream);
	uint64_t ns = command->kind == RUN ? last.end_ns : stream_ns(stream);
	if (command->kind == READ)
		read_times(command, ns);
	if (command->signal && command->kind == RUN && event_at(command->signal, ns)->is_signalled)
		misused("an operation signals an event that is signalled");
	if (command->kind == RESET)
		event_change(command->signal, &(struct change){.ns = ns});
	else if (command->signal)
		event_change(
		    command->signal,
		    &(struct change){ns, true, command->kind == RUN ? last.start_ns : ns, ns});
}

static ze_result_t append(ze_command_list_handle_t handle, struct command *command,
			  uint32_t wait_count, ze_event_handle_t *waits)
{
	struct list *list = (struct list *)handle;
	if (wait_count) {
		command->waits = malloc(wait_count * sizeof(*waits));
		memcpy(command->waits, waits, wait_count * sizeof(*waits));
		command->wait_count = wait_count;
	}
	if (list->stream) {
		driver_lock();
		run(command, list->stream);
		driver_unlock();
		free(command->waits);
		return ZE_RESULT_SUCCESS;
	}
	if (list->is_closed)
		misused("a list that is closed is appended to");
	char place[1024];
	if (command->kind == RUN) {
		fake_place_here(place, sizeof(place));
		command->place = strdup(place);
	}
	list->commands = realloc(list->commands, (list->count + 1) * sizeof(*list->commands));
	list->commands[list->count++] = *command;
	return ZE_RESULT_SUCCESS;
}

/* ---- appending ---- */

static ze_result_t append_kernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
				 const ze_group_count_t *groups, ze_event_handle_t signal,
				 uint32_t wait_count, ze_event_handle_t *waits)
{
	struct command command = {.kind = RUN,
				  .operation = {.kind = FAKE_KERNEL,
						.name = ((const struct kernel *)kernel)->name,
						.peer = -1},
				  .work = kernel_work((const struct kernel *)kernel, groups),
				  .signal = (struct event *)signal};
	if (copies_alone(((const struct list *)list)->ordinal))
		return ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE;
	return append(list, &command, wait_count, waits);
}

static ze_result_t append_kernels(ze_command_list_handle_t list, uint32_t count,
				  ze_kernel_handle_t *kernels, const uint32_t *used,
				  const ze_group_count_t *groups, ze_event_handle_t signal,
				  uint32_t wait_count, ze_event_handle_t *waits)
{
	(void)used;
	for (uint32_t index = 0; index < count; index++)
		append_kernel(list, kernels[index], groups, index + 1 == count ? signal : NULL,
			      index ? 0 : wait_count, waits);
	return ZE_RESULT_SUCCESS;
}

static enum fake_place place_of(const void *memory)
{
	void *start;
	size_t bytes;
	int device;
	return fake_memory_place(memory, &start, &bytes, &device);
}

static ze_result_t append_copy(ze_command_list_handle_t list, void *to, const void *from,
			       size_t bytes, ze_event_handle_t signal, uint32_t wait_count,
			       ze_event_handle_t *waits)
{
	struct command command = {.kind = RUN,
				  .operation = {.kind = FAKE_COPY,
						.bytes = bytes,
						.from = place_of(from),
						.to = place_of(to),
						.peer = -1},
				  .signal = (struct event *)signal,
				  .to = to,
				  .from = from,
				  .bytes = bytes};
	return append(list, &command, wait_count, waits);
}

static ze_result_t append_fill(ze_command_list_handle_t list, void *to, const void *pattern,
			       size_t pattern_bytes, size_t bytes, ze_event_handle_t signal,
			       uint32_t wait_count, ze_event_handle_t *waits)
{
	struct command command = {
	    .kind = RUN,
	    .operation = {.kind = FAKE_SET, .bytes = bytes, .to = place_of(to), .peer = -1},
	    .signal = (struct event *)signal,
	    .to = to,
	    .bytes = bytes,
	    .pattern_bytes = pattern_bytes};
	if (pattern_bytes > sizeof(command.pattern))
		return ZE_RESULT_ERROR_INVALID_SIZE;
	memcpy(command.pattern, pattern, pattern_bytes);
	return append(list, &command, wait_count, waits);
}

/* Streams are in order: a barrier only waits and signals. */
static ze_result_t append_barrier(ze_command_list_handle_t list, ze_event_handle_t signal,
				  uint32_t wait_count, ze_event_handle_t *waits)
{
	struct command command = {.kind = SIGNAL, .signal = (struct event *)signal};
	return append(list, &command, wait_count, waits);
}

static ze_result_t append_signal(ze_command_list_handle_t list, ze_event_handle_t signal)
{
	return append_barrier(list, signal, 0, NULL);
}

static ze_result_t append_waits(ze_command_list_handle_t list, uint32_t wait_count,
				ze_event_handle_t *waits)
{
	struct command command = {.kind = WAIT};
	return append(list, &command, wait_count, waits);
}

static ze_result_t append_reset(ze_command_list_handle_t list, ze_event_handle_t event)
{
	struct command command = {.kind = RESET, .signal = (struct event *)event};
	return append(list, &command, 0, NULL);
}

static ze_result_t append_read(ze_command_list_handle_t list, uint32_t count,
			       ze_event_handle_t *events, void *to, const size_t *offsets,
			       ze_event_handle_t signal, uint32_t wait_count,
			       ze_event_handle_t *waits)
{
	struct command command = {.kind = READ, .signal = (struct event *)signal, .times = to};
	if (offsets)
		return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
	if (wait_count)
		append_waits(list, wait_count, waits);
	return append(list, &command, count, events);
}

/* ---- lists ---- */

static void clear(struct list *list)
{
	for (uint32_t index = 0; index < list->count; index++) {
		free(list->commands[index].waits);
		free(list->commands[index].place);
	}
	free(list->commands);
	list->commands = NULL;
	list->count = 0;
	list->is_closed = false;
}

static ze_result_t list_create(ze_context_handle_t context, ze_device_handle_t device,
			       const ze_command_list_desc_t *desc, ze_command_list_handle_t *handle)
{
	struct list *list = calloc(1, sizeof(*list));
	(void)context;
	list->device = *(int *)device;
	list->ordinal = desc ? desc->commandQueueGroupOrdinal : 0;
	*handle = (ze_command_list_handle_t)list;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_create_immediate(ze_context_handle_t context, ze_device_handle_t device,
					 const ze_command_queue_desc_t *desc,
					 ze_command_list_handle_t *handle)
{
	list_create(context, device, NULL, handle);
	((struct list *)*handle)->ordinal = desc ? desc->ordinal : 0;
	((struct list *)*handle)->stream =
	    fake_stream_new(*(int *)device, FAKE_STREAM_NON_BLOCKING, 0);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_destroy(ze_command_list_handle_t handle)
{
	struct list *list = (struct list *)handle;
	clear(list);
	if (list->stream)
		fake_stream_free(list->stream);
	free(list);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_close(ze_command_list_handle_t handle)
{
	((struct list *)handle)->is_closed = true;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_reset(ze_command_list_handle_t handle)
{
	clear((struct list *)handle);
	return ZE_RESULT_SUCCESS;
}

void fill_list_table(ze_command_list_dditable_t *table)
{
	table->pfnCreate = list_create;
	table->pfnCreateImmediate = list_create_immediate;
	table->pfnDestroy = list_destroy;
	table->pfnClose = list_close;
	table->pfnReset = list_reset;
	table->pfnAppendBarrier = append_barrier;
	table->pfnAppendMemoryCopy = append_copy;
	table->pfnAppendMemoryFill = append_fill;
	table->pfnAppendSignalEvent = append_signal;
	table->pfnAppendWaitOnEvents = append_waits;
	table->pfnAppendEventReset = append_reset;
	table->pfnAppendQueryKernelTimestamps = append_read;
	table->pfnAppendLaunchKernel = append_kernel;
	table->pfnAppendLaunchCooperativeKernel = append_kernel;
	table->pfnAppendLaunchKernelIndirect = append_kernel;
	table->pfnAppendLaunchMultipleKernelsIndirect = append_kernels;
}

/* ---- queues and fences ---- */

static ze_result_t queue_create(ze_context_handle_t context, ze_device_handle_t device,
				const ze_command_queue_desc_t *desc,
				ze_command_queue_handle_t *handle)
{
	struct queue *queue = calloc(1, sizeof(*queue));
	(void)context;
	queue->ordinal = desc ? desc->ordinal : 0;
	queue->stream = fake_stream_new(*(int *)device, FAKE_STREAM_NON_BLOCKING, 0);
	*handle = (ze_command_queue_handle_t)queue;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t queue_destroy(ze_command_queue_handle_t handle)
{
	fake_stream_free(((struct queue *)handle)->stream);
	free(handle);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t queue_execute(ze_command_queue_handle_t handle, uint32_t count,
				 ze_command_list_handle_t *lists, ze_fence_handle_t fence)
{
	struct fake_stream *stream = ((struct queue *)handle)->stream;
	driver_lock();
	stream_after(stream, fake_now_ns() + EXECUTE_NS);
	for (uint32_t index = 0; index < count; index++) {
		struct list *list = (struct list *)lists[index];
		if (!list->is_closed)
			misused("a list that is not closed is executed");
		if (list->ordinal != ((struct queue *)handle)->ordinal)
			misused("a list is executed in another group of queues than its own");
		for (uint32_t at = 0; at < list->count; at++)
			run(&list->commands[at], stream);
	}
	if (fence)
		((struct fence *)fence)->ns = stream_ns(stream);
	driver_unlock();
	return ZE_RESULT_SUCCESS;
}

static ze_result_t queue_synchronize(ze_command_queue_handle_t handle, uint64_t timeout_ns)
{
	struct fake_stream *stream = ((struct queue *)handle)->stream;
	if (!timeout_ns)
		return fake_stream_is_done(stream) ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
	fake_stream_wait(stream);
	return ZE_RESULT_SUCCESS;
}

void fill_queue_table(ze_command_queue_dditable_t *table)
{
	table->pfnCreate = queue_create;
	table->pfnDestroy = queue_destroy;
	table->pfnExecuteCommandLists = queue_execute;
	table->pfnSynchronize = queue_synchronize;
}

static ze_result_t fence_create(ze_command_queue_handle_t queue, const ze_fence_desc_t *desc,
				ze_fence_handle_t *handle)
{
	(void)queue, (void)desc;
	*handle = calloc(1, sizeof(struct fence));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t fence_destroy(ze_fence_handle_t handle)
{
	free(handle);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t fence_synchronize(ze_fence_handle_t handle, uint64_t timeout_ns)
{
	uint64_t ns = ((struct fence *)handle)->ns;
	if (ns > fake_now_ns() && !timeout_ns)
		return ZE_RESULT_NOT_READY;
	fake_sleep_until(ns);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t fence_reset(ze_fence_handle_t handle)
{
	((struct fence *)handle)->ns = 0;
	return ZE_RESULT_SUCCESS;
}

void fill_fence_table(ze_fence_dditable_t *table)
{
	table->pfnCreate = fence_create;
	table->pfnDestroy = fence_destroy;
	table->pfnHostSynchronize = fence_synchronize;
	table->pfnReset = fence_reset;
}
