/* SPDX-License-Identifier: Apache-2.0 */
/* cuda-graphs REPLAYS KERNELS: replays a graph of so many empty kernels REPLAYS times, waiting after each 20. Prints microseconds a replay: the
 * CPU time of the replaying thread and of the process, the waits included. */
#include <cstdio>
#include <cstdlib>
#include <ctime>

__global__ void nothing(void)
{
}

static double now_us(clockid_t clock)
{
	timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void replay(cudaGraphExec_t executable, cudaStream_t stream, int count)
{
	for (int i = 0; i < count; i++)
		cudaGraphLaunch(executable, stream);
	cudaStreamSynchronize(stream);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1000, kernels = argc > 2 ? atoi(argv[2]) : 500;
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t executable;
	cudaStreamCreate(&stream);
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
	for (int i = 0; i < kernels; i++)
		nothing<<<1, 32, 0, stream>>>();
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&executable, graph, 0);
	replay(executable, stream, 100);
	double thread_us = now_us(CLOCK_THREAD_CPUTIME_ID), process_us = now_us(CLOCK_PROCESS_CPUTIME_ID);
	for (int left = count; left > 0; left -= 20)
		replay(executable, stream, 20);
	printf("%.2f %.2f\n", (now_us(CLOCK_THREAD_CPUTIME_ID) - thread_us) / count,
	       (now_us(CLOCK_PROCESS_CPUTIME_ID) - process_us) / count);
}
