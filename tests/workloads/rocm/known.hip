/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two kernels in two streams, from several threads and in a graph, copies of each kind and sets: as often as is known. With
 * "fork" a child ends in between; with "abort" the program does, at its end; with "exit" while kernels run. With "plugin PATH"
 * it loads a library first; with "second" it runs on the second device; with "replays" it replays the graph 1,000 times, in place of 10.
 */
#include "hip_runtime.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void scale(float *x, float a)
{
	x[hip_index()] *= a;
}

__global__ void add(float *x, const float *y)
{
	x[hip_index()] += y[hip_index()];
}

enum { COUNT = 1 << 16, BYTES = COUNT * 4 };

struct work {
	float *x;
	int times;
	hipStream_t stream;
};

static void scale_often(float *x, int times, hipStream_t stream)
{
	for (int i = 0; i < times; i++)
		scale<<<COUNT / 256, 256, 0, stream>>>(x, 2.0f); // scale_often
}

static void replay(float *x, float *y, int times)
{
	hipStream_t stream;
	hipGraph_t graph;
	hipGraphExec_t executable;
	hipStreamCreate(&stream);
	hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal);
	scale_often(x, 3, stream);
	add<<<COUNT / 256, 256, 0, stream>>>(x, y); // captured
	hipStreamEndCapture(stream, &graph);
	hipGraphInstantiate(&executable, graph, NULL, NULL, 0);
	for (int i = 0; i < times; i++)
		hipGraphLaunch(executable, stream); // replay
	hipStreamSynchronize(stream);
	hipGraphExecDestroy(executable);
	hipGraphDestroy(graph);
	hipStreamDestroy(stream);
}

static void *scale_in_thread(void *data)
{
	struct work *work = (struct work *)data;
	for (int i = 0; i < work->times; i++)
		scale<<<COUNT / 256, 256, 0, work->stream>>>(work->x, 3.0f); // in a thread
	return NULL; // with its work in flight
}

static void scale_in_threads(float *x, hipStream_t stream)
{
	pthread_t threads[2];
	struct work works[2] = {{x, 25, stream}, {x, 35, NULL}};
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, scale_in_thread, &works[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
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
	hipStream_t stream;
	if (argc > 2 && !dlopen(argv[2], RTLD_NOW | RTLD_LOCAL))
		printf("%s\n", dlerror());
	if (!strcmp(how, "second"))
		hipSetDevice(1);
	if (hipMalloc((void **)&x, BYTES) || hipMalloc((void **)&y, BYTES) || hipStreamCreate(&stream)) {
		printf("%s\n", hipGetErrorString(hipGetLastError()));
		return 77;
	}
	hipMemcpy(x, host, BYTES, hipMemcpyHostToDevice); // copy to device
	hipMemset(y, 0, BYTES);				  // set
	hipMemsetD32(y, 0, COUNT / 2);			  // set words
	hipMemcpy(y, x, BYTES, hipMemcpyDeviceToDevice);  // copy inside
	scale_often(x, 40, 0);
	scale_often(x, 60, stream);
	scale_in_threads(y, stream);
	if (!strcmp(how, "fork"))
		fork_once();
	replay(x, y, strcmp(how, "replays") ? 10 : 1000);
	hipMemcpyAsync(host, x, BYTES, hipMemcpyDeviceToHost, stream); // copy to host
	hipDeviceSynchronize();
	printf("%g %s\n", host[0], hipGetErrorString(hipGetLastError()));
	fflush(stdout);
	if (!strcmp(how, "abort")) {
		usleep(200000); // the SDK tells of what ran in a thread of its own
		abort();
	}
	if (!strcmp(how, "exit"))
		scale_often(x, 100, stream);
	return 0;
}
