/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that one thread starts and others do: a sample in a worker is below the path of the thread
 * that started the work (docs/design/openmp.md).
 *
 * The starting thread waits until the work is done, so its path need not be assembled at the start:
 * sn_origin_begin() records the thread's position (some 30 stores), and the first sample in a
 * worker assembles the path from this record, in the worker, in the same address space. Further
 * samples of the same work find it cached.
 *
 *	starter:  origin = sn_origin_begin(...); SN_ORIGIN_HERE(origin); run; sn_origin_end(origin);
 *	worker:   sn_origin_work(origin);  do its part
 *
 * A worker makes no call when its part is done: if a frame of its stack is not the runtime's, it
 * works; if all are the runtime's, it waits. So barriers, tasks that run while their thread waits
 * and threads that come late need no calls of their own.
 *
 * Every pool of threads whose caller waits (OpenMP here; parallel_for of PyTorch's own pool is
 * another) can use the same two calls. For a queue whose caller does not wait the context is needed
 * when work is queued: sn_callpath() then, and a copy by sn_cct_copy_path().
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread itself.
 */
#pragma once

#include "collect/core/cct.h"
#include "unwind/machine.h"

#include <stdatomic.h>
#include <stdbool.h>

struct sn_thread;

/* The library whose frames between a start and its work are left out; must stay valid. */
struct sn_runtime {
	uintptr_t start, end;
};

/* The origin for which a thread works. */
struct sn_work {
	struct sn_origin *origin; /* NULL: it never worked for another thread */
	uint64_t serial;	  /* of the origin at that time */
	uint32_t node; /* its path in this thread's tree, SN_NODE_NONE until first used */
};

/* The position of a thread that waits for work that it started. It is in the thread's record, which
 * is never unmapped: a worker that reads it too late finds another serial, not an invalid address.
 * */
struct sn_origin {
	struct sn_thread *thread;
	const struct sn_runtime *runtime;
	_Atomic uint64_t serial; /* odd while the work runs */
	_Atomic bool begun;	 /* the starting thread has begun its own part */
	bool is_open;		 /* it has left the function that started the work; gomp.c */
	uint32_t shadow_depth;
	uintptr_t pc, sp, fp; /* of the code that started the work, after its call */
	uintptr_t python;     /* its PyThreadState, 0 for none */
	uintptr_t self;	      /* its pthread_t */
	struct sn_work work;  /* of the starting thread itself */
	void (*function)(void *);
	void *data;		       /* both for the runtime's adapter */
	struct sn_registers registers; /* of the adapter's frame, one further in than pc */
};

#define SN_ORIGIN_MAX 8u /* nested starts by one thread; further ones are not recorded */

/* Records that the calling thread starts work in `runtime` and waits for it; `frame` is the calling
 * function's frame pointer. NULL if the thread is not measured or the nesting is too deep: then the
 * work is not followed. AS-safe: no. */
struct sn_origin *sn_origin_begin(const struct sn_runtime *runtime, const uintptr_t *frame);
void sn_origin_end(struct sn_origin *origin);
/* Stores the registers that a call preserves, for callers whose unwinding needs them. */
#define SN_ORIGIN_HERE(origin) SN_MACHINE_CAPTURE(&(origin)->registers)

/* The calling thread, inside the runtime's frames of its stack, is about to do its part. */
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
