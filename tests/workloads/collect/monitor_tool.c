/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool for tests/cli/collect/test_monitor.py: prints every event of every domain to the file
 * MONITOR_OUT, one line each, with the call path for the enter of a GPU call and for the begin of a
 * thread or a compilation.
 */
#include <sonde/monitor.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES_MOST 128

static FILE *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void print_path(void)
{
	struct sonde_frame frames[FRAMES_MOST];
	long count = sonde_monitor_callpath(0, frames, FRAMES_MOST);
	struct sonde_frame few[3] = {{0}};
	/* the length does not depend on the room, and no more than the room is filled */
	long again = sonde_monitor_callpath(0, few, 2);
	bool same = again == count && !few[2].kind && (count < 2 || few[1].kind == frames[1].kind);
	fprintf(out, "|%ld%s", count, same ? "" : " differs");
	for (long i = 0; i < count && i < FRAMES_MOST; i++) {
		const char *text = frames[i].name ? frames[i].name : frames[i].file;
		int length = (int)(frames[i].name ? frames[i].name_length : frames[i].file_length);
		fprintf(out, "|%u %.*s %lx", frames[i].kind, length, text ? text : "",
			(unsigned long)frames[i].offset);
	}
}

static void on_event(const struct sonde_event *event, void *user)
{
	pthread_mutex_lock(&lock);
	fprintf(out, "%u\t%u\t%.*s\tid=%lu\tbytes=%lu\tran=%ld\tpid=%d", event->domain, event->kind,
		(int)event->name_length, event->name ? event->name : "", (unsigned long)event->id,
		(unsigned long)event->bytes, (long)(event->end_ns - event->start_ns),
		(int)getpid());
	if (event->kind == SONDE_GPU_CALL_ENTER || event->kind == SONDE_THREAD_BEGIN ||
	    event->kind == SONDE_COMPILE_BEGIN)
		print_path();
	fprintf(out, "\n");
	fflush(out);
	pthread_mutex_unlock(&lock);
}

int sonde_tool_start(void);
int sonde_tool_start(void)
{
	const char *path = getenv("MONITOR_OUT");
	out = fopen(path, "a");
	fprintf(out, "init %d wrong version %d\n", sonde_monitor_init(SONDE_MONITOR_VERSION),
		sonde_monitor_init(99));
	for (int domain = 0; domain < SONDE_DOMAIN_COUNT; domain++)
		sonde_monitor_register((enum sonde_domain)domain, on_event, NULL);
	fprintf(out, "unknown domain %d\n",
		sonde_monitor_register(SONDE_DOMAIN_COUNT, on_event, NULL));
	return 0;
}

void sonde_tool_stop(void);
void sonde_tool_stop(void)
{
	fprintf(out, "stop\n");
	fclose(out);
}
