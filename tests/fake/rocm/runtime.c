/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libamdhip64.so on devices that are not there. As AMD's does, it calls itself through tables of functions, which it shows to
 * tools by rocprofiler-register before the first call.
 */
#include "hip_runtime.h"
#include "register.h"

#include "../device/kernels.h"

#include <pthread.h>
#include <stdlib.h>

#define HIP_VERSION 60400u
#define FUNCTIONS   463

static __thread hipError_t last_error;

static hipError_t failed(hipError_t error)
{
	return last_error = error;
}

static hipError_t begin(void)
{
	return fake_device_count() ? hipSuccess : failed(hipErrorNoDevice);
}

/* ---- bodies ---- */

static hipError_t body_hipGetDeviceCount(int *count)
{
	*count = fake_device_count();
	return begin();
}

static hipError_t body_hipGetDevice(int *device)
{
	*device = fake_current_device();
	return begin();
}

static hipError_t body_hipSetDevice(int device)
{
	if (device < 0 || device >= fake_device_count())
		return failed(hipErrorInvalidDevice);
	fake_set_current_device(device);
	return hipSuccess;
}

static hipError_t body_hipGetLastError(void)
{
	hipError_t error = last_error;
	last_error = hipSuccess;
	return error;
}

static hipError_t body_hipDeviceSynchronize(void)
{
	if (begin())
		return last_error;
	fake_device_wait(fake_current_device());
	return hipSuccess;
}

static hipError_t allocate(void **address, size_t bytes, enum fake_place place)
{
	if (begin())
		return last_error;
	void *memory = fake_memory_new(bytes, place, fake_current_device());
	if (!memory)
		return failed(hipErrorOutOfMemory);
	*address = memory;
	return hipSuccess;
}

static hipError_t body_hipMalloc(void **address, size_t bytes)
{
	return allocate(address, bytes, FAKE_DEVICE);
}

static hipError_t body_hipMallocAsync(void **address, size_t bytes, hipStream_t stream)
{
	(void)stream;
	return allocate(address, bytes, FAKE_DEVICE);
}

static hipError_t body_hipMallocManaged(void **address, size_t bytes, unsigned flags)
{
	(void)flags;
	return allocate(address, bytes, FAKE_MANAGED);
}

#define PITCH 256u

static hipError_t body_hipMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
	*pitch = (width + PITCH - 1) / PITCH * PITCH;
	return allocate(address, *pitch * height, FAKE_DEVICE);
}

static hipError_t body_hipMalloc3D(hipPitchedPtr *place, hipExtent extent)
{
	place->xsize = extent.width;
	place->ysize = extent.height;
	return body_hipMallocPitch(&place->ptr, &place->pitch, extent.width,
				   extent.height * extent.depth);
}

static hipError_t body_hipHostMalloc(void **address, size_t bytes, unsigned flags)
{
	(void)flags;
	return allocate(address, bytes, FAKE_PINNED);
}

static hipError_t body_hipFree(void *address)
{
	if (!address)
		return hipSuccess;
	fake_device_wait(fake_current_device());
	return fake_memory_free(address) ? hipSuccess : failed(hipErrorInvalidValue);
}

static hipError_t body_hipFreeAsync(void *address, hipStream_t stream)
{
	(void)stream;
	return body_hipFree(address);
}

static hipError_t body_hipHostFree(void *address)
{
	return body_hipFree(address);
}

static hipError_t body_hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind,
				      hipStream_t stream)
{
	(void)kind;
	if (begin())
		return last_error;
	fake_copy(to, from, bytes, fake_stream_of(stream), true);
	return hipSuccess;
}

static hipError_t body_hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind)
{
	(void)kind;
	if (begin())
		return last_error;
	fake_copy(to, from, bytes, fake_stream_of(NULL), false);
	return hipSuccess;
}

static hipError_t set(void *to, uint32_t value, size_t unit, size_t count, hipStream_t stream)
{
	if (begin())
		return last_error;
	fake_set(to, value, unit, count, fake_stream_of(stream), true);
	return hipSuccess;
}

static hipError_t body_hipMemsetAsync(void *to, int value, size_t bytes, hipStream_t stream)
{
	return set(to, (uint32_t)value, 1, bytes, stream);
}

static hipError_t body_hipMemset(void *to, int value, size_t bytes)
{
	return set(to, (uint32_t)value, 1, bytes, NULL);
}

static hipError_t body_hipMemsetD32(void *to, int value, size_t count)
{
	return set(to, (uint32_t)value, 4, count, NULL);
}

static hipError_t body_hipLaunchKernel(const void *function, dim3 grid, dim3 block,
				       void **arguments, size_t shared, hipStream_t stream)
{
	const struct fake_kernel *kernel = fake_kernel_of_host(function);
	(void)arguments;
	if (begin())
		return last_error;
	if (!kernel)
		return failed(hipErrorInvalidDeviceFunction);
	fake_launch(fake_stream_of(stream), kernel, (uint32_t[]){grid.x, grid.y, grid.z},
		    (uint32_t[]){block.x, block.y, block.z}, shared);
	return hipSuccess;
}

/* ---- streams and events ---- */

static hipError_t body_hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
	if (begin())
		return last_error;
	*stream = fake_stream_new(fake_current_device(), (int)flags, 0);
	return hipSuccess;
}

static hipError_t body_hipStreamCreate(hipStream_t *stream)
{
	return body_hipStreamCreateWithFlags(stream, 0);
}

static hipError_t body_hipStreamDestroy(hipStream_t stream)
{
	fake_stream_free(stream);
	return hipSuccess;
}

static hipError_t body_hipStreamQuery(hipStream_t stream)
{
	return fake_stream_is_done(fake_stream_of(stream)) ? hipSuccess : hipErrorNotReady;
}

static hipError_t body_hipStreamSynchronize(hipStream_t stream)
{
	if (begin())
		return last_error;
	fake_stream_wait(fake_stream_of(stream));
	return hipSuccess;
}

static hipError_t body_hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
	(void)flags;
	*event = fake_event_new();
	return begin();
}

static hipError_t body_hipEventCreate(hipEvent_t *event)
{
	return body_hipEventCreateWithFlags(event, 0);
}

static hipError_t body_hipEventDestroy(hipEvent_t event)
{
	fake_event_free(event);
	return hipSuccess;
}

static hipError_t body_hipEventRecord(hipEvent_t event, hipStream_t stream)
{
	fake_event_record(event, fake_stream_of(stream));
	return hipSuccess;
}

static hipError_t body_hipEventSynchronize(hipEvent_t event)
{
	fake_event_wait(event);
	return hipSuccess;
}

static hipError_t body_hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
	*ms = (float)((double)(fake_event_ns(stop) - fake_event_ns(start)) / 1e6);
	return hipSuccess;
}

static hipError_t body_hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags)
{
	(void)flags;
	fake_event_precedes(event, fake_stream_of(stream));
	return hipSuccess;
}

/* ---- graphs ---- */

static hipError_t body_hipStreamBeginCapture(hipStream_t stream, int mode)
{
	(void)mode;
	return fake_capture_begin(fake_stream_of(stream), fake_graph_new())
		   ? hipSuccess
		   : failed(hipErrorInvalidValue);
}

static hipError_t body_hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph)
{
	bool is_spoiled;
	*graph = fake_capture_end(fake_stream_of(stream), &is_spoiled);
	return *graph ? hipSuccess : failed(hipErrorInvalidValue);
}

static hipError_t body_hipGraphInstantiate(hipGraphExec_t *executable, hipGraph_t graph,
					   void **node, char *log, size_t size)
{
	(void)node, (void)log, (void)size;
	*executable = fake_executable_new(graph);
	return hipSuccess;
}

static hipError_t body_hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream)
{
	fake_executable_run(executable, fake_stream_of(stream));
	return hipSuccess;
}

static hipError_t body_hipGraphDestroy(hipGraph_t graph)
{
	fake_graph_free(graph);
	return hipSuccess;
}

static hipError_t body_hipGraphExecDestroy(hipGraphExec_t executable)
{
	fake_executable_free(executable);
	return hipSuccess;
}

/* ---- the table, and the functions that programs call ---- */

static struct {
	uint64_t bytes;
	void *functions[FUNCTIONS];
} table = {.bytes = sizeof(table)};
static void *tables[] = {&table};

static hipError_t unsupported(void)
{
	return failed(hipErrorNotSupported);
}

uint32_t rocprofiler_register_import_hip(void)
{
	return 1;
}

/* What is told to tools is that a call begins and ends outside of these. */
#define HIP(place, function, parameters, arguments, given)                                         \
	static hipError_t of_device_##function parameters                                          \
	{                                                                                          \
		struct fake_call call = {.domain = FAKE_RUNTIME, .name = #function};               \
		fake_call_begin(&call);                                                            \
		hipError_t error = body_##function arguments;                                      \
		fake_call_end(&call);                                                              \
		return error;                                                                      \
	}
#include "hip.def"
#undef HIP

static void show_table(void)
{
	struct fake_register_id id;
	for (int place = 0; place < FUNCTIONS; place++)
		table.functions[place] = (void *)unsupported;
#define HIP(place, function, parameters, arguments, given)                                         \
	table.functions[place] = (void *)of_device_##function;
#include "hip.def"
#undef HIP
	rocprofiler_register_library_api_table("hip", rocprofiler_register_import_hip, HIP_VERSION,
					       tables, 1, &id);
}

static void *function_at(int place)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, show_table);
	return table.functions[place];
}

#define HIP(place, function, parameters, arguments, given)                                         \
	hipError_t function parameters                                                             \
	{                                                                                          \
		return ((hipError_t(*) parameters)function_at(place))arguments;                    \
	}
#include "hip.def"
#undef HIP

const char *hipGetErrorString(hipError_t error)
{
	switch (error) {
	case hipSuccess:
		return "no error";
	case hipErrorNoDevice:
		return "no ROCm-capable device is detected";
	default:
		return "an error";
	}
}

/* ---- what the compiler's output calls ---- */

static __thread struct {
	dim3 grid, block;
	size_t shared;
	hipStream_t stream;
} configurations[8];
static __thread unsigned configuration_count;

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, hipStream_t stream)
{
	if (configuration_count == 8)
		return failed(hipErrorInvalidValue);
	configurations[configuration_count].grid = grid;
	configurations[configuration_count].block = block;
	configurations[configuration_count].shared = shared;
	configurations[configuration_count++].stream = stream;
	return hipSuccess;
}

hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, hipStream_t *stream)
{
	if (!configuration_count)
		return failed(hipErrorInvalidValue);
	configuration_count--;
	*grid = configurations[configuration_count].grid;
	*block = configurations[configuration_count].block;
	*shared = configurations[configuration_count].shared;
	*stream = configurations[configuration_count].stream;
	return hipSuccess;
}

/* What the compiler registers: one code object, not bundled. */
struct wrapper {
	uint32_t magic, version;
	const void *image;
};

void **__hipRegisterFatBinary(const struct wrapper *wrapper)
{
	void **handle = malloc(sizeof(*handle));
	*handle = fake_module_new(wrapper->image);
	return handle;
}

void __hipRegisterFunction(void **handle, const void *host, char *device, const char *name,
			   unsigned thread_limit, void *thread, void *block, dim3 *block_size,
			   dim3 *grid_size, int *warp_size)
{
	(void)device, (void)thread_limit, (void)thread, (void)block;
	(void)block_size, (void)grid_size, (void)warp_size;
	fake_kernel_add(host, name, *handle);
}

void __hipUnregisterFatBinary(void **handle)
{
	free(handle);
}
