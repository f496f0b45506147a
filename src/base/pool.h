/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items of work and threads that take them: each takes the next one from a shared counter. The
 * items are large (a file, a profile, a module), so that a counter is as good as queues that steal
 * from each other; where they differ much, the largest should come first.
 *
 *	static int read_one(void *context, unsigned worker, size_t item) ...
 *
 *	struct reading reading = {.states = calloc(threads, sizeof(struct state)), ...};
 *	result = sn_pool_run(threads, file_count, read_one, &reading);
 *
 * What a thread needs for itself lies in an array of the caller's, at the worker's number. Threads
 * live as long as the call, which may be made by an item of another one.
 *
 * And a pipeline, whose items come one after the other and go through stages, each in a slot of the
 * caller's:
 *
 *	static const struct sn_stage stages[] = {{read_one}, {parse_one, .is_parallel = true}, ...};
 *	result = sn_stages_run(threads, stages, 3, slot_count, &reading);
 *
 * A stage in order works on one item at a time, in the order in which they began; a parallel one on
 * any number of them. No thread belongs to a stage: whoever is free works on what it has at hand.
 * What a stage has done to a slot, and a stage in order to what it alone uses, is seen by the next
 * one that works on it, without a lock. Items are large (some 100 us of work).
 */
#ifndef SN_BASE_POOL_H
#define SN_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>

#define SN_POOL_THREADS 256

/* One item. `worker` is below the number of threads; no two items run under one number at once. 0,
 * or a code that ends the work. */
typedef int sn_pool_work(void *context, unsigned worker, size_t item);

/* Threads that a user's number stands for: 0 is one for each processor. */
unsigned sn_pool_threads(unsigned wanted);
/* Works all items 0 .. count - 1 with up to `threads` threads, the caller among them. 0 or the
 * first code that an item gave; then items that were not begun are left out. */
int sn_pool_run(unsigned threads, size_t count, sn_pool_work *work, void *context);

#define SN_STAGES_MAX	    4
#define SN_STAGES_SLOTS_MAX 64

/* Of the first stage: there was no further item. */
#define SN_STAGES_END 1

/* Work on the item in a slot. `worker` is below the number of threads; no two calls run under one
 * number at once. 0, or a negative code that ends the work. */
typedef int sn_stage_work(void *context, unsigned worker, size_t slot);

struct sn_stage {
	sn_stage_work *work;
	bool is_parallel; /* not for the first */
	/* What the stage itself keeps is more than what an item is: the worker that had the item
	 * before it is preferred, stays: the one that worked the stage before is. */
	bool stays;
};

/* Works items until the first stage has none and all have passed the last, with up to so many
 * threads, the caller among them. 0 or the first code that a stage gave. MT: yes. */
int sn_stages_run(unsigned threads, const struct sn_stage *stages, unsigned stage_count,
		  size_t slot_count, void *context);

#endif
