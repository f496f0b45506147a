/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's functions as Sonde's adapter knows them, which answer what was recorded. run.sh exports those that the recorded CUPTI had. */
#include "cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ERROR_PARAMETER 1
#define ERROR_KIND	21

static struct {
	sn_cupti_callback callback;
	void *data;
	bool is_subscribed;
	bool hears[REPLAY_DOMAINS][REPLAY_CBIDS];
	sn_cupti_request request;
	sn_cupti_complete complete;
	sn_cupti_request_v2 request_v2;
	sn_cupti_complete_v2 complete_v2;
	uint32_t flushes; /* that were asked for */
} tool;

/* Of the buffer that is being given: what CUPTI had dropped before it, and what has no room here. */
static __thread uint64_t dropped, without_room;

/* ---- telling ---- */

#define MOST_NESTED 16

/* A call in a call has a word of its own, from its enter to its exit. */
static __thread struct {
	uint64_t words[MOST_NESTED];
	uint32_t depth;
} calls;

static void tell_callback(const struct recording_callback *recorded)
{
	int result = recorded->result;
	uint32_t depth = recorded->site && calls.depth ? --calls.depth : calls.depth;
	struct sn_cupti_call call = {.site = recorded->site,
				     .name = (const char *)(uintptr_t)recorded->name,
				     .parameters = &call,
				     .result = recorded->site ? &result : NULL,
				     .symbol = (const char *)(uintptr_t)recorded->symbol,
				     .context = (void *)(uintptr_t)recorded->context,
				     .context_number = recorded->context_number,
				     .data = &calls.words[depth % MOST_NESTED],
				     .correlation = recorded->correlation};
	if (!recorded->site)
		calls.depth++;
	if (tool.is_subscribed && tool.hears[recorded->domain][recorded->cbid])
		tool.callback(tool.data, recorded->domain, recorded->cbid, &call);
}

static void tell_resource(uint32_t cbid, const struct sn_cupti_resource_data *data)
{
	if (tool.is_subscribed && cbid < REPLAY_CBIDS && tool.hears[SN_CUPTI_RESOURCE][cbid])
		tool.callback(tool.data, SN_CUPTI_RESOURCE, cbid, data);
}

static void tell_context(const struct recording_resource *recorded)
{
	struct sn_cupti_resource_data data = {.context = (void *)(uintptr_t)recorded->context};
	tell_resource(recorded->cbid, &data);
}

static void tell_module(const struct recording_module *recorded)
{
	const void *cubin = replay_cubin(recorded);
	struct sn_cupti_module module = {
	    .number = recorded->number, .bytes = cubin ? recorded->size : 0, .cubin = cubin};
	struct sn_cupti_resource_data data = {.context = (void *)(uintptr_t)recorded->context,
					      .descriptor = &module};
	tell_resource(recorded->is_unloaded ? SN_CUPTI_MODULE_UNLOAD_STARTING
					    : SN_CUPTI_MODULE_LOADED,
		      &data);
}

static void tell_node(const struct recording_node *recorded)
{
	struct sn_cupti_graph graph = {.graph = (void *)(uintptr_t)recorded->graph,
				       .node = (void *)(uintptr_t)recorded->node,
				       .original_node = (void *)(uintptr_t)recorded->original};
	struct sn_cupti_resource_data data = {.descriptor = &graph};
	tell_resource(recorded->cbid, &data);
}

static bool ask_for_room(uint8_t **buffer, size_t *size)
{
	size_t most_records = 0;
	uint64_t information[4] = {sizeof(information)};
	if (tool.request_v2)
		tool.request_v2(buffer, size, &most_records, information);
	else if (tool.request)
		tool.request(buffer, size, &most_records);
	return *buffer;
}

static void give(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	uint64_t information[4] = {sizeof(information)};
	if (tool.complete_v2)
		tool.complete_v2(buffer, size, valid, information);
	else
		tool.complete(context, stream, buffer, size, valid);
}

static size_t length_at(const uint8_t *record)
{
	uint32_t kind = *(const uint32_t *)record;
	return kind < REPLAY_KINDS ? replay_cupti()->lengths[kind] : 0;
}

/* As many whole records as have room: the bytes of them. What cannot be stepped over is given as it is. */
static size_t fitting(const uint8_t *bytes, size_t left, size_t room)
{
	size_t taken = 0, length;
	if (left <= room)
		return left;
	while (taken < left && (length = length_at(bytes + taken)) && taken + length <= room)
		taken += length;
	return taken;
}

static void tell_buffer(const struct recording_buffer *recorded)
{
	const uint8_t *bytes = (const uint8_t *)(recorded + 1);
	size_t at = 0, size = 0, taken;
	dropped = recorded->dropped_result ? 0 : recorded->dropped;
	if (!tool.request && !tool.request_v2)
		return;
	do {
		uint8_t *buffer = NULL;
		if (!ask_for_room(&buffer, &size) ||
		    !(taken = fitting(bytes + at, recorded->valid - at, size))) {
			for (; at < recorded->valid && length_at(bytes + at);
			     at += length_at(bytes + at))
				without_room++;
			taken = 0;
		}
		if (buffer) {
			memcpy(buffer, bytes + at, taken);
			give((void *)(uintptr_t)recorded->context, recorded->stream, buffer, size,
			     taken);
		}
		at += taken;
	} while (taken && at < recorded->valid);
}

void replay_tell(const struct replay_event *event)
{
	const void *fields = event->head + 1;
	if (event->head->kind == RECORDING_OF_callback)
		tell_callback(fields);
	else if (event->head->kind == RECORDING_OF_node)
		tell_node(fields);
	else if (event->head->kind == RECORDING_OF_resource)
		tell_context(fields);
	else if (event->head->kind == RECORDING_OF_module)
		tell_module(fields);
	else
		tell_buffer(fields);
}

/* As the driver does at the end of cuInit. */
void replay_attach(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *tool = path && *path ? dlopen(path, RTLD_NOW) : NULL;
	int (*begin)(void) = tool ? (int (*)(void))dlsym(tool, "InitializeInjection") : NULL;
	if (begin)
		begin();
}

/* ---- subscribing ---- */

static sn_cupti_result subscribe(void **subscriber, sn_cupti_callback callback, void *data)
{
	int32_t result = replay_cupti()->subscribed;
	if (result)
		return result;
	if (tool.is_subscribed)
		return SN_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS;
	tool.callback = callback;
	tool.data = data;
	tool.is_subscribed = true;
	*subscriber = &tool;
	return SN_CUPTI_SUCCESS;
}

sn_cupti_result cuptiSubscribe(void **subscriber, sn_cupti_callback callback, void *data);
sn_cupti_result cuptiSubscribe(void **subscriber, sn_cupti_callback callback, void *data)
{
	return subscribe(subscriber, callback, data);
}

sn_cupti_result cuptiSubscribe_v2(void **subscriber, sn_cupti_callback callback, void *data,
				  struct sn_cupti_subscriber *parameters);
sn_cupti_result cuptiSubscribe_v2(void **subscriber, sn_cupti_callback callback, void *data,
				  struct sn_cupti_subscriber *parameters)
{
	if (parameters && parameters->holder && parameters->holder_bytes)
		snprintf(parameters->holder, parameters->holder_bytes, "%s",
			 replay_cupti()->holder);
	return subscribe(subscriber, callback, data);
}

static void *deliver_late(void *unused)
{
	replay_deliver(REPLAY_LATE);
	return unused;
}

sn_cupti_result cuptiUnsubscribe(void *subscriber);
sn_cupti_result cuptiUnsubscribe(void *subscriber)
{
	pthread_t thread;
	(void)subscriber;
	if (!tool.is_subscribed)
		return ERROR_PARAMETER;
	tool.is_subscribed = false;
	if (!pthread_create(&thread, NULL, deliver_late, NULL))
		pthread_detach(thread);
	return SN_CUPTI_SUCCESS;
}

sn_cupti_result cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain,
				    uint32_t cbid);
sn_cupti_result cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain,
				    uint32_t cbid)
{
	if (subscriber != &tool || domain >= REPLAY_DOMAINS || cbid >= REPLAY_CBIDS)
		return ERROR_PARAMETER;
	tool.hears[domain][cbid] = enable;
	return SN_CUPTI_SUCCESS;
}

/* ---- kinds of records: as CUPTI answered the recorder ---- */

sn_cupti_result cuptiActivityEnable(uint32_t kind);
sn_cupti_result cuptiActivityEnable(uint32_t kind)
{
	int32_t result = kind < REPLAY_KINDS ? replay_cupti()->enabled[kind] : -1;
	return result < 0 ? ERROR_KIND : result;
}

sn_cupti_result cuptiActivityEnable_v2(void *subscriber, uint32_t kind, void *configuration);
sn_cupti_result cuptiActivityEnable_v2(void *subscriber, uint32_t kind, void *configuration)
{
	(void)subscriber, (void)configuration;
	return cuptiActivityEnable(kind);
}

sn_cupti_result cuptiActivityDisable(uint32_t kind);
sn_cupti_result cuptiActivityDisable(uint32_t kind)
{
	return cuptiActivityEnable(kind);
}

sn_cupti_result cuptiActivityDisable_v2(void *subscriber, uint32_t kind, void *configuration);
sn_cupti_result cuptiActivityDisable_v2(void *subscriber, uint32_t kind, void *configuration)
{
	(void)subscriber, (void)configuration;
	return cuptiActivityEnable(kind);
}

/* ---- buffers ---- */

sn_cupti_result cuptiActivityRegisterCallbacks(sn_cupti_request request,
					       sn_cupti_complete complete);
sn_cupti_result cuptiActivityRegisterCallbacks(sn_cupti_request request, sn_cupti_complete complete)
{
	tool.request = request;
	tool.complete = complete;
	return SN_CUPTI_SUCCESS;
}

sn_cupti_result cuptiActivityRegisterCallbacks_v2(void *subscriber, sn_cupti_request_v2 request,
						  sn_cupti_complete_v2 complete);
sn_cupti_result cuptiActivityRegisterCallbacks_v2(void *subscriber, sn_cupti_request_v2 request,
						  sn_cupti_complete_v2 complete)
{
	tool.request_v2 = request;
	tool.complete_v2 = complete;
	return subscriber == &tool ? SN_CUPTI_SUCCESS : ERROR_PARAMETER;
}

/* The first is the recorder's first, and so on. */
sn_cupti_result cuptiActivityFlushAll(uint32_t flags);
sn_cupti_result cuptiActivityFlushAll(uint32_t flags)
{
	const struct replay_cupti *recording = replay_cupti();
	uint32_t number = tool.flushes++;
	(void)flags;
	if (number >= REPLAY_FLUSHES)
		return SN_CUPTI_SUCCESS;
	replay_deliver((enum replay_phase)(REPLAY_FLUSH + number));
	while (recording->flushed[number] < 0)
		pause();
	return recording->flushed[number];
}

sn_cupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
sn_cupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + length_at(*record) : buffer;
	if (next >= buffer + valid)
		return SN_CUPTI_ERROR_END;
	if (!length_at(next))
		return ERROR_KIND;
	*record = next;
	return SN_CUPTI_SUCCESS;
}

sn_cupti_result cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid,
					      void **record);
sn_cupti_result cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid,
					      void **record)
{
	(void)subscriber;
	return cuptiActivityGetNextRecord(buffer, valid, record);
}

sn_cupti_result cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count);
sn_cupti_result cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
	(void)context, (void)stream;
	*count = dropped + without_room;
	dropped = without_room = 0;
	return SN_CUPTI_SUCCESS;
}

sn_cupti_result cuptiActivityGetNumDroppedRecords_v2(void *subscriber, void *context,
						     uint32_t stream, size_t *count);
sn_cupti_result cuptiActivityGetNumDroppedRecords_v2(void *subscriber, void *context,
						     uint32_t stream, size_t *count)
{
	(void)subscriber;
	return cuptiActivityGetNumDroppedRecords(context, stream, count);
}

/* ---- what things are called ---- */

sn_cupti_result cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name);
sn_cupti_result cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name)
{
	*name = domain < REPLAY_DOMAINS && cbid < REPLAY_CBIDS ? replay_cupti()->names[domain][cbid]
							       : NULL;
	return *name ? SN_CUPTI_SUCCESS : ERROR_PARAMETER;
}

/* Of the nodes that the thread is being told of. */
sn_cupti_result cuptiGetGraphNodeId(void *node, uint64_t *id);
sn_cupti_result cuptiGetGraphNodeId(void *node, uint64_t *id)
{
	if (!replay_current || replay_current->head->kind != RECORDING_OF_node)
		return ERROR_PARAMETER;
	const struct recording_node *recorded =
	    (const struct recording_node *)(replay_current->head + 1);
	if ((uintptr_t)node != recorded->node && (uintptr_t)node != recorded->original)
		return ERROR_PARAMETER;
	*id = (uintptr_t)node == recorded->node ? recorded->node_id : recorded->original_id;
	return recorded->result;
}

sn_cupti_result cuptiGetTimestamp(uint64_t *time);
sn_cupti_result cuptiGetTimestamp(uint64_t *time)
{
	*time = replay_time();
	return SN_CUPTI_SUCCESS;
}

sn_cupti_result cuptiGetVersion(uint32_t *version);
sn_cupti_result cuptiGetVersion(uint32_t *version)
{
	*version = replay_cupti()->version;
	return SN_CUPTI_SUCCESS;
}
