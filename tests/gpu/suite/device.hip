/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for an AMD device that says itself what it ran; ROCm's hipcc compiles it, or that of tests/fake.
 *
 *	device probe         status 77, with one line, where there is none
 *	device work          kernels, copies and a set in streams, threads and a graph; then the truth, as JSON
 *	device launch COUNT  nanoseconds of CPU time a launch, and of wall time
 */
#if __has_include(<hip/hip_runtime.h>)
#include <hip/hip_runtime.h>
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define IS_FAKE false
#else
#include "hip_runtime.h"
#define INDEX hip_index()
#define IS_FAKE true
#endif
#include "truth.h"

#include <cstdlib>
#include <ctime>

__global__ void scale(uint32_t *x, uint32_t a)
{
	x[INDEX] *= a;
}

__global__ void add(uint32_t *x, const uint32_t *y)
{
	x[INDEX] += y[INDEX];
}

__global__ void nothing(void)
{
}

enum { COUNT = 1 << 16, BYTES = COUNT * 4, THREADS = 3, REPLAYS = 10, ROUND = 1000 };
#define FACTOR 3u
#define FILLED 0x5au /* each byte */

static void check(hipError_t error, int line)
{
	if (error == hipSuccess)
		return;
	fprintf(stderr, "line %d: %s\n", line, hipGetErrorString(error));
	exit(1);
}

#define CALL(call) check(call, __LINE__)

static int probe(void)
{
	int count = 0;
	hipError_t error = hipGetDeviceCount(&count);
	if (error != hipSuccess || !count) {
		printf("no HIP device: %s\n", hipGetErrorString(error));
		return 77;
	}
	printf("%d HIP device%s%s\n", count, count == 1 ? "" : "s", IS_FAKE ? ": Fake device" : "");
	return 0;
}

struct share {
	uint32_t *x;
	int times;
	hipStream_t stream;
};

static void *work_in_thread(void *data)
{
	struct share *share = (struct share *)data;
	for (int i = 0; i < share->times; i++) {
		note("scale", __LINE__ + 1, 0, false);
		scale<<<COUNT / 256, 256, 0, share->stream>>>(share->x, FACTOR);
	}
	return NULL;
}

static void work_in_threads(uint32_t *x, hipStream_t stream)
{
	pthread_t threads[THREADS];
	struct share shares[THREADS];
	for (int i = 0; i < THREADS; i++) {
		shares[i] = {x, 10 * (i + 1), stream};
		pthread_create(&threads[i], NULL, work_in_thread, &shares[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void work_in_streams(uint32_t *x, uint32_t *y, hipStream_t one, hipStream_t other)
{
	hipEvent_t event;
	CALL(hipEventCreate(&event));
	for (int i = 0; i < 40; i++) {
		note("scale", __LINE__ + 1, 0, false);
		scale<<<COUNT / 256, 256, 0, one>>>(x, FACTOR);
	}
	CALL(hipEventRecord(event, one));
	CALL(hipStreamWaitEvent(other, event, 0));
	for (int i = 0; i < 15; i++) {
		note("add", __LINE__ + 1, 0, false);
		add<<<COUNT / 256, 256, 0, other>>>(x, y);
	}
	CALL(hipStreamSynchronize(other));
}

/* The line of the replay. */
static int replay(uint32_t *x, uint32_t *y, hipStream_t stream)
{
	hipGraph_t graph;
	hipGraphExec_t executable;
	int line = 0;
	CALL(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
	for (int i = 0; i < 3; i++) {
		note("scale", __LINE__ + 1, 0, true);
		scale<<<COUNT / 256, 256, 0, stream>>>(x, FACTOR);
	}
	note("add", __LINE__ + 1, 0, true);
	add<<<COUNT / 256, 256, 0, stream>>>(x, y);
	CALL(hipStreamEndCapture(stream, &graph));
	CALL(hipGraphInstantiate(&executable, graph, NULL, NULL, 0));
	for (int i = 0; i < REPLAYS; i++) {
		line = __LINE__ + 1;
		CALL(hipGraphLaunch(executable, stream));
	}
	CALL(hipStreamSynchronize(stream));
	return line;
}

/* What the device computes of an element, which begins with its place: of y one half was copied from x, and the other was set. */
static uint32_t expected(uint32_t index)
{
	uint32_t x = index + 1, y = index < COUNT / 2 ? x : FILLED * 0x01010101u;
	for (int i = 0; i < 40; i++)
		x *= FACTOR;
	for (int i = 0; i < 15; i++)
		x += y;
	for (int i = 0; i < 10 * (1 + 2 + THREADS); i++)
		y *= FACTOR;
	for (int i = 0; i < REPLAYS; i++)
		x = x * FACTOR * FACTOR * FACTOR + y;
	return x;
}

static int work(void)
{
	uint32_t *x, *y, *host = new uint32_t[COUNT];
	hipStream_t one, other;
	for (uint32_t i = 0; i < COUNT; i++)
		host[i] = i + 1;
	CALL(hipMalloc((void **)&x, BYTES));
	CALL(hipMalloc((void **)&y, BYTES));
	CALL(hipStreamCreate(&one));
	CALL(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
	note("copy", __LINE__ + 1, BYTES, false);
	CALL(hipMemcpy(x, host, BYTES, hipMemcpyHostToDevice));
	note("set", __LINE__ + 1, BYTES, false);
	CALL(hipMemset(y, FILLED, BYTES));
	note("copy", __LINE__ + 1, BYTES / 2, false);
	CALL(hipMemcpy(y, x, BYTES / 2, hipMemcpyDeviceToDevice));
	CALL(hipDeviceSynchronize());
	work_in_streams(x, y, one, other);
	work_in_threads(y, one);
	CALL(hipDeviceSynchronize());
	int line = replay(x, y, one);
	note("copy", __LINE__ + 1, BYTES, false);
	CALL(hipMemcpy(host, x, BYTES, hipMemcpyDeviceToHost));
	print_wrong(host, COUNT, expected);
	delete[] host;
	print_truth(REPLAYS, line);
	return 0;
}

static double now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void launch_round(hipStream_t stream)
{
	for (int i = 0; i < ROUND; i++)
		nothing<<<1, 64, 0, stream>>>();
}

static int measure_launches(int count)
{
	double cpu_ns = 0, wall_ns = 0;
	hipStream_t stream;
	CALL(hipStreamCreate(&stream));
	launch_round(stream);
	CALL(hipStreamSynchronize(stream));
	for (int left = count; left > 0; left -= ROUND) {
		double cpu = now_ns(CLOCK_THREAD_CPUTIME_ID), wall = now_ns(CLOCK_MONOTONIC);
		launch_round(stream);
		cpu_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
		wall_ns += now_ns(CLOCK_MONOTONIC) - wall;
		CALL(hipStreamSynchronize(stream));
	}
	printf("%.1f %.1f\n", cpu_ns / count, wall_ns / count);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "probe"))
		return probe();
	if (!strcmp(what, "work"))
		return work();
	if (!strcmp(what, "launch"))
		return measure_launches(argc > 2 ? atoi(argv[2]) : 10000);
	fprintf(stderr, "usage: device probe|work|launch COUNT\n");
	return 129;
}
