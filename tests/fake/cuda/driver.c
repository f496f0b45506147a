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

CUresult fake_cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	*can = device != peer;
	return CUDA_SUCCESS;
}

CUresult fake_cuCtxEnablePeerAccess(CUcontext context, unsigned int flags)
{
	(void)context;
	(void)flags;
	return CUDA_SUCCESS;
}

CUresult fake_cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
	(void)device;
	*major = 9;
	*minor = 0;
	return CUDA_SUCCESS;
}

CUresult fake_cuProfilerStart(void)
{
	return CUDA_SUCCESS;
}

CUresult fake_cuProfilerStop(void)
{
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

/* Contexts below the current one. */
static __thread CUcontext below[16];
static __thread unsigned depth;

CUresult fake_cuCtxPushCurrent_v2(CUcontext context)
{
	if (depth == 16)
		return CUDA_ERROR_INVALID_CONTEXT;
	below[depth++] = current;
	return fake_cuCtxSetCurrent(context);
}

CUresult fake_cuCtxPopCurrent_v2(CUcontext *context)
{
	if (context)
		*context = current;
	return depth ? fake_cuCtxSetCurrent(below[--depth]) : fake_cuCtxSetCurrent(NULL);
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

CUresult fake_cuMemFree_v2(CUdeviceptr address)
{
	fake_device_wait(fake_current_device());
	return !address || fake_memory_free((void *)address) ? CUDA_SUCCESS
							     : CUDA_ERROR_INVALID_VALUE;
}

static CUresult allocate(CUdeviceptr *address, size_t bytes, enum fake_place place)
{
	*address =
	    (CUdeviceptr)(bytes ? fake_memory_new(bytes, place, fake_current_device()) : NULL);
	return !bytes	  ? CUDA_ERROR_INVALID_VALUE
	       : *address ? CUDA_SUCCESS
			  : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult fake_cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
	return allocate(address, bytes, FAKE_DEVICE);
}

CUresult fake_cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
	(void)stream;
	return allocate(address, bytes, FAKE_DEVICE);
}

CUresult fake_cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
	(void)stream;
	return !address || fake_memory_free((void *)address) ? CUDA_SUCCESS
							     : CUDA_ERROR_INVALID_VALUE;
}

CUresult fake_cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned int flags)
{
	(void)flags;
	return allocate(address, bytes, FAKE_MANAGED);
}

CUresult fake_cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
				 unsigned int element_bytes)
{
	(void)element_bytes;
	*pitch = (width + 511) & ~(size_t)511;
	return allocate(address, *pitch * height, FAKE_DEVICE);
}

CUresult fake_cuMemHostAlloc(void **address, size_t bytes, unsigned int flags)
{
	(void)flags;
	return allocate((CUdeviceptr *)address, bytes, FAKE_PINNED);
}

CUresult fake_cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *host, unsigned int flags)
{
	(void)flags;
	*device = (CUdeviceptr)host;
	return CUDA_SUCCESS;
}

CUresult fake_cuMemHostRegister_v2(void *address, size_t bytes, unsigned int flags)
{
	(void)flags;
	fake_memory_pin(address, bytes);
	return CUDA_SUCCESS;
}

CUresult fake_cuMemHostUnregister(void *address)
{
	fake_memory_unpin(address);
	return CUDA_SUCCESS;
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

CUresult fake_cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return copy((void *)to, (void *)from, bytes, NULL, false);
}

CUresult fake_cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
			   CUcontext from_context, size_t bytes)
{
	(void)to_context;
	(void)from_context;
	return copy((void *)to, (void *)from, bytes, NULL, false);
}

CUresult fake_cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
				CUcontext from_context, size_t bytes, CUstream stream)
{
	(void)to_context;
	(void)from_context;
	return copy((void *)to, (void *)from, bytes, stream, true);
}

CUresult fake_cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
	fake_set((void *)to, value, 2, count, fake_stream_of(stream), true);
	return CUDA_SUCCESS;
}

CUresult fake_cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count)
{
	return fake_cuMemsetD16Async(to, value, count, NULL);
}

CUresult fake_cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
				size_t height, CUstream stream)
{
	fake_set_rows((void *)to, pitch, value, 1, width, height, fake_stream_of(stream));
	return CUDA_SUCCESS;
}

CUresult fake_cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
			      size_t height)
{
	return fake_cuMemsetD2D8Async(to, pitch, value, width, height, NULL);
}

CUresult fake_cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
				 size_t height, CUstream stream)
{
	fake_set_rows((void *)to, pitch, value, 4, width, height, fake_stream_of(stream));
	return CUDA_SUCCESS;
}

CUresult fake_cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
			       size_t height)
{
	return fake_cuMemsetD2D32Async(to, pitch, value, width, height, NULL);
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

CUresult fake_cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
	uint64_t start_ns = fake_event_ns((struct fake_event *)start),
		 end_ns = fake_event_ns((struct fake_event *)end);
	if (!start_ns || !end_ns)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!fake_event_is_done((struct fake_event *)start) ||
	    !fake_event_is_done((struct fake_event *)end))
		return CUDA_ERROR_NOT_READY;
	*ms = (float)((double)(int64_t)(end_ns - start_ns) / 1e6);
	return CUDA_SUCCESS;
}

CUresult fake_cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	return fake_cuEventElapsedTime_v2(ms, start, end);
}

CUresult fake_cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
	(void)flags;
	return fake_cuEventRecord(event, stream);
}

CUresult fake_cuStreamGetCtx(CUstream stream, CUcontext *context)
{
	*context = (CUcontext)&contexts[fake_stream_device(fake_stream_of(stream))];
	return CUDA_SUCCESS;
}

CUresult fake_cuStreamGetPriority(CUstream stream, int *priority)
{
	*priority = fake_stream_priority(fake_stream_of(stream));
	return CUDA_SUCCESS;
}

CUresult fake_cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
	struct fake_operation operation = {
	    .kind = FAKE_HOST, .host = function, .data = data, .peer = -1};
	fake_enqueue(fake_stream_of(stream), &operation);
	return CUDA_SUCCESS;
}

/* ---- functions by name; private tables there are none ---- */

/* The newest form of the version that is asked for; that of each thread's default stream first, where that is wanted. */
static const struct fake_entry_point *form_of(const char *name, int version, bool is_per_thread,
					      bool *is_known)
{
	for (const struct fake_entry_point *at = fake_entry_points; at->name; at++) {
		if (strcmp(at->name, name) || at->is_per_thread != is_per_thread)
			continue;
		*is_known = true;
		if (at->version <= version)
			return at;
	}
	return NULL;
}

static int find_entry(const char *name, void **function, int version, uint64_t flags, int *result)
{
	bool is_known = false;
	const struct fake_entry_point *found = NULL;
	*function = NULL;
	if (version > CUDA_VERSION || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		found = form_of(name, version, true, &is_known);
	if (!found)
		found = form_of(name, version, false, &is_known);
	if (found)
		*function = found->function;
	*result = found	     ? CU_GET_PROC_ADDRESS_SUCCESS
		  : is_known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
			     : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

__attribute__((constructor)) static void offer(void)
{
	fake_find_entry = find_entry;
}

CUresult fake_cuGetProcAddress_v2(const char *symbol, void **function, int version,
				  cuuint64_t flags, CUdriverProcAddressQueryResult *result)
{
	int found;
	if (!symbol || !function)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult error = find_entry(symbol, function, version, flags, &found);
	if (!error && result)
		*result = (CUdriverProcAddressQueryResult)found;
	return error;
}

/* It has no other means to tell that there is none. */
CUresult fake_cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
	CUresult error = fake_cuGetProcAddress_v2(symbol, function, version, flags, NULL);
	return error ? error : *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult fake_cuGetExportTable(const void **table, const CUuuid *id)
{
	(void)id;
	*table = NULL;
	return CUDA_ERROR_NOT_FOUND;
}
