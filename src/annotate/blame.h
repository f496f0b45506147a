/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which instructions the processor waited for, and what may have kept them: guilty until ruled out.
 *
 * A sample is at the instruction that is next when the one before has retired: what was waited for is the one before, along the flow. Samples of a block's first instruction are shared out among the last
 * ones of the blocks before it, by the frequencies of the edges.
 *
 * Time beyond what the issue model explains is put on those causes that the program does not rule out. The tests are those of Anderson et al. (see frequency.h), section 6.3, for processors that
 * execute out of order: an instruction that waits for a load retires as soon as the load has, so a load is to blame for itself.
 */
#pragma once

#include "culprit.h"

#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

struct sn_annotated_function;

/* The code of the image that has samples: more of it than a cache holds can miss there. */
struct sn_blame_footprint {
	size_t lines, pages; /* of 64 and 4,096 bytes */
};

/* Fills in `blame` of each instruction, and the parts of the function; their effects, issues and frequencies are there. Culprits are in `arena`. 0 or SN_ERR_MEMORY. */
int sn_blame_function(struct sn_annotated_function *function,
		      const struct sn_blame_footprint *footprint, struct sn_arena *arena);
