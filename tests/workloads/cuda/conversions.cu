/* SPDX-License-Identifier: Apache-2.0 */
/* A norm in half precision: each block reads its scale from constant memory and converts a few elements. Beside it a kernel that
 * converts nothing. */
#include <cstdio>
#include <cuda_fp16.h>

enum { BLOCKS = 16, THREADS = 32 };

__constant__ float scales[BLOCKS];

__device__ __forceinline__ __half narrowed(float x)
{
	return __float2half(x * scales[blockIdx.x]); // converted
}

__global__ void normalize(const float *x, __half *y, float mean)
{
	int at = blockIdx.x * blockDim.x + threadIdx.x;
	y[at] = narrowed(x[at] - mean); // normalized
}

__global__ void shift(float *x)
{
	x[threadIdx.x] += 1; // shifted
}

int main()
{
	float *x;
	__half *y;
	if (cudaMalloc(&x, BLOCKS * THREADS * sizeof(*x)) || cudaMalloc(&y, BLOCKS * THREADS * sizeof(*y)))
		return 77;
	for (int i = 0; i < 20; i++) {
		shift<<<1, THREADS>>>(x);
		normalize<<<BLOCKS, THREADS>>>(x, y, 0.5f); // launched
	}
	cudaDeviceSynchronize();
	printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
