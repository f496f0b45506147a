/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A known amount of OpenCL work, for tests/cli/collect/test_opencl.py: kernels of two kinds through
 * two call paths, copies, fills and maps of known sizes, in-order and out-of-order queues, user
 * events, events released early or not wanted at all, several threads.
 *
 * Prints what it asked the runtime about its queues and events, which must be the same whether it
 * is measured or not. With --profiling it asks for profiling itself, keeps every event and also
 * prints the sums of the runtime's own times. Exit status 77: there is no OpenCL device here.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES	    65536
#define ITEMS	    1024
#define THREADS	    3
#define EVENTS_MOST 4096

static const char source[] = "kernel void add_one(global int *x) { x[get_global_id(0)] += 1; }\n"
			     "kernel void scale(global int *x, int by)\n"
			     "{ x[get_global_id(0)] *= by; }\n";

static cl_context context;
static cl_device_id device;
static cl_program program;
static bool profiling;

static void check(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", what, status);
	exit(1);
}

/* ---- the runtime's own figures ---- */

enum what { ADD_ONE, SCALE, COPY, FILL, MAP, WHAT_COUNT };
static const char *const what_names[] = {"kernel add_one", "kernel scale", "copy", "fill", "map"};

static struct {
	cl_event event;
	enum what what;
} kept[EVENTS_MOST];
static unsigned kept_count;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t launched;

/* Where an enqueue puts its event: a place when times are to be summed, else none is wanted. */
static cl_event *keep(enum what what)
{
	if (!profiling)
		return NULL;
	pthread_mutex_lock(&kept_lock);
	kept[kept_count].what = what;
	cl_event *place = &kept[kept_count++].event;
	pthread_mutex_unlock(&kept_lock);
	return place;
}

static void print_times(void)
{
	unsigned long long sums[WHAT_COUNT] = {0};
	unsigned counts[WHAT_COUNT] = {0};
	for (unsigned i = 0; i < kept_count; i++) {
		cl_ulong start, end;
		check(clWaitForEvents(1, &kept[i].event), "clWaitForEvents");
		check(clGetEventProfilingInfo(kept[i].event, CL_PROFILING_COMMAND_START,
					      sizeof(start), &start, NULL),
		      "start");
		check(clGetEventProfilingInfo(kept[i].event, CL_PROFILING_COMMAND_END, sizeof(end),
					      &end, NULL),
		      "end");
		sums[kept[i].what] += end - start;
		counts[kept[i].what]++;
		clReleaseEvent(kept[i].event);
	}
	for (int what = 0; what < WHAT_COUNT; what++)
		printf("time|%s|%u|%llu\n", what_names[what], counts[what], sums[what]);
}

/* ---- work ---- */

static cl_kernel make_kernel(const char *name, cl_mem buffer)
{
	cl_int status;
	cl_kernel kernel = clCreateKernel(program, name, &status);
	check(status, "clCreateKernel");
	check(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "clSetKernelArg");
	if (!strcmp(name, "scale")) {
		int by = 3;
		check(clSetKernelArg(kernel, 1, sizeof(by), &by), "clSetKernelArg");
	}
	return kernel;
}

static cl_mem make_buffer(void)
{
	cl_int status;
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &status);
	check(status, "clCreateBuffer");
	return buffer;
}

static cl_command_queue make_queue(cl_command_queue_properties properties)
{
	cl_int status;
	if (profiling)
		properties |= CL_QUEUE_PROFILING_ENABLE;
	cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
	cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, list, &status);
	check(status, "clCreateCommandQueueWithProperties");
	return queue;
}

static void launch(cl_command_queue queue, cl_kernel kernel, enum what what, unsigned times)
{
	size_t global = ITEMS, local = 64;
	for (unsigned i = 0; i < times; i++)
		check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL,
					     keep(what)),
		      "clEnqueueNDRangeKernel");
}

__attribute__((noinline)) static void first_path(cl_command_queue queue, cl_mem buffer)
{
	cl_kernel kernel = make_kernel("add_one", buffer);
	launch(queue, kernel, ADD_ONE, 30);
	clReleaseKernel(kernel);
	__asm__ volatile("");
}

__attribute__((noinline)) static void second_path(cl_command_queue queue, cl_mem buffer)
{
	cl_kernel add = make_kernel("add_one", buffer), scale = make_kernel("scale", buffer);
	launch(queue, add, ADD_ONE, 20);
	launch(queue, scale, SCALE, 10);
	clReleaseKernel(add);
	clReleaseKernel(scale);
	__asm__ volatile("");
}

static void copies(cl_command_queue queue, cl_mem buffer, cl_mem other)
{
	static char host[BYTES];
	size_t zero[3] = {0}, region[3] = {16, 4, 2};
	for (int i = 0; i < 5; i++)
		check(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, 4096, host, 0, NULL,
					   keep(COPY)),
		      "write");
	for (int i = 0; i < 3; i++)
		check(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, 8192, host, 0, NULL,
					  keep(COPY)),
		      "read");
	for (int i = 0; i < 4; i++)
		check(clEnqueueCopyBuffer(queue, buffer, other, 0, 0, 1024, 0, NULL, keep(COPY)),
		      "copy");
	check(clEnqueueWriteBufferRect(queue, buffer, CL_TRUE, zero, zero, region, 64, 4096, 16, 64,
				       host, 0, NULL, keep(COPY)),
	      "write rectangle");
	check(clEnqueueReadBufferRect(queue, buffer, CL_TRUE, zero, zero, region, 64, 4096, 16, 64,
				      host, 0, NULL, keep(COPY)),
	      "read rectangle");
	check(clEnqueueCopyBufferRect(queue, buffer, other, zero, zero, region, 64, 4096, 64, 4096,
				      0, NULL, keep(COPY)),
	      "copy rectangle");
}

static void fills_and_maps(cl_command_queue queue, cl_mem buffer)
{
	int pattern = 0;
	cl_int status;
	for (int i = 0; i < 6; i++)
		check(clEnqueueFillBuffer(queue, buffer, &pattern, sizeof(pattern), 0, 2048, 0,
					  NULL, keep(FILL)),
		      "fill");
	for (int i = 0; i < 2; i++) {
		int *mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, 4096, 0,
						 NULL, keep(MAP), &status);
		check(status, "map");
		printf("mapped %d\n", mapped[5]);
		check(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, keep(MAP)), "unmap");
	}
}

/* 32 x 16 pixels of 4 bytes: 2048 bytes each time. */
static void images(cl_command_queue queue, cl_mem buffer)
{
	static unsigned char host[32 * 16 * 4];
	cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
	cl_image_desc description = {
	    .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 32, .image_height = 16};
	size_t origin[3] = {0}, region[3] = {32, 16, 1};
	cl_uint color[4] = {1, 2, 3, 4};
	size_t row;
	cl_int status;
	cl_bool supported = CL_FALSE;
	clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof(supported), &supported, NULL);
	printf("images %d\n", supported);
	if (!supported)
		return;
	cl_mem image =
	    clCreateImage(context, CL_MEM_READ_WRITE, &format, &description, NULL, &status);
	check(status, "clCreateImage");
	check(clEnqueueWriteImage(queue, image, CL_TRUE, origin, region, 0, 0, host, 0, NULL,
				  keep(COPY)),
	      "write image");
	check(clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 0, 0, host, 0, NULL,
				 keep(COPY)),
	      "read image");
	check(clEnqueueCopyImageToBuffer(queue, image, buffer, origin, region, 0, 0, NULL,
					 keep(COPY)),
	      "image to buffer");
	check(clEnqueueCopyBufferToImage(queue, buffer, image, 0, origin, region, 0, NULL,
					 keep(COPY)),
	      "buffer to image");
	check(clEnqueueFillImage(queue, image, color, origin, region, 0, NULL, keep(FILL)),
	      "fill image");
	void *mapped = clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_READ, origin, region, &row,
					 NULL, 0, NULL, keep(MAP), &status);
	check(status, "map image");
	printf("pixel %d\n", ((unsigned char *)mapped)[2]);
	check(clEnqueueUnmapMemObject(queue, image, mapped, 0, NULL, keep(MAP)), "unmap image");
	check(clFinish(queue), "clFinish");
	clReleaseMemObject(image);
}

static void shared_memory(cl_command_queue queue)
{
	cl_device_svm_capabilities supported = 0;
	int pattern = 9;
	clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(supported), &supported, NULL);
	supported &= CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
	printf("shared %d\n", (int)supported);
	if (!supported)
		return;
	int *from = clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0);
	int *to = clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0);
	check(
	    clEnqueueSVMMemFill(queue, from, &pattern, sizeof(pattern), 4096, 0, NULL, keep(FILL)),
	    "fill shared");
	check(clEnqueueSVMMemcpy(queue, CL_TRUE, to, from, 4096, 0, NULL, keep(COPY)),
	      "copy shared");
	check(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, to, 4096, 0, NULL, keep(MAP)),
	      "map shared");
	printf("shared value %d\n", to[100]);
	check(clEnqueueSVMUnmap(queue, to, 0, NULL, keep(MAP)), "unmap shared");
	check(clFinish(queue), "clFinish");
	clSVMFree(context, from);
	clSVMFree(context, to);
}

/* A kernel that waits for the program itself, behind which others pile up. */
static void user_event(cl_command_queue queue, cl_mem buffer)
{
	cl_int status;
	size_t global = ITEMS, local = 64;
	cl_event gate = clCreateUserEvent(context, &status), done;
	check(status, "clCreateUserEvent");
	cl_kernel kernel = make_kernel("scale", buffer);
	check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 1, &gate, &done),
	      "behind a user event");
	cl_event *place = keep(SCALE);
	if (place) {
		*place = done;
		clRetainEvent(done);
	}
	launch(queue, kernel, SCALE, 7);
	check(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
	check(clWaitForEvents(1, &done), "clWaitForEvents");
	cl_ulong time;
	printf("user event: profiling info %d\n",
	       clGetEventProfilingInfo(gate, CL_PROFILING_COMMAND_END, sizeof(time), &time, NULL));
	clReleaseEvent(done);
	clReleaseEvent(gate);
	check(clFinish(queue), "clFinish");
	clReleaseKernel(kernel);
}

static void *thread_main(void *buffer)
{
	cl_command_queue queue = make_queue(0);
	cl_kernel kernel = make_kernel("add_one", buffer);
	launch(queue, kernel, ADD_ONE, 15);
	/* the thread ends while its kernels may still run */
	check(clFlush(queue), "clFlush");
	clReleaseKernel(kernel);
	clReleaseCommandQueue(queue);
	return NULL;
}

static void threads(void)
{
	pthread_t ids[THREADS];
	cl_mem buffers[THREADS];
	for (int i = 0; i < THREADS; i++) {
		buffers[i] = make_buffer();
		pthread_create(&ids[i], NULL, thread_main, buffers[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(ids[i], NULL);
		clReleaseMemObject(buffers[i]);
	}
}

/* ---- what the program can ask ---- */

static void print_queue(const char *name, cl_command_queue queue)
{
	cl_command_queue_properties properties = 0;
	cl_queue_properties list[16] = {0};
	size_t size = 0;
	cl_uint references = 0;
	check(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
				    &size),
	      "CL_QUEUE_PROPERTIES");
	printf("queue %s: properties %llx (%zu bytes)", name, (unsigned long long)properties, size);
	cl_int status =
	    clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof(list), list, &size);
	printf(", list %d, %zu bytes:", status, size);
	for (size_t i = 0; !status && i < size / sizeof(*list); i++)
		printf(" %llx", (unsigned long long)list[i]);
	status = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, 1, list, NULL);
	printf(", too small %d", status);
	check(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof(references),
				    &references, NULL),
	      "CL_QUEUE_REFERENCE_COUNT");
	printf(", references %u\n", references);
}

static void print_event(cl_command_queue queue, cl_mem buffer)
{
	cl_event event;
	cl_ulong time = 42;
	cl_uint references = 0;
	int pattern = 0;
	check(
	    clEnqueueFillBuffer(queue, buffer, &pattern, sizeof(pattern), 0, 2048, 0, NULL, &event),
	    "fill");
	check(clWaitForEvents(1, &event), "clWaitForEvents");
	cl_int status =
	    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(time), &time, NULL);
	printf("event: profiling info %d%s\n", status, time == 42 ? ", untouched" : "");
	printf("event: unknown info %d\n",
	       clGetEventProfilingInfo(event, 0x9999, sizeof(time), &time, NULL));
	/* the runtime lets go of a reference of its own some time after the event is complete */
	for (int tries = 0; tries < 1000 && references != 2; tries++) {
		check(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof(references),
				     &references, NULL),
		      "CL_EVENT_REFERENCE_COUNT");
		usleep(100);
	}
	printf("event: references %u\n", references);
	if (profiling)
		*keep(FILL) = event;
	else
		clReleaseEvent(event);
}

static bool find_device(void)
{
	cl_platform_id platforms[8];
	cl_uint count = 0;
	if (clGetPlatformIDs(8, platforms, &count))
		return false;
	for (cl_uint i = 0; i < count && i < 8; i++)
		if (!clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL))
			return true;
	return false;
}

/* Launches, hands its queue over to be waited for, and lives on. */
static void *sleeper_main(void *argument)
{
	cl_command_queue *queue = argument;
	cl_kernel kernel = make_kernel("add_one", make_buffer());
	launch(*queue, kernel, ADD_ONE, 5);
	sem_post(&launched);
	for (;;)
		pause();
	return NULL;
}

static void sleeper(void)
{
	pthread_t id;
	static cl_command_queue queue;
	queue = make_queue(0);
	sem_init(&launched, 0, 0);
	pthread_create(&id, NULL, sleeper_main, &queue);
	sem_wait(&launched);
	check(clFinish(queue), "clFinish");
}

/* Ends with kernels outstanding: some will run, some wait for an event that nobody sets. */
static void abandon(cl_command_queue in_order, cl_command_queue out_of_order, cl_mem buffer)
{
	cl_int status;
	size_t global = ITEMS;
	cl_event gate = clCreateUserEvent(context, &status);
	cl_kernel kernel = make_kernel("scale", buffer);
	sleeper();
	launch(in_order, kernel, SCALE, 50);
	check(clEnqueueNDRangeKernel(out_of_order, kernel, 1, NULL, &global, NULL, 1, &gate, NULL),
	      "behind a user event");
	check(clFlush(in_order), "clFlush");
	/* a child that has none of the runtime's threads and ends in order */
	pid_t child = fork();
	if (!child)
		exit(0);
	waitpid(child, NULL, 0);
	printf("abandoned\n");
	fflush(stdout);
	exit(3);
}

int main(int argc, char **argv)
{
	profiling = argc > 1 && !strcmp(argv[1], "--profiling");
	if (!find_device()) {
		fprintf(stderr, "no OpenCL device\n");
		return 77;
	}
	cl_int status;
	const char *text = source;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	check(status, "clCreateContext");
	program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
	check(status, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	cl_mem buffer = make_buffer(), other = make_buffer();
	cl_command_queue in_order = make_queue(0);
	cl_command_queue out_of_order = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_command_queue plain = clCreateCommandQueueWithProperties(context, device, NULL, &status);
	cl_command_queue old = clCreateCommandQueue(context, device, 0, &status);
	print_queue("in order", in_order);
	print_queue("out of order", out_of_order);
	print_queue("without list", plain);
	print_queue("of the old call", old);
	if (argc > 1 && !strcmp(argv[1], "--abandon"))
		abandon(in_order, out_of_order, buffer);
	first_path(in_order, buffer);
	second_path(in_order, buffer);
	copies(in_order, buffer, other);
	fills_and_maps(in_order, buffer);
	images(in_order, buffer);
	shared_memory(in_order);
	check(clEnqueueMigrateMemObjects(in_order, 1, &buffer, 0, 0, NULL, keep(COPY)), "migrate");
	check(clFinish(in_order), "clFinish");
	first_path(out_of_order, other);
	check(clFinish(out_of_order), "clFinish");
	user_event(out_of_order, other);
	print_event(in_order, buffer);
	threads();
	if (profiling)
		print_times();
	print_queue("in order", in_order);
	clReleaseCommandQueue(old);
	clReleaseCommandQueue(plain);
	clReleaseCommandQueue(out_of_order);
	clReleaseCommandQueue(in_order);
	clReleaseMemObject(other);
	clReleaseMemObject(buffer);
	clReleaseProgram(program);
	check(clReleaseContext(context), "clReleaseContext");
	return 0;
}
