/* SPDX-License-Identifier: Apache-2.0 */
/* graphs REPLAYS: replays two graphs by one line REPLAYS times each, the first also in another thread once, and waits after each
 * 100. Prints the resident memory, in KiB, when seven tenths of that are done and at the end. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

__global__ void scale(float *x, float a)
{
	x[blockIdx.x * blockDim.x + threadIdx.x] *= a;
}

__global__ void add(float *x, const float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	x[i] += y[i];
}

enum { COUNT = 1 << 12, BYTES = COUNT * 4 };

static float *x, *y;

static cudaGraphExec_t end(cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t executable;
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&executable, graph, 0);
	cudaGraphDestroy(graph);
	return executable;
}

static cudaGraphExec_t capture_first(cudaStream_t stream)
{
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
	cudaMemsetAsync(y, 0, BYTES, stream); // set of the first
	for (int i = 0; i < 2; i++)
		scale<<<COUNT / 256, 256, 0, stream>>>(x, 2.0f); // scale of the first
	cudaMemcpyAsync(y, x, BYTES, cudaMemcpyDeviceToDevice, stream); // copy of the first
	return end(stream);
}

static cudaGraphExec_t capture_second(cudaStream_t stream)
{
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
	add<<<dim3(4, 2, COUNT / 1024), dim3(32, 4), 40000, stream>>>(x, y); // add of the second
	scale<<<COUNT / 256, 256, 0, stream>>>(x, 0.5f); // scale of the second
	return end(stream);
}

static void replay(cudaGraphExec_t executable, cudaStream_t stream)
{
	cudaGraphLaunch(executable, stream); // replay
}

static long resident_kib(void)
{
	char line[256];
	long kib = 0;
	FILE *file = fopen("/proc/self/status", "r");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "VmRSS:", 6))
			kib = atol(line + 6);
	if (file)
		fclose(file);
	return kib;
}

int main(int argc, char **argv)
{
	int replays = argc > 1 ? atoi(argv[1]) : 10;
	long early_kib = 0;
	cudaStream_t stream;
	cudaMalloc(&x, BYTES);
	cudaMalloc(&y, BYTES);
	cudaStreamCreate(&stream);
	cudaGraphExec_t first = capture_first(stream), second = capture_second(stream);
	for (int i = 0; i < replays; i++) {
		replay(first, stream);
		replay(second, stream);
		if (i % 100 == 99)
			cudaStreamSynchronize(stream);
		if (i == replays / 10 * 7)
			early_kib = resident_kib();
	}
	std::thread other(replay, first, stream);
	other.join();
	cudaStreamSynchronize(stream);
	printf("%ld %ld %s\n", early_kib, resident_kib(), cudaGetErrorString(cudaGetLastError()));
	cudaGraphExecDestroy(first);
	cudaGraphExecDestroy(second);
}
