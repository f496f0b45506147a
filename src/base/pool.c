/* SPDX-License-Identifier: Apache-2.0 */
/* Threads around a counter; see pool.h. */
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

struct pool {
	sn_pool_work *work;
	void *context;
	size_t count;
	atomic_size_t next;
	atomic_uint workers;
	atomic_int result;
};

unsigned sn_pool_threads(unsigned wanted)
{
	if (!wanted) {
		/* those that this process may run on: mpirun gives each rank its own */
		cpu_set_t processors;
		long online = sysconf(_SC_NPROCESSORS_ONLN);
		if (!sched_getaffinity(0, sizeof(processors), &processors))
			online = CPU_COUNT(&processors);
		wanted = online > 0 ? (unsigned)online : 1;
	}
	return wanted < SN_POOL_THREADS ? wanted : SN_POOL_THREADS;
}

static void *take_items(void *argument)
{
	struct pool *pool = argument;
	/* relaxed: what an item works on was complete before any thread was started, and is looked
	 * at after all have been joined */
	unsigned worker = atomic_fetch_add_explicit(&pool->workers, 1, memory_order_relaxed);
	while (!atomic_load_explicit(&pool->result, memory_order_relaxed)) {
		size_t item = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
		if (item >= pool->count)
			break;
		int none = 0, result = pool->work(pool->context, worker, item);
		if (result)
			atomic_compare_exchange_strong(&pool->result, &none, result);
	}
	return NULL;
}

int sn_pool_run(unsigned threads, size_t count, sn_pool_work *work, void *context)
{
	struct pool pool = {.work = work, .context = context, .count = count};
	pthread_t started[SN_POOL_THREADS];
	unsigned others = 0;
	while (others + 1 < threads && others + 1 < count && others + 1 < SN_POOL_THREADS &&
	       !pthread_create(started + others, NULL, take_items, &pool))
		others++;
	take_items(&pool);
	while (others)
		pthread_join(started[--others], NULL);
	return atomic_load(&pool.result);
}
