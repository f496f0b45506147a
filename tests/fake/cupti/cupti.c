/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI over the fake devices: the records and callbacks of the release against whose headers this is compiled. The names of
 * the newest structures come from the compiler's command line (KERNEL_RECORD and so on), so that each release has its own
 * lengths. What has no body here answers CUPTI_ERROR_NOT_SUPPORTED, as generate.py writes it.
 */
#include "buffers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DOMAINS	  8
#define MOST_CBID 1024

static struct {
	bool is_taken;
	CUpti_CallbackFunc function;
	void *data;
	char name[64];
	bool enabled[DOMAINS][MOST_CBID];
} subscriber;

static bool kinds[CUPTI_ACTIVITY_KIND_COUNT];
static bool hidden_calls[DOMAINS][MOST_CBID]; /* of which no records are wanted */
static bool graphs_are_whole;
static _Atomic bool is_listening;
static CUpti_ActivityThreadIdType thread_ids;

/* ---- external correlation ---- */

#define MOST_EXTERNAL 64

static __thread struct {
	uint64_t ids[8][MOST_EXTERNAL];
	unsigned depths[8];
} external;

CUptiResult fake_cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
							uint64_t id)
{
	if ((unsigned)kind >= 8 || !kind)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (external.depths[kind] < MOST_EXTERNAL)
		external.ids[kind][external.depths[kind]] = id;
	external.depths[kind]++;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
						       uint64_t *last)
{
	if ((unsigned)kind >= 8 || !kind)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!external.depths[kind])
		return CUPTI_ERROR_QUEUE_EMPTY;
	external.depths[kind]--;
	if (last && external.depths[kind] < MOST_EXTERNAL)
		*last = external.ids[kind][external.depths[kind]];
	return CUPTI_SUCCESS;
}

static void record_external(uint32_t correlation)
{
	for (unsigned kind = 1; kind < 8; kind++) {
		unsigned depth = external.depths[kind];
		if (!depth || depth > MOST_EXTERNAL)
			continue;
		CUpti_ActivityExternalCorrelation record = {
		    .kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};
		record.externalKind = (CUpti_ExternalCorrelationKind)kind;
		record.externalId = external.ids[kind][depth - 1];
		record.correlationId = correlation;
		fake_buffers_add(&record, sizeof(record), 0);
	}
}

/* ---- calls ---- */

static uint32_t thread_id(void)
{
	if (thread_ids == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
		return (uint32_t)syscall(SYS_gettid);
	return (uint32_t)pthread_self();
}

static void call_back(struct fake_call *call, bool ends)
{
	CUpti_CallbackData data = {
	    .callbackSite = ends ? CUPTI_API_EXIT : CUPTI_API_ENTER,
	    .functionName = call->name,
	    .functionParams = call->parameters,
	    .functionReturnValue = ends ? call->result : NULL,
	    .contextUid = 1,
	    .correlationData = &call->listener,
	    .correlationId = call->correlation,
	};
	if (call->kernel)
		data.symbolName = call->kernel;
	subscriber.function(subscriber.data, (CUpti_CallbackDomain)call->domain, call->cbid, &data);
}

static void record_call(const struct fake_call *call)
{
	bool is_driver = call->domain == FAKE_DRIVER;
	if (hidden_calls[call->domain][call->cbid])
		return;
	CUpti_ActivityAPI record = {
	    .kind = is_driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME,
	    .cbid = call->cbid,
	    .start = fake_cupti_time(call->start_ns),
	    .end = fake_cupti_time(call->end_ns),
	    .processId = (uint32_t)getpid(),
	    .threadId = thread_id(),
	    .correlationId = call->correlation,
	    .returnValue = call->result ? *(uint32_t *)call->result : 0,
	};
	if (kinds[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION])
		record_external(call->correlation);
	fake_buffers_add(&record, sizeof(record), 0);
	fake_buffers_open();
}

static void on_call(struct fake_call *call, bool ends)
{
	if (!call->domain || call->cbid >= MOST_CBID)
		return;
	if (subscriber.is_taken && subscriber.enabled[call->domain][call->cbid])
		call_back(call, ends);
	if (!kinds[call->domain == FAKE_DRIVER ? CUPTI_ACTIVITY_KIND_DRIVER
					       : CUPTI_ACTIVITY_KIND_RUNTIME])
		return;
	if (!ends) {
		call->start_ns = fake_now_ns();
		return;
	}
	call->end_ns = fake_now_ns();
	if (call->start_ns)
		record_call(call);
}

/* ---- what ran ---- */

static uint8_t memory_kind(enum fake_place place)
{
	static const uint8_t of[] = {
	    CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
	    CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED};
	return of[place];
}

static uint8_t copy_kind(const struct fake_operation *operation)
{
	bool from_host = operation->from <= FAKE_PINNED, to_host = operation->to <= FAKE_PINNED;
	if (operation->peer >= 0)
		return CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
	return from_host && to_host ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOH
	       : from_host	    ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
	       : to_host	    ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
				    : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
}

static void record_kernel(const struct fake_run *run)
{
	const struct fake_operation *operation = run->operation;
	CUpti_ActivityKind kind = kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]
				      ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
				      : CUPTI_ACTIVITY_KIND_KERNEL;
	if (!kinds[kind])
		return;
	KERNEL_RECORD record = {
	    .kind = kind,
	    .registersPerThread = 32,
	    .start = fake_cupti_time(run->start_ns),
	    .end = fake_cupti_time(run->end_ns),
	    .completed = fake_cupti_time(run->end_ns),
	    .deviceId = (uint32_t)run->device,
	    .contextId = (uint32_t)run->device + 1,
	    .streamId = run->stream,
	    .gridX = (int32_t)operation->grid[0],
	    .gridY = (int32_t)operation->grid[1],
	    .gridZ = (int32_t)operation->grid[2],
	    .blockX = (int32_t)operation->block[0],
	    .blockY = (int32_t)operation->block[1],
	    .blockZ = (int32_t)operation->block[2],
	    .dynamicSharedMemory = (int32_t)operation->dynamic_shared,
	    .correlationId = run->correlation,
	    .gridId = (int64_t)run->correlation,
	    .name = operation->name,
	    .graphNodeId = run->node,
	    .graphId = run->graph,
	};
	fake_buffers_add(&record, sizeof(record), run->end_ns);
}

static void record_copy(const struct fake_run *run)
{
	if (!kinds[CUPTI_ACTIVITY_KIND_MEMCPY])
		return;
	COPY_RECORD record = {
	    .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
	    .copyKind = copy_kind(run->operation),
	    .srcKind = memory_kind(run->operation->from),
	    .dstKind = memory_kind(run->operation->to),
	    .bytes = run->operation->bytes,
	    .start = fake_cupti_time(run->start_ns),
	    .end = fake_cupti_time(run->end_ns),
	    .deviceId = (uint32_t)run->device,
	    .contextId = (uint32_t)run->device + 1,
	    .streamId = run->stream,
	    .correlationId = run->correlation,
	    .graphNodeId = run->node,
	    .graphId = run->graph,
	};
	fake_buffers_add(&record, sizeof(record), run->end_ns);
}

static void record_set(const struct fake_run *run)
{
	if (!kinds[CUPTI_ACTIVITY_KIND_MEMSET])
		return;
	SET_RECORD record = {
	    .kind = CUPTI_ACTIVITY_KIND_MEMSET,
	    .value = run->operation->value,
	    .bytes = run->operation->bytes,
	    .start = fake_cupti_time(run->start_ns),
	    .end = fake_cupti_time(run->end_ns),
	    .deviceId = (uint32_t)run->device,
	    .contextId = (uint32_t)run->device + 1,
	    .streamId = run->stream,
	    .correlationId = run->correlation,
	    .memoryKind = memory_kind(run->operation->to),
	    .graphNodeId = run->node,
	    .graphId = run->graph,
	};
	fake_buffers_add(&record, sizeof(record), run->end_ns);
}

/* Where whole graphs are recorded, their nodes are not, not even when graphs are no longer. */
static void on_run(const struct fake_run *run)
{
	if (run->graph && graphs_are_whole)
		return;
	if (run->operation->kind == FAKE_KERNEL)
		record_kernel(run);
	else if (run->operation->kind == FAKE_COPY)
		record_copy(run);
	else
		record_set(run);
}

static void on_graph(const struct fake_run *whole)
{
	if (!kinds[CUPTI_ACTIVITY_KIND_GRAPH_TRACE])
		return;
	GRAPH_RECORD record = {
	    .kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
	    .correlationId = whole->correlation,
	    .start = fake_cupti_time(whole->start_ns),
	    .end = fake_cupti_time(whole->end_ns),
	    .deviceId = (uint32_t)whole->device,
	    .graphId = whole->graph,
	    .contextId = (uint32_t)whole->device + 1,
	    .streamId = whole->stream,
	};
	fake_buffers_add(&record, sizeof(record), whole->end_ns);
}

static void tell_node(CUpti_CallbackId cbid, const struct fake_node *node,
		      const struct fake_node *original)
{
	CUpti_GraphData graph = {.node = (CUgraphNode)node, .originalNode = (CUgraphNode)original};
	CUpti_ResourceData data = {.resourceDescriptor = &graph};
	if (subscriber.is_taken && subscriber.enabled[CUPTI_CB_DOMAIN_RESOURCE][cbid])
		subscriber.function(subscriber.data, CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
}

/* Instantiating creates nodes, too. */
static void on_node(const struct fake_node *node, const struct fake_node *original)
{
	tell_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, node, NULL);
	if (original)
		tell_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, node, original);
}

static void on_memory(const void *address, size_t bytes, enum fake_place place, int device,
		      bool is_freed)
{
	if (!kinds[CUPTI_ACTIVITY_KIND_MEMORY2])
		return;
	MEMORY_RECORD record = {
	    .kind = CUPTI_ACTIVITY_KIND_MEMORY2,
	    .memoryOperationType = is_freed ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
					    : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
	    .memoryKind = (CUpti_ActivityMemoryKind)memory_kind(place),
	    .correlationId = fake_correlation(),
	    .address = (uintptr_t)address,
	    .bytes = bytes,
	    .timestamp = fake_cupti_time(fake_now_ns()),
	    .processId = (uint32_t)getpid(),
	    .deviceId = (uint32_t)device,
	    .contextId = (uint32_t)device + 1,
	};
	fake_buffers_add(&record, sizeof(record), 0);
}

static void on_wait(enum fake_wait what, int device, uint32_t stream, uint64_t start_ns,
		    uint64_t end_ns)
{
	if (!kinds[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION])
		return;
	WAIT_RECORD record = {
	    .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
	    .type = (CUpti_ActivitySynchronizationType)what,
	    .start = fake_cupti_time(start_ns),
	    .end = fake_cupti_time(end_ns),
	    .correlationId = fake_correlation(),
	    .contextId = (uint32_t)device + 1,
	    .streamId = what == FAKE_WAIT_STREAM ? stream : CUPTI_SYNCHRONIZATION_INVALID_VALUE,
	};
	fake_buffers_add(&record, sizeof(record), 0);
}

static void listen(void)
{
	if (!is_listening)
		fake_listen(&(struct fake_listener){on_call, on_run, on_node, on_graph, on_memory,
						    on_wait});
	is_listening = true;
}

/* ---- subscribers ---- */

CUptiResult fake_cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc function,
				void *data)
{
	if (subscriber.is_taken)
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	subscriber.function = function;
	subscriber.data = data;
	subscriber.is_taken = true;
	*handle = (CUpti_SubscriberHandle)&subscriber;
	listen();
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
	if (!subscriber.is_taken || handle != (CUpti_SubscriberHandle)&subscriber)
		return CUPTI_ERROR_INVALID_PARAMETER;
	memset(&subscriber, 0, sizeof(subscriber));
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
				     CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	if (!subscriber.is_taken || handle != (CUpti_SubscriberHandle)&subscriber ||
	    (unsigned)domain >= DOMAINS || cbid >= MOST_CBID)
		return CUPTI_ERROR_INVALID_PARAMETER;
	subscriber.enabled[domain][cbid] = enable;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
				   CUpti_CallbackDomain domain)
{
	CUptiResult result = CUPTI_SUCCESS;
	for (CUpti_CallbackId cbid = 1; cbid < MOST_CBID && !result; cbid++)
		result = fake_cuptiEnableCallback(enable, handle, domain, cbid);
	return result;
}

/* ---- activities ---- */

/* As 13.x refuses those that it no longer has. */
static bool is_gone(unsigned kind)
{
	static const uint8_t gone[] = {6,  7,  14, 15, 16, 21, 23, 24,
				       29, 30, 31, 32, 41, 42, 43, 44};
	return CUPTI_API_VERSION >= 130000 && memchr(gone, (int)kind, sizeof(gone));
}

/* What cuda/attributes.c says of them. */
static void record_devices(void)
{
	for (int device = 0; device < fake_device_count(); device++) {
		DEVICE_RECORD record = {
		    .kind = CUPTI_ACTIVITY_KIND_DEVICE,
		    .globalMemorySize = fake_device_memory(),
		    .numThreadsPerWarp = 32,
		    .numMultiprocessors = 132,
		    .maxWarpsPerMultiprocessor = 64,
		    .maxBlocksPerMultiprocessor = 32,
		    .maxSharedMemoryPerMultiprocessor = 233472,
		    .maxRegistersPerMultiprocessor = 65536,
		    .maxThreadsPerBlock = 1024,
		    .computeCapabilityMajor = 9,
		    .id = (uint32_t)device,
		};
		fake_buffers_add(&record, sizeof(record), 0);
	}
}

static CUptiResult set_kind(CUpti_ActivityKind kind, bool enabled)
{
	if ((unsigned)kind >= CUPTI_ACTIVITY_KIND_COUNT || !kind || is_gone(kind))
		return CUPTI_ERROR_INVALID_KIND;
	kinds[kind] = enabled;
	if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && enabled)
		graphs_are_whole = true;
	if (kind == CUPTI_ACTIVITY_KIND_DEVICE && enabled)
		record_devices();
	listen();
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return set_kind(kind, true);
}

CUptiResult fake_cuptiActivityDisable(CUpti_ActivityKind kind)
{
	return set_kind(kind, false);
}

CUptiResult fake_cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
	if (cbid < MOST_CBID)
		hidden_calls[FAKE_RUNTIME][cbid] = !enable;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
	if (cbid < MOST_CBID)
		hidden_calls[FAKE_DRIVER][cbid] = !enable;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *size,
					   void *value)
{
	(void)attribute;
	return size && value ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult fake_cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
	(void)enable;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiActivityFlushPeriod(uint32_t ms)
{
	(void)ms;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	thread_ids = type;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	*type = thread_ids;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiFinalize(void)
{
	fake_listen(&(struct fake_listener){0});
	is_listening = false;
	memset(kinds, 0, sizeof(kinds));
	memset(&subscriber, 0, sizeof(subscriber));
	fake_buffers_flush(true);
	return CUPTI_SUCCESS;
}

/* ---- what things are called ---- */

CUptiResult fake_cuptiGetVersion(uint32_t *version)
{
	*version = CUPTI_API_VERSION;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiGetResultString(CUptiResult result, const char **text)
{
	static __thread char name[40];
	snprintf(name, sizeof(name), "CUPTI_ERROR_%d", (int)result);
	*text = result ? name : "CUPTI_SUCCESS";
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	*name = fake_call_name(domain, cbid);
	return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult fake_cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
	*id = ((const struct fake_node *)node)->id;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
	*id = fake_graph_number((const struct fake_graph *)graph);
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiGetDeviceId(CUcontext context, uint32_t *device)
{
	*device = context ? *(uint32_t *)context : 0;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiGetContextId(CUcontext context, uint32_t *id)
{
	*id = context ? *(uint32_t *)context + 1 : 1;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread,
				    uint32_t *id)
{
	(void)context;
	(void)per_thread;
	*id = (uintptr_t)stream <= 2 ? 7 : fake_stream_number((const struct fake_stream *)stream);
	return CUPTI_SUCCESS;
}
