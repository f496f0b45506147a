/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what the adapter declares of Level Zero (ze.h) with the headers. It is compiled, and never run. */
#include "collect/adapters/levelzero/ze.h"

#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_ddi.h>
#include <level_zero/layers/zel_tracing_register_cb.h>
#include <level_zero/ze_api.h>
#include <stdbool.h>
#include <stddef.h>

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #theirs)
#define SAME_PLACE(ours, field, theirs, their_field)                                               \
	_Static_assert(offsetof(ours, field) == offsetof(theirs, their_field), #theirs #their_field)
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)

SAME(SN_ZE_SUCCESS, ZE_RESULT_SUCCESS);
SAME(SN_ZE_NOT_READY, ZE_RESULT_NOT_READY);
SAME(SN_ZE_ERROR_UNINITIALIZED, ZE_RESULT_ERROR_UNINITIALIZED);
SAME(SN_ZE_DEVICE_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
SAME(SN_ZE_DEVICE_PROPERTIES_1_2, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
SAME(SN_ZE_COMMAND_LIST_DESC, ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
SAME(SN_ZE_EVENT_POOL_DESC, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
SAME(SN_ZE_EVENT_DESC, ZE_STRUCTURE_TYPE_EVENT_DESC);
SAME(SN_ZE_HOST_MEM_ALLOC_DESC, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
SAME(SN_ZEL_TRACER_DESC, ZEL_STRUCTURE_TYPE_TRACER_DESC);
SAME(SN_ZE_POOL_HOST_VISIBLE, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
SAME(SN_ZE_POOL_IPC, ZE_EVENT_POOL_FLAG_IPC);
SAME(SN_ZE_POOL_TIMESTAMP, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
SAME(SN_ZE_SCOPE_HOST, ZE_EVENT_SCOPE_FLAG_HOST);
SAME(SN_ZEL_PROLOGUE, ZEL_REGISTER_PROLOGUE);
SAME(SN_ZEL_EPILOGUE, ZEL_REGISTER_EPILOGUE);

SAME_SIZE(struct sn_ze_event_pool_desc, ze_event_pool_desc_t);
SAME_PLACE(struct sn_ze_event_pool_desc, flags, ze_event_pool_desc_t, flags);
SAME_PLACE(struct sn_ze_event_pool_desc, count, ze_event_pool_desc_t, count);
SAME_SIZE(struct sn_ze_event_desc, ze_event_desc_t);
SAME_PLACE(struct sn_ze_event_desc, index, ze_event_desc_t, index);
SAME_PLACE(struct sn_ze_event_desc, signal, ze_event_desc_t, signal);
SAME_SIZE(struct sn_ze_list_desc, ze_command_list_desc_t);
SAME_PLACE(struct sn_ze_list_desc, ordinal, ze_command_list_desc_t, commandQueueGroupOrdinal);
SAME_SIZE(struct sn_ze_host_memory_desc, ze_host_mem_alloc_desc_t);
SAME_SIZE(struct sn_ze_region, ze_copy_region_t);
SAME_PLACE(struct sn_ze_region, depth, ze_copy_region_t, depth);
SAME_SIZE(struct sn_ze_timestamps, ze_kernel_timestamp_result_t);
SAME_PLACE(struct sn_ze_timestamps, end, ze_kernel_timestamp_result_t, global.kernelEnd);
SAME_SIZE(struct sn_ze_device_properties, ze_device_properties_t);
SAME_PLACE(struct sn_ze_device_properties, timer_resolution, ze_device_properties_t,
	   timerResolution);
SAME_PLACE(struct sn_ze_device_properties, kernel_timestamp_bits, ze_device_properties_t,
	   kernelTimestampValidBits);
SAME_PLACE(struct sn_zel_tracers, create, zel_tracer_dditable_t, pfnCreate);
SAME_PLACE(struct sn_zel_tracers, set_enabled, zel_tracer_dditable_t, pfnSetEnabled);
SAME(SN_ZE_VERSION_1_0, ZE_API_VERSION_1_0);
SAME_SIZE(struct sn_zel_tracer_desc, zel_tracer_desc_t);
SAME_PLACE(struct sn_zel_tracer_desc, data, zel_tracer_desc_t, pUserData);

/* Places of the parameters that are read or replaced, in words. */
#define PARAMETER(call, place, field)                                                              \
	_Static_assert(offsetof(ze_##call##_params_t, field) == (place) * sizeof(void *), #call)
#define SN_ZE_APPEND(name, kind, place) SN_ZE_EVENT_OF_##name = place,
#define SN_ZE_WAIT(name)
#define SN_ZE_CALL(name)
#define SN_ZE_EXECUTE(name)
#define SN_ZE_OBJECT(name, before, after)
enum {
#include "collect/adapters/levelzero/calls.def"
};
#define EVENT(name, call)                                                                          \
	PARAMETER(call, SN_ZE_EVENT_OF_##name, phSignalEvent);                                     \
	PARAMETER(call, 0, phCommandList)
EVENT(CommandListAppendLaunchKernel, command_list_append_launch_kernel);
EVENT(CommandListAppendLaunchCooperativeKernel, command_list_append_launch_cooperative_kernel);
EVENT(CommandListAppendLaunchKernelIndirect, command_list_append_launch_kernel_indirect);
EVENT(CommandListAppendLaunchMultipleKernelsIndirect,
      command_list_append_launch_multiple_kernels_indirect);
EVENT(CommandListAppendMemoryCopy, command_list_append_memory_copy);
EVENT(CommandListAppendMemoryFill, command_list_append_memory_fill);
EVENT(CommandListAppendMemoryCopyRegion, command_list_append_memory_copy_region);
EVENT(CommandListAppendMemoryCopyFromContext, command_list_append_memory_copy_from_context);
EVENT(CommandListAppendImageCopy, command_list_append_image_copy);
EVENT(CommandListAppendImageCopyRegion, command_list_append_image_copy_region);
EVENT(CommandListAppendImageCopyToMemory, command_list_append_image_copy_to_memory);
EVENT(CommandListAppendImageCopyFromMemory, command_list_append_image_copy_from_memory);
PARAMETER(command_list_append_launch_kernel, 1, phKernel);
PARAMETER(command_list_append_memory_copy, 3, psize);
PARAMETER(command_list_append_memory_fill, 4, psize);
PARAMETER(command_list_append_memory_copy_from_context, 4, psize);
PARAMETER(command_list_append_memory_copy_region, 2, pdstRegion);
PARAMETER(command_list_append_event_reset, 1, phEvent);
PARAMETER(command_list_create, 2, pdesc);
PARAMETER(command_list_create, 3, pphCommandList);
PARAMETER(command_list_create_immediate, 1, phDevice);
PARAMETER(command_list_create_immediate, 3, pphCommandList);
PARAMETER(command_queue_execute_command_lists, 1, pnumCommandLists);
PARAMETER(command_queue_execute_command_lists, 2, pphCommandLists);
PARAMETER(event_pool_create, 1, pdesc);
PARAMETER(event_pool_create, 4, pphEventPool);
PARAMETER(event_create, 0, phEventPool);
PARAMETER(event_create, 2, pphEvent);
PARAMETER(kernel_create, 2, pphKernel);

/* Functions take and return what the adapter passes them: registering is with three words. */
_Static_assert(sizeof(zel_tracer_reg_t) == sizeof(uint32_t), "zel_tracer_reg_t");
_Static_assert(sizeof(ze_bool_t) == sizeof(uint8_t), "ze_bool_t");
_Static_assert(sizeof(ze_result_t) == sizeof(sn_ze_result), "ze_result_t");
