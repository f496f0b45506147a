/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver's functions that device.c calls, by the names under which libcuda.so.1 exports them. They are public, and have been
 * there since CUDA 11.4; no header of NVIDIA's is needed. */
#ifndef SUITE_DRIVER_H
#define SUITE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef struct CUctx_st *cu_context;
typedef struct CUmod_st *cu_module;
typedef struct CUfunc_st *cu_function;
typedef struct CUstream_st *cu_stream;
typedef struct CUevent_st *cu_event;
typedef struct CUgraph_st *cu_graph;
typedef struct CUgraphExec_st *cu_executable;
typedef unsigned long long cu_memory;

#define DRIVER_FUNCTIONS(X)                                                                        \
	X(cuInit, (unsigned flags))                                                                \
	X(cuDriverGetVersion, (int *version))                                                      \
	X(cuGetErrorString, (int error, const char **text))                                        \
	X(cuDeviceGetCount, (int *count))                                                          \
	X(cuDeviceGet, (int *device, int ordinal))                                                 \
	X(cuDeviceGetName, (char *name, int length, int device))                                   \
	X(cuDevicePrimaryCtxRetain, (cu_context * context, int device))                            \
	X(cuCtxSetCurrent, (cu_context context))                                                   \
	X(cuCtxSynchronize, (void))                                                                \
	X(cuModuleLoadData, (cu_module * module, const void *image))                               \
	X(cuModuleGetFunction, (cu_function * function, cu_module module, const char *name))       \
	X(cuMemAlloc_v2, (cu_memory * memory, size_t bytes))                                       \
	X(cuMemFree_v2, (cu_memory memory))                                                        \
	X(cuMemcpyHtoD_v2, (cu_memory to, const void *from, size_t bytes))                         \
	X(cuMemcpyDtoH_v2, (void *to, cu_memory from, size_t bytes))                               \
	X(cuMemcpyDtoD_v2, (cu_memory to, cu_memory from, size_t bytes))                           \
	X(cuMemsetD8_v2, (cu_memory to, unsigned char value, size_t count))                        \
	X(cuStreamCreate, (cu_stream * stream, unsigned flags))                                    \
	X(cuStreamSynchronize, (cu_stream stream))                                                 \
	X(cuStreamWaitEvent, (cu_stream stream, cu_event event, unsigned flags))                   \
	X(cuStreamBeginCapture_v2, (cu_stream stream, int mode))                                   \
	X(cuStreamEndCapture, (cu_stream stream, cu_graph * graph))                                \
	X(cuEventCreate, (cu_event * event, unsigned flags))                                       \
	X(cuEventRecord, (cu_event event, cu_stream stream))                                       \
	X(cuGraphInstantiateWithFlags,                                                             \
	  (cu_executable * executable, cu_graph graph, unsigned long long flags))                  \
	X(cuGraphLaunch, (cu_executable executable, cu_stream stream))                             \
	X(cuLaunchKernel, (cu_function function, unsigned grid_x, unsigned grid_y,                 \
			   unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,  \
			   unsigned shared, cu_stream stream, void **parameters, void **extra))

#define DRIVER_POINTER(name, parameters) int(*name) parameters;
struct driver {
	DRIVER_FUNCTIONS(DRIVER_POINTER)
};

#endif
