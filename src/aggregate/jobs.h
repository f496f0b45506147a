/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items of work and threads that take them: each takes the next one from a shared counter. The
 * items are large (a file, a profile, a part of the tree), so that a counter is as good as queues
 * that steal from each other.
 */
#ifndef SN_AGGREGATE_JOBS_H
#define SN_AGGREGATE_JOBS_H

#include <stddef.h>

#define SN_JOBS_MAX 256

/* One item. `worker` is below the number of threads; no two items run under one number at once. 0,
 * or a code that ends the work. */
typedef int sn_jobs_work(void *context, unsigned worker, size_t item);

/* Threads that a user's number stands for: 0 is one for each processor. */
unsigned sn_jobs_threads(unsigned wanted);
/* Works all items 0 .. count - 1 with up to `threads` threads, the caller among them. 0 or the
 * first code that an item gave; then items that were not begun are left out. */
int sn_jobs_run(unsigned threads, size_t count, sn_jobs_work *work, void *context);

#endif
