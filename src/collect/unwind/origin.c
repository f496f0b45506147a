/* SPDX-License-Identifier: Apache-2.0 */
/* Notes which thread started work and which threads work for it; see origin.h. callpath.c reads it.
 */
#include "origin.h"
#include "collect/core/adapter.h"
#include "collect/core/callpath.h"

#include <pthread.h>

/* Forgets starts whose frames are gone by longjmp or an exception. */
static void drop_stale(struct sn_thread *thread, uintptr_t sp)
{
	while (thread->origin_depth && thread->origins[thread->origin_depth - 1].sp <= sp)
		sn_origin_end(&thread->origins[thread->origin_depth - 1]);
}

struct sn_origin *sn_origin_begin(const struct sn_runtime *runtime, const uintptr_t *frame)
{
	struct sn_thread *thread = sn_thread_self();
	uintptr_t sp = (uintptr_t)&frame[2];
	if (!thread || !sn_measuring())
		return NULL;
	drop_stale(thread, sp);
	uint32_t depth = thread->origin_depth;
	if (depth >= SN_ORIGIN_MAX)
		return NULL;
	struct sn_origin *origin = &thread->origins[depth];
	origin->thread = thread;
	origin->runtime = runtime;
	origin->shadow_depth = thread->shadow_depth;
	origin->pc = frame[1];
	origin->sp = sp;
	origin->fp = frame[0];
	origin->python = sn_python_state();
	origin->self = (uintptr_t)pthread_self();
	origin->work = thread->work;
	origin->registers.known = 0;
	origin->is_open = false;
	atomic_store_explicit(&origin->begun, false, memory_order_relaxed);
	/* release: workers that see the serial see the rest; only this thread writes it */
	uint64_t serial = atomic_load_explicit(&origin->serial, memory_order_relaxed);
	atomic_store_explicit(&origin->serial, serial + 1, memory_order_release);
	atomic_signal_fence(memory_order_release);
	thread->origin_depth = depth + 1;
	return origin;
}

void sn_origin_end(struct sn_origin *origin)
{
	struct sn_thread *thread = origin->thread;
	uint64_t serial = atomic_load_explicit(&origin->serial, memory_order_relaxed);
	thread->origin_depth = (uint32_t)(origin - thread->origins);
	atomic_signal_fence(memory_order_release);
	if (serial & 1)
		atomic_store_explicit(&origin->serial, serial + 1, memory_order_release);
}

void sn_origin_work(struct sn_origin *origin)
{
	struct sn_thread *thread = sn_thread_self();
	if (thread == origin->thread) {
		atomic_store_explicit(&origin->begun, true, memory_order_relaxed);
		return;
	}
	if (!thread)
		return;
	/* a sample between two of these stores finds no work */
	thread->work.origin = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	thread->work.serial = atomic_load_explicit(&origin->serial, memory_order_relaxed);
	thread->work.node = SN_NODE_NONE;
	atomic_signal_fence(memory_order_seq_cst);
	thread->work.origin = origin;
}

bool sn_origin_is_runtime(const struct sn_origin *origin, uintptr_t pc)
{
	return (pc >= origin->runtime->start && pc < origin->runtime->end) ||
	       sn_module_is_libc(pc) || sn_module_is_own(pc);
}
