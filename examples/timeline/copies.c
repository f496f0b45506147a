/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A large copy in each iteration: the batch goes to the device, which is soon done with it.
 * `copies --once` copies the whole data set at the start, and takes its batches out of it there.
 *
 *	sonde run --trace -- ./copies && sonde timeline --view transfers copies.sdb
 */
#include "device.h"

#include <sonde/sonde.h>

#include <stdbool.h>
#include <string.h>

enum { STEPS = 40, BATCHES = 4, BATCH = 4 << 20, GROUPS = 64 }; /* floats: 16 MiB */

static const char source[] =
    "kernel void sum_of_squares(global const float *data, ulong first, int count,\n"
    "			    global float *sums)\n"
    "{\n"
    "	float sum = 0;\n"
    "	for (int i = get_global_id(0); i < count; i += 64 * get_global_size(0))\n"
    "		sum += data[first + i] * data[first + i];\n"
    "	sums[get_global_id(0)] += sum;\n"
    "}\n";

static float data[BATCHES][BATCH];

static void copy_batch(const struct device *device, cl_mem buffer, unsigned number)
{
	SONDE_REGION("copy_batch");
	check(clEnqueueWriteBuffer(device->queue, buffer, CL_TRUE, 0, sizeof(data[0]), data[number],
				   0, NULL, NULL),
	      "clEnqueueWriteBuffer");
}

static void copy_all(const struct device *device, cl_mem buffer)
{
	SONDE_REGION("copy_all");
	check(clEnqueueWriteBuffer(device->queue, buffer, CL_TRUE, 0, sizeof(data), data, 0, NULL,
				   NULL),
	      "clEnqueueWriteBuffer");
}

int main(int argc, char **argv)
{
	bool is_once = argc > 1 && !strcmp(argv[1], "--once");
	struct device device = open_device(source);
	cl_kernel kernel = make_kernel(&device, "sum_of_squares");
	cl_mem buffer = make_buffer(&device, is_once ? sizeof(data) : sizeof(data[0]));
	cl_mem sums = make_buffer(&device, GROUPS * sizeof(float));
	cl_int count = BATCH;
	for (size_t i = 0; i < sizeof(data) / sizeof(data[0][0]); i++)
		data[i / BATCH][i % BATCH] = (float)(i % 1000);
	check(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "clSetKernelArg");
	check(clSetKernelArg(kernel, 2, sizeof(count), &count), "clSetKernelArg");
	check(clSetKernelArg(kernel, 3, sizeof(sums), &sums), "clSetKernelArg");
	if (is_once)
		copy_all(&device, buffer);
	for (unsigned step = 0; step < STEPS; step++) {
		SONDE_ITERATION("step");
		cl_ulong first = is_once ? (cl_ulong)(step % BATCHES) * BATCH : 0;
		if (!is_once)
			copy_batch(&device, buffer, step % BATCHES);
		check(clSetKernelArg(kernel, 1, sizeof(first), &first), "clSetKernelArg");
		run_kernel(&device, kernel, GROUPS);
		check(clFinish(device.queue), "clFinish");
	}
	return 0;
}
