/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device that waits for its input: in each step one thread of the processor decodes a batch of
 * images, and only then the device gets them. `preprocess --prefetch` decodes the next batches in
 * another thread while the device computes, as prefetch() of tf.data or the workers of a
 * DataLoader do.
 *
 *	sonde run --trace -- ./preprocess && sonde timeline --view idle preprocess.sdb
 */
#include "device.h"

#include <sonde/sonde.h>

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum { STEPS = 24, IMAGES = 16, PIXELS = 64 * 1024, BATCH = IMAGES * PIXELS, SLOTS = 4 };

static const char source[] =
    "kernel void train(global const float *images, global float *weights)\n"
    "{\n"
    "	size_t at = get_global_id(0);\n"
    "	float sum = weights[at];\n"
    "	for (int i = 0; i < 8; i++)\n"
    "		sum = 0.9f * sum + images[at] * (1 - sum);\n"
    "	weights[at] = sum;\n"
    "}\n";

static unsigned char files[IMAGES][PIXELS];
static float batches[SLOTS][BATCH];

/* Kept out of line, as it would be in a larger program. */
__attribute__((noinline)) static void decode_image(const unsigned char *file, float *image)
{
	SONDE_REGION("decode_image");
	for (size_t i = 0; i < PIXELS; i++)
		image[i] = powf((float)file[i] / 255, 2.2f) - 0.5f;
}

static void decode_batch(float *batch)
{
	SONDE_REGION("decode_batch");
	for (size_t i = 0; i < IMAGES; i++)
		decode_image(files[i], batch + i * PIXELS);
}

/* ---- batches that are decoded beforehand ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned decoded, used;

static void *prefetch(void *nothing)
{
	for (unsigned step = 0; step < STEPS; step++) {
		pthread_mutex_lock(&lock);
		while (decoded - used == SLOTS)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		decode_batch(batches[step % SLOTS]);
		pthread_mutex_lock(&lock);
		decoded++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	return nothing;
}

static void wait_for_batch(unsigned step)
{
	pthread_mutex_lock(&lock);
	while (decoded <= step)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void give_back(void)
{
	pthread_mutex_lock(&lock);
	used++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	bool is_prefetching = argc > 1 && !strcmp(argv[1], "--prefetch");
	struct device device = open_device(source);
	cl_kernel kernel = make_kernel(&device, "train");
	cl_mem images = make_buffer(&device, sizeof(batches[0]));
	cl_mem weights = make_buffer(&device, sizeof(batches[0]));
	pthread_t thread;
	check(clSetKernelArg(kernel, 0, sizeof(images), &images), "clSetKernelArg");
	check(clSetKernelArg(kernel, 1, sizeof(weights), &weights), "clSetKernelArg");
	for (size_t i = 0; i < sizeof(files); i++)
		files[i / PIXELS][i % PIXELS] = (unsigned char)(i * 7919);
	if (is_prefetching) {
		pthread_create(&thread, NULL, prefetch, NULL);
		wait_for_batch(SLOTS - 1);
	}
	for (unsigned step = 0; step < STEPS; step++) {
		SONDE_ITERATION("step");
		float *batch = batches[step % SLOTS];
		if (is_prefetching)
			wait_for_batch(step);
		else
			decode_batch(batch);
		check(clEnqueueWriteBuffer(device.queue, images, CL_FALSE, 0, sizeof(batches[0]),
					   batch, 0, NULL, NULL),
		      "clEnqueueWriteBuffer");
		for (int epoch = 0; epoch < 8; epoch++)
			run_kernel(&device, kernel, BATCH);
		check(clFinish(device.queue), "clFinish");
		if (is_prefetching)
			give_back();
	}
	if (is_prefetching)
		pthread_join(thread, NULL);
	return 0;
}
