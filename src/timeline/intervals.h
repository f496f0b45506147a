/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of moments: disjoint intervals in ascending order, and exactly how long which of several
 * sets hold at once. Integers of nanoseconds, so that parts add up to the whole.
 */
#ifndef SN_TIMELINE_INTERVALS_H
#define SN_TIMELINE_INTERVALS_H

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
/* Joins an interval to the set; starts must not descend. 0 or SN_ERR_MEMORY. */
int sn_intervals_append(struct sn_intervals *set, uint64_t start_ns, uint64_t end_ns);
/* The same in any order; sn_intervals_settle must come before any use. Many intervals that touch
 * or overlap cost no memory beyond the set that they make. */
int sn_intervals_add(struct sn_intervals *set, uint64_t start_ns, uint64_t end_ns);
void sn_intervals_settle(struct sn_intervals *set);

enum { SN_INTERVALS_SETS = 5 };
/* times_ns[mask], for 1 << count masks: how much of [from, to) lies in exactly the sets whose bits
 * the mask has. At most SN_INTERVALS_SETS. Costs a binary search and what is in the window. */
void sn_intervals_cross(const struct sn_intervals *const *sets, size_t count, uint64_t from_ns,
			uint64_t to_ns, uint64_t *times_ns);
/* How much of [from, to) is in the set. */
uint64_t sn_intervals_within(const struct sn_intervals *set, uint64_t from_ns, uint64_t to_ns);
/* The first interval that ends after the time; set->count for none. */
size_t sn_intervals_find(const struct sn_intervals *set, uint64_t time_ns);

#endif
