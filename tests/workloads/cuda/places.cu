/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel from two lines, in twenty rounds of nine launches and one: with "cooperative" by the call for kernels whose blocks wait for each other. */
#include <cstdio>
#include <cstring>

__global__ void work(float *x)
{
	x[threadIdx.x] *= 2;
}

int main(int argc, char **argv)
{
	float *x;
	void *arguments[] = {&x};
	auto kernel = reinterpret_cast<const void *>(work);
	cudaError_t (*launch)(const void *, dim3, dim3, void **, size_t, cudaStream_t) = cudaLaunchKernel;
	if (argc > 1 && !strcmp(argv[1], "cooperative"))
		launch = cudaLaunchCooperativeKernel;
	cudaMalloc(&x, 256 * sizeof(float));
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 9; i++)
			launch(kernel, dim3(1), dim3(256), arguments, 0, nullptr); // nine
		launch(kernel, dim3(1), dim3(256), arguments, 0, nullptr); // tenth
	}
	printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
	return 0;
}
