/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 150 kernels with a pause before each, and then 20 that wait together for half a second: their
 * start is long after their launch. Prints the number of kernels. Exit status 77: no OpenCL device.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <stdio.h>
#include <unistd.h>

static const char source[] = "kernel void turn(global int *x) { x[get_global_id(0)] ^= 1; }";

int main(void)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int status;
	size_t items = 64;
	unsigned launched = 0;
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
	for (int i = 0; i < 150; i++) {
		usleep(10000);
		launched +=
		    !clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
		clFinish(queue);
	}
	cl_event gate = clCreateUserEvent(context, &status);
	for (int i = 0; i < 20; i++)
		launched +=
		    !clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 1, &gate, NULL);
	clFlush(queue);
	usleep(500000);
	clSetUserEventStatus(gate, CL_COMPLETE);
	clFinish(queue);
	printf("%u\n", launched);
	return 0;
}
