/* SPDX-License-Identifier: Apache-2.0 */
/* What surrounds the instructions of a function: the loop that each is in, what that loop does to registers and memory, and where addresses come from. */
#pragma once

#include "annotate.h"

#include "binary/structure/loop_forest.h"

/* The registers that a loop changes, and by how much where it only steps them. */
struct sn_scene_loop {
	uint64_t written, unsteady;    /* bit r: written at all; otherwise than by steps */
	int64_t step[64];	       /* in a turn */
	uint32_t count, loads, stores; /* instructions; of memory beside the stack */
	bool has_wait, has_call, has_atomic;
};

struct sn_scene {
	const struct sn_annotated_function *function;
	struct sn_loop_forest forest;
	struct sn_scene_loop *loops; /* as in the forest; inner ones count for outer ones, too */
	uint32_t *block_of; /* of each instruction, the first that it is in; SN_FLOW_NONE */
	uint32_t *
	    before; /* of each block, the only one before it in its loop; SN_FLOW_NONE: several, or none */
};

/* Where an address comes from. */
struct sn_scene_source {
	bool is_loaded; /* another load made it */
	bool is_chase;	/* this instruction itself made it, in the turn before */
	bool is_paged;	/* it goes from page to page */
	bool is_spread; /* it goes from line to line */
	bool is_steady; /* it is the same in each turn of the loop */
};

/* 0 or SN_ERR_MEMORY; release it in either case. */
int sn_scene_find(struct sn_scene *scene, const struct sn_annotated_function *function);
void sn_scene_release(struct sn_scene *scene);

/* The innermost loop around an instruction, or NULL. */
const struct sn_scene_loop *sn_scene_loop_at(const struct sn_scene *scene, size_t instruction);
/* Of the memory that an instruction reads or writes. */
struct sn_scene_source sn_scene_source_of(const struct sn_scene *scene, size_t instruction);
/* The instruction that made a value which this one reads, where one way leads back to it, within the loop; SIZE_MAX: none, or far away. `wanted` are registers. */
size_t sn_scene_maker(const struct sn_scene *scene, size_t instruction, uint64_t wanted);
/* The blocks and edges as the graph that other modules take; the caller frees `blocks` and `edges`. Its `blocks` have no more than addresses. 0 or SN_ERR_MEMORY. */
int sn_scene_graph(const struct sn_annotated_function *function, struct sn_flow_graph *graph);
