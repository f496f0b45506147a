/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A PJRT plugin of nobody's: two devices, each a thread that does one execution after the other. A program is a text,
 * "NAME DEVICE_NS COMPILE_NS FILE:LINE", that says how long both take. It knows of profilers nothing but what the interface
 * says: each function checks the size of the record that it is given.
 *
 *	PJRT_FAKE_TABLE=FILE	what was done, exactly, when the client is destroyed: lines KIND,NAME,DEVICE,COUNT,NS,BYTES
 *				("execute", or "unasked" where there is no event, "failed"; "compile"; "load"; "wait"; copies)
 *	PJRT_FAKE_BYTES=N	the table of functions has so many bytes, also fewer or more than this one
 *	PJRT_FAKE_VERSION=M.N	as which it is given out
 *	PJRT_FAKE_INLINE=1	executions take no time and are complete when the call returns
 *	PJRT_FAKE_FAIL=WHAT	fails: compile, execute, event (the execution, later), name, program, listen (no callbacks)
 */
#include "pjrt.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEVICES = 2, CALLBACKS = 8, NAME = 64, LINES = 64 };

static uint64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static bool fails(const char *what)
{
	const char *asked = getenv("PJRT_FAKE_FAIL");
	return asked && !strcmp(asked, what);
}

/* ---- errors; each is freed once ---- */

static void *error_new(const char *text)
{
	return strdup(text);
}

static void *destroy_error(void *arguments)
{
	free(((struct pjrt_error_destroy *)arguments)->error);
	return NULL;
}

static void *message_of(void *arguments)
{
	struct pjrt_error_message *it = arguments;
	it->message = it->error;
	it->message_size = strlen(it->error);
	return NULL;
}

#define CHECKED(type, arguments)                                                                   \
	struct type *it = arguments;                                                               \
	if (it->struct_size < sizeof(*it))                                                         \
	return error_new("unexpected size of " #type)

/* ---- what was done ---- */

static struct line {
	char kind[16], name[NAME];
	int device;
	uint64_t count, ns, bytes;
} lines[LINES];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static void note(const char *kind, const char *name, int device, uint64_t ns, uint64_t bytes)
{
	pthread_mutex_lock(&table_lock);
	struct line *line = lines;
	while (line < lines + LINES - 1 && *line->kind &&
	       (strcmp(line->kind, kind) != 0 || strcmp(line->name, name) != 0 ||
		line->device != device))
		line++;
	snprintf(line->kind, sizeof(line->kind), "%s", kind);
	snprintf(line->name, sizeof(line->name), "%s", name);
	line->device = device;
	line->count++;
	line->ns += ns;
	line->bytes += bytes;
	pthread_mutex_unlock(&table_lock);
}

static void write_table(void)
{
	const char *path = getenv("PJRT_FAKE_TABLE");
	FILE *file = path ? fopen(path, "w") : NULL;
	if (!file)
		return;
	for (struct line *line = lines; line < lines + LINES && *line->kind; line++)
		fprintf(file, "%s,%s,%d,%lu,%lu,%lu\n", line->kind, line->name, line->device,
			line->count, line->ns, line->bytes);
	fclose(file);
}

/* ---- events ---- */

struct event {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_ready, has_failed;
	int users; /* the program, and who makes it ready */
	int callback_count;
	struct {
		void (*function)(void *, void *);
		void *data;
	} callbacks[CALLBACKS];
};

static struct event *event_new(int users)
{
	struct event *event = calloc(1, sizeof(*event));
	pthread_mutex_init(&event->lock, NULL);
	pthread_cond_init(&event->changed, NULL);
	event->users = users;
	return event;
}

static void release(struct event *event)
{
	pthread_mutex_lock(&event->lock);
	bool is_last = !--event->users;
	pthread_mutex_unlock(&event->lock);
	if (is_last)
		free(event);
}

static void *failure_of(const struct event *event)
{
	return event->has_failed ? error_new("the execution has failed") : NULL;
}

static void make_ready(struct event *event, bool has_failed)
{
	pthread_mutex_lock(&event->lock);
	event->is_ready = true;
	event->has_failed = has_failed;
	pthread_cond_broadcast(&event->changed);
	int count = event->callback_count;
	pthread_mutex_unlock(&event->lock);
	for (int i = 0; i < count; i++)
		event->callbacks[i].function(failure_of(event), event->callbacks[i].data);
	release(event);
}

static void *await(void *arguments)
{
	CHECKED(pjrt_event, arguments);
	struct event *event = it->event;
	pthread_mutex_lock(&event->lock);
	while (!event->is_ready)
		pthread_cond_wait(&event->changed, &event->lock);
	pthread_mutex_unlock(&event->lock);
	note("wait", "", 0, 0, 0);
	return failure_of(event);
}

static void *on_ready(void *arguments)
{
	CHECKED(pjrt_on_ready, arguments);
	struct event *event = it->event;
	if (fails("listen"))
		return error_new("no callbacks");
	pthread_mutex_lock(&event->lock);
	bool is_ready = event->is_ready, has_room = event->callback_count < CALLBACKS;
	if (!is_ready && has_room) {
		event->callbacks[event->callback_count].function = it->callback;
		event->callbacks[event->callback_count++].data = it->user_arg;
	}
	pthread_mutex_unlock(&event->lock);
	if (is_ready)
		it->callback(failure_of(event), it->user_arg);
	return is_ready || has_room ? NULL : error_new("too many callbacks");
}

static void *destroy_event(void *arguments)
{
	CHECKED(pjrt_event, arguments);
	release(it->event);
	return NULL;
}

/* ---- devices ---- */

struct work {
	struct work *next;
	struct event *event; /* NULL: nobody asked */
	char name[NAME];
	uint64_t ns, submitted_ns;
};

static struct device {
	int id;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct work *first, **last;
	uint64_t free_ns; /* when its last execution ended */
	bool ends;
} devices[DEVICES];

static void execute(struct device *device, struct work *work)
{
	uint64_t begin = now(), end = begin + work->ns;
	struct timespec until = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
	bool has_failed = fails("event");
	if (work->ns)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	/* it had the device from when it could begin, whenever this thread was run */
	begin = work->submitted_ns > device->free_ns ? work->submitted_ns : device->free_ns;
	device->free_ns = now();
	note(has_failed	   ? "failed"
	     : work->event ? "execute"
			   : "unasked",
	     work->name, device->id, device->free_ns - begin, 0);
	if (work->event)
		make_ready(work->event, has_failed);
	free(work);
}

static void *run_device(void *data)
{
	struct device *device = data;
	pthread_mutex_lock(&device->lock);
	while (device->first || !device->ends) {
		struct work *work = device->first;
		if (!work) {
			pthread_cond_wait(&device->changed, &device->lock);
			continue;
		}
		device->first = work->next;
		if (!device->first)
			device->last = &device->first;
		pthread_mutex_unlock(&device->lock);
		execute(device, work);
		pthread_mutex_lock(&device->lock);
	}
	pthread_mutex_unlock(&device->lock);
	return NULL;
}

static void submit(struct device *device, struct work *work)
{
	work->submitted_ns = now();
	pthread_mutex_lock(&device->lock);
	*device->last = work;
	device->last = &work->next;
	pthread_cond_signal(&device->changed);
	pthread_mutex_unlock(&device->lock);
}

/* ---- the client ---- */

/* In kernels.cu, where the plugin has that. */
__attribute__((weak)) void pjrt_fake_begin(void);
__attribute__((weak)) void pjrt_fake_launch(void);

static void *create_client(void *arguments)
{
	CHECKED(pjrt_client_create, arguments);
	if (pjrt_fake_begin)
		pjrt_fake_begin();
	for (int i = 0; i < DEVICES; i++) {
		struct device *device = &devices[i];
		device->id = i + 5; /* no index */
		device->last = &device->first;
		device->ends = false;
		pthread_mutex_init(&device->lock, NULL);
		pthread_cond_init(&device->changed, NULL);
		pthread_create(&device->thread, NULL, run_device, device);
	}
	it->client = devices;
	return NULL;
}

static void *destroy_client(void *arguments)
{
	CHECKED(pjrt_event, arguments);
	for (int i = 0; i < DEVICES; i++) {
		pthread_mutex_lock(&devices[i].lock);
		devices[i].ends = true;
		pthread_cond_signal(&devices[i].changed);
		pthread_mutex_unlock(&devices[i].lock);
		pthread_join(devices[i].thread, NULL);
	}
	write_table();
	return NULL;
}

static void *all_devices[DEVICES] = {&devices[0], &devices[1]};

static void *list_devices(void *arguments)
{
	CHECKED(pjrt_devices, arguments);
	it->devices = all_devices;
	it->num_devices = DEVICES;
	return NULL;
}

static void *describe(void *arguments)
{
	CHECKED(pjrt_description, arguments);
	it->description = it->device;
	return NULL;
}

static void *id_of(void *arguments)
{
	CHECKED(pjrt_description_id, arguments);
	it->id = ((struct device *)it->description)->id;
	return NULL;
}

/* ---- programs ---- */

struct executable {
	char name[NAME], file[NAME];
	uint64_t ns;
	unsigned line;
	int users;
};

static void *destroy_executable(void *arguments)
{
	CHECKED(pjrt_event, arguments);
	struct executable *executable = it->event;
	if (executable && !--executable->users)
		free(executable);
	return NULL;
}

static void *make(const char *text, size_t length, const char *kind, void **made)
{
	char code[256];
	unsigned long ns, compile_ns;
	struct executable *executable = calloc(1, sizeof(*executable));
	snprintf(code, sizeof(code), "%.*s", (int)length, text);
	uint64_t begin = now();
	if (fails("compile") || sscanf(code, "%63s %lu %lu %63[^:]:%u", executable->name, &ns,
				       &compile_ns, executable->file, &executable->line) != 5) {
		free(executable);
		return error_new("no program");
	}
	struct timespec time = {0, (long)compile_ns};
	nanosleep(&time, NULL);
	note(kind, executable->name, 0, now() - begin, 0);
	executable->ns = ns;
	executable->users = 1;
	*made = executable;
	return NULL;
}

static void *compile(void *arguments)
{
	CHECKED(pjrt_compile, arguments);
	return make(it->program->code, it->program->code_size, "compile", &it->executable);
}

static void *load(void *arguments)
{
	CHECKED(pjrt_load, arguments);
	return make(it->serialized_executable, it->serialized_executable_size, "load",
		    &it->loaded_executable);
}

static void *executable_of(void *arguments)
{
	CHECKED(pjrt_loaded_executable, arguments);
	struct executable *executable = it->loaded;
	executable->users++;
	it->executable = executable;
	return NULL;
}

static void *name_of(void *arguments)
{
	CHECKED(pjrt_executable_name, arguments);
	if (fails("name"))
		return error_new("no name");
	it->name = ((struct executable *)it->executable)->name;
	it->name_size = strlen(it->name);
	return NULL;
}

static void *devices_of(void *arguments)
{
	CHECKED(pjrt_devices, arguments);
	it->devices = all_devices;
	it->num_devices = 1;
	return NULL;
}

/* Protobuf: a number, and bytes. */
static void put_varint(char **at, uint64_t value)
{
	do
		*(*at)++ = (char)((value & 127) | (value > 127 ? 128 : 0));
	while (value >>= 7);
}

static void put_number(char **at, unsigned field, uint64_t value)
{
	put_varint(at, field << 3);
	put_varint(at, value);
}

static void put_bytes(char **at, unsigned field, const void *bytes, size_t length)
{
	put_varint(at, field << 3 | 2);
	put_varint(at, length);
	memcpy(*at, bytes, length);
	*at += length;
}

static void put_text(char **at, unsigned field, const char *text)
{
	put_bytes(at, field, text, strlen(text));
}

static void put_instruction(char **at, const char *name, const char *opcode, uint64_t operand,
			    uint64_t id, const struct executable *executable)
{
	char bytes[512], metadata[256], *to = bytes, *meta = metadata;
	put_text(&to, 1, name);
	put_text(&to, 2, opcode);
	put_text(&meta, 2, name);
	put_text(&meta, 3, executable->file);
	put_number(&meta, 4, executable->line);
	put_bytes(&to, 7, metadata, (size_t)(meta - metadata));
	put_number(&to, 35, id);
	if (operand)
		put_number(&to, 36, operand);
	put_bytes(at, 2, bytes, (size_t)(to - bytes));
}

/* An HloModuleProtoWithConfig: sine of a parameter. */
static size_t write_program(const struct executable *executable, char *bytes)
{
	char computation[1024], module[2048], *in = computation, *of = module, *to = bytes;
	put_text(&in, 1, "main");
	put_instruction(&in, "x", "parameter", 0, 1, executable);
	put_instruction(&in, "wave", "sine", 1, 2, executable);
	put_number(&in, 5, 1);
	put_number(&in, 6, 2);
	put_text(&of, 1, executable->name);
	put_text(&of, 2, "main");
	put_bytes(&of, 3, computation, (size_t)(in - computation));
	put_number(&of, 5, 1); /* every program's */
	put_number(&of, 6, 1);
	put_bytes(&to, 1, module, (size_t)(of - module));
	return (size_t)(to - bytes);
}

static void *program_of(void *arguments)
{
	CHECKED(pjrt_optimized_program, arguments);
	char bytes[4096];
	if (fails("program"))
		return error_new("no program");
	if (it->program->struct_size < sizeof(struct pjrt_program))
		return error_new("unexpected size of pjrt_program");
	size_t length = write_program(it->executable, bytes);
	it->program->format = "hlo_with_config";
	it->program->format_size = strlen(it->program->format);
	if (it->program->code && it->program->code_size < length)
		return error_new("no room");
	if (it->program->code)
		memcpy(it->program->code, bytes, length);
	it->program->code_size = length;
	return NULL;
}

/* ---- executions ---- */

static bool is_inline;

static void *ready_event(void)
{
	struct event *event = event_new(2);
	make_ready(event, false);
	return event;
}

static void *run(void *arguments)
{
	CHECKED(pjrt_execute, arguments);
	struct executable *executable = it->executable;
	if (fails("execute"))
		return error_new("not now");
	if (pjrt_fake_launch)
		pjrt_fake_launch();
	if (is_inline) {
		for (size_t i = 0; it->device_complete_events && i < it->num_devices; i++)
			it->device_complete_events[i] = ready_event();
		return NULL;
	}
	for (size_t i = 0; i < it->num_devices; i++) {
		struct work *work = calloc(1, sizeof(*work));
		strcpy(work->name, executable->name);
		work->ns = executable->ns;
		if (it->device_complete_events)
			it->device_complete_events[i] = work->event = event_new(2);
		submit(it->execute_device ? it->execute_device : all_devices[i], work);
	}
	return NULL;
}

/* ---- buffers ---- */

struct buffer {
	size_t bytes;
	char data[];
};

static struct buffer *buffer_new(const void *data, size_t bytes)
{
	struct buffer *buffer = malloc(sizeof(*buffer) + bytes);
	buffer->bytes = bytes;
	memcpy(buffer->data, data, bytes);
	return buffer;
}

static void *from_host(void *arguments)
{
	CHECKED(pjrt_from_host, arguments);
	static const size_t element[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8};
	size_t bytes = element[it->type];
	for (size_t i = 0; i < it->num_dims; i++)
		bytes *= (size_t)it->dims[i];
	it->buffer = buffer_new(it->data, bytes);
	it->done_with_host_buffer = ready_event();
	note("to device", "", 0, 0, bytes);
	return NULL;
}

static void *to_host(void *arguments)
{
	CHECKED(pjrt_to_host, arguments);
	const struct buffer *buffer = it->src;
	if (!it->dst) {
		it->dst_size = buffer->bytes;
		return NULL;
	}
	memcpy(it->dst, buffer->data, buffer->bytes);
	it->event = ready_event();
	note("to host", "", 0, 0, buffer->bytes);
	return NULL;
}

static void *raw_to_host(void *arguments)
{
	CHECKED(pjrt_raw_to_host, arguments);
	const struct buffer *buffer = it->buffer;
	memcpy(it->dst, buffer->data + it->offset, (size_t)it->transfer_size);
	it->event = ready_event();
	note("raw to host", "", 0, 0, (uint64_t)it->transfer_size);
	return NULL;
}

/* Into nobody's buffer. */
static void *transfer(void *arguments)
{
	CHECKED(pjrt_transfer, arguments);
	it->event = ready_event();
	note("transfer", "", 0, 0, (uint64_t)it->transfer_size);
	return NULL;
}

static void *copy(void *arguments)
{
	CHECKED(pjrt_copy, arguments);
	const struct buffer *buffer = it->buffer;
	it->made = buffer_new(buffer->data, buffer->bytes);
	note("between", "", 0, 0, buffer->bytes);
	return NULL;
}

static void *bytes_of(void *arguments)
{
	CHECKED(pjrt_buffer_bytes, arguments);
	it->on_device_size_in_bytes = ((const struct buffer *)it->buffer)->bytes;
	return NULL;
}

static void *destroy_buffer(void *arguments)
{
	CHECKED(pjrt_event, arguments);
	free(it->event);
	return NULL;
}

/* ---- the table ---- */

static void *missing(void *arguments)
{
	(void)arguments;
	return error_new("not implemented");
}

static struct pjrt_api table = {.functions = {
				    [0 ... PJRT_FUNCTIONS - 1] = missing,
				    [PJRT_ERROR_DESTROY] = destroy_error,
				    [PJRT_ERROR_MESSAGE] = message_of,
				    [PJRT_EVENT_DESTROY] = destroy_event,
				    [PJRT_EVENT_AWAIT] = await,
				    [PJRT_EVENT_ON_READY] = on_ready,
				    [PJRT_CLIENT_CREATE] = create_client,
				    [PJRT_CLIENT_DESTROY] = destroy_client,
				    [PJRT_CLIENT_ADDRESSABLE_DEVICES] = list_devices,
				    [PJRT_CLIENT_COMPILE] = compile,
				    [PJRT_BUFFER_FROM_HOST] = from_host,
				    [PJRT_DESCRIPTION_ID] = id_of,
				    [PJRT_DEVICE_DESCRIPTION] = describe,
				    [PJRT_EXECUTABLE_DESTROY] = destroy_executable,
				    [PJRT_EXECUTABLE_NAME] = name_of,
				    [PJRT_OPTIMIZED_PROGRAM] = program_of,
				    [PJRT_LOADED_DESTROY] = destroy_executable,
				    [PJRT_LOADED_EXECUTABLE] = executable_of,
				    [PJRT_LOADED_DEVICES] = devices_of,
				    [PJRT_EXECUTE] = run,
				    [PJRT_LOAD] = load,
				    [PJRT_BUFFER_DESTROY] = destroy_buffer,
				    [PJRT_BUFFER_BYTES] = bytes_of,
				    [PJRT_COPY_TO_DEVICE] = copy,
				    [PJRT_TO_HOST] = to_host,
				    [PJRT_COPY_TO_MEMORY] = copy,
				    [PJRT_RAW_TO_HOST] = raw_to_host,
				    [PJRT_TRANSFER] = transfer,
				}};

/* A program that must not look behind the declared end finds a trap there. */
static void *beyond(void *arguments)
{
	(void)arguments;
	abort();
}

/* Where PJRT_FAKE_OTHER is set, who asks again gets another table. */
static const struct pjrt_api *another(const struct pjrt_api *first)
{
	static struct pjrt_api other;
	static int asked;
	if (!asked++ || !getenv("PJRT_FAKE_OTHER"))
		return first;
	other = *first;
	return &other;
}

const struct pjrt_api *GetPjrtApi(void);
const struct pjrt_api *GetPjrtApi(void)
{
	const char *bytes = getenv("PJRT_FAKE_BYTES"), *version = getenv("PJRT_FAKE_VERSION");
	is_inline = getenv("PJRT_FAKE_INLINE") != NULL;
	table.struct_size = bytes ? (size_t)atol(bytes) : offsetof(struct pjrt_api, functions[138]);
	table.version.struct_size = sizeof(table.version);
	sscanf(version ? version : "0.115", "%d.%d", &table.version.major_version,
	       &table.version.minor_version);
	for (size_t i = 0; i < PJRT_FUNCTIONS; i++)
		if (offsetof(struct pjrt_api, functions) + (i + 1) * sizeof(void *) >
		    table.struct_size)
			table.functions[i] = beyond;
	return another(&table);
}
