/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl_callers CASE ROUNDS: kernels with host work of known shares between them, for who blames
 * idle time. Prints the number of kernels, and the wall-clock time in ns that the host took in each
 * of the places below, while the device had nothing to do. Exit status 77: no OpenCL device.
 *
 * callers: spin() from left() for 9 ms of CPU time, a kernel, spin() from right() for 21 ms, a
 *	    kernel. "left NS", "right NS".
 * waits:   left() for 5 ms and then either a sleep or a read that another process answers, 5 ms.
 *	    "left NS", "wait NS".
 * threads: left() in this thread and right() in another one, both at once for 5 ms. "left NS",
 *	    "right NS".
 * region:  a region that sleeps 5 ms and then is in left() for 5 ms. "left NS", "wait NS".
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include "sonde/sonde.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char source[] = "kernel void turn(global int *x) { x[get_global_id(0)] ^= 1; }";
static volatile uint64_t sink;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The clock is read once in 100 us or so: what spins is this function. */
__attribute__((noinline)) static void spin(uint64_t cpu_ns)
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start < cpu_ns)
		for (int i = 0; i < 50000; i++)
			sink = sink + 1;
}

__attribute__((noinline)) static void left(uint64_t cpu_ns)
{
	spin(cpu_ns);
	sink = 0;
}

__attribute__((noinline)) static void right(uint64_t cpu_ns)
{
	spin(cpu_ns);
	sink = 1;
}

static cl_command_queue queue;
static cl_kernel kernel;
static unsigned launched;
static uint64_t left_ns, right_ns, wait_ns;
static int answers, questions;

static void launch(void)
{
	size_t items = 64;
	launched += !clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
	clFinish(queue);
}

#define TIMED(sum, work)                                                                           \
	do {                                                                                       \
		uint64_t start = clock_ns(CLOCK_MONOTONIC);                                        \
		work;                                                                              \
		sum += clock_ns(CLOCK_MONOTONIC) - start;                                          \
	} while (0)

static void callers(int round)
{
	(void)round;
	TIMED(left_ns, left(9000000));
	launch();
	TIMED(right_ns, right(21000000));
	launch();
}

/* Another process writes a byte 5 ms after it was asked for one. */
static void answer_in_another_process(void)
{
	int ask[2], told[2];
	char byte = 0;
	if (pipe(ask) || pipe(told))
		exit(1);
	if (!fork()) {
		close(ask[1]);
		while (read(ask[0], &byte, 1) == 1) {
			usleep(5000);
			if (write(told[1], &byte, 1) != 1)
				break;
		}
		_exit(0);
	}
	questions = ask[1];
	answers = told[0];
}

static void wait_for_answer(void)
{
	char byte = 0;
	if (write(questions, &byte, 1) != 1 || read(answers, &byte, 1) != 1)
		exit(1);
}

static void waits(int round)
{
	TIMED(left_ns, left(5000000));
	if (round % 2)
		TIMED(wait_ns, usleep(5000));
	else
		TIMED(wait_ns, wait_for_answer());
	launch();
}

static pthread_barrier_t begin, end;

static void *work_beside(void *data)
{
	(void)data;
	for (;;) {
		pthread_barrier_wait(&begin);
		TIMED(right_ns, right(5000000));
		pthread_barrier_wait(&end);
	}
	return NULL;
}

static void threads(int round)
{
	(void)round;
	pthread_barrier_wait(&begin);
	TIMED(left_ns, left(5000000));
	pthread_barrier_wait(&end);
	launch();
}

static void region(int round)
{
	(void)round;
	sonde_region_begin("prepare");
	TIMED(wait_ns, usleep(5000));
	TIMED(left_ns, left(5000000));
	sonde_region_end();
	launch();
}

static void open_device(void)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int status;
	size_t items = 64;
	const char *text = source;
	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		exit(77);
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
	cl_mem memory = clCreateBuffer(context, 0, items * sizeof(int), NULL, &status);
	if (clBuildProgram(program, 1, &device, "", NULL, NULL))
		exit(1);
	kernel = clCreateKernel(program, "turn", &status);
	clSetKernelArg(kernel, 0, sizeof(memory), &memory);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*round)(int);
	} cases[] = {
	    {"callers", callers}, {"waits", waits}, {"threads", threads}, {"region", region}};
	int rounds = argc > 2 ? atoi(argv[2]) : 100;
	pthread_t other;
	answer_in_another_process();
	open_device();
	pthread_barrier_init(&begin, NULL, 2);
	pthread_barrier_init(&end, NULL, 2);
	if (argc > 1 && !strcmp(argv[1], "threads"))
		pthread_create(&other, NULL, work_beside, NULL);
	launch();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int round = 0; argc > 1 && !strcmp(argv[1], cases[i].name) && round < rounds;
		     round++)
			cases[i].round(round);
	printf("%u left %llu right %llu wait %llu\n", launched, (unsigned long long)left_ns,
	       (unsigned long long)right_ns, (unsigned long long)wait_ns);
	return 0;
}
