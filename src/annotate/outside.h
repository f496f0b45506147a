/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where control enters a function and leaves it, so that what leaves can be taken to return to the entry: then what flows into a block flows out of it.
 *
 * It enters at the entry, and at blocks that nothing else leads to; it leaves at blocks that nothing follows. Blocks that cannot be reached are taken as entered from outside, and those that
 * never end as left to there. Edges of exceptions do not count.
 */
#pragma once

#include "binary/structure/flow_graph.h"

struct sn_outside {
	bool *is_entered, *is_left; /* of each block */
};

/* 0 or SN_ERR_MEMORY; release it in either case. */
int sn_outside_find(struct sn_outside *outside, const struct sn_flow_graph *graph);
void sn_outside_release(struct sn_outside *outside);
