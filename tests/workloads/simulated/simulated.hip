/* SPDX-License-Identifier: Apache-2.0 */
/* simulated.cu for HIP, with what the declarations of the tests (tests/fake/rocm/hip_runtime.h) leave out. */
#include "hip_runtime.h"

#define __forceinline__ inline __attribute__((always_inline))
#define __shared__	__attribute__((shared))
#define __constant__	__attribute__((constant))
#define __syncthreads() __builtin_amdgcn_s_barrier()

#define cudaMalloc	       hipMalloc
#define cudaMemcpy	       hipMemcpy
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaDeviceSynchronize  hipDeviceSynchronize
#define cudaGetErrorString     hipGetErrorString
#define cudaGetLastError       hipGetLastError
#include "simulated.cu"
