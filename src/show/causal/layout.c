/* SPDX-License-Identifier: Apache-2.0 */
/* Which variables are drawn, and how large; see layout.h. */
#include "layout.h"

#include "base/sort_by.h"
#include "base/text.h"
#include "show/page/layered.h"

#include <math.h>
#include <string.h>

enum { GAP = 12, PORT = 8, MARGIN = 20, TOP = 64 };
enum {
	LETTER = 7,
	BOLD_LETTER = 8,
	PADDING = 10,
	LEAST_WIDTH = 60,
	BEND = 64,
	TIER_BEND = 80,
	MOST_ROOM = 140
};

#define NONE UINT32_MAX

struct work {
	const struct sn_causal_drawing *drawing;
	struct sn_causal_layout *layout;
	struct sn_arena arena;
	uint32_t *chosen; /* variables, the strongest first */
	uint32_t chosen_count;
	struct sn_layered_node *nodes; /* by chosen */
	struct sn_layered_link *links; /* of chosen ones: never to a lower tier, never round */
	uint32_t *arrows;	       /* by link */
	uint32_t link_count;
	struct sn_layered layered;
};

/* ---- which variables ---- */

struct candidate {
	uint32_t variable, distance;
	double strength;
};

SN_SORT_BY(sort_candidates, struct candidate, const void *,
	   SN_ORDER_BY(a, b, distance) ?: SN_ORDER_BY(b, a, strength) ?: SN_ORDER_BY(a, b, variable));
SN_SORT_BY(sort_by_strength, struct candidate, const void *,
	   SN_ORDER_BY(b, a, strength) ?: SN_ORDER_BY(a, b, variable));

static double strength_of(const struct sn_causal_arrow *arrow)
{
	return (isnan(arrow->share) ? 0 : arrow->share) + arrow->frequency / 1000;
}

/* How many arrows away from the target each variable is; NONE without an arrow. */
static void find_distances(const struct sn_causal_drawing *drawing, struct candidate *candidates)
{
	uint32_t target = drawing->target;
	for (size_t i = 0; i < drawing->arrow_count; i++) {
		const struct sn_causal_arrow *arrow = drawing->arrows + i;
		double strength = strength_of(arrow);
		for (int side = 0; side < 2; side++) {
			struct candidate *end = candidates + (side ? arrow->to : arrow->from);
			if (end->distance == NONE)
				end->distance = NONE - 1;
			end->strength = fmax(end->strength, strength);
		}
	}
	if (target == SN_CAUSAL_NO_TARGET)
		return;
	candidates[target].distance = 0;
	for (bool has_changed = true; has_changed;) {
		has_changed = false;
		for (size_t i = 0; i < drawing->arrow_count; i++) {
			struct candidate *a = candidates + drawing->arrows[i].from;
			struct candidate *b = candidates + drawing->arrows[i].to;
			struct candidate *far = a->distance > b->distance ? a : b;
			struct candidate *near = far == a ? b : a;
			if (near->distance < NONE - 1 && far->distance > near->distance + 1) {
				far->distance = near->distance + 1;
				has_changed = true;
			}
		}
	}
}

static int choose(struct work *work, uint32_t most)
{
	const struct sn_causal_drawing *drawing = work->drawing;
	uint32_t count = 0, all = drawing->variable_count;
	struct candidate *candidates = sn_arena_array(&work->arena, struct candidate, all);
	work->chosen = sn_arena_array(&work->arena, uint32_t, all);
	if (work->arena.failed)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < all; i++)
		candidates[i] = (struct candidate){i, NONE, -1};
	find_distances(drawing, candidates);
	for (uint32_t i = 0; i < all; i++)
		if (candidates[i].distance != NONE)
			candidates[count++] = candidates[i];
	sort_candidates(candidates, count, NULL);
	work->chosen_count = count < most ? count : most;
	work->layout->left_out = count - work->chosen_count;
	sort_by_strength(candidates, work->chosen_count, NULL);
	for (uint32_t i = 0; i < work->chosen_count; i++)
		work->chosen[i] = candidates[i].variable;
	return 0;
}

/* ---- boxes and lines ---- */

static uint32_t tier_of(const struct work *work, uint32_t chosen)
{
	return work->drawing->variables[work->chosen[chosen]].tier;
}

static struct sn_layered_link link_of(const struct work *work, const uint32_t *chosen_of,
				      const struct sn_causal_arrow *arrow)
{
	struct sn_layered_link link = {chosen_of[arrow->from], chosen_of[arrow->to], false, 1};
	if (link.from == NONE || link.to == NONE)
		return link;
	uint32_t from = tier_of(work, link.from), to = tier_of(work, link.to);
	if (from > to ||
	    (from == to && !arrow->is_directed && arrow->from == work->drawing->target))
		link = (struct sn_layered_link){link.to, link.from, true, 1};
	return link;
}

static int make_links(struct work *work)
{
	const struct sn_causal_drawing *drawing = work->drawing;
	uint32_t *chosen_of = sn_arena_array(&work->arena, uint32_t, drawing->variable_count);
	work->links = sn_arena_array(&work->arena, struct sn_layered_link, drawing->arrow_count);
	work->arrows = sn_arena_array(&work->arena, uint32_t, drawing->arrow_count);
	if (work->arena.failed)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < drawing->variable_count; i++)
		chosen_of[i] = NONE;
	for (uint32_t i = 0; i < work->chosen_count; i++)
		chosen_of[work->chosen[i]] = i;
	for (uint32_t i = 0; i < drawing->arrow_count; i++) {
		struct sn_layered_link link = link_of(work, chosen_of, drawing->arrows + i);
		if (link.from == NONE || link.to == NONE || link.from == link.to)
			continue;
		work->arrows[work->link_count] = i;
		work->links[work->link_count++] = link;
	}
	return 0;
}

static double width_of(const struct work *work, uint32_t chosen)
{
	uint32_t variable = work->chosen[chosen];
	struct sn_shown shown = sn_shown(work->drawing->variables[variable].name);
	double letters = fmin((double)sn_utf8_columns(shown.text), SN_CAUSAL_NAME);
	double letter = variable == work->drawing->target ? BOLD_LETTER : LETTER;
	return fmax(letter * letters + 2 * PADDING, LEAST_WIDTH);
}

static int make_nodes(struct work *work)
{
	work->nodes = sn_arena_array(&work->arena, struct sn_layered_node, work->chosen_count);
	for (uint32_t i = 0; work->nodes && i < work->chosen_count; i++)
		work->nodes[i] =
		    (struct sn_layered_node){tier_of(work, i), width_of(work, i), SN_CAUSAL_BOX};
	return work->nodes ? 0 : SN_ERR_MEMORY;
}

/* ---- from left to right ---- */

/* Boxes are as wide as their column. */
static void take_boxes(struct work *work)
{
	struct sn_causal_layout *layout = work->layout;
	const struct sn_layered *layered = &work->layered;
	for (uint32_t i = 0; i < layered->layer_count; i++)
		layout->columns[i] = (struct sn_causal_layer){
		    layered->layers[i].along, layered->layers[i].length, layered->layers[i].tier};
	layout->column_count = layered->layer_count;
	for (uint32_t i = 0; i < work->chosen_count; i++) {
		uint32_t chosen = layered->order[i];
		const struct sn_layered_place *place = &layered->places[chosen];
		layout->boxes[layout->box_count++] =
		    (struct sn_causal_box){work->chosen[chosen],
					   place->layer,
					   place->along,
					   place->across,
					   layered->layers[place->layer].length,
					   place->breadth};
	}
	layout->width = layered->along;
	layout->height = layered->across;
}

static void take_way(struct work *work, uint32_t number, struct sn_causal_point *points)
{
	const struct sn_layered_way *way = &work->layered.ways[number];
	for (uint32_t i = 0; i < way->point_count; i++)
		points[i] = (struct sn_causal_point){way->points[i].along, way->points[i].across,
						     way->points[i].is_level};
	work->layout->ways[work->layout->way_count++] = (struct sn_causal_way){
	    work->arrows[number], work->links[number].is_backward, points, way->point_count};
}

static int take_all(struct work *work)
{
	struct sn_causal_layout *layout = work->layout;
	uint32_t point_count = 0;
	for (uint32_t i = 0; i < work->link_count; i++)
		point_count += work->layered.ways[i].point_count;
	struct sn_causal_point *points =
	    sn_arena_array(&layout->arena, struct sn_causal_point, point_count);
	layout->boxes = sn_arena_array(&layout->arena, struct sn_causal_box, work->chosen_count);
	layout->ways = sn_arena_array(&layout->arena, struct sn_causal_way, work->link_count);
	layout->columns =
	    sn_arena_array(&layout->arena, struct sn_causal_layer, work->chosen_count);
	if (layout->arena.failed)
		return SN_ERR_MEMORY;
	take_boxes(work);
	for (uint32_t i = 0; i < work->link_count; i++) {
		take_way(work, i, points);
		points += work->layered.ways[i].point_count;
	}
	return 0;
}

int sn_causal_layout(const struct sn_causal_drawing *drawing, uint32_t most,
		     struct sn_causal_layout *layout)
{
	static const struct sn_layered_form form = {.gap = GAP,
						    .port = PORT,
						    .bend = BEND,
						    .tier_bend = TIER_BEND,
						    .most_room = MOST_ROOM,
						    .margin = MARGIN,
						    .margin_across = TOP};
	struct work work = {.drawing = drawing, .layout = layout};
	*layout = (struct sn_causal_layout){0};
	int result = choose(&work, most);
	if (!result)
		result = make_links(&work);
	if (!result)
		result = make_nodes(&work);
	if (!result)
		result = sn_layered_lay_out(&work.layered, work.nodes, work.chosen_count,
					    work.links, work.link_count, &form);
	if (!result)
		result = take_all(&work);
	sn_layered_release(&work.layered);
	sn_arena_release(&work.arena);
	return result;
}

void sn_causal_layout_release(struct sn_causal_layout *layout)
{
	sn_arena_release(&layout->arena);
	*layout = (struct sn_causal_layout){0};
}
