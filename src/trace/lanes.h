/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lane an interval goes to, so that those of one lane never overlap: the lowest that is free
 * when it starts. Nested calls come out by depth; concurrent kernels of a stream side by side.
 *
 * Intervals must come in order of start, the longer first among equal ones. What finds no lane
 * free goes to one lane more, SN_LANES_MAX, in which intervals overlap.
 */
#ifndef SN_TRACE_LANES_H
#define SN_TRACE_LANES_H

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

#endif
