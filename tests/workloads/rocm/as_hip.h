/* SPDX-License-Identifier: Apache-2.0 */
/* A program of CUDA's runtime as one of HIP, as far as the two differ by their names. */
#include "hip_runtime.h"

#define cudaStream_t		    hipStream_t
#define cudaSetDevice		    hipSetDevice
#define cudaStreamCreate	    hipStreamCreate
#define cudaStreamSynchronize	    hipStreamSynchronize
#define cudaDeviceSynchronize	    hipDeviceSynchronize
#define cudaStreamCreateWithFlags   hipStreamCreateWithFlags
#define cudaStreamNonBlocking	    hipStreamNonBlocking
#define cudaStreamBeginCapture	    hipStreamBeginCapture
#define cudaStreamCaptureModeGlobal hipStreamCaptureModeGlobal
#define cudaStreamEndCapture	    hipStreamEndCapture
#define cudaGraph_t		    hipGraph_t
#define cudaGraphExec_t		    hipGraphExec_t
#define cudaGraphLaunch		    hipGraphLaunch
#define cudaGetErrorString	    hipGetErrorString
#define cudaGetLastError	    hipGetLastError

struct hip_place {
	uint32_t x;
};
#define threadIdx (hip_place{__builtin_amdgcn_workitem_id_x()})

template <typename type> static inline hipError_t cudaMalloc(type **memory, size_t bytes)
{
	return hipMalloc((void **)memory, bytes);
}

static inline hipError_t cudaGraphInstantiate(hipGraphExec_t *executable, hipGraph_t graph, int)
{
	return hipGraphInstantiate(executable, graph, nullptr, nullptr, 0);
}
