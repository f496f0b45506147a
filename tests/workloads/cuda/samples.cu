/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels with a loop and with functions that are inlined and that are not, launched by several calls, in two streams and, with "graph", in a
 * graph. With "apart" the calls that launch one kernel come one after the other, with a pause between. With "idle" nothing is launched. */
#include <cstdio>
#include <cstring>
#include <unistd.h>

__device__ __forceinline__ float look_up(float x, const float *table)
{
	return x * table[(int)x & 255]; // inlined
}

__device__ __noinline__ float far_away(float x)
{
	return x / 3.0f + sqrtf(x); // not inlined
}

__global__ void walk(float *x, const float *table, int n)
{
	float v = x[threadIdx.x];
	for (int i = 0; i < n; i++)
		v = look_up(v, table) + 1; // loop
	x[threadIdx.x] = v;
}

__global__ void call(float *x)
{
	x[threadIdx.x] = far_away(x[threadIdx.x]); // call
}

__global__ void once(float *x)
{
	x[threadIdx.x] *= 3; // captured alone
}

enum { COUNT = 1024 };

static void first(float *x, int times, cudaStream_t stream)
{
	for (int i = 0; i < times; i++)
		walk<<<1, 256, 0, stream>>>(x, x, 5); // first
}

static void second(float *x, int times, cudaStream_t stream)
{
	for (int i = 0; i < times; i++)
		walk<<<1, 256, 0, stream>>>(x, x, 7); // second
}

static void replay(float *x, int times)
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t executable;
	cudaStreamCreate(&stream);
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
	call<<<1, 256, 0, stream>>>(x); // captured
	once<<<1, 256, 0, stream>>>(x); // captured too
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&executable, graph, 0);
	for (int i = 0; i < times; i++)
		cudaGraphLaunch(executable, stream); // replay
	cudaStreamSynchronize(stream);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	float *x;
	cudaStream_t stream;
	if (cudaMalloc(&x, COUNT * sizeof(*x)) || cudaStreamCreate(&stream)) {
		printf("%s\n", cudaGetErrorString(cudaGetLastError()));
		return 77;
	}
	if (strcmp(how, "idle")) {
		first(x, 30, 0);
		if (!strcmp(how, "apart")) {
			cudaDeviceSynchronize();
			usleep(700000);
		}
		second(x, 10, stream);
		for (int i = 0; i < 20; i++)
			call<<<1, 256, 0, stream>>>(x); // alone
	}
	if (!strcmp(how, "graph"))
		replay(x, 15);
	cudaDeviceSynchronize();
	printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
