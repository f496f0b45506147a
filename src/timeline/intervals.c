/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted and joined as they come; see intervals.h. */
#include "intervals.h"

#include "base/error.h"
#include "base/vec.h"

#include <stdbool.h>
#include <string.h>

void sn_intervals_release(struct sn_intervals *set)
{
	free(set->items);
	*set = (struct sn_intervals){0};
}

int sn_intervals_append(struct sn_intervals *set, uint64_t start_ns, uint64_t end_ns)
{
	struct sn_interval *last = set->count ? set->items + set->count - 1 : NULL;
	if (end_ns <= start_ns)
		return 0;
	if (last && start_ns <= last->end_ns && start_ns >= last->start_ns) {
		last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
		return 0;
	}
	if (sn_vec_reserve(&set->items, &set->capacity, set->count + 1) < 0)
		return SN_ERR_MEMORY;
	set->items[set->count++] = (struct sn_interval){start_ns, end_ns};
	return 0;
}

int sn_intervals_add(struct sn_intervals *set, uint64_t start_ns, uint64_t end_ns)
{
	/* a full array is settled before it grows: what overlaps need not be kept */
	if (set->count && set->count == set->capacity) {
		sn_intervals_settle(set);
		if (set->count > set->capacity / 2 &&
		    sn_vec_reserve(&set->items, &set->capacity, 2 * set->capacity) < 0)
			return SN_ERR_MEMORY;
	}
	return sn_intervals_append(set, start_ns, end_ns);
}

static int compare(const void *left, const void *right)
{
	const struct sn_interval *a = left, *b = right;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

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
	/* sorting takes as much memory again, and they mostly are in order */
	if (!is_sorted(set))
		qsort(set->items, set->count, sizeof(*set->items), compare);
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
	size_t low = 0, high = set->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (set->items[middle].end_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* When the set next changes after `now`, of which its interval `at` is the first that ends later;
 * and whether it holds now. */
static uint64_t next_change(const struct sn_intervals *set, size_t at, uint64_t now_ns, bool *holds)
{
	*holds = at < set->count && set->items[at].start_ns <= now_ns;
	if (at == set->count)
		return UINT64_MAX;
	return *holds ? set->items[at].end_ns : set->items[at].start_ns;
}

void sn_intervals_cross(const struct sn_intervals *const *sets, size_t count, uint64_t from_ns,
			uint64_t to_ns, uint64_t *times_ns)
{
	size_t at[SN_INTERVALS_SETS];
	memset(times_ns, 0, sizeof(*times_ns) << count);
	for (size_t i = 0; i < count; i++)
		at[i] = sn_intervals_find(sets[i], from_ns);
	for (uint64_t now = from_ns; now < to_ns;) {
		uint64_t next = to_ns;
		unsigned mask = 0;
		for (size_t i = 0; i < count; i++) {
			bool holds;
			while (at[i] < sets[i]->count && sets[i]->items[at[i]].end_ns <= now)
				at[i]++;
			uint64_t change = next_change(sets[i], at[i], now, &holds);
			mask |= (unsigned)holds << i;
			next = change < next ? change : next;
		}
		times_ns[mask] += next - now;
		now = next;
	}
}

uint64_t sn_intervals_within(const struct sn_intervals *set, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t times[2];
	sn_intervals_cross(&set, 1, from_ns, to_ns, times);
	return times[1];
}
