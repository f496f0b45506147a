/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of threads that take items of work from a shared counter. Items are large (a file, a
 * profile, a module), so a counter is as good as work stealing; if their sizes differ much, the
 * largest should come first.
 *
 *	static int read_one(void *context, unsigned worker, size_t item) ...
 *
 *	struct reading reading = {.states = calloc(threads, sizeof(struct state)), ...};
 *	result = sn_pool_run(threads, file_count, read_one, &reading);
 *
 * Data of a thread is in an array of the caller's, at the worker's number. Threads exist as long as
 * the call, which may be nested in an item of another one.
 *
 * And a pipeline: items arrive one after another and pass through stages, each item in a slot of
 * the caller's:
 *
 *	static const struct sn_stage stages[] = {{read_one}, {parse_one, .is_parallel = true}, ...};
 *	result = sn_stages_run(threads, stages, 3, slot_count, &reading);
 *
 * A serial stage works on one item at a time, in the order in which items began; a parallel one on
 * any number. Threads do not belong to stages: a free thread takes any waiting item. Without a
 * lock, a stage sees the stores of earlier stages to the slot, and a serial stage those of its
 * earlier calls. Items are large (some 100 us of work).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SN_POOL_THREADS 256

/* One item. `worker` is below the number of threads; no two items run under one number at once. 0,
 * or a code that ends the work. */
typedef int sn_pool_work(void *context, unsigned worker, size_t item);

/* The number of threads for a user's number: 0 means one for each processor. */
unsigned sn_pool_threads(unsigned wanted);
/* Works all items 0 .. count - 1 with up to `threads` threads, the caller among them. 0 or the
 * first code that an item returned; then items that were not begun are left out. */
int sn_pool_run(unsigned threads, size_t count, sn_pool_work *work, void *context);

#define SN_STAGES_MAX	    4
#define SN_STAGES_SLOTS_MAX 64

/* Result of the first stage: there is no further item. */
#define SN_STAGES_END 1

/* Work on the item in a slot. `worker` is below the number of threads; no two calls run under one
 * number at once. 0, or a negative code that ends the work. */
typedef int sn_stage_work(void *context, unsigned worker, size_t slot);

struct sn_stage {
	sn_stage_work *work;
	bool is_parallel; /* not for the first */
	/* Prefer the worker that ran the stage last, because the stage's data is larger than an
	 * item; else the worker of the item's previous stage is preferred. */
	bool stays;
};

/* Processes items until the first stage has no more and all have passed the last stage, with up to
 * `threads` threads, the caller among them. 0 or the first code that a stage returned. MT: yes. */
int sn_stages_run(unsigned threads, const struct sn_stage *stages, unsigned stage_count,
		  size_t slot_count, void *context);
