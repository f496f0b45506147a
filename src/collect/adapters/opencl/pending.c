/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that are not known to have ended, and recording them when they end.
 *
 * A thread keeps its operations in a ring, oldest first, and polls them itself at later API calls:
 * no callback runs on the runtime's threads and no data is passed between threads. An operation
 * whose thread has ended is collected by another thread's API call or at exit. The ring is bounded;
 * operations that do not fit are counted as lost. docs/design/opencl.md has the figures for this
 * decision.
 */
#include "opencl.h"

#include "collect/core/lock.h"
#include "collect/interface/monitor.h"
#include "collect/record/trace.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <string.h>
#include <time.h>

#define RING_FIRST 1024u
#define RING_MOST  65536u
/* Calls between two looks at the ring, and operations taken in one. */
#define LOOK_EVERY 64u
#define TAKE_MOST  128u
/* Operations looked at beyond one that has not ended: another queue's may have. */
#define PROBE_MOST 4u
#define NAME_CACHE 64u

#define EXIT_WAIT_NS  2000000000u
#define EXIT_STILL_NS 100000000u

struct pending {
	_Atomic(cl_event) event; /* NULL: collected */
	uint32_t node;
	uint8_t kind; /* enum sn_cl_kind */
	bool timed;
	uint64_t call; /* number of the call that started it */
	struct sn_cl_queue *queue;
	uint64_t bytes, work_items, work_group;
	uint64_t before_ns, after_ns; /* host times around the call that started it */
	struct sn_cl_device *device;
};

struct ring {
	uint32_t size; /* a power of two */
	struct pending slots[];
};

struct state {
	_Atomic(struct ring *) ring;
	_Atomic uint32_t head, tail; /* positions, growing for ever; tail - head are in the ring */
	uint32_t probe;		     /* the next position to look at beyond the head */
	uint32_t calls;
	uint32_t api_strings[SN_CL_API_COUNT];
	struct {
		const void *name;
		uint32_t string;
	} strings[NAME_CACHE];
	struct sn_thread *thread;
	bool looking; /* a listener that is told of an operation may call us again */
	_Atomic bool ended;
	struct state *next; /* of all states; set before it is published */
};

static _Atomic(struct state *) states;
static _Atomic uint32_t orphaned; /* ended threads with operations left */
static _Atomic bool closed;	  /* the runtime may be gone: it is no longer called */

static const char *const api_names[] = {
#define SN_CL_ENQUEUE(name) #name,
#define SN_CL_QUEUE(name)   #name,
#define SN_CL_CALL(name)    #name,
#include "apis.def"
};

/* ---- metrics ---- */

enum metric {
	API_TIME,
	QUEUE_DELAY,
	SUBMIT_DELAY,
	WORK_ITEMS,
	WORK_GROUP,
	OPERATION_TIME, /* one for each enum sn_cl_kind */
	OPERATION_BYTES = OPERATION_TIME + SN_CL_KIND_COUNT,
	METRIC_COUNT = OPERATION_BYTES + SN_CL_KIND_COUNT
};

static const struct {
	const char *name, *unit;
	enum sn_metric_kind kind;
} metrics[METRIC_COUNT] = {
    [API_TIME] = {"gpu-api-time", "ns", SN_METRIC_TIME},
    [QUEUE_DELAY] = {"queue-delay", "ns", SN_METRIC_TIME},
    [SUBMIT_DELAY] = {"submit-delay", "ns", SN_METRIC_TIME},
    [WORK_ITEMS] = {"work-items", "items", SN_METRIC_COUNT},
    [WORK_GROUP] = {"work-group-size", "items", SN_METRIC_COUNT},
    [OPERATION_TIME + SN_CL_KERNEL] = {"kernel-time", "ns", SN_METRIC_TIME},
    [OPERATION_TIME + SN_CL_COPY] = {"copy-time", "ns", SN_METRIC_TIME},
    [OPERATION_TIME + SN_CL_FILL] = {"fill-time", "ns", SN_METRIC_TIME},
    [OPERATION_TIME + SN_CL_MAP] = {"map-time", "ns", SN_METRIC_TIME},
    [OPERATION_BYTES + SN_CL_COPY] = {"copy-bytes", "bytes", SN_METRIC_BYTES},
    [OPERATION_BYTES + SN_CL_FILL] = {"fill-bytes", "bytes", SN_METRIC_BYTES},
    [OPERATION_BYTES + SN_CL_MAP] = {"map-bytes", "bytes", SN_METRIC_BYTES},
};

static void add(struct sn_thread *thread, uint32_t node, unsigned metric, uint64_t value)
{
	static _Atomic uint32_t numbers[METRIC_COUNT] = {[0 ... METRIC_COUNT - 1] = SN_ID_NONE};
	uint32_t number = sn_metric_once(&numbers[metric], metrics[metric].name,
					 metrics[metric].unit, "opencl", metrics[metric].kind);
	if (number != SN_ID_NONE)
		sn_cct_add(&thread->cct, node, number, value);
}

/* ---- a thread's state ---- */

static struct state *state_of(struct sn_thread *thread)
{
	struct state *state = thread->adapters[SN_ADAPTER_SLOT_opencl];
	if (state)
		return state;
	state = sn_pages_map(sizeof(*state));
	struct ring *ring =
	    state ? sn_pages_map(sizeof(*ring) + RING_FIRST * sizeof(struct pending)) : NULL;
	if (!ring) {
		sn_pages_unmap(state, sizeof(*state));
		return NULL;
	}
	ring->size = RING_FIRST;
	atomic_store_explicit(&state->ring, ring, memory_order_relaxed);
	memset(state->api_strings, 0xff, sizeof(state->api_strings));
	state->thread = thread;
	state->next = atomic_load_explicit(&states, memory_order_relaxed);
	/* release: complete before other threads find it in the list */
	while (!atomic_compare_exchange_weak_explicit(&states, &state->next, state,
						      memory_order_release, memory_order_relaxed))
		continue;
	thread->adapters[SN_ADAPTER_SLOT_opencl] = state;
	return state;
}

static struct pending *pending_at(struct state *state, uint32_t position)
{
	struct ring *ring = atomic_load_explicit(&state->ring, memory_order_relaxed);
	return &ring->slots[position & (ring->size - 1)];
}

static uint32_t head_of(struct state *state)
{
	return atomic_load_explicit(&state->head, memory_order_relaxed);
}

static uint32_t tail_of(struct state *state)
{
	return atomic_load_explicit(&state->tail, memory_order_relaxed);
}

/* Twice the room. The old ring stays mapped: sn_cl_references may be reading it. */
static bool ring_grow(struct state *state)
{
	struct ring *old = atomic_load_explicit(&state->ring, memory_order_relaxed);
	uint32_t size = old->size * 2;
	struct ring *ring =
	    size <= RING_MOST ? sn_pages_map(sizeof(*ring) + size * sizeof(struct pending)) : NULL;
	if (!ring)
		return false;
	ring->size = size;
	for (uint32_t at = head_of(state); at != tail_of(state); at++)
		ring->slots[at & (size - 1)] = old->slots[at & (old->size - 1)];
	/* release: its slots before it */
	atomic_store_explicit(&state->ring, ring, memory_order_release);
	return true;
}

static uint32_t string_of(struct state *state, const char *text)
{
	uint32_t slot = (uint32_t)((uintptr_t)text >> 4 ^ (uintptr_t)text >> 12) % NAME_CACHE;
	if (state->strings[slot].name != text) {
		state->strings[slot].string =
		    sn_cct_string(&state->thread->cct, text, strlen(text));
		state->strings[slot].name = text;
	}
	return state->strings[slot].string;
}

/* ---- collecting ---- */

struct times {
	cl_ulong queued, submitted, started, ended;
};

static bool read_times(cl_event event, struct times *times)
{
	const struct {
		cl_profiling_info name;
		cl_ulong *time;
	} asked[] = {{CL_PROFILING_COMMAND_END, &times->ended},
		     {CL_PROFILING_COMMAND_START, &times->started},
		     {CL_PROFILING_COMMAND_SUBMIT, &times->submitted},
		     {CL_PROFILING_COMMAND_QUEUED, &times->queued}};
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
		if (sn_cl_real.clGetEventProfilingInfo(event, asked[i].name, sizeof(cl_ulong),
						       asked[i].time, NULL))
			return false;
	return times->ended >= times->started;
}

static void report_ended(struct sn_thread *thread, const struct pending *pending,
			 const struct times *times)
{
	struct sonde_event event = {.domain = SONDE_GPU,
				    .kind = SONDE_GPU_OPERATION_ENDED,
				    .id = pending->call,
				    .bytes = pending->bytes};
	const struct sn_cct_node *node = sn_array_at(&thread->cct.nodes, pending->node);
	const struct sn_cct_string *name = sn_array_at(&thread->cct.strings, node->record.frame.id);
	event.name = name->text;
	event.name_length = name->length;
	if (times && pending->device) {
		event.start_ns = sn_cl_clock_host_ns(&pending->device->clock, times->started);
		event.end_ns = sn_cl_clock_host_ns(&pending->device->clock, times->ended);
	}
	sn_monitor_emit_inside(sn_thread_self(), event);
}

/* The stream of the trace file for a queue; SN_ID_NONE where it has none. Threads that race each
 * define one: harmless. */
static uint32_t stream_of(struct sn_cl_queue *queue)
{
	static _Atomic uint32_t next_queue;
	uint64_t known = queue ? atomic_load_explicit(&queue->stream, memory_order_relaxed) : 0;
	uint32_t generation = sn_trace_generation();
	if (!queue || !queue->device)
		return SN_ID_NONE;
	if (known >> 32 == generation)
		return (uint32_t)known;
	uint32_t number = atomic_fetch_add_explicit(&next_queue, 1, memory_order_relaxed);
	uint32_t stream =
	    sn_trace_queue(sn_cl_device_number(queue->device), number, queue->device->name);
	atomic_store_explicit(&queue->stream, (uint64_t)generation << 32 | stream,
			      memory_order_relaxed);
	return stream;
}

static uint32_t attribute(struct sn_trace_attribute *attributes, uint32_t count,
			  enum sn_trace_key key, uint64_t value)
{
	attributes[count] = (struct sn_trace_attribute){.key = key, .value = value};
	return count + (value != 0);
}

/* An operation at its own time, on the host's clock, in its queue's stream. */
static void trace_ended(struct sn_thread *owner, const struct pending *pending,
			const struct times *times)
{
	struct sn_thread *self = sn_thread_self();
	uint32_t stream = stream_of(pending->queue), count = 0;
	struct sn_trace_attribute attributes[5];
	if (!self || stream == SN_ID_NONE)
		return;
	uint64_t start_ns = sn_cl_clock_host_ns(&pending->device->clock, times->started);
	uint64_t end_ns = sn_cl_clock_host_ns(&pending->device->clock, times->ended);
	count = attribute(attributes, count, SN_TRACE_KEY_BYTES, pending->bytes);
	if (times->queued <= times->submitted && times->submitted <= times->started) {
		count = attribute(attributes, count, SN_TRACE_KEY_QUEUED,
				  times->started - times->queued);
		count = attribute(attributes, count, SN_TRACE_KEY_SUBMITTED,
				  times->started - times->submitted);
	}
	count = attribute(attributes, count, SN_TRACE_KEY_WORK_ITEMS,
			  pending->kind == SN_CL_KERNEL ? pending->work_items : 0);
	count = attribute(attributes, count, SN_TRACE_KEY_WORK_GROUP, pending->work_group);
	SN_TRACE_ADD(self, .kind = SN_TRACE_INTERVAL, .has_stream = true, .stream = stream,
		     .has_owner = owner != self, .owner = owner->index, .context = pending->node,
		     .start_ns = start_ns, .end_ns = end_ns > start_ns ? end_ns : start_ns,
		     .link = pending->call ? SN_TRACE_LINK_CALL + pending->call : 0,
		     .attributes = attributes, .attribute_count = count);
}

static void record(struct sn_thread *thread, const struct pending *pending, cl_event event)
{
	struct times times;
	if (pending->kind != SN_CL_KERNEL)
		add(thread, pending->node, OPERATION_BYTES + pending->kind, pending->bytes);
	else
		add(thread, pending->node, WORK_ITEMS, pending->work_items);
	if (pending->work_group)
		add(thread, pending->node, WORK_GROUP, pending->work_group);
	if (!pending->timed || !read_times(event, &times)) {
		sn_drop(thread, SN_DROP_GPU_UNTIMED, 1);
		if (sn_monitor_wants(SONDE_GPU))
			report_ended(thread, pending, NULL);
		return;
	}
	add(thread, pending->node, OPERATION_TIME + pending->kind, times.ended - times.started);
	if (times.submitted >= times.queued)
		add(thread, pending->node, QUEUE_DELAY, times.submitted - times.queued);
	if (times.started >= times.submitted)
		add(thread, pending->node, SUBMIT_DELAY, times.started - times.submitted);
	if (pending->device)
		sn_cl_clock_bound(&pending->device->clock, times.queued, pending->before_ns,
				  pending->after_ns);
	if (sn_trace_wants(SN_TRACE_SOURCE_GPU))
		trace_ended(thread, pending, &times);
	if (sn_monitor_wants(SONDE_GPU))
		report_ended(thread, pending, &times);
}

enum progress { STILL_WAITING, STILL_RUNNING, COLLECTED };

static enum progress collect_one(struct state *state, struct pending *pending)
{
	cl_event event = atomic_load_explicit(&pending->event, memory_order_relaxed);
	cl_int status = CL_COMPLETE;
	if (!event)
		return COLLECTED;
	if (sn_cl_real.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
				      &status, NULL))
		status = -1;
	if (status > CL_COMPLETE)
		return status == CL_RUNNING ? STILL_RUNNING : STILL_WAITING;
	/* first, so that a listener's own calls do not collect it once more */
	atomic_store_explicit(&pending->event, NULL, memory_order_relaxed);
	if (status == CL_COMPLETE)
		record(state->thread, pending, event);
	else
		sn_drop(state->thread, SN_DROP_GPU_LOST, 1); /* it failed */
	sn_cl_real.clReleaseEvent(event);
	return COLLECTED;
}

static void pass_collected(struct state *state)
{
	uint32_t head = head_of(state), tail = tail_of(state);
	while (head != tail &&
	       !atomic_load_explicit(&pending_at(state, head)->event, memory_order_relaxed))
		head++;
	atomic_store_explicit(&state->head, head, memory_order_relaxed);
}

/* From the oldest on while they have ended, then a few beyond the first that has not. */
static void look(struct state *state, uint32_t most)
{
	uint32_t tail = tail_of(state), head = head_of(state);
	if (state->looking)
		return;
	state->looking = true;
	for (; head != tail && most--; head++)
		if (collect_one(state, pending_at(state, head)) != COLLECTED)
			break;
	atomic_store_explicit(&state->head, head, memory_order_relaxed);
	for (uint32_t probes = 0; head != tail && probes < PROBE_MOST; probes++, state->probe++) {
		if (state->probe - head >= tail - head)
			state->probe = head;
		collect_one(state, pending_at(state, state->probe));
	}
	pass_collected(state);
	state->looking = false;
}

/* Every operation once; the most advanced of those that are left. */
static enum progress look_at_all(struct state *state)
{
	enum progress left = COLLECTED;
	if (state->looking)
		return STILL_WAITING;
	state->looking = true;
	for (uint32_t at = head_of(state); at != tail_of(state); at++) {
		enum progress progress = collect_one(state, pending_at(state, at));
		if (progress == STILL_RUNNING || (progress == STILL_WAITING && left == COLLECTED))
			left = progress;
	}
	pass_collected(state);
	state->looking = false;
	return left;
}

/* ---- operations of threads that have ended ---- */

static void pause_ns(long nanoseconds)
{
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &(struct timespec){0, nanoseconds}, NULL);
}

static void collect_orphans(void)
{
	/* relaxed: only a hint; `ended` is read under the lock */
	if (!atomic_load_explicit(&orphaned, memory_order_relaxed) ||
	    !sn_lock_try(SN_LOCK_OPENCL_ORPHANS))
		return;
	struct state *state = atomic_load_explicit(&states, memory_order_acquire);
	for (; state; state = state->next) {
		if (!atomic_load_explicit(&state->ended, memory_order_acquire) ||
		    head_of(state) == tail_of(state))
			continue;
		if (look_at_all(state) == COLLECTED)
			atomic_fetch_sub_explicit(&orphaned, 1, memory_order_relaxed);
	}
	sn_lock_release(SN_LOCK_OPENCL_ORPHANS);
}

void sn_cl_thread_end(struct sn_thread *thread)
{
	struct state *state = thread->adapters[SN_ADAPTER_SLOT_opencl];
	if (!state)
		return;
	if (!atomic_load_explicit(&closed, memory_order_relaxed))
		look_at_all(state);
	if (head_of(state) != tail_of(state))
		atomic_fetch_add_explicit(&orphaned, 1, memory_order_relaxed);
	/* release: the ring as this thread left it */
	atomic_store_explicit(&state->ended, true, memory_order_release);
}

/* A record whose thread had ended may be continued by a new thread, which takes its ring over. */
void sn_cl_thread_begin(struct sn_thread *thread)
{
	struct state *state = thread->adapters[SN_ADAPTER_SLOT_opencl];
	if (!state)
		return;
	sn_lock_acquire(SN_LOCK_OPENCL_ORPHANS);
	atomic_store_explicit(&state->ended, false, memory_order_relaxed);
	if (head_of(state) != tail_of(state))
		atomic_fetch_sub_explicit(&orphaned, 1, memory_order_relaxed);
	sn_lock_release(SN_LOCK_OPENCL_ORPHANS);
}

/* ---- calls ---- */

static _Atomic uint64_t next_call = 1;

static void report_call_with(const struct sn_cl_call *call, enum sonde_event_kind kind,
			     const struct sonde_value *values, uint32_t count)
{
	const char *name = api_names[call->api];
	SN_MONITOR_EMIT(.domain = SONDE_GPU, .kind = kind, .id = call->number, .name = name,
			.name_length = (uint32_t)strlen(name), .values = values,
			.value_count = count);
}

static void report_call(const struct sn_cl_call *call, enum sonde_event_kind kind)
{
	report_call_with(call, kind, NULL, 0);
}

static uint32_t add_value(struct sonde_value *values, uint32_t count, const char *name,
			  uint64_t value)
{
	values[count] = (struct sonde_value){
	    .name = name, .name_length = (uint32_t)strlen(name), .index = count, .value = value};
	return count + 1;
}

/* The end of a call that started an operation, for who wants to know its arguments. */
static void __attribute__((noinline))
report_arguments(const struct sn_cl_call *call, cl_command_queue queue,
		 const struct sn_cl_operation *operation)
{
	struct sonde_value values[4];
	uint32_t count = add_value(values, 0, "queue", (uintptr_t)queue);
	if (operation->kind != SN_CL_KERNEL)
		count = add_value(values, count, "bytes", operation->bytes);
	if (operation->work_items)
		count = add_value(values, count, "work-items", operation->work_items);
	if (operation->work_group)
		count = add_value(values, count, "work-group", operation->work_group);
	report_call_with(call, SONDE_GPU_CALL_EXIT, values, count);
}

/* Below it go the samples that fall into the call, as does what the device did. */
static uint32_t push_call(struct sn_thread *thread, const struct sn_frame *frame, uint32_t node,
			  uintptr_t stack)
{
	struct sn_shadow *shadow = sn_shadow_push(thread, frame, stack);
	if (shadow)
		shadow->node = node;
	return thread->shadow_depth;
}

void sn_cl_call_enter(struct sn_cl_call *call, enum sn_cl_api api, uintptr_t stack)
{
	call->own = NULL;
	call->number = 0;
	/* relaxed: a call that races with the end is measured or not, either is right */
	call->thread = atomic_load_explicit(&closed, memory_order_relaxed) ? NULL : sn_enter();
	if (!call->thread)
		return;
	struct sn_thread *thread = call->thread;
	struct state *state = state_of(thread);
	uint32_t path = state ? sn_callpath(thread, NULL, 0) : SN_NODE_NONE;
	if (path != SN_NODE_NONE) {
		uint32_t *string = &state->api_strings[api];
		if (*string == SN_ID_NONE)
			*string =
			    sn_cct_string(&thread->cct, api_names[api], strlen(api_names[api]));
		struct sn_frame frame = {.kind = SN_FRAME_GPU_API, .id = *string};
		call->node = sn_cct_child(&thread->cct, path, &frame);
		if (call->node != SN_NODE_NONE)
			call->depth = push_call(thread, &frame, call->node, stack);
	}
	sn_leave(thread);
	if (path == SN_NODE_NONE || call->node == SN_NODE_NONE) {
		call->thread = NULL;
		return;
	}
	call->api = api;
	bool has_listener = sn_monitor_wants(SONDE_GPU);
	if (has_listener || sn_trace_wants(SN_TRACE_SOURCE_GPU))
		call->number = atomic_fetch_add_explicit(&next_call, 1, memory_order_relaxed);
	if (has_listener)
		report_call(call, SONDE_GPU_CALL_ENTER);
	call->start_ns = sn_now_ns();
	if (sn_trace_wants(SN_TRACE_SOURCE_API) && sn_enter()) {
		sn_trace_enters(thread, SN_TRACE_SOURCE_API, call->start_ns);
		sn_leave(thread);
	}
}

static bool is_reported(const struct sn_cl_call *call)
{
	return call->thread && call->number && sn_monitor_wants(SONDE_GPU);
}

/* True between a call's beginning and end: the thread is the same, so is its state. */
static struct state *enter_again(struct sn_cl_call *call, uint64_t end_ns)
{
	if (!call->thread || !sn_enter())
		return NULL;
	/* with whatever the program's own callbacks left open in between */
	if (call->thread->shadow_depth >= call->depth)
		call->thread->shadow_depth = call->depth - 1;
	add(call->thread, call->node, API_TIME, end_ns - call->start_ns);
	if (sn_trace_wants(SN_TRACE_SOURCE_API))
		SN_TRACE_ADD(call->thread, .kind = SN_TRACE_INTERVAL, .context = call->node,
			     .start_ns = call->start_ns, .end_ns = end_ns,
			     .link = call->number ? SN_TRACE_LINK_CALL + call->number : 0);
	return state_of(call->thread);
}

void sn_cl_call_end(struct sn_cl_call *call, bool waits)
{
	uint64_t end_ns = call->thread ? sn_now_ns() : 0;
	if (is_reported(call))
		report_call(call, SONDE_GPU_CALL_EXIT);
	struct state *state = enter_again(call, end_ns);
	if (!state)
		return;
	if (!atomic_load_explicit(&closed, memory_order_relaxed)) {
		if (waits) {
			look_at_all(state);
			collect_orphans();
		} else if (!(++state->calls % LOOK_EVERY)) {
			look(state, TAKE_MOST);
		}
	}
	sn_leave(call->thread);
}

static uint32_t operation_node(struct state *state, const struct sn_cl_call *call,
			       const struct sn_cl_operation *operation)
{
	struct sn_frame frame = {
	    .kind = operation->kind == SN_CL_KERNEL ? SN_FRAME_KERNEL : SN_FRAME_GPU_OP,
	    .id = string_of(state, operation->kernel ? operation->kernel : operation->name)};
	return sn_cct_child(&state->thread->cct, call->node, &frame);
}

/* False where there is no room; then nothing was kept. */
static bool keep_pending(struct state *state, const struct sn_cl_call *call, uint64_t end_ns,
			 cl_command_queue handle, cl_event event,
			 const struct sn_cl_operation *operation)
{
	uint32_t tail = tail_of(state);
	struct ring *ring = atomic_load_explicit(&state->ring, memory_order_relaxed);
	if (tail - head_of(state) >= ring->size && !ring_grow(state))
		return false;
	uint32_t node = operation_node(state, call, operation);
	if (node == SN_NODE_NONE)
		return false;
	struct sn_cl_queue *queue = sn_cl_queue_find(handle);
	struct pending *pending = pending_at(state, tail);
	pending->node = node;
	pending->call = call->number;
	pending->kind = (uint8_t)operation->kind;
	pending->timed = queue && queue->timed;
	pending->bytes = operation->bytes;
	pending->work_items = operation->work_items;
	pending->work_group = operation->work_group;
	pending->before_ns = call->start_ns;
	pending->after_ns = end_ns;
	pending->device = queue ? queue->device : NULL;
	pending->queue = queue;
	atomic_store_explicit(&pending->event, event, memory_order_relaxed);
	/* release: sn_cl_references of another thread sees the event */
	atomic_store_explicit(&state->tail, tail + 1, memory_order_release);
	return true;
}

void sn_cl_call_end_operation(struct sn_cl_call *call, cl_command_queue queue, cl_event event,
			      const struct sn_cl_operation *operation)
{
	uint64_t end_ns = call->thread ? sn_now_ns() : 0;
	if (is_reported(call) && sn_monitor_wants_values(SONDE_GPU))
		report_arguments(call, queue, operation);
	else if (is_reported(call))
		report_call(call, SONDE_GPU_CALL_EXIT);
	struct state *state = enter_again(call, end_ns);
	bool open = !atomic_load_explicit(&closed, memory_order_relaxed);
	if (!state) {
		if (call->thread)
			sn_drop(call->thread, SN_DROP_GPU_LOST, 1);
		if (event && open)
			sn_cl_real.clReleaseEvent(event);
		return;
	}
	if (!event || !open || !keep_pending(state, call, end_ns, queue, event, operation)) {
		sn_drop(call->thread, SN_DROP_GPU_LOST, 1);
		if (event && open)
			sn_cl_real.clReleaseEvent(event);
	}
	if (open && !(++state->calls % LOOK_EVERY))
		look(state, TAKE_MOST);
	sn_leave(call->thread);
}

void sn_cl_collect(void)
{
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return;
	struct state *state = thread->adapters[SN_ADAPTER_SLOT_opencl];
	if (state && !atomic_load_explicit(&closed, memory_order_relaxed)) {
		look_at_all(state);
		collect_orphans();
	}
	sn_leave(thread);
}

cl_uint sn_cl_references(cl_event event)
{
	cl_uint references = 0;
	struct state *state = atomic_load_explicit(&states, memory_order_acquire);
	for (; state; state = state->next) {
		/* acquire: the slots of the ring, the event of the newest position */
		struct ring *ring = atomic_load_explicit(&state->ring, memory_order_acquire);
		uint32_t tail = atomic_load_explicit(&state->tail, memory_order_acquire);
		for (uint32_t at = head_of(state); at != tail && tail - at <= ring->size; at++)
			references +=
			    atomic_load_explicit(&ring->slots[at & (ring->size - 1)].event,
						 memory_order_relaxed) == event;
	}
	return references;
}

/* ---- the end ---- */

static enum progress collect_for(struct sn_thread *self, struct state *state)
{
	bool ended = atomic_load_explicit(&state->ended, memory_order_acquire);
	if (head_of(state) == tail_of(state))
		return COLLECTED;
	if (state->thread == self || ended)
		return look_at_all(state);
	if (!sn_thread_borrow(state->thread))
		return STILL_WAITING;
	enum progress progress = look_at_all(state);
	sn_thread_return(state->thread);
	return progress;
}

/* The most advanced of what is left, and its number. */
static enum progress collect_at_exit(struct sn_thread *self, uint32_t *left)
{
	enum progress most = COLLECTED;
	struct state *state = atomic_load_explicit(&states, memory_order_acquire);
	*left = 0;
	for (; state; state = state->next) {
		enum progress progress = collect_for(self, state);
		if (progress == STILL_RUNNING || most == COLLECTED)
			most = progress;
		*left += tail_of(state) - head_of(state);
	}
	return most;
}

void sn_cl_finish(struct sn_thread *thread)
{
	uint64_t start_ns = sn_now_ns(), moved_ns = start_ns;
	uint32_t left = 0, left_before = UINT32_MAX;
	while (!atomic_load_explicit(&closed, memory_order_relaxed)) {
		enum progress progress = collect_at_exit(thread, &left);
		uint64_t now_ns = sn_now_ns();
		if (left != left_before || progress == STILL_RUNNING)
			moved_ns = now_ns;
		left_before = left;
		/* an operation behind a user event that will not be set is not waited for */
		if (progress == COLLECTED || now_ns - start_ns > EXIT_WAIT_NS ||
		    now_ns - moved_ns > EXIT_STILL_NS)
			break;
		pause_ns(1000000);
	}
	if (!atomic_exchange_explicit(&closed, true, memory_order_relaxed) && left)
		sn_drop(NULL, SN_DROP_GPU_LOST, left);
}

void sn_cl_open(void)
{
	atomic_store_explicit(&closed, false, memory_order_relaxed);
}

void sn_cl_pending_after_fork(void)
{
	/* the runtime's threads are not in the child: its events will never end */
	struct state *state = atomic_load_explicit(&states, memory_order_relaxed);
	for (; state; state = state->next) {
		atomic_store_explicit(&state->head, tail_of(state), memory_order_relaxed);
		state->probe = 0;
	}
	atomic_store_explicit(&orphaned, 0, memory_order_relaxed);
}
