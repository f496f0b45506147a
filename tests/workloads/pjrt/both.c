/* SPDX-License-Identifier: Apache-2.0 */
/* Two plugins in one process, used in turn: two executions of the first, three of the second. Usage: both PLUGIN PLUGIN. Of one plugin
 * twice there is one client. */
#include "../../fake/pjrt/pjrt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int call(const struct pjrt_api *api, int function, void *arguments)
{
	void *error = api->functions[function](arguments);
	if (error)
		printf("function %d fails\n", function);
	return !error;
}

struct side {
	const struct pjrt_api *api;
	void *client, *executable;
};

static int begin(struct side *side, const char *path, const char *code)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct pjrt_api *(*get)(void) = NULL;
	if (library)
		*(void **)&get = dlsym(library, "GetPjrtApi");
	side->api = get ? get() : NULL;
	struct pjrt_client_create create = {.struct_size = sizeof(create), .client = side->client};
	if (!side->api || (!side->client && !call(side->api, PJRT_CLIENT_CREATE, &create)))
		return 0;
	struct pjrt_program program = {.struct_size = sizeof(program),
				       .code = (char *)code,
				       .code_size = strlen(code),
				       .format = "fake",
				       .format_size = 4};
	struct pjrt_compile compile = {
	    .struct_size = sizeof(compile), .client = create.client, .program = &program};
	call(side->api, PJRT_CLIENT_COMPILE, &compile);
	side->client = create.client;
	side->executable = compile.executable;
	return 1;
}

static void execute(const struct side *side)
{
	void *event = NULL;
	struct pjrt_execute it = {.struct_size = sizeof(it),
				  .executable = side->executable,
				  .num_devices = 1,
				  .device_complete_events = &event};
	struct pjrt_event done = {.struct_size = sizeof(done)};
	call(side->api, PJRT_EXECUTE, &it);
	done.event = event;
	call(side->api, PJRT_EVENT_AWAIT, &done);
	call(side->api, PJRT_EVENT_DESTROY, &done);
}

int main(int argument_count, char **arguments)
{
	struct side first = {0}, second = {0};
	if (argument_count < 3 || !begin(&first, arguments[1], "jit_first 1000000 0 a.py:1"))
		return 2;
	if (!strcmp(arguments[1], arguments[2]))
		second.client = first.client;
	if (!begin(&second, arguments[2], "jit_second 1000000 0 b.py:1"))
		return 2;
	for (int i = 0; i < 5; i++)
		execute(i % 2 ? &first : &second);
	struct pjrt_event end = {.struct_size = sizeof(end), .event = first.client};
	call(first.api, PJRT_CLIENT_DESTROY, &end);
	end.event = second.client;
	if (second.client != first.client)
		call(second.api, PJRT_CLIENT_DESTROY, &end);
	return 0;
}
