/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native call paths of the calling thread, from inside a signal handler, at a few nanoseconds a
 * frame.
 *
 * A frame's rule (how to find its caller) comes from the module's .eh_frame, is compiled once per
 * pc and kept in a direct-mapped cache of the thread. The path that the previous unwind found is
 * kept with the stack slots its return addresses lay in: as soon as the new path meets it and the
 * slots still hold the same addresses, the rest is reused where it lies, so that a deep path costs
 * what is new of it, and the comparison. Code without tables falls back to frame pointers, then to a
 * bounded scan. docs/design/unwinding.md gives reasons and costs.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread itself.
 */
#ifndef SN_COLLECT_UNWIND_H
#define SN_COLLECT_UNWIND_H

#include "unwind/step_row.h"

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* The whole path, however long. */
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
	/* The outermost frames that are those of the last unwind that said is_kept. */
	uint32_t repeated;
	bool is_kept;  /* the next unwind can repeat this one's frames */
	bool complete; /* ended at the thread's first frame */
	bool scanned;
	bool mismatch; /* shadow check: the slow way disagreed */
	bool too_deep; /* there are more frames than were asked for, or than there is memory for */
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
 * registers that a call preserves as they were in the function it called (nothing known: fine for
 * most code). Every read goes through the kernel, so a thread that does not wait after all gives a
 * wrong path and no fault.
 */
struct sn_origin;
struct sn_unwind_result sn_unwind_origin(struct sn_unwinder *unwinder,
					 const struct sn_origin *origin);

/* Every unwind is repeated the slow, sure way and compared (SONDE_SHADOW=1). MT: once, at the
 * start. */
void sn_unwind_set_shadow(bool on);
/* MT: yes. */
bool sn_unwind_shadow(void);
/* Whether frame pointers may lead from a thread's stack to another (Go calls C so); off by
 * default. MT: once, at the start. */
void sn_unwind_set_other_stacks(bool on);
/* Whether the previous path is made use of; on by default. For measuring. MT: once, at the start.
 */
void sn_unwind_set_reuse(bool on);

#endif
