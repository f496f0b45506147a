/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree as a table: a row per group of frames.
 *
 * A row's exclusive value is the cost of its contexts: those of the group's own frames, and, if the
 * grouping leaves frames out, those whose nearest grouped frame above is the group's. So exclusive
 * values never count a cost twice, and add up to the whole minus `outside`. A row's inclusive value
 * is the cost of all contexts that have the group on their path, each counted once however deep a
 * recursion is.
 */
#pragma once

#include "tree.h"

struct sn_flat {
	uint32_t row_count;
	uint32_t *frames; /* [row]: a frame that stands for the group */
	uint32_t metric_count;
	struct sn_tree_value **values; /* [position][row] */
	struct sonde_db_stat *outside; /* [position]: cost of contexts below no grouped frame */
	uint32_t *row_of_frame;	       /* [frame]: SONDE_NONE if it is in no row */
	/* [row * metric_count + position]; NULL if not requested */ struct sn_tree_sets *across; /*
	 * see sn_across_compare */
	struct sn_arena arena; /* all of these */
};

/* Rows without any value are left out; the order is that of first appearance in the tree. */
int sn_flat_init(struct sn_flat *flat, const struct sn_tree *tree, enum sn_grouping grouping,
		 struct sn_error *error);
/* A row's values by position. */
static inline void sn_flat_row(const struct sn_flat *flat, uint32_t row,
			       struct sn_tree_value *values)
{
	for (uint32_t m = 0; m < flat->metric_count; m++)
		values[m] = flat->values[m][row];
}
void sn_flat_release(struct sn_flat *flat);
