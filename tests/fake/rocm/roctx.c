/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMD's markers. Compiled twice: as roctracer's libroctx64.so.4, whose functions do their work themselves, and with FAKE_TABLE as
 * librocprofiler-sdk-roctx.so.1, which shows a table of functions to tools before the first call and calls itself through it.
 */
#include <stdint.h>

static __thread int level;
static _Atomic uint64_t ranges;

static void body_mark(const char *message)
{
	(void)message;
}

static int body_push(const char *message)
{
	(void)message;
	return level++;
}

static int body_pop(void)
{
	return level ? --level : -1;
}

static uint64_t body_start(const char *message)
{
	(void)message;
	return ++ranges;
}

static void body_stop(uint64_t id)
{
	(void)id;
}

static int body_thread(uint64_t *thread)
{
	*thread = 1;
	return 0;
}

static struct {
	uint64_t bytes;
	void (*mark)(const char *message);
	int (*push)(const char *message);
	int (*pop)(void);
	uint64_t (*start)(const char *message);
	void (*stop)(uint64_t id);
	int (*thread)(uint64_t *thread);
} table = {sizeof(table), body_mark, body_push, body_pop, body_start, body_stop, body_thread};

#ifdef FAKE_TABLE
#include "register.h"

#include <pthread.h>

uint32_t rocprofiler_register_import_roctx(void)
{
	return 1;
}

static void show(void)
{
	static uint64_t control[3] = {sizeof(control)}, name[5] = {sizeof(name)};
	static void *tables[] = {&table, control, name};
	struct fake_register_id id;
	rocprofiler_register_library_api_table("roctx", rocprofiler_register_import_roctx, 10000,
					       tables, 3, &id);
}

static void begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, show);
}
#else
static void begin(void)
{
}
#endif

void roctxMarkA(const char *message)
{
	begin();
	table.mark(message);
}

int roctxRangePushA(const char *message)
{
	begin();
	return table.push(message);
}

int roctxRangePop(void)
{
	begin();
	return table.pop();
}

uint64_t roctxRangeStartA(const char *message)
{
	begin();
	return table.start(message);
}

void roctxRangeStop(uint64_t id)
{
	begin();
	table.stop(id);
}
