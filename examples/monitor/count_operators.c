/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A complete tool on Sonde's monitor interface: counts a PyTorch program's operators by call path.
 *	cc -shared -fPIC -Iinclude count_operators.c -o count_operators.so
 *	SONDE_TOOL=$PWD/count_operators.so LD_PRELOAD=libsonde.so python3 train.py
 */
#include <sonde/monitor.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATHS_MOST  4096
#define FRAMES_MOST 256

static struct entry {
	char *path;
	unsigned long count;
} entries[PATHS_MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void describe(char *text, size_t size, const struct sonde_frame *frames, long count)
{
	size_t used = 0;
	text[0] = 0;
	for (long i = 0; i < count && used < size; i++) {
		int length = (int)frames[i].name_length;
		if (frames[i].kind == SONDE_FRAME_PYTHON)
			used += snprintf(text + used, size - used, ";%.*s:%u", length,
					 frames[i].name, frames[i].line);
		else if (frames[i].name)
			used += snprintf(text + used, size - used, ";%.*s", length, frames[i].name);
	}
}

static void on_event(const struct sonde_event *event, void *user)
{
	struct sonde_frame frames[FRAMES_MOST];
	char path[8192];
	if (event->kind != SONDE_OPERATOR_BEGIN)
		return;
	long count = sonde_monitor_callpath(SONDE_SOURCE_PYTHON | SONDE_SOURCE_OPERATOR, frames,
					    FRAMES_MOST);
	describe(path, sizeof(path), frames, count < FRAMES_MOST ? count : FRAMES_MOST);
	pthread_mutex_lock(&lock);
	for (struct entry *entry = entries; entry < entries + PATHS_MOST; entry++) {
		if (!entry->path)
			entry->path = strdup(path);
		if (!strcmp(entry->path, path)) {
			entry->count++;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}

int sonde_tool_start(void);
int sonde_tool_start(void)
{
	int status = sonde_monitor_init(SONDE_MONITOR_VERSION);
	return status ? status : sonde_monitor_register(SONDE_FRAMEWORK, on_event, NULL);
}

void sonde_tool_stop(void);
void sonde_tool_stop(void)
{
	for (struct entry *entry = entries; entry < entries + PATHS_MOST && entry->path; entry++)
		fprintf(stderr, "%8lu %s\n", entry->count, entry->path + (entry->path[0] == ';'));
}
