/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace-opencl autoencoder|cnn STEPS: two small trainings in OpenCL, for bench/trace_record.py.
 * Each step copies a batch to the device, runs the forward pass, the backward pass and the update
 * of the weights as one kernel for each layer and direction, and copies the loss back. Prints the
 * seconds and the CPU seconds that STEPS steps took, after some to warm up, in 20 parts, and what
 * the CPU seconds would be had all parts been as quick as the quickest quarter of them. Data is
 * made; the loss goes down.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH  8
#define LAYERS 8
#define WARM   10
#define PARTS  20

static const char *const source =
    /* a layer: `patch` inputs of each output, weights shared by `places` outputs of a channel */
    "kernel void forward(global const float *x, global const float *w, global float *y,\n"
    "		    int inputs, int outputs, int patch, int places, int relu) {\n"
    "	int o = get_global_id(0), b = get_global_id(1), c = o / places, p = o % places;\n"
    "	float sum = 0;\n"
    "	for (int i = 0; i < patch; i++)\n"
    "		sum += x[b * inputs + (p + i) % inputs] * w[c * patch + i];\n"
    "	y[b * outputs + o] = relu ? fmax(sum, 0.0f) : sum;\n"
    "}\n"
    "kernel void loss(global const float *y, global const float *t, global float *g,\n"
    "		 global float *sum, int outputs) {\n"
    "	int o = get_global_id(0);\n"
    "	float total = 0;\n"
    "	for (int b = 0; b < BATCH; b++) {\n"
    "		float d = y[b * outputs + o] - t[b * outputs + o];\n"
    "		g[b * outputs + o] = 2 * d / (BATCH * outputs);\n"
    "		total += d * d;\n"
    "	}\n"
    "	sum[o] = total;\n"
    "}\n"
    "kernel void backward(global const float *g, global const float *w, global const float *y,\n"
    "		     global float *gx, int inputs, int outputs, int patch, int places, int relu) "
    "{\n"
    "	int i = get_global_id(0), b = get_global_id(1), channels = outputs / places;\n"
    "	int from = places == 1 ? i : 0, to = places == 1 ? i + 1 : patch;\n"
    "	float sum = 0;\n"
    "	for (int c = 0; c < channels; c++)\n"
    "		for (int k = from; k < to; k++) {\n"
    "			int p = (i - k + inputs) % inputs;\n"
    "			if (p < places && (!relu || y[b * outputs + c * places + p] > 0))\n"
    "				sum += g[b * outputs + c * places + p] * w[c * patch + k];\n"
    "		}\n"
    "	gx[b * inputs + i] = sum;\n"
    "}\n"
    "kernel void update(global const float *g, global const float *x, global const float *y,\n"
    "		   global float *w, int inputs, int outputs, int patch, int places, int relu) {\n"
    "	int k = get_global_id(0), c = get_global_id(1);\n"
    "	float sum = 0;\n"
    "	for (int b = 0; b < BATCH; b++)\n"
    "		for (int p = 0; p < places; p++)\n"
    "			if (!relu || y[b * outputs + c * places + p] > 0)\n"
    "				sum += g[b * outputs + c * places + p] * x[b * inputs + (p + k) % "
    "inputs];\n"
    "	w[c * patch + k] -= 0.01f * sum;\n"
    "}\n";

struct layer {
	int inputs, outputs, patch, places, relu;
	cl_mem weights, output, gradient; /* the gradient of its input */
};

static cl_context context;
static cl_command_queue queue;
static cl_kernel forward, loss, backward, update;
static struct layer layers[LAYERS];
static int layer_count;
static cl_mem input, target, output_gradient, losses;
static float *batch;

static void check(cl_int status, const char *what)
{
	if (!status)
		return;
	fprintf(stderr, "%s: %d\n", what, status);
	exit(1);
}

static cl_mem buffer(size_t floats)
{
	cl_int status;
	float *values = malloc(floats * sizeof(*values));
	for (size_t i = 0; i < floats; i++)
		values[i] = ((float)rand() / (float)RAND_MAX - 0.5f) * 0.1f;
	cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
				     floats * sizeof(*values), values, &status);
	free(values);
	check(status, "clCreateBuffer");
	return made;
}

static void add_layer(int inputs, int patch, int channels, int places, int relu)
{
	struct layer *layer = &layers[layer_count++];
	*layer = (struct layer){inputs, channels * places, patch, places, relu, NULL, NULL, NULL};
	layer->weights = buffer((size_t)channels * (size_t)patch);
	layer->output = buffer((size_t)BATCH * (size_t)layer->outputs);
	layer->gradient = buffer((size_t)BATCH * (size_t)inputs);
}

static void set(cl_kernel kernel, const cl_mem *buffers, cl_uint count, const struct layer *layer)
{
	const int numbers[] = {layer->inputs, layer->outputs, layer->patch, layer->places,
			       layer->relu};
	for (cl_uint i = 0; i < count; i++)
		check(clSetKernelArg(kernel, i, sizeof(cl_mem), &buffers[i]), "clSetKernelArg");
	for (cl_uint i = 0; i < 5; i++)
		check(clSetKernelArg(kernel, count + i, sizeof(int), &numbers[i]),
		      "clSetKernelArg");
}

static void launch(cl_kernel kernel, int first, int second)
{
	size_t size[] = {(size_t)first, (size_t)second};
	check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, size, NULL, 0, NULL, NULL), "launch");
}

static cl_mem input_of(int i)
{
	return i ? layers[i - 1].output : input;
}

static float step(void)
{
	const struct layer *last = &layers[layer_count - 1];
	float sums[4096], total = 0;
	check(clEnqueueWriteBuffer(queue, input, CL_FALSE, 0,
				   (size_t)(BATCH * layers[0].inputs) * sizeof(float), batch, 0,
				   NULL, NULL),
	      "write");
	for (int i = 0; i < layer_count; i++) {
		set(forward, (cl_mem[]){input_of(i), layers[i].weights, layers[i].output}, 3,
		    &layers[i]);
		launch(forward, layers[i].outputs, BATCH);
	}
	const cl_mem of_loss[] = {last->output, target, output_gradient, losses};
	for (cl_uint i = 0; i < 4; i++)
		clSetKernelArg(loss, i, sizeof(cl_mem), &of_loss[i]);
	clSetKernelArg(loss, 4, sizeof(int), &last->outputs);
	launch(loss, last->outputs, 1);
	for (int i = layer_count - 1; i >= 0; i--) {
		struct layer *layer = &layers[i];
		cl_mem gradient = i + 1 < layer_count ? layers[i + 1].gradient : output_gradient;
		set(backward, (cl_mem[]){gradient, layer->weights, layer->output, layer->gradient},
		    4, layer);
		launch(backward, layer->inputs, BATCH);
		set(update, (cl_mem[]){gradient, input_of(i), layer->output, layer->weights}, 4,
		    layer);
		launch(update, layer->patch, layer->outputs / layer->places);
	}
	check(clEnqueueReadBuffer(queue, losses, CL_TRUE, 0, (size_t)last->outputs * sizeof(float),
				  sums, 0, NULL, NULL),
	      "read");
	for (int i = 0; i < last->outputs; i++)
		total += sums[i];
	return total / (float)(BATCH * last->outputs);
}

static void open_device(void)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int status = clGetPlatformIDs(1, &platform, NULL);
	check(status || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL),
	      "no device");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
	const char *text = source;
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
	char options[32];
	snprintf(options, sizeof(options), "-DBATCH=%d", BATCH);
	check(clBuildProgram(program, 0, NULL, options, NULL, NULL), "clBuildProgram");
	forward = clCreateKernel(program, "forward", &status);
	loss = clCreateKernel(program, "loss", &status);
	backward = clCreateKernel(program, "backward", &status);
	update = clCreateKernel(program, "update", &status);
}

static void make_model(int is_cnn)
{
	if (is_cnn) { /* two layers of convolutions along the image, two dense ones */
		add_layer(784, 9, 4, 776, 1);
		add_layer(3104, 16, 2, 1024, 1);
		add_layer(2048, 2048, 32, 1, 1);
		add_layer(32, 32, 10, 1, 0);
	} else {
		add_layer(784, 784, 128, 1, 1);
		add_layer(128, 128, 32, 1, 1);
		add_layer(32, 32, 128, 1, 1);
		add_layer(128, 128, 784, 1, 0);
	}
	size_t outputs = (size_t)layers[layer_count - 1].outputs;
	input = buffer((size_t)BATCH * 784);
	target = buffer(BATCH * outputs);
	output_gradient = buffer(BATCH * outputs);
	losses = buffer(outputs);
	batch = calloc((size_t)BATCH * 784, sizeof(*batch));
	for (int i = 0; i < BATCH * 784; i++)
		batch[i] = (float)(i * 7 % 100) / 100;
}

static double now(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 1;
	open_device();
	make_model(!strcmp(argv[1], "cnn"));
	float first = step(), last = first;
	for (int i = 0; i < WARM; i++)
		step();
	double start = now(CLOCK_MONOTONIC), parts[PARTS], sum = 0;
	for (int part = 0; part < PARTS; part++) {
		double cpu = now(CLOCK_PROCESS_CPUTIME_ID);
		for (long i = 0; i < atol(argv[2]) / PARTS; i++)
			last = step();
		parts[part] = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		sum += parts[part];
	}
	qsort(parts, PARTS, sizeof(*parts), by_size);
	printf("%.6f %.6f %.6f\n", now(CLOCK_MONOTONIC) - start, sum, PARTS * parts[PARTS / 4]);
	fprintf(stderr, "loss %g, then %g\n", (double)first, (double)last);
	return last < first ? 0 : 1;
}
