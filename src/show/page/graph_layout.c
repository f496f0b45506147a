/* SPDX-License-Identifier: Apache-2.0 */
/* Layers and places; see graph_layout.h. */
#include "graph_layout.h"

#include "base/arena.h"
#include "base/sort_by.h"

#include <stdlib.h>

enum { SWEEPS = 8 };

struct entry {
	double mean;
	uint32_t box;
};

SN_SORT_BY(sort_entries, struct entry, const void *, SN_ORDER_BY(a, b, mean, box));

/* Boxes are numbered in an order in which every line leads forward, so one pass over the lines by
 * where they end is enough once they are sorted. */
SN_SORT_BY(sort_lines, struct sn_graph_line, const void *, SN_ORDER_BY(a, b, to, from));

static void place_layer(struct entry *entries, size_t count, struct sn_graph_layout_place *places)
{
	sort_entries(entries, count, NULL);
	for (size_t i = 0; i < count; i++)
		places[entries[i].box].place = (uint32_t)i;
}

/* One sweep: every layer by the mean place of the neighbours on one side. */
static void sweep(uint32_t box_count, const struct sn_graph_line *lines, size_t line_count,
		  struct sn_graph_layout_place *places, uint32_t layers, bool down, double *sums,
		  uint32_t *counts, struct entry *entries)
{
	for (uint32_t step = 0; step < layers; step++) {
		uint32_t layer = down ? step : layers - 1 - step;
		size_t count = 0;
		for (uint32_t i = 0; i < box_count; i++)
			sums[i] = counts[i] = 0;
		for (size_t i = 0; i < line_count; i++) {
			uint32_t here = down ? lines[i].to : lines[i].from;
			uint32_t there = down ? lines[i].from : lines[i].to;
			if (lines[i].from >= lines[i].to || places[here].layer != layer)
				continue;
			sums[here] += places[there].place;
			counts[here]++;
		}
		for (uint32_t i = 0; i < box_count; i++)
			if (places[i].layer == layer)
				entries[count++] = (struct entry){
				    counts[i] ? sums[i] / counts[i] : places[i].place, i};
		place_layer(entries, count, places);
	}
}

static uint32_t find_layers(uint32_t box_count, const struct sn_graph_line *lines,
			    size_t line_count, struct sn_graph_layout_place *places)
{
	uint32_t layers = box_count ? 1 : 0;
	for (size_t i = 0; i < line_count; i++) {
		const struct sn_graph_line *line = lines + i;
		if (line->from >= line->to)
			continue;
		uint32_t below = places[line->from].layer + 1;
		if (below > places[line->to].layer)
			places[line->to].layer = below;
		if (below >= layers)
			layers = below + 1;
	}
	return layers;
}

int sn_graph_order(uint32_t box_count, const struct sn_graph_line *given, size_t line_count,
		   struct sn_graph_layout_place *places, uint32_t layer_count)
{
	struct sn_arena arena = {0};
	struct sn_graph_line *lines = sn_arena_array(&arena, struct sn_graph_line, line_count);
	double *sums = sn_arena_array(&arena, double, box_count);
	uint32_t *counts = sn_arena_array(&arena, uint32_t, box_count);
	struct entry *entries = sn_arena_array(&arena, struct entry, box_count);
	int result = arena.failed ? SN_ERR_MEMORY : 0;
	if (!result) {
		for (size_t i = 0; i < line_count; i++)
			lines[i] = given[i];
		sort_lines(lines, line_count, NULL);
		for (uint32_t i = 0; i < box_count; i++)
			places[i].place = counts[places[i].layer]++;
		for (unsigned i = 0; i < SWEEPS; i++)
			sweep(box_count, lines, line_count, places, layer_count, i % 2 == 0, sums,
			      counts, entries);
	}
	sn_arena_release(&arena);
	return result;
}

int sn_graph_layout(uint32_t box_count, const struct sn_graph_line *given, size_t line_count,
		    struct sn_graph_layout_place *places, uint32_t *layer_count)
{
	struct sn_arena arena = {0};
	struct sn_graph_line *lines = sn_arena_array(&arena, struct sn_graph_line, line_count);
	int result = arena.failed ? SN_ERR_MEMORY : 0;
	if (!result) {
		for (size_t i = 0; i < line_count; i++)
			lines[i] = given[i];
		sort_lines(lines, line_count, NULL);
		for (uint32_t i = 0; i < box_count; i++)
			places[i] = (struct sn_graph_layout_place){0, 0};
		*layer_count = find_layers(box_count, lines, line_count, places);
		result = sn_graph_order(box_count, lines, line_count, places, *layer_count);
	}
	sn_arena_release(&arena);
	return result;
}
