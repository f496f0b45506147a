/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles where the adapter's declarations of CUPTI lie as a release's headers have them, and the row of releases.def is that release's.
 * The compiler's command line has the release (FAKE_RELEASE=13_2) and the names of its records (records.sh). */
#include "collect/adapters/cuda/cupti_samples.h"

#include <cupti.h>
#include <cupti_pcsampling.h>

#define SAME(ours, our_field, theirs, their_field)                                                 \
	_Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #our_field)

SAME(struct sn_cupti_kernel, start, KERNEL_RECORD, start);
SAME(struct sn_cupti_kernel, end, KERNEL_RECORD, end);
SAME(struct sn_cupti_kernel, device, KERNEL_RECORD, deviceId);
SAME(struct sn_cupti_kernel, stream, KERNEL_RECORD, streamId);
SAME(struct sn_cupti_kernel, grid, KERNEL_RECORD, gridX);
SAME(struct sn_cupti_kernel, correlation, KERNEL_RECORD, correlationId);
SAME(struct sn_cupti_kernel, name, KERNEL_RECORD, name);
SAME(struct sn_cupti_kernel, graph_node, KERNEL_RECORD, graphNodeId);
SAME(struct sn_cupti_kernel, graph, KERNEL_RECORD, graphId);
SAME(struct sn_cupti_memcpy, copy, COPY_RECORD, copyKind);
SAME(struct sn_cupti_memcpy, bytes, COPY_RECORD, bytes);
SAME(struct sn_cupti_memcpy, start, COPY_RECORD, start);
SAME(struct sn_cupti_memcpy, stream, COPY_RECORD, streamId);
SAME(struct sn_cupti_memcpy, correlation, COPY_RECORD, correlationId);
SAME(struct sn_cupti_peer_memcpy, copy, PEER_RECORD, copyKind);
SAME(struct sn_cupti_peer_memcpy, bytes, PEER_RECORD, bytes);
SAME(struct sn_cupti_peer_memcpy, start, PEER_RECORD, start);
SAME(struct sn_cupti_peer_memcpy, stream, PEER_RECORD, streamId);
SAME(struct sn_cupti_peer_memcpy, correlation, PEER_RECORD, correlationId);
SAME(struct sn_cupti_peer_memcpy, graph_node, PEER_RECORD, graphNodeId);
SAME(struct sn_cupti_peer_memcpy, graph, PEER_RECORD, graphId);
SAME(struct sn_cupti_managed, counter, MANAGED_RECORD, counterKind);
SAME(struct sn_cupti_managed, value, MANAGED_RECORD, value);
SAME(struct sn_cupti_managed, start, MANAGED_RECORD, start);
SAME(struct sn_cupti_managed, end, MANAGED_RECORD, end);
SAME(struct sn_cupti_managed, address, MANAGED_RECORD, address);
SAME(struct sn_cupti_managed_setting, counter, CUpti_ActivityUnifiedMemoryCounterConfig, kind);
SAME(struct sn_cupti_managed_setting, is_enabled, CUpti_ActivityUnifiedMemoryCounterConfig, enable);
SAME(struct sn_cupti_memset, bytes, SET_RECORD, bytes);
SAME(struct sn_cupti_memset, start, SET_RECORD, start);
SAME(struct sn_cupti_memset, stream, SET_RECORD, streamId);
SAME(struct sn_cupti_memset, correlation, SET_RECORD, correlationId);
SAME(struct sn_cupti_kernel, registers, KERNEL_RECORD, registersPerThread);
SAME(struct sn_cupti_kernel, block, KERNEL_RECORD, blockX);
SAME(struct sn_cupti_kernel, static_shared, KERNEL_RECORD, staticSharedMemory);
SAME(struct sn_cupti_kernel, dynamic_shared, KERNEL_RECORD, dynamicSharedMemory);
SAME(struct sn_cupti_kernel, local_per_thread, KERNEL_RECORD, localMemoryPerThread);
SAME(struct sn_cupti_memcpy, graph_node, COPY_RECORD, graphNodeId);
SAME(struct sn_cupti_memcpy, graph, COPY_RECORD, graphId);
SAME(struct sn_cupti_memset, graph_node, SET_RECORD, graphNodeId);
SAME(struct sn_cupti_memset, graph, SET_RECORD, graphId);
SAME(struct sn_cupti_device, threads_per_warp, DEVICE_RECORD, numThreadsPerWarp);
SAME(struct sn_cupti_device, warps, DEVICE_RECORD, maxWarpsPerMultiprocessor);
SAME(struct sn_cupti_device, blocks, DEVICE_RECORD, maxBlocksPerMultiprocessor);
SAME(struct sn_cupti_device, shared_bytes, DEVICE_RECORD, maxSharedMemoryPerMultiprocessor);
SAME(struct sn_cupti_device, registers, DEVICE_RECORD, maxRegistersPerMultiprocessor);
SAME(struct sn_cupti_device, capability_major, DEVICE_RECORD, computeCapabilityMajor);
SAME(struct sn_cupti_device, id, DEVICE_RECORD, id);
SAME(struct sn_cupti_synchronization, type, WAIT_RECORD, type);
SAME(struct sn_cupti_synchronization, start, WAIT_RECORD, start);
SAME(struct sn_cupti_synchronization, end, WAIT_RECORD, end);
SAME(struct sn_cupti_synchronization, correlation, WAIT_RECORD, correlationId);
SAME(struct sn_cupti_synchronization, stream, WAIT_RECORD, streamId);
SAME(struct sn_cupti_memory, operation, MEMORY_RECORD, memoryOperationType);
SAME(struct sn_cupti_memory, memory, MEMORY_RECORD, memoryKind);
SAME(struct sn_cupti_memory, correlation, MEMORY_RECORD, correlationId);
SAME(struct sn_cupti_memory, bytes, MEMORY_RECORD, bytes);
SAME(struct sn_cupti_memory, timestamp, MEMORY_RECORD, timestamp);
SAME(struct sn_cupti_memory, device, MEMORY_RECORD, deviceId);
SAME(struct sn_cupti_graph_trace, correlation, GRAPH_RECORD, correlationId);
SAME(struct sn_cupti_graph_trace, start, GRAPH_RECORD, start);
SAME(struct sn_cupti_graph_trace, end, GRAPH_RECORD, end);
SAME(struct sn_cupti_graph_trace, device, GRAPH_RECORD, deviceId);
SAME(struct sn_cupti_graph_trace, graph, GRAPH_RECORD, graphId);
SAME(struct sn_cupti_graph_trace, stream, GRAPH_RECORD, streamId);
SAME(struct sn_cupti_overhead, of, OVERHEAD_RECORD, overheadKind);
SAME(struct sn_cupti_overhead, start, OVERHEAD_RECORD, start);
SAME(struct sn_cupti_overhead, end, OVERHEAD_RECORD, end);
#if CUPTI_API_VERSION >= 22
SAME(struct sn_cupti_overhead, correlation, OVERHEAD_RECORD, correlationId);
SAME(struct sn_cupti_overhead, details, OVERHEAD_RECORD, overheadData);
_Static_assert(sizeof(struct sn_cupti_overhead) == sizeof(OVERHEAD_RECORD), "overhead");
#endif
SAME(struct sn_cupti_resource_data, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME(struct sn_cupti_graph, node, CUpti_GraphData, node);
SAME(struct sn_cupti_graph, original_node, CUpti_GraphData, originalNode);
SAME(struct sn_cupti_call, site, CUpti_CallbackData, callbackSite);
SAME(struct sn_cupti_call, name, CUpti_CallbackData, functionName);
SAME(struct sn_cupti_call, parameters, CUpti_CallbackData, functionParams);
SAME(struct sn_cupti_call, correlation, CUpti_CallbackData, correlationId);

_Static_assert(SN_CUPTI_MEMCPY == CUPTI_ACTIVITY_KIND_MEMCPY &&
		   SN_CUPTI_PEER_MEMCPY == CUPTI_ACTIVITY_KIND_MEMCPY2 &&
		   SN_CUPTI_MANAGED == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER &&
		   SN_CUPTI_HOST_FAULT ==
		       CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT &&
		   SN_CUPTI_DEVICE_FAULT ==
		       CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT &&
		   SN_CUPTI_DEVICE_TO_DEVICE ==
		       CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD &&
		   SN_CUPTI_MEMSET == CUPTI_ACTIVITY_KIND_MEMSET &&
		   SN_CUPTI_KERNEL == CUPTI_ACTIVITY_KIND_KERNEL &&
		   SN_CUPTI_SYNCHRONIZATION == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION &&
		   SN_CUPTI_MEMORY2 == CUPTI_ACTIVITY_KIND_MEMORY2 &&
		   SN_CUPTI_GRAPH_TRACE == CUPTI_ACTIVITY_KIND_GRAPH_TRACE &&
		   SN_CUPTI_CONCURRENT_KERNEL == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	       "kinds of records");
_Static_assert(SN_CUPTI_OVERHEAD == CUPTI_ACTIVITY_KIND_OVERHEAD &&
		   SN_CUPTI_OVERHEAD_COMPILER == CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER &&
		   SN_CUPTI_OVERHEAD_FLUSH == CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH &&
		   SN_CUPTI_OVERHEAD_INSTRUMENTATION ==
		       CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION &&
		   SN_CUPTI_OVERHEAD_RESOURCE == CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE,
	       "kinds of overhead");
_Static_assert(SN_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS ==
		       CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED &&
		   SN_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES &&
		   SN_CUPTI_ERROR_NOT_INITIALIZED == CUPTI_ERROR_NOT_INITIALIZED &&
		   SN_CUPTI_ERROR_HARDWARE_BUSY == CUPTI_ERROR_HARDWARE_BUSY &&
		   SN_CUPTI_ERROR_VIRTUAL_DEVICE == CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED,
	       "errors");
#if CUPTI_API_VERSION >= 130200
_Static_assert(SN_CUPTI_ERROR_CONFIDENTIAL_COMPUTING ==
		       CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED &&
		   SN_CUPTI_ERROR_MIG_DEVICE == CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED,
	       "newer errors");
_Static_assert(SN_CUPTI_OVERHEAD_MODULE ==
		       CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING &&
		   SN_CUPTI_OVERHEAD_FUNCTION == CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING &&
		   SN_CUPTI_OVERHEAD_COMMANDS == CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL,
	       "newer kinds of overhead");
_Static_assert(SN_CUPTI_HARDWARE_TIMES == CUPTI_ACTIVITY_ATTR_ENABLE_HES, "attributes");
#endif
_Static_assert(SN_CUPTI_RESOURCE == CUPTI_CB_DOMAIN_RESOURCE &&
		   SN_CUPTI_GRAPH_NODE_CREATED == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED &&
		   SN_CUPTI_GRAPH_NODE_CLONED == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
	       "callbacks of graphs");
_Static_assert(SN_CUPTI_WAIT_STREAM_EVENT ==
		       CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT &&
		   SN_CUPTI_WAIT_STREAM == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE &&
		   SN_CUPTI_WAIT_EVENT == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE &&
		   SN_CUPTI_MEMORY_ALLOCATED == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION &&
		   SN_CUPTI_MEMORY_DEVICE == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE &&
		   SN_CUPTI_MEMORY_MANAGED == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED,
	       "waits and memory");

SAME(struct sn_cupti_pc, crc, CUpti_PCSamplingPCData, cubinCrc);
SAME(struct sn_cupti_pc, pc, CUpti_PCSamplingPCData, pcOffset);
SAME(struct sn_cupti_pc, function, CUpti_PCSamplingPCData, functionIndex);
SAME(struct sn_cupti_pc, name, CUpti_PCSamplingPCData, functionName);
SAME(struct sn_cupti_pc, reason_count, CUpti_PCSamplingPCData, stallReasonCount);
SAME(struct sn_cupti_pc, reasons, CUpti_PCSamplingPCData, stallReason);
SAME(struct sn_cupti_samples, most_pcs, CUpti_PCSamplingData, collectNumPcs);
SAME(struct sn_cupti_samples, dropped, CUpti_PCSamplingData, droppedSamples);
SAME(struct sn_cupti_samples, pc_count, CUpti_PCSamplingData, totalNumPcs);
SAME(struct sn_cupti_samples, left_count, CUpti_PCSamplingData, remainingNumPcs);
SAME(struct sn_cupti_samples, pcs, CUpti_PCSamplingData, pPcData);
SAME(struct sn_cupti_samples, hidden, CUpti_PCSamplingData, nonUsrKernelsTotalSamples);
SAME(struct sn_cupti_reason_names, indices, CUpti_PCSamplingGetStallReasonsParams,
     stallReasonIndex);
SAME(struct sn_cupti_reason_names, names, CUpti_PCSamplingGetStallReasonsParams, stallReasons);
SAME(struct sn_cupti_sampling_setting, status, CUpti_PCSamplingConfigurationInfo, attributeStatus);
SAME(struct sn_cupti_sampling_setting, number, CUpti_PCSamplingConfigurationInfo, attributeData);
SAME(struct sn_cupti_sampling_setting, number, CUpti_PCSamplingConfigurationInfo,
     attributeData.enableStartStopControlData.enableStartStopControl);
SAME(struct sn_cupti_sampling_setting, reasons.indices, CUpti_PCSamplingConfigurationInfo,
     attributeData.stallReasonData.pStallReasonIndex);
SAME(struct sn_cupti_crc, cubin_bytes, CUpti_GetCubinCrcParams, cubinSize);
SAME(struct sn_cupti_crc, cubin, CUpti_GetCubinCrcParams, cubin);
SAME(struct sn_cupti_crc, crc, CUpti_GetCubinCrcParams, cubinCrc);
SAME(struct sn_cupti_module, bytes, CUpti_ModuleResourceData, cubinSize);
SAME(struct sn_cupti_module, cubin, CUpti_ModuleResourceData, pCubin);
_Static_assert(sizeof(struct sn_cupti_sampling) == sizeof(CUpti_PCSamplingEnableParams) &&
		   sizeof(struct sn_cupti_sampling) == sizeof(CUpti_PCSamplingStartParams) &&
		   sizeof(struct sn_cupti_sampling) == sizeof(CUpti_PCSamplingStopParams) &&
		   sizeof(struct sn_cupti_sampling_read) == sizeof(CUpti_PCSamplingGetDataParams) &&
		   sizeof(struct sn_cupti_reason_count) ==
		       sizeof(CUpti_PCSamplingGetNumStallReasonsParams) &&
		   sizeof(struct sn_cupti_sampling_settings) ==
		       sizeof(CUpti_PCSamplingConfigurationInfoParams) &&
		   sizeof(struct sn_cupti_sampling_setting) ==
		       sizeof(CUpti_PCSamplingConfigurationInfo) &&
		   sizeof(struct sn_cupti_crc) == sizeof(CUpti_GetCubinCrcParams),
	       "parameters");
_Static_assert(
    SN_CUPTI_CONTINUOUS == CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS &&
	SN_CUPTI_SERIALIZED == CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED &&
	SN_CUPTI_SAMPLING_PERIOD == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD &&
	SN_CUPTI_SAMPLING_REASONS == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON &&
	SN_CUPTI_SAMPLING_MODE == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE &&
	SN_CUPTI_SAMPLING_CONTROL ==
	    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL &&
	SN_CUPTI_SAMPLING_BUFFER ==
	    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER &&
	SN_CUPTI_REASON_NAME_BYTES == CUPTI_STALL_REASON_STRING_SIZE &&
	SN_CUPTI_ERROR_OUT_OF_MEMORY == CUPTI_ERROR_OUT_OF_MEMORY,
    "sampling");
_Static_assert(SN_CUPTI_CONTEXT_CREATED == CUPTI_CBID_RESOURCE_CONTEXT_CREATED &&
		   SN_CUPTI_CONTEXT_DESTROY_STARTING ==
		       CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING &&
		   SN_CUPTI_MODULE_LOADED == CUPTI_CBID_RESOURCE_MODULE_LOADED &&
		   SN_CUPTI_MODULE_UNLOAD_STARTING == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
	       "callbacks of contexts and modules");
#if CUPTI_API_VERSION >= 22
_Static_assert(sizeof(struct sn_cupti_pc) == sizeof(CUpti_PCSamplingPCData) &&
		   offsetof(struct sn_cupti_pc, correlation) ==
		       offsetof(CUpti_PCSamplingPCData, correlationId),
	       "a sampled instruction");
#else
_Static_assert(SN_CUPTI_PC_FIRST_BYTES == sizeof(CUpti_PCSamplingPCData), "a sampled instruction");
#endif

/* ---- the release's row ---- */

#define RELEASE(name, version, kinds, runtime, driver, kernel, copy, set, wait, graph, overhead,   \
		memory, pool, jit, device, pc, pc_data, without_driver)                            \
	enum {                                                                                     \
		VERSION_##name = version,                                                          \
		KINDS_##name = kinds,                                                              \
		RUNTIME_##name = runtime,                                                          \
		DRIVER_##name = driver,                                                            \
		KERNEL_##name = kernel,                                                            \
		COPY_##name = copy,                                                                \
		SET_##name = set,                                                                  \
		WAIT_##name = wait,                                                                \
		GRAPH_##name = graph,                                                              \
		OVERHEAD_##name = overhead,                                                        \
		MEMORY_##name = memory,                                                            \
		POOL_##name = pool,                                                                \
		JIT_##name = jit,                                                                  \
		PC_##name = pc,                                                                    \
		PC_DATA_##name = pc_data,                                                          \
		DEVICE_##name = device                                                             \
	};
#include "releases.def"
#undef RELEASE

#define OF_(what, name) what##_##name
#define OF(what, name)	OF_(what, name)
#define IS(what, value) _Static_assert(OF(what, FAKE_RELEASE) == (long)(value), #what)
#define HAS(what)	IS(what, sizeof(what##_RECORD))

IS(PC, sizeof(CUpti_PCSamplingPCData));
IS(PC_DATA, sizeof(CUpti_PCSamplingData));
IS(VERSION, CUPTI_API_VERSION);
IS(KINDS, CUPTI_ACTIVITY_KIND_COUNT);
IS(RUNTIME, CUPTI_RUNTIME_TRACE_CBID_SIZE);
IS(DRIVER, CUPTI_DRIVER_TRACE_CBID_SIZE);
HAS(KERNEL);
HAS(COPY);
HAS(SET);
HAS(WAIT);
HAS(GRAPH);
HAS(OVERHEAD);
HAS(MEMORY);
HAS(POOL);
HAS(JIT);
HAS(DEVICE);
