/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions that devices have completed: the events that the plugin gives the program with an execution call us when
 * they are ready. A device does one execution after the other, so an execution has the device from its call, or from the
 * end of the one before, whichever is later, until its event.
 */
#include "pjrt.h"

#include "collect/core/cells.h"

#define CELLS	(1u << 14)
#define DEVICES 64u /* of a plugin whose last completion is known */
#define UNKNOWN "executable"

struct waiting {
	_Atomic uint32_t free; /* the pool's */
	struct sn_pjrt_execution execution;
};

static struct sn_cells cells = {.bytes = sizeof(struct waiting), .count = CELLS};
static _Atomic uint32_t pending;
static _Atomic uint64_t last_ends[SN_PJRT_PLUGINS][DEVICES];

uint32_t sn_pjrt_pending(void)
{
	return atomic_load_explicit(&pending, memory_order_relaxed);
}

/* When the device could begin. */
static uint64_t start_of(const struct sn_pjrt_execution *execution, uint64_t end_ns)
{
	_Atomic uint64_t *last = &last_ends[execution->number][execution->device % DEVICES];
	uint64_t before = atomic_load_explicit(last, memory_order_relaxed);
	while (before < end_ns &&
	       !atomic_compare_exchange_weak_explicit(last, &before, end_ns, memory_order_relaxed,
						      memory_order_relaxed))
		continue;
	uint64_t start = before > execution->start_ns ? before : execution->start_ns;
	return start < end_ns ? start : end_ns;
}

static void add(const struct sn_pjrt_execution *execution, uint64_t end_ns)
{
	struct sn_gpu_operation done = {.interface = &sn_pjrt_interface,
					.kind = SN_GPU_GRAPH,
					.device = execution->device,
					.correlation = execution->correlation,
					.name = execution->executable ? execution->executable->name
								      : UNKNOWN,
					.end_ns = end_ns};
	sn_gpu_begin_done();
	done.start_ns = start_of(execution, end_ns);
	sn_gpu_done(&done);
	sn_gpu_end_done();
}

/* The event is ready, on a thread of the plugin's or within our own call of it. An execution that has failed has no time. */
static void is_ready(void *error, void *data)
{
	uint64_t now_ns = sn_now_ns();
	struct sn_pjrt_execution execution = ((struct waiting *)data)->execution;
	sn_cells_give(&cells, data);
	atomic_fetch_sub_explicit(&pending, 1, memory_order_relaxed);
	if (!error && sn_measuring())
		add(&execution, now_ns);
	sn_pjrt_function *destroy =
	    error ? sn_pjrt_function_at(execution.plugin, SN_PJRT_AT_ERROR_DESTROY) : NULL;
	if (destroy)
		destroy(&SN_PJRT_NEW(sn_pjrt_object, .object = error));
}

void sn_pjrt_follow(const struct sn_pjrt_execution *execution, void *event)
{
	struct waiting *waiting = sn_cells_take(&cells);
	if (!waiting) {
		sn_drop(NULL, SN_DROP_GPU_LOST, 1);
		return;
	}
	waiting->execution = *execution;
	atomic_fetch_add_explicit(&pending, 1, memory_order_relaxed);
	struct sn_pjrt_on_ready asked =
	    SN_PJRT_NEW(sn_pjrt_on_ready, .event = event, .callback = is_ready, .data = waiting);
	if (sn_pjrt_ask(execution->plugin, SN_PJRT_AT_ON_READY, &asked))
		return;
	sn_cells_give(&cells, waiting);
	atomic_fetch_sub_explicit(&pending, 1, memory_order_relaxed);
	sn_drop(NULL, SN_DROP_GPU_LOST, 1);
}

void sn_pjrt_done_after_fork(void)
{
	atomic_store(&pending, 0);
}
