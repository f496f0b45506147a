/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for a CUDA device that says itself what it ran. It needs a C compiler and the driver: kernels are PTX, which the driver compiles.
 *
 *	device probe              the devices; status 77, with one line, where there is none
 *	device cupti              the path of the CUPTI that tools of this machine take; status 77 where there is none
 *	device work               kernels, copies and sets in streams, threads and a graph; then the truth, as JSON
 *	device launch COUNT       nanoseconds of CPU time a launch, and of wall time
 *	device detach COUNT       the same, after a tool of the program's own has had CUPTI
 *	device graph COUNT NODES  microseconds of CPU time a replay, of the thread and of the process
 */
#include "driver.h"
#include "truth.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT	(1 << 16)
#define BYTES	(COUNT * sizeof(uint32_t))
#define THREADS 3
#define FILLED	0x5au /* each byte */

static struct driver driver;
static cu_context context;
static cu_function scale, add, nothing;

/* ---- the device's code ---- */

static const char ptx[] =
    ".version 6.4\n"
    ".target %s\n"
    ".address_size 64\n"
    ".visible .entry nothing() { ret; }\n"
    ".visible .entry scale(.param .u64 scale_x, .param .u32 scale_a) {\n"
    "	.reg .b32 %%r<5>; .reg .b32 %%v<4>; .reg .b64 %%rd<5>;\n"
    "	ld.param.u64 %%rd1, [scale_x]; ld.param.u32 %%v1, [scale_a];\n"
    "	cvta.to.global.u64 %%rd2, %%rd1;\n"
    "	mov.u32 %%r1, %%ctaid.x; mov.u32 %%r2, %%ntid.x; mov.u32 %%r3, %%tid.x;\n"
    "	mad.lo.s32 %%r4, %%r1, %%r2, %%r3;\n"
    "	mul.wide.s32 %%rd3, %%r4, 4; add.s64 %%rd4, %%rd2, %%rd3;\n"
    "	ld.global.u32 %%v2, [%%rd4]; mul.lo.u32 %%v3, %%v2, %%v1; st.global.u32 [%%rd4], %%v3;\n"
    "	ret;\n"
    "}\n"
    ".visible .entry add(.param .u64 add_x, .param .u64 add_y) {\n"
    "	.reg .b32 %%r<5>; .reg .b32 %%v<4>; .reg .b64 %%rd<8>;\n"
    "	ld.param.u64 %%rd1, [add_x]; ld.param.u64 %%rd2, [add_y];\n"
    "	cvta.to.global.u64 %%rd3, %%rd1; cvta.to.global.u64 %%rd4, %%rd2;\n"
    "	mov.u32 %%r1, %%ctaid.x; mov.u32 %%r2, %%ntid.x; mov.u32 %%r3, %%tid.x;\n"
    "	mad.lo.s32 %%r4, %%r1, %%r2, %%r3;\n"
    "	mul.wide.s32 %%rd5, %%r4, 4; add.s64 %%rd6, %%rd3, %%rd5; add.s64 %%rd7, %%rd4, %%rd5;\n"
    "	ld.global.u32 %%v1, [%%rd6]; ld.global.u32 %%v2, [%%rd7]; add.u32 %%v3, %%v1, %%v2;\n"
    "	st.global.u32 [%%rd6], %%v3;\n"
    "	ret;\n"
    "}\n";

/* 77: there is no device, which is said to who asks. All else is a failure. */
__attribute__((noreturn)) static void end(int status, const char *what, const char *why)
{
	fprintf(status == 77 ? stdout : stderr, "%s%s%s\n", what, *why ? ": " : "", why);
	exit(status);
}

static void check(int error, const char *what)
{
	const char *text = NULL;
	if (!error)
		return;
	driver.cuGetErrorString(error, &text);
	end(1, what, text ? text : "an error without a text");
}

#define CALL(name, ...) check(driver.name(__VA_ARGS__), #name)

static void find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library)
		end(77, "no CUDA driver (libcuda.so.1)", "");
#define FIND(name, parameters)                                                                     \
	driver.name = (int(*) parameters)dlsym(library, #name);                                    \
	if (!driver.name)                                                                          \
		end(77, "the CUDA driver lacks a function", #name);
	DRIVER_FUNCTIONS(FIND)
#undef FIND
}

/* How many devices there are. */
static int begin(void)
{
	int count = 0;
	find_driver();
	int error = driver.cuInit(0);
	const char *text = "no device";
	if (error)
		driver.cuGetErrorString(error, &text);
	if (error || driver.cuDeviceGetCount(&count) || !count)
		end(77, "no CUDA device", text ? text : "");
	return count;
}

/* The oldest device that the driver compiles for is newer in newer drivers. */
static void load(void)
{
	static const char *const targets[] = {"sm_50", "sm_60", "sm_75"};
	char text[sizeof(ptx) + 16];
	cu_module module;
	int device, error = 1;
	CALL(cuDeviceGet, &device, 0);
	CALL(cuDevicePrimaryCtxRetain, &context, device);
	CALL(cuCtxSetCurrent, context);
	for (size_t index = 0; index < sizeof(targets) / sizeof(*targets) && error; index++) {
		snprintf(text, sizeof(text), ptx, targets[index]);
		error = driver.cuModuleLoadData(&module, text);
	}
	check(error, "cuModuleLoadData");
	CALL(cuModuleGetFunction, &scale, module, "scale");
	CALL(cuModuleGetFunction, &add, module, "add");
	CALL(cuModuleGetFunction, &nothing, module, "nothing");
}

static int probe(void)
{
	int count = begin(), version = 0;
	driver.cuDriverGetVersion(&version);
	for (int ordinal = 0; ordinal < count; ordinal++) {
		char name[256] = "";
		int device;
		CALL(cuDeviceGet, &device, ordinal);
		CALL(cuDeviceGetName, name, sizeof(name), device);
		printf("device %d: %s, CUDA %d.%d\n", ordinal, name, version / 1000,
		       version % 1000 / 10);
	}
	return 0;
}

/* ---- what ran ---- */

/* Not inlined, nor a tail call: what is launched is below the line of the macro. */
static __attribute__((noinline)) void launch(cu_function function, cu_stream stream,
					     void **parameters)
{
	CALL(cuLaunchKernel, function, COUNT / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL);
}

#define LAUNCH(kernel, stream, is_captured, ...)                                                   \
	do {                                                                                       \
		note(#kernel, __LINE__, 0, is_captured);                                           \
		launch(kernel, stream, (void *[]){__VA_ARGS__});                                   \
	} while (0)

/* ---- the work ---- */

static uint32_t factor = 3;

struct share {
	cu_memory x;
	int times;
	cu_stream stream;
};

static void *work_in_thread(void *data)
{
	struct share *share = data;
	CALL(cuCtxSetCurrent, context);
	for (int i = 0; i < share->times; i++)
		LAUNCH(scale, share->stream, false, &share->x, &factor);
	return NULL;
}

static void work_in_threads(cu_memory x, cu_stream stream)
{
	pthread_t threads[THREADS];
	struct share shares[THREADS];
	for (int i = 0; i < THREADS; i++) {
		shares[i] = (struct share){x, 10 * (i + 1), stream};
		pthread_create(&threads[i], NULL, work_in_thread, &shares[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* Two streams, one after the other's event. */
static void work_in_streams(cu_memory x, cu_memory y, cu_stream one, cu_stream other)
{
	cu_event event;
	CALL(cuEventCreate, &event, 0);
	for (int i = 0; i < 40; i++)
		LAUNCH(scale, one, false, &x, &factor);
	CALL(cuEventRecord, event, one);
	CALL(cuStreamWaitEvent, other, event, 0);
	for (int i = 0; i < 15; i++)
		LAUNCH(add, other, false, &x, &y);
	CALL(cuStreamSynchronize, other);
}

static cu_executable capture(cu_memory x, cu_memory y, cu_stream stream)
{
	cu_graph graph;
	cu_executable executable;
	CALL(cuStreamBeginCapture_v2, stream, 0);
	for (int i = 0; i < 3; i++)
		LAUNCH(scale, stream, true, &x, &factor);
	LAUNCH(add, stream, true, &x, &y);
	CALL(cuStreamEndCapture, stream, &graph);
	CALL(cuGraphInstantiateWithFlags, &executable, graph, 0);
	return executable;
}

#define REPLAYS 10

/* The line of the replay. */
static int replay(cu_executable executable, cu_stream stream)
{
	int line = 0;
	for (int i = 0; i < REPLAYS; i++) {
		line = __LINE__ + 1;
		CALL(cuGraphLaunch, executable, stream);
	}
	CALL(cuStreamSynchronize, stream);
	return line;
}

/* What the device computes of an element, which begins with its place: of y one half was copied from x, and the other was set. */
static uint32_t expected(uint32_t index)
{
	uint32_t x = index + 1, y = index < COUNT / 2 ? x : FILLED * 0x01010101u;
	for (int i = 0; i < 40; i++)
		x *= factor;
	for (int i = 0; i < 15; i++)
		x += y;
	for (int i = 0; i < 10 * (1 + 2 + THREADS); i++)
		y *= factor;
	for (int i = 0; i < REPLAYS; i++)
		x = x * factor * factor * factor + y;
	return x;
}

static int work(void)
{
	uint32_t *host = malloc(BYTES);
	cu_memory x, y;
	cu_stream one, other;
	begin();
	load();
	for (uint32_t i = 0; i < COUNT; i++)
		host[i] = i + 1;
	CALL(cuMemAlloc_v2, &x, BYTES);
	CALL(cuMemAlloc_v2, &y, BYTES);
	CALL(cuStreamCreate, &one, 0);
	CALL(cuStreamCreate, &other, 1);
	note("copy", __LINE__ + 1, BYTES, false);
	CALL(cuMemcpyHtoD_v2, x, host, BYTES);
	note("set", __LINE__ + 1, BYTES, false);
	CALL(cuMemsetD8_v2, y, FILLED, BYTES);
	note("copy", __LINE__ + 1, BYTES / 2, false);
	CALL(cuMemcpyDtoD_v2, y, x, BYTES / 2);
	CALL(cuCtxSynchronize);
	work_in_streams(x, y, one, other);
	work_in_threads(y, one);
	CALL(cuCtxSynchronize);
	int line = replay(capture(x, y, one), one);
	note("copy", __LINE__ + 1, BYTES, false);
	CALL(cuMemcpyDtoH_v2, host, x, BYTES);
	CALL(cuMemFree_v2, x);
	CALL(cuMemFree_v2, y);
	print_wrong(host, COUNT, expected);
	free(host);
	print_truth(REPLAYS, line);
	return 0;
}

/* ---- what it costs ---- */

#define ROUND 1000

static double now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void launch_round(cu_stream stream)
{
	for (int i = 0; i < ROUND; i++)
		driver.cuLaunchKernel(nothing, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
}

static void ignore(void *data, unsigned domain, unsigned cbid, const void *call)
{
	(void)data, (void)domain, (void)cbid, (void)call;
}

/* Where the loader finds it, or in the toolkit. NULL where there is none. */
static void *open_cupti(void)
{
	static const char *const folders[] = {"", "/usr/local/cuda/extras/CUPTI/lib64/",
					      "/usr/local/cuda/lib64/",
					      "/opt/cuda/extras/CUPTI/lib64/"};
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
					    "libcupti.so"};
	void *library = NULL;
	for (int folder = 0; folder < 4 && !library; folder++)
		for (int name = 0; name < 4 && !library; name++) {
			char path[256];
			snprintf(path, sizeof(path), "%s%s", folders[folder], names[name]);
			library = dlopen(path, RTLD_NOW);
		}
	return library;
}

/* Nothing of it is called: without a driver some releases crash. */
static int find_cupti(void)
{
	void *library = open_cupti(), *function = library ? dlsym(library, "cuptiSubscribe") : NULL;
	Dl_info module;
	if (!function || !dladdr(function, &module) || !module.dli_fname)
		return 77;
	printf("%s\n", module.dli_fname);
	return 0;
}

/* Whoever holds CUPTI gives it up, or this fails. */
static void take_cupti(void)
{
	typedef void callback(void *data, unsigned domain, unsigned cbid, const void *call);
	void *library = open_cupti(), *subscriber;
	if (!library)
		end(77, "no CUPTI", "");
	int (*subscribe)(void **, callback *, void *) =
	    (int (*)(void **, callback *, void *))dlsym(library, "cuptiSubscribe");
	int (*unsubscribe)(void *) = (int (*)(void *))dlsym(library, "cuptiUnsubscribe");
	if (!subscribe || !unsubscribe || subscribe(&subscriber, ignore, NULL) ||
	    unsubscribe(subscriber))
		end(77, "CUPTI cannot be had", "");
}

static int measure_launches(int count, bool detaches)
{
	double cpu_ns = 0, wall_ns = 0;
	cu_stream stream;
	begin();
	load();
	CALL(cuStreamCreate, &stream, 0);
	launch_round(stream);
	CALL(cuStreamSynchronize, stream);
	if (detaches)
		take_cupti();
	for (int left = count; left > 0; left -= ROUND) {
		double cpu = now_ns(CLOCK_THREAD_CPUTIME_ID), wall = now_ns(CLOCK_MONOTONIC);
		launch_round(stream);
		cpu_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
		wall_ns += now_ns(CLOCK_MONOTONIC) - wall;
		CALL(cuStreamSynchronize, stream);
	}
	printf("%.1f %.1f\n", cpu_ns / count, wall_ns / count);
	return 0;
}

static int measure_graphs(int count, int nodes)
{
	cu_stream stream;
	cu_graph graph;
	cu_executable executable;
	begin();
	load();
	CALL(cuStreamCreate, &stream, 0);
	CALL(cuStreamBeginCapture_v2, stream, 0);
	for (int i = 0; i < nodes; i++)
		driver.cuLaunchKernel(nothing, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
	CALL(cuStreamEndCapture, stream, &graph);
	CALL(cuGraphInstantiateWithFlags, &executable, graph, 0);
	for (int i = 0; i < 20; i++)
		CALL(cuGraphLaunch, executable, stream);
	CALL(cuStreamSynchronize, stream);
	double thread_ns = now_ns(CLOCK_THREAD_CPUTIME_ID),
	       process_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 1; i <= count; i++) {
		CALL(cuGraphLaunch, executable, stream);
		if (i % 20 == 0)
			CALL(cuStreamSynchronize, stream);
	}
	printf("%.2f %.2f\n", (now_ns(CLOCK_THREAD_CPUTIME_ID) - thread_ns) / count / 1e3,
	       (now_ns(CLOCK_PROCESS_CPUTIME_ID) - process_ns) / count / 1e3);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int count = argc > 2 ? atoi(argv[2]) : 10000;
	if (!strcmp(what, "probe"))
		return probe();
	if (!strcmp(what, "cupti"))
		return find_cupti();
	if (!strcmp(what, "work"))
		return work();
	if (!strcmp(what, "launch") || !strcmp(what, "detach"))
		return measure_launches(count, *what == 'd');
	if (!strcmp(what, "graph"))
		return measure_graphs(count, argc > 3 ? atoi(argv[3]) : 500);
	fprintf(stderr,
		"usage: device probe|cupti|work|launch COUNT|detach COUNT|graph COUNT NODES\n");
	return 129;
}
