/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who called a backward pass. The engine runs nodes of devices in threads of its own, for which the calling thread waits. What has no
 * forward operator there, such as leaves and the reductions that DistributedDataParallel starts in them, is below that call.
 *
 * A call is known by its graph task, which the engine hands to both. It is entered by the waiting thread, which may leave it by an
 * exception: the next call of the thread then lies no further down on the stack.
 */
#include "torch.h"

#define CALLS 64u /* at a time, of all threads */
#define TAKEN 1u

static struct call {
	_Atomic uintptr_t task; /* 0: free; TAKEN: is being written */
	struct sn_torch_thread *caller;
	uint32_t node; /* in its tree */
	uintptr_t stack;
} calls[CALLS];

static _Atomic uint32_t used; /* so many of them were ever in use */

/* Those that this thread has left by exceptions. */
static void drop_left(const struct sn_torch_thread *self, uintptr_t stack)
{
	uint32_t count = atomic_load_explicit(&used, memory_order_relaxed);
	for (struct call *call = calls; call < calls + count; call++)
		if (atomic_load_explicit(&call->task, memory_order_acquire) > TAKEN &&
		    call->caller == self && call->stack <= stack)
			atomic_store_explicit(&call->task, 0, memory_order_release);
}

static uint32_t claim(void)
{
	for (uint32_t place = 0; place < CALLS; place++) {
		uintptr_t expected = 0;
		if (!atomic_compare_exchange_strong_explicit(&calls[place].task, &expected, TAKEN,
							     memory_order_acquire,
							     memory_order_relaxed))
			continue;
		uint32_t most = atomic_load_explicit(&used, memory_order_relaxed);
		while (most <= place &&
		       !atomic_compare_exchange_weak_explicit(
			   &used, &most, place + 1, memory_order_relaxed, memory_order_relaxed))
			continue;
		return place;
	}
	return CALLS;
}

uint32_t sn_torch_engine_begin(uintptr_t task, uintptr_t stack, uintptr_t pc)
{
	struct sn_thread *thread = task > TAKEN ? sn_enter() : NULL;
	if (!thread)
		return CALLS;
	struct sn_torch_thread *self = sn_torch_thread(thread);
	uint32_t place = CALLS;
	if (self && sn_torch_is_known(self)) {
		drop_left(self, stack);
		uint32_t node = sn_context(self->thread, stack, pc, false);
		place = node == SN_NODE_NONE ? CALLS : claim();
		if (place < CALLS) {
			calls[place].caller = self;
			calls[place].node = node;
			calls[place].stack = stack;
			/* release: the rest before it */
			atomic_store_explicit(&calls[place].task, task, memory_order_release);
		}
	}
	sn_leave(thread);
	return place;
}

void sn_torch_engine_end(uint32_t place)
{
	if (place < CALLS)
		atomic_store_explicit(&calls[place].task, 0, memory_order_release);
}

uint32_t sn_torch_engine_context(struct sn_torch_thread *self, uintptr_t task)
{
	uint32_t count = atomic_load_explicit(&used, memory_order_relaxed);
	for (const struct call *call = calls; task > TAKEN && call < calls + count; call++) {
		if (atomic_load_explicit(&call->task, memory_order_acquire) != task)
			continue;
		const struct sn_torch_thread *caller = call->caller;
		uint32_t node = call->node;
		/* the same before and after: both are of this call */
		atomic_thread_fence(memory_order_acquire);
		if (caller == self ||
		    atomic_load_explicit(&call->task, memory_order_relaxed) != task)
			return SN_NODE_NONE;
		return sn_torch_context_of(self, caller, node);
	}
	return SN_NODE_NONE;
}
