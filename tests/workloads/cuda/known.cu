/* SPDX-License-Identifier: Apache-2.0 */
/* Two kernels in two streams and in a graph, copies of each kind and a set: as often as is known. With "fork" a child ends
 * in between; with "abort" the program does, at its end; with "plain" there is no graph. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

__global__ void scale(float *x, float a)
{
	x[blockIdx.x * blockDim.x + threadIdx.x] *= a;
}

__global__ void add(float *x, const float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	x[i] += y[i];
}

enum { COUNT = 1 << 16, BYTES = COUNT * 4 };

static void scale_often(float *x, int times, cudaStream_t stream)
{
	for (int i = 0; i < times; i++)
		scale<<<COUNT / 256, 256, 0, stream>>>(x, 2.0f); // scale_often
}

static void replay(float *x, float *y, int times)
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t executable;
	cudaStreamCreate(&stream);
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
	scale_often(x, 3, stream);
	add<<<COUNT / 256, 256, 0, stream>>>(x, y); // captured
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&executable, graph, 0);
	for (int i = 0; i < times; i++)
		cudaGraphLaunch(executable, stream); // replay
	cudaStreamSynchronize(stream);
	cudaGraphExecDestroy(executable);
	cudaGraphDestroy(graph);
	cudaStreamDestroy(stream);
}

static void fork_once(void)
{
	pid_t child = fork();
	if (!child)
		exit(3);
	int status;
	waitpid(child, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	float *x, *y, *host = new float[COUNT]();
	cudaStream_t stream;
	if (cudaMalloc(&x, BYTES) || cudaMalloc(&y, BYTES) || cudaStreamCreate(&stream)) {
		printf("%s\n", cudaGetErrorString(cudaGetLastError()));
		return 77;
	}
	cudaMemcpy(x, host, BYTES, cudaMemcpyHostToDevice); // copy to device
	cudaMemset(y, 0, BYTES);			    // set
	cudaMemcpy(y, x, BYTES, cudaMemcpyDeviceToDevice);
	scale_often(x, 40, 0);
	scale_often(x, 60, stream);
	std::thread other(scale_often, y, 25, stream);
	other.join();
	if (!strcmp(how, "fork"))
		fork_once();
	if (strcmp(how, "plain"))
		replay(x, y, 10);
	cudaMemcpy(host, x, BYTES, cudaMemcpyDeviceToHost);
	printf("%g %s\n", host[0], cudaGetErrorString(cudaGetLastError()));
	fflush(stdout);
	if (!strcmp(how, "abort"))
		abort();
}
