/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMD's markers, as often as is known: 10 steps with a part of 5 of them in each, 7 marks, 3 pairs of ranges that overlap, and 4 steps
 * in a thread. With a path, the functions are asked for by their names, in that library. Prints the library's answers.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

void roctxMarkA(const char *message);
int roctxRangePushA(const char *message);
int roctxRangePop(void);
uint64_t roctxRangeStartA(const char *message);
void roctxRangeStop(uint64_t id);

static void (*mark)(const char *message) = roctxMarkA;
static int (*push)(const char *message) = roctxRangePushA;
static int (*pop)(void) = roctxRangePop;
static uint64_t (*start)(const char *message) = roctxRangeStartA;
static void (*stop)(uint64_t id) = roctxRangeStop;

static volatile uint64_t sink;

static void work(long ms)
{
	struct timespec now, end;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	end.tv_nsec += ms * 1000000;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	do {
		for (int i = 0; i < 1000; i++)
			sink += (uint64_t)i * sink;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec < end.tv_sec ||
		 (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

__attribute__((noinline)) static void compute(long ms)
{
	work(ms);
}

static void *in_thread(void *unused)
{
	for (int i = 0; i < 4; i++) {
		push("thread step");
		pop();
	}
	return unused;
}

static void ask(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	mark = (void (*)(const char *))dlsym(library, "roctxMarkA");
	push = (int (*)(const char *))dlsym(library, "roctxRangePushA");
	pop = (int (*)(void))dlsym(library, "roctxRangePop");
	start = (uint64_t(*)(const char *))dlsym(library, "roctxRangeStartA");
	stop = (void (*)(uint64_t))dlsym(library, "roctxRangeStop");
}

__attribute__((noinline)) static void step(int number)
{
	int outer = push("step");
	compute(20);
	if (number % 2) {
		int inner = push("part");
		compute(20);
		int after = pop();
		printf("%d %d %d\n", outer, inner, after);
	}
	pop();
}

int main(int argc, char **argv)
{
	pthread_t thread;
	if (argc > 1)
		ask(argv[1]);
	for (int i = 0; i < 10; i++)
		step(i);
	for (int i = 0; i < 7; i++)
		mark("checkpoint");
	for (int i = 0; i < 3; i++) {
		uint64_t first = start("load"), second = start("store");
		compute(1);
		stop(first);
		compute(1);
		stop(second);
		printf("%d\n", first && second && first != second);
	}
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	printf("%d\n", pop());
	return 0;
}
