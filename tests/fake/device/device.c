/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events, and what runs in them. */
#include "inside.h"
#include "table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* From the call to the first moment at which an idle device begins. */
#define LAUNCH_NS 2500u
/* Between two operations of a stream. */
#define GAP_NS	  400u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct fake_stream *fake_streams;
struct fake_listener fake_listener;
static struct fake_stream *defaults[FAKE_MOST_DEVICES];
static _Atomic uint32_t correlations, numbers;
static uint32_t stream_numbers = 12; /* the first of a program's own is 13, as with CUDA */
static int devices;
static size_t memory;

void fake_lock(void)
{
	pthread_mutex_lock(&lock);
}

void fake_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static size_t number_of(const char *name, size_t usual)
{
	const char *text = getenv(name);
	return text && *text ? strtoull(text, NULL, 10) : usual;
}

static struct fake_stream *new_stream(int device, int flags, int priority)
{
	struct fake_stream *stream = calloc(1, sizeof(*stream));
	*stream = (struct fake_stream){
	    .device = device, .flags = flags, .priority = priority, .next = fake_streams};
	return fake_streams = stream;
}

static _Atomic bool has_begun, is_forked;

/* The lock was not held by who forked. What ran is in the parent's table, and its driver serves no child. */
static void after_fork(void)
{
	is_forked = has_begun;
	fake_table_forget();
	fake_unlock();
}

__attribute__((constructor)) static void begin(void)
{
	devices = (int)number_of("FAKE_DEVICES", 1);
	devices = devices < FAKE_MOST_DEVICES ? devices : FAKE_MOST_DEVICES;
	memory = number_of("FAKE_MEMORY_MIB", 16384) << 20;
	fake_plan_load();
	for (int device = 0; device < devices; device++) {
		defaults[device] = new_stream(device, FAKE_STREAM_BLOCKING, 0);
		defaults[device]->number = 7;
		defaults[device]->is_default = true;
	}
	pthread_atfork(fake_lock, fake_unlock, after_fork);
}

int fake_device_count(void)
{
	return devices;
}

size_t fake_device_memory(void)
{
	return memory;
}

uint64_t fake_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void fake_sleep_until(uint64_t ns)
{
	struct timespec end = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL))
		;
}

bool fake_listen(const void *owner, const struct fake_listener *listener)
{
	static const void *current;
	fake_lock();
	bool is_free = !current || current == owner;
	if (is_free) {
		current = listener->call ? owner : NULL;
		fake_listener = *listener;
	}
	fake_unlock();
	return is_free;
}

void fake_device_begin(void)
{
	has_begun = true;
}

bool fake_device_has_begun(void)
{
	return has_begun;
}

bool fake_device_is_forked(void)
{
	return is_forked;
}

static __thread int current_device;

int fake_current_device(void)
{
	return current_device;
}

void fake_set_current_device(int device)
{
	current_device = device;
}

/* ---- calls ---- */

static __thread struct {
	uint32_t correlations[16];
	struct fake_call *innermost[16];
	int depth;
} calls;

void fake_call_begin(struct fake_call *call)
{
	call->correlation = ++correlations;
	if (calls.depth < 16) {
		calls.correlations[calls.depth] = call->correlation;
		calls.innermost[calls.depth] = call;
	}
	if (!calls.depth++)
		fake_table_call(call->name);
	if (fake_listener.call)
		fake_listener.call(call, false);
}

void fake_call_end(struct fake_call *call)
{
	if (fake_listener.call)
		fake_listener.call(call, true);
	calls.depth--;
}

uint32_t fake_correlation(void)
{
	int depth = calls.depth < 16 ? calls.depth : 16;
	return depth ? calls.correlations[depth - 1] : 0;
}

void fake_call_renumber(struct fake_call *call)
{
	call->correlation = ++correlations;
	if (calls.depth && calls.depth <= 16)
		calls.correlations[calls.depth - 1] = call->correlation;
}

void fake_call_launches(const char *kernel)
{
	if (calls.depth && calls.depth <= 16)
		calls.innermost[calls.depth - 1]->kernel = kernel;
}

uint32_t fake_next_number(void)
{
	return ++numbers;
}

/* ---- streams ---- */

struct fake_stream *fake_stream_new(int device, int flags, int priority)
{
	fake_lock();
	struct fake_stream *stream = new_stream(device, flags, priority);
	stream->number = ++stream_numbers;
	fake_unlock();
	return stream;
}

struct fake_stream *fake_stream_default(int device)
{
	return defaults[device];
}

struct fake_stream *fake_stream_of_thread(int device)
{
	static __thread struct fake_stream *own[FAKE_MOST_DEVICES];
	if (!own[device])
		own[device] = fake_stream_new(device, FAKE_STREAM_BLOCKING, 0);
	return own[device];
}

void fake_stream_free(struct fake_stream *stream)
{
	fake_lock();
	while (stream->hosts)
		fake_host_returned_wait();
	struct fake_stream **at = &fake_streams;
	while (*at && *at != stream)
		at = &(*at)->next;
	if (*at)
		*at = stream->next;
	/* what it still does ends in the default stream's eyes, so that waiting for the device waits for it */
	if (defaults[stream->device]->end_ns < stream->end_ns)
		defaults[stream->device]->end_ns = stream->end_ns;
	fake_unlock();
	free(stream->last);
	free(stream);
}

uint32_t fake_stream_number(const struct fake_stream *stream)
{
	return stream->number;
}

int fake_stream_device(const struct fake_stream *stream)
{
	return stream->device;
}

int fake_stream_priority(const struct fake_stream *stream)
{
	return stream->priority;
}

/* The default stream waits for all blocking ones, and they for it. */
uint64_t fake_ready_ns(const struct fake_stream *stream)
{
	uint64_t ready_ns = stream->end_ns;
	if (stream->flags & FAKE_STREAM_NON_BLOCKING)
		return ready_ns;
	for (const struct fake_stream *other = fake_streams; other; other = other->next)
		if (other->device == stream->device && !(other->flags & FAKE_STREAM_NON_BLOCKING) &&
		    (stream->is_default || other->is_default) && other->end_ns > ready_ns)
			ready_ns = other->end_ns;
	return ready_ns;
}

static uint64_t start_after(uint64_t queued_ns, uint64_t ready_ns)
{
	uint64_t start_ns = queued_ns + LAUNCH_NS;
	return start_ns < ready_ns + GAP_NS ? ready_ns + GAP_NS : start_ns;
}

uint64_t fake_stream_next_ns(struct fake_stream *stream)
{
	fake_lock();
	uint64_t start_ns = start_after(fake_now_ns(), fake_ready_ns(stream));
	fake_unlock();
	return start_ns;
}

static __thread struct {
	uint64_t (*meet)(void *data);
	void *data;
} next;

void fake_next_meets(uint64_t (*meet)(void *data), void *data)
{
	next.meet = meet;
	next.data = data;
}

static uint64_t met_ns(void)
{
	uint64_t (*meet)(void *data) = next.meet;
	if (!meet)
		return 0;
	next.meet = NULL;
	fake_unlock();
	uint64_t ns = meet(next.data);
	fake_lock();
	return ns;
}

/* By device: kernels run one at a time, and when the last ends. */
static struct {
	_Atomic bool is_serial;
	uint64_t end_ns;
} serial[FAKE_MOST_DEVICES];

void fake_device_serialize(int device, bool is_serial)
{
	serial[device].is_serial = is_serial;
}

void fake_serial_wait(int device, uint64_t end_ns)
{
	if (serial[device].is_serial)
		fake_sleep_until(end_ns);
}

void fake_module_tell(int device, const void *image, size_t bytes, uint32_t number,
		      bool is_unloaded)
{
	if (fake_listener.module)
		fake_listener.module(device, image, bytes, number, is_unloaded);
}

uint64_t fake_run_at(struct fake_stream *stream, const struct fake_operation *operation,
		     uint64_t ready_ns, uint32_t graph, uint64_t node)
{
	struct fake_run run = {
	    .operation = operation,
	    .device = stream->device,
	    .stream = stream->number,
	    .correlation = fake_correlation(),
	    .graph = graph,
	    .node = node,
	    .queued_ns = fake_now_ns(),
	};
	run.submitted_ns = run.queued_ns + 500;
	bool is_serial = serial[run.device].is_serial && operation->kind == FAKE_KERNEL;
	if (is_serial && ready_ns < serial[run.device].end_ns)
		ready_ns = serial[run.device].end_ns;
	run.start_ns = start_after(run.queued_ns, ready_ns);
	uint64_t from_ns = met_ns();
	run.end_ns =
	    (run.start_ns < from_ns ? from_ns : run.start_ns) + fake_plan_ns(operation, run.device);
	if (is_serial)
		serial[run.device].end_ns = run.end_ns;
	if (operation->kind == FAKE_HOST)
		fake_host_add(stream, operation, run.start_ns);
	if (operation->kind <= FAKE_SET) {
		fake_table_add(&run);
		if (fake_listener.run)
			fake_listener.run(&run);
	}
	return run.end_ns;
}

static uint64_t run_in_stream(struct fake_stream *stream, const struct fake_operation *operation)
{
	if (stream->capture) {
		uint32_t place =
		    fake_graph_add(stream->capture, operation, stream->last, stream->last_count);
		stream->last = realloc(stream->last, sizeof(*stream->last));
		stream->last[0] = place;
		stream->last_count = 1;
		return 0;
	}
	uint64_t end_ns = fake_run_at(stream, operation, fake_ready_ns(stream), 0, 0);
	stream->end_ns = end_ns;
	return end_ns;
}

/* A copy or set of nothing is no operation. */
static bool is_nothing(const struct fake_operation *operation)
{
	return (operation->kind == FAKE_COPY || operation->kind == FAKE_SET) && !operation->bytes;
}

uint64_t fake_enqueue(struct fake_stream *stream, const struct fake_operation *operation)
{
	if (is_nothing(operation))
		return 0;
	fake_lock();
	uint64_t end_ns = run_in_stream(stream, operation);
	fake_unlock();
	if (operation->kind == FAKE_KERNEL)
		fake_serial_wait(stream->device, end_ns);
	return end_ns;
}

bool fake_stream_is_done(struct fake_stream *stream)
{
	fake_lock();
	bool done = !stream->hosts && fake_ready_ns(stream) <= fake_now_ns();
	fake_unlock();
	return done;
}

void fake_stream_wait(struct fake_stream *stream)
{
	fake_lock();
	while (stream->hosts)
		fake_host_returned_wait();
	uint64_t end_ns = fake_ready_ns(stream);
	fake_unlock();
	uint64_t start_ns = fake_now_ns();
	fake_sleep_until(end_ns);
	if (fake_listener.wait)
		fake_listener.wait(FAKE_WAIT_STREAM, stream->device, stream->number, start_ns,
				   fake_now_ns());
}

void fake_device_wait(int device)
{
	uint64_t end_ns = 0, start_ns = fake_now_ns();
	fake_lock();
	for (struct fake_stream *stream = fake_streams; stream; stream = stream->next) {
		if (stream->device != device)
			continue;
		if (stream->hosts) { /* the list may have changed when one has returned */
			fake_host_returned_wait();
			stream = fake_streams;
		}
		end_ns = stream->end_ns > end_ns ? stream->end_ns : end_ns;
	}
	fake_unlock();
	fake_sleep_until(end_ns);
	if (fake_listener.wait)
		fake_listener.wait(FAKE_WAIT_DEVICE, device, 0, start_ns, fake_now_ns());
}

/* ---- events ---- */

struct fake_event *fake_event_new(void)
{
	return calloc(1, sizeof(struct fake_event));
}

void fake_event_free(struct fake_event *event)
{
	free(event->last);
	free(event);
}

uint32_t *fake_copy_places(const uint32_t *places, uint32_t count)
{
	uint32_t *copy = malloc((count ? count : 1) * sizeof(*copy));
	if (count)
		memcpy(copy, places, count * sizeof(*copy));
	return copy;
}

void fake_event_record(struct fake_event *event, struct fake_stream *stream)
{
	fake_lock();
	free(event->last);
	*event = (struct fake_event){.capture = stream->capture, .capture_id = stream->capture_id};
	if (stream->capture) {
		event->last = fake_copy_places(stream->last, stream->last_count);
		event->last_count = stream->last_count;
	} else {
		uint64_t ready_ns = fake_ready_ns(stream), now_ns = fake_now_ns();
		event->ns = ready_ns > now_ns ? ready_ns : now_ns;
		event->stream = stream->hosts ? stream : NULL;
	}
	fake_unlock();
}

static void join_capture(struct fake_stream *stream, const struct fake_event *event)
{
	stream->capture = event->capture;
	stream->capture_id = event->capture_id;
	stream->last = realloc(stream->last, (stream->last_count + event->last_count + 1) *
						 sizeof(*stream->last));
	for (uint32_t index = 0; index < event->last_count; index++)
		stream->last[stream->last_count++] = event->last[index];
}

void fake_event_precedes(struct fake_event *event, struct fake_stream *stream)
{
	fake_lock();
	if (event->capture)
		join_capture(stream, event);
	else if (!stream->capture && stream->end_ns < event->ns)
		stream->end_ns = event->ns;
	fake_unlock();
}

bool fake_event_is_done(const struct fake_event *event)
{
	fake_lock();
	bool done = event->ns <= fake_now_ns() && !(event->stream && event->stream->hosts);
	fake_unlock();
	return done;
}

void fake_event_wait(const struct fake_event *event)
{
	uint64_t start_ns = fake_now_ns();
	fake_lock();
	while (event->stream && event->stream->hosts)
		fake_host_returned_wait();
	fake_unlock();
	fake_sleep_until(event->ns);
	if (fake_listener.wait)
		fake_listener.wait(FAKE_WAIT_EVENT, 0, 0, start_ns, fake_now_ns());
}

uint64_t fake_event_ns(const struct fake_event *event)
{
	return event->ns;
}
