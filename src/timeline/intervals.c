/* SPDX-License-Identifier: Apache-2.0 */
/* A set of intervals, sorted and merged now and then. */
#include "intervals.h"

#include "base/error.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/vec.h"

#include <stdbool.h>

void sn_intervals_release(struct sn_intervals *set)
{
	free(set->items);
	*set = (struct sn_intervals){0};
}

int sn_intervals_add(struct sn_intervals *set, uint64_t start_ns, uint64_t end_ns)
{
	/* a full array is settled before it grows, because merging may make room */
	if (set->count && set->count == set->capacity) {
		sn_intervals_settle(set);
		if (set->count > set->capacity / 2 &&
		    sn_vec_reserve(&set->items, &set->capacity, 2 * set->capacity) < 0)
			return SN_ERR_MEMORY;
	}
	struct sn_interval *last = set->count ? set->items + set->count - 1 : NULL;
	if (end_ns <= start_ns)
		return 0;
	if (last && start_ns <= last->end_ns && start_ns >= last->start_ns) {
		last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
		return 0;
	}
	return sn_vec_push(&set->items, &set->capacity, &set->count,
			   (struct sn_interval){start_ns, end_ns});
}

SN_SORT_BY(sort_by_start, struct sn_interval, const void *, SN_ORDER(a->start_ns, b->start_ns));

static bool is_sorted(const struct sn_intervals *set)
{
	for (size_t i = 1; i < set->count; i++)
		if (set->items[i].start_ns < set->items[i - 1].start_ns)
			return false;
	return true;
}

void sn_intervals_settle(struct sn_intervals *set)
{
	size_t kept = 0;
	if (!set->count)
		return;
	/* they mostly are in order, and sorting takes as much memory again */
	if (!is_sorted(set))
		sort_by_start(set->items, set->count, NULL);
	for (size_t i = 1; i < set->count; i++) {
		struct sn_interval *last = set->items + kept;
		if (set->items[i].start_ns > last->end_ns)
			set->items[++kept] = set->items[i];
		else if (set->items[i].end_ns > last->end_ns)
			last->end_ns = set->items[i].end_ns;
	}
	set->count = kept + 1;
}

size_t sn_intervals_find(const struct sn_intervals *set, uint64_t time_ns)
{
	return sn_search(i, set->count, set->items[i].end_ns <= time_ns);
}

uint64_t sn_intervals_within(const struct sn_intervals *set, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t sum = 0;
	for (size_t i = sn_intervals_find(set, from_ns);
	     i < set->count && set->items[i].start_ns < to_ns; i++)
		sum += sn_interval_length_ns(
		    sn_interval_clip(set->items[i].start_ns, set->items[i].end_ns, from_ns, to_ns));
	return sum;
}
