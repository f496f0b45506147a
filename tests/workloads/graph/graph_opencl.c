/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph whose nodes give work to a device: in each of 5 iterations "compute" enqueues 3 kernels
 * and "load" writes a buffer once; "idle" enqueues nothing. Exit status 77: there is no device.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include "sonde/sonde.h"

#include <CL/cl.h>
#include <stdio.h>

enum { ITERATIONS = 5, ITEMS = 4096 };

static const char source[] = "kernel void add_one(global int *x) { x[get_global_id(0)] += 1; }\n";

int main(void)
{
	static int data[ITEMS];
	cl_platform_id platform;
	cl_device_id device;
	cl_uint count = 0;
	if (clGetPlatformIDs(1, &platform, &count) || !count ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &count))
		return 77;
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
	const char *text = source;
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
	if (!queue || clBuildProgram(program, 1, &device, NULL, NULL, NULL))
		return 77;
	cl_kernel kernel = clCreateKernel(program, "add_one", NULL);
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(data), NULL, NULL);
	clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);
	size_t items = ITEMS;
	uint32_t model = sonde_model("device");
	uint32_t load = SONDE_NODE(model, "load"), compute = SONDE_NODE(model, "compute"),
		 idle = SONDE_NODE(model, "idle");
	sonde_model_edge(load, compute, 0, sizeof(data));
	for (int i = 0; i < ITERATIONS; i++) {
		SONDE_ITERATION("turn");
		sonde_node_begin(load);
		clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof(data), data, 0, NULL, NULL);
		sonde_node_end(load);
		sonde_node_begin(compute);
		for (int k = 0; k < 3; k++)
			clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
		sonde_node_end(compute);
		sonde_node_begin(idle);
		clFinish(queue);
		sonde_node_end(idle);
	}
	puts("done");
	return 0;
}
