/* SPDX-License-Identifier: Apache-2.0 */
/* A program of CUDA's runtime as one of HIP, as far as the two differ by their names. */
#include "hip_runtime.h"

#define cudaStream_t	      hipStream_t
#define cudaSetDevice	      hipSetDevice
#define cudaStreamCreate      hipStreamCreate
#define cudaStreamSynchronize hipStreamSynchronize
#define cudaDeviceSynchronize hipDeviceSynchronize

template <typename type> static inline hipError_t cudaMalloc(type **memory, size_t bytes)
{
	return hipMalloc((void **)memory, bytes);
}
