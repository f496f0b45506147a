/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work of known size by functions of OpenCL 1.2 alone, for devices that have no others
 * (tests/cli/collect/test_opencl_loaders.py). Exit status 77: there is no OpenCL device here.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>

static const char source[] = "kernel void add_one(global int *x) { x[get_global_id(0)] += 1; }\n";

int main(void)
{
	cl_platform_id platform;
	cl_device_id device;
	char version[64];
	cl_int status, values[256] = {0};
	const char *text = source;
	size_t items = 256;
	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 77;
	clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof(version), version, NULL);
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(values), NULL, &status);
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
	if (clBuildProgram(program, 1, &device, "", NULL, NULL))
		return 1;
	cl_kernel kernel = clCreateKernel(program, "add_one", &status);
	clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);
	clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL);
	for (int i = 0; i < 7; i++)
		status =
		    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
	clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL);
	printf("%s: %d\n", version, values[100]);
	clReleaseKernel(kernel);
	clReleaseProgram(program);
	clReleaseMemObject(buffer);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	return status;
}
