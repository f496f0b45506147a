/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all programming interfaces of GPUs have in common whose runtimes report calls and finished operations to their tools:
 * the program's calls (call.c, module.c), the way of what a device did to the thread that launched it (launch.c), and its metrics and
 * events (operation.c). docs/design/gpu.md gives reasons.
 *
 * A launch leaves its call path under its correlation number. Whoever delivers a finished operation finds it there, and puts
 * the operation into a queue of the launching thread, which adds it to its own tree at one of its next calls: no lock stands
 * between threads that launch.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "collect/core/adapters.h"

enum sn_gpu_kind {
	SN_GPU_KERNEL,
	SN_GPU_COPY,
	SN_GPU_SET,
	SN_GPU_GRAPH, /* one launch of many operations, of which the runtime tells one time */
	/* what a call did on the host: not an operation, and not lost where its call is not known */
	SN_GPU_WAIT, /* for `stream`, or for what `name` says */
	SN_GPU_OVERHEAD, /* what `name` says: the runtime's work for itself, beside what the call is for */
	SN_GPU_ALLOCATE, /* memory of a device */
	SN_GPU_FREE,
	SN_GPU_SAMPLES,	  /* of a kernel's instructions: sn_gpu_sampled */
	SN_GPU_COUNTER,	  /* of a kernel: sn_gpu_counted */
	SN_GPU_MIGRATION, /* of managed memory: sn_gpu_migrated */
};

enum sn_gpu_metric {
	SN_GPU_API_TIME,
	SN_GPU_KERNEL_TIME,
	SN_GPU_COPY_TIME,
	SN_GPU_SET_TIME,
	SN_GPU_GRAPH_TIME,
	SN_GPU_WAIT_TIME,
	SN_GPU_OVERHEAD_TIME,
	SN_GPU_COPY_BYTES,
	SN_GPU_SET_BYTES,
	SN_GPU_ALLOCATE_BYTES,
	SN_GPU_FREE_BYTES,
	SN_GPU_COMMUNICATION_BYTES,
	SN_GPU_BLOCKS,
	SN_GPU_BLOCK_THREADS,
	SN_GPU_REGISTERS,
	SN_GPU_SHARED_BYTES,
	SN_GPU_LOCAL_BYTES,
	SN_GPU_WARPS,
	SN_GPU_WARPS_MAX,
	SN_GPU_METRIC_COUNT
};

/* Whether a launch has an operation, while none has come. */
enum sn_gpu_expectation {
	SN_GPU_NOT_EXPECTED,
	SN_GPU_PROBABLE, /* as it is of a copy whose size is not known: one of nothing has none */
	SN_GPU_CERTAIN	 /* unless sn_gpu_expect_none is called */
};

#define SN_GPU_LAUNCHES (1u << 17)

/* A launch that is not known to be done. */
struct sn_gpu_launch {
	/* the correlation number << 32 and the call's node: one word, so that a reader sees both of one launch */
	_Atomic uint64_t word;
	/* the address of the thread's state, + enum sn_gpu_expectation: of an operation that has not come */
	_Atomic uintptr_t state;
};

/* A programming interface: one static object of its adapter, by SN_GPU_INTERFACE. */
struct sn_gpu_interface {
	const char *name;   /* the source of its metrics: "cuda" */
	const char *device; /* before a device's number: "CUDA device " */
	/* A module is of its runtime, which call paths leave out; NULL: they end before it. AS-safe: yes */
	bool (*is_inside)(uint32_t module);
	uint8_t number; /* tells interfaces of one process apart: its adapter's slot */
	uint8_t bytes;	/* the metric of its calls' bytes; 0: SN_GPU_COPY_BYTES */
	_Atomic uint32_t metrics[SN_GPU_METRIC_COUNT];
	/* SN_GPU_LAUNCHES struct sn_gpu_launch, by the last bits of their numbers: a launch overwrites the one that is a whole table
	 * older, which was done long ago. Mapped at the first launch. */
	_Atomic(void *) launches;
	/* Of lost operations, those of no known launch, which may be what is expected: certain are kernels and what may be one. */
	_Atomic uint64_t unplaced[SN_GPU_CERTAIN + 1];
	/* SN_GPU_CAPTURES, by the numbers of graphs' nodes (capture.h); NULL where its runtime tells none. Zero at first. */
	struct sn_gpu_capture *captures;
};

#define SN_GPU_INTERFACE(adapter, ...)                                                             \
	{                                                                                          \
		.name = #adapter, .number = SN_ADAPTER_SLOT_##adapter,                             \
		.metrics = {[0 ... SN_GPU_METRIC_COUNT - 1] = SN_ID_NONE}, __VA_ARGS__             \
	}

/* ---- call.c ---- */

#define SN_GPU_NAME_BYTES 256u

struct sn_gpu_api_call {
	const char *name; /* static storage */
	uint32_t
	    correlation; /* what it launches is reported with this number; 0: it launches nothing */
	uintptr_t
	    object; /* the address of something in the called function's frame, 0: none is known */
	uintptr_t stack; /* where that does not help: of something in any frame of the runtime's */
	uint32_t path;	 /* its context, where that is known; SN_NODE_ROOT: it is not */
	const char *kernel; /* what it starts, a frame below its own; NULL: not known */
	uint64_t bytes;	    /* that it copies or sends */
	uint64_t stream;    /* as the program calls it */
	bool has_stream;
	uint8_t expected; /* enum sn_gpu_expectation */
	bool is_kernel; /* what it launches: in a library's call it may be a part of a collective */
};

/* The program enters and leaves a call, as its runtime reports it. A call in a call, also of another interface, has no frame
 * of its own; what it launches is below the outer one. */
void sn_gpu_call_enter(struct sn_gpu_interface *interface, const struct sn_gpu_api_call *call);
void sn_gpu_call_exit(void);
/* The call that the thread is in has moved no bytes: it fails. */
void sn_gpu_call_fails(void);
/* What the call that the thread is in launches does not run now, or under another number: nothing is expected of it. */
void sn_gpu_call_waits(void);
/* What all members of a group do together, each a part of it. */
struct sn_gpu_collective {
	uint64_t group; /* the same number in all members; 0: none */
	uint64_t
	    number; /* of it in the group; SN_GPU_NOT_TOGETHER: only some of the members do it */
	uint64_t bytes;
	uint32_t message_count; /* the last so many that the thread has noted are exchanged by it */
};
#define SN_GPU_NOT_TOGETHER UINT64_MAX
/* Between two members of a group. */
struct sn_gpu_message {
	uint64_t bytes;
	uint64_t number;     /* among those of this group and direction between the two */
	uint32_t rank, peer; /* in the group: its own, and the other's */
	bool is_sent;
};
/* What the calling thread launches next sends or receives it. */
void sn_gpu_note_message(const struct sn_gpu_message *message);
/* What the call that the thread is in launches is its part in this. */
void sn_gpu_call_is_part(const struct sn_gpu_collective *collective);
struct sn_gpu_thread;
/* Where the call that the thread is in belongs, for what it only prepares: what is captured, and what is given a number later, by
 * sn_gpu_launch. Either may be NULL. False where the call is not measured. */
bool sn_gpu_call_place(struct sn_gpu_thread **state, uint32_t *node);

/* ---- module.c ---- */

#define SN_GPU_KNOWN_MODULES 64u

/* A runtime's modules, by how their files' names begin; NULL ends. The rest is zero at first. */
struct sn_gpu_modules {
	const char *prefixes[6];
	/* the index of a module + 1, and whether it is one, for the last bits of the index */
	_Atomic uint64_t known[SN_GPU_KNOWN_MODULES];
};
/* AS-safe: yes. */
bool sn_gpu_is_inside(struct sn_gpu_modules *modules, uint32_t module);

/* ---- launch.c ---- */

/* How a kernel was launched, as far as its runtime tells: 0 where it does not. */
struct sn_gpu_shape {
	uint32_t grid[3];		    /* blocks (work-groups) */
	uint16_t block[3];		    /* threads (work-items) in each */
	uint16_t registers;		    /* of a thread */
	uint32_t shared_bytes, local_bytes; /* of a block; of a thread */
	/* that can be resident on a multiprocessor with what the kernel needs; that can be at most */
	uint16_t warps, warps_most;
};

/* Samples of one instruction that have one reason. */
struct sn_gpu_sample {
	uint32_t module;  /* the GPU binary; SN_ID_NONE: not known, they are the kernel's */
	uint32_t reason;  /* the metric of why the warps stalled; SN_ID_NONE: they did not */
	uint64_t address; /* in the binary, as binary/gpu/gpu_binary.h counts */
	uint64_t count;
};

/* What a hardware counter counted in a kernel. */
struct sn_gpu_counter {
	uint32_t index; /* of sn_config.gpu_counters */
	uint8_t of;	/* is set by sn_gpu_counted: the operation's kind */
	uint64_t value;
};

/* Why managed memory moved. */
struct sn_gpu_migration {
	uint64_t faults; /* on pages that were not there; 0: it moved */
	uintptr_t pc;	 /* of the host's instruction that faulted, 0: a device did */
};

/* What a device did. */
struct sn_gpu_operation {
	struct sn_gpu_interface *interface;
	uint32_t call; /* is set by sn_gpu_done: the launching call's node in its thread's tree */
	uint8_t kind;  /* enum sn_gpu_kind */
	uint16_t device;
	uint32_t stream, correlation;
	const char *
	    name; /* static storage, or the runtime's for as long as the process runs; NULL: not known */
	/* of several that are alike (gather.h) `end_ns` is as far behind `start_ns` as all took together */
	uint64_t bytes, start_ns, end_ns;
	bool is_placeless; /* its times are right by their difference only: it is in no trace */
	uint32_t count;	   /* how many are alike; set by sn_gpu_done, as are least_ns to squares */
	uint32_t graph;	   /* that it was launched with, as the runtime numbers graphs; 0: none */
	uint64_t graph_node; /* in it (capture.h); 0: it is none */
	uint64_t least_ns, most_ns;
	double squares; /* the time of each, multiplied by itself, added up */
	union {
		struct sn_gpu_shape shape;
		struct sn_gpu_sample sample;
		struct sn_gpu_counter counter;
		struct sn_gpu_migration migration;
	};
};

/* That of the calling thread, made when it is first needed; NULL without memory. Between sn_enter and sn_leave. */
struct sn_gpu_thread *sn_gpu_thread(struct sn_thread *thread);

/* The calling thread launches something with this number, in the call at `node`. */
void sn_gpu_launch(struct sn_gpu_interface *interface, struct sn_gpu_thread *state,
		   uint32_t correlation, uint32_t node, enum sn_gpu_expectation expected);
/* The call with this number has failed, or launches later. */
void sn_gpu_expect_none(struct sn_gpu_interface *interface, uint32_t correlation);
/* What has come is lost: its launch is not known, or it cannot be read. */
void sn_gpu_lose_operation(const struct sn_gpu_operation *operation);
/* The runtime tells that it has lost operations: of which launches is not known. */
void sn_gpu_lose(struct sn_gpu_interface *interface, uint64_t count);
/* Of how many of the latest SN_GPU_LAUNCHES launches an operation is expected, at least so much, that neither was done nor is lost. */
uint64_t sn_gpu_expected(struct sn_gpu_interface *interface, enum sn_gpu_expectation least);
/* Something launched under its number was done. Counted as lost where the launch is not known (any more) or too much
 * waits for its thread. One thread at a time, between sn_gpu_begin_done and sn_gpu_end_done. */
void sn_gpu_done(struct sn_gpu_operation *operation);
void sn_gpu_begin_done(void);
/* Gives the threads what was done since. */
void sn_gpu_end_done(void);

/* What is to be added to times of a runtime's clock to have the collector's; 0 where it cannot be read. `read` returns 0 when it has. */
uint64_t sn_gpu_clock_offset(int (*read)(uint64_t *now));

/* Where something was launched: the launching call in the tree of its thread. */
struct sn_gpu_place {
	struct sn_gpu_thread *state;
	uint32_t call;
	uint64_t graph_node; /* that it was, 0: none */
};
/* The place of the launch with this number; false where it is not known (any more). */
bool sn_gpu_launch_of(struct sn_gpu_interface *interface, uint32_t correlation,
		      struct sn_gpu_place *place);
/* Some thread's that uses the interface, NULL: none has. */
struct sn_gpu_thread *sn_gpu_any_thread(void);
/* Adds what has come to the calling thread's tree once it is much, or some time has passed, for who often looks. Between sn_enter and
 * sn_leave. */
void sn_gpu_collect_many(struct sn_gpu_thread *state, uint64_t now_ns);
/* The same for all threads, of which some have ended and others run; `self` is the calling one. */
void sn_gpu_collect_all(struct sn_thread *self);

/* ---- sample.c ---- */

/* Samples of a kernel that was launched there; at SN_NODE_ROOT of a tree: nobody knows where. Needed of the operation: interface, name and
 * sample. One thread at a time, between sn_gpu_begin_done and sn_gpu_end_done. */
void sn_gpu_sampled(const struct sn_gpu_place *place, struct sn_gpu_operation *operation);
/* Adds them below the kernel. Between sn_enter and sn_leave. */
void sn_gpu_record_samples(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation);

/* ---- counter.c ---- */

/* The unit of a counter's values (static storage), where its vendor tells it: "1" without. MT: before values come. */
void sn_gpu_counter_is_in(uint32_t index, const char *unit);
/* A value that its vendor gives as a fraction, rounded; false where it is none that can be added. AS-safe: yes. */
bool sn_gpu_counter_whole(double counted, uint64_t *value);
/* A kernel (or what the runtime does by one: `kind` tells) that was launched there counted this. Needed of the operation: interface,
 * kind, name and counter; it can be used again for the kernel's next counter. Each kernel is one value of each counter: values add
 * over launches, so a ratio is none (docs/design/gpu-counters.md). One thread at a time, between sn_gpu_begin_done and
 * sn_gpu_end_done. */
void sn_gpu_counted(const struct sn_gpu_place *place, struct sn_gpu_operation *operation);
/* Of an adapter that counts nothing: what its line says behind all else; NULL: no counters were asked for. AS-safe: yes. */
const char *sn_gpu_counts_nothing(void);
/* Adds it at the kernel. Between sn_enter and sn_leave. */
void sn_gpu_record_counter(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation);

/* ---- migration.c ---- */

/* Managed memory that was allocated there moved, or was faulted for; at SN_NODE_ROOT of a tree: nobody knows where. Needed of the operation:
 * interface, name, times and bytes, or migration. One thread at a time, between sn_gpu_begin_done and sn_gpu_end_done. */
void sn_gpu_migrated(const struct sn_gpu_place *place, struct sn_gpu_operation *operation);
/* Adds it below the call. Between sn_enter and sn_leave. */
void sn_gpu_record_migration(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation);

/* ---- binary.c ---- */

/* Keeps code of a device in the measurement, under a number that is the same for the same code, and a suffix of measurement.h's. The
 * number of its module; SN_ID_NONE where it cannot be kept. */
uint32_t sn_gpu_keep_binary(const void *binary, size_t bytes, uint64_t number, const char *suffix);

/* ---- operation.c; between sn_enter and sn_leave ---- */

/* A call that has ended. */
struct sn_gpu_past_call {
	struct sn_gpu_interface *interface;
	struct sn_cct_value **time; /* where the place of its time is kept; NULL: nowhere */
	uint32_t node, correlation;
	uint64_t start_ns, end_ns, bytes, stream;
	bool has_stream;
};
/* Adds its time and bytes to its node, and an event where calls are traced. */
void sn_gpu_add_call(struct sn_thread *thread, const struct sn_gpu_past_call *call);
/* The event alone. */
void sn_gpu_trace_call(struct sn_thread *thread, const struct sn_gpu_past_call *call);
/* Adds an operation to the tree of the thread that launched it: metrics, and an event where one is traced. */
void sn_gpu_record(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation);
/* Where its metrics are, or would be; SN_NODE_NONE without memory. */
uint32_t sn_gpu_node_of(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation);
