/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists that are executed again before their last execution is known to be done: between the two, on the device, a list of ours
 * copies the times of their events into the host's memory, and resets those that are ours. Barriers before and after keep the
 * three apart.
 */
#include "levelzero.h"

#include "collect/core/arena.h"

#define BATCHES 16u /* of one list, at a time */
#define ALL	1024u

static struct sn_ze_batch storage[ALL];
static struct sn_ze_batch *unused;
static uint32_t used;

static struct sn_ze_batch *take(void)
{
	struct sn_ze_batch *batch = unused;
	if (batch)
		unused = batch->next;
	else if (used < ALL)
		batch = &storage[used++];
	return batch;
}

static void destroy(struct sn_ze_batch *batch)
{
	if (batch->handle)
		sn_ze.zeCommandListDestroy(batch->handle);
	if (batch->times)
		sn_ze.zeMemFree(batch->context, batch->times);
	if (batch->done)
		sn_ze_event_give(batch->done);
	*batch = (struct sn_ze_batch){.next = unused};
	unused = batch;
}

/* ---- making one ---- */

static bool append_reads(const struct sn_ze_batch *batch, const struct sn_ze_list *list,
			 void **events)
{
	uint32_t count = 0;
	SN_ZE_EACH_COMMAND(list, command)
	events[count++] = command->event;
	return !sn_ze.zeCommandListAppendQueryKernelTimestamps(batch->handle, count, events,
							       batch->times, NULL, NULL, 0, NULL);
}

static bool append_resets(const struct sn_ze_batch *batch, const struct sn_ze_list *list)
{
	SN_ZE_EACH_COMMAND(list, command)
	if (command->own && sn_ze.zeCommandListAppendEventReset(batch->handle, command->event))
		return false;
	return true;
}

static bool append_all(const struct sn_ze_batch *batch, const struct sn_ze_list *list)
{
	size_t bytes = list->count * sizeof(void *);
	void **events = sn_pages_map(bytes);
	bool is_complete =
	    events && !sn_ze.zeCommandListAppendBarrier(batch->handle, NULL, 0, NULL) &&
	    append_reads(batch, list, events) &&
	    !sn_ze.zeCommandListAppendBarrier(batch->handle, NULL, 0, NULL) &&
	    append_resets(batch, list) &&
	    !sn_ze.zeCommandListAppendBarrier(batch->handle, batch->done->handle, 0, NULL) &&
	    !sn_ze.zeCommandListClose(batch->handle);
	if (events)
		sn_pages_unmap(events, bytes);
	return is_complete;
}

static bool make(struct sn_ze_batch *batch, struct sn_ze_list *list)
{
	const struct sn_ze_host_memory_desc memory = {.type = SN_ZE_HOST_MEM_ALLOC_DESC};
	const struct sn_ze_list_desc desc = {.type = SN_ZE_COMMAND_LIST_DESC,
					     .ordinal = list->ordinal};
	void *times;
	*batch = (struct sn_ze_batch){.of = list, .context = list->context};
	batch->done = sn_ze_event_take(list->context);
	if (!batch->done || sn_ze.zeMemAllocHost(list->context, &memory,
						 list->count * sizeof(*batch->times), 64, &times))
		return false;
	batch->times = times;
	if (sn_ze.zeCommandListCreate(list->context, list->device->handle, &desc, &batch->handle)) {
		batch->handle = NULL;
		return false;
	}
	return append_all(batch, list);
}

/* NULL where the list has too many, or the driver refuses it. */
static struct sn_ze_batch *batch_of(struct sn_ze_list *list)
{
	struct sn_ze_batch *batch = list->batches;
	if (batch) {
		list->batches = batch->next;
		return batch;
	}
	if (list->batch_count == BATCHES || !(batch = take()))
		return NULL;
	if (!make(batch, list)) {
		destroy(batch);
		return NULL;
	}
	list->batch_count++;
	return batch;
}

/* ---- using it ---- */

struct sn_ze_batch *sn_ze_batch_run(struct sn_ze_list *list, void *queue)
{
	struct sn_ze_batch *batch = batch_of(list);
	if (!batch)
		return NULL;
	if (sn_ze.zeCommandQueueExecuteCommandLists(queue, 1, &batch->handle, NULL)) {
		batch->next = list->batches;
		list->batches = batch;
		return NULL;
	}
	return batch;
}

bool sn_ze_batch_is_done(struct sn_ze_batch *batch)
{
	if (!batch->is_done)
		batch->is_done = !sn_ze.zeEventQueryStatus(batch->done->handle);
	return batch->is_done;
}

/* One that was left before it was done stays as it is: the device may still write to it. */
void sn_ze_batch_leave(struct sn_ze_batch *batch)
{
	if (--batch->users || !sn_ze_batch_is_done(batch))
		return;
	sn_ze.zeEventHostReset(batch->done->handle);
	batch->is_done = false;
	if (!batch->of) {
		destroy(batch);
		return;
	}
	batch->next = batch->of->batches;
	batch->of->batches = batch;
}

void sn_ze_batches_release(struct sn_ze_list *list)
{
	while (list->batches) {
		struct sn_ze_batch *batch = list->batches;
		list->batches = batch->next;
		destroy(batch);
	}
	for (uint32_t index = 0; list->batch_count && index < used; index++)
		if (storage[index].of == list)
			storage[index].of = NULL;
	list->batch_count = 0;
}
