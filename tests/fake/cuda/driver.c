/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's public functions. */
#define __CUDA_API_VERSION_INTERNAL
#include "runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A context is its device's primary one. */
static struct context {
	int device;
} contexts[FAKE_MOST_DEVICES];

static CUcontext context_of(int device)
{
	contexts[device].device = device;
	return (CUcontext)&contexts[device];
}

static bool is_begun;
static __thread CUcontext current;

/* As NVIDIA's does: the library of a tool is loaded when all is ready, and told so. */
static void load_tool(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *tool = path && *path ? dlopen(path, RTLD_NOW) : NULL;
	int (*begin)(void) = tool ? (int (*)(void))dlsym(tool, "InitializeInjection") : NULL;
	if (begin)
		begin();
}

/* FAKE_CUINIT_ERROR: there is a driver and no device, or none that this user may use. */
CUresult fake_cuInit(unsigned int flags)
{
	const char *error = getenv("FAKE_CUINIT_ERROR");
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (error && *error)
		return (CUresult)atoi(error);
	if (!is_begun) {
		is_begun = true;
		fake_device_begin();
		load_tool();
	}
	return fake_device_count() ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult fake_cuDriverGetVersion(int *version)
{
	*version = CUDA_VERSION;
	return CUDA_SUCCESS;
}

static const struct {
	CUresult error;
	const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

CUresult fake_cuGetErrorString(CUresult error, const char **text)
{
	*text = NULL;
	for (size_t index = 0; index < sizeof(errors) / sizeof(errors[0]); index++)
		if (errors[index].error == error)
			*text = errors[index].text;
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult fake_cuGetErrorName(CUresult error, const char **name)
{
	*name = NULL;
	for (size_t index = 0; index < sizeof(errors) / sizeof(errors[0]); index++)
		if (errors[index].error == error)
			*name = errors[index].name;
	return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- devices and contexts ---- */

CUresult fake_cuDeviceGetCount(int *count)
{
	*count = fake_device_count();
	return is_begun ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult fake_cuDeviceGet(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return ordinal >= 0 && ordinal < fake_device_count() ? CUDA_SUCCESS
							     : CUDA_ERROR_INVALID_DEVICE;
}

CUresult fake_cuDeviceGetName(char *name, int length, CUdevice device)
{
	snprintf(name, (size_t)length, "Fake device %d", device);
	return CUDA_SUCCESS;
}

CUresult fake_cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
	memset(uuid, 0, sizeof(*uuid));
	uuid->bytes[15] = (char)(device + 1);
	return CUDA_SUCCESS;
}

CUresult fake_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	return fake_cuDeviceGetUuid(uuid, device);
}

CUresult fake_cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	(void)device;
	*bytes = fake_device_memory();
	return CUDA_SUCCESS;
}

CUresult fake_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	return (CUresult)fake_device_attribute(value, (int)attribute, device);
}

CUresult fake_cuDeviceGetPCIBusId(char *text, int length, CUdevice device)
{
	snprintf(text, (size_t)length, "0000:%02x:00.0", 0x10 + device);
	return CUDA_SUCCESS;
}

CUresult fake_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	*context = context_of(device);
	return CUDA_SUCCESS;
}

CUresult fake_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	(void)device;
	return CUDA_SUCCESS;
}

CUresult fake_cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
	(void)device;
	*flags = 0;
	*active = 1;
	return CUDA_SUCCESS;
}

CUresult fake_cuCtxSetCurrent(CUcontext context)
{
	current = context;
	if (context)
		fake_set_current_device(((struct context *)context)->device);
	return CUDA_SUCCESS;
}

CUresult fake_cuCtxGetCurrent(CUcontext *context)
{
	*context = context_of(fake_current_device());
	return CUDA_SUCCESS;
}

static CUresult create(CUcontext *context, CUdevice device)
{
	*context = context_of(device);
	fake_module_use(device, NULL);
	return fake_cuCtxSetCurrent(*context);
}

CUresult fake_cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
	(void)flags;
	return create(context, device);
}

CUresult fake_cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *parameters, unsigned int flags,
			     CUdevice device)
{
	(void)parameters;
	(void)flags;
	return create(context, device);
}

CUresult fake_cuCtxDestroy_v2(CUcontext context)
{
	(void)context;
	return CUDA_SUCCESS;
}

CUresult fake_cuCtxPushCurrent_v2(CUcontext context)
{
	return fake_cuCtxSetCurrent(context);
}

CUresult fake_cuCtxPopCurrent_v2(CUcontext *context)
{
	*context = current;
	return CUDA_SUCCESS;
}

CUresult fake_cuCtxGetDevice(CUdevice *device)
{
	*device = fake_current_device();
	return CUDA_SUCCESS;
}

CUresult fake_cuCtxSynchronize(void)
{
	fake_device_wait(fake_current_device());
	return CUDA_SUCCESS;
}

/* ---- memory ---- */

CUresult fake_cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
	*address = (CUdeviceptr)(bytes ? fake_memory_new(bytes, FAKE_DEVICE, fake_current_device())
				       : NULL);
	return !bytes	  ? CUDA_ERROR_INVALID_VALUE
	       : *address ? CUDA_SUCCESS
			  : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult fake_cuMemFree_v2(CUdeviceptr address)
{
	fake_device_wait(fake_current_device());
	return !address || fake_memory_free((void *)address) ? CUDA_SUCCESS
							     : CUDA_ERROR_INVALID_VALUE;
}

CUresult fake_cuMemAllocHost_v2(void **address, size_t bytes)
{
	*address = fake_memory_new(bytes, FAKE_PINNED, fake_current_device());
	return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult fake_cuMemFreeHost(void *address)
{
	return fake_memory_free(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult fake_cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	*total = fake_device_memory();
	*free_bytes = *total - fake_device_memory_used(fake_current_device());
	return CUDA_SUCCESS;
}

CUresult fake_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
	int device;
	enum fake_place place = fake_memory_place((void *)address, NULL, NULL, &device);
	if (place == FAKE_PAGEABLE)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = context_of(device);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)data =
		    place == FAKE_PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*(void **)data = (void *)address;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = device;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

static CUresult copy(void *to, const void *from, size_t bytes, CUstream stream, bool is_async)
{
	fake_copy(to, from, bytes, fake_stream_of(stream), is_async);
	return CUDA_SUCCESS;
}

CUresult fake_cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
	return copy((void *)to, from, bytes, NULL, false);
}

CUresult fake_cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
	return copy(to, (void *)from, bytes, NULL, false);
}

CUresult fake_cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return copy((void *)to, (void *)from, bytes, NULL, false);
}

CUresult fake_cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	return copy((void *)to, from, bytes, stream, true);
}

CUresult fake_cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return copy(to, (void *)from, bytes, stream, true);
}

CUresult fake_cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return copy((void *)to, (void *)from, bytes, stream, true);
}

CUresult fake_cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return copy((void *)to, (void *)from, bytes, stream, true);
}

CUresult fake_cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
	fake_set((void *)to, value, 1, count, fake_stream_of(stream), true);
	return CUDA_SUCCESS;
}

CUresult fake_cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream)
{
	fake_set((void *)to, value, 4, count, fake_stream_of(stream), true);
	return CUDA_SUCCESS;
}

CUresult fake_cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count)
{
	return fake_cuMemsetD8Async(to, value, count, NULL);
}

CUresult fake_cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count)
{
	return fake_cuMemsetD32Async(to, value, count, NULL);
}

/* ---- streams and events ---- */

CUresult fake_cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	*stream = (CUstream)fake_stream_new(fake_current_device(), (int)flags, priority);
	return CUDA_SUCCESS;
}

CUresult fake_cuStreamCreate(CUstream *stream, unsigned int flags)
{
	return fake_cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult fake_cuStreamDestroy_v2(CUstream stream)
{
	fake_stream_free(fake_stream_of(stream));
	return CUDA_SUCCESS;
}

CUresult fake_cuStreamSynchronize(CUstream stream)
{
	fake_stream_wait(fake_stream_of(stream));
	return CUDA_SUCCESS;
}

CUresult fake_cuStreamQuery(CUstream stream)
{
	return fake_stream_is_done(fake_stream_of(stream)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult fake_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	(void)flags;
	fake_event_precedes((struct fake_event *)event, fake_stream_of(stream));
	return CUDA_SUCCESS;
}

CUresult fake_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	*status = fake_capture_of(fake_stream_of(stream), NULL, NULL)
		      ? CU_STREAM_CAPTURE_STATUS_ACTIVE
		      : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

CUresult fake_cuEventCreate(CUevent *event, unsigned int flags)
{
	(void)flags;
	*event = (CUevent)fake_event_new();
	return CUDA_SUCCESS;
}

CUresult fake_cuEventDestroy_v2(CUevent event)
{
	fake_event_free((struct fake_event *)event);
	return CUDA_SUCCESS;
}

CUresult fake_cuEventRecord(CUevent event, CUstream stream)
{
	fake_event_record((struct fake_event *)event, fake_stream_of(stream));
	return CUDA_SUCCESS;
}

CUresult fake_cuEventSynchronize(CUevent event)
{
	fake_event_wait((struct fake_event *)event);
	return CUDA_SUCCESS;
}

CUresult fake_cuEventQuery(CUevent event)
{
	return fake_event_is_done((struct fake_event *)event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

/* ---- graphs, as far as a stream is captured and replayed ---- */

CUresult fake_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	(void)mode;
	struct fake_graph *graph = fake_graph_new();
	if ((uintptr_t)stream > 2 && fake_capture_begin(fake_stream_of(stream), graph))
		return CUDA_SUCCESS;
	fake_graph_free(graph);
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult fake_cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	bool is_spoiled;
	*graph = (CUgraph)fake_capture_end(fake_stream_of(stream), &is_spoiled);
	return *graph	    ? CUDA_SUCCESS
	       : is_spoiled ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
			    : CUDA_ERROR_ILLEGAL_STATE;
}

CUresult fake_cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph,
					  unsigned long long flags)
{
	(void)flags;
	*executable = (CUgraphExec)fake_executable_new((struct fake_graph *)graph);
	return CUDA_SUCCESS;
}

CUresult fake_cuGraphLaunch(CUgraphExec executable, CUstream stream)
{
	fake_executable_run((struct fake_executable *)executable, fake_stream_of(stream));
	return CUDA_SUCCESS;
}

CUresult fake_cuGraphExecDestroy(CUgraphExec executable)
{
	fake_executable_free((struct fake_executable *)executable);
	return CUDA_SUCCESS;
}

CUresult fake_cuGraphDestroy(CUgraph graph)
{
	fake_graph_free((struct fake_graph *)graph);
	return CUDA_SUCCESS;
}

/* ---- modules and launches ---- */

CUresult fake_cuModuleLoadData(CUmodule *module, const void *image)
{
	*module = (CUmodule)fake_module_new(image);
	fake_module_use(fake_current_device(), (struct fake_module *)*module);
	return CUDA_SUCCESS;
}

CUresult fake_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
				 CUjit_option *options, void **values)
{
	(void)count, (void)options, (void)values;
	return fake_cuModuleLoadData(module, image);
}

/* A file of one cubin. */
CUresult fake_cuModuleLoad(CUmodule *module, const char *path)
{
	FILE *file = fopen(path, "rb");
	if (!file)
		return CUDA_ERROR_FILE_NOT_FOUND;
	fseek(file, 0, SEEK_END);
	size_t bytes = (size_t)ftell(file);
	char *image = malloc(bytes + 1);
	rewind(file);
	bool whole = fread(image, 1, bytes, file) == bytes;
	fclose(file);
	if (whole)
		fake_cuModuleLoadData(module, image);
	free(image);
	return whole ? CUDA_SUCCESS : CUDA_ERROR_FILE_NOT_FOUND;
}

CUresult fake_cuModuleUnload(CUmodule module)
{
	fake_module_free(fake_current_device(), (struct fake_module *)module);
	return CUDA_SUCCESS;
}

CUresult fake_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	*function = (CUfunction)fake_kernel_add(NULL, name, (struct fake_module *)module);
	return CUDA_SUCCESS;
}

CUresult fake_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
	(void)function;
	*value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
		 : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS	      ? 32
		 : attribute == CU_FUNC_ATTRIBUTE_BINARY_VERSION      ? 90
								      : 0;
	return CUDA_SUCCESS;
}

CUresult fake_cuFuncGetName(const char **name, CUfunction function)
{
	*name = ((struct fake_kernel *)function)->name;
	return CUDA_SUCCESS;
}

CUresult fake_cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	(void)function, (void)attribute, (void)value;
	return CUDA_SUCCESS;
}

CUresult fake_cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
	(void)function;
	(void)config;
	return CUDA_SUCCESS;
}

CUresult fake_cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
			     unsigned int grid_z, unsigned int block_x, unsigned int block_y,
			     unsigned int block_z, unsigned int shared, CUstream stream,
			     void **parameters, void **extra)
{
	(void)parameters;
	(void)extra;
	fake_launch(fake_stream_of(stream), (struct fake_kernel *)function,
		    (uint32_t[]){grid_x, grid_y, grid_z}, (uint32_t[]){block_x, block_y, block_z},
		    shared);
	return CUDA_SUCCESS;
}

CUresult fake_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
			       void **extra)
{
	return fake_cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ,
				   config->blockDimX, config->blockDimY, config->blockDimZ,
				   config->sharedMemBytes, config->hStream, parameters, extra);
}

CUresult fake_cuOccupancyMaxActiveClusters(int *clusters, CUfunction function,
					   const CUlaunchConfig *config)
{
	(void)function;
	(void)config;
	*clusters = 66;
	return CUDA_SUCCESS;
}

CUresult fake_cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
				     void *address, const cuuint64_t *sizes,
				     const cuuint64_t *strides, const cuuint32_t *box,
				     const cuuint32_t *steps, CUtensorMapInterleave interleave,
				     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
				     CUtensorMapFloatOOBfill fill)
{
	(void)map, (void)type, (void)rank, (void)address, (void)sizes, (void)strides, (void)box,
	    (void)steps;
	(void)interleave, (void)swizzle, (void)promotion, (void)fill;
	return CUDA_SUCCESS;
}

/* ---- functions by name; private tables there are none ---- */

CUresult fake_cuGetProcAddress_v2(const char *symbol, void **function, int version,
				  cuuint64_t flags, CUdriverProcAddressQueryResult *result)
{
	(void)version;
	(void)flags;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	*function = driver ? fake_driver_function(driver, symbol) : NULL;
	if (result)
		*result =
		    *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult fake_cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
	return fake_cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}

CUresult fake_cuGetExportTable(const void **table, const CUuuid *id)
{
	(void)id;
	*table = NULL;
	return CUDA_ERROR_NOT_FOUND;
}
