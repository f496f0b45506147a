/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sampling event costs a program that does nothing but switch threads: two threads hand a
 * turn to each other by pthread_cond_broadcast. Prints the microseconds of one handover.
 *	switches HANDOVERS PERIOD_NS
 * With a period each thread has a task-clock event of its own that samples that often and sends no
 * signal; without one (0) nothing is opened.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long turn, handovers;
static uint64_t period_ns;

static void open_event(void)
{
	struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE,
					.size = sizeof(event),
					.config = PERF_COUNT_SW_TASK_CLOCK,
					.sample_period = period_ns};
	if (period_ns && syscall(SYS_perf_event_open, &event, 0, -1, -1, 0) < 0)
		perror("perf_event_open");
}

static void *hand_over(void *odd)
{
	open_event();
	pthread_mutex_lock(&mutex);
	while (turn < handovers) {
		while (turn % 2 != (long)odd && turn < handovers)
			pthread_cond_wait(&changed, &mutex);
		turn++;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static double now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(int count, char **arguments)
{
	pthread_t threads[2];
	handovers = count > 1 ? atol(arguments[1]) : 100000;
	period_ns = count > 2 ? strtoull(arguments[2], NULL, 10) : 0;
	double start = now_us();
	for (long odd = 0; odd < 2; odd++)
		if (pthread_create(&threads[odd], NULL, hand_over, (void *)odd))
			return 1;
	for (int index = 0; index < 2; index++)
		pthread_join(threads[index], NULL);
	printf("%.2f\n", (now_us() - start) / (double)handovers);
	return 0;
}
