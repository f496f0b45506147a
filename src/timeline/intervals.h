/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of moments: disjoint intervals in ascending order. Integers of nanoseconds, so that parts
 * add up to the whole.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sn_interval {
	uint64_t start_ns, end_ns;
};

/* All zeroes is the empty set. */
struct sn_intervals {
	struct sn_interval *items;
	size_t count, capacity;
};

void sn_intervals_release(struct sn_intervals *set);
/* Adds an interval, in any order; sn_intervals_settle must come before any use. Many intervals that
 * touch or overlap cost no memory beyond the set that they make. 0 or SN_ERR_MEMORY. */
int sn_intervals_add(struct sn_intervals *set, uint64_t start_ns, uint64_t end_ns);
void sn_intervals_settle(struct sn_intervals *set);

/* How much of [from, to) is in the set: a binary search and what is in the window. */
uint64_t sn_intervals_within(const struct sn_intervals *set, uint64_t from_ns, uint64_t to_ns);
/* The first interval that ends after the time; set->count for none. */
size_t sn_intervals_find(const struct sn_intervals *set, uint64_t time_ns);

/* The part of [start, end) that lies in [from, to); empty if its end is its start. */
static inline struct sn_interval sn_interval_clip(uint64_t start_ns, uint64_t end_ns,
						  uint64_t from_ns, uint64_t to_ns)
{
	uint64_t start = start_ns > from_ns ? start_ns : from_ns;
	uint64_t end = end_ns < to_ns ? end_ns : to_ns;
	return (struct sn_interval){start, end > start ? end : start};
}

static inline uint64_t sn_interval_length_ns(struct sn_interval interval)
{
	return interval.end_ns - interval.start_ns;
}
