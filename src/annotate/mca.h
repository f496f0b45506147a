/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What llvm-mca says of basic blocks: one process for all of them, which is given their instructions as text and ends within a time limit.
 *
 * It models the processor's units, with all loads in the first cache and all branches foreseen: a lower bound. Each block is repeated, as if it were a loop. Calls are left out. An
 * instruction that it does not know is left out too and keeps the zeroes of what it says of none.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of an instruction, in cycles. */
struct sn_mca_instruction {
	const char *text; /* as AT&T have it; NULL: to be left out. The caller's */
	bool is_known;	  /* the rest is set */
	float head;	  /* that it was the first that had not retired, in the last repetition */
	float wait;	  /* for operands, from when it was dispatched */
	float queue;	  /* with operands, for a unit */
	float latency, parts;
};

struct sn_mca_block {
	struct sn_mca_instruction *instructions; /* the caller's */
	uint32_t count;
	bool is_known;
	float cycles;	/* of one of many repetitions */
	float resource; /* the least that units take for it */
};

/*
 * Fills in what is known of the blocks. NULL, or one line that says why nothing is: no llvm-mca, its limit of time, or its error; it is in the arena, or constant. `cpu` is a name
 * that LLVM knows, NULL: this machine's. `limit_ms` is for all.
 */
const char *sn_mca_ask(struct sn_mca_block *blocks, size_t count, const char *cpu, int limit_ms,
		       struct sn_arena *texts);
