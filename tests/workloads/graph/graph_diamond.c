/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph whose answer is known, described through sonde.h: source -> left, right -> join, 10
 * iterations of it. One thread runs it, in that order; with an argument "threads" another one runs
 * "right", at the same time as "left". `left` works three times as long as `right`.
 *
 * It prints what it computes, which must not depend on being measured; and on standard error how
 * long each node took by its own clock, read within and around it.
 */
#include "sonde/sonde.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ITERATIONS = 10, WORK = 300000 };

static uint32_t source, left, right, join;
static double results[2];

static __attribute__((noinline)) double work(unsigned amount)
{
	volatile double sum = 0;
	for (unsigned i = 0; i < amount; i++)
		sum += 1.0 / (i + 1.0);
	return sum;
}

/* A node's time is measured here as well: from within and from around it. */
struct clock {
	uint64_t inner_ns, outer_ns;
};
static struct clock clocks[4];

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static __attribute__((noinline)) double run_node(uint32_t node, struct clock *clock,
						 unsigned amount)
{
	uint64_t outer = now_ns();
	sonde_node_begin(node);
	uint64_t inner = now_ns();
	double result = work(amount);
	clock->inner_ns += now_ns() - inner;
	sonde_node_end(node);
	clock->outer_ns += now_ns() - outer;
	return result;
}

static void *run_right(void *unused)
{
	results[1] = run_node(right, clocks + 2, WORK);
	return unused;
}

static void describe(uint32_t model)
{
	source = SONDE_NODE(model, "source", .type = "read", .module = "input");
	left = SONDE_NODE(model, "left", .type = "work", .module = "middle", .device = "cpu",
			  .file = __FILE__, .line = __LINE__);
	right = SONDE_NODE(model, "right", .type = "work", .module = "middle");
	join = SONDE_NODE(model, "join", .type = "add");
	sonde_model_edge(source, left, 0, 64);
	sonde_model_edge(source, right, 0, 64);
	sonde_model_edge(left, join, 0, 8);
	sonde_model_edge(right, join, 1, 8);
}

int main(int argc, char **argv)
{
	int with_threads = argc > 1 && !strcmp(argv[1], "threads");
	int with_regions = argc > 1 && !strcmp(argv[1], "regions");
	uint32_t model = sonde_model("diamond");
	double total = 0;
	describe(model);
	for (int i = 0; i < ITERATIONS; i++) {
		pthread_t thread;
		if (with_regions)
			sonde_iteration_begin("turn");
		else
			sonde_model_iteration_begin(model);
		run_node(source, clocks, WORK);
		if (with_threads && pthread_create(&thread, NULL, run_right, NULL))
			return 1;
		results[0] = run_node(left, clocks + 1, 3 * WORK);
		if (with_threads)
			pthread_join(thread, NULL);
		else
			run_right(NULL);
		total += results[0] + results[1] + run_node(join, clocks + 3, 1);
		if (with_regions)
			sonde_iteration_end();
		else
			sonde_model_iteration_end(model);
	}
	printf("%.6f\n", total);
	for (int i = 0; i < 4; i++)
		fprintf(stderr, "%llu %llu\n", (unsigned long long)clocks[i].inner_ns,
			(unsigned long long)clocks[i].outer_ns);
	return 0;
}
