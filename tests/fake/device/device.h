/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that are not there: streams, events, graphs and memory with planned durations. What an
 * operation takes is known when it is enqueued, and so are its start and end; a host that waits for
 * it sleeps until then. So counts, durations and order are exact, and the host's cost is real.
 *
 * The vendors' interfaces (cuda/, cupti/) stand on this. One lock guards everything; functions take
 * it themselves. Times are CLOCK_MONOTONIC, in nanoseconds.
 */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_LOCAL __attribute__((visibility("hidden")))

struct fake_stream;
struct fake_event;
struct fake_graph;
struct fake_executable;

uint64_t fake_now_ns(void);
#define FAKE_MOST_DEVICES 24
/* FAKE_DEVICES, 1 by default. */
int fake_device_count(void);
/* FAKE_MEMORY_MIB of each device. */
size_t fake_device_memory(void);
size_t fake_device_memory_used(int device);
/* The driver is initialised. */
void fake_device_begin(void);
bool fake_device_has_begun(void);
/* In the child of a process whose driver was initialised: CUDA can not be used there. */
bool fake_device_is_forked(void);
/* The device that the calling thread has chosen. */
int fake_current_device(void);
void fake_set_current_device(int device);

/* ---- planned failures: fail.c ---- */

/* FAKE_FAIL names some. Each launch asks a dozen times: without any that is a load each. */
extern bool fake_fails_at_all;
bool fake_is_planned(const char *scenario);
bool fake_is_planned_now(const char *scenario, unsigned nth);
/* Whether this is one of those that FAKE_FAIL names. */
static inline bool fake_fails(const char *scenario)
{
	return fake_fails_at_all && fake_is_planned(scenario);
}
/* Counts, of the events that a failure comes to, each `nth`. MT: yes. */
static inline bool fake_fails_now(const char *scenario, unsigned nth)
{
	return fake_fails_at_all && fake_is_planned_now(scenario, nth);
}
/* Whether a device is lost: from a given number of operations on. */
bool fake_device_is_lost(void);

/* ---- operations ---- */

enum fake_kind { FAKE_KERNEL, FAKE_COPY, FAKE_SET, FAKE_HOST, FAKE_EMPTY };

enum fake_place { FAKE_PAGEABLE, FAKE_PINNED, FAKE_DEVICE, FAKE_MANAGED, FAKE_ARRAY };

struct fake_operation {
	enum fake_kind kind;
	const char *name; /* of a kernel, mangled; lives as long as the process */
	const void *kernel;
	uint32_t module; /* that has its code; 0: none is known */
	uint32_t grid[3], block[3];
	uint32_t dynamic_shared;
	uint64_t bytes;
	uint64_t least_ns;	  /* of a kernel: what it takes, whatever is planned */
	enum fake_place from, to; /* of a copy; `to` of a set */
	uint32_t value;		  /* of a set */
	int peer;		  /* of a copy between devices: to which, else -1 */
	int from_peer;		  /* from which */
	void (*host)(void *);
	void *data;
};

/* An operation that was run, or will have been. */
struct fake_run {
	const struct fake_operation *operation;
	int device;
	uint32_t stream;      /* its number; 7 is the default stream's */
	uint32_t correlation; /* of the call that launched it */
	uint32_t graph;	      /* of the executable graph, 0 for none */
	uint64_t node;	      /* in it */
	uint64_t queued_ns, submitted_ns, start_ns, end_ns;
};

/* Runs it after all that is in the stream; in a stream that is captured, adds a node. Returns its end, 0 if captured. */
uint64_t fake_enqueue(struct fake_stream *stream, const struct fake_operation *operation);

/* ---- streams and events ---- */

enum { FAKE_STREAM_BLOCKING = 0, FAKE_STREAM_NON_BLOCKING = 1 };

struct fake_stream *fake_stream_new(int device, int flags, int priority);
/* That of a device which all programs have. */
struct fake_stream *fake_stream_default(int device);
/* That which each thread has. */
struct fake_stream *fake_stream_of_thread(int device);
void fake_stream_free(struct fake_stream *stream);
uint32_t fake_stream_number(const struct fake_stream *stream);
int fake_stream_device(const struct fake_stream *stream);
int fake_stream_priority(const struct fake_stream *stream);
bool fake_stream_is_done(struct fake_stream *stream);
/* When what is enqueued now would begin. */
uint64_t fake_stream_next_ns(struct fake_stream *stream);
/* What this thread enqueues next begins in its turn, but waits for others until `meet` tells, which is called without the lock:
 * its duration counts from there. */
void fake_next_meets(uint64_t (*meet)(void *data), void *data);
void fake_stream_wait(struct fake_stream *stream);
void fake_device_wait(int device);

struct fake_event *fake_event_new(void);
void fake_event_free(struct fake_event *event);
void fake_event_record(struct fake_event *event, struct fake_stream *stream);
void fake_event_precedes(struct fake_event *event, struct fake_stream *stream);
bool fake_event_is_done(const struct fake_event *event);
void fake_event_wait(const struct fake_event *event);
/* When it came, 0 if it was never recorded. */
uint64_t fake_event_ns(const struct fake_event *event);

/* ---- graphs ---- */

/* What decides which bodies of a node run. Kernels, which would set it, compute nothing: a loop counts it down, and nothing else changes it. */
struct fake_condition {
	uint32_t value, initial;
	bool is_reset; /* to its initial value, whenever its graph is run */
};
enum fake_choice { FAKE_IF, FAKE_WHILE, FAKE_SWITCH };

struct fake_node {
	struct fake_operation operation;
	uint64_t id;
	uint32_t *after; /* places in the graph */
	uint32_t after_count;
	struct fake_graph *child;	  /* that it stands for; or NULL */
	const struct fake_node *original; /* of which it is a copy; or NULL */
	bool is_disabled;		  /* what it does is left out */
	/* of a node that runs its bodies as a condition says; else NULL */
	struct fake_condition *condition;
	enum fake_choice choice;
	struct fake_graph **bodies;
	uint32_t body_count;
};

/* False where the stream is captured already. */
bool fake_capture_begin(struct fake_stream *stream, struct fake_graph *graph);
/* NULL where it is not captured, or the capture was spoiled (`is_spoiled`). */
struct fake_graph *fake_capture_end(struct fake_stream *stream, bool *is_spoiled);
/* Somebody waits for the device: what its streams capture is spoiled. */
void fake_captures_spoil(int device);
struct fake_graph *fake_capture_of(const struct fake_stream *stream, uint64_t *id, uint32_t *last);
struct fake_graph *fake_graph_new(void);
void fake_graph_free(struct fake_graph *graph);
uint32_t fake_graph_number(const struct fake_graph *graph);
uint32_t fake_graph_count(const struct fake_graph *graph);
const struct fake_node *fake_graph_node(const struct fake_graph *graph, uint32_t index);
uint32_t fake_graph_add(struct fake_graph *graph, const struct fake_operation *operation,
			const uint32_t *after, uint32_t after_count);
/* The graph's own copy of the other one, as one node. */
uint32_t fake_graph_add_child(struct fake_graph *graph, const struct fake_graph *child,
			      const uint32_t *after, uint32_t after_count);
/* Lives as long as the process. */
struct fake_condition *fake_condition_new(uint32_t initial, bool is_reset);
/* With empty bodies, which the program fills. */
uint32_t fake_graph_add_conditional(struct fake_graph *graph, struct fake_condition *condition,
				    enum fake_choice choice, uint32_t bodies, const uint32_t *after,
				    uint32_t after_count);
/* From one place to another, in any order of their creation. */
void fake_graph_connect(struct fake_graph *graph, uint32_t from, uint32_t to);
/* The place in its graph. */
uint32_t fake_node_place(const struct fake_node *node);
void fake_node_set(const struct fake_node *node, const struct fake_operation *operation);
struct fake_graph *fake_graph_copy(const struct fake_graph *graph);
/* A copy with numbers of its own, which can be run. Children's nodes stand in it for them. */
struct fake_executable *fake_executable_new(const struct fake_graph *graph);
/* It does what the other graph does, if that has the same nodes and edges: else false. */
bool fake_executable_update(struct fake_executable *executable, const struct fake_graph *graph);
/* Its node that is a copy of that; NULL: none. */
struct fake_node *fake_executable_node(struct fake_executable *executable,
				       const struct fake_node *original);
void fake_executable_free(struct fake_executable *executable);
void fake_executable_run(struct fake_executable *executable, struct fake_stream *stream);

/* ---- memory ---- */

/* NULL where the device has no more. Its bytes are zero. */
void *fake_memory_new(size_t bytes, enum fake_place place, int device);
bool fake_memory_free(void *address);
/* All of a device's managed memory. */
void fake_memory_end_managed(int device);
/* What lies at the address: its first byte, size and device; FAKE_PAGEABLE for what is not ours. */
enum fake_place fake_memory_place(const void *address, void **start, size_t *bytes, int *device);
/* All of the managed memory that the address is of goes to a device, or to the host (-1), unless it is there: in pieces, from `start_ns` on; each
 * after a fault where it was not asked for. Waits until it is there. `pc`: the host's instruction that faults, or 0. */
void fake_memory_move(const void *address, int device, bool faults, uintptr_t pc,
		      uint64_t start_ns);
/* The same, for a program that knows where it is: its next instruction touches it. */
void fake_host_touches(const void *address);
/* A kernel of this name touches the managed memory that its first argument points to (FAKE_TOUCH, a pattern). */
bool fake_kernel_touches(const char *name);
void fake_memory_pin(void *address, size_t bytes);
/* A variable that each device has, by the address by which the host knows it: device -1. Unpinning takes it out. */
void fake_memory_declare(void *address, size_t bytes);
void fake_memory_unpin(void *address);

/* ---- modules ---- */

/* A device gets code, or loses it: who listens is told. No image: a device gets its context, or loses it. Without the lock. */
void fake_module_tell(int device, const void *image, size_t bytes, uint32_t number,
		      bool is_unloaded);
/* From now on kernels of the device run one at a time, and who launches one waits for it. */
void fake_device_serialize(int device, bool is_serial);

/* ---- calls ---- */

enum fake_domain { FAKE_DRIVER = 1, FAKE_RUNTIME = 2 };

struct fake_call {
	enum fake_domain domain;
	uint32_t cbid;
	const char *name;
	const void *parameters;
	void *result;
	uint32_t correlation;
	uint64_t start_ns, end_ns;
	const void *kernel; /* what is launched, for who is told of launches */
	uint64_t listener;  /* a word that the listener keeps from start to end */
};

/* Every function that a program calls begins and ends so. Calls in calls are told too. */
void fake_call_begin(struct fake_call *call);
void fake_call_end(struct fake_call *call);
/* Of the innermost call of this thread. */
uint32_t fake_correlation(void);
/* Gives that call, which is this one, a new number: what it does from now on has it. */
void fake_call_renumber(struct fake_call *call);
/* That call launches this kernel, of which it is told when it ends. */
void fake_call_launches(const char *kernel);

enum fake_wait { FAKE_WAIT_EVENT = 1, FAKE_WAIT_STREAM_EVENT, FAKE_WAIT_STREAM, FAKE_WAIT_DEVICE };

enum fake_managed_kind { FAKE_TO_DEVICE, FAKE_TO_HOST, FAKE_DEVICE_FAULTS, FAKE_HOST_FAULTS };

/* What becomes of a piece of managed memory. */
struct fake_managed {
	enum fake_managed_kind kind;
	uint64_t address;
	uint64_t value; /* bytes, how many faults, or where the host's instruction is */
	uint64_t start_ns, end_ns;
	int device;
};

/* Who is told of all that happens: a vendor's tracing library. */
struct fake_listener {
	void (*call)(struct fake_call *call, bool ends);
	void (*run)(const struct fake_run *run); /* with the lock */
	/* With the lock: a node came to be, and which it is a copy of, or NULL. */
	void (*node)(const struct fake_node *node, const struct fake_node *original);
	/* With the lock: a graph was run as a whole; of its nodes `run` was told before. */
	void (*graph)(const struct fake_run *whole);
	/* With the lock: memory came, or goes. */
	void (*memory)(const void *address, size_t bytes, enum fake_place place, int device,
		       bool is_freed);
	/* With the lock. */
	void (*managed)(const struct fake_managed *what);
	void (*wait)(enum fake_wait what, int device, uint32_t stream, uint64_t start_ns,
		     uint64_t end_ns);
	/* Without the lock: fake_module_tell. */
	void (*module)(int device, const void *image, size_t bytes, uint32_t number,
		       bool is_unloaded);
};
/* False where another one, by `owner`, listens already. */
bool fake_listen(const void *owner, const struct fake_listener *listener);

#endif
