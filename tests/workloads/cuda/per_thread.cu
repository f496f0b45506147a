/* SPDX-License-Identifier: Apache-2.0 */
/* For --default-stream per-thread: four threads, each with its own default stream, and the device's. */
#include <cstdio>
#include <thread>
#include <vector>
__global__ void mine(float *x) { x[0] = 1; }
__global__ void legacy(float *x) { x[0] = 1; }
static void work(int n)
{
	float *x;
	static float host[1000];
	cudaMalloc(&x, 4096);
	for (int i = 0; i < n; i++)
		mine<<<1, 32>>>(x);
	legacy<<<1, 32, 0, cudaStreamLegacy>>>(x);
	mine<<<1, 32, 0, cudaStreamPerThread>>>(x);
	cudaMemcpyAsync(host, x, 400, cudaMemcpyDeviceToHost);
	cudaMemcpyAsync(x, host, 404, cudaMemcpyHostToDevice, 0);
	cudaMemsetAsync(x, 0, 100, 0);
	cudaMemcpy(x, host, 800, cudaMemcpyHostToDevice);
	cudaMemset(x, 0, 200);
	cudaStreamSynchronize(0);
}
int main()
{
	std::vector<std::thread> all;
	for (int i = 0; i < 3; i++)
		all.emplace_back(work, 10 + i);
	for (auto &each : all)
		each.join();
	work(5);
	printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
