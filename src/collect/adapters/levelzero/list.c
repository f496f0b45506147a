/* SPDX-License-Identifier: Apache-2.0 */
/* Command lists, queues, and what is recorded in lists; all in memory that is used again, and of which there is an end. */
#include "levelzero.h"

#include "collect/core/word_table.h"

#define BITS   13u
#define LISTS  4096u
#define BLOCKS 4096u

static struct sn_word_table lists = {.bits = BITS}, queues = {.bits = BITS};

static struct sn_ze_list *free_lists;
static struct sn_ze_stream *free_streams;
static struct sn_ze_block *free_blocks;
static uint32_t list_count, stream_count, block_count, stream_number;
struct sn_ze_stream *sn_ze_streams;

/* ---- streams ---- */

static struct sn_ze_stream *add_stream(void *handle)
{
	struct sn_ze_stream *stream =
	    SN_ZE_TAKE(struct sn_ze_stream, free_streams, stream_count, 2 * LISTS, 64);
	if (!stream)
		return NULL;
	*stream = (struct sn_ze_stream){
	    .handle = handle, .number = ++stream_number, .next = sn_ze_streams};
	sn_ze_streams = stream;
	return stream;
}

/* What is not done by now is lost: the program has waited for it. */
static void remove_stream(struct sn_ze_stream *stream)
{
	for (struct sn_ze_item *item = stream->first; item; item = item->next)
		sn_ze_item_end(item);
	sn_ze_items_collect();
	struct sn_ze_stream **place = &sn_ze_streams;
	while (*place && *place != stream)
		place = &(*place)->next;
	if (*place)
		*place = stream->next;
	stream->next = free_streams;
	free_streams = stream;
}

struct sn_ze_stream *sn_ze_queue_stream(void *queue)
{
	struct sn_ze_stream *stream = (struct sn_ze_stream *)sn_word_get(&queues, (uintptr_t)queue);
	if (stream)
		return stream;
	stream = add_stream(queue);
	if (stream && !sn_word_add(&queues, (uintptr_t)queue, (uintptr_t)stream)) {
		remove_stream(stream);
		return NULL;
	}
	return stream;
}

void sn_ze_queue_is_destroyed(void **parameters, sn_ze_result result)
{
	uintptr_t stream;
	(void)result;
	if (sn_word_remove(&queues, SN_ZE_PARAMETER(parameters, uintptr_t, 0), &stream))
		remove_stream((struct sn_ze_stream *)stream);
}

/* ---- commands ---- */

struct sn_ze_command *sn_ze_list_add(struct sn_ze_list *list, const struct sn_ze_command *command)
{
	struct sn_ze_block *block = list->last_block;
	if (!block || block->count == SN_ZE_BLOCK) {
		block = SN_ZE_TAKE(struct sn_ze_block, free_blocks, block_count, BLOCKS, 16);
		if (!block)
			return NULL;
		block->count = 0;
		*(list->last_block ? &list->last_block->next : &list->blocks) = block;
		list->last_block = block;
	}
	list->count++;
	block->commands[block->count] = *command;
	return &block->commands[block->count++];
}

/* The program has waited for the list: what is not done is lost. */
static void clear(struct sn_ze_list *list)
{
	SN_ZE_EACH_COMMAND(list, command)
	{
		bool is_reset = !command->item || sn_ze_item_try(command->item);
		if (command->item)
			sn_ze_item_end(command->item);
		if (command->own && list->is_blind)
			is_reset = !sn_ze.zeEventHostReset(command->event);
		/* one that may still be signalled is not used again */
		if (command->own && is_reset)
			sn_ze_event_give(command->own);
	}
	sn_ze_batches_release(list);
	while (list->blocks) {
		struct sn_ze_block *block = list->blocks;
		list->blocks = block->next;
		block->next = free_blocks;
		free_blocks = block;
	}
	list->last_block = NULL;
	list->count = 0;
	list->is_blind = false;
	if (!list->is_immediate)
		list->stream = NULL;
}

/* ---- lists ---- */

struct sn_ze_list *sn_ze_list_find(void *handle)
{
	return (struct sn_ze_list *)sn_word_get(&lists, (uintptr_t)handle);
}

static void remove_list(void *handle)
{
	uintptr_t value;
	if (!sn_word_remove(&lists, (uintptr_t)handle, &value))
		return;
	struct sn_ze_list *list = (struct sn_ze_list *)value;
	clear(list);
	if (list->is_immediate)
		remove_stream(list->stream);
	list->next = free_lists;
	free_lists = list;
}

static struct sn_ze_list *add_list(void **parameters, bool is_immediate)
{
	void *handle = *SN_ZE_PARAMETER(parameters, void **, 3);
	remove_list(handle);
	struct sn_ze_device *device = sn_ze_device(SN_ZE_PARAMETER(parameters, void *, 1));
	struct sn_ze_stream *stream = device && is_immediate ? add_stream(handle) : NULL;
	if (!device || (is_immediate && !stream))
		return NULL;
	struct sn_ze_list *list = SN_ZE_TAKE(struct sn_ze_list, free_lists, list_count, LISTS, 64);
	if (!list || !sn_word_add(&lists, (uintptr_t)handle, (uintptr_t)list)) {
		if (stream)
			remove_stream(stream);
		return NULL;
	}
	*list = (struct sn_ze_list){.handle = handle,
				    .context = SN_ZE_PARAMETER(parameters, void *, 0),
				    .device = device,
				    .is_immediate = is_immediate,
				    .stream = stream};
	return list;
}

void sn_ze_list_created(void **parameters, sn_ze_result result)
{
	struct sn_ze_list *list = result ? NULL : add_list(parameters, false);
	if (list)
		list->ordinal =
		    SN_ZE_PARAMETER(parameters, const struct sn_ze_list_desc *, 2)->ordinal;
}

void sn_ze_immediate_list_created(void **parameters, sn_ze_result result)
{
	if (!result)
		add_list(parameters, true);
}

void sn_ze_list_is_reset(void **parameters, sn_ze_result result)
{
	(void)result;
	struct sn_ze_list *list = sn_ze_list_find(SN_ZE_PARAMETER(parameters, void *, 0));
	if (list)
		clear(list);
}

void sn_ze_list_is_destroyed(void **parameters, sn_ze_result result)
{
	(void)result;
	remove_list(SN_ZE_PARAMETER(parameters, void *, 0));
}

/* Its lists have been destroyed before, as have queues. */
void sn_ze_context_is_destroyed(void **parameters, sn_ze_result result)
{
	void *context = SN_ZE_PARAMETER(parameters, void *, 0);
	(void)result;
	sn_ze_items_of_context(context);
	sn_ze_events_release(context);
}
