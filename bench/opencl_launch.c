/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of an empty OpenCL kernel that nobody waits for one by one: how long a launch takes the
 * program. Prints nanoseconds a launch: CPU time of the launching thread, and wall time of it all.
 * Usage: opencl-launch [LAUNCHES [DEPTH]]. Every 500 launches it waits. DEPTH functions lie between
 * main and the launch, so that a call path of that many frames has to be found.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH 500

static cl_command_queue queue;
static cl_kernel kernel;

static double now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void launch(void)
{
	size_t global = 1;
	if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL))
		exit(1);
}

__attribute__((noinline)) static double batch(int depth)
{
	double used;
	if (depth) {
		used = batch(depth - 1);
		__asm__ volatile(""); /* no tail call */
		return used;
	}
	double start = now_ns(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < BATCH; i++)
		launch();
	used = now_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	clFinish(queue);
	return used;
}

static int open_device(void)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int status;
	const char *source = "kernel void empty(void) {}";
	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return -1;
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
	if (status || clBuildProgram(program, 1, &device, "", NULL, NULL))
		return -1;
	kernel = clCreateKernel(program, "empty", &status);
	queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
	return status ? -1 : 0;
}

int main(int argc, char **argv)
{
	int launches = argc > 1 ? atoi(argv[1]) : 50000, depth = argc > 2 ? atoi(argv[2]) : 30;
	if (open_device()) {
		fprintf(stderr, "no OpenCL device\n");
		return 77;
	}
	batch(depth);
	double used = 0, start = now_ns(CLOCK_MONOTONIC);
	for (int done = 0; done < launches; done += BATCH)
		used += batch(depth);
	printf("%.1f %.1f\n", used / launches, (now_ns(CLOCK_MONOTONIC) - start) / launches);
	return 0;
}
