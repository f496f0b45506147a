/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the boxes and arrows of a causal graph lie: a layered drawing (show/page/layered.h) from left to
 * right. Each tier has columns of its own; within it a variable stands one column left of the
 * nearest that it leads to.
 */
#pragma once

#include "drawing.h"

#include "base/arena.h"

struct sn_causal_box {
	uint32_t variable;
	uint32_t column;
	double x, y, width, height; /* of its upper left corner */
};

/* A point of an arrow's way: the left end, the columns it passes, the right end. Between points
 * `is_across` says that the way is level, else it bends from level to level. */
struct sn_causal_point {
	double x, y;
	bool is_across; /* a column is passed from this point to the next */
};

struct sn_causal_way {
	uint32_t arrow;
	bool is_backward; /* the way leads from the arrow's end to its begin */
	const struct sn_causal_point *points;
	uint32_t point_count;
};

struct sn_causal_layer {
	double x, width;
	uint32_t tier; /* of its variables */
};

/* All zeroes is empty. */
struct sn_causal_layout {
	struct sn_causal_box *boxes; /* by column, from top to bottom */
	uint32_t box_count;
	struct sn_causal_way *ways;
	uint32_t way_count;
	struct sn_causal_layer *columns;
	uint32_t column_count;
	double width, height;
	uint32_t left_out; /* variables with an arrow that are not drawn */
	struct sn_arena arena;
};

/* The width of a variable's box, by the characters of its name. */
enum { SN_CAUSAL_NAME = 30, SN_CAUSAL_BOX = 30 /* height */ };

/* At most `most` variables. 0 or SN_ERR_MEMORY; release it in either case. */
int sn_causal_layout(const struct sn_causal_drawing *drawing, uint32_t most,
		     struct sn_causal_layout *layout);
void sn_causal_layout_release(struct sn_causal_layout *layout);
