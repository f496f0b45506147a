/* SPDX-License-Identifier: Apache-2.0 */
#include "tool.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* So long may the last deliveries take: flushing has been seen not to return, and buffers to come after it. */
#define HANG_MS	 3000
#define LATE_MS	 300
#define BINARIES 4096u
#define TASKS	 4u

bool record_begin(void)
{
	const char *folder = getenv("SONDE_RECORD"), *mib = getenv("SONDE_RECORD_MIB");
	char path[4096];
	if (!folder || !*folder)
		return false;
	snprintf(path, sizeof(path), "%s/%d.recording", folder, getpid());
	uint64_t most = mib ? strtoull(mib, NULL, 10) : 0;
	return record_open(path, (most ? most : 256) << 20);
}

void *record_find(void *library, const char *name)
{
	void *found = dlsym(library, name);
	struct recording_function fields = {.is_there = found != NULL};
	record_text(RECORDING_OF_function, &fields, sizeof(fields), name);
	return found;
}

void record_step(const char *name, bool has_ended, int result)
{
	struct recording_step fields = {.has_ended = has_ended, .result = result};
	record_text(RECORDING_OF_step, &fields, sizeof(fields), name);
}

void record_clock(int (*read)(uint64_t *now))
{
	struct recording_clock fields = {0};
	fields.result = read(&fields.cupti_ns);
	record_add(RECORDING_OF_clock, &fields, sizeof(fields), NULL, 0);
}

bool record_is_to_be_held(uint64_t number, size_t bytes)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static uint64_t held[BINARIES];
	static uint32_t count;
	uint32_t at = 0;
	pthread_mutex_lock(&lock);
	while (at < count && held[at] != number)
		at++;
	bool is_new = at == count && count < BINARIES && record_leaves_half(bytes);
	if (is_new)
		held[count++] = number;
	pthread_mutex_unlock(&lock);
	return is_new;
}

/* ---- what may never return ---- */

static struct task {
	void (*run)(void);
	_Atomic bool has_ended;
} tasks[TASKS]; /* each is used once, because it may go on when nobody waits any more */
static _Atomic uint32_t task_count;

static void *run(void *data)
{
	struct task *task = data;
	task->run();
	task->has_ended = true;
	return NULL;
}

bool record_run_bounded(void (*function)(void))
{
	pthread_t thread;
	uint32_t number = task_count++;
	struct task *task = &tasks[number % TASKS];
	if (number >= TASKS)
		return false;
	task->run = function;
	if (pthread_create(&thread, NULL, run, task))
		return false;
	pthread_detach(thread);
	for (int ms = 0; ms < HANG_MS && !task->has_ended; ms++)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	return task->has_ended;
}

void record_finish(void (*release)(void))
{
	record_run_bounded(release);
	nanosleep(&(struct timespec){0, LATE_MS * 1000000}, NULL);
	record_close();
}
