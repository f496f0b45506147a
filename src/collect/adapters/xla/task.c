/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread hands to a pool of threads is done below the path of that thread: parts of a
 * computation below the computation, compilation below the line that first called the function. Such
 * a task is put into a cell together with the context, and the pool gets a task that runs the
 * cell's.
 *
 * A std::function of libstdc++ may be moved by copying its bytes, which is how it moves itself.
 */
#include "xla.h"

#include "collect/core/callpath.h"
#include "collect/core/cells.h"

#include <string.h>

enum { GET_TYPE, GET_POINTER, CLONE, DESTROY }; /* what a manager is asked for */

struct cell {
	_Atomic uint32_t free; /* the pool's */
	_Atomic uint32_t users;
	struct sn_xla_task task;
	struct sn_xla_context context;
};

static struct sn_cells cells = {.bytes = sizeof(struct cell), .count = 1u << 14};

static uint32_t begin_part(const struct cell *cell, uintptr_t stack)
{
	uint32_t token = SN_XLA_NOT_PUSHED;
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return token;
	struct sn_xla_thread *self = sn_xla_thread(thread);
	uint32_t node = self ? sn_xla_own_context(self, cell->context) : SN_NODE_NONE;
	if (node != SN_NODE_NONE && node != SN_NODE_ROOT) {
		const struct sn_cct_node *whole = sn_array_at(&thread->cct.nodes, node);
		sn_xla_drop_stale(thread, stack);
		token = thread->shadow_depth;
		struct sn_shadow *shadow = sn_shadow_push(thread, &whole->record.frame, stack);
		if (shadow) {
			shadow->user = SN_XLA_PART;
			shadow->prefix = whole->record.parent;
		}
	}
	sn_leave(thread);
	return token;
}

static __attribute__((noinline, noclone)) void run(void *words)
{
	struct cell *cell = *(struct cell **)words;
	uint32_t token = begin_part(cell, SN_CALLER_STACK);
	cell->task.invoker(cell->task.words);
	sn_xla_pop(token);
}

/* A copy that shares what it runs where there is no cell for its own. */
static struct cell *clone(struct cell *cell)
{
	struct cell *made = sn_cells_take(&cells);
	if (!made) {
		atomic_fetch_add(&cell->users, 1);
		return cell;
	}
	made->task.manager = cell->task.manager;
	made->task.invoker = cell->task.invoker;
	made->context = cell->context;
	atomic_store(&made->users, 1);
	cell->task.manager(made->task.words, cell->task.words, CLONE);
	return made;
}

static void *manage(void *to, const void *from, int operation)
{
	struct cell *cell = *(struct cell *const *)(operation == DESTROY ? to : from);
	switch (operation) {
	case CLONE:
		*(struct cell **)to = clone(cell);
		return NULL;
	case DESTROY:
		if (atomic_fetch_sub(&cell->users, 1) == 1) {
			cell->task.manager(cell->task.words, cell->task.words, DESTROY);
			sn_cells_give(&cells, cell);
		}
		return NULL;
	default:
		return cell->task.manager(to, cell->task.words, operation);
	}
}

/* Where the calling thread is; what runs no Python, and nothing for a thread that does, has no
 * context worth following. */
static uint32_t context_here(struct sn_thread *thread)
{
	const struct sn_xla_thread *self = thread->adapters[SN_ADAPTER_SLOT_xla];
	const struct sn_shadow *top = sn_shadow_top(thread);
	if (top && top->user == SN_XLA_CALL && self)
		return self->call_node;
	if (top && sn_xla_is_ours(top))
		return top->prefix == SN_NODE_NONE
			   ? SN_NODE_NONE
			   : sn_cct_child(&thread->cct, top->prefix, &top->frame);
	return sn_python_state() ? sn_callpath(thread, NULL, 0) : SN_NODE_NONE;
}

void sn_xla_task_follow(struct sn_xla_task *task)
{
	struct sn_thread *thread = task->manager && task->invoker ? sn_enter() : NULL;
	if (!thread)
		return;
	uint32_t node = context_here(thread);
	struct cell *cell = node == SN_NODE_NONE ? NULL : sn_cells_take(&cells);
	if (cell) {
		cell->task = *task;
		cell->context = (struct sn_xla_context){thread->index, node};
		atomic_store_explicit(&cell->users, 1, memory_order_relaxed);
		*task = (struct sn_xla_task){{(uintptr_t)cell, 0}, manage, run};
	}
	sn_leave(thread);
}
