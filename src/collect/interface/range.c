/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that are open, by the numbers that their interface gives them (NVTX, roctx). */
#include "region.h"

#include "collect/core/thread.h"

bool sn_range_open(struct sn_range_slot *slots, uint64_t id, const char *name, size_t length)
{
	struct sn_range_slot *slot = &slots[id % SN_RANGES];
	struct sn_range range;
	if (atomic_load_explicit(&slot->id, memory_order_acquire)) {
		sn_drop(sn_thread_self(), SN_DROP_REGION_UNBALANCED, 1);
		return false;
	}
	if (!sn_range_begin(&range, name, length))
		return false;
	slot->range = range;
	/* release: the range before its id */
	atomic_store_explicit(&slot->id, id, memory_order_release);
	return true;
}

void sn_range_close(struct sn_range_slot *slots, uint64_t id)
{
	struct sn_range_slot *slot = &slots[id % SN_RANGES];
	if (!id)
		return;
	/* acquire: the range after its id */
	if (atomic_load_explicit(&slot->id, memory_order_acquire) != id) {
		sn_drop(sn_thread_self(), SN_DROP_REGION_UNBALANCED, 1);
		return;
	}
	struct sn_range range = slot->range;
	uint64_t expected = id;
	/* release: read before the slot is free for the next */
	if (atomic_compare_exchange_strong_explicit(&slot->id, &expected, 0, memory_order_release,
						    memory_order_relaxed))
		sn_range_end(&range);
}
