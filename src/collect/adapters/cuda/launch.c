/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From launches to what was done. Launches are kept under their correlation numbers in a table of a fixed size: a number
 * overwrites the one that is a whole table older, whose records have long come. Of each thread's ring the thread itself is
 * the reader, and CUPTI's thread the writer.
 */
#include "cuda.h"

#include "collect/core/lock.h"

#define LAUNCHES  (1u << 17)
#define RING_SIZE (1u << 14)

struct launch {
	/* the correlation number << 32 and the node: one word, so that a reader sees both of one launch */
	_Atomic uint64_t word;
	_Atomic(struct sn_cuda_thread *) state;
};

struct sn_cuda_thread {
	struct sn_thread *thread;
	struct sn_cuda_thread *next; /* of all; set before it is published */
	_Atomic bool ended;
	_Atomic uint32_t head, tail; /* positions, growing for ever */
	struct sn_cuda_operation ring[RING_SIZE];
};

static struct launch launches[LAUNCHES]; /* pages that no launch has touched take no memory */
static _Atomic(struct sn_cuda_thread *) states;

struct sn_cuda_thread *sn_cuda_thread(struct sn_thread *thread)
{
	struct sn_cuda_thread *state = thread->adapters[SN_ADAPTER_SLOT_cuda];
	if (state)
		return state;
	state = sn_pages_map(sizeof(*state));
	if (!state)
		return NULL;
	state->thread = thread;
	state->next = atomic_load_explicit(&states, memory_order_relaxed);
	/* release: complete before other threads find it in the list */
	while (!atomic_compare_exchange_weak_explicit(&states, &state->next, state,
						      memory_order_release, memory_order_relaxed))
		continue;
	thread->adapters[SN_ADAPTER_SLOT_cuda] = state;
	return state;
}

void sn_cuda_launch(struct sn_cuda_thread *state, uint32_t correlation, uint32_t node)
{
	struct launch *launch = &launches[correlation % LAUNCHES];
	/* no number while the rest changes; release: the rest comes before its number */
	atomic_store_explicit(&launch->word, 0, memory_order_relaxed);
	atomic_store_explicit(&launch->state, state, memory_order_release);
	atomic_store_explicit(&launch->word, (uint64_t)correlation << 32 | node,
			      memory_order_release);
}

bool sn_cuda_done(struct sn_cuda_operation *operation)
{
	struct launch *launch = &launches[operation->correlation % LAUNCHES];
	uint64_t word = atomic_load_explicit(&launch->word, memory_order_acquire);
	struct sn_cuda_thread *state = atomic_load_explicit(&launch->state, memory_order_acquire);
	/* the same number before and after: the state is of its launch */
	if (word >> 32 != operation->correlation || !state ||
	    atomic_load_explicit(&launch->word, memory_order_relaxed) != word)
		return false;
	uint32_t tail = atomic_load_explicit(&state->tail, memory_order_relaxed);
	/* acquire: the reader is done with the slot */
	if (tail - atomic_load_explicit(&state->head, memory_order_acquire) >= RING_SIZE)
		return false;
	operation->call = (uint32_t)word;
	state->ring[tail % RING_SIZE] = *operation;
	/* release: the slot before its number */
	atomic_store_explicit(&state->tail, tail + 1, memory_order_release);
	return true;
}

void sn_cuda_collect(struct sn_cuda_thread *state)
{
	uint32_t head = atomic_load_explicit(&state->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&state->tail, memory_order_acquire);
	for (; head != tail; head++)
		sn_cuda_record(state->thread, &state->ring[head % RING_SIZE]);
	atomic_store_explicit(&state->head, head, memory_order_release);
}

/* ---- other threads' ---- */

void sn_cuda_thread_end(struct sn_thread *thread)
{
	struct sn_cuda_thread *state = thread->adapters[SN_ADAPTER_SLOT_cuda];
	if (!state)
		return;
	sn_cuda_collect(state);
	/* release: the ring as this thread left it */
	atomic_store_explicit(&state->ended, true, memory_order_release);
}

/* A record whose thread had ended may be continued by a new one, which takes its ring over. */
void sn_cuda_thread_begin(struct sn_thread *thread)
{
	struct sn_cuda_thread *state = thread->adapters[SN_ADAPTER_SLOT_cuda];
	if (!state)
		return;
	sn_lock_acquire(SN_LOCK_CUDA_ENDED);
	atomic_store_explicit(&state->ended, false, memory_order_relaxed);
	sn_lock_release(SN_LOCK_CUDA_ENDED);
}

static bool has_any(struct sn_cuda_thread *state)
{
	return atomic_load_explicit(&state->head, memory_order_relaxed) !=
	       atomic_load_explicit(&state->tail, memory_order_relaxed);
}

void sn_cuda_collect_all(struct sn_thread *self)
{
	if (!sn_lock_try(SN_LOCK_CUDA_ENDED))
		return;
	struct sn_cuda_thread *state = atomic_load_explicit(&states, memory_order_acquire);
	for (; state; state = state->next) {
		bool ended = atomic_load_explicit(&state->ended, memory_order_acquire);
		if (!has_any(state))
			continue;
		if (ended || state->thread == self) {
			sn_cuda_collect(state);
		} else if (sn_thread_borrow(state->thread)) {
			sn_cuda_collect(state);
			sn_thread_return(state->thread);
		}
	}
	sn_lock_release(SN_LOCK_CUDA_ENDED);
}

void sn_cuda_launches_after_fork(void)
{
	struct sn_cuda_thread *state = atomic_load_explicit(&states, memory_order_relaxed);
	for (; state; state = state->next)
		atomic_store_explicit(&state->head,
				      atomic_load_explicit(&state->tail, memory_order_relaxed),
				      memory_order_relaxed);
}
