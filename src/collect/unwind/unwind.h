/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native call paths of the calling thread, from inside a signal handler, at a few nanoseconds a
 * frame.
 *
 * A frame's rule (how to find its caller) comes from the module's .eh_frame, is compiled once per
 * pc and kept in a direct-mapped cache of the thread. The path that the previous unwind found is
 * kept with the stack slots its return addresses lay in: as soon as the new path meets it and the
 * slots still hold the same addresses, the rest is reused. Code without tables falls back to frame
 * pointers, then to a bounded scan. docs/design/unwinding.md gives reasons and costs.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread itself.
 */
#ifndef SN_COLLECT_UNWIND_H
#define SN_COLLECT_UNWIND_H

#include "unwind/step_row.h"

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#define SN_UNWIND_MAX 1024

struct sn_native_frame {
	uintptr_t pc;
	uintptr_t cfa;	 /* canonical frame address: the stack pointer before the call that made the
			    frame */
	uint32_t module; /* index for sn_module_at, or UINT32_MAX */
	uint32_t flags;	 /* enum sn_native_flags */
};

struct sn_unwind_result {
	uint32_t count;
	bool complete; /* ended at the thread's first frame */
	bool scanned;
	bool mismatch; /* shadow check: the slow way disagreed */
	bool too_deep;
};

/* A thread's caches; opaque but for its size. */
struct sn_unwinder {
	void *state; /* mapped on first use */
};

void sn_unwinder_release(struct sn_unwinder *unwinder);

/* Unwinds the calling thread from `context`, innermost first, into frames[0..max). `stack_low` and
 * `stack_high` bound the thread's own stack (0: unknown); other stacks are read through the
 * kernel, so nothing faults. At most SN_UNWIND_MAX frames. */
struct sn_unwind_result sn_unwind(struct sn_unwinder *unwinder, const ucontext_t *context,
				  uintptr_t stack_low, uintptr_t stack_high,
				  struct sn_native_frame *frames, uint32_t max);

/* As sn_unwind, from the caller of this function, without a ucontext. */
struct sn_unwind_result sn_unwind_here(struct sn_unwinder *unwinder, uintptr_t stack_low,
				       uintptr_t stack_high, struct sn_native_frame *frames,
				       uint32_t max);

/*
 * As sn_unwind_here, for code that waits in another thread: pc, sp and fp are its own, `inner` the
 * registers that a call preserves as they were in the function it called (nothing known: fine for
 * most code). Every read goes through the kernel, so a thread that does not wait after all gives a
 * wrong path and no fault.
 */
struct sn_origin;
struct sn_unwind_result sn_unwind_origin(struct sn_unwinder *unwinder,
					 const struct sn_origin *origin,
					 struct sn_native_frame *frames, uint32_t max);

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
