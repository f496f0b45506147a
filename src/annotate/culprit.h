/* SPDX-License-Identifier: Apache-2.0 */
/* What the time of an instruction may have been spent on (blame.h finds it). */
#pragma once

#include <stdint.h>

enum sn_cause {
#define SN_CAUSE(NAME, text) SN_CAUSE_##NAME,
#include "causes.def"
#undef SN_CAUSE
	SN_CAUSE_COUNT
};

/* Parts of the time of an instruction, 0 to 1. */
struct sn_culprit {
	uint8_t cause; /* enum sn_cause, never SN_CAUSE_EXECUTION */
	float min_share,
	    max_share; /* what the program alone proves, and what it does not rule out */
	float share; /* what is likely; those of all, of execution and the unexplained rest are 1 */
};

struct sn_insn_blame {
	double waits;	       /* samples that found it waiting: they are at what follows */
	double cycles;	       /* of an execution, in units of the issue model; NAN unknown */
	double stall;	       /* of these, beyond the least */
	float execution, rest; /* parts of the time: to execute, unexplained */
	const struct sn_culprit *culprits; /* the most likely first; in the annotation's arena */
	uint32_t culprit_count;
};

/* "data cache". */
const char *sn_cause_text(enum sn_cause cause);
