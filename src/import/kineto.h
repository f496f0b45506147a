/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the importer of PyTorch profiler (Kineto) traces. A file is read in three steps:
 *
 *   kineto.c          every event to its thread or stream, with its name, category and arguments,
 *                     into a sorter (trace/sorter.h)
 *   kineto_thread.c   each thread in order of time: what is nested in what gives calling contexts;
 *                     backward operators go under the forward ones that caused them
 *   kineto_device.c   each stream: a kernel goes under the call that launched it, by correlation
 *
 * Nothing is matched by "External id": it means the operator in some versions and the correlation
 * in others, and flow arrows, of which many ends have no start, are not needed.
 */
#ifndef SN_IMPORT_KINETO_H
#define SN_IMPORT_KINETO_H

#include "base/intern.h"
#include "base/vec.h"
#include "totals.h"
#include "trace/sorter.h"
#include "trace/writer.h"

enum sn_kineto_category {
	SN_KINETO_OTHER, /* any that is not known: an interval of its thread */
	SN_KINETO_OPERATOR,
	SN_KINETO_ANNOTATION,
	SN_KINETO_PYTHON,
	SN_KINETO_API,
	SN_KINETO_OVERHEAD,
	SN_KINETO_INSTANT,
	SN_KINETO_KERNEL, /* from here on on a device */
	SN_KINETO_COPY,
	SN_KINETO_FILL,
	SN_KINETO_DEVICE_ANNOTATION,
	SN_KINETO_DEVICE_OTHER,
};

enum sn_kineto_metric {
	SN_KINETO_REAL_TIME,
	SN_KINETO_API_TIME,
	SN_KINETO_KERNEL_TIME,
	SN_KINETO_COPY_TIME,
	SN_KINETO_FILL_TIME,
	SN_KINETO_COPY_BYTES,
	SN_KINETO_FILL_BYTES,
	SN_KINETO_BLOCKS,
	SN_KINETO_BLOCK_THREADS,
	SN_KINETO_REGISTERS,
	SN_KINETO_SHARED_BYTES,
	SN_KINETO_ALLOC,
	SN_KINETO_FREE,
	SN_KINETO_ALLOCATED, /* counters */
	SN_KINETO_RESERVED,
	SN_KINETO_METRIC_COUNT
};

/* A category and a name; what events are of. */
struct sn_kineto_name {
	uint32_t category; /* enum sn_kineto_category */
	uint32_t text;	   /* builder's string */
};

/* Attributes that the importer itself looks at; the others are only passed on. */
enum sn_kineto_key {
	SN_KINETO_KEY_VALUE,
	SN_KINETO_KEY_SEQUENCE,
	SN_KINETO_KEY_FORWARD_THREAD,
	SN_KINETO_KEY_BYTES,
	SN_KINETO_KEY_GRID_X,
	SN_KINETO_KEY_GRID_Y,
	SN_KINETO_KEY_GRID_Z,
	SN_KINETO_KEY_BLOCK_X,
	SN_KINETO_KEY_BLOCK_Y,
	SN_KINETO_KEY_BLOCK_Z,
	SN_KINETO_KEY_REGISTERS,
	SN_KINETO_KEY_SHARED,
	SN_KINETO_KEY_ALLOCATED,
	SN_KINETO_KEY_RESERVED,
	SN_KINETO_KEY_COUNT
};

/* What is known of an argument by its name and type. */
struct sn_kineto_arg {
	char name[40];
	size_t length; /* 0: nothing */
	enum sonde_attribute_type type;
	unsigned role;
	uint32_t key; /* the writer's */
};
#define SN_KINETO_ARGS 256

/* A thread or a stream. */
struct sn_kineto_line {
	bool is_device;
	uint32_t profile; /* builder's, once it is made */
	uint32_t name;	  /* builder's string, or SONDE_NONE */
	int64_t pid, tid; /* -1: not a number, then the name is the text */
	uint32_t device, context, stream;
	uint64_t forward_count; /* operators that a backward pass may refer to */
	uint64_t start_ns, end_ns, event_count;
};

/* An API call that may have started something. */
struct sn_kineto_launch {
	uint64_t correlation;
	uint32_t context;
};

/* An operator of the forward pass. */
struct sn_kineto_forward {
	uint32_t next; /* with this sequence number; SONDE_NONE */
	uint32_t line, context, name;
	uint64_t start_ns;
};

struct sn_kineto {
	struct sn_db_builder *builder;
	struct sn_trace_writer *writer;
	uint32_t metrics[SN_KINETO_METRIC_COUNT]; /* SONDE_NONE before the first use */
	uint32_t keys[SN_KINETO_KEY_COUNT];
	struct sn_kineto_arg args[SN_KINETO_ARGS]; /* those met lately, by a hash of the name */
	struct sn_totals totals;
	uint64_t unread, unlaunched, misplaced, file_count;
	uint64_t start_ns, end_ns; /* of all files */
	/* of the file being read */
	const char *path;
	struct sn_sorter *sorter;
	struct sn_intern names; /* struct sn_kineto_name */
	uint32_t *frames;	/* by name: builder's frame, SONDE_NONE not made yet */
	struct sn_intern line_keys;
	struct sn_kineto_line *lines;
	struct sn_kineto_launch *launches;
	struct sn_intern sequences; /* sequence number: forward_heads */
	uint32_t *forward_heads;
	struct sn_kineto_forward *forwards;
	size_t frame_capacity, line_capacity, launch_count, launch_capacity, head_capacity,
	    forward_count, forward_capacity;
	int64_t base_ns;
	int32_t rank;
	uint32_t run;
	uint32_t host, program; /* builder's strings */
	int64_t pid;		/* of most operators and API calls */
};

/* The builder's metric; made when it is first used, so that reports show no empty ones. */
uint32_t sn_kineto_metric(struct sn_kineto *kineto, enum sn_kineto_metric metric);
struct sn_kineto_name sn_kineto_name(const struct sn_kineto *kineto, uint32_t name);
/* The builder's frame for a name. */
uint32_t sn_kineto_frame(struct sn_kineto *kineto, uint32_t name);
/* The value of an attribute of the event; false without. */
bool sn_kineto_attribute(const struct sn_kineto *kineto, const struct sn_event *event,
			 enum sn_kineto_key key, uint64_t *value);
/* While a file is read its base time is not known yet (it may come last), and times may lie before
 * it: they are kept with this added, and made times since the Unix epoch by sn_kineto_time. */
#define SN_KINETO_BIAS_NS (1ll << 61)
uint64_t sn_kineto_time(struct sn_kineto *kineto, uint64_t raw_ns);
/* Makes the line's profile. */
void sn_kineto_profile(struct sn_kineto *kineto, struct sn_kineto_line *line);
/* A number for what events of this file have in common; never 0, and of no other file. */
uint64_t sn_kineto_link(const struct sn_kineto *kineto, uint64_t correlation);

/* All events of a thread, all of whose line is known, into builder and writer. */
int sn_kineto_thread(struct sn_kineto *kineto, uint32_t line, struct sn_error *error);
/* The same for a stream; all threads must be done. */
int sn_kineto_device(struct sn_kineto *kineto, uint32_t line, struct sn_error *error);

#endif
