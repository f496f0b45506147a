/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program on a PJRT plugin: compiles two programs and calls each from a function of its own, copies to and from the device.
 * Usage: main PLUGIN ROUNDS [once]. With -DLINKED it is linked with the plugin and PLUGIN is not looked at. Prints what it
 * got; errors too, and goes on.
 */
#include "../../fake/pjrt/pjrt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(*(list)))
#define CALL(function, arguments)                                                                  \
	has_done(((arguments)->struct_size = sizeof(*(arguments)),                                 \
		  api->functions[function](arguments)),                                            \
		 #function)

static const struct pjrt_api *api;
static void *client;
static int failures;

static int has_done(void *error, const char *what)
{
	if (!error)
		return 1;
	struct pjrt_error_message message = {.struct_size = sizeof(message), .error = error};
	api->functions[PJRT_ERROR_MESSAGE](&message);
	if (failures++ < 3)
		printf("%s: %.*s\n", what, (int)message.message_size, message.message);
	struct pjrt_error_destroy destroy = {.struct_size = sizeof(destroy), .error = error};
	api->functions[PJRT_ERROR_DESTROY](&destroy);
	return 0;
}

static __attribute__((noinline)) void *compile(const char *code)
{
	struct pjrt_program program = {.struct_size = sizeof(program),
				       .code = (char *)code,
				       .code_size = strlen(code),
				       .format = "fake",
				       .format_size = 4};
	struct pjrt_compile it = {.client = client, .program = &program};
	return CALL(PJRT_CLIENT_COMPILE, &it) ? it.executable : NULL;
}

static __attribute__((noinline)) void *load(const char *code)
{
	struct pjrt_load it = {.client = client,
			       .serialized_executable = code,
			       .serialized_executable_size = strlen(code)};
	return CALL(PJRT_LOAD, &it) ? it.loaded_executable : NULL;
}

/* Nobody waits for them one by one: the device has a queue. The last one's event, or NULL. */
static void *execute(void *executable, int times, void *device)
{
	void *last = NULL;
	for (int i = 0; executable && i < times; i++) {
		void *event = NULL;
		struct pjrt_execute it = {.executable = executable,
					  .num_devices = 1,
					  .device_complete_events = &event,
					  .execute_device = device};
		if (!CALL(PJRT_EXECUTE, &it))
			continue;
		struct pjrt_event passed = {.event = last};
		if (last)
			CALL(PJRT_EVENT_DESTROY, &passed);
		last = event;
	}
	return last;
}

static void wait_for(void *event)
{
	struct pjrt_event it = {.event = event};
	if (!event)
		return;
	CALL(PJRT_EVENT_AWAIT, &it);
	CALL(PJRT_EVENT_DESTROY, &it);
}

static __attribute__((noinline)) void use_long(void *executable, int times)
{
	wait_for(execute(executable, times, NULL));
}

static __attribute__((noinline)) void use_short(void *executable, int times, void *device)
{
	wait_for(execute(executable, times, device));
}

/* Nobody asks when it is done. */
static __attribute__((noinline)) void use_unasked(void *executable)
{
	struct pjrt_execute it = {.executable = executable, .num_devices = 1};
	if (executable)
		CALL(PJRT_EXECUTE, &it);
}

static void destroy(int function, void *object)
{
	struct pjrt_event it = {.struct_size = sizeof(it), .event = object};
	if (object)
		has_done(api->functions[function](&it), "destroy");
}

static void destroy(int function, void *object);

/* Of later releases. */
static void others(void *buffer, void *to)
{
	struct pjrt_raw_to_host raw = {.buffer = buffer, .dst = to, .transfer_size = 64};
	struct pjrt_transfer transfer = {.data = to, .transfer_size = 32};
	if (api->struct_size < offsetof(struct pjrt_api, functions[PJRT_TRANSFER + 1]))
		return;
	CALL(PJRT_RAW_TO_HOST, &raw);
	destroy(PJRT_EVENT_DESTROY, raw.event);
	CALL(PJRT_TRANSFER, &transfer);
	destroy(PJRT_EVENT_DESTROY, transfer.event);
}

static __attribute__((noinline)) void copies(void *device, int times)
{
	float values[8][16], back[8][16];
	int64_t sizes[] = {8, 16};
	double sum = 0;
	for (size_t i = 0; i < 128; i++)
		values[i / 16][i % 16] = (float)i;
	for (int i = 0; i < times; i++) {
		struct pjrt_from_host from = {.client = client,
					      .data = values,
					      .type = 11,
					      .dims = sizes,
					      .num_dims = COUNT(sizes)};
		if (!CALL(PJRT_BUFFER_FROM_HOST, &from))
			return;
		struct pjrt_copy copy = {.buffer = from.buffer, .destination = device};
		CALL(PJRT_COPY_TO_DEVICE, &copy);
		struct pjrt_to_host to = {.src = copy.made};
		CALL(PJRT_TO_HOST, &to);
		to.dst = back;
		CALL(PJRT_TO_HOST, &to);
		wait_for(to.event);
		others(copy.made, back);
		destroy(PJRT_EVENT_DESTROY, from.done_with_host_buffer);
		destroy(PJRT_BUFFER_DESTROY, from.buffer);
		destroy(PJRT_BUFFER_DESTROY, copy.made);
		sum += back[i % 8][i % 16];
	}
	printf("sum %g\n", sum);
}

#ifdef LINKED
const struct pjrt_api *GetPjrtApi(void);

static const struct pjrt_api *find(const char *path)
{
	(void)path;
	return GetPjrtApi();
}
#else
static const struct pjrt_api *find(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct pjrt_api *(*get)(void) = NULL;
	if (library)
		*(void **)&get = dlsym(library, "GetPjrtApi");
	/* nobody's is nobody's */
	printf("elsewhere %d\n", dlsym(RTLD_DEFAULT, "GetPjrtApi") != NULL);
	return get ? get() : NULL;
}
#endif

int main(int argument_count, char **arguments)
{
	int rounds = argument_count > 2 ? atoi(arguments[2]) : 1;
	api = find(arguments[1]);
	if (!api)
		return 2;
	printf("version %d.%d, %zu bytes\n", api->version.major_version, api->version.minor_version,
	       api->struct_size);
	struct pjrt_client_create create = {.struct_size = sizeof(create)};
	if (!CALL(PJRT_CLIENT_CREATE, &create))
		return 2;
	client = create.client;
	struct pjrt_devices devices = {.object = client};
	CALL(PJRT_CLIENT_ADDRESSABLE_DEVICES, &devices);
	void *longer = compile("jit_long 2000000 30000000 model.py:7");
	void *shorter = load("jit_short 500000 10000000 model.py:11");
	use_long(longer, rounds);
	use_short(shorter, rounds, devices.devices[1]);
	use_unasked(longer);
	copies(devices.devices[1], rounds);
	destroy(PJRT_LOADED_DESTROY, longer);
	destroy(PJRT_LOADED_DESTROY, shorter);
	destroy(PJRT_CLIENT_DESTROY, client);
	printf("failures %d\n", failures);
	return 0;
}
