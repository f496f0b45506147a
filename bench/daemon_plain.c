/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program of daemon_plain.bpf.c by a clock on each processor, or looks at one that runs already, and prints how often it ran and how long it took on average.
 * Usage: daemon_plain OBJECT PROGRAM HZ SECONDS [untimed]      daemon_plain - PROGRAM 0 SECONDS
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 64 };

static int drop(void *context, void *data, size_t bytes)
{
	(void)context, (void)data, (void)bytes;
	return 0;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void attach(int program, int rate)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = 1000000000ull / (unsigned)rate};
	for (int processor = 0; processor < libbpf_num_possible_cpus(); processor++) {
		int event = (int)syscall(SYS_perf_event_open, &attr, -1, processor, -1, 0);
		if (event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, program))
			fail("perf_event_open");
	}
}

/* A program of that name that someone has loaded. */
static int find(const char *name)
{
	for (uint32_t id = 0; bpf_prog_get_next_id(id, &id) == 0;) {
		struct bpf_prog_info info = {0};
		uint32_t bytes = sizeof(info);
		int program = bpf_prog_get_fd_by_id(id);
		if (program >= 0 && bpf_obj_get_info_by_fd(program, &info, &bytes) == 0 &&
		    strcmp(info.name, name) == 0)
			return program;
		close(program);
	}
	fprintf(stderr, "no program is called %s\n", name);
	exit(1);
}

static uint64_t sum_of(struct bpf_object *object, uint32_t which)
{
	uint64_t values[MOST] = {0}, sum = 0;
	bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(object, "sums"), &which, values);
	for (int i = 0; i < libbpf_num_possible_cpus(); i++)
		sum += values[i];
	return sum;
}

int main(int argc, char **argv)
{
	struct bpf_object *object = NULL;
	struct ring_buffer *ring = NULL;
	struct bpf_prog_info before = {0}, after = {0};
	uint32_t bytes = sizeof(before);
	if (argc < 5 || libbpf_num_possible_cpus() > MOST)
		return 2;
	if (strcmp(argv[1], "-") != 0) {
		object = bpf_object__open_file(argv[1], NULL);
		if (!object || bpf_object__load(object))
			fail(argv[1]);
		ring = ring_buffer__new(bpf_object__find_map_fd_by_name(object, "evicted"), drop,
					NULL, NULL);
	}
	int program = object ? bpf_program__fd(bpf_object__find_program_by_name(object, argv[2]))
			     : find(argv[2]);
	int timing = argc > 5 ? -1 : bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (object)
		attach(program, atoi(argv[3]));
	bpf_obj_get_info_by_fd(program, &before, &bytes);
	for (int tenth = 0; tenth < 10 * atoi(argv[4]); tenth++) {
		usleep(100000);
		if (ring)
			ring_buffer__consume(ring);
	}
	bytes = sizeof(after);
	bpf_obj_get_info_by_fd(program, &after, &bytes);
	double runs = (double)(after.run_cnt - before.run_cnt);
	printf("{\"runs\": %.0f, \"ns\": %.1f, \"samples\": %llu, \"hits\": %llu}\n", runs,
	       runs > 0 ? (double)(after.run_time_ns - before.run_time_ns) / runs : 0,
	       object ? (unsigned long long)sum_of(object, 0) : 0ull,
	       object ? (unsigned long long)sum_of(object, 1) : 0ull);
	return timing < 0 && argc <= 5;
}
