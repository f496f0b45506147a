/* SPDX-License-Identifier: Apache-2.0 */
/* Threads around a counter, or around stages; see pool.h. */
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

static void *run_items(void *argument)
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
	       !pthread_create(started + others, NULL, run_items, &pool))
		others++;
	run_items(&pool);
	while (others)
		pthread_join(started[--others], NULL);
	return atomic_load(&pool.result);
}

/* ---- stages ---- */

enum { NOBODY = -1 };

struct slot {
	unsigned stage; /* that its item waits for or is in; 0: there is none */
	bool is_busy;
	size_t item;
	int worker; /* that was here last */
};

struct stages {
	const struct sn_stage *stages;
	unsigned stage_count;
	size_t slot_count;
	void *context;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	struct slot slots[SN_STAGES_SLOTS_MAX];
	size_t begun[SN_STAGES_MAX]; /* items, by stage */
	bool is_busy[SN_STAGES_MAX]; /* of stages in order */
	int owners[SN_STAGES_MAX];   /* workers that were the first in a stage */
	size_t items;		     /* between the first stage and the end of the last */
	bool has_ended;		     /* the first stage has no more */
	int result;
};

/* Whether a stage may work on a slot now: on its item, or for the first stage on the next one. */
static bool may_enter(const struct stages *run, unsigned stage, const struct slot *slot)
{
	if (slot->stage != stage || slot->is_busy || (!stage && run->has_ended))
		return false;
	if (run->stages[stage].is_parallel)
		return true;
	return !run->is_busy[stage] && (!stage || slot->item == run->begun[stage]);
}

/* How much of what the stage needs this worker has at hand. */
static unsigned fitness(const struct stages *run, unsigned worker, unsigned stage,
			const struct slot *slot)
{
	int other = run->stages[stage].stays ? run->owners[stage] : slot->worker;
	return other == (int)worker ? 3 : other == NOBODY ? 2 : 1;
}

/* What is most at hand for this worker, and of that the last stage. */
static struct slot *find_work(struct stages *run, unsigned worker, unsigned *found)
{
	unsigned best = 0;
	struct slot *chosen = NULL;
	for (unsigned stage = run->stage_count; stage--;)
		for (size_t i = 0; i < run->slot_count && best < 3; i++) {
			struct slot *slot = run->slots + i;
			unsigned fits = fitness(run, worker, stage, slot);
			if (fits <= best || !may_enter(run, stage, slot))
				continue;
			best = fits;
			chosen = slot;
			*found = stage;
		}
	return chosen;
}

/* The lock is held before and after, not meanwhile. */
static void work(struct stages *run, unsigned worker, unsigned stage, struct slot *slot)
{
	slot->is_busy = run->is_busy[stage] = true;
	slot->worker = (int)worker;
	if (run->owners[stage] == NOBODY)
		run->owners[stage] = (int)worker;
	if (!stage)
		slot->item = run->begun[0];
	run->begun[stage]++;
	run->items += stage == 0;
	pthread_mutex_unlock(&run->lock);
	int result = run->stages[stage].work(run->context, worker, (size_t)(slot - run->slots));
	pthread_mutex_lock(&run->lock);
	bool is_over = result == SN_STAGES_END || stage + 1 == run->stage_count;
	slot->is_busy = run->is_busy[stage] = false;
	slot->stage = is_over ? 0 : stage + 1;
	run->items -= is_over;
	if (result == SN_STAGES_END)
		run->has_ended = true;
	else if (result && !run->result)
		run->result = result;
	pthread_cond_broadcast(&run->changed);
}

static int work_all(void *context, unsigned worker, size_t item)
{
	struct stages *run = context;
	pthread_mutex_lock(&run->lock);
	while (!run->result && !(run->has_ended && !run->items)) {
		unsigned stage;
		struct slot *slot = find_work(run, worker, &stage);
		if (slot)
			work(run, worker, stage, slot);
		else
			pthread_cond_wait(&run->changed, &run->lock);
	}
	pthread_mutex_unlock(&run->lock);
	return 0;
}

int sn_stages_run(unsigned threads, const struct sn_stage *stages, unsigned stage_count,
		  size_t slot_count, void *context)
{
	struct stages run = {
	    .stages = stages,
	    .stage_count = stage_count,
	    .slot_count = slot_count < SN_STAGES_SLOTS_MAX ? slot_count : SN_STAGES_SLOTS_MAX,
	    .context = context,
	    .lock = PTHREAD_MUTEX_INITIALIZER,
	    .changed = PTHREAD_COND_INITIALIZER,
	};
	for (unsigned i = 0; i < stage_count; i++)
		run.owners[i] = NOBODY;
	for (size_t i = 0; i < run.slot_count; i++)
		run.slots[i].worker = NOBODY;
	sn_pool_run(threads, threads, work_all, &run);
	pthread_cond_destroy(&run.changed);
	pthread_mutex_destroy(&run.lock);
	return run.result;
}
