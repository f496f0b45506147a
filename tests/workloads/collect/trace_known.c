/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions whose number is known, recorded by tests/cli/collect/test_trace_record.py in these ways:
 *
 *	threads N M	N threads with M regions "work" each, every one holding 2 regions "part"
 *	deep N		regions nested N deep
 *	fork N M	N regions "parent", then a child with M regions "child", then N more
 *	raw-fork	the same with a child that comes by the bare system call
 *	many N		N regions "turn"
 *	forever N	N regions "turn", the line "ready", then regions without end
 *	api N		N regions "before", "during" and "after", recording started and stopped between
 *	signal N	the same by SIGUSR2
 *	sleep MS	a region "early", a pause, a region "late"
 */
#include <sonde/sonde.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void regions(const char *name, long count)
{
	for (long i = 0; i < count; i++) {
		sonde_region_begin(name);
		sonde_region_end();
	}
}

static void *worker(void *count)
{
	for (long i = 0; i < *(long *)count; i++) {
		SONDE_REGION("work");
		regions("part", 2);
	}
	return NULL;
}

static void run_threads(long threads, long count)
{
	pthread_t ids[64];
	for (long i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, worker, &count);
	for (long i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
}

static void nest(long depth)
{
	SONDE_REGION("level");
	if (depth > 1)
		nest(depth - 1);
}

static void run_fork(long count, long child_count, int is_raw)
{
	regions("parent", count);
	pid_t child = is_raw ? (pid_t)syscall(SYS_fork) : fork();
	if (!child) {
		regions("child", child_count);
		if (is_raw)
			syscall(SYS_exit_group, 0);
		exit(0);
	}
	waitpid(child, NULL, 0);
	regions("parent", count);
}

static void run_parts(long count, int is_signal)
{
	regions("before", count);
	is_signal ? (void)raise(SIGUSR2) : sonde_trace_start();
	regions("during", count);
	is_signal ? (void)raise(SIGUSR2) : sonde_trace_stop();
	regions("after", count);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long first = argc > 2 ? atol(argv[2]) : 0, second = argc > 3 ? atol(argv[3]) : 0;
	if (!strcmp(what, "threads"))
		run_threads(first, second);
	else if (!strcmp(what, "deep"))
		nest(first);
	else if (!strcmp(what, "fork") || !strcmp(what, "raw-fork"))
		run_fork(first, second, what[0] == 'r');
	else if (!strcmp(what, "many"))
		regions("turn", first);
	else if (!strcmp(what, "api") || !strcmp(what, "signal"))
		run_parts(first, what[0] == 's');
	else if (!strcmp(what, "sleep")) {
		regions("early", 1);
		usleep((useconds_t)first * 1000);
		regions("late", 1);
	} else if (!strcmp(what, "forever")) {
		regions("turn", first);
		puts("ready");
		fflush(stdout);
		for (;;) {
			regions("more", 1);
			usleep(1000);
		}
	}
	return 0;
}
