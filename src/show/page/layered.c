/* SPDX-License-Identifier: Apache-2.0 */
/* Layers, order and places; see layered.h. */
#include "layered.h"

#include "base/error.h"
#include "base/sort_by.h"
#include "graph_layout.h"

#include <math.h>

enum { SWEEPS = 12, PASS = 6 /* the extent of a point */ };

#define NONE UINT32_MAX

/* A box, or the point at which a line passes a layer. */
struct item {
	uint32_t node; /* NONE: a point */
	uint32_t layer;
	double breadth, at; /* across; of the middle */
};

/* From a layer to the next. */
struct step {
	uint32_t from, to; /* items */
	double from_at, to_at, weight;
};

struct span {
	uint32_t first, count;
};

struct work {
	struct sn_layered *layered;
	const struct sn_layered_form *form;
	const struct sn_layered_node *nodes;
	uint32_t node_count;
	struct sn_layered_link *links;
	uint32_t link_count;
	struct sn_arena arena;
	uint32_t *depths; /* by node; NONE: not known yet */
	uint32_t *layer_of;
	struct item *items; /* by layer */
	uint32_t item_count;
	uint32_t *item_of;   /* by node */
	uint32_t *order;     /* items by layer, from first to last across */
	struct span *orders; /* of each layer in `order` */
	struct step *steps;  /* those of a link one after another */
	uint32_t step_count;
	struct span *steps_of; /* by link */
};

/* ---- which way, and in which layer ---- */

enum state { UNSEEN, OPEN, DONE };

/* Turns the links that lead back to a node from which the search came. */
static void turn_cycles(struct work *work, uint32_t at, unsigned char *states)
{
	states[at] = OPEN;
	for (uint32_t i = 0; i < work->link_count; i++) {
		struct sn_layered_link *link = work->links + i;
		if (link->from != at)
			continue;
		if (states[link->to] == OPEN)
			*link = (struct sn_layered_link){link->to, link->from, !link->is_backward,
							 link->weight};
		else if (states[link->to] == UNSEEN)
			turn_cycles(work, link->to, states);
	}
	states[at] = DONE;
}

/* The longest way from a node within its tier, or to it. */
static uint32_t depth_of(struct work *work, uint32_t at)
{
	bool is_early = work->form->is_early;
	if (work->depths[at] != NONE)
		return work->depths[at];
	uint32_t depth = 0;
	for (uint32_t i = 0; i < work->link_count; i++) {
		const struct sn_layered_link *link = work->links + i;
		uint32_t other = is_early ? link->from : link->to;
		if ((is_early ? link->to : link->from) != at ||
		    work->nodes[other].tier != work->nodes[at].tier)
			continue;
		uint32_t beyond = depth_of(work, other) + 1;
		if (beyond > depth)
			depth = beyond;
	}
	return work->depths[at] = depth;
}

SN_SORT_BY(sort_by_layer, uint32_t, const struct work *,
	   SN_ORDER(of->nodes[*a].tier, of->nodes[*b].tier)
	       ?: (of->form->is_early ? SN_ORDER(of->depths[*a], of->depths[*b])
				      : SN_ORDER(of->depths[*b], of->depths[*a])));

/* Layers are numbered over those tiers and depths that have a node. */
static int find_layers(struct work *work)
{
	uint32_t count = work->node_count;
	unsigned char *states = sn_arena_array(&work->arena, unsigned char, count);
	uint32_t *sorted = sn_arena_array(&work->arena, uint32_t, count);
	work->depths = sn_arena_array(&work->arena, uint32_t, count);
	work->layer_of = sn_arena_array(&work->arena, uint32_t, count);
	struct sn_layered *layered = work->layered;
	layered->layers = sn_arena_array(&layered->arena, struct sn_layered_layer, count);
	if (work->arena.failed || layered->arena.failed)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		work->depths[i] = NONE;
	for (uint32_t i = 0; i < count; i++)
		if (states[i] == UNSEEN)
			turn_cycles(work, i, states);
	for (uint32_t i = 0; i < count; i++) {
		depth_of(work, i);
		sorted[i] = i;
	}
	sort_by_layer(sorted, count, work);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t tier = work->nodes[sorted[i]].tier;
		if (!i || tier != work->nodes[sorted[i - 1]].tier ||
		    work->depths[sorted[i]] != work->depths[sorted[i - 1]])
			layered->layers[layered->layer_count++].tier = tier;
		work->layer_of[sorted[i]] = layered->layer_count - 1;
	}
	return 0;
}

/* ---- boxes and points, and their order ---- */

static uint32_t steps_of(const struct work *work, const struct sn_layered_link *link)
{
	return work->layer_of[link->to] - work->layer_of[link->from];
}

/* Room in `items` for those of each layer. */
static int count_items(struct work *work)
{
	uint32_t layers = work->layered->layer_count, steps = 0;
	work->orders = sn_arena_array(&work->arena, struct span, layers);
	if (work->arena.failed)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < work->node_count; i++)
		work->orders[work->layer_of[i]].count++;
	for (uint32_t i = 0; i < work->link_count; i++) {
		const struct sn_layered_link *link = work->links + i;
		for (uint32_t l = work->layer_of[link->from] + 1; l < work->layer_of[link->to]; l++)
			work->orders[l].count++;
		steps += steps_of(work, link);
	}
	for (uint32_t i = 0; i < layers; i++) {
		work->orders[i].first = work->item_count;
		work->item_count += work->orders[i].count;
		work->orders[i].count = 0;
	}
	work->items = sn_arena_array(&work->arena, struct item, work->item_count);
	work->order = sn_arena_array(&work->arena, uint32_t, work->item_count);
	work->item_of = sn_arena_array(&work->arena, uint32_t, work->node_count);
	work->steps = sn_arena_array(&work->arena, struct step, steps);
	work->steps_of = sn_arena_array(&work->arena, struct span, work->link_count);
	return work->arena.failed ? SN_ERR_MEMORY : 0;
}

static uint32_t add_item(struct work *work, uint32_t node, uint32_t layer)
{
	struct span *span = work->orders + layer;
	uint32_t number = span->first + span->count++;
	work->items[number] = (struct item){node, layer, PASS, 0};
	return number;
}

static void make_items(struct work *work)
{
	for (uint32_t i = 0; i < work->node_count; i++)
		work->item_of[i] = add_item(work, i, work->layer_of[i]);
	for (uint32_t i = 0; i < work->link_count; i++) {
		const struct sn_layered_link *link = work->links + i;
		uint32_t from = work->item_of[link->from], end = work->item_of[link->to];
		uint32_t count = steps_of(work, link);
		work->steps_of[i] = (struct span){work->step_count, count};
		for (uint32_t s = 1; s <= count; s++) {
			uint32_t to =
			    s < count ? add_item(work, NONE, work->layer_of[link->from] + s) : end;
			work->steps[work->step_count++] =
			    (struct step){.from = from, .to = to, .weight = link->weight};
			from = to;
		}
	}
}

static int order_items(struct work *work)
{
	struct sn_graph_layout_place *places =
	    sn_arena_array(&work->arena, struct sn_graph_layout_place, work->item_count);
	struct sn_graph_line *lines =
	    sn_arena_array(&work->arena, struct sn_graph_line, work->step_count);
	if (work->arena.failed)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < work->item_count; i++)
		places[i].layer = work->items[i].layer;
	for (uint32_t i = 0; i < work->step_count; i++)
		lines[i] = (struct sn_graph_line){work->steps[i].from, work->steps[i].to};
	int result = sn_graph_order(work->item_count, lines, work->step_count, places,
				    work->layered->layer_count);
	for (uint32_t i = 0; i < work->item_count && !result; i++)
		work->order[work->orders[places[i].layer].first + places[i].place] = i;
	return result;
}

/* ---- places across ---- */

/* A box has room for its lines on either side. */
static int find_breadths(struct work *work)
{
	uint32_t *in = sn_arena_array(&work->arena, uint32_t, work->item_count);
	uint32_t *out = sn_arena_array(&work->arena, uint32_t, work->item_count);
	if (work->arena.failed)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < work->step_count; i++) {
		out[work->steps[i].from]++;
		in[work->steps[i].to]++;
	}
	for (uint32_t i = 0; i < work->item_count; i++) {
		struct item *item = work->items + i;
		if (item->node != NONE)
			item->breadth =
			    fmax(work->nodes[item->node].across,
				 work->form->port * (1 + (in[i] > out[i] ? in[i] : out[i])));
	}
	return 0;
}

struct pool {
	double sum, weight; /* its mean is where its items would like to be */
	uint32_t count;
};

/* Moves the items of a layer to the nearest places to `wanted` that keep order and gaps. */
static void place_layer(struct work *work, uint32_t layer, const double *wanted, struct pool *pools)
{
	struct span span = work->orders[layer];
	const uint32_t *order = work->order + span.first;
	double gap = work->form->gap, offset = 0;
	uint32_t count = 0;
	for (uint32_t i = 0; i < span.count; i++) {
		const struct item *item = work->items + order[i];
		if (i)
			offset += (work->items[order[i - 1]].breadth + item->breadth) / 2 + gap;
		pools[count++] = (struct pool){wanted[order[i]] - offset, 1, 1};
		while (count > 1 && pools[count - 2].sum * pools[count - 1].weight >=
					pools[count - 1].sum * pools[count - 2].weight) {
			pools[count - 2].sum += pools[count - 1].sum;
			pools[count - 2].weight += pools[count - 1].weight;
			pools[count - 2].count += pools[count - 1].count;
			count--;
		}
	}
	offset = 0;
	for (uint32_t p = 0, i = 0; p < count; p++)
		for (uint32_t end = i + pools[p].count; i < end; i++) {
			struct item *item = work->items + order[i];
			if (i)
				offset +=
				    (work->items[order[i - 1]].breadth + item->breadth) / 2 + gap;
			item->at = pools[p].sum / pools[p].weight + offset;
		}
}

enum side { BEFORE = 1, BEHIND = 2 };

/* The weighted mean of the neighbours on these sides: the points of one line hold together. */
static void find_wanted(const struct work *work, unsigned sides, double *wanted, double *weights)
{
	for (uint32_t i = 0; i < work->item_count; i++)
		wanted[i] = weights[i] = 0;
	for (uint32_t i = 0; i < work->step_count; i++) {
		uint32_t ends[2] = {work->steps[i].from, work->steps[i].to};
		int points =
		    (work->items[ends[0]].node == NONE) + (work->items[ends[1]].node == NONE);
		double weight = work->steps[i].weight * (points == 2 ? 8 : points ? 2 : 1);
		for (int to = 0; to < 2; to++)
			if (sides & (to ? BEFORE : BEHIND)) {
				wanted[ends[to]] += weight * work->items[ends[!to]].at;
				weights[ends[to]] += weight;
			}
	}
	for (uint32_t i = 0; i < work->item_count; i++)
		wanted[i] = weights[i] > 0 ? wanted[i] / weights[i] : work->items[i].at;
}

static int place_across(struct work *work)
{
	uint32_t layers = work->layered->layer_count;
	double *wanted = sn_arena_array(&work->arena, double, work->item_count);
	double *weights = sn_arena_array(&work->arena, double, work->item_count);
	struct pool *pools = sn_arena_array(&work->arena, struct pool, work->item_count);
	if (work->arena.failed || find_breadths(work))
		return SN_ERR_MEMORY;
	for (uint32_t l = 0; l < layers; l++)
		place_layer(work, l, wanted, pools);
	for (unsigned s = 0; s < SWEEPS; s++) {
		unsigned sides = s + 2 >= SWEEPS ? BEFORE | BEHIND : s % 2 ? BEFORE : BEHIND;
		for (uint32_t i = 0; i < layers; i++) {
			find_wanted(work, sides, wanted, weights);
			place_layer(work, sides == BEHIND ? layers - 1 - i : i, wanted, pools);
		}
	}
	return 0;
}

/* ---- places on the paper ---- */

/* Room for lines that go far across, so that they are not too flat. */
static double room_for_bends(const struct work *work, uint32_t layer)
{
	double most = 0;
	for (uint32_t i = 0; i < work->step_count; i++) {
		const struct item *from = work->items + work->steps[i].from;
		if (from->layer == layer)
			most = fmax(most, fabs(work->items[work->steps[i].to].at - from->at));
	}
	return fmin(most / 8, work->form->most_room);
}

static void place_layers(struct work *work)
{
	struct sn_layered *layered = work->layered;
	const struct sn_layered_form *form = work->form;
	double along = form->margin, first = INFINITY, last = 0;
	for (uint32_t i = 0; i < work->node_count; i++) {
		double *length = &layered->layers[work->layer_of[i]].length;
		*length = fmax(*length, work->nodes[i].along);
	}
	for (uint32_t i = 0; i < layered->layer_count; i++) {
		struct sn_layered_layer *layer = layered->layers + i;
		if (i)
			along += room_for_bends(work, i - 1) +
				 (layer->tier == layer[-1].tier ? form->bend : form->tier_bend);
		layer->along = along;
		along += layer->length;
	}
	for (uint32_t i = 0; i < work->item_count; i++)
		first = fmin(first, work->items[i].at - work->items[i].breadth / 2);
	for (uint32_t i = 0; i < work->item_count; i++) {
		struct item *item = work->items + i;
		item->at += form->margin_across - first;
		last = fmax(last, item->at + item->breadth / 2);
	}
	layered->along = along + form->margin;
	layered->across = fmax(last, form->margin_across);
}

static void place_boxes(struct work *work)
{
	struct sn_layered *layered = work->layered;
	uint32_t count = 0;
	for (uint32_t i = 0; i < work->item_count; i++) {
		const struct item *item = work->items + work->order[i];
		if (item->node == NONE)
			continue;
		layered->order[count++] = item->node;
		layered->places[item->node] =
		    (struct sn_layered_place){item->layer, layered->layers[item->layer].along,
					      item->at - item->breadth / 2, item->breadth};
	}
}

SN_SORT_BY(sort_out, uint32_t, const struct work *,
	   SN_ORDER(of->steps[*a].from, of->steps[*b].from)
	   ?: SN_ORDER(of->items[of->steps[*a].to].at, of->items[of->steps[*b].to].at)
	   ?: SN_ORDER(*a, *b));
SN_SORT_BY(sort_in, uint32_t, const struct work *,
	   SN_ORDER(of->steps[*a].to, of->steps[*b].to)
	   ?: SN_ORDER(of->items[of->steps[*a].from].at, of->items[of->steps[*b].from].at)
	   ?: SN_ORDER(*a, *b));

/* Where lines leave a box and arrive at one: side by side, in the order of their other ends. */
static int place_ports(struct work *work)
{
	uint32_t *sorted = sn_arena_array(&work->arena, uint32_t, work->step_count);
	if (work->arena.failed)
		return SN_ERR_MEMORY;
	for (int is_in = 0; is_in < 2; is_in++) {
		for (uint32_t i = 0; i < work->step_count; i++)
			sorted[i] = i;
		(is_in ? sort_in : sort_out)(sorted, work->step_count, work);
		for (uint32_t i = 0, end; i < work->step_count; i = end) {
			uint32_t item =
			    is_in ? work->steps[sorted[i]].to : work->steps[sorted[i]].from;
			end = i;
			while (end < work->step_count &&
			       item == (is_in ? work->steps[sorted[end]].to
					      : work->steps[sorted[end]].from))
				end++;
			for (uint32_t k = i; k < end; k++) {
				struct step *step = work->steps + sorted[k];
				*(is_in ? &step->to_at : &step->from_at) =
				    work->items[item].at +
				    work->form->port * ((k - i) - (end - i - 1) / 2.0);
			}
		}
	}
	return 0;
}

/* The line's begin is at its box's end, which may lie before that of its layer. */
static void place_way(struct work *work, uint32_t number, struct sn_layered_point *points)
{
	struct sn_layered *layered = work->layered;
	struct span span = work->steps_of[number];
	uint32_t count = 0;
	for (uint32_t i = 0; i < span.count; i++) {
		const struct step *step = work->steps + span.first + i;
		const struct sn_layered_layer *from =
		    layered->layers + work->items[step->from].layer;
		const struct sn_layered_layer *to = layered->layers + work->items[step->to].layer;
		points[count++] =
		    (struct sn_layered_point){from->along + from->length, step->from_at, false};
		points[count++] =
		    (struct sn_layered_point){to->along, step->to_at, i + 1 < span.count};
	}
	layered->ways[number] = (struct sn_layered_way){points, count};
}

static int place_all(struct work *work)
{
	struct sn_layered *layered = work->layered;
	struct sn_layered_point *points =
	    sn_arena_array(&layered->arena, struct sn_layered_point, 2ull * work->step_count);
	layered->places =
	    sn_arena_array(&layered->arena, struct sn_layered_place, work->node_count);
	layered->order = sn_arena_array(&layered->arena, uint32_t, work->node_count);
	layered->ways = sn_arena_array(&layered->arena, struct sn_layered_way, work->link_count);
	if (layered->arena.failed)
		return SN_ERR_MEMORY;
	place_layers(work);
	place_boxes(work);
	int result = place_ports(work);
	for (uint32_t i = 0; i < work->link_count && !result; i++) {
		place_way(work, i, points);
		points += 2ull * work->steps_of[i].count;
	}
	return result;
}

int sn_layered_lay_out(struct sn_layered *layered, const struct sn_layered_node *nodes,
		       uint32_t node_count, struct sn_layered_link *links, uint32_t link_count,
		       const struct sn_layered_form *form)
{
	struct work work = {.layered = layered,
			    .form = form,
			    .nodes = nodes,
			    .node_count = node_count,
			    .links = links,
			    .link_count = link_count};
	*layered = (struct sn_layered){0};
	int result = find_layers(&work);
	if (!result)
		result = count_items(&work);
	if (!result) {
		make_items(&work);
		result = order_items(&work);
	}
	if (!result)
		result = place_across(&work);
	if (!result)
		result = place_all(&work);
	sn_arena_release(&work.arena);
	return result;
}

void sn_layered_release(struct sn_layered *layered)
{
	sn_arena_release(&layered->arena);
	*layered = (struct sn_layered){0};
}
