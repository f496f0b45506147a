/* SPDX-License-Identifier: Apache-2.0 */
/* See outside.h. */
#include "outside.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static uint32_t side_of(const struct sn_flow_edge *edge, bool is_backward)
{
	return is_backward ? edge->to : edge->from;
}

/* Edges by the block that they leave, or enter: those of a block are at[first[block]] to at[first[block + 1]]. There is room for two more blocks in `first`. */
static void sort_edges(const struct sn_flow_graph *graph, bool is_backward, uint32_t *first,
		       uint32_t *at)
{
	memset(first, 0, (graph->block_count + 2) * sizeof(*first));
	for (uint32_t edge = 0; edge < graph->edge_count; edge++)
		if (!graph->edges[edge].is_throw)
			first[side_of(&graph->edges[edge], is_backward) + 2]++;
	for (uint32_t block = 0; block < graph->block_count; block++)
		first[block + 2] += first[block + 1];
	for (uint32_t edge = 0; edge < graph->edge_count; edge++)
		if (!graph->edges[edge].is_throw)
			at[first[side_of(&graph->edges[edge], is_backward) + 1]++] = edge;
}

/* Room for what is asked of all blocks. */
struct room {
	uint32_t *first, *at, *stack;
	bool *seen;
};

/* Marks all blocks that edges lead to from a block, or that lead to it. */
static void flood(const struct sn_flow_graph *graph, uint32_t from, bool is_backward,
		  const struct room *room)
{
	uint32_t height = 0;
	if (room->seen[from])
		return;
	room->seen[from] = true;
	room->stack[height++] = from;
	while (height) {
		uint32_t block = room->stack[--height];
		for (uint32_t place = room->first[block]; place < room->first[block + 1]; place++) {
			uint32_t next = side_of(&graph->edges[room->at[place]], !is_backward);
			if (room->seen[next])
				continue;
			room->seen[next] = true;
			room->stack[height++] = next;
		}
	}
}

/* Where a function is entered, or left, for certain. */
static void find_ends(const struct sn_flow_graph *graph, bool is_backward, bool *is_end)
{
	for (uint32_t block = 0; block < graph->block_count; block++)
		is_end[block] = is_backward || block == graph->entry;
	for (uint32_t edge = 0; is_backward && edge < graph->edge_count; edge++)
		if (!graph->edges[edge].is_throw)
			is_end[graph->edges[edge].from] = false;
}

/* What enters at the entry and where nothing else does, or what leaves where nothing follows and where it never would. */
static void find(const struct sn_flow_graph *graph, bool is_backward, const struct room *room,
		 bool *is_end)
{
	sort_edges(graph, is_backward, room->first, room->at);
	find_ends(graph, is_backward, is_end);
	memset(room->seen, 0, graph->block_count);
	for (uint32_t block = 0; block < graph->block_count; block++)
		if (is_end[block])
			flood(graph, block, is_backward, room);
	for (uint32_t i = 0; i < graph->block_count; i++) {
		/* what never ends is left at its last block */
		uint32_t block = is_backward ? graph->block_count - 1 - i : i;
		if (room->seen[block])
			continue;
		is_end[block] = true;
		flood(graph, block, is_backward, room);
	}
}

void sn_outside_release(struct sn_outside *outside)
{
	free(outside->is_entered);
	free(outside->is_left);
	*outside = (struct sn_outside){0};
}

int sn_outside_find(struct sn_outside *outside, const struct sn_flow_graph *graph)
{
	uint32_t blocks = graph->block_count;
	const struct room room = {.first = malloc((blocks + 2) * sizeof(uint32_t)),
				  .at = malloc((graph->edge_count + 1) * sizeof(uint32_t)),
				  .stack = malloc((blocks + 1) * sizeof(uint32_t)),
				  .seen = malloc(blocks + 1)};
	*outside = (struct sn_outside){malloc(blocks + 1), malloc(blocks + 1)};
	bool is_made = room.first && room.at && room.stack && room.seen && outside->is_entered &&
		       outside->is_left;
	if (is_made) {
		find(graph, false, &room, outside->is_entered);
		find(graph, true, &room, outside->is_left);
	}
	free(room.first);
	free(room.at);
	free(room.stack);
	free(room.seen);
	return is_made ? 0 : SN_ERR_MEMORY;
}
