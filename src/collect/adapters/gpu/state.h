/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder know of a thread that uses GPUs. */
#pragma once

#include "queue.h"

#include "collect/core/cct_copy.h"

#define SN_GPU_LEAF_VALUES 8u

/* Where an operation of this kind was added last time: mostly the next is at the same place. */
struct sn_gpu_leaf {
	const char *name;
	uint64_t graph_node;
	uint32_t stream;
	uint32_t call, node; /* node: SN_NODE_ROOT where the leaf is not used */
	uint8_t interface, kind;
	bool is_unplaced; /* of a graph's node whose capture is not known */
	struct sn_cct_value *values[SN_GPU_LEAF_VALUES]; /* at its node, those that it had so far */
};

#define SN_GPU_LEAVES 4096u

/* Where a call of this name was made last time. */
struct sn_gpu_callee {
	const struct sn_gpu_interface *interface; /* NULL where the place is not used */
	const char *name;
	uint32_t path;		   /* the calling one */
	uint32_t id;		   /* of the name */
	uint32_t node;		   /* its own */
	struct sn_cct_value *time; /* at its node, once it has some */
};

#define SN_GPU_CALLEES 128u

/* A launch that is a part of a collective, by the last bits of its number: until its operations come, which a runtime may
 * deliver some thousands of launches later, or another takes its place. */
struct sn_gpu_part {
	const struct sn_gpu_interface *interface; /* NULL where the place is not used */
	uint32_t correlation;
	uint32_t first_message;
	struct sn_gpu_collective of;
};

#define SN_GPU_PARTS	16384u
#define SN_GPU_MESSAGES 4096u

struct sn_gpu_thread {
	struct sn_thread *thread;
	struct sn_gpu_thread *next; /* of all; set before it is published */
	_Atomic bool ended;
	struct sn_gpu_queue queue;
	uint64_t collected_ns; /* when the thread itself last read it */
	struct sn_copy_room copied;
	struct sn_gpu_callee callees[SN_GPU_CALLEES]; /* the thread's own */
	struct sn_gpu_part parts[SN_GPU_PARTS];
	uint32_t
	    message_count; /* noted so far: the last are in `messages`, by the last bits of their number */
	struct sn_gpu_message messages[SN_GPU_MESSAGES];
	struct sn_gpu_leaf leaves[SN_GPU_LEAVES]; /* the thread's, or of who holds its guard */
};

/* A wait or an allocation: no operation, and not lost. AS-safe: yes. MT: yes. */
static inline bool sn_gpu_is_of_host(const struct sn_gpu_operation *operation)
{
	return operation->kind >= SN_GPU_WAIT;
}

/* By what is done where, for tables: the nodes of a graph, whose numbers mostly follow each other, do not displace each other.
 * AS-safe: yes. MT: yes. */
static inline uint32_t sn_gpu_spread(const struct sn_gpu_operation *operation)
{
	uint64_t of_graph = (operation->graph_node >> 32) + operation->call;
	uint64_t mixed = (of_graph << 32 ^ (uintptr_t)operation->name) * 0x9e3779b97f4a7c15u;
	if (operation->graph_node)
		mixed = of_graph * 0x9e3779b97f4a7c15u;
	return (uint32_t)operation->graph_node + (uint32_t)(mixed >> 40);
}

/* The place of a launch's part. AS-safe: yes. MT: the thread, or who holds its guard. */
static inline struct sn_gpu_part *sn_gpu_part_of(struct sn_gpu_thread *state, uint32_t correlation)
{
	return &state->parts[correlation % SN_GPU_PARTS];
}
