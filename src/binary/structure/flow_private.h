/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by flow.c and jump_table.c; see flow.h. */
#pragma once

#include "flow.h"

/* An indirect jump. */
struct sn_flow_jump {
	uint64_t at;
	uint64_t table,
	    target; /* what it jumps through; 0 unknown. Set if it leads to all of them */
	uint8_t try_count;
	bool is_resolved;
};

/* A transfer of control: from a branch, jump or throwing call to its target. */
struct sn_flow_transfer {
	uint64_t from, to;
	bool is_throw;
};

/* Marks of the byte at a position: the low bits are the length of the instruction there. */
enum {
	MARK_LENGTH = 0x0f,
	MARK_BLOCK = 0x10,  /* begins a block */
	MARK_ENDS = 0x20,   /* control never continues with the next instruction */
	MARK_SPLITS = 0x40, /* it ends a block */
	MARK_DATA = 0x80,   /* not decodable */
};

/* The position of an address, or SIZE_MAX outside of all parts; *part may be NULL. */
size_t sn_flow_position(const struct sn_flow *flow, uint64_t address,
			const struct sn_flow_part **part);

/* The same of a jump's target; adds the split-off part that it may lie in to the flow. */
size_t sn_flow_target_position(struct sn_flow *flow, uint64_t target);

/* The first of the origins of `to`: instructions that jump there, as of the last round. */
uint32_t sn_flow_origins_of(const struct sn_flow *flow, uint64_t to);
