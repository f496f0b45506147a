/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the nodes of graphs come from: the call that captured each, whose path a replayed node has beside that of the replay.
 *
 * Nodes are known by the numbers that their runtime gives them, each once in a process. Those that were made last are kept
 * (SN_GPU_CAPTURES of them), also when their graph is no more, for its operations may be reported later. No lock.
 *
 * All functions here: AS-safe: no. MT: yes.
 */
#pragma once

#include "gpu.h"

#define SN_GPU_CAPTURES (1u << 18)

/* Zero at first, so that pages that no node has touched take no memory. */
struct sn_gpu_capture {
	_Atomic uint64_t node; /* 0: none; 1: is being written */
	_Atomic uint64_t path; /* the capturing thread's number << 32, and the call in its tree */
};

/* The call that the calling thread is in makes this node. Nothing where the thread is in none, or the node is known. */
void sn_gpu_capture_made(struct sn_gpu_interface *interface, uint64_t node);
/* `node` is a copy of `original`: it was captured where that was. */
void sn_gpu_capture_copied(struct sn_gpu_interface *interface, uint64_t node, uint64_t original);

/*
 * The node below which a replayed node's operation belongs, in the tree of the thread that launched its graph: below the launch a
 * region "[as captured]", and below that the path of the call that captured it, without what it has in common with the launch's.
 * The launch itself where the capture is not known, SN_NODE_NONE without memory. Between sn_enter and sn_leave.
 */
uint32_t sn_gpu_capture_path(struct sn_gpu_thread *state, const struct sn_gpu_operation *operation);
