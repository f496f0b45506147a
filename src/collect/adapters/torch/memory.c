/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of tensors, on request: bytes and number of allocations and releases by context.
 *
 * A release is charged to the context that releases, with the size of the allocation. Sizes are
 * kept in one table for the process (word_table.h). An address is added after the allocator has
 * returned it and removed before the allocator gets it back, so only the owner of the memory does
 * either. An allocation that finds no room in the table is not stored; its release is counted as
 * unknown.
 */
#include "torch.h"

#include "collect/core/word_table.h"
#include "collect/interface/monitor.h"
#include "collect/record/trace.h"

#include <errno.h>

#define TABLE_BITS 18u

static struct sn_word_table sizes = {.bits = TABLE_BITS}; /* by address */
static uint32_t allocated_metric, released_metric;
/* On the CPU, since measuring began. */
static _Atomic int64_t in_use_bytes;

/* Records the memory in use after a change. */
static void trace(struct sn_thread *thread, uint32_t node, int64_t change)
{
	int64_t before = atomic_fetch_add_explicit(&in_use_bytes, change, memory_order_relaxed);
	struct sn_trace_attribute size = {.key = change < 0 ? SN_TRACE_KEY_RELEASED
							    : SN_TRACE_KEY_ALLOCATED,
					  .value = (uint64_t)(change < 0 ? -change : change)};
	if (sn_trace_wants(SN_TRACE_SOURCE_MEMORY))
		SN_TRACE_ADD(thread, .kind = SN_TRACE_COUNTER, .has_stream = true,
			     .stream = SN_TRACE_MEMORY_STREAM, .context = node,
			     .counter = SN_TRACE_TENSOR_MEMORY, .start_ns = sn_now_ns(),
			     .value = before + change, .attributes = &size, .attribute_count = 1);
}

/* `on_host`: memory of the CPU. */
static void add(uint32_t metric, uint64_t bytes, bool on_host, uintptr_t stack, uintptr_t pc)
{
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return;
	struct sn_torch_thread *self = sn_torch_thread(thread);
	uint32_t node = self ? sn_context(self->thread, stack, pc, false) : SN_NODE_NONE;
	if (node == SN_NODE_NONE || !sn_cct_add(&thread->cct, node, metric, bytes))
		sn_drop(thread, SN_DROP_SAMPLE_MEMORY, 1);
	else if (on_host)
		trace(thread, node, metric == released_metric ? -(int64_t)bytes : (int64_t)bytes);
	sn_leave(thread);
}

/* Reports to tools that listen (sonde/monitor.h). */
static void report(enum sonde_event_kind kind, const void *memory, uint64_t bytes)
{
	if (sn_monitor_wants(SONDE_MEMORY))
		SN_MONITOR_EMIT(.domain = SONDE_MEMORY, .kind = kind, .id = (uintptr_t)memory,
				.bytes = bytes);
}

void sn_torch_allocated(const void *memory, size_t bytes, uintptr_t stack, uintptr_t pc)
{
	if (!memory)
		return;
	sn_word_add(&sizes, (uintptr_t)memory, bytes);
	add(allocated_metric, bytes, true, stack, pc);
	report(SONDE_MEMORY_ALLOCATED, memory, bytes);
}

void sn_torch_released(const void *memory, uintptr_t stack, uintptr_t pc)
{
	uintptr_t bytes = 0;
	if (!memory)
		return;
	if (sn_word_remove(&sizes, (uintptr_t)memory, &bytes))
		add(released_metric, bytes, true, stack, pc);
	else
		sn_drop(sn_thread_self(), SN_DROP_TENSOR_UNKNOWN, 1);
	report(SONDE_MEMORY_RELEASED, memory, bytes);
}

void sn_torch_reported(int64_t bytes, uintptr_t stack, uintptr_t pc)
{
	add(bytes < 0 ? released_metric : allocated_metric,
	    bytes < 0 ? (uint64_t)-bytes : (uint64_t)bytes, false, stack, pc);
	report(bytes < 0 ? SONDE_MEMORY_RELEASED : SONDE_MEMORY_ALLOCATED, NULL,
	       bytes < 0 ? (uint64_t)-bytes : (uint64_t)bytes);
}

int sn_torch_memory_start(void)
{
	if (!sn_word_prepare(&sizes))
		return -ENOMEM;
	allocated_metric = sn_metric("tensor-alloc", "bytes", "torch", SN_METRIC_BYTES, 0);
	released_metric = sn_metric("tensor-free", "bytes", "torch", SN_METRIC_BYTES, 0);
	return allocated_metric == SN_ID_NONE || released_metric == SN_ID_NONE ? -ENOSPC : 0;
}
