/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contexts of a merged tree: (parent, frame) to one small number, from 0 in the order of
 * addition.
 */
#pragma once

#include "base/table.h"
#include "base/vec.h"

#define SN_NODE_NONE SN_TABLE_NONE

struct sn_merged_node {
	uint32_t parent, frame;
};

/* All zeroes is an empty table. */
struct sn_nodes {
	struct sn_merged_node *items;
	size_t capacity;
	uint32_t count;
	struct sn_table table;
};

static inline void sn_nodes_release(struct sn_nodes *nodes)
{
	free(nodes->items);
	sn_table_release(&nodes->table);
	*nodes = (struct sn_nodes){0};
}

/* Its number, added if missing; SN_NODE_NONE without memory. */
static inline uint32_t sn_nodes_add(struct sn_nodes *nodes, struct sn_merged_node node)
{
	if (sn_vec_reserve(&nodes->items, &nodes->capacity, nodes->count + 1ull) < 0)
		return SN_NODE_NONE;
	uint32_t number = sn_table_add(&nodes->table, sn_table_pair(node.parent, node.frame));
	if (number == nodes->count)
		nodes->items[nodes->count++] = node;
	return number;
}

/* Its number, or SN_NODE_NONE. MT: any number of threads while no thread adds. */
static inline uint32_t sn_nodes_find(const struct sn_nodes *nodes, struct sn_merged_node node)
{
	return sn_table_find(&nodes->table, sn_table_pair(node.parent, node.frame));
}
