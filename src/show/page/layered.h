/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the boxes and lines of a layered drawing lie: Sugiyama's method (IEEE Trans. SMC 11, 1981). Layers follow each other along one axis and boxes stand beside each other across it; whoever draws decides which of the two
 * goes right and which goes down.
 *
 * Cycles are broken at the links that lead back in a depth-first search from the first nodes. Each tier has layers of its own; within it a node stands one layer before the nearest that it leads to, or behind the nearest
 * that leads to it. A link over several layers passes each of them by a point of its own, so that no line crosses a box. The order in a layer is that of graph_layout.h; places across are the nearest ones to the mean
 * of the neighbours that keep this order and its gaps (isotonic regression, by pooling adjacent violators).
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct sn_layered_node {
	uint32_t tier; /* a link leads to no lower one */
	double along,
	    across; /* the box's extent, at least; across it has room for its lines, too */
};

struct sn_layered_link {
	uint32_t from, to; /* nodes, not the same */
	bool is_backward;  /* it was turned; a caller may have turned it already */
	double weight;	   /* of keeping it straight; 1 usually */
};

struct sn_layered_form {
	double gap;		/* across, between boxes */
	double port;		/* between lines at a box */
	double bend, tier_bend; /* along, between layers, and between those of two tiers */
	double most_room;	/* more of that where lines go far across; at most so much */
	double margin,
	    margin_across; /* before the first layer and behind the last; before the first box across */
	bool is_early; /* nodes stand as near to the first layer as links allow, else to the last */
};

struct sn_layered_place {
	uint32_t layer;
	double along, across; /* of the box's begin */
	double breadth;	      /* its extent across */
};

struct sn_layered_layer {
	double along, length; /* of its longest box */
	uint32_t tier;
};

/* A point of a line's way: its begin, where it enters and leaves the layers it passes, its end. Between points the way is level (is_level) or bends from level to level. */
struct sn_layered_point {
	double along, across;
	bool is_level; /* to the next one */
};

struct sn_layered_way {
	const struct sn_layered_point *points; /* from `from` to `to` of the link as it is turned */
	uint32_t point_count;
};

/* All zeroes is empty. */
struct sn_layered {
	struct sn_layered_place *places; /* by node */
	uint32_t *order;		 /* nodes by layer, within it across */
	struct sn_layered_way *ways;	 /* by link */
	struct sn_layered_layer *layers;
	uint32_t layer_count;
	double along, across; /* the whole's extents */
	struct sn_arena arena;
};

/* Turns links of cycles. 0 or SN_ERR_MEMORY; release it in either case. For up to some hundred nodes. */
int sn_layered_lay_out(struct sn_layered *layered, const struct sn_layered_node *nodes,
		       uint32_t node_count, struct sn_layered_link *links, uint32_t link_count,
		       const struct sn_layered_form *form);
void sn_layered_release(struct sn_layered *layered);
