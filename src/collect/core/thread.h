/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's record of each thread of the program, and the guard of every hook.
 *
 * A hook is: enter, work, leave. sn_enter saves errno and takes the recursion guard, so that a
 * sample inside a hook, or a hook called from a sample, is refused and counted.
 *
 * The collector's locks and their order: locks.def.
 *
 * Every header of the collector says of its functions: "AS-safe: yes" if our signal handlers may
 * call it, whatever they interrupt; "MT: yes" if any thread may call it at any time; else the only
 * caller: "the thread itself" whose record or state is used, the "owner" of an object, "once" at
 * start or end, "the only thread" of a process that starts or of a fork's child. tools/contracts.py
 * checks that no function lacks these tags.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#pragma once

#include "cct.h"
#include "clock.h"
#include "counter_limits.h"
#include "collect/unwind/origin.h"
#include "collect/unwind/unwind.h"

#include "collect/record/trace_blocked.h"
#include "collect/record/trace_buffer.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum sn_drop {
#define SN_DROP(id, name, text) SN_DROP_##id,
#include "errors.def"
#undef SN_DROP
	SN_DROP_COUNT
};

#define SN_SHADOW_DEPTH	  256
/* Equals no frame's address. */
#define SN_PYTHON_UNKNOWN ((uintptr_t)1)

/*
 * A frame that no unwinder can see (an operator known from a callback, a user's region), with the
 * place on the native stack where it was entered: it lies above every native frame whose canonical
 * frame address is lower (deeper) than `stack`.
 *
 * A frame that Python code opened (`with sonde.region(...)`) was entered from native frames that
 * have returned while it is open, and from CPython 3.11 on one native frame evaluates many Python
 * frames. So no stack address gives its place among the Python frames; `python_depth` does: it lies
 * directly below the python_depth-th Python frame from the outermost (1 is the outermost), above
 * all deeper Python frames and all native frames called from there. If `python_depth` is 0, or
 * Python frames are not part of the path or could not be read, `stack` decides. Shadows always keep
 * their order: one that was pushed later is never above one that was pushed earlier.
 *
 * `python_line` is the line of that Python frame at that moment. The path above the shadow has this
 * line, so the shadow stays one context while its function continues. When the function has reached
 * another line, its frame is repeated below the shadow, with the current line.
 */
struct sn_shadow {
	uintptr_t
	    stack; /* an address between the entering function's frame and its callees' frames */
	/* 0: entered by native code; the caller of sn_shadow_push sets both after it */
	uint32_t python_depth, python_line;
	uint32_t user;	/* for the caller of sn_shadow_push */
	bool is_chosen; /* of a region: devices are sampled in it (region.h) */
	struct sn_frame frame;
	uint64_t start_ns;
	uint64_t children_ns; /* time of shadows nested in it, for exclusive time */
	/* Of an operator: the number of operators that it has called, and the first of them if it
	 * is the only one and has the same name; else SN_NODE_NONE. */
	uint32_t callees, again_node;
	uint64_t again_ns;
	uint32_t prefix; /* node under which the path continues instead of its callers (a backward
			    operator's forward path); SN_NODE_NONE for none */
	uint32_t node;	 /* cached context of this shadow, SN_NODE_NONE until it is first used */
	uint64_t link;	 /* of its event in the trace file, 0 none */
	uintptr_t
	    python_frame; /* the innermost Python frame when context.c found `node`, 0 none; SN_PYTHON_UNKNOWN until then */
};

/* A thread's state for the trace file (trace.h). */
struct sn_thread_trace {
	struct sn_trace_buffer buffer;
	uint32_t stream;     /* its number in the file */
	uint32_t generation; /* of the file; 0: nothing recorded yet */
	uint64_t retry_ns;   /* after a failed write: when to try again */
	int error;	     /* its negative errno */
	struct sn_trace_blocked blocked;
};

struct sn_thread {
	struct sn_cct cct;
	_Atomic int inside; /* recursion guard */
	int saved_errno;
	uint32_t index; /* in the registry; the section index of the snapshot */
	uint32_t flags; /* enum sn_thread_flags of the measurement file */
	int32_t tid;
	_Atomic bool ended;
	uintptr_t stack_low, stack_high; /* bounds of the thread's own stack, 0 unknown */
	uint64_t start_ns, end_ns, cpu_ns;
	uint64_t waited_ns; /* real time charged to measured waits since the last sample */
	uint64_t samples, own_ns;
	char name[16];
	_Atomic uint64_t drops[SN_DROP_COUNT];
	struct sn_unwinder unwinder;
	bool is_guess; /* the last assembled path was truncated or guessed in part */
	bool
	    met_made_code; /* an assembled path had code of no file; whoever notes it clears this */
	bool interrupted;  /* the path being assembled is that of interrupted code, not of a hook's
			     caller */
	uint32_t shadow_depth; /* may exceed SN_SHADOW_DEPTH; shadows beyond it are only counted */
	struct sn_shadow shadows[SN_SHADOW_DEPTH];
	uintptr_t hidden_stack; /* native frames at or below it are a tool's (monitor.c); 0: none */
	/* where its paths begin: below the Python line that started it, or else its process; mostly
	 * SN_NODE_ROOT */
	uint32_t start_node;
	struct sn_work work; /* its last work for another thread */
	uint32_t origin_depth;
	struct sn_origin origins[SN_ORIGIN_MAX]; /* work that it waits for; origin.c */
	struct sn_thread_trace trace;		 /* of trace.c */
	void *sampling;				 /* of sample.c */
	void *scratch;				 /* of callpath.c */
	struct sn_context_memo *contexts;	 /* of context.c */
	bool has_no_contexts;			 /* there is no memory for them, or for more */
	void *adapters[24]; /* one slot for each adapter, its own: SN_ADAPTER_SLOT_name */
};

/* Whether edges are recorded in some iterations or in all. */
enum sn_graph_mode { SN_GRAPH_OFF, SN_GRAPH_SOME, SN_GRAPH_ALL };

/* Whether instructions of devices are sampled, and what is done for that. */
enum sn_gpu_samples { SN_GPU_SAMPLES_OFF, SN_GPU_SAMPLES_CONTINUOUS, SN_GPU_SAMPLES_SERIALIZED };

/* The settings of this process; constant after init. See init.c for the environment. */
struct sn_config {
	const char *output; /* absolute path of the measurement folder, NULL: measure nothing */
	unsigned
	    file_mode;	 /* of its files; 0: 0600, and the folder must not be writable for others */
	bool no_command; /* the command line is not recorded */
	const char *events;	  /* "cpu-time@199,page-faults@100", ... */
	unsigned sources;	  /* enum sn_source */
	const char *operators;	  /* "sampled", "exact" or "off" */
	bool tensor_memory;	  /* count tensor allocations */
	enum sn_graph_mode graph; /* capture the dataflow graphs of frameworks */
	bool gpu_graph_nodes;	  /* record the nodes of devices' graphs, not graphs as a whole */
	bool gpu_migrations;	  /* record how managed memory moves */
	bool gpu_hardware_times;  /* kernels' times by the device's own events */
	enum sn_gpu_samples gpu_samples;
	const char *gpu_samples_in; /* in regions of that name alone; NULL: everywhere */
	uint32_t gpu_sample_period; /* the logarithm of its cycles; 0: the driver's choice */
	uint32_t gpu_counter_count;
	const char *gpu_counters[SN_GPU_COUNTERS_MOST]; /* the names, each once */
	uint32_t gpu_metric_count;
	const char *gpu_metrics[SN_GPU_COUNTERS_MOST]; /* of devices over time, likewise */
	uint64_t gpu_metric_ns;			       /* from one sample to the next */
	bool real_time;
	uint64_t checkpoint_ns; /* least time between two checkpoints */
	uint64_t memory_limit_bytes;
};
extern struct sn_config sn_config;

/* True once measuring has begun and until it ends. */
bool sn_measuring(void);

/* This thread's, or NULL where it is not measured. */
struct sn_thread *sn_thread_self(void);

/* Takes the guard. NULL: not measured, or already inside; then the hook only does the program's
 * work.
 * MT: the thread itself. */
struct sn_thread *sn_enter(void);
void sn_leave(struct sn_thread *thread);

/*
 * Takes the guard of another thread that still runs, so that its tree may be written from here. The
 * guard is made for one thread alone: a thread that was entering when it was taken leaves within
 * a pause, and takes this mark away with its own. Waits some milliseconds; false where the thread
 * stays inside. AS-safe: no. MT: yes.
 */
bool sn_thread_borrow(struct sn_thread *thread);
void sn_thread_return(struct sn_thread *thread);

/* Counts a loss. If `thread` is NULL, it counts for the process. */
void sn_drop(struct sn_thread *thread, enum sn_drop cause, uint64_t count);

/* Shadow frames of this thread; between sn_enter and sn_leave. A function called directly by the
 * code that enters passes its own canonical frame address, SN_CALLER_STACK; a callback deeper down
 * passes the address of an object that lives in the entering function's frame. The returned shadow
 * may be filled in further; NULL if the stack of shadows is full (it must be popped nevertheless).
 * */
#define SN_CALLER_STACK ((uintptr_t)__builtin_frame_address(0) + 2 * sizeof(void *))
/* MT: the thread itself. */
struct sn_shadow *sn_shadow_push(struct sn_thread *thread, const struct sn_frame *frame,
				 uintptr_t stack);
/* Pops the top and returns it, valid until the next push; NULL if there is none. MT: the thread
 * itself. */
struct sn_shadow *sn_shadow_pop(struct sn_thread *thread);

/* The number of a thread's shadows, without those beyond the limit. MT: the thread itself.
 */
static inline uint32_t sn_shadow_count(const struct sn_thread *thread)
{
	return thread->shadow_depth < SN_SHADOW_DEPTH ? thread->shadow_depth : SN_SHADOW_DEPTH;
}
/* The top; NULL if there is none or it is beyond the limit. MT: the thread itself. */
static inline struct sn_shadow *sn_shadow_top(struct sn_thread *thread)
{
	uint32_t depth = thread->shadow_depth;
	return depth && depth <= SN_SHADOW_DEPTH ? &thread->shadows[depth - 1] : NULL;
}

/* The layers of a call path. */
enum sn_source {
	SN_SOURCE_PYTHON = 1,
	SN_SOURCE_OPERATOR = 2,
	SN_SOURCE_NATIVE = 4,
	SN_SOURCE_REGION = 8
};

/* The context of this thread's call path, created if missing; SN_NODE_NONE without memory.
 * `context` is the interrupted state in a signal handler, or NULL for the caller of this function
 * (frames inside libsonde are left out). `sources` 0 means the user's choice. MT: the thread
 * itself, between sn_enter and sn_leave. */
uint32_t sn_callpath(struct sn_thread *thread, const ucontext_t *context, unsigned sources);

/* The registry: every thread ever measured, by index. */
uint32_t sn_thread_count(void);
/* The number of threads that the records of the registry stand for. */
uint64_t sn_threads_met(void);
struct sn_thread *sn_thread_at(uint32_t index);
/* Calls `act` for each record that may stand for several threads and none of whose threads runs; no
 * thread can adopt the record meanwhile. Calls it for none while a thread is being registered. */
void sn_threads_ended(void (*act)(struct sn_thread *thread));
/* Begins and ends measuring the calling thread. `stack_bytes` is the size that was passed to
 * pthread_create(); 0 queries the C library, which allocates: in a thread's first instructions that
 * is too early if a sanitizer has replaced malloc. AS-safe: no. MT: the thread itself. */
struct sn_thread *sn_thread_begin(size_t stack_bytes);
void sn_thread_end(void);
/* The number of threads that begin or end at this moment and make calls for that. AS-safe: yes. MT:
 * yes. */
int sn_threads_at_edge(void);
/* In the child of a fork: only the calling thread remains. MT: the only thread. */
void sn_threads_after_fork(void);
/* Drops by cause over all threads and the process. */
uint64_t sn_drops(enum sn_drop cause);
const char *sn_drop_name(enum sn_drop cause);

/* Registers a metric for the process once; returns its number, or SN_ID_NONE if there are too many.
 * The strings must stay valid. */
uint32_t sn_metric(const char *name, const char *unit, const char *source, enum sn_metric_kind kind,
		   uint64_t period);

/* The same, at its first use, so that reports show no unused metric. *known caches its number,
 * SN_ID_NONE at first. */
uint32_t sn_metric_once(_Atomic uint32_t *known, const char *name, const char *unit,
			const char *source, enum sn_metric_kind kind);

/* A registered metric. The records stay valid. */
struct sn_metric_info {
	const char *name, *unit, *source;
	enum sn_metric_kind kind;
	uint64_t period;
};
uint32_t sn_metric_count(void);
const struct sn_metric_info *sn_metric_at(uint32_t metric);

/* The calling thread's Python frames, operators and regions, below which what it starts belongs;
 * where its paths begin where there are none. Between sn_enter and sn_leave. MT: the thread itself. */
uint32_t sn_callpath_of_start(struct sn_thread *thread);
/* From now on the paths of `thread`, which begins, are below `node` of `from`. Between sn_enter and
 * sn_leave. MT: the thread itself. */
void sn_callpath_begin_below(struct sn_thread *thread, const struct sn_cct *from, uint32_t node);
/* Frees callpath.c's buffers of a thread that ends. AS-safe: no. MT: the thread itself. */
void sn_callpath_release(struct sn_thread *thread);

/* [from, end) can no longer be read: a stack below it is then read like memory that may be
 * unmapped. */
void sn_threads_hide_stack(uintptr_t from, uintptr_t end);
