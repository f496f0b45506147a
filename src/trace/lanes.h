/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assigns intervals to lanes so that those of one lane never overlap: to the lowest lane that is
 * free at the start. Nested calls are then ordered by depth, and concurrent kernels of a stream lie
 * side by side.
 *
 * Intervals must come in order of start, the longer first among equal ones. If no lane is free the
 * interval goes to one more lane, SN_LANES_MAX, in which intervals overlap.
 */
#pragma once

#include <stdint.h>

#define SN_LANES_MAX 128u

struct sn_lanes {
	uint32_t count;
	uint64_t ends_ns[SN_LANES_MAX];
};

static inline uint32_t sn_lanes_place(struct sn_lanes *lanes, uint64_t start_ns, uint64_t end_ns)
{
	uint32_t lane = 0;
	while (lane < lanes->count && lanes->ends_ns[lane] > start_ns)
		lane++;
	if (lane == SN_LANES_MAX)
		return lane;
	if (lane == lanes->count)
		lanes->count++;
	lanes->ends_ns[lane] = end_ns;
	return lane;
}
