/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the Level Zero adapter: finding the loader and its tracing layer (attach.c), the program's calls (call.c),
 * command lists and what is recorded in them (list.c), executions of those (execute.c, batch.c), operations that are not known
 * to be done (item.c), events of our own (event.c) and of the program's (program_event.c), devices and their clocks (device.c), names of kernels (kernel.c).
 * docs/design/levelzero.md gives reasons.
 *
 * One lock guards all records (SN_LOCK_LEVELZERO). Functions that need it say "Locked".
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "collect/adapters/gpu/gpu.h"
#include "collect/core/arena.h"
#include "ze.h"

#define SN_ZE_POINTER(name, parameters) sn_ze_result(*name) parameters;
/* The loader's functions, all found, from attaching on. */
extern struct sn_ze {
	SN_ZE_FUNCTIONS(SN_ZE_POINTER)
} sn_ze;

extern struct sn_gpu_interface sn_levelzero;

/* Parameter number `index` of a call. */
#define SN_ZE_PARAMETER(parameters, type, index) (*(type *)(parameters)[index])

/* Takes the first of a list of free ones, or maps some more of them, up to `most`. Locked; NULL where there are no more. */
#define SN_ZE_TAKE(type, first, made, most, at_once)                                               \
	({                                                                                         \
		if (!(first) && (made) < (most)) {                                                 \
			type *more = sn_pages_map((at_once) * sizeof(*more));                      \
			for (uint32_t index = 0; more && index < (at_once); index++) {             \
				more[index].next = (first);                                        \
				(first) = &more[index];                                            \
			}                                                                          \
			(made) += more ? (at_once) : 0;                                            \
		}                                                                                  \
		type *taken = (first);                                                             \
		if (taken) {                                                                       \
			(first) = taken->next;                                                     \
			taken->next = NULL;                                                        \
		}                                                                                  \
		taken;                                                                             \
	})

/* ---- attach.c ---- */

/* True from attaching until measuring ends or the process forks. */
bool sn_ze_is_active(void);
/* The tracing layer may be there now: SYCL says so, whose runtime finds the loader by its path. */
void sn_ze_notice(void);

/* ---- device.c ---- */

struct sn_ze_device {
	void *handle;
	uint16_t number;
	bool in_seconds;     /* `resolution` is ticks in a second, else nanoseconds of a tick */
	uint64_t resolution; /* 0: times of this device are not known */
	uint64_t mask, kernel_mask;
	/* times at which both clocks were read */
	uint64_t first_ns, first_ticks, last_ns, last_ticks;
};

/* NULL where there are too many. Locked. */
struct sn_ze_device *sn_ze_device(void *handle);
/* Reads the clocks again, once in a second. Locked. */
void sn_ze_device_tick(struct sn_ze_device *device);
/* Converts the times of an operation that did not begin before `least_ns`. False where they are no times. Locked. */
bool sn_ze_device_times(const struct sn_ze_device *device, const struct sn_ze_timestamps *times,
			uint64_t least_ns, struct sn_gpu_operation *operation);

/* ---- kernel.c ---- */

/* The name of a kernel; stays valid. NULL where it cannot be read. */
const char *sn_ze_kernel_name(void *kernel);
/* Before and after calls. Locked. */
void sn_ze_kernel_created(void **parameters, sn_ze_result result);
void sn_ze_kernel_is_destroyed(void **parameters, sn_ze_result result);

/* ---- event.c; Locked ---- */

struct sn_ze_item;

/* One of ours, with timestamps. */
struct sn_ze_event {
	void *handle;
	struct sn_ze_context *context;
	struct sn_ze_event *next; /* that is free */
};

/* One that is not signalled; NULL where there are too many. */
struct sn_ze_event *sn_ze_event_take(void *context);
/* It is not signalled any more. */
void sn_ze_event_give(struct sn_ze_event *event);
bool sn_ze_event_is_of(const struct sn_ze_event *event, void *context);
/* The events of a context, before it is destroyed. */
void sn_ze_events_release(void *context);

/* ---- list.c ---- */

/* An operation that is appended to a command list. */
struct sn_ze_command {
	const char *name;
	void *event;		 /* that it signals: ours or the program's */
	struct sn_ze_event *own; /* or NULL */
	struct sn_ze_item *item; /* its last execution, which is not known to be done, or NULL */
	struct sn_gpu_thread *state;
	uint32_t node; /* of the call that appended it */
	uint8_t kind;
	uint64_t bytes;
};

/* Operations in the order in which they were started: those of an immediate list or of a queue. */
struct sn_ze_stream {
	struct sn_ze_item *first, *last;
	struct sn_ze_stream *next; /* of all */
	void *handle;
	uint32_t number;
	uint32_t count;	  /* of items */
	uint64_t last_ns; /* start of the last one that was read */
};

#define SN_ZE_BLOCK 64u

struct sn_ze_block {
	struct sn_ze_block *next;
	uint32_t count;
	struct sn_ze_command commands[SN_ZE_BLOCK];
};

struct sn_ze_list {
	void *handle, *context;
	struct sn_ze_device *device;
	bool is_immediate;
	bool is_blind;	    /* what it does is not measured until it is reset */
	uint32_t execution; /* the number of the last call that executed it */
	uint32_t ordinal;
	uint32_t count;				 /* of commands */
	struct sn_ze_block *blocks, *last_block; /* not of an immediate list */
	struct sn_ze_stream *stream; /* of an immediate list; else of its last execution */
	struct sn_ze_batch *batches; /* free ones */
	uint32_t batch_count;
	struct sn_ze_list *next; /* that is free */
};

/* NULL where it is not known. Locked. */
struct sn_ze_list *sn_ze_list_find(void *handle);
/* Locked; NULL without memory. */
struct sn_ze_command *sn_ze_list_add(struct sn_ze_list *list, const struct sn_ze_command *command);
/* That of a queue, made when it is first needed. Locked; NULL without memory. */
struct sn_ze_stream *sn_ze_queue_stream(void *queue);
extern struct sn_ze_stream *sn_ze_streams;

/* Before and after calls; with the call's parameters. Locked. */
void sn_ze_list_created(void **parameters, sn_ze_result result);
void sn_ze_immediate_list_created(void **parameters, sn_ze_result result);
void sn_ze_list_is_reset(void **parameters, sn_ze_result result);
void sn_ze_list_is_destroyed(void **parameters, sn_ze_result result);
void sn_ze_queue_is_destroyed(void **parameters, sn_ze_result result);
void sn_ze_context_is_destroyed(void **parameters, sn_ze_result result);

/* ---- program_event.c: events of the program's ---- */

/* Before and after calls. Locked. */
void sn_ze_event_created(void **parameters, sn_ze_result result);
void sn_ze_event_is_reset(void **parameters, sn_ze_result result);
void sn_ze_event_is_reset_by_list(void **parameters, sn_ze_result result);
void sn_ze_event_is_destroyed(void **parameters, sn_ze_result result);
void sn_ze_pool_is_created(void **parameters, sn_ze_result result);
void sn_ze_pool_created(void **parameters, sn_ze_result result);
void sn_ze_pool_is_destroyed(void **parameters, sn_ze_result result);
/* Whether it has timestamps. Locked. */
bool sn_ze_event_is_timed(void *event);
/* The operation that last signals it; NULL for none. Locked. */
struct sn_ze_item *sn_ze_event_item(void *event);
/* NULL: none signals it any more. Locked. */
void sn_ze_event_set_item(void *event, struct sn_ze_item *item);
/* Whether these times were read before: what is to signal it again, and resets it before on the device, has not begun. Locked. */
bool sn_ze_event_is_stale(void *event, const struct sn_ze_timestamps *times);
/* By the operation of that number, which is ignored where a newer one has been read. */
void sn_ze_event_was_read(void *event, uint32_t correlation, const struct sn_ze_timestamps *times);

/* For each command of a list: `command` is it. */
#define SN_ZE_EACH_COMMAND(list, command)                                                          \
	for (struct sn_ze_block *block = (list)->blocks; block; block = block->next)               \
		for (struct sn_ze_command *command = block->commands;                              \
		     command < block->commands + block->count; command++)

/* ---- item.c; Locked ---- */

/* An operation that runs, or will. */
struct sn_ze_item {
	struct sn_ze_item *next; /* in its stream, or free */
	const char *name;
	void *event;
	struct sn_ze_event *own;
	struct sn_ze_command *command; /* of a list, which points back; NULL: of an immediate one */
	struct sn_ze_device *device;
	struct sn_ze_stream *stream;
	struct sn_ze_batch *after;  /* has reset the event of an execution before; NULL, or done */
	struct sn_ze_batch *reader; /* reads its times on the device; NULL: the host does */
	uint32_t place;		    /* of its command in the list, and of its times in a batch */
	uint32_t correlation;
	uint8_t kind;
	bool is_done; /* or lost */
	uint64_t bytes, start_ns;
};

/* It was started, not before `start_ns`. Counts a loss where there is no room. */
struct sn_ze_item *sn_ze_item_add(struct sn_ze_stream *stream, struct sn_ze_device *device,
				  const struct sn_ze_command *command, uint64_t start_ns);
/* Hands it on if it is done; false if it is not. */
bool sn_ze_item_try(struct sn_ze_item *item);
/* Hands it on if it is done, and else counts it as lost. */
void sn_ze_item_end(struct sn_ze_item *item);
/* Hands on what is done, as far as it is not behind others. Returns how many operations are left. */
uint32_t sn_ze_items_collect(void);
/* What uses a context's events ends. */
void sn_ze_items_of_context(void *context);

/* ---- batch.c; Locked ---- */

/* A command list of ours that reads the times of one execution of a list, and resets its events for the next one. */
struct sn_ze_batch {
	struct sn_ze_batch *next; /* that is free */
	struct sn_ze_list *of;	  /* NULL: that is gone */
	void *handle;		  /* NULL: it is not made */
	void *context;
	struct sn_ze_event *done;
	struct sn_ze_timestamps *times; /* the host's memory */
	uint32_t users;			/* operations that it reads, and those that run after it */
	bool is_done;
};

/* Runs one in the queue, after all that is in it; the list's last execution is read by it. NULL where that cannot be. */
struct sn_ze_batch *sn_ze_batch_run(struct sn_ze_list *list, void *queue);
bool sn_ze_batch_is_done(struct sn_ze_batch *batch);
/* A user less. */
void sn_ze_batch_leave(struct sn_ze_batch *batch);
/* The list is reset or destroyed, and has no users any more. */
void sn_ze_batches_release(struct sn_ze_list *list);

/* ---- execute.c ---- */

/* Before and after a queue executes lists. They take the lock. */
void sn_ze_execute_begins(void **parameters);
void sn_ze_execute_ended(void **parameters, sn_ze_result result);
