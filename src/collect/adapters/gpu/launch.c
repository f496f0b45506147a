/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From launches to what was done. Of each thread's queue the thread itself is the reader, and whoever holds the lock of
 * finished operations the writer.
 */
#include "gather.h"
#include "state.h"

#include "collect/core/lock.h"

#include <string.h>

static _Atomic(struct sn_gpu_thread *) states;

struct sn_gpu_thread *sn_gpu_thread(struct sn_thread *thread)
{
	struct sn_gpu_thread *state = thread->adapters[SN_ADAPTER_SLOT_gpu];
	if (state)
		return state;
	state = sn_pages_map(sizeof(*state));
	if (!state || !sn_gpu_queue_init(&state->queue)) {
		sn_pages_unmap(state, sizeof(*state));
		return NULL;
	}
	state->thread = thread;
	state->next = atomic_load_explicit(&states, memory_order_relaxed);
	/* release: complete before other threads find it in the list */
	while (!atomic_compare_exchange_weak_explicit(&states, &state->next, state,
						      memory_order_release, memory_order_relaxed))
		continue;
	thread->adapters[SN_ADAPTER_SLOT_gpu] = state;
	return state;
}

/* Of several readings, by that which took least. */
uint64_t sn_gpu_clock_offset(int (*read)(uint64_t *now))
{
	uint64_t best = 0, least = UINT64_MAX, theirs = 0;
	for (int round = 0; round < 4; round++) {
		uint64_t before = sn_now_ns();
		if (read(&theirs))
			continue;
		uint64_t took = sn_now_ns() - before;
		if (took < least) {
			least = took;
			best = before + took / 2 - theirs;
		}
	}
	return best;
}

#define EXPECTATION ((uintptr_t)3) /* its bits */

/* The place of a number; NULL where nothing was launched, or without memory. */
static struct sn_gpu_launch *launch_at(struct sn_gpu_interface *interface, uint32_t correlation)
{
	struct sn_gpu_launch *all =
	    atomic_load_explicit(&interface->launches, memory_order_acquire);
	return all ? &all[correlation % SN_GPU_LAUNCHES] : NULL;
}

void sn_gpu_launch(struct sn_gpu_interface *interface, struct sn_gpu_thread *state,
		   uint32_t correlation, uint32_t node, enum sn_gpu_expectation expected)
{
	struct sn_gpu_launch *all =
	    sn_pages_once(&interface->launches, SN_GPU_LAUNCHES * sizeof(*all));
	if (!all)
		return;
	struct sn_gpu_launch *launch = &all[correlation % SN_GPU_LAUNCHES];
	/* no number while the rest changes; release: the rest comes before its number */
	atomic_store_explicit(&launch->word, 0, memory_order_relaxed);
	atomic_store_explicit(&launch->state, (uintptr_t)state | expected, memory_order_release);
	atomic_store_explicit(&launch->word, (uint64_t)correlation << 32 | node,
			      memory_order_release);
}

void sn_gpu_expect_none(struct sn_gpu_interface *interface, uint32_t correlation)
{
	struct sn_gpu_launch *launch = launch_at(interface, correlation);
	if (!launch || !correlation ||
	    atomic_load_explicit(&launch->word, memory_order_relaxed) >> 32 != correlation)
		return;
	uintptr_t state = atomic_load_explicit(&launch->state, memory_order_relaxed);
	/* unless another launch has taken its place */
	if (state & EXPECTATION)
		atomic_compare_exchange_strong_explicit(&launch->state, &state,
							state & ~EXPECTATION, memory_order_relaxed,
							memory_order_relaxed);
}

uint64_t sn_gpu_expected(struct sn_gpu_interface *interface, enum sn_gpu_expectation least)
{
	uint64_t count = 0, unplaced = 0;
	const struct sn_gpu_launch *all = launch_at(interface, 0);
	for (uint32_t index = 0; all && index < SN_GPU_LAUNCHES; index++)
		count += (atomic_load_explicit(&all[index].state, memory_order_relaxed) &
			  EXPECTATION) >= least;
	for (uint32_t expected = least; expected <= SN_GPU_CERTAIN; expected++)
		unplaced +=
		    atomic_load_explicit(&interface->unplaced[expected], memory_order_relaxed);
	return count > unplaced ? count - unplaced : 0;
}

static void lose(struct sn_gpu_interface *interface, uint64_t count,
		 enum sn_gpu_expectation expected)
{
	if (!count)
		return;
	atomic_fetch_add_explicit(&interface->unplaced[expected], count, memory_order_relaxed);
	sn_drop(NULL, SN_DROP_GPU_LOST, count);
}

void sn_gpu_lose(struct sn_gpu_interface *interface, uint64_t count)
{
	lose(interface, count, SN_GPU_CERTAIN);
}

void sn_gpu_begin_done(void)
{
	sn_lock_acquire(SN_LOCK_GPU_DONE);
}

void sn_gpu_end_done(void)
{
	sn_gpu_gather_flush();
	sn_lock_release(SN_LOCK_GPU_DONE);
}

void sn_gpu_lose_operation(const struct sn_gpu_operation *operation)
{
	if (!sn_gpu_is_of_host(operation))
		lose(operation->interface, 1,
		     operation->kind == SN_GPU_KERNEL ? SN_GPU_CERTAIN : SN_GPU_PROBABLE);
}

bool sn_gpu_launch_of(struct sn_gpu_interface *interface, uint32_t correlation,
		      struct sn_gpu_place *place)
{
	static const struct sn_gpu_launch none;
	const struct sn_gpu_launch *found = launch_at(interface, correlation),
				   *launch = found ? found : &none;
	uint64_t word = atomic_load_explicit(&launch->word, memory_order_acquire);
	uintptr_t tagged = atomic_load_explicit(&launch->state, memory_order_acquire);
	*place = (struct sn_gpu_place){.state = (struct sn_gpu_thread *)(tagged & ~EXPECTATION),
				       .call = (uint32_t)word};
	/* the same number before and after: the state is of its launch */
	return correlation && word >> 32 == correlation && place->state &&
	       atomic_load_explicit(&launch->word, memory_order_relaxed) == word;
}

void sn_gpu_done(struct sn_gpu_operation *operation)
{
	struct sn_gpu_place place;
	if (!sn_gpu_launch_of(operation->interface, operation->correlation, &place)) {
		sn_gpu_lose_operation(operation);
		return;
	}
	/* what the call did on the host says nothing of what it launched */
	if (!sn_gpu_is_of_host(operation))
		sn_gpu_expect_none(operation->interface, operation->correlation);
	operation->call = place.call;
	sn_gpu_gather(place.state, operation);
}

struct sn_gpu_thread *sn_gpu_any_thread(void)
{
	return atomic_load_explicit(&states, memory_order_acquire);
}

static void collect(struct sn_gpu_thread *state)
{
	const struct sn_gpu_operation *operation;
	while ((operation = sn_gpu_queue_first(&state->queue))) {
		sn_gpu_record(state, operation);
		sn_gpu_queue_pass(&state->queue);
	}
}

/* So many at a time: where each is read as it comes, both sides wait for each other's processor. */
#define MANY	64u
/* Unless they are few: those of a program that is killed are in its last checkpoint. */
#define SOON_NS 50000000u

void sn_gpu_collect_many(struct sn_gpu_thread *state, uint64_t now_ns)
{
	if (sn_gpu_queue_count(&state->queue) < MANY && now_ns - state->collected_ns < SOON_NS)
		return;
	state->collected_ns = now_ns;
	collect(state);
}

/* ---- other threads' ---- */

static void gpu_thread_end(struct sn_thread *thread)
{
	struct sn_gpu_thread *state = thread->adapters[SN_ADAPTER_SLOT_gpu];
	if (!state)
		return;
	collect(state);
	/* release: the queue as this thread left it */
	atomic_store_explicit(&state->ended, true, memory_order_release);
}

/* A record whose thread had ended may be continued by a new one, which takes its queue over. */
static void gpu_thread_begin(struct sn_thread *thread)
{
	struct sn_gpu_thread *state = thread->adapters[SN_ADAPTER_SLOT_gpu];
	if (!state)
		return;
	sn_lock_acquire(SN_LOCK_GPU_THREADS);
	atomic_store_explicit(&state->ended, false, memory_order_relaxed);
	sn_lock_release(SN_LOCK_GPU_THREADS);
}

void sn_gpu_collect_all(struct sn_thread *self)
{
	if (!sn_lock_try(SN_LOCK_GPU_THREADS))
		return;
	struct sn_gpu_thread *state = atomic_load_explicit(&states, memory_order_acquire);
	for (; state; state = state->next) {
		bool ended = atomic_load_explicit(&state->ended, memory_order_acquire);
		if (!sn_gpu_queue_count(&state->queue))
			continue;
		if (ended || state->thread == self) {
			collect(state);
		} else if (sn_thread_borrow(state->thread)) {
			collect(state);
			sn_thread_return(state->thread);
		}
	}
	sn_lock_release(SN_LOCK_GPU_THREADS);
}

/* What has come is the parent's. */
static void gpu_after_fork(void)
{
	struct sn_gpu_thread *state = atomic_load_explicit(&states, memory_order_relaxed);
	sn_gpu_gather_forget();
	for (; state; state = state->next) {
		while (sn_gpu_queue_first(&state->queue))
			sn_gpu_queue_pass(&state->queue);
		/* so are the values at the leaves and calls */
		memset(state->leaves, 0, sizeof(state->leaves));
		memset(state->callees, 0, sizeof(state->callees));
	}
}

/* No runtime of its own: adapters of GPUs use it. */
const struct sn_adapter sn_adapter_gpu = {
    .name = "gpu",
    .after_fork = gpu_after_fork,
    .thread_begin = gpu_thread_begin,
    .thread_end = gpu_thread_end,
};
