/* SPDX-License-Identifier: Apache-2.0 */
/* As much of HIP as test programs call. Declared here, so that they compile without ROCm: clang -x hip -nogpuinc -nogpulib. */
#ifndef FAKE_HIP_RUNTIME_H
#define FAKE_HIP_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
struct dim3 {
	uint32_t x, y, z;
#ifdef __HIP__
	__attribute__((host, device))
#endif
	constexpr dim3(uint32_t x_ = 1, uint32_t y_ = 1, uint32_t z_ = 1)
	    : x(x_), y(y_), z(z_)
	{
	}
};
#else
typedef struct {
	uint32_t x, y, z;
} dim3;
#endif

typedef enum {
	hipSuccess = 0,
	hipErrorInvalidValue = 1,
	hipErrorOutOfMemory = 2,
	hipErrorInvalidDeviceFunction = 98,
	hipErrorNoDevice = 100,
	hipErrorInvalidDevice = 101,
	hipErrorNotReady = 600,
	hipErrorNotSupported = 801,
} hipError_t;

typedef enum {
	hipMemcpyHostToHost = 0,
	hipMemcpyHostToDevice = 1,
	hipMemcpyDeviceToHost = 2,
	hipMemcpyDeviceToDevice = 3,
	hipMemcpyDefault = 4,
} hipMemcpyKind;

enum { hipStreamNonBlocking = 1, hipStreamCaptureModeGlobal = 0 };

typedef struct fake_stream *hipStream_t;
typedef struct fake_event *hipEvent_t;
typedef struct fake_graph *hipGraph_t;
typedef struct fake_executable *hipGraphExec_t;

typedef struct {
	void *ptr;
	size_t pitch, xsize, ysize;
} hipPitchedPtr;

typedef struct {
	size_t width, height, depth;
} hipExtent;

#define HIP(place, name, parameters, arguments, given) hipError_t name parameters;
#include "hip.def"
#undef HIP
const char *hipGetErrorString(hipError_t error);
#ifdef __cplusplus
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0,
				      hipStream_t stream = 0);
#else
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, hipStream_t stream);
#endif
hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, hipStream_t *stream);

#ifdef __cplusplus
}
#endif

#ifdef __HIP__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__   __attribute__((host))
static inline __device__ uint32_t hip_index(void)
{
	return __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() +
	       __builtin_amdgcn_workitem_id_x();
}
#endif

#endif
