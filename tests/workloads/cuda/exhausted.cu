/* SPDX-License-Identifier: Apache-2.0 */
/* Takes memory of the device until there is no more, by blocks of 16 MiB, and goes on with what it has. Ends with status 3, as a program
 * does that says so. */
#include <cstdio>

__global__ void scale(float *x, float a)
{
	x[blockIdx.x * blockDim.x + threadIdx.x] *= a;
}

enum { BYTES = 16 << 20 };

int main()
{
	float *last = nullptr, *more;
	int count = 0;
	cudaFree(nullptr); // initialises the driver
	while (cudaMalloc(&more, BYTES) == cudaSuccess) { // taken
		last = more;
		count++;
	}
	cudaError_t error = cudaGetLastError();
	cudaError_t again = cudaMallocManaged(&more, BYTES);
	cudaMemset(last, 0, BYTES);
	scale<<<64, 256>>>(last, 2.0f);
	cudaError_t after = cudaDeviceSynchronize();
	printf("%d blocks, %s, %s, %s\n", count, cudaGetErrorString(error), cudaGetErrorString(again), cudaGetErrorString(after));
	return 3;
}
