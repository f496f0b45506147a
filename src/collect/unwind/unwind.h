/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native call paths of the calling thread, from inside a signal handler, at a few nanoseconds a
 * frame.
 *
 * A frame's rule (how to find its caller) comes from the module's .eh_frame, is compiled once per
 * pc and kept in a direct-mapped cache of the thread. The previous path is kept with the stack
 * slots from which it was computed: as soon as the new path reaches a frame of it and these slots
 * are unchanged, the remaining frames are reused in place, so a deep path costs only its new frames
 * and the comparison. For code without tables, frame pointers are used, then a bounded scan.
 * docs/design/unwinding.md gives reasons and costs.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread itself.
 */
#pragma once

#include "unwind/step_row.h"

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* The whole path, of any length. */
#define SN_UNWIND_ALL UINT32_MAX

struct sn_native_frame {
	uintptr_t pc;
	uintptr_t cfa;	 /* canonical frame address: the stack pointer before the call that made the
			    frame */
	uint32_t module; /* index for sn_module_at, or UINT32_MAX */
	uint32_t flags;	 /* enum sn_native_flags */
};

struct sn_unwind_result {
	const struct sn_native_frame *frames; /* innermost first; until the next unwind */
	uint32_t count;
	/* The number of outermost frames that equal those of the last unwind with is_kept. */
	uint32_t repeated;
	bool is_kept;  /* the next unwind can repeat this one's frames */
	bool complete; /* ended at the thread's first frame */
	bool scanned;
	bool mismatch; /* shadow check: sn_step found another path */
	bool too_deep; /* there are more frames than requested, or than fit in memory */
};

/* A thread's caches; opaque but for its size. */
struct sn_unwinder {
	void *state; /* mapped on first use */
};

void sn_unwinder_release(struct sn_unwinder *unwinder);

/* Unwinds the calling thread from `context`: all frames, or the innermost `max`. `stack_low` and
 * `stack_high` bound the thread's own stack (0: unknown); other stacks are read through the
 * kernel, so nothing faults. */
struct sn_unwind_result sn_unwind(struct sn_unwinder *unwinder, const ucontext_t *context,
				  uintptr_t stack_low, uintptr_t stack_high, uint32_t max);

/* As sn_unwind, from the caller of this function, without a ucontext. */
struct sn_unwind_result sn_unwind_here(struct sn_unwinder *unwinder, uintptr_t stack_low,
				       uintptr_t stack_high, uint32_t max);

/*
 * As sn_unwind_here, for code that waits in another thread: pc, sp and fp are its own, `inner` the
 * call-preserved registers in the function that it called (may be unknown for most code). All
 * memory is read through the kernel, so a thread that does not wait gives a wrong path but no
 * fault.
 */
struct sn_origin;
struct sn_unwind_result sn_unwind_origin(struct sn_unwinder *unwinder,
					 const struct sn_origin *origin);

/* Every unwind is repeated by sn_step and compared (SONDE_SHADOW=1). MT: once, at the start. */
void sn_unwind_set_shadow(bool on);
/* MT: yes. */
bool sn_unwind_shadow(void);
/* Whether frame pointers may lead from one stack to another (as in Go's calls of C); off by
 * default. MT: once, at the start. */
void sn_unwind_set_other_stacks(bool on);
/* Whether the previous path is reused; on by default. For benchmarks. MT: once, at the start.
 */
void sn_unwind_set_reuse(bool on);
