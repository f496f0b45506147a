/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with the keys in the table; see nodes.h. */
#include "nodes.h"

#include "base/vec.h"

#include <stdlib.h>

void sn_nodes_release(struct sn_nodes *nodes)
{
	free(nodes->items);
	free(nodes->slots);
	*nodes = (struct sn_nodes){0};
}

/* The slot that holds the node, or the free one where it belongs. */
static struct sn_node_slot *probe(const struct sn_nodes *nodes, struct sn_merged_node node)
{
	uint64_t hash = ((uint64_t)node.parent << 32 | node.frame) * 0x9FB21C651E98DF25ull;
	uint32_t mask = nodes->slot_count - 1, slot = (uint32_t)(hash >> 32) & mask;
	for (;; slot = (slot + 1) & mask) {
		struct sn_node_slot *at = nodes->slots + slot;
		if (!at->number || (at->key.parent == node.parent && at->key.frame == node.frame))
			return at;
	}
}

static int grow(struct sn_nodes *nodes)
{
	struct sn_nodes larger = {.slot_count = nodes->slot_count ? 2 * nodes->slot_count : 64};
	larger.slots = larger.slot_count ? calloc(larger.slot_count, sizeof(*larger.slots)) : NULL;
	if (!larger.slots)
		return -1;
	for (uint32_t i = 0; i < nodes->count; i++)
		*probe(&larger, nodes->items[i]) = (struct sn_node_slot){nodes->items[i], i + 1};
	free(nodes->slots);
	nodes->slots = larger.slots;
	nodes->slot_count = larger.slot_count;
	return 0;
}

uint32_t sn_nodes_add(struct sn_nodes *nodes, struct sn_merged_node node)
{
	/* at most two thirds full */
	if (nodes->count >= nodes->slot_count / 3 * 2 && grow(nodes) < 0)
		return SN_NODE_NONE;
	struct sn_node_slot *slot = probe(nodes, node);
	if (slot->number)
		return slot->number - 1;
	if (sn_vec_reserve(&nodes->items, &nodes->capacity, nodes->count + 1ull) < 0)
		return SN_NODE_NONE;
	nodes->items[nodes->count] = node;
	*slot = (struct sn_node_slot){node, ++nodes->count};
	return nodes->count - 1;
}

uint32_t sn_nodes_find(const struct sn_nodes *nodes, struct sn_merged_node node)
{
	if (!nodes->slot_count)
		return SN_NODE_NONE;
	return probe(nodes, node)->number - 1; /* 0 - 1 is SN_NODE_NONE */
}
