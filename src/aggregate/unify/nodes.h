/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contexts of a merged tree: (parent, frame) to one small number, numbered from 0 in the order
 * they came. What interning (base/intern.h) does for any bytes, for this one key, in a third of the
 * memory and with one cache miss: a large analysis asks this a hundred million times.
 */
#ifndef SN_AGGREGATE_NODES_H
#define SN_AGGREGATE_NODES_H

#include <stddef.h>
#include <stdint.h>

#define SN_NODE_NONE UINT32_MAX

struct sn_merged_node {
	uint32_t parent, frame;
};

struct sn_node_slot {
	struct sn_merged_node key;
	uint32_t number; /* + 1; 0 is free */
};

/* All zeroes is an empty table. */
struct sn_nodes {
	struct sn_merged_node *items;
	struct sn_node_slot *slots;
	uint32_t count, slot_count;
	size_t capacity;
};

void sn_nodes_release(struct sn_nodes *nodes);
/* Its number, new where it is; SN_NODE_NONE without memory. */
uint32_t sn_nodes_add(struct sn_nodes *nodes, struct sn_merged_node node);
/* Its number, or SN_NODE_NONE. MT: any number of threads while nobody adds. */
uint32_t sn_nodes_find(const struct sn_nodes *nodes, struct sn_merged_node node);

#endif
