/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels launched in ways that counters must tell apart: "threads" by four threads at once, each its own kernel in its own stream; "devices"
 * on two devices by turns; "fails" with launches that fail in between; "captured" while another stream is captured; "first"
 * without anything before that makes a context; "many" more than are read at once, of two kernels by turns; "resets" with a new context; "beside" by a second thread while the first one's call
 * goes on, if that takes long; "reading" captures, and "ends" ends the context of another device, while another thread's launch
 * makes CUPTI read what it has counted; "leaves" ends the program while another thread's launch waits. */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

template <int N> __global__ void part(float *x)
{
	x[threadIdx.x] += N;
}

static float *memory()
{
	float *x;
	if (cudaMalloc(&x, 1024 * sizeof(*x)))
		exit(77);
	return x;
}

template <int N> static void one_of_many(float *x, int times)
{
	cudaStream_t stream;
	cudaStreamCreate(&stream);
	for (int i = 0; i < times; i++)
		part<N><<<1, 32, 0, stream>>>(x); // in a thread
	cudaStreamSynchronize(stream);
}

static void threads(int times)
{
	float *x = memory();
	std::thread all[] = {std::thread(one_of_many<1>, x, times), std::thread(one_of_many<2>, x, times),
			     std::thread(one_of_many<3>, x, times), std::thread(one_of_many<4>, x, times)};
	for (auto &one : all)
		one.join();
}

static void devices(int times)
{
	float *x[2];
	for (int device = 0; device < 2; device++) {
		cudaSetDevice(device);
		x[device] = memory();
	}
	for (int i = 0; i < times; i++) {
		cudaSetDevice(0);
		part<1><<<1, 32>>>(x[0]); // first device
		cudaSetDevice(1);
		part<2><<<1, 32>>>(x[1]); // second device
	}
}

static void fails(int times)
{
	float *x = memory();
	void *arguments[] = {&x};
	for (int i = 0; i < times; i++) {
		part<1><<<1, 32>>>(x); // succeeds
		cudaLaunchKernel((const void *)memory, dim3(1), dim3(32), arguments, 0, 0);
		part<2><<<1, 32>>>(x); // succeeds, too
	}
	cudaGetLastError();
}

static void captured(int times)
{
	float *x = memory();
	cudaStream_t stream, other;
	cudaGraph_t graph, none;
	cudaGraphExec_t executable;
	cudaStreamCreate(&stream);
	cudaStreamCreate(&other);
	part<1><<<1, 32>>>(x); // before
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
	part<2><<<1, 32, 0, stream>>>(x); // captured
	if (cudaStreamEndCapture(other, &none) != cudaErrorIllegalState) // is not captured
		printf("no error\n");
	cudaGetLastError();
	part<3><<<1, 32>>>(x);		  // beside
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&executable, graph, 0);
	for (int i = 0; i < times; i++)
		cudaGraphLaunch(executable, stream); // replayed
	part<1><<<1, 32>>>(x);			     // after
	cudaStreamSynchronize(stream);
}

static void many(int times)
{
	float *x = memory();
	for (int i = 0; i < times; i++) {
		part<1><<<1, 32>>>(x); // odd
		if (i % 3)
			part<2><<<1, 32>>>(x); // even
	}
}

static void beside(int)
{
	float *x = memory();
	std::thread first([x] { part<1><<<1, 32>>>(x); }); // long
	usleep(300000);
	part<2><<<1, 32>>>(x); // beside it
	first.join();
	part<3><<<1, 32>>>(x); // alone
}

static std::atomic<int> filled;

/* 256 are read at once: the last launch waits until they are. */
static void fill(float *x)
{
	for (int i = 0; i < 255; i++)
		part<1><<<1, 32>>>(x); // fills
	filled = 1;
	part<1><<<1, 32>>>(x); // waits
}

static void await_reading(void)
{
	while (!filled)
		usleep(1000);
	usleep(200000);
}

static void reading(int)
{
	float *x[2];
	cudaStream_t stream;
	cudaGraph_t graph;
	for (int device = 1; device >= 0; device--) {
		cudaSetDevice(device);
		x[device] = memory();
		part<4><<<1, 32>>>(x[device]); // on each device
	}
	cudaStreamCreate(&stream);
	std::thread fills(fill, x[0]);
	await_reading();
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
	part<2><<<1, 32, 0, stream>>>(x[0]); // captured
	usleep(700000);			     // until after the reading, if that goes on
	printf("%s\n", cudaGetErrorString(cudaStreamEndCapture(stream, &graph)));
	fills.join();
}

static void ends_beside(int)
{
	float *x[2];
	for (int device = 0; device < 2; device++) {
		cudaSetDevice(device);
		x[device] = memory();
		part<4><<<1, 32>>>(x[device]); // on each device
	}
	std::thread fills(fill, x[0]);
	await_reading();
	cudaDeviceReset();
	cudaSetDevice(0);
	fills.join();
}

static void leaves(int times)
{
	float *x = memory();
	for (int i = 0; i < times; i++)
		part<1><<<1, 32>>>(x); // short
	cudaDeviceSynchronize();
	std::thread([x] { part<2><<<1, 32>>>(x); }).detach(); // long
	usleep(300000);
	printf("leaves\n");
	exit(0);
}

static void resets(int times)
{
	many(times);
	cudaDeviceReset();
	many(times);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int times = argc > 2 ? atoi(argv[2]) : 20, count;
	static float *none;
	static const struct {
		const char *name;
		void (*run)(int);
	} ways[] = {{"threads", threads}, {"devices", devices}, {"fails", fails}, {"captured", captured}, {"many", many}, {"resets", resets}, {"beside", beside},
		    {"reading", reading}, {"ends", ends_beside}, {"leaves", leaves}};
	if (!strcmp(how, "first") && !cudaGetDeviceCount(&count))
		part<1><<<1, 32>>>(none); // first
	for (auto &way : ways)
		if (!strcmp(how, way.name))
			way.run(times);
	cudaDeviceSynchronize();
	printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
