/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libgomp that start a parallel region. Compilers call them through the linkage
 * table, so this preloaded library's are found first, whatever the libgomp is called: the one of
 * the distribution, or a private copy that a Python wheel brings along. Each records where the
 * region is started and calls the runtime with a body of the adapter, which records for which
 * thread it works and then runs the program's body.
 *
 * The program's function and its data lie in the start's record, which outlives the region: code
 * compiled before GCC 4.9 starts a region and leaves the function while the region still runs.
 */
#include "openmp.h"

#include "collect/intercept/intercept.h"

#define NOINLINE __attribute__((noinline, noclone))

typedef void body(void *);

/* Runs in each thread of the region, on the runtime's stack frames. */
static NOINLINE void run_part(void *data)
{
	struct sn_origin *origin = data;
	sn_origin_work(origin);
	origin->function(origin->data);
	/* no tail call: this frame tells the program's from the runtime's */
	__asm__ volatile("");
}

#define FRAME ((const uintptr_t *)__builtin_frame_address(0))

/*
 * Begins a region: `real` is the runtime's entry point, and where the region can be followed,
 * `function` and `data` become ours. A module may name an entry point weakly and find ours alone:
 * then `otherwise` is done, a region of one thread.
 */
#define BEGIN(entry, otherwise)                                                                    \
	const struct sn_gomp *gomp = sn_gomp_of(function);                                         \
	typeof(entry) *real = gomp ? gomp->entries[SN_##entry] : NULL;                             \
	if (__builtin_expect(!real, 0))                                                            \
		otherwise;                                                                         \
	struct sn_origin *origin = NULL;                                                           \
	if (sn_openmp_wanted() && !gomp->is_ompt)                                                  \
		origin = sn_origin_begin(&gomp->runtime, FRAME);                                   \
	if (origin) {                                                                              \
		SN_ORIGIN_HERE(origin);                                                            \
		origin->function = function;                                                       \
		origin->data = data;                                                               \
		function = run_part;                                                               \
		data = origin;                                                                     \
	}

#define END()                                                                                      \
	do {                                                                                       \
		if (origin)                                                                        \
			sn_origin_end(origin);                                                     \
	} while (0)

/* An entry point that returns when the region is over. */
#define REGION(entry, parameters, arguments)                                                       \
	SN_EXPORT NOINLINE void entry parameters;                                                  \
	void entry parameters                                                                      \
	{                                                                                          \
		BEGIN(entry, return function(data))                                                \
		real arguments;                                                                    \
		END();                                                                             \
	}

REGION(GOMP_parallel, (body * function, void *data, unsigned threads, unsigned flags),
       (function, data, threads, flags))
REGION(GOMP_parallel_sections,
       (body * function, void *data, unsigned threads, unsigned count, unsigned flags),
       (function, data, threads, count, flags))

#define LOOP(entry)                                                                                \
	REGION(entry,                                                                              \
	       (body * function, void *data, unsigned threads, long start, long end, long step,    \
		long chunk, unsigned flags),                                                       \
	       (function, data, threads, start, end, step, chunk, flags))
#define LOOP_RUNTIME(entry)                                                                        \
	REGION(entry,                                                                              \
	       (body * function, void *data, unsigned threads, long start, long end, long step,    \
		unsigned flags),                                                                   \
	       (function, data, threads, start, end, step, flags))

LOOP(GOMP_parallel_loop_static)
LOOP(GOMP_parallel_loop_dynamic)
LOOP(GOMP_parallel_loop_guided)
LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
LOOP(GOMP_parallel_loop_nonmonotonic_guided)
LOOP_RUNTIME(GOMP_parallel_loop_runtime)
LOOP_RUNTIME(GOMP_parallel_loop_nonmonotonic_runtime)
LOOP_RUNTIME(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

SN_EXPORT NOINLINE unsigned GOMP_parallel_reductions(body *function, void *data, unsigned threads,
						     unsigned flags);
unsigned GOMP_parallel_reductions(body *function, void *data, unsigned threads, unsigned flags)
{
	BEGIN(GOMP_parallel_reductions, return (function(data), 1))
	unsigned result = real(function, data, threads, flags);
	END();
	return result;
}

/* ---- before GCC 4.9: start, then the caller runs its part itself, then end ---- */

/* The caller's own part begins as soon as this returns, so the registers here mean nothing then. */
#define START(entry, parameters, arguments)                                                        \
	SN_EXPORT NOINLINE void entry parameters;                                                  \
	void entry parameters                                                                      \
	{                                                                                          \
		BEGIN(entry, return )                                                              \
		if (origin) {                                                                      \
			origin->registers.known = 0;                                               \
			origin->is_open = true;                                                    \
			sn_origin_work(origin);                                                    \
		}                                                                                  \
		real arguments;                                                                    \
	}

START(GOMP_parallel_start, (body * function, void *data, unsigned threads),
      (function, data, threads))
START(GOMP_parallel_sections_start, (body * function, void *data, unsigned threads, unsigned count),
      (function, data, threads, count))

#define LOOP_START(entry)                                                                          \
	START(entry,                                                                               \
	      (body * function, void *data, unsigned threads, long start, long end, long step,     \
	       long chunk),                                                                        \
	      (function, data, threads, start, end, step, chunk))

LOOP_START(GOMP_parallel_loop_static_start)
LOOP_START(GOMP_parallel_loop_dynamic_start)
LOOP_START(GOMP_parallel_loop_guided_start)
START(GOMP_parallel_loop_runtime_start,
      (body * function, void *data, unsigned threads, long start, long end, long step),
      (function, data, threads, start, end, step))

/* Called by the same function that started the region: its start is the innermost one above. */
SN_EXPORT NOINLINE void GOMP_parallel_end(void);
void GOMP_parallel_end(void)
{
	struct sn_thread *thread = sn_thread_self();
	struct sn_origin *origin =
	    thread && thread->origin_depth ? &thread->origins[thread->origin_depth - 1] : NULL;
	bool is_ours = origin && origin->is_open;
	body *function = is_ours ? origin->function : (body *)__builtin_return_address(0);
	const struct sn_gomp *gomp = sn_gomp_of(function);
	void (*real)(void) = gomp ? gomp->entries[SN_GOMP_parallel_end] : NULL;
	if (real)
		real();
	if (is_ours)
		sn_origin_end(origin);
}
