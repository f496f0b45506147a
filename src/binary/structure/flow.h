/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control flow of one function of a CPU binary, recovered from its instructions.
 *
 * Instructions are followed from the function's entry through branches, jump tables
 * (jump_table.h), calls that return, and exceptions that land in the function (landing.h). Code
 * that is not reached (targets of unresolved jumps) is followed afterwards, from the begin of each
 * such range. Jumps to other functions leave; jumps into the function's own split-off parts do not.
 * Overlapping instructions (a jump over a lock prefix) are overlapping blocks.
 *
 * A flow is the memory of one thread, used for one function after another.
 */
#pragma once

#include "flow_graph.h"
#include "landing.h"

/* Larger functions are not analysed: no compiler writes them. */
#define SN_FLOW_BYTES_MAX (16u << 20)
#define SN_FLOW_PARTS_MAX 64

/* A contiguous part of the function; its first byte is at `position` of all parts together. */
struct sn_flow_part {
	uint64_t start, end;
	size_t position;
	const uint8_t *bytes;
	uint32_t function; /* of the code */
	uint32_t first_landing, end_landing;
};

struct sn_flow_call {
	uint64_t at, end; /* the instruction */
	uint64_t target;  /* 0: unknown */
};

struct sn_flow {
	struct sn_flow_graph graph; /* the result; blocks and edges belong to the flow */
	struct sn_flow_part parts[SN_FLOW_PARTS_MAX]; /* the function itself first */
	uint32_t part_count;
	struct sn_flow_call *calls; /* in the order in which they were found */
	uint32_t call_count;
	uint32_t jump_count, unresolved_count; /* indirect jumps, and the unresolved ones */
	bool wants_calls;		       /* set by the caller: fill in `calls` */
	/* Private to flow.c and jump_table.c. */
	struct sn_code *code;
	struct sn_landings landings;
	uint8_t *marks; /* by position */
	size_t size;
	struct sn_flow_jump *jumps;
	struct sn_flow_transfer *transfers;
	struct sn_flow_transfer *origins; /* the same by target, as of the last round */
	uint32_t origin_count, steps_left;
	uint64_t *work;
	uint32_t transfer_count, work_count;
	size_t mark_capacity, jump_capacity, transfer_capacity, work_capacity, block_capacity,
	    edge_capacity, call_capacity, origin_capacity;
	struct sn_jump_decoder *decoder;
	bool failed;
};

/*
 * Recovers the flow of functions[function] of the code, which must be its own owner. A function
 * that is too large has no blocks. SN_ERR_MEMORY or 0.
 */
int sn_flow_build(struct sn_flow *flow, struct sn_code *code, uint32_t function);
void sn_flow_release(struct sn_flow *flow);

/* The block that holds an address, or SN_FLOW_NONE. */
uint32_t sn_flow_block_at(const struct sn_flow *flow, uint64_t address);

/* The function to which the part functions[index] belongs, by its name or its jumps. */
uint32_t sn_flow_owner(const struct sn_code *code, uint32_t index);
