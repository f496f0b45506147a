/* SPDX-License-Identifier: Apache-2.0 */
/* What the devices do, as records: made when something is launched, delivered by one thread when it is done. */
#include "sdk.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { COPY_RECORD = 10, KERNEL_RECORD = 11, CODE_OBJECT = 10, KERNEL_SYMBOL = 2, LOAD = 1 };
enum { DISPATCH = 12, ENQUEUE = 1, BUFFERS = 8, HOST_AGENT = 99 };

struct record {
	struct record *next;
	uint64_t buffer, due_ns;
	uint32_t category, kind;
	size_t bytes;
	uint8_t data[FAKE_LONGEST];
};

struct list {
	struct record *first, **last;
	size_t bytes, count;
};

static struct {
	uint64_t context;
	size_t watermark;
	fake_on_records callback;
	void *data;
	struct list ready;
	_Atomic uint64_t flushes_wanted, flushes_done;
	_Atomic uint64_t dropped; /* counted from the start, as AMD's does */
	uint64_t dropped_told;
} buffers[BUFFERS];
static uint32_t buffer_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of lists; stands behind the device's */
static struct list pending = {.last = &pending.first};
static uint64_t last_due_ns;
static _Atomic uint64_t taken;

static void append(struct list *list, struct record *record)
{
	record->next = NULL;
	*list->last = record;
	list->last = &record->next;
	list->bytes += record->bytes;
	list->count++;
}

/* ---- making records ---- */

static void put(struct record *record, size_t place, uint64_t value, size_t bytes)
{
	memcpy(record->data + place, &value, bytes);
}

static uint64_t sdk_ns(uint64_t device_ns)
{
	return fake_fails("untimed") ? 0 : device_ns + FAKE_CLOCK_AHEAD_NS;
}

static void put_head(struct record *record, const struct fake_run *run, size_t usual,
		     uint32_t operation)
{
	record->bytes = fake_fails("short") ? usual - 80 : fake_fails("long") ? usual + 8 : usual;
	record->category = 1;
	put(record, 0, record->bytes, 8);
	put(record, 8, record->kind, 4);
	put(record, 12, operation, 4);
	put(record, 16, fake_sdk_correlation(), 8);
	put(record, 32, (uint64_t)syscall(SYS_gettid), 8);
	put(record, 40, sdk_ns(run->start_ns), 8);
	put(record, 48, sdk_ns(run->end_ns), 8);
}

/* Streams share the few queues of the hardware. */
static uint64_t queue_of(const struct fake_run *run)
{
	return 1 + run->stream % 2;
}

static void fill_kernel(struct record *record, const struct fake_run *run, uint64_t kernel,
			uint64_t dispatch)
{
	const struct fake_operation *operation = run->operation;
	record->kind = KERNEL_RECORD;
	put_head(record, run, 184, 2);
	put(record, 56, 72, 8);
	put(record, 64, FAKE_AGENT + (uint64_t)run->device, 8);
	put(record, 72, queue_of(run), 8);
	put(record, 80, kernel, 8);
	put(record, 88, dispatch, 8);
	for (int axis = 0; axis < 3; axis++) {
		put(record, 104 + 4 * (size_t)axis, operation->block[axis], 4);
		put(record, 116 + 4 * (size_t)axis, operation->grid[axis] * operation->block[axis],
		    4);
	}
}

static void fill_copy(struct record *record, const struct fake_run *run)
{
	const struct fake_operation *operation = run->operation;
	bool to_device = operation->to >= FAKE_DEVICE, from_device = operation->from >= FAKE_DEVICE;
	uint64_t device = FAKE_AGENT + (uint64_t)run->device;
	record->kind = COPY_RECORD;
	put_head(record, run, 96, to_device ? (from_device ? 4 : 2) : from_device ? 3 : 1);
	put(record, 56, to_device ? device : HOST_AGENT, 8);
	put(record, 64, from_device ? device : HOST_AGENT, 8);
	put(record, 72, operation->bytes, 8);
}

/* ---- kernels: tools are told of each before its first launch ---- */

struct symbol {
	uint64_t size, kernel, code_object;
	char *name;
	uint64_t rest[8];
};

static struct {
	const char *name;
	char *shown;
} kernels[1024]; /* with the device's lock */
static uint64_t kernel_count;

static void tell_kernel(uint64_t number, uint32_t module)
{
	struct symbol symbol = {
	    .size = 88, .kernel = number, .code_object = module, .name = kernels[number - 1].shown};
	for (uint32_t index = 0; index < fake_context_count; index++) {
		struct fake_context *context = &fake_contexts[index];
		struct fake_call_record record = {.context = index + 1,
						  .kind = CODE_OBJECT,
						  .operation = KERNEL_SYMBOL,
						  .phase = LOAD,
						  .payload = &symbol};
		uint64_t word = 0;
		if (context->is_active && context->on_code)
			context->on_code(record, &word, context->code_data);
	}
}

static uint64_t number_of(const char *name, uint32_t module)
{
	for (uint64_t index = 0; index < kernel_count; index++)
		if (kernels[index].name == name)
			return index + 1;
	if (kernel_count == 1024)
		return 0;
	kernels[kernel_count].name = name;
	if (asprintf(&kernels[kernel_count].shown, "%s.kd", name) < 0)
		abort();
	tell_kernel(++kernel_count, module);
	return kernel_count;
}

void fake_records_end(void)
{
	for (uint64_t index = 0; index < kernel_count; index++)
		memset(kernels[index].shown, '?', strlen(kernels[index].shown));
}

/* AMD's runtime sets memory, and copies from device to device, by kernels of its own. */
static const char *kernel_of(const struct fake_operation *operation)
{
	static const char fill[] = "__amd_rocclr_fillBufferAligned",
			  copy[] = "__amd_rocclr_copyBuffer";
	if (operation->kind == FAKE_KERNEL)
		return operation->name;
	if (operation->kind == FAKE_SET)
		return fill;
	return operation->from >= FAKE_DEVICE && operation->to >= FAKE_DEVICE ? copy : NULL;
}

static void queue(struct record *record, uint64_t buffer, uint64_t due_ns)
{
	record->buffer = buffer;
	record->due_ns = due_ns;
	pthread_mutex_lock(&lock);
	append(&pending, record);
	last_due_ns = due_ns > last_due_ns ? due_ns : last_due_ns;
	pthread_mutex_unlock(&lock);
}

void fake_record_add(uint64_t buffer, uint64_t due_ns, uint32_t category, uint32_t kind,
		     const void *data, size_t bytes)
{
	struct record *record = calloc(1, sizeof(*record));
	record->category = category;
	record->kind = kind;
	record->bytes = bytes;
	memcpy(record->data, data, bytes);
	queue(record, buffer, due_ns);
}

void fake_record_drop(uint64_t buffer, uint64_t count)
{
	buffers[buffer - 1].dropped += count;
}

/* What is launched, before it is told of as done. */
struct launched {
	const char *name; /* of a kernel; NULL: it is a copy */
	uint64_t kernel, dispatch;
};

static void add_record(uint64_t buffer, const struct fake_run *run, const struct launched *launched)
{
	if (fake_fails("drop") && ++taken % 10 == 0) {
		fake_record_drop(buffer, 1);
		return;
	}
	struct record *record = calloc(1, sizeof(*record));
	if (launched->name)
		fill_kernel(record, run, launched->kernel, launched->dispatch);
	else
		fill_copy(record, run);
	queue(record, buffer, run->end_ns);
}

/* AMD's runtime sets what is not aligned by several kernels. */
static void add_halves(uint64_t buffer, const struct fake_run *run, const struct launched *launched)
{
	struct fake_run half = *run;
	half.end_ns = run->start_ns + (run->end_ns - run->start_ns) / 2;
	add_record(buffer, &half, launched);
	half.start_ns = half.end_ns;
	half.end_ns = run->end_ns;
	add_record(buffer, &half, launched);
}

/* Before the device has it. */
static void tell_dispatch(struct fake_context *context, const struct fake_run *run,
			  const struct launched *launched)
{
	uint64_t data[19] = {sizeof(data),
			     0,
			     0,
			     72,
			     FAKE_AGENT + (uint64_t)run->device,
			     queue_of(run),
			     launched->kernel,
			     launched->dispatch};
	struct fake_call_record record = {.context = (uint64_t)(context - fake_contexts) + 1,
					  .correlation = fake_sdk_correlation(),
					  .kind = DISPATCH,
					  .operation = ENQUEUE,
					  .phase = LOAD,
					  .payload = data};
	uint64_t word = 0;
	context->on_dispatch(record, &word, context->dispatch_data);
}

/* The device's listener. */
static void on_run(const struct fake_run *run)
{
	static uint64_t dispatches; /* with the device's lock */
	struct launched launched = {.name = kernel_of(run->operation)};
	bool is_split = run->operation->kind == FAKE_SET && fake_fails("split");
	if (launched.name) {
		launched.kernel = number_of(launched.name, run->operation->module);
		launched.dispatch = ++dispatches;
		fake_counters_run(run, launched.name, launched.kernel);
	}
	for (uint32_t index = 0; index < fake_context_count; index++) {
		struct fake_context *context = &fake_contexts[index];
		uint64_t buffer = launched.name ? context->kernel_buffer : context->copy_buffer;
		if (context->is_active && launched.name && context->on_dispatch)
			tell_dispatch(context, run, &launched);
		if (context->is_active)
			fake_sdk_sample(context, run, launched.dispatch);
		if (context->is_active && buffer)
			(is_split ? add_halves : add_record)(buffer, run, &launched);
	}
}

/* ---- delivering them ---- */

static void take_due(uint64_t now_ns)
{
	struct list all = pending;
	pending = (struct list){.last = &pending.first};
	for (struct record *record = all.first, *next; record; record = next) {
		next = record->next;
		append(record->due_ns <= now_ns ? &buffers[record->buffer - 1].ready : &pending,
		       record);
	}
}

struct header {
	uint32_t category, kind;
	void *record;
};

static void deliver(uint32_t index, struct list *list)
{
	struct header *headers = calloc(list->count + 1, sizeof(*headers));
	void **pointers = calloc(list->count + 1, sizeof(*pointers));
	size_t count = 0;
	for (struct record *record = list->first; record; record = record->next) {
		headers[count] = (struct header){record->category, record->kind, record->data};
		pointers[count] = &headers[count];
		count++;
	}
	uint64_t dropped = buffers[index].dropped;
	if (count || dropped != buffers[index].dropped_told)
		buffers[index].callback(buffers[index].context, index + 1, pointers, count,
					buffers[index].data, dropped);
	buffers[index].dropped_told = dropped;
	for (struct record *record = list->first, *next; record; record = next) {
		next = record->next;
		free(record);
	}
	free(headers);
	free(pointers);
}

static void serve(uint32_t index)
{
	uint64_t wanted = buffers[index].flushes_wanted;
	struct list list = {0};
	pthread_mutex_lock(&lock);
	take_due(fake_now_ns());
	size_t watermark = fake_fails("drop") ? 1 : buffers[index].watermark; /* many deliveries */
	if (wanted != buffers[index].flushes_done || buffers[index].ready.bytes >= watermark) {
		list = buffers[index].ready;
		buffers[index].ready = (struct list){.last = &buffers[index].ready.first};
	}
	pthread_mutex_unlock(&lock);
	deliver(index, &list);
	buffers[index].flushes_done = wanted;
}

static void *serve_all(void *unused)
{
	(void)unused;
	for (;;) {
		for (uint32_t index = 0; index < buffer_count; index++)
			serve(index);
		usleep(500);
	}
	return NULL;
}

/* A child has not the thread that may hold it. */
static void release_in_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void fake_records_begin(void)
{
	static const struct fake_listener listener = {.run = on_run, .module = fake_sdk_module};
	pthread_t thread;
	pthread_atfork(NULL, NULL, release_in_child);
	pthread_create(&thread, NULL, serve_all, NULL);
	pthread_detach(thread);
	fake_listen(&listener, &listener);
}

void fake_records_wait(void)
{
	pthread_mutex_lock(&lock);
	uint64_t due_ns = last_due_ns;
	pthread_mutex_unlock(&lock);
	while (fake_now_ns() < due_ns)
		usleep(200);
}

/* ---- the SDK's functions ---- */

int rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark, int policy,
			      fake_on_records callback, void *data, uint64_t *buffer)
{
	(void)size, (void)policy;
	if (buffer_count == BUFFERS)
		return 1;
	buffers[buffer_count].context = context;
	buffers[buffer_count].watermark = watermark;
	buffers[buffer_count].callback = callback;
	buffers[buffer_count].data = data;
	buffers[buffer_count].ready.last = &buffers[buffer_count].ready.first;
	*buffer = ++buffer_count;
	return 0;
}

static bool is_of_samples(uint64_t buffer)
{
	for (uint32_t index = 0; index < fake_context_count; index++)
		if (fake_contexts[index].sample_buffer == buffer)
			return true;
	return false;
}

int rocprofiler_flush_buffer(uint64_t buffer)
{
	if (fake_has_ended())
		return 22;
	while (fake_fails("flush") || (fake_fails("sdk-pc-flush") && is_of_samples(buffer)))
		pause();
	if (fake_fails("counter-late"))
		usleep(300000);
	uint64_t wanted = ++buffers[buffer - 1].flushes_wanted;
	while (buffers[buffer - 1].flushes_done < wanted)
		usleep(100);
	return 0;
}

int rocprofiler_get_timestamp(uint64_t *now)
{
	*now = fake_now_ns() + FAKE_CLOCK_AHEAD_NS;
	return 0;
}

int rocprofiler_query_available_agents(int version,
				       int (*callback)(int, const void **, size_t, void *),
				       size_t size, void *data)
{
	static struct agent {
		uint64_t size, id;
		uint32_t type, rest[71];
	} agents[9];
	const void *pointers[9];
	size_t count = (size_t)fake_device_count() + 1;
	if (version != 1 || size > sizeof(*agents))
		return 19;
	for (size_t index = 0; index < count && index < 9; index++) {
		agents[index] = (struct agent){.size = sizeof(*agents),
					       .id = index ? FAKE_AGENT + index - 1 : HOST_AGENT,
					       .type = index ? 2 : 1};
		pointers[index] = &agents[index];
	}
	return callback(version, pointers, count, data);
}
