/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor memory, on request: bytes and number of allocations and releases by context.
 *
 * A release is charged to the context that releases, with the bytes that the allocation had. Those
 * are kept in one table for the process: open addressing with a short fixed window and no deletion
 * marks. Each cell is claimed and given back by one compare-and-swap on its address, and between
 * the two it belongs to whoever holds the memory, so no lock is needed: an address is claimed after
 * the allocator has returned it and given back before the allocator gets it again. A full window
 * leaves the allocation out of the table; its release is then counted as unknown.
 */
#include "torch.h"

#include "collect/interface/monitor.h"
#include "collect/record/trace.h"

#include <errno.h>

#define CELLS	(1u << 18)
#define WINDOW	16u
#define CLAIMED 1u /* no address */

struct cell {
	_Atomic uintptr_t address; /* 0: free */
	size_t bytes;
};

static struct cell *cells;
static uint32_t allocated_metric, released_metric;
/* On the CPU, since measuring began. */
static _Atomic int64_t in_use_bytes;

static uint32_t place_of(uintptr_t address)
{
	return (uint32_t)((address >> 4) * 0x9E3779B97F4A7C15ull >> 46);
}

static struct cell *cell_at(uint32_t place, uint32_t probe)
{
	return &cells[(place + probe) & (CELLS - 1)];
}

static void remember(uintptr_t address, size_t bytes)
{
	uint32_t place = place_of(address);
	for (uint32_t probe = 0; probe < WINDOW; probe++) {
		struct cell *cell = cell_at(place, probe);
		uintptr_t expected = 0;
		/* acquire: the last owner's read of bytes is over before they change */
		if (atomic_load_explicit(&cell->address, memory_order_relaxed) ||
		    !atomic_compare_exchange_strong_explicit(&cell->address, &expected, CLAIMED,
							     memory_order_acquire,
							     memory_order_relaxed))
			continue;
		cell->bytes = bytes;
		atomic_store_explicit(&cell->address, address, memory_order_release);
		return;
	}
}

static bool forget(uintptr_t address, size_t *bytes)
{
	uint32_t place = place_of(address);
	for (uint32_t probe = 0; probe < WINDOW; probe++) {
		struct cell *cell = cell_at(place, probe);
		if (atomic_load_explicit(&cell->address, memory_order_acquire) != address)
			continue;
		*bytes = cell->bytes;
		atomic_store_explicit(&cell->address, 0, memory_order_release);
		return true;
	}
	return false;
}

/* What is in use from now on. */
static void trace(struct sn_thread *thread, uint32_t node, int64_t change)
{
	int64_t before = atomic_fetch_add_explicit(&in_use_bytes, change, memory_order_relaxed);
	struct sn_trace_attribute size = {.key = change < 0 ? SN_TRACE_KEY_RELEASED
							    : SN_TRACE_KEY_ALLOCATED,
					  .value = (uint64_t)(change < 0 ? -change : change)};
	if (sn_trace_wants(SN_TRACE_SOURCE_MEMORY))
		sn_trace_add(thread, &(struct sn_trace_event){.kind = SN_TRACE_COUNTER,
							      .has_stream = true,
							      .stream = SN_TRACE_MEMORY_STREAM,
							      .context = node,
							      .counter = SN_TRACE_TENSOR_MEMORY,
							      .start_ns = sn_now_ns(),
							      .value = before + change,
							      .attributes = &size,
							      .attribute_count = 1});
}

/* `on_host`: of the CPU's memory. */
static void add(uint32_t metric, uint64_t bytes, bool on_host, uintptr_t stack, uintptr_t pc)
{
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return;
	struct sn_torch_thread *self = sn_torch_thread(thread);
	uint32_t node = self ? sn_torch_context(self, stack, pc, false) : SN_NODE_NONE;
	if (node == SN_NODE_NONE || !sn_cct_add(&thread->cct, node, metric, bytes))
		sn_drop(thread, SN_DROP_SAMPLE_MEMORY, 1);
	else if (on_host)
		trace(thread, node, metric == released_metric ? -(int64_t)bytes : (int64_t)bytes);
	sn_leave(thread);
}

/* To tools that listen (sonde/monitor.h). */
static void report(enum sonde_event_kind kind, const void *memory, uint64_t bytes)
{
	if (sn_monitor_wants(SONDE_MEMORY))
		sn_monitor_emit((struct sonde_event){
		    .domain = SONDE_MEMORY, .kind = kind, .id = (uintptr_t)memory, .bytes = bytes});
}

void sn_torch_allocated(const void *memory, size_t bytes, uintptr_t stack, uintptr_t pc)
{
	if (!memory)
		return;
	remember((uintptr_t)memory, bytes);
	add(allocated_metric, bytes, true, stack, pc);
	report(SONDE_MEMORY_ALLOCATED, memory, bytes);
}

void sn_torch_released(const void *memory, uintptr_t stack, uintptr_t pc)
{
	size_t bytes = 0;
	if (!memory)
		return;
	if (forget((uintptr_t)memory, &bytes))
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
	cells = sn_pages_map(CELLS * sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	allocated_metric = sn_metric("tensor-alloc", "bytes", "torch", SN_METRIC_BYTES, 0);
	released_metric = sn_metric("tensor-free", "bytes", "torch", SN_METRIC_BYTES, 0);
	return allocated_metric == SN_ID_NONE || released_metric == SN_ID_NONE ? -ENOSPC : 0;
}
