/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles where the adapter's declarations of rocprofiler-sdk and of HIP's table lie as AMD's headers have them. */
#define __HIP_PLATFORM_AMD__
typedef unsigned GLuint, GLenum;
#include <hip/hip_runtime_api.h>

#include <hip/hip_deprecated.h>
#include <hip/hip_gl_interop.h>

#include <hip/amd_detail/hip_api_trace.hpp>
#include <rocprofiler-sdk-roctx/api_trace.h>
#include <rocprofiler-sdk/registration.h>
#include <rocprofiler-sdk/rocprofiler.h>

#include "collect/adapters/rocm/rocprofiler_samples.h"
#include "collect/interface/roctx.h"

#define SAME(ours, our_field, theirs, their_field)                                                 \
	static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #our_field)

static_assert(sizeof(sn_rocprofiler_call) == sizeof(rocprofiler_callback_tracing_record_t), "size");
SAME(sn_rocprofiler_call, correlation, rocprofiler_callback_tracing_record_t, correlation_id);
SAME(sn_rocprofiler_call, kind, rocprofiler_callback_tracing_record_t, kind);
SAME(sn_rocprofiler_call, operation, rocprofiler_callback_tracing_record_t, operation);
SAME(sn_rocprofiler_call, phase, rocprofiler_callback_tracing_record_t, phase);
SAME(sn_rocprofiler_call, payload, rocprofiler_callback_tracing_record_t, payload);
SAME(sn_rocprofiler_arguments, words, rocprofiler_callback_tracing_hip_api_data_t, args);
static_assert(sizeof(rocprofiler_hip_api_retval_t) == SN_ROCPROFILER_RESULT_BYTES, "size");
static_assert(sizeof(rocprofiler_callback_tracing_hip_api_data_t) - SN_ROCPROFILER_RESULT_BYTES ==
		  offsetof(rocprofiler_callback_tracing_hip_api_data_t, retval),
	      "what is returned stands at the end");
SAME(sn_rocprofiler_stream, stream, rocprofiler_callback_tracing_hip_stream_data_t, stream_id);
SAME(sn_rocprofiler_stream, handle, rocprofiler_callback_tracing_hip_stream_data_t, stream_value);
SAME(sn_rocprofiler_header, category, rocprofiler_record_header_t, category);
SAME(sn_rocprofiler_header, kind, rocprofiler_record_header_t, kind);
SAME(sn_rocprofiler_header, record, rocprofiler_record_header_t, payload);

typedef rocprofiler_callback_tracing_code_object_kernel_symbol_register_data_t symbol;
SAME(sn_rocprofiler_symbol, size, symbol, size);
SAME(sn_rocprofiler_symbol, kernel, symbol, kernel_id);
SAME(sn_rocprofiler_symbol, name, symbol, kernel_name);

typedef rocprofiler_buffer_tracing_kernel_dispatch_record_t kernel;
static_assert(sizeof(sn_rocprofiler_kernel) <= sizeof(kernel), "size");
SAME(sn_rocprofiler_kernel, correlation, kernel, correlation_id);
SAME(sn_rocprofiler_kernel, thread, kernel, thread_id);
SAME(sn_rocprofiler_kernel, start, kernel, start_timestamp);
SAME(sn_rocprofiler_kernel, end, kernel, end_timestamp);
SAME(sn_rocprofiler_kernel, agent, kernel, dispatch_info.agent_id);
SAME(sn_rocprofiler_kernel, queue, kernel, dispatch_info.queue_id);
SAME(sn_rocprofiler_kernel, kernel, kernel, dispatch_info.kernel_id);
SAME(sn_rocprofiler_kernel, workgroup, kernel, dispatch_info.workgroup_size);
SAME(sn_rocprofiler_kernel, grid, kernel, dispatch_info.grid_size);

typedef rocprofiler_buffer_tracing_memory_copy_record_t copy;
static_assert(sizeof(sn_rocprofiler_copy) <= sizeof(copy), "size");
SAME(sn_rocprofiler_copy, direction, copy, operation);
SAME(sn_rocprofiler_copy, correlation, copy, correlation_id);
SAME(sn_rocprofiler_copy, start, copy, start_timestamp);
SAME(sn_rocprofiler_copy, end, copy, end_timestamp);
SAME(sn_rocprofiler_copy, to_agent, copy, dst_agent_id);
SAME(sn_rocprofiler_copy, bytes, copy, bytes);

typedef rocprofiler_counter_info_v0_t counter_info;
static_assert(sizeof(sn_rocprofiler_counter_info) == sizeof(counter_info), "size");
SAME(sn_rocprofiler_counter_info, name, counter_info, name);
SAME(sn_rocprofiler_counter_info, expression, counter_info, expression);
typedef rocprofiler_dispatch_counting_service_data_t dispatch;
static_assert(sizeof(sn_rocprofiler_dispatch) <= sizeof(dispatch), "size");
SAME(sn_rocprofiler_dispatch, correlation, dispatch, correlation_id);
SAME(sn_rocprofiler_dispatch, start, dispatch, start_timestamp);
SAME(sn_rocprofiler_dispatch, agent, dispatch, dispatch_info.agent_id);
SAME(sn_rocprofiler_dispatch, kernel, dispatch, dispatch_info.kernel_id);
SAME(sn_rocprofiler_dispatch, dispatch, dispatch, dispatch_info.dispatch_id);
static_assert(sizeof(sn_rocprofiler_counted) == sizeof(rocprofiler_counter_record_t), "size");
SAME(sn_rocprofiler_counted, value, rocprofiler_counter_record_t, counter_value);
SAME(sn_rocprofiler_counted, dispatch, rocprofiler_counter_record_t, dispatch_id);
SAME(sn_rocprofiler_counted, agent, rocprofiler_counter_record_t, agent_id);

SAME(sn_rocprofiler_agent, id, rocprofiler_agent_t, id);
SAME(sn_rocprofiler_agent, type, rocprofiler_agent_t, type);
SAME(sn_rocprofiler_tool, initialize, rocprofiler_tool_configure_result_t, initialize);
SAME(sn_rocprofiler_tool, finalize, rocprofiler_tool_configure_result_t, finalize);

typedef rocprofiler_pc_sampling_configuration_t offer;
static_assert(sizeof(sn_rocprofiler_offer) == sizeof(offer), "size");
SAME(sn_rocprofiler_offer, method, offer, method);
SAME(sn_rocprofiler_offer, unit, offer, unit);
SAME(sn_rocprofiler_offer, least, offer, min_interval);
SAME(sn_rocprofiler_offer, most, offer, max_interval);
SAME(sn_rocprofiler_offer, flags, offer, flags);

typedef rocprofiler_pc_sampling_record_host_trap_v0_t trap;
static_assert(sizeof(sn_rocprofiler_sample) == sizeof(trap), "size");
SAME(sn_rocprofiler_sample, code_object, trap, pc.code_object_id);
SAME(sn_rocprofiler_sample, offset, trap, pc.code_object_offset);
SAME(sn_rocprofiler_sample, dispatch, trap, dispatch_id);
SAME(sn_rocprofiler_sample, correlation, trap, correlation_id);

typedef rocprofiler_pc_sampling_record_stochastic_v0_t stochastic;
static_assert(sizeof(sn_rocprofiler_stochastic) == sizeof(stochastic), "size");
SAME(sn_rocprofiler_stochastic, wave, stochastic, wave_in_group);
SAME(sn_rocprofiler_stochastic, hardware, stochastic, hw_id);
SAME(sn_rocprofiler_stochastic, code_object, stochastic, pc.code_object_id);
SAME(sn_rocprofiler_stochastic, offset, stochastic, pc.code_object_offset);
SAME(sn_rocprofiler_stochastic, dispatch, stochastic, dispatch_id);
SAME(sn_rocprofiler_stochastic, correlation, stochastic, correlation_id);
SAME(sn_rocprofiler_stochastic, snapshot, stochastic, snapshot);

SAME(sn_rocprofiler_enqueued, kernel, rocprofiler_callback_tracing_kernel_dispatch_data_t, dispatch_info.kernel_id);
SAME(sn_rocprofiler_enqueued, dispatch, rocprofiler_callback_tracing_kernel_dispatch_data_t, dispatch_info.dispatch_id);

typedef rocprofiler_callback_tracing_code_object_load_data_t loaded;
static_assert(sizeof(sn_rocprofiler_code_object) == sizeof(loaded), "size");
SAME(sn_rocprofiler_code_object, id, loaded, code_object_id);
SAME(sn_rocprofiler_code_object, uri, loaded, uri);
SAME(sn_rocprofiler_code_object, load_base, loaded, load_base);
SAME(sn_rocprofiler_code_object, load_delta, loaded, load_delta);
SAME(sn_rocprofiler_code_object, storage, loaded, storage_type);
SAME(sn_rocprofiler_code_object, file, loaded, storage_file);
SAME(sn_rocprofiler_code_object, memory_base, loaded, memory_base);
SAME(sn_rocprofiler_code_object, memory_size, loaded, memory_size);

#define EQUAL(ours, theirs) static_assert((int)(ours) == (int)(theirs), #ours)
EQUAL(SN_ROCPROFILER_CALLBACK_HIP, ROCPROFILER_CALLBACK_TRACING_HIP_RUNTIME_API);
EQUAL(SN_ROCPROFILER_CALLBACK_CODE_OBJECT, ROCPROFILER_CALLBACK_TRACING_CODE_OBJECT);
EQUAL(SN_ROCPROFILER_CALLBACK_STREAM, ROCPROFILER_CALLBACK_TRACING_HIP_STREAM);
EQUAL(SN_ROCPROFILER_STREAM_SET, ROCPROFILER_HIP_STREAM_SET);
EQUAL(SN_ROCPROFILER_BUFFER_COPY, ROCPROFILER_BUFFER_TRACING_MEMORY_COPY);
EQUAL(SN_ROCPROFILER_BUFFER_KERNEL, ROCPROFILER_BUFFER_TRACING_KERNEL_DISPATCH);
EQUAL(SN_ROCPROFILER_CATEGORY_TRACING, ROCPROFILER_BUFFER_CATEGORY_TRACING);
EQUAL(SN_ROCPROFILER_ENTER, ROCPROFILER_CALLBACK_PHASE_ENTER);
EQUAL(SN_ROCPROFILER_EXIT, ROCPROFILER_CALLBACK_PHASE_EXIT);
EQUAL(SN_ROCPROFILER_KERNEL_SYMBOL, ROCPROFILER_CODE_OBJECT_DEVICE_KERNEL_SYMBOL_REGISTER);
EQUAL(SN_ROCPROFILER_BLOCKS, ROCPROFILER_BUFFER_POLICY_LOSSLESS);
EQUAL(SN_ROCPROFILER_AGENT_VERSION, ROCPROFILER_AGENT_INFO_VERSION_0);
EQUAL(SN_ROCPROFILER_COUNTER_VERSION, ROCPROFILER_COUNTER_INFO_VERSION_0);
EQUAL(SN_ROCPROFILER_AGENT_GPU, ROCPROFILER_AGENT_TYPE_GPU);
EQUAL(SN_ROCPROFILER_STOCHASTIC, ROCPROFILER_PC_SAMPLING_METHOD_STOCHASTIC);
EQUAL(SN_ROCPROFILER_HOST_TRAP, ROCPROFILER_PC_SAMPLING_METHOD_HOST_TRAP);
EQUAL(SN_ROCPROFILER_INSTRUCTIONS, ROCPROFILER_PC_SAMPLING_UNIT_INSTRUCTIONS);
EQUAL(SN_ROCPROFILER_CYCLES, ROCPROFILER_PC_SAMPLING_UNIT_CYCLES);
EQUAL(SN_ROCPROFILER_TIME, ROCPROFILER_PC_SAMPLING_UNIT_TIME);
EQUAL(SN_ROCPROFILER_POWERS_OF_2, ROCPROFILER_PC_SAMPLING_CONFIGURATION_FLAGS_INTERVAL_POW2);
EQUAL(SN_ROCPROFILER_CATEGORY_SAMPLES, ROCPROFILER_BUFFER_CATEGORY_PC_SAMPLING);
EQUAL(SN_ROCPROFILER_SAMPLE_INVALID, ROCPROFILER_PC_SAMPLING_RECORD_INVALID_SAMPLE);
EQUAL(SN_ROCPROFILER_SAMPLE_HOST_TRAP, ROCPROFILER_PC_SAMPLING_RECORD_HOST_TRAP_V0_SAMPLE);
EQUAL(SN_ROCPROFILER_SAMPLE_STOCHASTIC, ROCPROFILER_PC_SAMPLING_RECORD_STOCHASTIC_V0_SAMPLE);
EQUAL(SN_ROCPROFILER_CALLBACK_DISPATCH, ROCPROFILER_CALLBACK_TRACING_KERNEL_DISPATCH);
EQUAL(SN_ROCPROFILER_DISPATCH_ENQUEUE, ROCPROFILER_KERNEL_DISPATCH_ENQUEUE);
EQUAL(SN_ROCPROFILER_CODE_OBJECT_LOAD, ROCPROFILER_CODE_OBJECT_LOAD);
EQUAL(SN_ROCPROFILER_IN_FILE, ROCPROFILER_CODE_OBJECT_STORAGE_TYPE_FILE);
EQUAL(SN_ROCPROFILER_IN_MEMORY, ROCPROFILER_CODE_OBJECT_STORAGE_TYPE_MEMORY);
EQUAL(SN_ROCPROFILER_ERROR, ROCPROFILER_STATUS_ERROR);
EQUAL(SN_ROCPROFILER_ERROR_NOT_IMPLEMENTED, ROCPROFILER_STATUS_ERROR_NOT_IMPLEMENTED);
EQUAL(SN_ROCPROFILER_ERROR_OLD_DRIVER, ROCPROFILER_STATUS_ERROR_INCOMPATIBLE_KERNEL);
EQUAL(SN_ROCPROFILER_ERROR_NOT_AVAILABLE, ROCPROFILER_STATUS_ERROR_NOT_AVAILABLE);
EQUAL(SN_ROCPROFILER_ERROR_PERMISSION, ROCPROFILER_STATUS_ERROR_PERMISSION_DENIED);
EQUAL(SN_ROCPROFILER_REASON_MASK >= ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_SLEEP_WAIT, true);

#define HIP(place, name, parameters, arguments)                                                    \
	static_assert(offsetof(HipDispatchTable, name##_fn) == 8 + 8 * place, #name);
#include "collect/adapters/rocm/calls.def"

SAME(sn_roctx_table, mark, roctxCoreApiTable_t, roctxMarkA_fn);
SAME(sn_roctx_table, push, roctxCoreApiTable_t, roctxRangePushA_fn);
SAME(sn_roctx_table, pop, roctxCoreApiTable_t, roctxRangePop_fn);
SAME(sn_roctx_table, start, roctxCoreApiTable_t, roctxRangeStartA_fn);
SAME(sn_roctx_table, stop, roctxCoreApiTable_t, roctxRangeStop_fn);
