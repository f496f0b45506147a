/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OpenCL loader and runtime of a few functions, for tests/cli/collect/test_opencl_loaders.py:
 * initialises the layer as loaders of before or since 2025 do, for a device of the version that is
 * named, launches kernels, and takes the layer down as the loader does that is unloaded. Kernel n
 * runs for n microseconds.
 *
 * Usage: opencl_loader old|new|properties VERSION COUNT [COUNT of a second life]. Prints what was
 * asked that may not be.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *version;
static unsigned launched;
static bool is_up;
static cl_ulong queued[1024];

static cl_ulong now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (cl_ulong)now.tv_sec * 1000000000u + (cl_ulong)now.tv_nsec;
}

static cl_int answer(const void *from, size_t bytes, size_t size, void *value, size_t *size_ret)
{
	if (!is_up)
		puts("a call to a runtime that is gone");
	if (value && size < bytes)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, from, bytes);
	if (size_ret)
		*size_ret = bytes;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info name, size_t size,
				      void *value, size_t *size_ret)
{
	const char *text = name == CL_DEVICE_VERSION ? version : "made up";
	return answer(text, strlen(text) + 1, size, value, size_ret);
}

static cl_int CL_API_CALL timers(cl_device_id device, cl_ulong *device_ns, cl_ulong *host_ns)
{
	puts("both clocks");
	*device_ns = *host_ns = now_ns();
	return CL_SUCCESS;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
						 cl_command_queue_properties properties,
						 cl_int *status)
{
	static char queue;
	*status = CL_SUCCESS;
	return (cl_command_queue)&queue;
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
				 const size_t *offset, const size_t *global, const size_t *local,
				 cl_uint count, const cl_event *waits, cl_event *event)
{
	queued[launched] = now_ns();
	launched++;
	if (event)
		*event = (cl_event)(uintptr_t)(launched * 16);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL event_info(cl_event event, cl_event_info name, size_t size, void *value,
				     size_t *size_ret)
{
	cl_int status = CL_COMPLETE;
	return answer(&status, sizeof(status), size, value, size_ret);
}

static cl_int CL_API_CALL event_times(cl_event event, cl_profiling_info name, size_t size,
				      void *value, size_t *size_ret)
{
	unsigned number = (unsigned)((uintptr_t)event / 16);
	cl_ulong time =
	    queued[number - 1] + (name == CL_PROFILING_COMMAND_END ? number * 1000u : 0);
	return answer(&time, sizeof(time), size, value, size_ret);
}

static cl_int CL_API_CALL kernel_info(cl_kernel kernel, cl_kernel_info name, size_t size,
				      void *value, size_t *size_ret)
{
	return answer("turn", 5, size, value, size_ret);
}

static cl_int CL_API_CALL release_event(cl_event event)
{
	return CL_SUCCESS;
}

static cl_icd_dispatch runtime = {.clGetDeviceInfo = device_info,
				  .clGetDeviceAndHostTimer = timers,
				  .clCreateCommandQueue = create_queue,
				  .clEnqueueNDRangeKernel = launch,
				  .clGetEventInfo = event_info,
				  .clGetEventProfilingInfo = event_times,
				  .clGetKernelInfo = kernel_info,
				  .clReleaseEvent = release_event};

static void *symbol(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);
	if (!found) {
		printf("no %s\n", name);
		exit(1);
	}
	return found;
}

typedef cl_int init_layer(cl_uint, const cl_icd_dispatch *, cl_uint *, const cl_icd_dispatch **,
			  const intptr_t *);

static void live(const char *how, unsigned count)
{
	const intptr_t none[] = {0}, some[] = {77, 1, 0};
	bool is_old = !strcmp(how, "old");
	init_layer *init = symbol(is_old ? "clInitLayer" : "clInitLayerWithProperties");
	cl_int(CL_API_CALL * deinit)(void) = is_old ? NULL : symbol("clDeinitLayer");
	const cl_icd_dispatch *layer = NULL;
	cl_uint entries = 0, known = sizeof(runtime) / sizeof(void *);
	is_up = true;
	cl_int status =
	    init(known, &runtime, &entries, &layer, !strcmp(how, "properties") ? some : none);
	if (status) {
		printf("refused %d\n", status);
		return;
	}
	size_t items = 64;
	cl_device_id device = (cl_device_id)&runtime;
	cl_command_queue queue = layer->clCreateCommandQueue(NULL, device, 0, &status);
	while (count--)
		layer->clEnqueueNDRangeKernel(queue, (cl_kernel)&items, 1, NULL, &items, NULL, 0,
					      NULL, NULL);
	if (deinit) {
		deinit();
		is_up = false;
	}
}

int main(int argc, char **argv)
{
	version = argv[2];
	for (int i = 3; i < argc; i++)
		live(argv[1], (unsigned)atoi(argv[i]));
	return 0;
}
