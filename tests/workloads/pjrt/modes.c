/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses of a PJRT plugin that are easily got wrong. Usage: modes PLUGIN MODE
 *
 *	again	ten programs one after the other, each destroyed before the next, which may lie at its address
 *	threads	four threads, each with executions of its own, whose completions another thread hears
 *	exit	ends while the device has work
 *	fork	a child that executes nothing, and one execution on either side of it
 *	many	a long execution, and 20,000 that wait for it
 */
#include "../../fake/pjrt/pjrt.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct pjrt_api *api;
static void *client;

static void call(int function, void *arguments)
{
	if (api->functions[function](arguments)) {
		printf("function %d fails\n", function);
		exit(1);
	}
}

static void *compile(const char *code)
{
	struct pjrt_program program = {.struct_size = sizeof(program),
				       .code = (char *)code,
				       .code_size = strlen(code),
				       .format = "fake",
				       .format_size = 4};
	struct pjrt_compile it = {.struct_size = sizeof(it), .client = client, .program = &program};
	call(PJRT_CLIENT_COMPILE, &it);
	return it.executable;
}

static void *execute(void *executable)
{
	void *event = NULL;
	struct pjrt_execute it = {.struct_size = sizeof(it),
				  .executable = executable,
				  .num_devices = 1,
				  .device_complete_events = &event};
	call(PJRT_EXECUTE, &it);
	return event;
}

static void with(int function, void *object)
{
	struct pjrt_event it = {.struct_size = sizeof(it), .event = object};
	call(function, &it);
}

static void execute_and_wait(void *executable)
{
	void *event = execute(executable);
	with(PJRT_EVENT_AWAIT, event);
	with(PJRT_EVENT_DESTROY, event);
}

static void again(void)
{
	for (int i = 0; i < 10; i++) {
		char code[64];
		snprintf(code, sizeof(code), "jit_%d 100000 0 a.py:1", i);
		void *executable = compile(code);
		execute_and_wait(executable);
		with(PJRT_LOADED_DESTROY, executable);
	}
}

static void *work(void *executable)
{
	for (int i = 0; i < 50; i++)
		execute_and_wait(executable);
	return NULL;
}

static void threads(void)
{
	pthread_t made[4];
	for (int i = 0; i < 4; i++) {
		char code[64];
		snprintf(code, sizeof(code), "jit_of_%d 20000 0 a.py:1", i);
		pthread_create(&made[i], NULL, work, compile(code));
	}
	for (int i = 0; i < 4; i++)
		pthread_join(made[i], NULL);
}

static void fork_between(void)
{
	void *executable = compile("jit_parent 1000000 0 a.py:1");
	execute_and_wait(executable);
	fflush(stdout);
	if (!fork())
		_exit(0);
	wait(NULL);
	execute_and_wait(executable);
}

static void many(void)
{
	void *executable = compile("jit_many 0 0 a.py:1");
	void *last = execute(compile("jit_first 2000000000 0 a.py:1"));
	for (int i = 0; i < 20000; i++) {
		with(PJRT_EVENT_DESTROY, last);
		last = execute(executable);
	}
	with(PJRT_EVENT_AWAIT, last);
	with(PJRT_EVENT_DESTROY, last);
}

int main(int argument_count, char **arguments)
{
	void *library = argument_count > 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	const struct pjrt_api *(*get)(void) = NULL;
	if (library)
		*(void **)&get = dlsym(library, "GetPjrtApi");
	if (!get || !(api = get()))
		return 2;
	struct pjrt_client_create create = {.struct_size = sizeof(create)};
	call(PJRT_CLIENT_CREATE, &create);
	client = create.client;
	if (!strcmp(arguments[2], "exit")) {
		void *executable = compile("jit_unfinished 3000000000 0 a.py:1");
		execute(executable);
		execute(executable);
		return 0;
	}
	if (!strcmp(arguments[2], "again"))
		again();
	else if (!strcmp(arguments[2], "threads"))
		threads();
	else if (!strcmp(arguments[2], "fork"))
		fork_between();
	else
		many();
	with(PJRT_CLIENT_DESTROY, client);
	return 0;
}
