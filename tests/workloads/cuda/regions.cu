/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels inside and outside of regions that are called "step"; the argument says how. "inside" is launched in them alone, "outside" never,
 * "both" here and there. */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#ifdef WITH_NVTX
#include <nvtx3/nvToolsExt.h>
#endif
#include <sonde/sonde.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

__global__ void inside(float *x)
{
	x[threadIdx.x] *= 3; // sampled
}

__global__ void outside(float *x)
{
	x[threadIdx.x] += 3;
}

__global__ void both(float *x)
{
	x[threadIdx.x] -= 3;
}

enum { COUNT = 256 };

static float *memory(int device = 0)
{
	float *x = nullptr;
	cudaSetDevice(device);
	cudaMalloc(&x, COUNT * sizeof(*x));
	return x;
}

/* A step: five launches, and as many of what is launched elsewhere too. */
static void step(float *x)
{
	for (int i = 0; i < 5; i++) {
		inside<<<1, COUNT>>>(x);
		both<<<1, COUNT>>>(x); // in a step
	}
	cudaDeviceSynchronize();
}

static void other(float *x)
{
	for (int i = 0; i < 7; i++) {
		outside<<<1, COUNT>>>(x);
		both<<<1, COUNT>>>(x); // elsewhere
	}
	cudaDeviceSynchronize();
}

static void steps(int count)
{
	float *x = memory();
	other(x);
	for (int i = 0; i < count; i++) {
		sonde_region_begin("step");
		step(x);
		sonde_region_end();
		other(x);
	}
}

/* One in another, and in one of another name. */
static void nested()
{
	float *x = memory();
	sonde_region_begin("whole");
	other(x);
	sonde_region_begin("step");
	step(x);
	sonde_region_begin("step");
	step(x);
	sonde_region_end();
	step(x);
	sonde_region_end();
	other(x);
	sonde_region_end();
	other(x);
}

/* Two threads, each in its own: one leaves it while the other stays. */
static void threads()
{
	float *x = memory();
	std::atomic<int> is_in{0}, is_over{0};
	auto run = [&](bool is_first) {
		sonde_region_begin("step");
		is_in++;
		while (is_in < 2)
			usleep(100);
		step(x);
		if (is_first) /* the other one goes on */
			while (!is_over)
				usleep(100);
		sonde_region_end();
		is_over++;
	};
	std::thread one(run, true), two(run, false);
	one.join();
	two.join();
	other(x);
}

/* While one thread is in it, another launches. */
static void beside()
{
	float *x = memory();
	std::atomic<bool> is_in{false}, is_done{false};
	std::thread one([&] {
		sonde_region_begin("step");
		is_in = true;
		while (!is_done)
			usleep(100);
		sonde_region_end();
	});
	while (!is_in)
		usleep(100);
	step(x);
	is_done = true;
	one.join();
	other(x);
}

/* A device whose context is created in a region, and one whose is before. */
static void devices()
{
	float *x = memory();
	other(x);
	sonde_region_begin("step");
	step(x);
	float *y = memory(1);
	step(y);
	sonde_region_end();
	other(y);
	cudaSetDevice(0);
	other(x);
	sonde_region_begin("step");
	step(x);
	cudaSetDevice(1);
	step(y);
	sonde_region_end();
	other(y);
}

/* The first thing that is asked of CUDA is a launch in a region. */
static void first()
{
	sonde_region_begin("step");
	step(nullptr);
	sonde_region_end();
	other(nullptr);
}

/* The region ends while kernels of its own run, which the program waits for, or not: then they are cut. */
static void early(bool waits)
{
	float *x = memory();
	cudaStream_t stream;
	cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	sonde_region_begin("step");
	for (int i = 0; i < 5; i++)
		inside<<<1, COUNT>>>(x);
	sonde_region_end();
	if (waits)
		cudaDeviceSynchronize();
	else
		usleep(300000); // of a second that they take
	outside<<<1, COUNT, 0, stream>>>(x);
	cudaDeviceSynchronize();
}

static cudaGraphExec_t capture(cudaStream_t stream, float *x)
{
	cudaGraph_t graph;
	cudaGraphExec_t executable;
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
	inside<<<1, COUNT, 0, stream>>>(x);
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&executable, graph, 0);
	return executable;
}

static void graph()
{
	cudaStream_t stream;
	float *x = memory();
	cudaStreamCreate(&stream);
	cudaGraphExec_t executable = capture(stream, x);
	sonde_region_begin("step");
	for (int i = 0; i < 5; i++)
		cudaGraphLaunch(executable, stream);
	cudaStreamSynchronize(stream);
	sonde_region_end();
	for (int i = 0; i < 7; i++)
		cudaGraphLaunch(executable, stream);
	cudaStreamSynchronize(stream);
	other(x);
}

/* Regions of three threads begin and end while a fourth launches graphs. */
static void crowd()
{
	float *x = memory();
	std::atomic<int> rest{3};
	cudaStream_t stream;
	cudaStreamCreate(&stream);
	cudaGraphExec_t executable = capture(stream, x);
	auto run = [&] {
		for (int i = 0; i < 40; i++) {
			other(x);
			sonde_region_begin("step");
			step(x);
			sonde_region_end();
		}
		rest--;
	};
	std::thread one(run), two(run), three(run);
	while (rest) {
		cudaGraphLaunch(executable, stream);
		cudaStreamSynchronize(stream);
	}
	one.join();
	two.join();
	three.join();
}

/* A range that begins in one thread and ends in another, by AMD's interface. */
static void range()
{
	auto start = (uint64_t(*)(const char *))dlsym(RTLD_DEFAULT, "roctxRangeStartA");
	auto stop = (void (*)(uint64_t))dlsym(RTLD_DEFAULT, "roctxRangeStop");
	float *x = memory();
	uint64_t id = start ? start("step") : 0;
	step(x);
	std::thread([&] {
		if (stop)
			stop(id);
	}).join();
	other(x);
}

/* NVTX's: one on a thread's stack, and one that another thread ends. */
static void nvtx()
{
#ifdef WITH_NVTX
	float *x = memory();
	other(x);
	nvtxRangePushA("step");
	step(x);
	nvtxRangePop();
	other(x);
	nvtxRangeId_t range = nvtxRangeStartA("step");
	step(x);
	std::thread([&] { nvtxRangeEnd(range); }).join();
	other(x);
#endif
}

/* As the binding for Python has them. */
static void token()
{
	auto begin = (uint32_t(*)(const char *, unsigned))dlsym(RTLD_DEFAULT, "sonde_python_region_begin");
	auto end = (void (*)(uint32_t))dlsym(RTLD_DEFAULT, "sonde_python_region_end");
	float *x = memory();
	other(x);
	uint32_t first = begin ? begin("step", 0) : 0, second = begin ? begin("another", 0) : 0;
	step(x);
	if (end)
		end(first);
	other(x);
	if (end)
		end(second);
}

/* A thread ends in it. */
static void left()
{
	float *x = memory();
	std::thread([&] {
		sonde_region_begin("step");
		step(x);
	}).join();
	other(x);
}

/* A child: it is in the region of the thread that made it, and in that of no other. */
static void child()
{
	std::atomic<bool> is_in{false}, is_over{false};
	std::thread one([&] {
		sonde_region_begin("step");
		is_in = true;
		while (!is_over)
			usleep(100);
		sonde_region_end();
	});
	while (!is_in)
		usleep(100);
	sonde_region_begin("step");
	pid_t pid = fork();
	if (!pid) {
		float *x = memory();
		step(x);
		sonde_region_end();
		other(x);
		exit(0);
	}
	waitpid(pid, nullptr, 0);
	sonde_region_end();
	is_over = true;
	one.join();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	if (!strcmp(how, "nested"))
		nested();
	else if (!strcmp(how, "threads"))
		threads();
	else if (!strcmp(how, "beside"))
		beside();
	else if (!strcmp(how, "devices"))
		devices();
	else if (!strcmp(how, "first"))
		first();
	else if (!strcmp(how, "early") || !strcmp(how, "cut"))
		early(!strcmp(how, "early"));
	else if (!strcmp(how, "graph"))
		graph();
	else if (!strcmp(how, "crowd"))
		crowd();
	else if (!strcmp(how, "range"))
		range();
	else if (!strcmp(how, "nvtx"))
		nvtx();
	else if (!strcmp(how, "token"))
		token();
	else if (!strcmp(how, "left"))
		left();
	else if (!strcmp(how, "child"))
		child();
	else if (!strcmp(how, "empty")) {
		other(memory());
		sonde_region_begin("step");
		sonde_region_end();
	} else if (!strcmp(how, "endless")) {
		float *x = memory();
		other(x);
		sonde_region_begin("step");
		step(x);
	} else
		steps(atoi(how));
	printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
