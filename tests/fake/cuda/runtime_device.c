/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's functions about devices, versions and errors. */
#include "runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define PROCESSORS 132

static __thread cudaError_t last_error;
static pthread_once_t is_begun = PTHREAD_ONCE_INIT;
static cudaError_t begun;

/* As NVIDIA's does, the runtime opens the driver when it is first needed. */
static void open_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	CUresult (*start)(unsigned) =
	    driver ? (CUresult(*)(unsigned))dlsym(driver, "cuInit") : NULL;
	begun = start ? (cudaError_t)start(0) : cudaErrorInsufficientDriver;
}

cudaError_t fake_begin(void)
{
	pthread_once(&is_begun, open_driver);
	return !begun && fake_device_is_lost() ? cudaErrorLaunchFailure : begun;
}

cudaError_t fake_error(cudaError_t error)
{
	if (error)
		last_error = error;
	return error;
}

cudaError_t fake_cudaGetLastError(void)
{
	cudaError_t error = last_error;
	last_error = cudaSuccess;
	return error;
}

cudaError_t fake_cudaPeekAtLastError(void)
{
	return last_error;
}

static const struct {
	cudaError_t error;
	const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorMissingConfiguration, "cudaErrorMissingConfiguration",
     "__global__ function call is not configured"},
    {cudaErrorIllegalState, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorGraphExecUpdateFailure, "cudaErrorGraphExecUpdateFailure",
     "the graph update was not performed because it included changes which violated constraints "
     "specific to instantiated graph update"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
};

const char *fake_cudaGetErrorName(cudaError_t error)
{
	for (size_t index = 0; index < sizeof(errors) / sizeof(errors[0]); index++)
		if (errors[index].error == error)
			return errors[index].name;
	return "cudaErrorUnknown";
}

const char *fake_cudaGetErrorString(cudaError_t error)
{
	for (size_t index = 0; index < sizeof(errors) / sizeof(errors[0]); index++)
		if (errors[index].error == error)
			return errors[index].text;
	return "unknown error";
}

cudaError_t fake_cudaDriverGetVersion(int *version)
{
	*version = fake_begin() ? 0 : CUDART_VERSION;
	return cudaSuccess;
}

cudaError_t fake_cudaRuntimeGetVersion(int *version)
{
	*version = CUDART_VERSION;
	return cudaSuccess;
}

cudaError_t fake_cudaGetDeviceCount(int *count)
{
	cudaError_t error = fake_begin();
	*count = error ? 0 : fake_device_count();
	if (!error && !*count)
		error = cudaErrorNoDevice;
	return fake_error(error);
}

cudaError_t fake_cudaGetDevice(int *device)
{
	*device = fake_current_device();
	return fake_error(fake_begin());
}

cudaError_t fake_cudaSetDevice(int device)
{
	if (fake_begin())
		return fake_error(begun);
	if (device < 0 || device >= fake_device_count())
		return fake_error(cudaErrorInvalidDevice);
	fake_set_current_device(device);
	return cudaSuccess;
}

/* A device of compute capability 9.0, as an H100 has it. */
cudaError_t fake_cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
	if (device < 0 || device >= fake_device_count())
		return fake_error(cudaErrorInvalidDevice);
	memset(properties, 0, sizeof(*properties));
	snprintf(properties->name, sizeof(properties->name), "Fake device %d", device);
	properties->uuid.bytes[15] = (char)(device + 1);
	properties->totalGlobalMem = fake_device_memory();
	properties->sharedMemPerBlock = 49152;
	properties->sharedMemPerBlockOptin = 232448;
	properties->sharedMemPerMultiprocessor = 233472;
	properties->reservedSharedMemPerBlock = 1024;
	properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
	properties->warpSize = 32;
	properties->memPitch = 2147483647;
	properties->maxThreadsPerBlock = 1024;
	properties->maxThreadsPerMultiProcessor = 2048;
	properties->maxBlocksPerMultiProcessor = 32;
	memcpy(properties->maxThreadsDim, (int[]){1024, 1024, 64},
	       sizeof(properties->maxThreadsDim));
	memcpy(properties->maxGridSize, (int[]){2147483647, 65535, 65535},
	       sizeof(properties->maxGridSize));
	properties->totalConstMem = 65536;
	properties->major = 9;
	properties->textureAlignment = 512;
	properties->texturePitchAlignment = 32;
	properties->multiProcessorCount = PROCESSORS;
	properties->canMapHostMemory = properties->concurrentKernels =
	    properties->unifiedAddressing = 1;
	properties->managedMemory = properties->streamPrioritiesSupported =
	    properties->cooperativeLaunch = 1;
	properties->pciBusID = 0x10 + device;
	properties->asyncEngineCount = 3;
	properties->memoryBusWidth = 5120;
	properties->l2CacheSize = 52428800;
	return cudaSuccess;
}

cudaError_t fake_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
	struct cudaDeviceProp properties;
	cudaError_t error = fake_cudaGetDeviceProperties(&properties, device);
	if (error)
		return error;
	return (cudaError_t)fake_device_attribute(value, (int)attribute, device);
}

cudaError_t fake_cudaDeviceGetPCIBusId(char *text, int length, int device)
{
	snprintf(text, (size_t)length, "0000:%02x:00.0", 0x10 + device);
	return cudaSuccess;
}

cudaError_t fake_cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return cudaSuccess;
}

cudaError_t fake_cudaDeviceSynchronize(void)
{
	if (fake_begin())
		return fake_error(begun);
	fake_device_wait(fake_current_device());
	return cudaSuccess;
}

cudaError_t fake_cudaDeviceReset(void)
{
	fake_device_wait(fake_current_device());
	fake_context_end(fake_current_device());
	return cudaSuccess;
}

cudaError_t fake_cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	*can = device != peer;
	return cudaSuccess;
}

cudaError_t fake_cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
	(void)flags;
	return peer < fake_device_count() ? cudaSuccess : fake_error(cudaErrorInvalidDevice);
}

cudaError_t fake_cudaProfilerStart(void)
{
	return cudaSuccess;
}

cudaError_t fake_cudaProfilerStop(void)
{
	return cudaSuccess;
}

/* Functions of the driver that the program asks for through the runtime. */
cudaError_t fake_cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
						  unsigned int version, unsigned long long flags,
						  enum cudaDriverEntryPointQueryResult *result)
{
	int found, error = fake_begin();
	if (!error)
		error = fake_find_entry(symbol, function, (int)version, flags, &found);
	if (error)
		return fake_error((cudaError_t)error);
	if (result)
		*result = (enum cudaDriverEntryPointQueryResult)found;
	return *function || result ? cudaSuccess : fake_error(cudaErrorInvalidValue);
}

cudaError_t fake_cudaGetDriverEntryPoint(const char *symbol, void **function,
					 unsigned long long flags,
					 enum cudaDriverEntryPointQueryResult *result)
{
	return fake_cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags,
						     result);
}
