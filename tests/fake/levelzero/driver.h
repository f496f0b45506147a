/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the driver share: its objects, and how a command runs. One lock guards all but what the device guards. */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include "../device/inside.h"

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#define MOST_CHANGES   64
#define MOST_ARGUMENTS 4

/* An event's states, planned as the commands are that change them. */
struct change {
	uint64_t ns; /* from then on */
	bool is_signalled;
	uint64_t start_ns, end_ns; /* of what signalled it */
};

struct pool {
	struct _ze_context_handle_t *context;
	uint32_t flags, events;
};

struct event {
	struct pool *pool;
	struct change changes[MOST_CHANGES];
	uint32_t count;
};

struct _ze_context_handle_t {
	uint32_t pools;
};

/* What a launch computes. */
struct work {
	const struct code *code; /* NULL: nothing */
	uint32_t function;	 /* its id there */
	uint64_t items, arguments[MOST_ARGUMENTS];
};

struct module {
	struct code *code; /* or NULL */
	_Atomic uint32_t kernels;
};

struct kernel {
	struct module *module;
	const char *name;
	uint32_t size;	  /* of a group */
	struct work work; /* as it would be launched now, but for the items */
};

enum command_kind { RUN, SIGNAL, WAIT, RESET, READ };

struct command {
	enum command_kind kind;
	struct fake_operation operation; /* of RUN */
	struct work work;		 /* of a kernel */
	struct event *signal;
	struct event **waits; /* or those that READ reads */
	uint32_t wait_count;
	ze_kernel_timestamp_result_t *times; /* of READ */
	void *to;			     /* of a copy or a set */
	const void *from;
	size_t bytes;
	char pattern[16];
	size_t pattern_bytes;
	char *place; /* the line that appended it; NULL: the calling one */
};

struct list {
	int device;
	uint32_t ordinal;	    /* of the group of queues that it is for */
	struct fake_stream *stream; /* of an immediate one */
	struct command *commands;
	uint32_t count;
	bool is_closed;
};

struct queue {
	struct fake_stream *stream;
	uint32_t ordinal;
};

struct fence {
	uint64_t ns;
};

FAKE_LOCAL void driver_lock(void);
FAKE_LOCAL void driver_unlock(void);
/* Says what a program may not do, and ends it: the adapter must not either. */
FAKE_LOCAL void misused(const char *what) __attribute__((noreturn));

/* By its ordinal: a group of queues in which no kernel runs. */
FAKE_LOCAL bool copies_alone(uint32_t ordinal);

/* ---- place.c ---- */

/* Operations that begin in this thread are those of this place; NULL: of the calling line. */
FAKE_LOCAL void place_is(const char *place);

/* ---- module.c ---- */

FAKE_LOCAL void fill_module_tables(ze_module_dditable_t *modules, ze_kernel_dditable_t *kernels);
FAKE_LOCAL void fill_log_table(ze_module_build_log_dditable_t *table);
/* With the arguments that the kernel has now. No groups: nothing. */
FAKE_LOCAL struct work kernel_work(const struct kernel *kernel, const ze_group_count_t *groups);

/* ---- code.c ---- */

/* A copy of a module's words. NULL: it cannot be run, and `why` says the reason. */
FAKE_LOCAL struct code *code_new(const void *words, size_t bytes, char *why, size_t size);
FAKE_LOCAL void code_free(struct code *code);
/* The id of a kernel's function; 0: there is none of that name. */
FAKE_LOCAL uint32_t code_function(const struct code *code, const char *name);
/* Runs all items, one after the other; returns how many instructions the longest took. */
FAKE_LOCAL uint64_t code_run(const struct work *work);

/* ---- event.c ---- */

/* With the lock. */
FAKE_LOCAL void event_change(struct event *event, const struct change *change);
FAKE_LOCAL const struct change *event_at(struct event *event, uint64_t ns);
FAKE_LOCAL ze_kernel_timestamp_result_t event_times(const struct change *change);
FAKE_LOCAL uint64_t device_ticks(uint64_t ns);
FAKE_LOCAL void fill_event_tables(ze_event_pool_dditable_t *pools, ze_event_dditable_t *events);

/* ---- command.c ---- */

FAKE_LOCAL void fill_list_table(ze_command_list_dditable_t *table);
FAKE_LOCAL void fill_queue_table(ze_command_queue_dditable_t *table);
FAKE_LOCAL void fill_fence_table(ze_fence_dditable_t *table);
/* Who is told of runs. */
FAKE_LOCAL void command_begin(void);

#endif
