/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl_busy [steps]: 40 kernels, each after the processor has been in prepare() for 15 ms, which
 * no call of OpenCL is beside; with "steps" each round is an iteration. Prints the number of
 * kernels. Exit status 77: no OpenCL device.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include "sonde/sonde.h"

#include <stdint.h>
#include <stdio.h>
#include <time.h>

static const char source[] = "kernel void turn(global int *x) { x[get_global_id(0)] ^= 1; }";
static volatile uint64_t sink;

static uint64_t cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((noinline)) static void prepare(void)
{
	uint64_t start = cpu_ns();
	while (cpu_ns() - start < 15000000)
		for (int i = 0; i < 20000; i++)
			sink = sink + 1;
}

int main(int argc, char **argv)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int status;
	size_t items = 64;
	unsigned launched = 0;
	(void)argv;
	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 77;
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
	const char *text = source;
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
	cl_mem memory = clCreateBuffer(context, 0, items * sizeof(int), NULL, &status);
	if (clBuildProgram(program, 1, &device, "", NULL, NULL))
		return 1;
	cl_kernel kernel = clCreateKernel(program, "turn", &status);
	clSetKernelArg(kernel, 0, sizeof(memory), &memory);
	for (int i = 0; i < 40; i++) {
		if (argc > 1)
			sonde_iteration_begin("step");
		prepare();
		launched +=
		    !clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
		clFinish(queue);
		if (argc > 1)
			sonde_region_end();
	}
	printf("%u\n", launched);
	return 0;
}
