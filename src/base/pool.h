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
 */
#ifndef SN_BASE_POOL_H
#define SN_BASE_POOL_H

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

#endif
