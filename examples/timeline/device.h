/* SPDX-License-Identifier: Apache-2.0 */
/* The first OpenCL device, a queue on it, and kernels: what the examples here have in common. */
#ifndef EXAMPLES_DEVICE_H
#define EXAMPLES_DEVICE_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>

struct device {
	cl_context context;
	cl_command_queue queue;
	cl_program program;
};

static void check(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "%s failed (%d)\n", what, status);
	exit(1);
}

static struct device open_device(const char *source)
{
	struct device device;
	cl_platform_id platform;
	cl_device_id id;
	cl_int status;
	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL)) {
		fprintf(stderr, "no OpenCL device (the package pocl-opencl-icd makes the processor "
				"one)\n");
		exit(77);
	}
	device.context = clCreateContext(NULL, 1, &id, NULL, NULL, &status);
	check(status, "clCreateContext");
	device.queue = clCreateCommandQueue(device.context, id, 0, &status);
	check(status, "clCreateCommandQueue");
	device.program = clCreateProgramWithSource(device.context, 1, &source, NULL, &status);
	check(status, "clCreateProgramWithSource");
	check(clBuildProgram(device.program, 1, &id, "", NULL, NULL), "clBuildProgram");
	return device;
}

static cl_kernel make_kernel(const struct device *device, const char *name)
{
	cl_int status;
	cl_kernel kernel = clCreateKernel(device->program, name, &status);
	check(status, name);
	return kernel;
}

static cl_mem make_buffer(const struct device *device, size_t bytes)
{
	cl_int status;
	cl_mem buffer = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &status);
	check(status, "clCreateBuffer");
	return buffer;
}

static void run_kernel(const struct device *device, cl_kernel kernel, size_t items)
{
	check(clEnqueueNDRangeKernel(device->queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL),
	      "clEnqueueNDRangeKernel");
}

#endif
