/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI over the fake devices: its records and callbacks. They are written as the newest release has them, against whose headers
 * this is compiled; the names of its newest structures come from the compiler's command line (KERNEL_RECORD and so on). Fields have kept
 * their places, so those of an older release are shorter (release.h). What has no body here or in subscribers.c
 * answers CUPTI_ERROR_NOT_SUPPORTED, as generate.py writes it.
 */
#include "subscribers.h"
#include "../device/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* Of all subscribers together: none of the tests' pushes beside another. */
CUptiResult fake_cuptiActivityPushExternalCorrelationId_v2(CUpti_SubscriberHandle handle,
							   CUpti_ExternalCorrelationKind kind,
							   uint64_t id)
{
	return handle ? fake_cuptiActivityPushExternalCorrelationId(kind, id)
		      : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult fake_cuptiActivityPopExternalCorrelationId_v2(CUpti_SubscriberHandle handle,
							  CUpti_ExternalCorrelationKind kind,
							  uint64_t *last)
{
	return handle ? fake_cuptiActivityPopExternalCorrelationId(kind, last)
		      : CUPTI_ERROR_INVALID_PARAMETER;
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
		fake_record(&record, sizeof(record), 0);
	}
}

/* ---- calls ---- */

static uint32_t thread_id(void)
{
	if (fake_subscribers[0].thread_ids == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
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
	    .context = fake_context(fake_current_device()),
	    .contextUid = 1,
	    .correlationData = &call->listener,
	    .correlationId = call->correlation,
	};
	if (call->kernel)
		data.symbolName = call->kernel;
	fake_tell((CUpti_CallbackDomain)call->domain, call->cbid, &data);
}

static void record_call(const struct fake_call *call)
{
	bool is_driver = call->domain == FAKE_DRIVER;
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
	if (fake_wants(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION))
		record_external(call->correlation);
	fake_record(&record, sizeof(record), 0);
	FAKE_EACH_SUBSCRIBER(of)
	if (of->kinds[record.kind])
		fake_queue_open(&of->queue);
}

/* The launch that compilers generate had another name before it had a number of its own. */
static const char *plain_name(const struct fake_call *call)
{
	bool is_older = call->cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 ||
			call->cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000;
	return is_older && call->name[0] == '_' ? call->name + 2 : call->name;
}

/* What the runtime asks the driver for inside of its own calls, by how those are called. */
static const struct {
	const char *begin;
	CUpti_CallbackId driver;
} inside[] = {{"cudaLaunchKernelEx", CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx},
	      {"cudaLaunchKernel", CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel},
	      {"__cudaLaunchKernel", CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel},
	      {"cudaMemcpyAsync", CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync},
	      {"cudaMemcpy", CUPTI_DRIVER_TRACE_CBID_cuMemcpy},
	      {"cudaMemsetAsync", CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async},
	      {"cudaMemset", CUPTI_DRIVER_TRACE_CBID_cuMemsetD8_v2},
	      {"cudaGraphLaunch", CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch},
	      {"cudaStreamSynchronize", CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize},
	      {"cudaDeviceSynchronize", CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize}};

static void tell_inside(struct fake_call *call, bool ends)
{
	static __thread uint32_t outer;
	size_t at = 0, count = sizeof(inside) / sizeof(*inside);
	while (at < count && strncmp(call->name, inside[at].begin, strlen(inside[at].begin)))
		at++;
	if (at == count)
		return;
	struct fake_call driver = *call;
	driver.domain = FAKE_DRIVER;
	driver.cbid = inside[at].driver;
	driver.name = fake_call_name(CUPTI_CB_DOMAIN_DRIVER_API, driver.cbid);
	driver.parameters = &driver; /* in the driver's frame */
	if (!ends && fake_fails("driver-numbers")) {
		outer = call->correlation;
		fake_call_renumber(call);
		driver.correlation = call->correlation;
	}
	if (fake_hears(CUPTI_CB_DOMAIN_DRIVER_API, driver.cbid))
		call_back(&driver, ends);
	if (ends && fake_fails("driver-numbers"))
		call->correlation = outer;
}

static void tell_call(struct fake_call *call, bool ends)
{
	bool is_driver = call->domain == FAKE_DRIVER;
	call->cbid = fake_release_call(call->domain, call->cbid);
	if (!call->domain || !call->cbid)
		return;
	if (!is_driver)
		call->name = plain_name(call);
	if (fake_hears((CUpti_CallbackDomain)call->domain, call->cbid))
		call_back(call, ends);
	if (!fake_wants(is_driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME))
		return;
	if (!ends) {
		call->start_ns = fake_now_ns();
		return;
	}
	call->end_ns = fake_now_ns();
	if (call->start_ns)
		record_call(call);
}

static void on_call(struct fake_call *call, bool ends)
{
	bool is_nested = call->domain == FAKE_RUNTIME &&
			 (fake_fails("driver-calls") || fake_fails("driver-numbers"));
	if (is_nested && ends)
		tell_inside(call, ends);
	tell_call(call, ends);
	if (is_nested && !ends)
		tell_inside(call, ends);
}

/* ---- what ran ---- */

static uint8_t memory_kind(enum fake_place place)
{
	static const uint8_t of[] = {
	    CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
	    CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED,
	    CUPTI_ACTIVITY_MEMORY_KIND_ARRAY};
	return of[place];
}

static uint8_t copy_kind(const struct fake_operation *operation)
{
	enum { HOST, DEVICE, ARRAY };
	static const uint8_t of[] = {HOST, HOST, DEVICE, DEVICE, ARRAY};
	static const uint8_t kinds[3][3] = {
	    {CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
	     CUPTI_ACTIVITY_MEMCPY_KIND_HTOA},
	    {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD,
	     CUPTI_ACTIVITY_MEMCPY_KIND_DTOA},
	    {CUPTI_ACTIVITY_MEMCPY_KIND_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOD,
	     CUPTI_ACTIVITY_MEMCPY_KIND_ATOA}};
	return operation->peer >= 0 ? CUPTI_ACTIVITY_MEMCPY_KIND_PTOP
				    : kinds[of[operation->from]][of[operation->to]];
}

/* As reported: wrong times, times before the launch, numbers of no call; the first records after clocks were registered again. */
static void spoil(KERNEL_RECORD *record)
{
	static _Atomic unsigned spoiled;
	if (fake_fails_now("zero-times", 10) ||
	    (fake_fails("clock-again") && spoiled + 1 < fake_cupti_clocks() && ++spoiled))
		record->start = record->end = 0;
	if (fake_fails_now("reversed-times", 10))
		record->end = record->start - 1000;
	if (fake_fails("early")) {
		record->start -= 50000000;
		record->end -= 50000000;
	}
	if (fake_fails_now("wrong-correlation", 10) || fake_fails("no-correlation"))
		record->correlationId += 1u << 30;
}

/* As reported: after a first session graphs have the number of no call. */
static uint32_t call_of(const struct fake_run *run)
{
	bool is_wrong = run->graph && fake_fails("graph-correlation");
	return run->correlation + (is_wrong ? 1u << 30 : 0);
}

/* What records of all that ran on streams have in common. */
#define RAN(run)                                                                                   \
	.start = fake_cupti_time((run)->start_ns), .end = fake_cupti_time((run)->end_ns),          \
	.deviceId = (uint32_t)(run)->device, .contextId = (uint32_t)(run)->device + 1,             \
	.streamId = (run)->stream, .correlationId = call_of(run), .graphId = (run)->graph

/* Where that is asked for: the call of each tenth kernel waited for room, and the first one loaded the function. */
static void record_overheads(const struct fake_run *run)
{
	static _Atomic bool is_loaded;
	if (!fake_fails("overheads") || !fake_wants(CUPTI_ACTIVITY_KIND_OVERHEAD))
		return;
	bool is_first = !is_loaded, is_full = fake_fails_now("overheads", 10);
	is_loaded = true;
	uint64_t end_ns = fake_cupti_time(run->start_ns);
	OVERHEAD_RECORD record = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
				  .overheadKind = CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING,
				  .start = end_ns - 30000,
				  .end = end_ns,
				  .correlationId = run->correlation};
	if (is_first)
		fake_record(&record, sizeof(record), 0);
	record.overheadKind = CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL;
	record.start = end_ns - 7000;
	if (is_full)
		record.overheadData =
		    calloc(1, sizeof(CUpti_ActivityOverheadCommandBufferFullData));
	if (is_full)
		fake_record(&record, sizeof(record), 0);
	record = (OVERHEAD_RECORD){.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
				   .overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH,
				   .start = end_ns - 1000,
				   .end = end_ns};
	if (is_full)
		fake_record(&record, sizeof(record), 0);
}

static void record_kernel(const struct fake_run *run)
{
	const struct fake_operation *operation = run->operation;
	if (!fake_wants(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
		return;
	KERNEL_RECORD record = {
	    .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	    .registersPerThread = 32,
	    RAN(run),
	    .completed = fake_cupti_time(run->end_ns),
	    .gridX = (int32_t)operation->grid[0],
	    .gridY = (int32_t)operation->grid[1],
	    .gridZ = (int32_t)operation->grid[2],
	    .blockX = (int32_t)operation->block[0],
	    .blockY = (int32_t)operation->block[1],
	    .blockZ = (int32_t)operation->block[2],
	    .dynamicSharedMemory = (int32_t)operation->dynamic_shared,
	    .gridId = (int64_t)run->correlation,
	    .name = operation->name,
	    .graphNodeId = run->node,
	};
	spoil(&record);
	fake_record(&record, sizeof(record), run->end_ns);
}

/* Between devices: a record of another kind. */
static void record_peer_copy(const struct fake_run *run)
{
	const struct fake_operation *operation = run->operation;
	if (!fake_wants(CUPTI_ACTIVITY_KIND_MEMCPY2))
		return;
	PEER_RECORD record = {
	    .kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
	    .copyKind = copy_kind(operation),
	    .srcKind = memory_kind(operation->from),
	    .dstKind = memory_kind(operation->to),
	    .bytes = operation->bytes,
	    RAN(run),
	    .srcDeviceId = (uint32_t)operation->from_peer,
	    .srcContextId = (uint32_t)operation->from_peer + 1,
	    .dstDeviceId = (uint32_t)operation->peer,
	    .dstContextId = (uint32_t)operation->peer + 1,
	    .graphNodeId = run->node,
	};
	fake_record(&record, sizeof(record), run->end_ns);
}

static void record_copy(const struct fake_run *run)
{
	if (!fake_wants(CUPTI_ACTIVITY_KIND_MEMCPY))
		return;
	COPY_RECORD record = {
	    .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
	    .copyKind = copy_kind(run->operation),
	    .srcKind = memory_kind(run->operation->from),
	    .dstKind = memory_kind(run->operation->to),
	    .bytes = run->operation->bytes,
	    RAN(run),
	    .graphNodeId = run->node,
	};
	fake_record(&record, sizeof(record), run->end_ns);
}

static void record_set(const struct fake_run *run)
{
	if (!fake_wants(CUPTI_ACTIVITY_KIND_MEMSET))
		return;
	SET_RECORD record = {
	    .kind = CUPTI_ACTIVITY_KIND_MEMSET,
	    .value = run->operation->value,
	    .bytes = run->operation->bytes,
	    RAN(run),
	    .memoryKind = memory_kind(run->operation->to),
	    .graphNodeId = run->node,
	};
	fake_record(&record, sizeof(record), run->end_ns);
}

/* Where whole graphs are recorded, their nodes are not, not even when graphs are no longer. */
static void on_run(const struct fake_run *run)
{
	fake_pc_run(run);
	fake_range_run(run);
	if (run->graph && fake_wants_graphs())
		return;
	if (run->operation->kind == FAKE_KERNEL)
		record_overheads(run);
	if (run->operation->kind == FAKE_KERNEL)
		record_kernel(run);
	else if (run->operation->kind == FAKE_COPY && run->operation->peer >= 0)
		record_peer_copy(run);
	else if (run->operation->kind == FAKE_COPY)
		record_copy(run);
	else
		record_set(run);
}

static void on_graph(const struct fake_run *whole)
{
	if (!fake_wants(CUPTI_ACTIVITY_KIND_GRAPH_TRACE))
		return;
	GRAPH_RECORD record = {
	    .kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
	    RAN(whole),
	};
	fake_record(&record, sizeof(record), whole->end_ns);
}

static void tell_node(CUpti_CallbackId cbid, const struct fake_node *node,
		      const struct fake_node *original)
{
	CUpti_GraphData graph = {.node = (CUgraphNode)node, .originalNode = (CUgraphNode)original};
	CUpti_ResourceData data = {.resourceDescriptor = &graph};
	fake_tell(CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
}

/* Instantiating creates nodes, too. */
static void on_node(const struct fake_node *node, const struct fake_node *original)
{
	tell_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, node, NULL);
	if (original)
		tell_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, node, original);
}

/* ---- managed memory ---- */

/* The counters that were asked for, by their numbers. */
static bool is_counted[CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT];

CUptiResult
fake_cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *settings,
						uint32_t count)
{
	if (fake_refused(false))
		return fake_refused(false);
	if (!settings || !count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (fake_fails("managed-refused"))
		return CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED;
	for (uint32_t index = 0; index < count; index++) {
		if (!settings[index].kind ||
		    settings[index].kind >= CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT)
			return CUPTI_ERROR_INVALID_PARAMETER;
		is_counted[settings[index].kind] = settings[index].enable;
	}
	return CUPTI_SUCCESS;
}

static void on_managed(const struct fake_managed *what)
{
	static const CUpti_ActivityUnifiedMemoryCounterKind kinds[] = {
	    [FAKE_TO_DEVICE] = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
	    [FAKE_TO_HOST] = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
	    [FAKE_DEVICE_FAULTS] = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
	    [FAKE_HOST_FAULTS] = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT};
	if (!fake_wants(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) ||
	    !is_counted[kinds[what->kind]])
		return;
	MANAGED_RECORD record = {
	    .kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
	    .counterKind = kinds[what->kind],
	    .value = what->value,
	    .start = fake_cupti_time(what->start_ns),
	    .end = what->kind == FAKE_HOST_FAULTS ? 0 : fake_cupti_time(what->end_ns),
	    .address = what->address,
	    .srcId = (uint32_t)what->device,
	    .dstId = (uint32_t)what->device,
	    .processId = (uint32_t)getpid(),
	};
	fake_record(&record, sizeof(record), what->end_ns);
}

static void on_memory(const void *address, size_t bytes, enum fake_place place, int device,
		      bool is_freed)
{
	if (!fake_wants(CUPTI_ACTIVITY_KIND_MEMORY2))
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
	fake_record(&record, sizeof(record), 0);
}

static void on_wait(enum fake_wait what, int device, uint32_t stream, uint64_t start_ns,
		    uint64_t end_ns)
{
	if (!fake_wants(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION))
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
	fake_record(&record, sizeof(record), 0);
}

/* What cuda/attributes.c says of them, for one subscriber. */
void fake_record_devices(struct fake_subscriber *of)
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
		fake_queue_add(&of->queue, record.kind, &record, sizeof(record), 0);
	}
}

bool fake_cupti_listen(bool listens)
{
	static const struct fake_listener all = {on_call,   on_run,	on_node, on_graph,
						 on_memory, on_managed, on_wait, fake_pc_module};
	return fake_listen(&fake_release, listens ? &all : &(struct fake_listener){0});
}

/* ---- what things are called ---- */

CUptiResult fake_cuptiGetVersion(uint32_t *version)
{
	*version = fake_release->version;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiGetResultString(CUptiResult result, const char **text)
{
	static __thread char name[40];
	snprintf(name, sizeof(name), "CUPTI_ERROR_%d", (int)result);
	*text = result ? name : "CUPTI_SUCCESS";
	return CUPTI_SUCCESS;
}

static const char *name_of(CUpti_CallbackDomain domain, uint32_t cbid)
{
	if (!cbid)
		return "INVALID";
#define OLD_NAME(version_, domain_, number, name)                                                  \
	if (fake_release->version < (version_) && domain == CUPTI_CB_DOMAIN_##domain_##_API &&     \
	    cbid == (number))                                                                      \
		return name;
#include "old_names.def"
	return fake_call_name(domain, cbid);
}

CUptiResult fake_cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	bool is_known = domain == CUPTI_CB_DOMAIN_DRIVER_API	? cbid < fake_release->driver_calls
			: domain == CUPTI_CB_DOMAIN_RUNTIME_API ? cbid < fake_release->runtime_calls
								: false;
	*name = is_known ? name_of(domain, cbid) : NULL;
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
	fake_zero_is_of_thread(per_thread);
	*id = fake_stream_number(fake_stream_of(stream));
	fake_zero_is_of_thread(false);
	return CUPTI_SUCCESS;
}
