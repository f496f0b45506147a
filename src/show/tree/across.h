/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How profiles differ: the inclusive sum of each profile at a node of a tree, or at a row of a
 * table; then statistics of these sums, as the database has them for whole contexts. Nodes and rows
 * may stand for several contexts or a selection.
 */
#pragma once

#include "flat.h"
#include "tree.h"

/* Fills in tree->across. node_of[context]; keep[context] and profiles[profile] may be NULL: all.
 * Costs as much as reading all values of the tree's metrics, times the depth, unless the tree is
 * the database's own, whose summaries are used. */
int sn_across_load(struct sn_tree *tree, const uint32_t *node_of, const bool *keep,
		   const bool *profiles, struct sn_error *error);

/* Fills in flat->across, of the tree's metrics, likewise. */
int sn_across_compare(struct sn_flat *flat, const struct sn_tree *tree, const bool *keep,
		      const bool *profiles, struct sn_error *error);
