/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes linked to their siblings; see linked.h. */
#include "linked.h"

int sn_linked_init(struct sn_linked *linked, struct sn_arena *arena, uint32_t most)
{
	*linked = (struct sn_linked){.nodes = sn_arena_array(arena, struct sn_tree_node, most),
				     .first_child = sn_arena_array(arena, uint32_t, most),
				     .last_child = sn_arena_array(arena, uint32_t, most),
				     .next_sibling = sn_arena_array(arena, uint32_t, most)};
	return arena->failed ? SN_ERR_MEMORY : 0;
}

uint32_t sn_linked_add(struct sn_linked *linked, uint32_t parent, uint32_t frame)
{
	uint32_t id = linked->count++;
	linked->nodes[id] = (struct sn_tree_node){.frame = frame, .parent = parent};
	linked->first_child[id] = linked->last_child[id] = SONDE_NONE;
	linked->next_sibling[id] = SONDE_NONE;
	if (id == 0)
		return id;
	if (linked->first_child[parent] == SONDE_NONE)
		linked->first_child[parent] = id;
	else
		linked->next_sibling[linked->last_child[parent]] = id;
	linked->last_child[parent] = id;
	return id;
}

void sn_linked_order(const struct sn_linked *linked, struct sn_tree_node *ordered, uint32_t *place)
{
	uint32_t next = 0, node = 0, depth = 0;
	for (bool is_done = linked->count == 0; !is_done;) {
		place[node] = next;
		ordered[next] = linked->nodes[node];
		ordered[next].parent = next == 0 ? 0 : place[linked->nodes[node].parent];
		ordered[next++].depth = depth;
		if (linked->first_child[node] != SONDE_NONE) {
			node = linked->first_child[node];
			depth++;
			continue;
		}
		/* Leaves closed subtrees until one has a sibling to go on with. */
		for (;;) {
			ordered[place[node]].end = next;
			is_done = node == 0;
			if (is_done)
				break;
			if (linked->next_sibling[node] != SONDE_NONE) {
				node = linked->next_sibling[node];
				break;
			}
			node = linked->nodes[node].parent;
			depth--;
		}
	}
}
