/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What executions on a PJRT plugin cost the thread that calls them. Usage: pjrt_execute PLUGIN COUNT [DEPTH]. Prints the CPU time of an
 * execution in ns, least of 20 parts and median. The plugin's executions take no time (PJRT_FAKE_INLINE), so all of it is the host's.
 */
#include "../tests/fake/pjrt/pjrt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PARTS = 20 };

static const struct pjrt_api *api;

static double now_ns(void)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void call(int function, void *arguments)
{
	if (api->functions[function](arguments))
		exit(1);
}

static void *begin(void)
{
	const char *code = "jit_bench 0 0 bench.py:1";
	struct pjrt_client_create create = {.struct_size = sizeof(create)};
	call(PJRT_CLIENT_CREATE, &create);
	struct pjrt_program program = {.struct_size = sizeof(program),
				       .code = (char *)code,
				       .code_size = strlen(code),
				       .format = "fake",
				       .format_size = 4};
	struct pjrt_compile compile = {
	    .struct_size = sizeof(compile), .client = create.client, .program = &program};
	call(PJRT_CLIENT_COMPILE, &compile);
	return compile.executable;
}

static double part(void *executable, int count)
{
	double begun = now_ns();
	for (int i = 0; i < count; i++) {
		void *event = NULL;
		struct pjrt_execute it = {.struct_size = sizeof(it),
					  .executable = executable,
					  .num_devices = 1,
					  .device_complete_events = &event};
		call(PJRT_EXECUTE, &it);
		struct pjrt_event done = {.struct_size = sizeof(done), .event = event};
		call(PJRT_EVENT_DESTROY, &done);
	}
	return (now_ns() - begun) / count;
}

static __attribute__((noinline)) double deeper(void *executable, int count, int depth)
{
	volatile double result =
	    depth ? deeper(executable, count, depth - 1) : part(executable, count);
	return result;
}

static int compare(const void *left, const void *right)
{
	double difference = *(const double *)left - *(const double *)right;
	return (difference > 0) - (difference < 0);
}

int main(int argument_count, char **arguments)
{
	void *library = argument_count > 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	const struct pjrt_api *(*get)(void) = NULL;
	double parts[PARTS];
	if (library)
		*(void **)&get = dlsym(library, "GetPjrtApi");
	if (!get || !(api = get()))
		return 2;
	void *executable = begin();
	for (int i = 0; i < PARTS; i++)
		parts[i] = deeper(executable, atoi(arguments[2]) / PARTS,
				  argument_count > 3 ? atoi(arguments[3]) : 0);
	qsort(parts, PARTS, sizeof(*parts), compare);
	printf("%.0f %.0f\n", parts[0], parts[PARTS / 2]);
	return 0;
}
