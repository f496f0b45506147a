/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of PC share: pc.c finds the edges, direct.c directs them. */
#pragma once

#include "pc.h"

/* Of one thread: rows of numbers, one for each variable, and a row of bits. */
struct sn_pc_worker {
	struct sn_independence test;
	uint32_t *among, *places, *given;
	uint32_t *holding; /* of each variable: separating sets that it is in */
	uint64_t *is_among;
};

struct sn_pc_run {
	struct sn_pc *pc;
	const struct sn_pc_options *options;
	uint32_t count;
	struct sn_pc_worker *workers;
};

/* Into worker->among those that may be held to separate `of` from `from`: adjacent to `of`, and not known not to cause it. Their number. */
uint32_t sn_pc_among(const struct sn_pc_run *run, struct sn_pc_worker *worker, uint32_t of,
		     uint32_t from);
/* Directs the edges of a skeleton. 0 or SN_ERR_MEMORY. */
int sn_pc_direct(struct sn_pc_run *run);
