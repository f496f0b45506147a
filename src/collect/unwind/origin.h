/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that one thread starts and others do: a sample in a worker stands below the path of the
 * thread that started the work (docs/design/openmp.md).
 *
 * The starting thread waits until the work is done, so its path need not be assembled when work
 * starts: sn_origin_begin() notes where the thread stands (some 30 stores), and the first sample
 * that falls into a worker assembles the path from there, from the worker, in the same address
 * space. All further samples of the same work find it cached.
 *
 *	starter:  origin = sn_origin_begin(...); SN_ORIGIN_HERE(origin); run; sn_origin_end(origin);
 *	worker:   sn_origin_work(origin);  do its part
 *
 * A worker makes no call when its part is done: where a frame of its stack is not the runtime's, it
 *is at work; where all are the runtime's, it waits. So barriers, tasks that run while their thread
 *waits and threads that come late need no calls of their own.
 *
 * Every pool of threads whose caller waits (OpenMP here; parallel_for of PyTorch's own pool is
 * another) can use the same two calls. A queue whose caller does not wait needs its
 * context when it enqueues: sn_callpath() then, and a copy by sn_cct_copy_path().
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread itself.
 */
#ifndef SN_COLLECT_ORIGIN_H
#define SN_COLLECT_ORIGIN_H

#include "collect/core/cct.h"
#include "unwind/machine.h"

#include <stdatomic.h>
#include <stdbool.h>

struct sn_thread;
struct sn_native_frame;

/* The library whose frames between a start and its work are left out; lives for ever. */
struct sn_runtime {
	uintptr_t start, end;
};

/* What a thread works for. */
struct sn_work {
	struct sn_origin *origin; /* NULL: it never worked for another */
	uint64_t serial;	  /* of the origin, then */
	uint32_t node;		  /* its path in this thread's tree, SN_NODE_NONE until asked for */
};

/* Where a thread stands that waits for work it started. It lies in the thread's record, which is
 * never unmapped: a worker that looks at it too late reads a wrong serial, not a wrong address. */
struct sn_origin {
	struct sn_thread *thread;
	const struct sn_runtime *runtime;
	_Atomic uint64_t serial; /* odd while the work goes on */
	_Atomic bool begun;	 /* the starting thread has begun its own part */
	bool is_open;		 /* it has left the function that started the work; gomp.c */
	uint32_t shadow_depth;
	uintptr_t pc, sp, fp; /* of the code that started the work, behind its call */
	uintptr_t python;     /* its PyThreadState, 0 for none */
	uintptr_t self;	      /* its pthread_t */
	struct sn_work work;  /* what the starting thread itself worked for */
	void (*function)(void *);
	void *data;		       /* both the runtime adapter's */
	struct sn_registers registers; /* of the adapter's frame, one further in than pc */
};

#define SN_ORIGIN_MAX 8u /* nested starts by one thread; further ones are not noted */

/* Notes that the calling thread starts work in `runtime` and waits for it; `frame` is the calling
 * function's frame pointer. NULL where it is not measured or too deep: then start the work
 * without. AS-safe: no. */
struct sn_origin *sn_origin_begin(const struct sn_runtime *runtime, const uintptr_t *frame);
void sn_origin_end(struct sn_origin *origin);
/* Keeps the registers that a call preserves, for callers whose unwinding asks for them. */
#define SN_ORIGIN_HERE(origin) SN_MACHINE_CAPTURE(&(origin)->registers)

/* The calling thread, in its own stack frames of the runtime, is about to do its part. */
void sn_origin_work(struct sn_origin *origin);

/* ---- callpath.c ---- */

/* True where the work goes on. MT: yes. */
static inline bool sn_work_is_live(const struct sn_work *work)
{
	/* acquire: what was noted of the start is read after this */
	return work->origin &&
	       atomic_load_explicit(&work->origin->serial, memory_order_acquire) == work->serial;
}

/* True where `pc` is the runtime's, the C library's or our own. */
bool sn_origin_is_runtime(const struct sn_origin *origin, uintptr_t pc);

#endif
