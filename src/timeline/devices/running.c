/* SPDX-License-Identifier: Apache-2.0 */
/* The operations running on a device, in a heap by their end. */
#include "running.h"

#include "base/heap.h"
#include "base/vec.h"

SN_HEAP(ends, struct sn_running, const void *, a->end_ns < b->end_ns);

void sn_running_release(struct sn_running_set *set)
{
	free(set->heap);
	*set = (struct sn_running_set){0};
}

int sn_running_push(struct sn_running_set *set, const struct sn_operation *operation)
{
	enum sn_device_work work = operation->work;
	if (sn_vec_reserve(&set->heap, &set->capacity, set->count + 1) < 0)
		return SN_ERR_MEMORY;
	ends_push(set->heap, &set->count, (struct sn_running){operation->end_ns, work}, NULL);
	set->counts[work]++;
	set->kinds |= 1u << work;
	return 0;
}

uint64_t sn_running_end_ns(const struct sn_running_set *set)
{
	return set->count ? set->heap[0].end_ns : UINT64_MAX;
}

void sn_running_pass(struct sn_running_set *set, uint64_t time_ns)
{
	set->times_ns[set->kinds] += time_ns - set->now_ns;
	set->now_ns = time_ns;
}

void sn_running_end(struct sn_running_set *set, uint64_t time_ns)
{
	while (set->count && set->heap[0].end_ns <= time_ns) {
		enum sn_device_work work = set->heap[0].work;
		sn_running_pass(set, set->heap[0].end_ns);
		ends_pop(set->heap, &set->count, NULL);
		if (!--set->counts[work])
			set->kinds &= ~(1u << work);
	}
}
