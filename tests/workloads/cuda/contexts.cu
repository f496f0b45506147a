/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts, one for each device. "reading": a second is made while what the first sampled is read for the first time; then each launches.
 * "many": on each device in turn one kernel is launched. */
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>
#include <unistd.h>

__global__ void first(float *x)
{
	x[threadIdx.x] *= 3;
}

__global__ void second(float *x)
{
	x[threadIdx.x] += 3;
}

enum { COUNT = 256, LAUNCHES = 20 };

static float *begin(int device)
{
	float *x = nullptr;
	cudaSetDevice(device);
	cudaMalloc(&x, COUNT * sizeof(*x));
	return x;
}

static void reading()
{
	std::atomic<bool> is_read{false};
	float *x = begin(0), *other = nullptr;
	first<<<1, COUNT>>>(x);
	cudaDeviceSynchronize();
	usleep(400000); // nothing is read so soon after a module
	std::thread thread([&] {
		while (!is_read)
			usleep(1000);
		usleep(100000);
		other = begin(1);
	});
	is_read = true;
	cudaDeviceSynchronize(); // read
	thread.join();
	usleep(100000);
	for (int i = 0; i < LAUNCHES; i++)
		first<<<1, COUNT>>>(x);
	cudaSetDevice(1);
	for (int i = 0; i < LAUNCHES; i++)
		second<<<1, COUNT>>>(other);
	cudaDeviceSynchronize();
}

static void many()
{
	int devices = 0;
	cudaGetDeviceCount(&devices);
	for (int device = 0; device < devices; device++) {
		float *x = begin(device);
		first<<<1, COUNT>>>(x);
		cudaDeviceSynchronize();
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "reading"))
		reading();
	else
		many();
	printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
