/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that are not known to be done, in streams. An event tells when one is, and has its times; unless the list has been
 * executed again in the meantime: then a batch has read them (batch.c).
 */
#include "levelzero.h"

#define ITEMS	65536u
#define AT_ONCE 256u
#define BEHIND	4u /* that are tried behind one that is not done */

static struct sn_ze_item *unused;
static uint32_t made, correlations;

static uint32_t next_correlation(void)
{
	correlations += correlations == UINT32_MAX ? 2 : 1;
	return correlations;
}

struct sn_ze_item *sn_ze_item_add(struct sn_ze_stream *stream, struct sn_ze_device *device,
				  const struct sn_ze_command *command, uint64_t start_ns)
{
	struct sn_ze_item *item = SN_ZE_TAKE(struct sn_ze_item, unused, made, ITEMS, AT_ONCE);
	if (!item) {
		sn_drop(NULL, SN_DROP_GPU_LOST, 1);
		return NULL;
	}
	*item = (struct sn_ze_item){.name = command->name,
				    .event = command->event,
				    .own = command->own,
				    .device = device,
				    .stream = stream,
				    .correlation = next_correlation(),
				    .kind = command->kind,
				    .bytes = command->bytes,
				    .start_ns = start_ns};
	*(stream->last ? &stream->last->next : &stream->first) = item;
	stream->last = item;
	stream->count++;
	if (!item->own)
		sn_ze_event_set_item(item->event, item);
	sn_gpu_launch(&sn_levelzero, command->state, item->correlation, command->node,
		      SN_GPU_NOT_EXPECTED);
	return item;
}

/* Nothing points to it any more but its stream. */
static void detach(struct sn_ze_item *item)
{
	item->is_done = true;
	if (item->command)
		item->command->item = NULL;
	if (!item->own && sn_ze_event_item(item->event) == item)
		sn_ze_event_set_item(item->event, NULL);
	if (item->after)
		sn_ze_batch_leave(item->after);
	if (item->reader)
		sn_ze_batch_leave(item->reader);
	item->command = NULL;
	item->after = item->reader = NULL;
}

/* An event of the program's may still be signalled from the execution before. */
static bool is_stale(const struct sn_ze_item *item, const struct sn_ze_timestamps *times)
{
	const struct sn_ze_timestamps *before =
	    item->after ? &item->after->times[item->place] : NULL;
	if (item->own)
		return false;
	return sn_ze_event_is_stale(item->event, times) ||
	       (before && before->start == times->start && before->end == times->end);
}

/* 1: its times are in *times; 0: it is not done; -1: it has none. An event that an execution before has signalled may be reset by the device
 * between the two calls. */
static int read_times(struct sn_ze_item *item, struct sn_ze_timestamps *times)
{
	if (item->reader) {
		if (!sn_ze_batch_is_done(item->reader))
			return 0;
		*times = item->reader->times[item->place];
		return 1;
	}
	if (item->after && !sn_ze_batch_is_done(item->after))
		return 0;
	sn_ze_result status = sn_ze.zeEventQueryStatus(item->event);
	if (!status)
		status = sn_ze.zeEventQueryKernelTimestamp(item->event, times);
	if (status)
		return status == SN_ZE_NOT_READY ? 0 : -1;
	return is_stale(item, times) ? 0 : 1;
}

static void hand_on(struct sn_ze_item *item, const struct sn_ze_timestamps *times)
{
	struct sn_ze_stream *stream = item->stream;
	struct sn_gpu_operation operation = {.interface = &sn_levelzero,
					     .kind = item->kind,
					     .device = item->device->number,
					     .stream = stream->number,
					     .correlation = item->correlation,
					     .name = item->name,
					     .bytes = item->bytes};
	uint64_t least_ns = item->start_ns > stream->last_ns ? item->start_ns : stream->last_ns;
	if (sn_ze_device_times(item->device, times, least_ns, &operation))
		stream->last_ns = operation.start_ns;
	sn_gpu_begin_done();
	sn_gpu_done(&operation);
	sn_gpu_end_done();
}

bool sn_ze_item_try(struct sn_ze_item *item)
{
	struct sn_ze_timestamps times = {0};
	if (item->is_done)
		return true;
	int status = read_times(item, &times);
	if (!status)
		return false;
	if (status < 0)
		sn_drop(NULL, SN_DROP_GPU_UNTIMED, 1);
	else
		hand_on(item, &times);
	if (status > 0 && !item->own)
		sn_ze_event_was_read(item->event, item->correlation, &times);
	/* an event of ours is ready for its next use; that of a command stays with it */
	if (item->own && !item->reader) {
		sn_ze.zeEventHostReset(item->event);
		if (!item->command)
			sn_ze_event_give(item->own);
	}
	detach(item);
	return true;
}

void sn_ze_item_end(struct sn_ze_item *item)
{
	if (sn_ze_item_try(item))
		return;
	sn_drop(NULL, SN_DROP_GPU_LOST, 1);
	detach(item);
}

/* Takes those that are done out of a stream, up to some that are not. Returns how many are left. */
static uint32_t collect_stream(struct sn_ze_stream *stream)
{
	struct sn_ze_item **place = &stream->first, *before = NULL;
	uint32_t running = 0;
	if (stream->first && !stream->first->is_done)
		sn_ze_device_tick(stream->first->device);
	for (struct sn_ze_item *item = *place; item && running <= BEHIND; item = *place) {
		if (!sn_ze_item_try(item)) {
			running++;
			before = item;
			place = &item->next;
			continue;
		}
		*place = item->next;
		if (stream->last == item)
			stream->last = before;
		stream->count--;
		item->next = unused;
		unused = item;
	}
	return stream->count;
}

uint32_t sn_ze_items_collect(void)
{
	uint32_t left = 0;
	for (struct sn_ze_stream *stream = sn_ze_streams; stream; stream = stream->next)
		left += collect_stream(stream);
	return left;
}

static bool is_of(const struct sn_ze_item *item, void *context)
{
	return (item->own && sn_ze_event_is_of(item->own, context)) ||
	       (item->reader && item->reader->context == context) ||
	       (item->after && item->after->context == context);
}

void sn_ze_items_of_context(void *context)
{
	for (struct sn_ze_stream *stream = sn_ze_streams; stream; stream = stream->next)
		for (struct sn_ze_item *item = stream->first; item; item = item->next)
			if (!item->is_done && is_of(item, context))
				sn_ze_item_end(item);
	sn_ze_items_collect();
}
