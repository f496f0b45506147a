/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions of command lists. Each operation of a list counts each time that the list is executed. Its event must have been
 * read and reset before the next time: by the host where the last execution is done by then, else by a batch.
 */
#include "levelzero.h"

#include "collect/core/lock.h"

static uint32_t executions;

/* Whether an operation of the last execution is not done yet. */
static bool is_busy(struct sn_ze_list *list)
{
	bool any = false;
	SN_ZE_EACH_COMMAND(list, command)
	{
		struct sn_ze_item *other = command->own ? NULL : sn_ze_event_item(command->event);
		if (other && other != command->item)
			sn_ze_item_end(other);
		any |= command->item && !sn_ze_item_try(command->item);
	}
	return any;
}

/* What runs cannot be read before it runs again. */
static void make_blind(struct sn_ze_list *list)
{
	list->is_blind = true;
	SN_ZE_EACH_COMMAND(list, command)
	if (command->item)
		sn_ze_item_end(command->item);
}

/* The operations of the last execution are read by the batch. */
static void leave_to(struct sn_ze_batch *batch, struct sn_ze_list *list)
{
	SN_ZE_EACH_COMMAND(list, command)
	{
		struct sn_ze_item *item = command->item;
		if (!item)
			continue;
		struct sn_ze_batch *before = item->after;
		if (!item->own)
			sn_ze_event_set_item(item->event, NULL);
		item->reader = batch;
		item->after = NULL;
		item->command = NULL;
		command->item = NULL;
		batch->users++;
		if (before)
			sn_ze_batch_leave(before);
	}
}

static void add_items(struct sn_ze_list *list, struct sn_ze_stream *stream,
		      struct sn_ze_batch *after)
{
	uint64_t now_ns = sn_now_ns();
	uint32_t place = 0;
	SN_ZE_EACH_COMMAND(list, command)
	{
		struct sn_ze_item *item = sn_ze_item_add(stream, list->device, command, now_ns);
		if (!item) {
			list->is_blind = true; /* its event will be signalled, and not reset */
			place++;
			continue;
		}
		item->place = place++;
		item->command = command;
		command->item = item;
		item->after = after;
		if (after)
			after->users++;
	}
}

static void execute(struct sn_ze_list *list, struct sn_ze_stream *stream)
{
	struct sn_ze_batch *batch = NULL;
	bool is_again = list->execution == executions; /* in one call: nothing fits in between */
	if (!list->is_blind && is_again)
		make_blind(list);
	if (!list->is_blind && is_busy(list)) {
		batch = list->stream == stream ? sn_ze_batch_run(list, stream->handle) : NULL;
		if (batch)
			leave_to(batch, list);
		else
			make_blind(list);
	}
	list->execution = executions;
	list->stream = stream;
	if (list->is_blind)
		sn_drop(NULL, SN_DROP_GPU_LOST, list->count);
	else
		add_items(list, stream, batch);
}

void sn_ze_execute_begins(void **parameters)
{
	void **lists = SN_ZE_PARAMETER(parameters, void **, 2);
	uint32_t count = SN_ZE_PARAMETER(parameters, uint32_t, 1);
	sn_lock_acquire(SN_LOCK_LEVELZERO);
	struct sn_ze_stream *stream = sn_ze_queue_stream(SN_ZE_PARAMETER(parameters, void *, 0));
	executions++;
	for (uint32_t index = 0; lists && index < count; index++) {
		struct sn_ze_list *list = sn_ze_list_find(lists[index]);
		if (list && list->count && stream)
			execute(list, stream);
		else if (list)
			sn_drop(NULL, SN_DROP_GPU_LOST, list->count);
	}
	sn_lock_release(SN_LOCK_LEVELZERO);
}

/* Where the call failed, nothing of it runs. */
void sn_ze_execute_ended(void **parameters, sn_ze_result result)
{
	void **lists = SN_ZE_PARAMETER(parameters, void **, 2);
	uint32_t count = SN_ZE_PARAMETER(parameters, uint32_t, 1);
	if (!result)
		return;
	sn_lock_acquire(SN_LOCK_LEVELZERO);
	for (uint32_t index = 0; lists && index < count; index++) {
		struct sn_ze_list *list = sn_ze_list_find(lists[index]);
		if (list)
			make_blind(list);
	}
	sn_lock_release(SN_LOCK_LEVELZERO);
}
