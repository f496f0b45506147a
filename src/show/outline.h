/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indented rows for a terminal, used top-down and bottom-up: each row is a chain of frames that
 * belong together, with the values they share.
 */
#pragma once

#include "show/source/source.h"
#include "show/tree/view.h"

struct sn_outline_row {
	uint32_t parent;	/* row; SONDE_NONE at the margin */
	uint32_t frames, count; /* in outline->frames, outermost first as printed */
	uint32_t values;	/* in outline->values */
	bool is_hot;
	/* Filled in by sn_outline_print. */
	uint32_t first_child, next_sibling, level;
};

struct sn_outline_frame {
	uint32_t frame;
	uint32_t alike; /* number of frames folded into it; 0 or 1: it alone */
};

struct sn_outline {
	const struct sn_view *view;
	struct sn_outline_row *rows;
	struct sn_outline_frame *frames;
	struct sn_tree_value *values; /* a value of each column for each row */
	struct sn_derived *derived;   /* a value of each formula for each row */
	uint32_t row_count, frame_count;
	size_t row_capacity, frame_capacity, value_capacity, derived_capacity;
	double total;	   /* of the first metric: what shares refer to */
	const char *joint; /* between the frames of a chain: " > " or " < " */
	bool shows_exclusive_share;
	struct sn_source *source; /* to show lines from; NULL: none */
};

void sn_outline_init(struct sn_outline *outline, const struct sn_view *view);
void sn_outline_release(struct sn_outline *outline);

/* Adds a row without frames; *values is to be filled in before the next call. SONDE_NONE: no
 * memory. */
uint32_t sn_outline_add(struct sn_outline *outline, uint32_t parent, struct sn_tree_value **values);
/* Evaluates the formulas at the newest row, whose values are filled in; see sn_view_derive. */
void sn_outline_derive(struct sn_outline *outline, const struct sn_tree_sets *across);
/* Appends a frame to the newest row. 0 or SN_ERR_MEMORY. */
int sn_outline_add_frame(struct sn_outline *outline, uint32_t frame, uint32_t alike);

/* Sorts siblings by the view's order and prints headings and rows. 0 or SN_ERR_MEMORY. */
int sn_outline_print(struct sn_outline *outline, const struct sn_terminal *page,
		     const char *heading);
