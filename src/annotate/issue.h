/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least time that the instructions of a basic block take, if all loads are in the first cache and all branches foreseen: llvm-mca's (mca.h) where it knows the block, else that of a simple model. It
 * dispatches a few micro-operations a cycle in order, executes each when its operands are there, with as many units as are wanted but one for what is long, and retires in order.
 *
 * Source of the measure: Anderson et al. (see frequency.h), section 6.1.2: M, the cycles that an instruction must at least stand first in the queue.
 */
#pragma once

#include "binary/effect.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SN_ISSUE_WIDTH = 4 }; /* micro-operations that are dispatched and retired in a cycle */

/* Of an instruction, in cycles. */
struct sn_issue {
	float least; /* that it is the first that has not retired */
	float
	    dependency; /* of these, those that it waits for operands that other instructions make */
	float port;	/* ... and for a unit */
	float latency;
};

/* Of a block, in cycles of an execution. */
struct sn_issue_block {
	float parts;	/* micro-operations */
	float loop;	/* where it follows itself */
	float resource; /* of units and dispatch, where nothing waits for operands */
	uint32_t loads,
	    dependent_loads; /* of memory beside the stack; those whose address another load made */
	uint32_t lines,
	    pages; /* loads and stores that go from line to line, and of these from page to page */
};

/* By the simple model; `issues` has `count`. 0 or SN_ERR_MEMORY. */
int sn_issue_block(const struct sn_insn_effect *effects, size_t count, struct sn_issue *issues,
		   struct sn_issue_block *block);
