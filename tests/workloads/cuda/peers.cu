/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between two devices, each kind of call as often as is known, one kind of them in a graph. */
#include <cstdio>

enum { BYTES = 1 << 20 };

static void copy_often(float *to, const float *from, cudaStream_t stream)
{
	for (int i = 0; i < 3; i++)
		cudaMemcpyPeerAsync(to, 1, from, 0, BYTES, stream); // by name
	for (int i = 0; i < 2; i++)
		cudaMemcpyAsync(to, from, BYTES / 2, cudaMemcpyDefault, stream); // by address
}

static void replay(float *to, const float *from, cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t executable;
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
	cudaMemcpyPeerAsync(to, 0, from, 1, BYTES / 4, stream); // captured
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&executable, graph, 0);
	for (int i = 0; i < 5; i++)
		cudaGraphLaunch(executable, stream);
	cudaStreamSynchronize(stream);
	cudaGraphExecDestroy(executable);
	cudaGraphDestroy(graph);
}

int main(void)
{
	float *here, *there;
	cudaStream_t stream;
	if (cudaMalloc(&here, BYTES) || cudaStreamCreate(&stream) || cudaSetDevice(1) || cudaMalloc(&there, BYTES)) {
		printf("%s\n", cudaGetErrorString(cudaGetLastError()));
		return 77;
	}
	cudaSetDevice(0);
	copy_often(there, here, stream);
	replay(here, there, stream);
	cudaStreamSynchronize(stream);
	printf("%s\n", cudaGetErrorString(cudaGetLastError()));
	return 0;
}
