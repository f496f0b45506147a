/* SPDX-License-Identifier: Apache-2.0 */
/* Columns, order and heights; see layout.h. */
#include "layout.h"

#include "base/sort_by.h"
#include "base/text.h"
#include "show/page/graph_layout.h"

#include <math.h>
#include <string.h>

enum {
	SWEEPS = 12,
	GAP = 12,
	PASS = 6 /* the height of a point */,
	PORT = 8,
	MARGIN = 20,
	TOP = 64
};
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

/* An arrow in the direction in which it is laid out: never to a lower tier, never round. */
struct link {
	uint32_t from, to; /* of `chosen` */
	uint32_t arrow;
	bool is_backward;
};

/* A box, or the point at which an arrow passes a column. */
struct item {
	uint32_t chosen; /* NONE: a point */
	uint32_t column;
	double height, y; /* of the middle */
};

/* From a column to the next. */
struct step {
	uint32_t from, to; /* items */
	double from_y, to_y;
};

struct span {
	uint32_t first, count;
};

struct work {
	const struct sn_causal_drawing *drawing;
	struct sn_causal_layout *layout;
	struct sn_arena arena;
	uint32_t *chosen; /* variables, the strongest first */
	uint32_t *depths; /* by chosen; NONE: not known yet */
	uint32_t *columns;
	uint32_t chosen_count;
	struct link *links;
	uint32_t link_count;
	struct item *items; /* by column */
	uint32_t item_count;
	uint32_t *item_of;   /* by chosen */
	uint32_t *order;     /* items by column, from top to bottom */
	struct span *orders; /* of each column in `order` */
	struct step *steps;  /* those of a link one after another */
	uint32_t step_count;
	struct span *steps_of; /* by link */
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

/* ---- which way, and in which column ---- */

static uint32_t tier_of(const struct work *work, uint32_t chosen)
{
	return work->drawing->variables[work->chosen[chosen]].tier;
}

static struct link link_of(const struct work *work, const uint32_t *chosen_of, uint32_t number)
{
	const struct sn_causal_arrow *arrow = work->drawing->arrows + number;
	struct link link = {chosen_of[arrow->from], chosen_of[arrow->to], number, false};
	if (link.from == NONE || link.to == NONE)
		return link;
	uint32_t from = tier_of(work, link.from), to = tier_of(work, link.to);
	if (from > to ||
	    (from == to && !arrow->is_directed && arrow->from == work->drawing->target))
		link = (struct link){link.to, link.from, number, true};
	return link;
}

static int make_links(struct work *work)
{
	const struct sn_causal_drawing *drawing = work->drawing;
	uint32_t *chosen_of = sn_arena_array(&work->arena, uint32_t, drawing->variable_count);
	work->links = sn_arena_array(&work->arena, struct link, drawing->arrow_count);
	if (work->arena.failed)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < drawing->variable_count; i++)
		chosen_of[i] = NONE;
	for (uint32_t i = 0; i < work->chosen_count; i++)
		chosen_of[work->chosen[i]] = i;
	for (uint32_t i = 0; i < drawing->arrow_count; i++) {
		struct link link = link_of(work, chosen_of, i);
		if (link.from != NONE && link.to != NONE && link.from != link.to)
			work->links[work->link_count++] = link;
	}
	return 0;
}

enum state { UNSEEN, OPEN, DONE };

/* Turns the links that lead back to a variable from which the search came. */
static void turn_cycles(struct work *work, uint32_t at, unsigned char *states)
{
	states[at] = OPEN;
	for (uint32_t i = 0; i < work->link_count; i++) {
		struct link *link = work->links + i;
		if (link->from != at)
			continue;
		if (states[link->to] == OPEN)
			*link =
			    (struct link){link->to, link->from, link->arrow, !link->is_backward};
		else if (states[link->to] == UNSEEN)
			turn_cycles(work, link->to, states);
	}
	states[at] = DONE;
}

/* The longest way from a variable within its tier. */
static uint32_t depth_of(struct work *work, uint32_t at)
{
	if (work->depths[at] != NONE)
		return work->depths[at];
	uint32_t depth = 0;
	for (uint32_t i = 0; i < work->link_count; i++) {
		const struct link *link = work->links + i;
		if (link->from != at || tier_of(work, link->to) != tier_of(work, at))
			continue;
		uint32_t below = depth_of(work, link->to) + 1;
		if (below > depth)
			depth = below;
	}
	return work->depths[at] = depth;
}

SN_SORT_BY(sort_by_tier, uint32_t, const struct work *,
	   SN_ORDER(tier_of(of, *a), tier_of(of, *b)) ?: SN_ORDER(of->depths[*b], of->depths[*a]));

/* Columns are numbered over those tiers and depths that have a variable. */
static int find_columns(struct work *work)
{
	uint32_t count = work->chosen_count;
	unsigned char *states = sn_arena_array(&work->arena, unsigned char, count);
	uint32_t *sorted = sn_arena_array(&work->arena, uint32_t, count);
	work->depths = sn_arena_array(&work->arena, uint32_t, count);
	work->columns = sn_arena_array(&work->arena, uint32_t, count);
	struct sn_causal_layout *layout = work->layout;
	layout->columns = sn_arena_array(&layout->arena, struct sn_causal_layer, count);
	if (work->arena.failed || layout->arena.failed)
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
	sort_by_tier(sorted, count, work);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t tier = tier_of(work, sorted[i]);
		if (!i || tier != tier_of(work, sorted[i - 1]) ||
		    work->depths[sorted[i]] != work->depths[sorted[i - 1]])
			layout->columns[layout->column_count++].tier = tier;
		work->columns[sorted[i]] = layout->column_count - 1;
	}
	return 0;
}

/* ---- boxes and points, and their order ---- */

static uint32_t steps_of(const struct work *work, const struct link *link)
{
	return work->columns[link->to] - work->columns[link->from];
}

/* Room in `items` for those of each column. */
static int count_items(struct work *work)
{
	struct sn_causal_layout *layout = work->layout;
	uint32_t columns = layout->column_count, steps = 0;
	work->orders = sn_arena_array(&work->arena, struct span, columns);
	if (work->arena.failed)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < work->chosen_count; i++)
		work->orders[work->columns[i]].count++;
	for (uint32_t i = 0; i < work->link_count; i++) {
		const struct link *link = work->links + i;
		for (uint32_t c = work->columns[link->from] + 1; c < work->columns[link->to]; c++)
			work->orders[c].count++;
		steps += steps_of(work, link);
	}
	for (uint32_t i = 0; i < columns; i++) {
		work->orders[i].first = work->item_count;
		work->item_count += work->orders[i].count;
		work->orders[i].count = 0;
	}
	work->items = sn_arena_array(&work->arena, struct item, work->item_count);
	work->order = sn_arena_array(&work->arena, uint32_t, work->item_count);
	work->item_of = sn_arena_array(&work->arena, uint32_t, work->chosen_count);
	work->steps = sn_arena_array(&work->arena, struct step, steps);
	work->steps_of = sn_arena_array(&work->arena, struct span, work->link_count);
	return work->arena.failed ? SN_ERR_MEMORY : 0;
}

static uint32_t add_item(struct work *work, uint32_t chosen, uint32_t column)
{
	struct span *span = work->orders + column;
	uint32_t number = span->first + span->count++;
	work->items[number] = (struct item){chosen, column, PASS, 0};
	return number;
}

static void make_items(struct work *work)
{
	for (uint32_t i = 0; i < work->chosen_count; i++)
		work->item_of[i] = add_item(work, i, work->columns[i]);
	for (uint32_t i = 0; i < work->link_count; i++) {
		const struct link *link = work->links + i;
		uint32_t from = work->item_of[link->from], end = work->item_of[link->to];
		uint32_t count = steps_of(work, link);
		work->steps_of[i] = (struct span){work->step_count, count};
		for (uint32_t s = 1; s <= count; s++) {
			uint32_t to =
			    s < count ? add_item(work, NONE, work->columns[link->from] + s) : end;
			work->steps[work->step_count++] = (struct step){.from = from, .to = to};
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
		places[i].layer = work->items[i].column;
	for (uint32_t i = 0; i < work->step_count; i++)
		lines[i] = (struct sn_graph_line){work->steps[i].from, work->steps[i].to};
	int result = sn_graph_order(work->item_count, lines, work->step_count, places,
				    work->layout->column_count);
	for (uint32_t i = 0; i < work->item_count && !result; i++)
		work->order[work->orders[places[i].layer].first + places[i].place] = i;
	return result;
}

/* ---- heights ---- */

/* A box has room for its arrows on either side. */
static int find_box_heights(struct work *work)
{
	uint32_t *in = sn_arena_array(&work->arena, uint32_t, work->item_count);
	uint32_t *out = sn_arena_array(&work->arena, uint32_t, work->item_count);
	if (work->arena.failed)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < work->step_count; i++) {
		out[work->steps[i].from]++;
		in[work->steps[i].to]++;
	}
	for (uint32_t i = 0; i < work->item_count; i++)
		if (work->items[i].chosen != NONE)
			work->items[i].height =
			    fmax(SN_CAUSAL_BOX, PORT * (1 + (in[i] > out[i] ? in[i] : out[i])));
	return 0;
}

struct pool {
	double sum, weight; /* its mean is where its items would like to be */
	uint32_t count;
};

/* Moves the items of a column to the nearest places to `wanted` that keep order and gaps. */
static void place_column(struct work *work, uint32_t column, const double *wanted,
			 struct pool *pools)
{
	struct span span = work->orders[column];
	const uint32_t *order = work->order + span.first;
	uint32_t count = 0;
	double offset = 0;
	for (uint32_t i = 0; i < span.count; i++) {
		const struct item *item = work->items + order[i];
		if (i)
			offset += (work->items[order[i - 1]].height + item->height) / 2 + GAP;
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
				    (work->items[order[i - 1]].height + item->height) / 2 + GAP;
			item->y = pools[p].sum / pools[p].weight + offset;
		}
}

enum side { LEFT = 1, RIGHT = 2 };

/* The weighted mean of the neighbours on these sides: the points of one arrow hold together. */
static void find_wanted(const struct work *work, unsigned sides, double *wanted, double *weights)
{
	for (uint32_t i = 0; i < work->item_count; i++)
		wanted[i] = weights[i] = 0;
	for (uint32_t i = 0; i < work->step_count; i++) {
		uint32_t ends[2] = {work->steps[i].from, work->steps[i].to};
		int points =
		    (work->items[ends[0]].chosen == NONE) + (work->items[ends[1]].chosen == NONE);
		double weight = points == 2 ? 8 : points ? 2 : 1;
		for (int to = 0; to < 2; to++)
			if (sides & (to ? LEFT : RIGHT)) {
				wanted[ends[to]] += weight * work->items[ends[!to]].y;
				weights[ends[to]] += weight;
			}
	}
	for (uint32_t i = 0; i < work->item_count; i++)
		wanted[i] = weights[i] > 0 ? wanted[i] / weights[i] : work->items[i].y;
}

static int find_heights(struct work *work)
{
	uint32_t columns = work->layout->column_count;
	double *wanted = sn_arena_array(&work->arena, double, work->item_count);
	double *weights = sn_arena_array(&work->arena, double, work->item_count);
	struct pool *pools = sn_arena_array(&work->arena, struct pool, work->item_count);
	if (work->arena.failed || find_box_heights(work))
		return SN_ERR_MEMORY;
	for (uint32_t c = 0; c < columns; c++)
		place_column(work, c, wanted, pools);
	for (unsigned s = 0; s < SWEEPS; s++) {
		unsigned sides = s + 2 >= SWEEPS ? LEFT | RIGHT : s % 2 ? LEFT : RIGHT;
		for (uint32_t i = 0; i < columns; i++) {
			find_wanted(work, sides, wanted, weights);
			place_column(work, sides == RIGHT ? columns - 1 - i : i, wanted, pools);
		}
	}
	return 0;
}

/* ---- places on the paper ---- */

static double width_of(const struct work *work, uint32_t chosen)
{
	uint32_t variable = work->chosen[chosen];
	struct sn_shown shown = sn_shown(work->drawing->variables[variable].name);
	double letters = fmin((double)sn_utf8_columns(shown.text), SN_CAUSAL_NAME);
	double letter = variable == work->drawing->target ? BOLD_LETTER : LETTER;
	return fmax(letter * letters + 2 * PADDING, LEAST_WIDTH);
}

/* Room for arrows that go far up or down, so that they are not too steep. */
static double room_for_bends(const struct work *work, uint32_t column)
{
	double most = 0;
	for (uint32_t i = 0; i < work->step_count; i++) {
		const struct item *from = work->items + work->steps[i].from;
		if (from->column == column)
			most = fmax(most, fabs(work->items[work->steps[i].to].y - from->y));
	}
	return fmin(most / 8, MOST_ROOM);
}

static void place_columns(struct work *work)
{
	struct sn_causal_layout *layout = work->layout;
	double x = MARGIN, top = INFINITY, bottom = 0;
	for (uint32_t i = 0; i < work->chosen_count; i++) {
		double *width = &layout->columns[work->columns[i]].width;
		*width = fmax(*width, width_of(work, i));
	}
	for (uint32_t i = 0; i < layout->column_count; i++) {
		struct sn_causal_layer *column = layout->columns + i;
		if (i)
			x += room_for_bends(work, i - 1) +
			     (column->tier == column[-1].tier ? BEND : TIER_BEND);
		column->x = x;
		x += column->width;
	}
	for (uint32_t i = 0; i < work->item_count; i++)
		top = fmin(top, work->items[i].y - work->items[i].height / 2);
	for (uint32_t i = 0; i < work->item_count; i++) {
		struct item *item = work->items + i;
		item->y += TOP - top;
		bottom = fmax(bottom, item->y + item->height / 2);
	}
	layout->width = x + MARGIN;
	layout->height = fmax(bottom, TOP);
}

static void place_boxes(struct work *work)
{
	struct sn_causal_layout *layout = work->layout;
	for (uint32_t i = 0; i < work->item_count; i++) {
		const struct item *item = work->items + work->order[i];
		const struct sn_causal_layer *column = layout->columns + item->column;
		if (item->chosen != NONE)
			layout->boxes[layout->box_count++] = (struct sn_causal_box){
			    work->chosen[item->chosen], item->column,  column->x,
			    item->y - item->height / 2, column->width, item->height};
	}
}

SN_SORT_BY(sort_out, uint32_t, const struct work *,
	   SN_ORDER(of->steps[*a].from, of->steps[*b].from)
	   ?: SN_ORDER(of->items[of->steps[*a].to].y, of->items[of->steps[*b].to].y)
	   ?: SN_ORDER(*a, *b));
SN_SORT_BY(sort_in, uint32_t, const struct work *,
	   SN_ORDER(of->steps[*a].to, of->steps[*b].to)
	   ?: SN_ORDER(of->items[of->steps[*a].from].y, of->items[of->steps[*b].from].y)
	   ?: SN_ORDER(*a, *b));

/* Where arrows leave a box and arrive at one: side by side, in the order of their other ends. */
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
				*(is_in ? &step->to_y : &step->from_y) =
				    work->items[item].y + PORT * ((k - i) - (end - i - 1) / 2.0);
			}
		}
	}
	return 0;
}

static void place_way(struct work *work, uint32_t number, struct sn_causal_point *points)
{
	struct sn_causal_layout *layout = work->layout;
	const struct link *link = work->links + number;
	struct span span = work->steps_of[number];
	uint32_t count = 0;
	for (uint32_t i = 0; i < span.count; i++) {
		const struct step *step = work->steps + span.first + i;
		const struct sn_causal_layer *from =
		    layout->columns + work->items[step->from].column;
		const struct sn_causal_layer *to = layout->columns + work->items[step->to].column;
		points[count++] =
		    (struct sn_causal_point){from->x + from->width, step->from_y, false};
		points[count++] = (struct sn_causal_point){to->x, step->to_y, i + 1 < span.count};
	}
	layout->ways[layout->way_count++] =
	    (struct sn_causal_way){link->arrow, link->is_backward, points, count};
}

static int place_all(struct work *work)
{
	struct sn_causal_layout *layout = work->layout;
	struct sn_causal_point *points =
	    sn_arena_array(&layout->arena, struct sn_causal_point, 2ull * work->step_count);
	layout->boxes = sn_arena_array(&layout->arena, struct sn_causal_box, work->chosen_count);
	layout->ways = sn_arena_array(&layout->arena, struct sn_causal_way, work->link_count);
	if (layout->arena.failed)
		return SN_ERR_MEMORY;
	place_columns(work);
	place_boxes(work);
	int result = place_ports(work);
	for (uint32_t i = 0; i < work->link_count && !result; i++) {
		place_way(work, i, points);
		points += 2ull * work->steps_of[i].count;
	}
	return result;
}

int sn_causal_layout(const struct sn_causal_drawing *drawing, uint32_t most,
		     struct sn_causal_layout *layout)
{
	struct work work = {.drawing = drawing, .layout = layout};
	*layout = (struct sn_causal_layout){0};
	int result = choose(&work, most);
	if (!result)
		result = make_links(&work);
	if (!result)
		result = find_columns(&work);
	if (!result)
		result = count_items(&work);
	if (!result) {
		make_items(&work);
		result = order_items(&work);
	}
	if (!result)
		result = find_heights(&work);
	if (!result)
		result = place_all(&work);
	sn_arena_release(&work.arena);
	return result;
}

void sn_causal_layout_release(struct sn_causal_layout *layout)
{
	sn_arena_release(&layout->arena);
	*layout = (struct sn_causal_layout){0};
}
