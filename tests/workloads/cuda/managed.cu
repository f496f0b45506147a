/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory of two allocations: one is asked for ahead, one is faulted for by a kernel and then touched by the host. A third was freed
 * where a fourth lies. With "variable" there is a variable of the device's as well; with "reset" one is gone with the device's context, and
 * another lies there, or mostly; with "many" there are 2,000 of many sizes, each of which is moved once, mostly where others were. */
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

enum { BYTES = 5 << 20 };

__managed__ float variable[1024];

__global__ void touch_all(float *x)
{
	x[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

/* On devices that are not there, this is how they learn of it. */
static void (*host_touches)(const void *);

static float touch(float *x)
{
	host_touches(x); // the host touches
	return x[0];
}

static cudaMemLocation at(cudaMemLocationType type)
{
	return {type, {0}};
}

/* The second one lies where the first did, and nothing of it moves. */
static void replace_often(void)
{
	for (int i = 0; i < 3; i++) {
		float *x, *y;
		cudaMallocManaged(&x, BYTES); // first owner
		cudaMemPrefetchAsync(x, BYTES, at(cudaMemLocationTypeDevice), 0, 0);
		cudaDeviceSynchronize();
		cudaFree(x);
		cudaMallocManaged(&y, BYTES);
		if (x != y)
			printf("another address\n");
		cudaFree(y);
	}
}

static void move(float *x, size_t bytes)
{
	cudaMemPrefetchAsync(x, bytes, at(cudaMemLocationTypeDevice), 0, 0);
	cudaDeviceSynchronize();
}

static int reset(void)
{
	float *x, *y;
	cudaMallocManaged(&x, BYTES); // before the reset
	move(x, BYTES);
	cudaDeviceReset();
	cudaMallocManaged(&y, BYTES); // after the reset
	if ((char *)y >= (char *)x + BYTES || (char *)x >= (char *)y + BYTES)
		printf("another address\n");
	move(y, BYTES);
	printf("%s\n", cudaGetErrorString(cudaGetLastError()));
	return 0;
}

static int many(void)
{
	static float *kept[64];
	for (int i = 0; i < 2000; i++) {
		float *&x = kept[i % 64];
		size_t bytes = 4096 * (1 + i * 7919 % 701);
		cudaFree(x);
		if (i % 3)
			cudaMallocManaged(&x, bytes); // two of three
		else
			cudaMallocManaged(&x, bytes); // each third
		move(x, bytes);
	}
	printf("%s\n", cudaGetErrorString(cudaGetLastError()));
	return 0;
}

int main(int argc, char **argv)
{
	float *ahead, *faulted;
	host_touches = (void (*)(const void *))dlsym(RTLD_DEFAULT, "fake_host_touches");
	cudaFree(NULL);
	if (argc > 1 && !strcmp(argv[1], "reset"))
		return reset();
	if (argc > 1 && !strcmp(argv[1], "many"))
		return many();
	if (!host_touches || cudaMallocManaged(&ahead, BYTES)) { // ahead
		printf("%s\n", cudaGetErrorString(cudaGetLastError()));
		return 77;
	}
	cudaMallocManaged(&faulted, BYTES); // faulted
	for (int i = 0; i < 4; i++) {
		cudaMemPrefetchAsync(ahead, BYTES, at(cudaMemLocationTypeDevice), 0, 0);
		cudaMemPrefetchAsync(ahead, BYTES, at(cudaMemLocationTypeHost), 0, 0);
		touch_all<<<1, 256>>>(faulted);
		cudaDeviceSynchronize();
		touch(faulted);
	}
	if (argc > 1 && !strcmp(argv[1], "variable"))
		touch_all<<<1, 256>>>(variable);
	cudaDeviceSynchronize();
	replace_often();
	cudaFree(ahead);
	cudaFree(faulted);
	printf("%s\n", cudaGetErrorString(cudaGetLastError()));
	return 0;
}
