/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that execute programs: what a profiler adds to their environments takes memory, which must
 * not stay and must not be another's.
 */
#include "behave.h"

#include <spawn.h>

static void *execute_in_thread(void *unused)
{
	char *arguments[] = {"none", NULL};
	pid_t child;
	posix_spawn(&child, "/nonexistent", NULL, NULL, arguments, environ);
	return unused;
}

/* An array of the environment that another thread makes longer and shorter. */
#define FEW  10
#define MANY 1500
static char *changing[MANY + 1];
static _Atomic bool is_changed;

static void *change(void *unused)
{
	for (bool is_long = false; !is_changed; is_long = !is_long) {
		*(char *volatile *)&changing[FEW] = is_long ? NULL : "A=1";
		for (volatile int spins = 0; spins < 5000; spins++)
			;
	}
	return unused;
}

/* Between two pages with a pattern there is room for one: nothing may be written past it. */
static void *execute_in_hole(void *changed)
{
	char *arguments[] = {"none", NULL}, *page = MUST(mmap(NULL, 3 << 12, PROT_READ | PROT_WRITE,
							      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	pid_t child;
	memset(page, 0x5a, 3 << 12);
	munmap(page + (1 << 12), 1 << 12);
	posix_spawn(&child, "/nonexistent", NULL, NULL, arguments, changing);
	for (int at = 0; at < 1 << 12; at++)
		*(int *)changed += page[at] != 0x5a || page[(2 << 12) + at] != 0x5a;
	return NULL;
}

CASE(changing_environment)
{
	pthread_t changer, thread;
	int changed = 0;
	for (int index = 0; index < MANY; index++)
		changing[index] = "B=2";
	changing[FEW] = NULL;
	MUST(pthread_create(&changer, NULL, change, NULL) ? -1 : 0);
	for (int round = 0; round < 400; round++) {
		MUST(pthread_create(&thread, NULL, execute_in_hole, &changed) ? -1 : 0);
		pthread_join(thread, NULL);
	}
	is_changed = true;
	pthread_join(changer, NULL);
	say("changed: %d\n", changed);
}

static long address_kilobytes(void)
{
	char text[256] = "";
	int fd = MUST(open("/proc/self/statm", O_RDONLY));
	MUST(read(fd, text, sizeof(text) - 1));
	close(fd);
	return atol(text) * (sysconf(_SC_PAGESIZE) >> 10);
}

/* A server's: a thread for each request. */
CASE(threads_that_execute)
{
	long before = 0;
	for (int count = 0; count < 1200; count++) {
		pthread_t thread;
		MUST(pthread_create(&thread, NULL, execute_in_thread, NULL) ? -1 : 0);
		pthread_join(thread, NULL);
		if (count == 800)
			before = address_kilobytes();
	}
	say("grown: %d\n", address_kilobytes() - before > 800);
}
