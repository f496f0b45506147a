/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels with a loop and with functions that are inlined and that are not, launched by several calls, in two streams and, with "graph", in a
 * graph. With "idle" nothing is launched; with "second" all is on the second device, with "both" on the first and then on the second; with "often N" one kernel is launched so often.
 */
#include "hip_runtime.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

__device__ __attribute__((always_inline)) static inline float look_up(float x, const float *table)
{
	return x * table[(int)x & 255]; // inlined
}

__device__ __attribute__((noinline)) static float far_away(float x)
{
	return x / 3.0f + x * x; // not inlined
}

__global__ void walk(float *x, const float *table, int n)
{
	float v = x[hip_index()];
	for (int i = 0; i < n; i++)
		v = look_up(v, table) + 1; // loop
	x[hip_index()] = v;
}

__global__ void call(float *x)
{
	x[hip_index()] = far_away(x[hip_index()]); // call
}

__global__ void once(float *x)
{
	x[hip_index()] *= 3; // captured alone
}

enum { COUNT = 1024 };

static void first(float *x, int times, hipStream_t stream)
{
	for (int i = 0; i < times; i++)
		walk<<<1, 256, 0, stream>>>(x, x, 5); // first
}

static void second(float *x, int times, hipStream_t stream)
{
	for (int i = 0; i < times; i++)
		walk<<<1, 256, 0, stream>>>(x, x, 7); // second
}

static void replay(float *x, int times)
{
	hipStream_t stream;
	hipGraph_t graph;
	hipGraphExec_t executable;
	hipStreamCreate(&stream);
	hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal);
	call<<<1, 256, 0, stream>>>(x); // captured
	once<<<1, 256, 0, stream>>>(x); // captured too
	hipStreamEndCapture(stream, &graph);
	hipGraphInstantiate(&executable, graph, NULL, NULL, 0);
	for (int i = 0; i < times; i++)
		hipGraphLaunch(executable, stream); // replay
	hipStreamSynchronize(stream);
}

static int run(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	float *x;
	hipStream_t stream;
	if (hipMalloc((void **)&x, COUNT * sizeof(*x)) || hipStreamCreate(&stream)) {
		printf("%s\n", hipGetErrorString(hipGetLastError()));
		return 77;
	}
	if (!strcmp(how, "often")) {
		for (int i = 0; i < atoi(argv[2]); i += 100) {
			second(x, 100, stream);
			hipStreamSynchronize(stream);
		}
	} else if (strcmp(how, "idle")) {
		first(x, 30, 0);
		second(x, 10, stream);
		for (int i = 0; i < 20; i++)
			call<<<1, 256, 0, stream>>>(x); // alone
	}
	if (!strcmp(how, "graph"))
		replay(x, 15);
	hipDeviceSynchronize();
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int status = 0;
	if (strcmp(how, "second"))
		status = run(argc, argv);
	if (!strcmp(how, "second") || !strcmp(how, "both")) {
		hipSetDevice(1);
		status |= run(argc, argv);
	}
	if (!status)
		printf("%s\n", hipGetErrorString(hipGetLastError()));
	return status;
}
