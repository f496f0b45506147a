/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat spreading over a plate, in OpenCL: a stencil steps until nothing changes any more.
 *
 * It is slow for a reason that is easy to make and that a profile shows at once: after every step
 * it reads the whole plate back and looks for the largest change on the host. `heat --fixed` reduces
 * on the device, and reads one number for each work group every 25 steps.
 *
 *	sonde run -- ./heat
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <sonde/sonde.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE	   768
#define CELLS	   (SIDE * SIDE)
#define GROUP	   64
#define STEPS_MOST 300
#define TOLERANCE  1e-3f

static const char source[] =
    "kernel void step_heat(global const float *now, global float *next)\n"
    "{\n"
    "	int x = get_global_id(0), y = get_global_id(1), side = get_global_size(0), at = y * side + "
    "x;\n"
    "	if (x == 0 || y == 0 || x == side - 1 || y == side - 1) {\n"
    "		next[at] = now[at];\n"
    "		return;\n"
    "	}\n"
    "	next[at] = 0.25f * (now[at - 1] + now[at + 1] + now[at - side] + now[at + side]);\n"
    "}\n"
    "kernel void largest_change(global const float *now, global const float *next, int cells,\n"
    "			    global float *result)\n"
    "{\n"
    "	float most = 0;\n"
    "	for (int at = get_global_id(0); at < cells; at += get_global_size(0))\n"
    "		most = fmax(most, fabs(next[at] - now[at]));\n"
    "	result[get_global_id(0)] = most;\n"
    "}\n";

static cl_context context;
static cl_command_queue queue;
static cl_kernel step_kernel, change_kernel;
static cl_mem plates[2], changes;
static float *host[2];

static void check(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "heat: %s failed (%d)\n", what, status);
	exit(1);
}

static cl_mem make_buffer(size_t bytes)
{
	cl_int status;
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
	check(status, "clCreateBuffer");
	return buffer;
}

static void open_device(void)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int status;
	const char *text = source;
	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
		fprintf(stderr, "heat: no OpenCL device (the package pocl-opencl-icd makes the "
				"processor one)\n");
		exit(77);
	}
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	check(status, "clCreateContext");
	queue = clCreateCommandQueue(context, device, 0, &status);
	check(status, "clCreateCommandQueue");
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
	check(status, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	step_kernel = clCreateKernel(program, "step_heat", &status);
	check(status, "clCreateKernel");
	change_kernel = clCreateKernel(program, "largest_change", &status);
	check(status, "clCreateKernel");
	clReleaseProgram(program);
}

static void make_plates(void)
{
	for (int i = 0; i < 2; i++) {
		plates[i] = make_buffer(CELLS * sizeof(float));
		host[i] = calloc(CELLS, sizeof(float));
	}
	changes = make_buffer(GROUP * sizeof(float));
	for (int x = 0; x < SIDE; x++)
		host[0][x] = host[1][x] = 100; /* one hot edge */
	for (int i = 0; i < 2; i++)
		check(clEnqueueWriteBuffer(queue, plates[i], CL_TRUE, 0, CELLS * sizeof(float),
					   host[0], 0, NULL, NULL),
		      "clEnqueueWriteBuffer");
}

/* Kept out of line, as it would be in a larger program, so that each is a frame of its own. */
#define NOINLINE __attribute__((noinline))

NOINLINE static void step(int now)
{
	size_t global[2] = {SIDE, SIDE};
	check(clSetKernelArg(step_kernel, 0, sizeof(cl_mem), &plates[now]), "clSetKernelArg");
	check(clSetKernelArg(step_kernel, 1, sizeof(cl_mem), &plates[!now]), "clSetKernelArg");
	check(clEnqueueNDRangeKernel(queue, step_kernel, 2, NULL, global, NULL, 0, NULL, NULL),
	      "clEnqueueNDRangeKernel");
}

/* The slow way: the whole plate comes back, every time. */
NOINLINE static float change_on_host(int now)
{
	SONDE_REGION("look for change");
	float most = 0;
	check(clEnqueueReadBuffer(queue, plates[!now], CL_TRUE, 0, CELLS * sizeof(float),
				  host[!now], 0, NULL, NULL),
	      "clEnqueueReadBuffer");
	for (int at = 0; at < CELLS; at++)
		most = fmaxf(most, fabsf(host[!now][at] - host[now][at]));
	return most;
}

NOINLINE static float change_on_device(int now)
{
	SONDE_REGION("look for change");
	size_t global = GROUP;
	cl_int cells = CELLS;
	float found[GROUP], most = 0;
	check(clSetKernelArg(change_kernel, 0, sizeof(cl_mem), &plates[now]), "clSetKernelArg");
	check(clSetKernelArg(change_kernel, 1, sizeof(cl_mem), &plates[!now]), "clSetKernelArg");
	check(clSetKernelArg(change_kernel, 2, sizeof(cells), &cells), "clSetKernelArg");
	check(clSetKernelArg(change_kernel, 3, sizeof(cl_mem), &changes), "clSetKernelArg");
	check(clEnqueueNDRangeKernel(queue, change_kernel, 1, NULL, &global, NULL, 0, NULL, NULL),
	      "clEnqueueNDRangeKernel");
	check(clEnqueueReadBuffer(queue, changes, CL_TRUE, 0, sizeof(found), found, 0, NULL, NULL),
	      "clEnqueueReadBuffer");
	for (int i = 0; i < GROUP; i++)
		most = fmaxf(most, found[i]);
	return most;
}

int main(int argc, char **argv)
{
	int fixed = argc > 1 && !strcmp(argv[1], "--fixed"), steps = 0, now = 0;
	float change = INFINITY;
	open_device();
	make_plates();
	for (; steps < STEPS_MOST && change > TOLERANCE; steps++, now = !now) {
		SONDE_ITERATION("step");
		step(now);
		if (!fixed)
			change = change_on_host(now);
		else if (steps % 25 == 24)
			change = change_on_device(now);
	}
	check(clFinish(queue), "clFinish");
	printf("%d steps, last change %.4f\n", steps, change);
	return 0;
}
